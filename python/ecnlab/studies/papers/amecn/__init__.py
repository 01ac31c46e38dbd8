"""The AMECN paper (2007): adaptive multi-level ECN, compared with MECN and Adaptive RED."""

from __future__ import annotations

from ecnlab.studies import TITLES
from ecnlab.studies.framework.model import Study
from ecnlab.studies.papers.amecn import alternatives, claims, queues, targets
from ecnlab.studies.papers.amecn.networks import changing_load_scenario, parking_lot_scenario
from ecnlab.studies.papers.amecn.open_parameters import ALTERNATIVES, OPEN_PARAMETERS

STUDY = Study(
    name="amecn",
    title=TITLES["amecn"],
    source="A. Durresi, M. Sridharan and R. Jain, Adaptive multi-level explicit congestion notification, IJHPCN 5 (2007), pp. 3-11.",
    summary=(
        "MECN marks packets with one of two levels, which senders answer by cutting their windows by 20 or by 40 %; AMECN moves the "
        "probability of marks so that the average queue stays at a target. Both on a link of 1.5 Mbit/s whose load changes at 25 s, and "
        "AMECN beside Adaptive RED with ECN under a target delay, on one congested link of 7 Mbit/s and on three in a row. What the paper "
        "leaves open is stated with the values that its text admits; Tables A and B show more alternatives."
    ),
    items=[
        *queues.ITEMS,
        targets.EFFICIENCY_ITEM,
        targets.TARGETS_ITEM,
        targets.PARKING_LOT_ITEM,
        alternatives.ALTERNATIVES_ITEM,
        alternatives.TARGET_ALTERNATIVES_ITEM,
    ],
    claims=claims.CLAIMS,
    open_parameters=OPEN_PARAMETERS,
    alternatives=ALTERNATIVES,
    networks={
        "Figure 4, the dumbbell, with the flows of Figure 6": changing_load_scenario("rise", "AMECN"),
        "Figure 11, three congested links": parking_lot_scenario("AMECN", 40),
    },
)
