"""The experiments of RFC 2884 as scenarios: congesting flows from 0 s, and from 20 s on one competing flow with ECN and one without.

RED's settings in the main set-up are chosen here. `choices.py` has the other values that the RFC admits, and the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from ecnlab.plot.style import Palette
from ecnlab.scenarios.networks import Tree
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import MeasuredQuantity, RelativeChange, ScenarioMeasure
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.rfc2884.router import RedThresholds, linux_red_queue

# TCP of the testbed's hosts, by the RFC's name (section 4).
HOST_TCP = {
    "Reno": {"profile": "linux-2.0"},
    "SACK": {"profile": "linux-2.2"},
    "NewReno": {"profile": "linux-2.2", "variant": "newreno"},
}
# Congesting flows by level of congestion, and the maximum drop probabilities (section 4.3).
CONGESTION_LEVELS = {"low": 2, "moderate": 5, "high": 10}
MAX_PS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
RESPONSES_KB = (5, 10, 20)

WITH_ECN, WITHOUT_ECN, CONGESTING_GROUP = "with ECN", "without ECN", "congesting"
BACKGROUND_GROUPS = {WITH_ECN: "background with ECN", WITHOUT_ECN: "background without ECN"}
SHAPER_LINK = "bottleneck"

# Selector of a result's row: {"group": NAME} or {"queue": NAME}.
Place = Mapping[str, str]

# Curves of one figure in their order, which sets the colours and markers of the palette.
_CURVE_NAMES = (
    (WITH_ECN, WITHOUT_ECN),
    tuple(HOST_TCP),
    tuple(f"{level} congestion" for level in CONGESTION_LEVELS),
    tuple(f"{kb} KB" for kb in RESPONSES_KB),
)
PALETTE = Palette(dashes={name: dash for names in _CURVE_NAMES for name, dash in zip(names, ("-", "--", "-."), strict=False)})

FILE_MB = 20
START_S = 20
FAIRNESS_S = 200
_TRANSACTIONS_S = 180
# End of the slowest transfer of 20 MB, by congesting flows.
BULK_S = {2: 600, 5: 1000, 10: 2000}


@cache
def competing_bulk_transfers_scenario(load: int, max_p: float, hosts: str = "Reno") -> RequiredScenario:
    """Transfers of 20 MB with and without ECN, and `load` congesting flows (section 5.2)."""
    app = {"kind": "file", "bytes": f"{FILE_MB} MB"}
    return _competing_flows_scenario(f"{FILE_MB} MB", load, max_p, hosts, app, BULK_S[load])


@cache
def competing_transactions_scenario(response_kb: int, load: int, max_p: float, hosts: str = "Reno") -> RequiredScenario:
    """Request-response transactions, one connection each, with and without ECN, and `load` congesting flows (section 5.3)."""
    app = {"kind": "exchange", "request": "1 KB", "response": f"{response_kb} KB"}
    return _competing_flows_scenario(f"{response_kb} KB", load, max_p, hosts, app, START_S + _TRANSACTIONS_S)


def _competing_flows_scenario(transfer: str, load: int, max_p: float, hosts: str, app: Tree, end_s: int) -> RequiredScenario:
    title = f"{transfer}, {hosts}, {load} congesting flows, max_p {max_p:g}"
    return RequiredScenario(_scenario_with_ecn_and_plain_flow(title, load, max_p, HOST_TCP[hosts], app, end_s))


@cache
def fairness_scenario(max_p: float, *, background_ecn: bool) -> RequiredScenario:
    """Endless transfers: two in the background, all with ECN or all without it, and the two competing ones (section 5.1)."""
    title = f"fairness, background {WITH_ECN if background_ecn else WITHOUT_ECN}, max_p {max_p:g}"
    return RequiredScenario(
        _scenario_with_ecn_and_plain_flow(
            title, CONGESTION_LEVELS["low"], max_p, HOST_TCP["Reno"], "bulk", START_S + FAIRNESS_S, background_ecn=background_ecn
        )
    )


@cache
def half_ecn_flows_scenario(max_p: float) -> RequiredScenario:
    """Endless transfers, half of them with ECN: one of each kind in the background and one of each from 20 s on (section 5.1)."""
    background = [_flow_group(BACKGROUND_GROUPS[name], "c", HOST_TCP["Reno"], "bulk", ecn=ecn) for name, _, ecn in _COMPETING_GROUPS]
    competing = [_flow_group(name, to, HOST_TCP["Reno"], "bulk", ecn=ecn, start=f"{START_S} s") for name, to, ecn in _COMPETING_GROUPS]
    return RequiredScenario(
        _testbed_scenario(f"two flows of each kind, max_p {max_p:g}", max_p, [*background, *competing], START_S + FAIRNESS_S)
    )


def group_places_of_ecn_kind(name: str) -> list[Place]:
    """The groups with or without ECN in a run with equally many of both."""
    return [{"group": name}, {"group": BACKGROUND_GROUPS[name]}]


def file_throughput_measure(need: RequiredScenario, group: str) -> ScenarioMeasure:
    """The bulk metric: file size over transfer time, in bit/s."""

    def throughputs_by_seed(result: Result) -> list[float]:
        # Files are smaller where kernels are hosts.
        size = next(int(flow["app"]["bytes"]) for flow in result.header["parameters"]["flows"] if flow["name"] == group)
        return [8 * size / seconds for seconds in result.values("transaction_mean_s", group=group)]

    return ScenarioMeasure(need, throughputs_by_seed)


def transaction_rate_measure(need: RequiredScenario, group: str) -> ScenarioMeasure:
    """The metric of transactions: completions per second of the measured interval."""

    def transactions_per_second_by_seed(result: Result) -> list[float]:
        measured_s = result.header["duration_s"] - result.header["measure_from_s"]
        return [count / measured_s for count in result.values("transactions", group=group)]

    return ScenarioMeasure(need, transactions_per_second_by_seed)


def ecn_gain(metric: Callable[[RequiredScenario, str], MeasuredQuantity], need: RequiredScenario) -> RelativeChange:
    """Relative gain of the metric with ECN over that without it."""
    return RelativeChange(metric(need, WITH_ECN), metric(need, WITHOUT_ECN))


def sum_of_columns(need: RequiredScenario, names: Sequence[str], places: Sequence[Place]) -> ScenarioMeasure:
    """The sum of some columns over some groups or queues."""
    return ScenarioMeasure(need, lambda result: _column_sums(result, names, places))


def share_of_columns(need: RequiredScenario, parts: Sequence[str], whole: Sequence[str], places: Sequence[Place]) -> ScenarioMeasure:
    """The sum of some columns as a share of the sum of others; 0 where that is 0."""

    def shares(result: Result) -> list[float]:
        sums = zip(_column_sums(result, parts, places), _column_sums(result, whole, places), strict=True)
        return [part / all_of_it if all_of_it else 0.0 for part, all_of_it in sums]

    return ScenarioMeasure(need, shares)


@cache
def with_event_recording(need: RequiredScenario) -> RequiredScenario:
    """The same scenario with each mark and drop recorded."""
    return RequiredScenario({**need.scenario, "record": {"events": True}}, need.every_seed)


def windows_with_several_drops(need: RequiredScenario, group: str) -> ScenarioMeasure:
    """The number of windows of a group's flow in which several packets were dropped.

    A window begins with a drop and lasts for the flow's mean round-trip time.
    """

    def windows_with_several_drops_by_seed(result: Result) -> list[float]:
        (flow,) = result.table("flows").filter(pl.col("group") == group)["flow"].unique()
        drops = result.series.events.filter((pl.col("flow") == flow) & (pl.col("kind") == "drop") & (pl.col("packet") == "data"))
        rtts = dict(zip(result.seeds, result.values("rtt_mean_s", group=group), strict=True))
        return [
            count_windows_with_several_drops(drops.filter(pl.col("seed") == seed)["time_s"].to_list(), rtt) for seed, rtt in rtts.items()
        ]

    return ScenarioMeasure(need, windows_with_several_drops_by_seed)


def count_windows_with_several_drops(times: Sequence[float], rtt: float) -> int:
    """Number of windows (one round-trip time after each of these drops) with a further drop."""
    repeated = 0
    begin, counted = -math.inf, False
    for time in times:
        if time - begin >= rtt:
            begin, counted = time, False
        elif not counted:
            repeated, counted = repeated + 1, True
    return repeated


def _column_sums(result: Result, names: Sequence[str], places: Sequence[Place]) -> list[float]:
    columns = [result.values(name, **place) for name in names for place in places]
    return [sum(values) for values in zip(*columns, strict=True)]


_COMPETING_GROUPS = ((WITH_ECN, "on", True), (WITHOUT_ECN, "off", False))
# The smallest admitted pair (`choices.py`) with max = 3 min, and the weight closest to the 0.002 of Floyd and Jacobson 1993, the RFC's [9].
TESTBED_THRESHOLDS = RedThresholds(min_packets=25, max_packets=75)
TESTBED_WEIGHT = 9
TESTBED_DELAY = "20 ms"


def _scenario_with_ecn_and_plain_flow(
    title: str, load: int, max_p: float, tcp: Tree, app: Tree | str, end_s: int, *, background_ecn: bool = False
) -> Tree:
    background = _flow_group(CONGESTING_GROUP, "c", tcp, "bulk", ecn=background_ecn, count=load)
    competing = [_flow_group(name, to, tcp, app, ecn=ecn, start=f"{START_S} s") for name, to, ecn in _COMPETING_GROUPS]
    return _testbed_scenario(title, max_p, [background, *competing], end_s)


def _testbed_scenario(title: str, max_p: float, flows: Sequence[Tree], end_s: int) -> Tree:
    network = {"topology": "rfc2884", "delay": TESTBED_DELAY, "queue": linux_red_queue(TESTBED_THRESHOLDS, TESTBED_WEIGHT, max_p)}
    return {"name": title, "duration": f"{end_s} s", "measure_from": f"{START_S} s", "network": network, "flows": list(flows)}


def _flow_group(name: str, to: str, tcp: Tree, app: Tree | str, *, ecn: bool, **rest: Any) -> Tree:
    return {"name": name, "from": "server", "to": to, "tcp": {**tcp, "ecn": ecn}, "app": app, **rest}
