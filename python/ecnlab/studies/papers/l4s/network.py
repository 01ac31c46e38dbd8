"""Two flows over one bottleneck, as in l4s-tests: each behind its own delay, both without an end.

The published hosts have Accurate ECN on both sides (`tcp_ecn = 3` in the script of l4s-tests), send packet by packet without offload, and
have their delays before the bottleneck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ecnlab.scenarios.networks import Tree
from ecnlab.studies.framework.claims import CombinedMeasure, MeasuredQuantity, MeasureRatio, ScenarioMeasure, ratio_or_nan
from ecnlab.studies.framework.model import RequiredScenario, ScenarioTree
from ecnlab.studies.papers.l4s.published import Pair, Sender

PRAGUE, PRAGUE_2020, CUBIC = "prague", "prague-2020", "cubic"
PRAGUES = (PRAGUE_2020, PRAGUE)
CONTROL_NAMES = {PRAGUE_2020: "Prague of 2020", PRAGUE: "Prague 0.7"}
LINUX_7_2, OF_2020 = "dualpi2", "dualpi2 of 2020"

_ACCURATE_ECN: Tree = {"ecn": True, "ecn_echo": "accurate"}
CONTROLS: Mapping[str, Tree] = {
    PRAGUE: {"variant": "prague"},
    PRAGUE_2020: {"variant": "prague-2020"},
    CUBIC: {"congestion_control": "cubic", **_ACCURATE_ECN},
    "cubic-ecn": {"congestion_control": "cubic", **_ACCURATE_ECN},
    "cubic-noecn": {"congestion_control": "cubic", "ecn": False},
    "dctcp": {"variant": "dctcp", **_ACCURATE_ECN, "ect_codepoint": "ect1"},
    "reno-ecn": {"congestion_control": "reno", **_ACCURATE_ECN},
    "reno-noecn": {"congestion_control": "reno", "ecn": False},
}

# The defaults of sch_dualpi2 in Linux 7.2: a step at 1 ms without a minimum length (min_qlen_step 0).
_DUALPI2: Tree = {
    "discipline": "dualpi2",
    "limit": 10000,
    "min_th": "1 ms",
    "range": "0 s",
    "th_len": 0,
    "th_len_at": "enqueue",
    "classic_weight": 0.1,
    "min_backlog": "3000 B",
}
_FQ_CODEL: Tree = {"discipline": "fq", "limit": 10240, "aqm": {"name": "codel"}}
# sch_pie with its option ecn.
_PIE: Tree = {"aqm": "pie", "limit": 1000, "derandomize": True, "cap": 0.02, "decay": 0.984375, "floor": "3000 B"}
_RED: Tree = {"aqm": "linux-red", "avpkt": "1000 B", "bandwidth": "50 Mbps", "adaptive": True}
_DROP_TAIL_PACKETS = {10: 200, 50: 1000}
_QUEUES: Mapping[str, Tree] = {
    LINUX_7_2: _DUALPI2,
    # The L4S team's sch_dualpi2 tests the step only for a packet that finds more than one in the L queue.
    OF_2020: {**_DUALPI2, "th_len": 2},
    "dualpi2 min_qlen_step 1": {**_DUALPI2, "th_len": 1},
    "dualpi2 min_qlen_step 2": {**_DUALPI2, "th_len": 2},
    "dualpi2 step_thresh 2 ms": {**_DUALPI2, "min_th": "2 ms"},
    "fq_codel": _FQ_CODEL,
    "fq_codel(1q)": {**_FQ_CODEL, "flows": 1},
    "fq_codel(1q,1ms/20ms)": {**_FQ_CODEL, "flows": 1, "aqm": {"name": "codel", "target": "1 ms", "interval": "20 ms"}},
    "pie": _PIE,
    "pie(100p/5ms)": {**_PIE, "limit": 100, "target": "5 ms", "t_update": "32 ms"},
    "red(150000b)": {**_RED, "limit": "150000 B"},
    "red(400000b)": {**_RED, "limit": "400000 B"},
}

_LINK_DELAY_MS = 0.1
BOTTLENECK = "bottleneck"
GROUPS = ("first", "second")


@dataclass(frozen=True)
class MeasurementPeriod:
    """The duration of a run, and the time from which it is measured, in seconds."""

    duration_s: int
    measure_from_s: int


# Scenario 1 runs 180 s; its table has the 60 s that end 2 s before the end. Scenario 6 has the last 40 s of 60 s in the same way.
SCENARIO_1 = MeasurementPeriod(178, 118)
SCENARIO_6 = MeasurementPeriod(58, 18)
LINUX_HOSTS = MeasurementPeriod(60, 20)


@dataclass(frozen=True)
class TwoFlows:
    """The scenario of two flows, and the group of each in the order in which they were named."""

    need: RequiredScenario
    groups: tuple[str, str]

    def goodput_measures(self) -> tuple[ScenarioMeasure, ScenarioMeasure]:
        """The goodput of each flow."""
        first, second = (ScenarioMeasure(self.need, "goodput_bps", group=group) for group in self.groups)
        return first, second

    def ratio(self) -> MeasuredQuantity:
        """Goodput of the first flow over that of the second."""
        return MeasureRatio(*self.goodput_measures())

    def share_of_second(self) -> MeasuredQuantity:
        """Goodput of the second flow as a share of both."""
        return CombinedMeasure(lambda pair: ratio_or_nan(pair[1], sum(pair)), self.goodput_measures())

    def jain(self) -> MeasuredQuantity:
        """Jain's index of both goodputs."""
        return ScenarioMeasure(self.need, "jain_goodput")


