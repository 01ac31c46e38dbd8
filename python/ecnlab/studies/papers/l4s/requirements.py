"""Scenarios and quantities for the Prague requirements: what RFC 9331 asks of a sender with ECT(1) (sections 4.1 to 4.3).

Each function has a control of the study and returns its quantities by setting. Hosts send packet by packet, without offload.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import linear_regression

import polars as pl

from ecnlab.scenarios.networks import Tree
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import CombinedMeasure, MeasuredQuantity, MeasureRatio, ScenarioMeasure, ratio_or_nan
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.l4s.network import (
    BOTTLENECK,
    CUBIC,
    GROUPS,
    LINUX_7_2,
    LINUX_HOSTS,
    PRAGUE,
    SCENARIO_6,
    flow_group,
    link_tree,
    queue_tree,
    relative_difference_from_reference,
    required_scenario,
    two_flows,
)
from ecnlab.studies.papers.l4s.published import Sender

DCTCP = "dctcp"
TESTED = (PRAGUE, DCTCP, CUBIC)
TESTED_NAMES = {PRAGUE: "Prague 0.7", DCTCP: "DCTCP", CUBIC: "CUBIC"}
Quantities = Mapping[str, MeasuredQuantity]

_FLOW = "flow"
_RTT_MS = 20
_PACKET_BITS = 12_000
_HOST_LINK, _HOST_GBPS = "host", 10
# Prague's reference RTT, below which its rate does not depend on the RTT.
_REFERENCE_RTT_S = 0.025
_SMALLEST_DATA_PACKET_BYTES = 100
RATES_MBPS = (20, 100, 400)
SHORT_RTTS_MS = (0.5, 1, 5, 10, 15, 20)
LONG_RTT_MS = 25
LOSS_RTTS_MS = (20, 80)
LOSS_QUEUES: Mapping[str, Tree] = {
    # One bandwidth-delay product of 80 ms.
    "drop-tail": {"aqm": "droptail", "limit": 133},
    "PIE without ECN": {**queue_tree("pie", 20), "ecn": False},
}
MARK_SHARES = (0.1, 0.03, 0.01)
LAW_RTTS_MS = (10, 25, 50)
_FLOWS_OF_SMALL_SHARE = 64
SMALL_SHARES_KBPS = (100, 250, 1000)
SMALL_RTTS_MS = (0.5, 5)
REORDERED_RATES_MBPS = (10, 100, 400)
REORDERING_DELAYS = {"an eighth of the RTT": _RTT_MS / 8, "a quarter of the RTT": _RTT_MS / 4}


# Section 4.1, 4.2 and item 1 of 4.3: codepoints.


@cache
def _codepoint_scenario(control: str, peer_agrees: bool) -> RequiredScenario:
    """One flow over DualPI2 for ten seconds, whose packets are recorded; a peer that does not agree answers with classic ECN."""
    group = flow_group(_FLOW, Sender(control, _RTT_MS))
    if not peer_agrees:
        group["tcp"] = {**group["tcp"], "quirks": {"receiver_accurate_ecn": False}}
    name = f"codepoints of {control}{'' if peer_agrees else ', peer without Accurate ECN'}"
    return required_scenario(name, [link_tree(LINUX_7_2, 20)], [group], 10, 0, record={"arrivals": True})


def _share_of_ect1(result: Result) -> list[float]:
    """ECT(1) among the data packets that arrive at the bottleneck."""
    is_data = (pl.col("event") == "arrival") & (pl.col("size_bytes") > _SMALLEST_DATA_PACKET_BYTES)
    data = result.series.arrivals.filter(is_data)
    by_seed = [data.filter(pl.col("seed") == seed) for seed in result.seeds]
    return [packets.filter(pl.col("ecn") == "ect1").height / packets.height for packets in by_seed]


def share_of_ect1(control: str) -> Quantities:
    """The share of ECT(1) among data packets."""
    return {"": ScenarioMeasure(_codepoint_scenario(control, True), _share_of_ect1)}


def share_of_ect1_without_feedback(control: str) -> Quantities:
    """The same to a peer that has no Accurate ECN."""
    return {"": ScenarioMeasure(_codepoint_scenario(control, False), _share_of_ect1)}


def share_of_ect1_after_switch_to_cubic(_control: str) -> Quantities:
    """The same once the control is replaced by CUBIC."""
    return share_of_ect1(CUBIC)


# Section 4.3: time between marks.


def _step_link(rate_mbps: int) -> Tree:
    queue = {"aqm": "step", "measure": "sojourn", "sojourn": "1 ms", "limit": 10000}
    return {**link_tree(LINUX_7_2, rate_mbps), "queue": queue}


@cache
def _step_scenario(control: str, rate_mbps: int) -> RequiredScenario:
    name = f"{rate_mbps} Mbit/s with a step of 1 ms, {control}"
    return required_scenario(name, [_step_link(rate_mbps)], [flow_group(_FLOW, Sender(control, _RTT_MS))], 40, 20)


def _marks_per_round_trip_at_rate(control: str, rate_mbps: int) -> MeasuredQuantity:
    """Marks per round trip: of the flow, or per reference RTT for Prague."""

    def marks_in_rtt(found: Sequence[float]) -> float:
        marks, sent, throughput_bps, rtt_s = found
        period_s = max(rtt_s, _REFERENCE_RTT_S) if control == PRAGUE else rtt_s
        return ratio_or_nan(marks, sent) * throughput_bps / _PACKET_BITS * period_s

    need = _step_scenario(control, rate_mbps)
    columns = ("marks", "sent", "throughput_bps", "rtt_mean_s")
    return CombinedMeasure(marks_in_rtt, [ScenarioMeasure(need, column, group=_FLOW) for column in columns])


def marks_per_round_trip(control: str) -> Quantities:
    """Marks per round trip by the rate of the link."""
    return {f"{rate} Mbit/s": _marks_per_round_trip_at_rate(control, rate) for rate in RATES_MBPS}


def slope_of_marks(control: str) -> Quantities:
    """The exponent with which marks in a time grow with the rate, at one RTT: 0 if they do not depend on it.

    In one setting the link's rate is given and a step marks, in the other the share of marks is given and the rate follows.
    """
    scenarios = {
        "step of 1 ms": [_step_scenario(control, rate) for rate in RATES_MBPS],
        "random marks": [_random_marks_scenario(control, share, LONG_RTT_MS) for share in MARK_SHARES],
    }
    return {
        setting: CombinedMeasure(
            slope_of_logarithms, [ScenarioMeasure(need, column, group=_FLOW) for column in ("throughput_bps", "marks") for need in needs]
        )
        for setting, needs in scenarios.items()
    }


def slope_of_logarithms(rates_then_marks: Sequence[float]) -> float:
    """The slope of a line through the logarithms of rates and marks; NaN if one is 0."""
    if min(rates_then_marks) <= 0:
        return math.nan
    logarithms = [math.log(value) for value in rates_then_marks]
    half = len(logarithms) // 2
    return linear_regression(logarithms[:half], logarithms[half:]).slope


# Items 2 and 3: beside Reno.


@cache
def _beside_reno_dropping_queue_scenario(control: str, queue: str, rtt_ms: int) -> RequiredScenario:
    link = {**link_tree(LINUX_7_2, 20), "queue": LOSS_QUEUES[queue]}
    senders = (Sender(control, rtt_ms), Sender("reno-noecn", rtt_ms))
    groups = [flow_group(name, sender) for name, sender in zip(GROUPS, senders, strict=True)]
    return required_scenario(f"{control} beside Reno, {rtt_ms} ms, {queue}", [link], groups, 120, 20)


def ratio_to_reno_at_dropping_queues(control: str) -> Quantities:
    """Goodput over that of a Reno flow at queues that drop."""
    return {
        f"{queue}, {rtt} ms": MeasureRatio(
            *(ScenarioMeasure(_beside_reno_dropping_queue_scenario(control, queue, rtt), "goodput_bps", group=group) for group in GROUPS)
        )
        for queue in LOSS_QUEUES
        for rtt in LOSS_RTTS_MS
    }


def ratio_to_reno_in_classic_queue(control: str) -> Quantities:
    """Goodput over that of a Reno flow with ECN in one CoDel queue."""
    flows = two_flows("fq_codel(1q)", 50, (Sender(control, _RTT_MS), Sender("reno-ecn", _RTT_MS)), SCENARIO_6)
    return {"": flows.ratio()}


# Item 4: round-trip times.


def ratio_to_longer_rtt(control: str) -> Quantities:
    """Goodput of a flow over that of a flow of 25 ms with the same control, over DualPI2."""
    return {
        f"{rtt:g} ms": two_flows(LINUX_7_2, 50, (Sender(control, rtt), Sender(control, LONG_RTT_MS)), LINUX_HOSTS).ratio()
        for rtt in SHORT_RTTS_MS
    }


@cache
def _random_marks_scenario(control: str, share: float, rtt_ms: int) -> RequiredScenario:
    link = {**link_tree(LINUX_7_2, 1000), "queue": {"aqm": "droptail", "limit": 10000}, "impair": [{"kind": "mark", "rate": share}]}
    group = flow_group(_FLOW, Sender(control, rtt_ms))
    return required_scenario(f"{control} {rtt_ms} ms with {share:.0%} of marks", [link], [group], 60, 20)


def difference_from_rate_law(control: str) -> Quantities:
    """The relative difference of the throughput from 1/p - 1 Mbit/s, times 25 ms over longer RTTs, with a share p of random marks."""
    found = {}
    for rtt in LAW_RTTS_MS:
        for share in MARK_SHARES:
            law_bps = (1 / share - 1) * 1e6 * min(1, LONG_RTT_MS / rtt)
            throughput = ScenarioMeasure(_random_marks_scenario(control, share, rtt), "throughput_bps", group=_FLOW)
            found[f"{share:.0%} of marks, {rtt} ms"] = relative_difference_from_reference(throughput, law_bps)
    return found


# Item 5: small windows.


@cache
def _small_share_scenario(control: str, share_kbps: int, rtt_ms: float) -> RequiredScenario:
    link = {**link_tree(LINUX_7_2, 100), "rate": f"{share_kbps * _FLOWS_OF_SMALL_SHARE} kbps"}
    group = {**flow_group(_FLOW, Sender(control, rtt_ms)), "count": _FLOWS_OF_SMALL_SHARE, "start": [f"{at / 16:g} s" for at in range(16)]}
    return required_scenario(f"{_FLOWS_OF_SMALL_SHARE} flows of {control} {rtt_ms:g} ms, {share_kbps} kbit/s each", [link], [group], 30, 10)


def _by_small_share(measure: Callable[[RequiredScenario], MeasuredQuantity], control: str) -> Quantities:
    return {
        f"{share} kbit/s, {rtt:g} ms": measure(_small_share_scenario(control, share, rtt))
        for share in SMALL_SHARES_KBPS
        for rtt in SMALL_RTTS_MS
    }


def p99_wait_at_small_shares(control: str) -> Quantities:
    """The 99th percentile of the wait in the flows' band of DualPI2."""
    band = "C" if control == CUBIC else "L"
    return _by_small_share(lambda need: ScenarioMeasure(need, "sojourn_p99_s", queue=BOTTLENECK, band=band), control)


