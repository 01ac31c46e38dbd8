"""Unresponsive datagrams, constant or heavy-tailed, that compete with TCP, and flows with partial ECN use: section 6.2 (2)."""

from __future__ import annotations

from ecnlab.scenarios.networks import GROUPS
from ecnlab.studies.framework.claims import DIMENSIONLESS, MBPS
from ecnlab.studies.framework.model import StudyItem
from ecnlab.studies.framework.panels import PanelGridStyle, PanelMeasure, column_summed_over_groups, measures_figure_item
from ecnlab.studies.framework.rewritings import leave_scenario_unchanged
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.beyond import scenarios
from ecnlab.studies.papers.aecn.beyond.measures import (
    DROPS,
    EVENNESS,
    GOODPUT,
    JAIN,
    KBPS_A_FLOW,
    LINK_UTILISATION,
    MARKS,
    MEAN_WAIT,
    REPORT_PART,
    mean_goodput_per_flow,
    scenario_on_changed_network,
    smallest_over_largest_group_goodput,
)

SCHEMES = ("RED", "ECN", "AECN")
DATAGRAM_KINDS = {"cbr": "at a constant rate", "pareto": "in bursts with heavy tails"}
DATAGRAM_LOADS = (0.3, 0.5)
DATAGRAM_GOODPUT = {
    kind: {0.0: leave_scenario_unchanged} | {100 * load: scenarios.datagram_sources_change(kind, load) for load in DATAGRAM_LOADS}
    for kind in DATAGRAM_KINDS
}

TCP_GOODPUT = PanelMeasure("goodput of TCP", "tcp_goodput_first", column_summed_over_groups(GROUPS, schemes.GOODPUT), MBPS)
GOODPUT_PER_TCP_FLOW = PanelMeasure("average group", "average_goodput_first", column_summed_over_groups(["average"], schemes.GOODPUT), MBPS)
_GOODPUT_PER_FRAGILE_FLOW = PanelMeasure(
    "fragile group", "fragile_goodput_first", column_summed_over_groups(["fragile"], schemes.GOODPUT), MBPS
)
_GOODPUT_PER_ROBUST_FLOW = PanelMeasure(
    "robust group", "robust_goodput_first", column_summed_over_groups(["robust"], schemes.GOODPUT), MBPS
)


def _datagram_load_figure_item(number: str, kind: str) -> StudyItem:
    return measures_figure_item(
        number,
        f"Datagrams {DATAGRAM_KINDS[kind]} beside TCP",
        "60 flows of TCP, base max_p 0.5, chapter 5 network, and ten sources of unresponsive datagrams, against the share "
        "of the link that they offer. Only TCP's goodput is shown. AECN knows no round-trip time of a datagram and takes it for an "
        "average flow's.",
        {
            (scheme, load): scenario_on_changed_network(scheme, change)
            for scheme in SCHEMES
            for load, change in DATAGRAM_GOODPUT[kind].items()
        },
        [TCP_GOODPUT, EVENNESS, GOODPUT_PER_TCP_FLOW, _GOODPUT_PER_FRAGILE_FLOW],
        PanelGridStyle("offered by datagrams (%)", scenarios.SCHEME_PALETTE),
        also=[_GOODPUT_PER_ROBUST_FLOW, MEAN_WAIT, LINK_UTILISATION, DROPS, MARKS],
        part=REPORT_PART,
    )


ECN_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
PARTIAL_ECN_CHANGES = {100 * share: scenarios.share_of_ecn_flows_change(share) for share in ECN_SHARES}
PLAIN_GROUPS = [f"{group} plain" for group in GROUPS]
_GROUPS_WITH_PLAIN = [[group, f"{group} plain"] for group in GROUPS]

# Where no flow has ECN, or each has it, the groups of one kind are missing.
GOODPUT_PER_ECN_FLOW = PanelMeasure("a flow with ECN", "capable_flow", mean_goodput_per_flow(GROUPS, skip_missing=True), KBPS_A_FLOW)
GOODPUT_PER_PLAIN_FLOW = PanelMeasure("a flow without", "plain_flow", mean_goodput_per_flow(PLAIN_GROUPS, skip_missing=True), KBPS_A_FLOW)
EVENNESS_OF_GROUPS = PanelMeasure(
    "smallest over largest group",
    "evenness",
    smallest_over_largest_group_goodput(*_GROUPS_WITH_PLAIN, skip_missing=True),
    DIMENSIONLESS,
    top=1,
)

ITEMS = [
    _datagram_load_figure_item("B3", "cbr"),
    _datagram_load_figure_item("B4", "pareto"),
    measures_figure_item(
        "B5",
        "Flows with and without ECN beside each other",
        "60 flows, base max_p 0.5, chapter 5 network, against the share of each group that uses ECN. Where others' packets are marked, "
        "those of flows without ECN are dropped.",
        {
            (scheme, share): scenario_on_changed_network(scheme, change)
            for scheme in ("ECN", "AECN")
            for share, change in PARTIAL_ECN_CHANGES.items()
        },
        [GOODPUT_PER_ECN_FLOW, GOODPUT_PER_PLAIN_FLOW, GOODPUT, EVENNESS_OF_GROUPS],
        PanelGridStyle("flows with ECN (%)", scenarios.SCHEME_PALETTE),
        also=[JAIN, LINK_UTILISATION, DROPS, MARKS],
        part=REPORT_PART,
    ),
]
