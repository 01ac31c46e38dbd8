"""Units: of every column that a result or a trace carries, as the engine declares it; those in which people read it, and write values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import cache

from ecnlab import _core
from ecnlab.errors import UnknownName

# The factor of each unit of a scenario, as the engine declares it, and the unit of columns that it leads to.
UNITS: dict[str, tuple[float, str]] = {
    spelling: (unit["factor"], name)
    for name, units in json.loads(_core.units()).items()
    for unit in units
    for spelling in unit["spellings"]
}

# Regular expressions of a number, and of a unit behind it.
NUMBER_PATTERN = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
UNIT_PATTERN = r"([^\W\d_]*(?:/s)?)"
_QUANTITY_PATTERN = re.compile(rf"\s*({NUMBER_PATTERN})\s*{UNIT_PATTERN}\s*")

_DISPLAY_UNITS = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms")}
# Below which value a smaller unit is shown: its factor and name.
_SMALLER_UNITS = {"bit/s": ((1e3, 1.0, "bit/s"), (1e5, 1e-3, "kbit/s")), "s": ((1e-4, 1e6, "µs"),)}


def parse_quantity(text: str) -> tuple[float, str] | None:
    """The number and the unit that "5 ms" stands for, here 0.005 and "s"; None if it is none."""
    match = _QUANTITY_PATTERN.fullmatch(text)
    if match is None or (match[2] and match[2] not in UNITS):
        return None
    factor, unit = UNITS.get(match[2], (1.0, ""))
    return float(match[1]) * factor, unit


def unit_of(column: str) -> str:
    """The unit of a column: "bit/s", "s", "packets", ..., "1" for a ratio and "" for a name or seed. Raises UnknownName."""
    if column not in _unit_by_column():
        raise UnknownName("column", column, _unit_by_column())
    return _unit_by_column()[column]


def display_unit_of_column(column: str) -> tuple[float, str]:
    """The factor to, and the name of, the unit in which people read `column`: Mbit/s and ms. Raises UnknownName."""
    return display_unit_of(unit_of(column))


def display_unit_of(unit: str) -> tuple[float, str]:
    """The factor from `unit` to, and the name of, the unit in which people read it."""
    return _DISPLAY_UNITS.get(unit, (1.0, unit))


def display_unit_for_values(column: str, values: Iterable[float]) -> tuple[float, str]:
    """The factor to, and the name of, the unit in which people read values of this size: bit/s and kbit/s of slow rates, µs of short times.

    All of the values share it, so it follows the largest. Raises UnknownName.
    """
    unit = unit_of(column)
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    for below, factor, name in _SMALLER_UNITS.get(unit, ()):
        if 0.0 < largest < below:
            return factor, name
    return display_unit_of(unit)


@cache
def _unit_by_column() -> dict[str, str]:
    tables = (*json.loads(_core.trace_columns()), *json.loads(_core.columns()))
    return {"seed": ""} | {column["name"]: column["unit"] for table in tables for column in table["columns"]}