def timeouts_at_small_shares(control: str) -> Quantities:
    """Timeouts of all flows."""
    return _by_small_share(lambda need: ScenarioMeasure(need, "timeouts", group=_FLOW), control)


# Item 6: reordering.


@cache
def _reordering_scenario(control: str, rate_mbps: int, delay_ms: float) -> RequiredScenario:
    """One packet in a hundred is late before the queue, which marks and does not drop."""
    link = {**link_tree(LINUX_7_2, rate_mbps), "impair": [{"kind": "reorder", "rate": 0.01, "delay": f"{delay_ms:g} ms"}]}
    name = f"{control}, {rate_mbps} Mbit/s, packets late by {delay_ms:g} ms"
    return required_scenario(name, [link], [flow_group(_FLOW, Sender(control, _RTT_MS))], 30, 10)


def spurious_retransmissions_under_reordering(control: str) -> Quantities:
    """Retransmissions beyond the packets dropped, which are spurious."""
    return {
        f"{rate} Mbit/s, {name}": CombinedMeasure(
            lambda found: found[0] + found[1] - found[2],
            [
                ScenarioMeasure(_reordering_scenario(control, rate, delay), column, group=_FLOW)
                for column in ("retransmitted_fast", "retransmitted_timeout", "drops")
            ],
        )
        for rate in REORDERED_RATES_MBPS
        for name, delay in REORDERING_DELAYS.items()
    }


