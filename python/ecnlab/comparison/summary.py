"""Text tables of a comparison: differing parameters of the scenarios, and differences of quantities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ecnlab.display.cells import TextTable
from ecnlab.scenarios.units import display_factor_and_unit, display_unit_for_values, parse_quantity
from ecnlab.stats.estimates import Estimate
from ecnlab.storage.summary import format_estimate, quantity_name
from ecnlab.sweeps.summary import SHOWN_QUANTITIES
from ecnlab.sweeps.values import format_axis_value

if TYPE_CHECKING:
    from ecnlab.comparison.model import Comparison, DifferenceRow

MAX_SHOWN_ROWS = 12
_MIN_SHOWN_P = 0.0001  # a smaller p-value is shown as below it
_TABLE_TITLES = {"total": "all flows, largest change first", "groups": "groups", "queues": "queues", "bands": "bands"}
_ROW_COLUMNS = {"total": "", "groups": "group", "queues": "queue", "bands": "band"}


def differing_parameter_tables(found: Comparison, *, everything: bool = False) -> Iterator[TextTable]:
    """Table of parameters in which the two differ; only the first rows unless `everything` is true."""
    if not found.parameters:
        return
    max_rows = len(found.parameters) if everything else MAX_SHOWN_ROWS
    rows = [[one.key, _format_parameter_value(one.a), _format_parameter_value(one.b)] for one in found.parameters[:max_rows]]
    left = len(found.parameters) - len(rows)
    title = "what differs between the scenarios" + (f": the first {max_rows}, and {left} more" if left else "")
    yield TextTable(title, ["parameter", *found.names], rows, ["parameter"])


def main_quantity_tables(found: Comparison) -> Iterator[TextTable]:
    """Table of the main quantities over all flows, also those without a difference; empty for sweeps, which have a row per point."""
    rows = {row.quantity: row for row in found.rows if row.table == "total" and not row.point}
    chosen = [rows[quantity] for quantity in ("throughput_bps", *SHOWN_QUANTITIES) if quantity in rows]
    if chosen:
        yield _difference_table_of_rows(found, "in short", chosen)


def difference_tables(found: Comparison, rows: Sequence[DifferenceRow], max_rows: int) -> Iterator[TextTable]:
    """One table of at max_rows `max_rows` rows for each table of measures."""
    for table, title in _TABLE_TITLES.items():
        of_table = [row for row in rows if row.table == table]
        left = len(of_table) - max_rows
        if of_table:
            yield _difference_table_of_rows(
                found, title + (f": the first {max_rows}, and {left} more" if left > 0 else ""), of_table[:max_rows]
            )


def _difference_table_of_rows(found: Comparison, title: str, rows: Sequence[DifferenceRow]) -> TextTable:
    words = [*rows[0].point, *filter(None, [_ROW_COLUMNS[rows[0].table]]), "quantity", "unit"]
    a, b = found.names
    return TextTable(title, [*words, a, b, f"{b} - {a}", "%", "adj. p"], list(map(_difference_row_cells, rows)), words)


def _difference_row_cells(row: DifferenceRow) -> list[str]:
    found = row.difference
    factor, unit = display_unit_for_values(row.quantity, [found.a.mean, found.b.mean])
    named = [row.name] if _ROW_COLUMNS[row.table] else []
    words = ["" if value is None else format_axis_value(value) for value in row.point.values()]
    numbers = [format_estimate(value, factor) for value in (found.a, found.b)]
    return [
        *words,
        *named,
        quantity_name(row.quantity),
        unit,
        *numbers,
        _format_signed_estimate(found.change.scaled(factor)),
        _format_relative_change_percent(found.relative_change),
        _format_p_value(row.adjusted_p_value),
    ]


def _format_signed_estimate(value: Estimate) -> str:
    return ("+" if value.mean > 0 else "") + format_estimate(value, is_signed=True)


def _format_relative_change_percent(relative: Estimate) -> str:
    if math.isinf(relative.mean):
        return "from 0"
    return _format_signed_estimate(relative.scaled(100.0))


def _format_p_value(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.2g}" if value >= _MIN_SHOWN_P else f"<{_MIN_SHOWN_P}"


def _format_parameter_value(value: Any) -> str:
    """A parameter's value with a readable unit: 10 Mbit/s instead of 10000000 bps."""
    found = parse_quantity(value) if isinstance(value, str) else None
    if found is None or not found[1]:
        return "-" if value is None else format_axis_value(value)
    factor, unit = display_factor_and_unit(found[1])
    return f"{found[0] * factor:.12g} {unit}"
