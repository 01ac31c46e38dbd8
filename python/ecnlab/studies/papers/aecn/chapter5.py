"""Chapter 5's figures and tables, in three parts: RED and ECN on its network, AECN, and its refinements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ecnlab.studies.framework.model import StudyItem
from ecnlab.studies.papers.aecn import bytime, evaluation, packets, preliminaries, ratios, refinements, table

_PARTS: dict[str, Sequence[StudyItem]] = {
    "Chapter 5: RED and ECN on its network": [
        preliminaries.JAIN_INDEX_ITEM,
        preliminaries.AGGREGATE_GOODPUT,
        bytime.GOODPUT,
        *packets.RED_AND_ECN_ITEMS,
        preliminaries.AGGREGATE_THROUGHPUT,
        *preliminaries.DELAYS_ITEM,
    ],
    "Chapter 5: AECN": [
        *ratios.ITEMS,
        table.TABLE_ITEM,
        *evaluation.RATE_ITEMS,
        *packets.AECN_ITEMS,
        bytime.QUEUE,
        *evaluation.FAIRNESS_ITEMS,
        evaluation.DELAY_ITEM,
    ],
    "Chapter 5: AECN2, AECN3 and AECN4": [
        *refinements.AECN2_ITEMS,
        *refinements.AECN3_ITEMS,
        *refinements.AECN4_ITEMS,
    ],
}

ITEMS: Sequence[StudyItem] = [replace(item, part=part) for part, items in _PARTS.items() for item in items]