def relative_difference_from_reference(measured: MeasuredQuantity, reference: float) -> MeasuredQuantity:
    """The relative difference of a quantity from a number in its unit."""
    return CombinedMeasure(lambda values: ratio_or_nan(values[0], reference) - 1, [measured])


def jain_of_two(one: float, other: float) -> float:
    """Jain's index of two published rates."""
    return ratio_or_nan((one + other) ** 2, 2 * (one**2 + other**2))


def two_flows(queue: str, rate_mbps: int, senders: Pair, time: MeasurementPeriod) -> TwoFlows:
    """Two flows behind a queue of the tables. Both orders of two senders are one scenario, as both flows start at once."""
    one, other = sorted(senders, key=lambda sender: (-sender.rtt_ms, sender.control))
    need = _two_flow_scenario(queue, rate_mbps, one, other, time)
    return TwoFlows(need, GROUPS if senders == (one, other) else (GROUPS[1], GROUPS[0]))


@cache
def _two_flow_scenario(queue: str, rate_mbps: int, first: Sender, second: Sender, time: MeasurementPeriod) -> RequiredScenario:
    groups = [flow_group(name, sender) for name, sender in zip(GROUPS, (first, second), strict=True)]
    title = f"{first.label} and {second.label}, {rate_mbps} Mbit/s, {queue}"
    return required_scenario(title, [link_tree(queue, rate_mbps)], groups, time.duration_s, time.measure_from_s)


def required_scenario(
    name: str, links: Sequence[Tree], groups: Sequence[Tree], duration_s: int, measure_from_s: int, **rest: Any
) -> RequiredScenario:
    """A scenario of these links and groups of flows, over all seeds."""
    return RequiredScenario(
        {"name": name, "duration": f"{duration_s} s", "measure_from": f"{measure_from_s} s", "link": links, "flows": groups, **rest}
    )


def queue_tree(queue: str, rate_mbps: int) -> Tree:
    """The parameters of a queue of the tables; `pfifo` depends on the link's rate."""
    return {"aqm": "droptail", "limit": _DROP_TAIL_PACKETS[rate_mbps]} if queue == "pfifo" else _QUEUES[queue]


def link_tree(queue: str, rate_mbps: int) -> Tree:
    """The bottleneck with a queue of the tables."""
    link = {"name": BOTTLENECK, "from": "router", "to": "sink", "rate": f"{rate_mbps} Mbps", "delay": f"{_LINK_DELAY_MS} ms"}
    return link | {"queue": queue_tree(queue, rate_mbps)}


def flow_group(name: str, sender: Sender) -> Tree:
    """An endless flow of a sender, from the beginning."""
    return {
        "name": name,
        "to": "sink",
        "access": {"to": "router", "rate": "10 Gbps", "delay": f"{sender.rtt_ms / 2 - _LINK_DELAY_MS:g} ms"},
        "tcp": {"profile": "linux-7.2", **CONTROLS[sender.control]},
    }


def with_dualpi2_of_linux_7_2(tree: ScenarioTree) -> ScenarioTree:
    """A scenario with the queue of Linux 7.2 instead of that of 2020."""
    if not tree["name"].endswith(OF_2020):
        return tree
    return {**tree, "link": [{**link, "queue": _DUALPI2} for link in tree["link"]]}
