"""A comparison as tables: what differs between the two scenarios, and how far each quantity is apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ecnlab.analysis.stats import Estimate
from ecnlab.summary import Cells, name_of, number
from ecnlab.sweeps.summary import QUANTITIES
from ecnlab.sweeps.values import shown
from ecnlab.units import quantity, shown_as, shown_in

if TYPE_CHECKING:
    from ecnlab.comparison.model import Comparison, Row

FEW = 12
_LEAST_P = 0.0001  # a smaller p-value is shown as below it
_TITLES = {"total": "all flows, largest change first", "groups": "groups", "queues": "queues", "bands": "bands"}
_ROW = {"total": "", "groups": "group", "queues": "queue", "bands": "band"}


def parameters(found: Comparison, *, everything: bool = False) -> Iterator[Cells]:
    """The parameters in force in which the two differ; the first of them, unless `everything` is wanted."""
    if not found.parameters:
        return
    most = len(found.parameters) if everything else FEW
    rows = [[one.key, _value(one.a), _value(one.b)] for one in found.parameters[:most]]
    left = len(found.parameters) - len(rows)
    title = "what differs between the scenarios" + (f": the first {most}, and {left} more" if left else "")
    yield Cells(title, ["parameter", *found.names], rows, ["parameter"])


def in_short(found: Comparison) -> Iterator[Cells]:
    """What most ask for first, of all flows, apart or not; nothing where sweeps are compared, for they have a row for each point."""
    rows = {row.quantity: row for row in found.rows if row.table == "total" and not row.point}
    chosen = [rows[quantity] for quantity in ("throughput_bps", *QUANTITIES) if quantity in rows]
    if chosen:
        yield _table(found, "in short", chosen)


def tables(found: Comparison, rows: Sequence[Row], most: int) -> Iterator[Cells]:
    """These rows in a table for each table of the measures, of each so many."""
    for table, title in _TITLES.items():
        of_table = [row for row in rows if row.table == table]
        left = len(of_table) - most
        if of_table:
            yield _table(found, title + (f": the first {most}, and {left} more" if left > 0 else ""), of_table[:most])


def _table(found: Comparison, title: str, rows: Sequence[Row]) -> Cells:
    words = [*rows[0].point, *filter(None, [_ROW[rows[0].table]]), "quantity", "unit"]
    a, b = found.names
    return Cells(title, [*words, a, b, f"{b} - {a}", "%", "adj. p"], list(map(_cells, rows)), words)


def _cells(row: Row) -> list[str]:
    found = row.difference
    factor, unit = shown_in(row.quantity, [found.a.mean, found.b.mean])
    named = [row.name] if _ROW[row.table] else []
    words = ["" if value is None else shown(value) for value in row.point.values()]
    numbers = [number(value, factor) for value in (found.a, found.b)]
    return [
        *words,
        *named,
        name_of(row.quantity),
        unit,
        *numbers,
        _signed(found.change.scaled(factor)),
        _percent(found.relative),
        _p(row.adjusted_p_value),
    ]


def _signed(value: Estimate) -> str:
    return ("+" if value.mean > 0 else "") + number(value, is_signed=True)


def _percent(relative: Estimate) -> str:
    if math.isinf(relative.mean):
        return "from 0"
    return _signed(relative.scaled(100.0))


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.2g}" if value >= _LEAST_P else f"<{_LEAST_P}"


def _value(value: Any) -> str:
    """A parameter in force as people write it: 10 Mbit/s in place of 10000000 bps."""
    found = quantity(value) if isinstance(value, str) else None
    if found is None or not found[1]:
        return "-" if value is None else shown(value)
    factor, unit = shown_as(found[1])
    return f"{found[0] * factor:.12g} {unit}"
