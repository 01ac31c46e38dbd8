"""The unit of every column that a result or a trace carries, as the engine declares it, and the unit in which people read it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

from ecnlab import catalog
from ecnlab.errors import UnknownName

_SHOWN = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms")}
# Below which value a smaller unit is shown: its factor and name.
_SMALL = {"bit/s": ((1e3, 1.0, "bit/s"), (1e5, 1e-3, "kbit/s")), "s": ((1e-4, 1e6, "µs"),)}


def unit_of(column: str) -> str:
    """The unit of a column: "bit/s", "s", "packets", ..., "1" for a ratio and "" for a name or seed. Raises UnknownName."""
    if column not in _units():
        raise UnknownName("column", column, _units())
    return _units()[column]


def shown_unit(column: str) -> tuple[float, str]:
    """The factor to, and the name of, the unit in which people read `column`: Mbit/s and ms. Raises UnknownName."""
    return shown_as(unit_of(column))


def shown_as(unit: str) -> tuple[float, str]:
    """The factor from `unit` to, and the name of, the unit in which people read it."""
    return _SHOWN.get(unit, (1.0, unit))


def shown_in(column: str, values: Iterable[float]) -> tuple[float, str]:
    """The factor to, and the name of, the unit in which people read values of this size: bit/s and kbit/s of slow rates, µs of short times.

    All of the values share it, so it follows the largest. Raises UnknownName.
    """
    unit = unit_of(column)
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    for below, factor, name in _SMALL.get(unit, ()):
        if 0.0 < largest < below:
            return factor, name
    return shown_as(unit)


@cache
def _units() -> dict[str, str]:
    tables = (*catalog.trace_tables(), *catalog.tables())
    return {"seed": ""} | {column.name: column.unit for table in tables for column in table.columns}
