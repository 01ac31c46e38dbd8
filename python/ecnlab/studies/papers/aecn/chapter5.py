"""Chapter 5's figures and tables, in three parts: RED and ECN on its network, AECN, and its refinements."""

from __future__ import annotations

from dataclasses import replace

from ecnlab.scenarios.networks import CHAPTER_5
from ecnlab.studies.papers.aecn import bytime, evaluation, packets, preliminaries, ratios, refinements, table

_PARTS = {
    "Chapter 5: RED and ECN on its network": [
        preliminaries.JAIN_INDEX_ITEM,
        preliminaries.AGGREGATE_GOODPUT,
        bytime.rates_over_time_item("5.5", 60, 0.5, CHAPTER_5),
        packets.marks_or_drops_item("5.6", "ECN", "mark", 60, 0.5, CHAPTER_5),
        packets.marks_or_drops_item("5.7", "ECN", "drop", 60, 0.5, CHAPTER_5),
        packets.marks_or_drops_item("5.8", "RED", "drop", 60, 0.5, CHAPTER_5),
        packets.marks_or_drops_item("5.9", "ECN", "mark", 120, 0.5, CHAPTER_5),
        packets.marks_or_drops_item("5.10", "ECN", "drop", 120, 0.5, CHAPTER_5),
        packets.marks_or_drops_item("5.11", "RED", "drop", 120, 0.5, CHAPTER_5),
        preliminaries.AGGREGATE_THROUGHPUT,
        *preliminaries.DELAYS_ITEM,
    ],
    "Chapter 5: AECN": [
        *ratios.ITEMS,
        table.TABLE_ITEM,
        *evaluation.RATE_ITEMS,
        packets.marks_or_drops_item("5.24", "AECN", "mark", 60, 0.5, CHAPTER_5),
        packets.marks_or_drops_item("5.25", "AECN", "drop", 60, 0.5, CHAPTER_5),
        packets.marks_or_drops_item("5.26", "AECN", "mark", 120, 0.5, CHAPTER_5),
        packets.marks_or_drops_item("5.27", "AECN", "drop", 120, 0.5, CHAPTER_5),
        bytime.queue_over_time_item("5.28", "AECN", 120, 0.5, CHAPTER_5),
        *evaluation.FAIRNESS_ITEMS,
        evaluation.DELAY_ITEM,
    ],
    "Chapter 5: AECN2, AECN3 and AECN4": [
        *refinements.ITEMS,
    ],
}

ITEMS = [replace(item, part=part) for part, items in _PARTS.items() for item in items]
