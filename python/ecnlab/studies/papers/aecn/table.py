"""Table 5.1: AECN with alpha 1 (mark-front for each group) beside ECN."""

from __future__ import annotations

from collections.abc import Mapping

from ecnlab.studies.framework.model import (
    DrawnItemContent,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
)
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.published import TABLE_5_1

# Variants of Jain's index, by averaging interval and quantity.
JAIN_DEFINITIONS = {
    "jain_1s_throughput": "1 s, throughput",
    "jain_1s_goodput": "1 s, goodput",
    "jain_1s_goodput_first": "1 s, first transmissions",
    "jain_throughput": "80 s, throughput",
    "jain_goodput": "80 s, goodput",
    "jain_goodput_first": "80 s, first transmissions",
}
_GOODPUT_COLUMNS = {
    "goodput_first_bps": "first transmissions",
    "goodput_bps": "in order",
    "throughput_bps": "throughput",
}


def _draw_table_5_1(results: ResultsByKey) -> DrawnItemContent:
    tables = [
        _table_5_1_column_beside_ours(results, "Jain's index", 0, JAIN_DEFINITIONS),
        _table_5_1_column_beside_ours(results, "Goodput (Mbit/s)", 1, _GOODPUT_COLUMNS, factor=1e-6),
    ]
    rows = [((*key, name), result.estimate(name)) for key, result in results.items() for name in (*JAIN_DEFINITIONS, *_GOODPUT_COLUMNS)]
    return DrawnItemContent(None, tables, estimates_frame(["scheme", "flows", "quantity"], "value", rows))


def _table_5_1_column_beside_ours(
    results: ResultsByKey, title: str, column: int, ours: Mapping[str, str], factor: float = 1
) -> ReportTable:
    """A column of the printed table beside ours."""
    rows = [
        [
            *map(str, key),
            f"{TABLE_5_1[key][column]:.4f}",
            *(format_with_interval(result.estimate(name).scaled(factor)) for name in ours),
        ]
        for key, result in results.items()
    ]
    return ReportTable(title, ["scheme", "flows", "published", *ours.values()], rows)


TABLE_ITEM = StudyItem(
    kind="Table",
    number="5.1",
    title="AECN with alpha 1 beside ECN",
    caption="The thesis' numbers beside ours under every definition, base max_p 0.5, chapter 5 network.",
    needs={key: RequiredScenario(schemes.scheme_scenario(*key)) for key in TABLE_5_1},
    draw=_draw_table_5_1,
)
