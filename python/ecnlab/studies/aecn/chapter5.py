"""Chapter 5's figures and tables, in three parts: RED and ECN on its network, AECN, and its refinements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ecnlab.studies.aecn import bytime, evaluation, packets, preliminaries, ratios, refinements, table
from ecnlab.studies.model import Item

_PARTS: dict[str, Sequence[Item]] = {
    "Chapter 5: RED and ECN on its network": [
        preliminaries.JAIN_INDEX,
        preliminaries.AGGREGATE_GOODPUT,
        bytime.GOODPUT,
        *packets.UNDER_RED_AND_ECN,
        preliminaries.AGGREGATE_THROUGHPUT,
        *preliminaries.DELAYS,
    ],
    "Chapter 5: AECN": [
        *ratios.ITEMS,
        table.TABLE,
        *evaluation.RATES,
        *packets.UNDER_AECN,
        bytime.QUEUE,
        *evaluation.FAIRNESS,
        evaluation.DELAYS,
    ],
    "Chapter 5: AECN2, AECN3 and AECN4": [
        *refinements.AECN2,
        *refinements.AECN3,
        *refinements.AECN4,
    ],
}

ITEMS: Sequence[Item] = [replace(item, part=part) for part, items in _PARTS.items() for item in items]