# Item 7: bursts.


@cache
def _burst_scenario(control: str, rate_mbps: int) -> RequiredScenario:
    """One flow behind a measured host link of 10 Gbit/s, where a packet waits only behind others that the host sent back to back."""
    delay = f"{_RTT_MS / 2 - 0.2:g} ms"
    host_queue = {"aqm": "droptail", "limit": 100000}
    host = {"name": _HOST_LINK, "from": "host", "to": "router", "rate": f"{_HOST_GBPS} Gbps", "delay": delay, "queue": host_queue}
    group = {"name": _FLOW, "from": "host", "to": "sink", "tcp": flow_group(_FLOW, Sender(control, _RTT_MS))["tcp"]}
    links = [host, link_tree(LINUX_7_2, rate_mbps)]
    return required_scenario(f"bursts of {control}, {rate_mbps} Mbit/s", links, [group], 20, 10, record={"queue": "1 s"})


def _largest_wait_at_host(result: Result) -> list[float]:
    """The largest wait in the queue of the host's link in the measured time."""
    samples = result.series.queue.filter((pl.col("queue") == _HOST_LINK) & (pl.col("time_s") > 10)).drop_nans("sojourn_max_s")
    return [max(samples.filter(pl.col("seed") == seed)["sojourn_max_s"].to_list(), default=math.nan) for seed in result.seeds]


def largest_wait_of_bursts(control: str) -> Quantities:
    """The largest wait behind packets sent back to back, in seconds at a link of the flow's own rate."""
    found = {}
    for rate in REORDERED_RATES_MBPS:
        need = _burst_scenario(control, rate)
        wait, throughput = ScenarioMeasure(need, _largest_wait_at_host), ScenarioMeasure(need, "throughput_bps", group=_FLOW)
        found[f"{rate} Mbit/s"] = CombinedMeasure(lambda pair: pair[0] * ratio_or_nan(_HOST_GBPS * 1e9, pair[1]), (wait, throughput))
    return found
