"""Unresponsive datagrams with and without ECT beside ten responsive flows, below and above the capacity of the link.

L4S team, "Overload results caused by non-responsive UDP traffic for PIE, DualPI2 and CoDel AQMs", github.com/L4STeam/l4steam.github.io.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from ecnlab.plot.style import Palette
from ecnlab.scenarios.networks import Tree
from ecnlab.studies.framework.claims import (
    MS,
    PERCENT,
    MeasuredQuantity,
    MeasureRatio,
    ScenarioMeasure,
)
from ecnlab.studies.framework.curves import AxisSettings, CurvePanel, curve_figure
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.l4s.network import BOTTLENECK, CONTROLS, CUBIC, LINUX_7_2, PRAGUE, link_tree, required_scenario

LINK_MBPS, _RTT_MS, _FLOWS_OF_A_KIND = 100, 10, 5
# The source sees CoDel in a cycle of 100 s at a load of 200 %.
_START_S, _CODEL_CYCLE_S = 20, 100
# Offered load of the datagrams, in % of the link.
LOADS = (50, 80, 110, 150, 200)
OVERLOADS = tuple(load for load in LOADS if load > 100)
DUALPI2, PIE, CODEL = "DualPI2", "PIE", "CoDel"
QUEUES: Mapping[str, str] = {DUALPI2: LINUX_7_2, PIE: "pie", CODEL: "fq_codel(1q)"}
WITH_ECT, WITHOUT_ECT = "ECT datagrams", "not-ECT datagrams"
_DATAGRAMS, _NOT_ECT, _ECT = "datagrams", "not-ECT", "ECT"
_PALETTE = Palette({WITH_ECT: "#0072B2", WITHOUT_ECT: "#D55E00"}, {WITH_ECT: "o", WITHOUT_ECT: "s"})
_PART = "Overload"


@cache
def overload_scenario(queue: str, load: int, ect: str) -> RequiredScenario:
    """Ten responsive flows, five of them with ECT, and a constant rate of datagrams; L4S senders and ECT(1) over DualPI2."""
    is_l4s = queue == DUALPI2
    codepoint = "not-ect" if ect == WITHOUT_ECT else "ect1" if is_l4s else "ect0"
    groups = [
        _group(_NOT_ECT, {"tcp": {"profile": "linux-7.2", **CONTROLS["cubic-noecn"]}, "count": _FLOWS_OF_A_KIND}),
        _group(_ECT, {"tcp": {"profile": "linux-7.2", **CONTROLS[PRAGUE if is_l4s else CUBIC]}, "count": _FLOWS_OF_A_KIND}),
        _group(
            _DATAGRAMS,
            {"udp": {"packet_size": 1500, "ecn": codepoint}, "app": {"kind": "cbr", "rate": f"{load * LINK_MBPS / 100:g} Mbps"}},
        ),
    ]
    link = link_tree(QUEUES[queue], LINK_MBPS)
    return required_scenario(f"{ect} at {load} % over {queue}", [link], groups, _START_S + _CODEL_CYCLE_S, _START_S)


def _group(name: str, rest: Tree) -> Tree:
    access = {"to": "router", "rate": "10 Gbps", "delay": f"{_RTT_MS / 2 - 0.1:g} ms"}
    return {"name": name, "to": "sink", "access": access, "start": ["0 s", "1 s"], **rest}


def datagram_share_of_throughput(queue: str, load: int, ect: str) -> MeasuredQuantity:
    """The datagrams' share of all throughput."""
    need = overload_scenario(queue, load, ect)
    datagrams, total = ScenarioMeasure(need, "throughput_bps", group=_DATAGRAMS), ScenarioMeasure(need, "throughput_bps")
    return MeasureRatio(datagrams, total)


def mean_datagram_wait(queue: str, load: int, ect: str) -> ScenarioMeasure:
    """The mean sojourn time of the datagrams' queue: that of the L band for ECT over DualPI2."""
    need = overload_scenario(queue, load, ect)
    band = None if queue != DUALPI2 else "L" if ect == WITH_ECT else "C"
    return ScenarioMeasure(need, "sojourn_mean_s", queue=BOTTLENECK, band=band)


def _panels_by_queue(measure: Callable[[str, int, str], MeasuredQuantity]) -> list[CurvePanel]:
    """A measure of the datagrams, with ECT and without it, against their load."""
    return [
        CurvePanel(queue, {ect: {load: measure(queue, load, ect) for load in LOADS} for ect in (WITH_ECT, WITHOUT_ECT)}) for queue in QUEUES
    ]


SHARE_ITEM = curve_figure(
    "3",
    "Share of unresponsive datagrams by their load",
    "100 Mbit/s, 10 ms: five responsive flows without ECT, five with it, and a constant rate of datagrams. Queues of Linux with their "
    "defaults; CoDel is FQ-CoDel with one queue. ECT is ECT(1) and the responsive ECT flows are Prague over DualPI2, ECT(0) and CUBIC over "
    "the others.",
    _panels_by_queue(datagram_share_of_throughput),
    AxisSettings("load of the datagrams (% of the link)", "share of the throughput", PERCENT, y_range=(0, 105)),
    part=_PART,
    palette=_PALETTE,
)
WAIT_ITEM = curve_figure(
    "4",
    "Wait of unresponsive datagrams by their load",
    "As Figure 3: the mean wait in the datagrams' queue, over DualPI2 in the band L for ECT and C otherwise.",
    _panels_by_queue(mean_datagram_wait),
    AxisSettings("load of the datagrams (% of the link)", "mean wait", MS, own_y=True),
    part=_PART,
    palette=_PALETTE,
)
ITEMS = [SHARE_ITEM, WAIT_ITEM]
