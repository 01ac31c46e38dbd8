"""Units of columns of results and traces, as the engine declares them; display units; and units of quantities in scenarios."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import cache

from ecnlab import _core
from ecnlab.errors import require_known_name

# The factor of each unit in scenarios, as the engine declares it, to the corresponding unit of columns.
UNITS: dict[str, tuple[float, str]] = {
    spelling: (unit["factor"], name)
    for name, units in json.loads(_core.units()).items()
    for unit in units
    for spelling in unit["spellings"]
}

# Regular expressions of a number, and of a unit after it.
NUMBER_PATTERN = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
UNIT_PATTERN = r"([^\W\d_]*(?:/s)?)"
_QUANTITY_PATTERN = re.compile(rf"\s*({NUMBER_PATTERN})\s*{UNIT_PATTERN}\s*")

_DISPLAY_UNITS = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms")}
# Limits below which a smaller unit is shown, with its factor and name.
_SMALLER_UNITS = {"bit/s": ((1e3, 1.0, "bit/s"), (1e5, 1e-3, "kbit/s")), "s": ((1e-4, 1e6, "µs"),)}


def parse_quantity(text: str) -> tuple[float, str] | None:
    """Parse a quantity: "5 ms" is (0.005, "s"); None if the text is not a quantity."""
    match = _QUANTITY_PATTERN.fullmatch(text)
    if match is None or (match[2] and match[2] not in UNITS):
        return None
    factor, unit = UNITS.get(match[2], (1.0, ""))
    return float(match[1]) * factor, unit


def unit_of(column: str) -> str:
    """The unit of a column: "bit/s", "s", "packets", ..., "1" for a ratio and "" for a name or seed. Raises UnknownName."""
    units = _unit_by_column()
    require_known_name("column", column, units)
    return units[column]


def column_display_factor_and_unit(column: str) -> tuple[float, str]:
    """Factor and name of the display unit of a column, such as Mbit/s and ms. Raises UnknownName."""
    return display_factor_and_unit(unit_of(column))


def display_factor_and_unit(unit: str) -> tuple[float, str]:
    """Factor and name of the display unit for a unit."""
    return _DISPLAY_UNITS.get(unit, (1.0, unit))


def display_unit_for_values(column: str, values: Iterable[float]) -> tuple[float, str]:
    """Factor and name of the display unit for values of this size: bit/s and kbit/s for slow rates, µs for short times.

    The largest value selects the unit for all of them. Raises UnknownName.
    """
    unit = unit_of(column)
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    for below, factor, name in _SMALLER_UNITS.get(unit, ()):
        if 0.0 < largest < below:
            return factor, name
    return display_factor_and_unit(unit)


@cache
def _unit_by_column() -> dict[str, str]:
    tables = (*json.loads(_core.trace_columns()), *json.loads(_core.columns()))
    return {"seed": ""} | {column["name"]: column["unit"] for table in tables for column in table["columns"]}
