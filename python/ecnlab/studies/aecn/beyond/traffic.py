"""Unresponsive datagrams, constant or with heavy tails, beside TCP, and flows of which only some use ECN: section 6.2 (2)."""

from __future__ import annotations

from ecnlab.networks import GROUPS
from ecnlab.studies.aecn.beyond import scenarios
from ecnlab.studies.aecn.beyond.measures import (
    DROPS,
    EVENNESS,
    GOODPUT,
    JAIN,
    KBPS_A_FLOW,
    MARKS,
    PART,
    USE,
    WAIT,
    a_flow,
    evenness,
    need,
    total,
)
from ecnlab.studies.aecn.beyond.scenarios import Change
from ecnlab.studies.claims import MBPS, PLAIN
from ecnlab.studies.model import Item
from ecnlab.studies.panels import Look, Measure, item

SCHEMES = ("RED", "ECN", "AECN")
KINDS = {"cbr": "at a constant rate", "pareto": "in bursts with heavy tails"}
LOADS = (0.3, 0.5)
DATAGRAMS: dict[str, dict[float, Change]] = {
    kind: {0.0: scenarios.unchanged} | {100 * load: scenarios.beside(kind, load) for load in LOADS} for kind in KINDS
}

TCP = Measure("goodput of TCP", "tcp_goodput_first", total(GROUPS), MBPS)
_THROUGH = Measure("datagrams delivered", "datagrams", total([scenarios.DATAGRAMS], "throughput_bps"), MBPS)
AVERAGE = Measure("average group", "average_goodput_first", total(["average"]), MBPS)
_FRAGILE = Measure("fragile group", "fragile_goodput_first", total(["fragile"]), MBPS)
_ROBUST = Measure("robust group", "robust_goodput_first", total(["robust"]), MBPS)


def _beside(number: str, kind: str) -> Item:
    return item(
        number,
        f"Datagrams {KINDS[kind]} beside TCP",
        "60 flows of TCP, base max_p 0.5, chapter 5 network, and ten sources of datagrams that answer to nothing, against the share "
        "of the link that they offer. Only TCP's goodput is shown. AECN knows no round-trip time of a datagram and takes it for an "
        "average flow's.",
        {(scheme, load): need(scheme, change) for scheme in SCHEMES for load, change in DATAGRAMS[kind].items()},
        [TCP, EVENNESS, AVERAGE, _FRAGILE],
        Look("offered by datagrams (%)", scenarios.LOOKS),
        also=[_ROBUST, WAIT, USE, DROPS, MARKS],
        part=PART,
    )


CONSTANT, HEAVY = _beside("B3", "cbr"), _beside("B4", "pareto")

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
MIXED: dict[float, Change] = {100 * share: scenarios.mixed(share) for share in SHARES}
PLAIN_GROUPS = [f"{group} plain" for group in GROUPS]
_PARTS = [[group, f"{group} plain"] for group in GROUPS]


CAPABLE = Measure("a flow with ECN", "capable_flow", a_flow(GROUPS), KBPS_A_FLOW)
PLAIN_ONE = Measure("a flow without", "plain_flow", a_flow(PLAIN_GROUPS), KBPS_A_FLOW)
OF_PARTS = Measure("smallest over largest group", "evenness", evenness(*_PARTS), PLAIN, top=1)

MIXED_FLOWS = item(
    "B5",
    "Flows with and without ECN beside each other",
    "60 flows, base max_p 0.5, chapter 5 network, against the share of each group that uses ECN. Where others' packets are marked, "
    "those of flows without ECN are dropped.",
    {(scheme, share): need(scheme, change) for scheme in ("ECN", "AECN") for share, change in MIXED.items()},
    [CAPABLE, PLAIN_ONE, GOODPUT, OF_PARTS],
    Look("flows with ECN (%)", scenarios.LOOKS),
    also=[JAIN, USE, DROPS, MARKS],
    part=PART,
)
