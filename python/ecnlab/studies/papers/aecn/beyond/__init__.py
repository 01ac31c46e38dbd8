"""Beyond the thesis: what its section 6.2 leaves to do, numbered B1 to B9, and what came of it, F1 to F13.

Equal numbers of flows in each group, one round-trip time for a group, and endless TCP flows that all use ECN are what chapters 4 and 5
are about. Here each of these is given up in turn, on the chapter 5 network with base max_p 0.5.
"""

from __future__ import annotations

from ecnlab.studies.papers.aecn.beyond.claims import CLAIMS
from ecnlab.studies.papers.aecn.beyond.groups import GROUP_SIZES_ITEM, SPREAD_DELAYS_ITEM
from ecnlab.studies.papers.aecn.beyond.power import FLOW_ESTIMATE_ITEM, POWER_ITEM
from ecnlab.studies.papers.aecn.beyond.routers import SEVERAL_ROUTERS_ITEM
from ecnlab.studies.papers.aecn.beyond.targets import TARGETS_ITEM
from ecnlab.studies.papers.aecn.beyond.traffic import CONSTANT_DATAGRAMS_ITEM, HEAVY_TAILED_DATAGRAMS_ITEM, PARTIAL_ECN_ITEM

ITEMS = [
    GROUP_SIZES_ITEM,
    SPREAD_DELAYS_ITEM,
    CONSTANT_DATAGRAMS_ITEM,
    HEAVY_TAILED_DATAGRAMS_ITEM,
    PARTIAL_ECN_ITEM,
    SEVERAL_ROUTERS_ITEM,
    POWER_ITEM,
    FLOW_ESTIMATE_ITEM,
    TARGETS_ITEM,
]

__all__ = ["CLAIMS", "ITEMS"]
