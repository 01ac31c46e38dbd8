"""Beyond the thesis: what its section 6.2 leaves to do, numbered B1 to B9, and what came of it, F1 to F13.

Equal numbers of flows in each group, one round-trip time for a group, and endless TCP flows that all use ECN are what chapters 4 and 5
are about. Here each of these is given up in turn, on the chapter 5 network with base max_p 0.5.
"""

from __future__ import annotations

from ecnlab.studies.papers.aecn.beyond import groups, power, routers, targets, traffic
from ecnlab.studies.papers.aecn.beyond.claims import CLAIMS

ITEMS = [*groups.ITEMS, *traffic.ITEMS, *routers.ITEMS, *power.ITEMS, *targets.ITEMS]

__all__ = ["CLAIMS", "ITEMS"]
