"""A comparison as text: what the two are, what differs between them, and how far each quantity is apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ecnlab.analysis.stats import CONFIDENCE, Estimate
from ecnlab.cli import output
from ecnlab.cli.summary import name_of, number
from ecnlab.cli.sweep_summary import QUANTITIES
from ecnlab.cli.table import Table
from ecnlab.sweeps.values import quantity, shown
from ecnlab.units import shown_as, shown_unit

if TYPE_CHECKING:
    from ecnlab.comparison.model import Comparison, Row

_FEW = 12
_TITLES = {"total": "all flows, largest change first", "groups": "groups", "queues": "queues", "bands": "bands"}
_ROW = {"total": "", "groups": "group", "queues": "queue", "bands": "band"}


def say(found: Comparison, *, everything: bool) -> None:
    """Print a comparison; all of it, or the parameters and rows that matter most."""
    for name, title in zip(found.names, found.titles, strict=True):
        output.say(f"{name}: {title}")
    for note in found.notes:
        output.say(f"note: {note}")
    output.say_tables(_parameters(found, everything=everything))
    if not found.rows:
        output.say("there is no quantity that both have")
        return
    if everything:
        output.say_tables(_tables(found, found.rows, len(found.rows)))
    else:
        output.say_tables(_in_short(found))
        output.say_tables(_tables(found, found.apart, _FEW))
    output.say(_ending(found, everything=everything))


def _parameters(found: Comparison, *, everything: bool) -> Iterator[Table]:
    if not found.parameters:
        return
    most = len(found.parameters) if everything else _FEW
    rows = [[one.key, _value(one.a), _value(one.b)] for one in found.parameters[:most]]
    left = len(found.parameters) - len(rows)
    title = "what differs between the scenarios" + (f": the first {most}, and {left} more" if left else "")
    yield Table(title, ["parameter", *found.names], rows, ["parameter"])


def _in_short(found: Comparison) -> Iterator[Table]:
    """What most ask for first, of all flows, apart or not; nothing where sweeps are compared, for they have a row for each point."""
    rows = {row.quantity: row for row in found.rows if row.table == "total" and not row.point}
    chosen = [rows[quantity] for quantity in ("throughput_bps", *QUANTITIES) if quantity in rows]
    if chosen:
        yield _table(found, "in short", chosen)


def _tables(found: Comparison, rows: Sequence[Row], most: int) -> Iterator[Table]:
    for table, title in _TITLES.items():
        of_table = [row for row in rows if row.table == table]
        left = len(of_table) - most
        if of_table:
            yield _table(found, title + (f": the first {most}, and {left} more" if left > 0 else ""), of_table[:most])


def _table(found: Comparison, title: str, rows: Sequence[Row]) -> Table:
    words = [*rows[0].point, *filter(None, [_ROW[rows[0].table]]), "quantity", "unit"]
    a, b = found.names
    return Table(title, [*words, a, b, f"{b} - {a}", "%"], list(map(_cells, rows)), words)


def _cells(row: Row) -> list[str]:
    found = row.difference
    factor, unit = shown_unit(row.quantity)
    named = [row.name] if _ROW[row.table] else []
    words = ["" if value is None else shown(value) for value in row.point.values()]
    numbers = [number(value, factor) for value in (found.a, found.b)]
    return [*words, *named, name_of(row.quantity), unit, *numbers, _signed(found.change.scaled(factor)), _percent(found.relative)]


def _signed(value: Estimate) -> str:
    return f"+{number(value)}" if value.mean > 0 else number(value)


def _percent(relative: Estimate) -> str:
    if math.isinf(relative.mean):
        return "from 0"
    return _signed(relative.scaled(100.0))


def _value(value: Any) -> str:
    """A parameter in force as people write it: 10 Mbit/s in place of 10000000 bps."""
    found = quantity(value) if isinstance(value, str) else None
    if found is None or not found[1]:
        return "-" if value is None else shown(value)
    factor, unit = shown_as(found[1])
    return f"{found[0] * factor:.12g} {unit}"


def _ending(found: Comparison, *, everything: bool) -> str:
    """How many quantities are apart, and how many of them chance alone would give."""
    told = f"{len(found.apart)} of {len(found.rows)} quantities differ"
    if any(math.isfinite(row.difference.change.half_width) for row in found.rows):
        told += f" by more than their {100 * CONFIDENCE:g} % interval; chance alone gives about 1 in {1 / (1 - CONFIDENCE):.0f}"
    return told if everything else f"{told}; --all shows everything"
