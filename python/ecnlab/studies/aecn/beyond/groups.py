"""Groups of unequal size, and round-trip times that differ inside a group: section 6.2 (1), and AECN2's refinement, (3) and (4)."""

from __future__ import annotations

from ecnlab.networks import GROUPS
from ecnlab.studies.aecn.beyond import scenarios
from ecnlab.studies.aecn.beyond.measures import DROPS, EVENNESS, GOODPUT, JAIN, KBPS_A_FLOW, MARKS, PART, a_flow, need
from ecnlab.studies.aecn.beyond.scenarios import Change
from ecnlab.studies.panels import Look, Measure, item

SCHEMES = ("RED", "ECN", "AECN", "AECN2")
_COUNTS = ((20, 20, 20), (40, 10, 10), (10, 40, 10), (10, 10, 40))
SIZES: dict[str, Change] = {
    "/".join(map(str, counts)): scenarios.resized(dict(zip(GROUPS, counts, strict=True))) if len(set(counts)) > 1 else scenarios.unchanged
    for counts in _COUNTS
}
UNEQUAL = [name for name, change in SIZES.items() if change is not scenarios.unchanged]
SPREADS: dict[float, Change] = {100 * share: scenarios.spread(share) if share else scenarios.unchanged for share in (0, 0.25, 0.5, 0.75)}

_BY_GROUP = [Measure(f"a {group} flow", f"{group}_flow", a_flow([group]), KBPS_A_FLOW) for group in GROUPS]

SIZES_OF_GROUPS = item(
    "B1",
    "Groups of unequal size",
    "60 flows, base max_p 0.5, chapter 5 network; below each place how many flows are fragile, average and robust. Jain's index is "
    "the mean over 1-second intervals; the group measure is the smallest over the largest of the groups' mean goodput of a flow.",
    {(scheme, name): need(scheme, change) for scheme in SCHEMES for name, change in SIZES.items()},
    [JAIN, EVENNESS, GOODPUT],
    Look("fragile/average/robust", scenarios.LOOKS, columns=1),
    also=[*_BY_GROUP, DROPS, MARKS],
    part=PART,
)
SPREAD_DELAYS = item(
    "B2",
    "Round-trip times that differ inside a group",
    "60 flows, base max_p 0.5, chapter 5 network; each flow's access delay is drawn evenly from the group's delay plus or minus this "
    "share of it. From 50 % on the groups overlap, and AECN's bounds cut through them.",
    {(scheme, share): need(scheme, change) for scheme in ("RED", "ECN", "AECN") for share, change in SPREADS.items()},
    [JAIN, EVENNESS, GOODPUT],
    Look("spread of the delay (%)", scenarios.LOOKS),
    also=[*_BY_GROUP, DROPS, MARKS],
    part=PART,
)
