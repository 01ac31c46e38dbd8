"""Gharegozi's study of RED and RED with ECN: ten TCP sources, alone and with competing datagrams."""

from __future__ import annotations

from ecnlab.studies import TITLES
from ecnlab.studies.framework.model import Study
from ecnlab.studies.papers.red_ecn import claims, fit, throughput
from ecnlab.studies.papers.red_ecn.network import table_row_scenario
from ecnlab.studies.papers.red_ecn.open_parameters import ALTERNATIVES, OPEN_PARAMETERS

STUDY = Study(
    name="red-ecn",
    title=TITLES["red-ecn"],
    source="A. Gharegozi, The Study of ECN Application Effect at the Performance Improvement of RED.",
    summary=(
        "Ten endless TCP flows over access links of 1 Mbit/s, a link whose delay varies from 25 to 500 ms, and a bottleneck with RED or "
        "RED with ECN (thresholds 6 and 18 of 25 packets); alone, and beside bursts of datagrams. Throughput is what reached the "
        "application of a TCP source, retransmissions left out. What the paper leaves out was fitted to its Tables I and II; "
        "Table F shows the fit."
    ),
    items=[*throughput.ITEMS, fit.FIT_ITEM],
    claims=claims.CLAIMS,
    open_parameters=OPEN_PARAMETERS,
    alternatives=ALTERNATIVES,
    networks={
        "Figure 4, without datagrams": table_row_scenario((1, "RED with ECN", 250)),
        "Figure 6, with sources of datagrams": table_row_scenario((2, "RED with ECN", 250)),
    },
)
