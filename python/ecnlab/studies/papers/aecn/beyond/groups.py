"""Groups of unequal size, and round-trip times that differ inside a group: section 6.2 (1), and AECN2's refinement, (3) and (4)."""

from __future__ import annotations

from ecnlab.scenarios.networks import GROUPS
from ecnlab.studies.framework.panels import PanelGridStyle, PanelMeasure, measures_figure_item
from ecnlab.studies.framework.rewritings import leave_scenario_unchanged
from ecnlab.studies.papers.aecn.beyond import scenarios
from ecnlab.studies.papers.aecn.beyond.measures import (
    DROPS,
    EVENNESS,
    GOODPUT,
    JAIN,
    KBPS_A_FLOW,
    MARKS,
    REPORT_PART,
    mean_goodput_per_flow,
    scenario_on_changed_network,
)

SCHEMES = ("RED", "ECN", "AECN", "AECN2")
_GROUP_SIZES = ((20, 20, 20), (40, 10, 10), (10, 40, 10), (10, 10, 40))
GROUP_SIZE_CHANGES = {
    "/".join(map(str, counts)): scenarios.group_sizes_change(dict(zip(GROUPS, counts, strict=True)))
    if len(set(counts)) > 1
    else leave_scenario_unchanged
    for counts in _GROUP_SIZES
}
UNEQUAL_SIZES = [name for name, change in GROUP_SIZE_CHANGES.items() if change is not leave_scenario_unchanged]
DELAY_SPREAD_CHANGES = {
    100 * share: scenarios.spread_access_delays_change(share) if share else leave_scenario_unchanged for share in (0, 0.25, 0.5, 0.75)
}

_GOODPUT_PER_FLOW_OF_GROUP = [
    PanelMeasure(f"a {group} flow", f"{group}_flow", mean_goodput_per_flow([group]), KBPS_A_FLOW) for group in GROUPS
]

ITEMS = [
    measures_figure_item(
        "B1",
        "Groups of unequal size",
        "60 flows, base max_p 0.5, chapter 5 network; below each place how many flows are fragile, average and robust. Jain's index is "
        "the mean over 1-second intervals; the group measure is the smallest over the largest of the groups' mean goodput of a flow.",
        {(scheme, name): scenario_on_changed_network(scheme, change) for scheme in SCHEMES for name, change in GROUP_SIZE_CHANGES.items()},
        [JAIN, EVENNESS, GOODPUT],
        PanelGridStyle("fragile/average/robust", scenarios.SCHEME_PALETTE, columns=1),
        also=[*_GOODPUT_PER_FLOW_OF_GROUP, DROPS, MARKS],
        part=REPORT_PART,
    ),
    measures_figure_item(
        "B2",
        "Round-trip times that differ inside a group",
        "60 flows, base max_p 0.5, chapter 5 network; each flow's access delay is drawn evenly from the group's delay plus or minus this "
        "share of it. From 50 % on the groups overlap, and AECN's bounds cut through them.",
        {
            (scheme, share): scenario_on_changed_network(scheme, change)
            for scheme in ("RED", "ECN", "AECN")
            for share, change in DELAY_SPREAD_CHANGES.items()
        },
        [JAIN, EVENNESS, GOODPUT],
        PanelGridStyle("spread of the delay (%)", scenarios.SCHEME_PALETTE),
        also=[*_GOODPUT_PER_FLOW_OF_GROUP, DROPS, MARKS],
        part=REPORT_PART,
    ),
]
