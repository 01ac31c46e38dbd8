"""The AECN thesis (2001): RED, ECN, ECNM and AECN over groups of flows with heterogeneous RTTs."""

from __future__ import annotations

from ecnlab.studies import TITLES
from ecnlab.studies.framework.model import Study
from ecnlab.studies.papers.aecn import beyond, chapter4, chapter5, claims4, claims5, warmup
from ecnlab.studies.papers.aecn.setups import ALTERNATIVES, NETWORKS, OPEN_PARAMETERS

STUDY = Study(
    name="aecn",
    title=TITLES["aecn"],
    source="Zheng 2001, thesis on ECN and AECN for heterogeneous flows, chapters 3 to 5.",
    summary=(
        "RED, ECN, ECNM and AECN on the thesis' networks: a 10 Mbit/s link with a queue of 120 packets, shared by a fragile, an "
        "average and a robust group of TCP Reno flows; 100 s, the first 20 s left out. Goodput counts packets whose transmission was "
        "not a retransmission. Jain's index is over throughput (section 3.1.3), as the mean over 1-second intervals, which is nearest to "
        "the thesis' Table 5.1. The study's table of it has the other definitions beside it."
    ),
    items=[
        *warmup.ITEMS,
        *chapter4.ITEMS,
        *chapter5.ITEMS,
        *beyond.ITEMS,
    ],
    claims=[*claims4.CLAIMS, *claims5.CLAIMS, *beyond.CLAIMS],
    demo=["4.18", "5.1", "5.5", "5.16", "5.18", "5.20", "5.24", "5.28", "5.29", "5.30", "5.33", "5.43"],
    open_parameters=OPEN_PARAMETERS,
    alternatives=ALTERNATIVES,
    networks=NETWORKS,
)
