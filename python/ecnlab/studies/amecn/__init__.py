"""The AMECN paper (2007): multi-level ECN, adaptive, beside MECN and Adaptive RED."""

from __future__ import annotations

from ecnlab.studies import TITLES
from ecnlab.studies.amecn import alternatives, claims, queues, targets
from ecnlab.studies.model import Study

STUDY = Study(
    name="amecn",
    title=TITLES["amecn"],
    source="A. Durresi, M. Sridharan and R. Jain, Adaptive multi-level explicit congestion notification, IJHPCN 5 (2007), pp. 3-11.",
    summary=(
        "MECN marks packets with one of two levels, which senders answer by cutting their windows by 20 or by 40 %; AMECN moves the "
        "probability of marks so that the average queue stays at a target. Both on a link of 1.5 Mbit/s whose load changes at 25 s, and "
        "AMECN beside Adaptive RED with ECN under a target delay, on one congested link of 7 Mbit/s and on three in a row. What the paper "
        "leaves open is as in ns-2, which it used; Tables A and B show the alternatives."
    ),
    items=[
        *queues.ITEMS,
        targets.EFFICIENCY,
        targets.TARGETS,
        targets.PARKING_LOT,
        alternatives.ALTERNATIVES,
        alternatives.TARGET_ALTERNATIVES,
    ],
    claims=claims.CLAIMS,
)
