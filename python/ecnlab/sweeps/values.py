"""Values of an axis: parsing of lists and ranges, and conversion to a column with kind and unit.

"0.1,0.5"              two values
"0.1..1.0 step 0.1"    ten values, both ends included
"15..60 step 15"       whole numbers stay whole
"5..50 step 5 ms"      one unit, at the end
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ecnlab.errors import UsageError
from ecnlab.scenarios.units import NUMBER_PATTERN, UNIT_PATTERN, parse_quantity

# Values by name of a parameter, or by key of a scenario.
Values = Mapping[str, Any]

_MAX_VALUES = 100_000
_RANGE_PATTERN = re.compile(rf"\s*({NUMBER_PATTERN})\s*\.\.\s*({NUMBER_PATTERN})(?:\s+step\s+({NUMBER_PATTERN}))?\s*{UNIT_PATTERN}\s*")


def parse_axis_values_text(text: str) -> list[Any]:
    """Parse values separated by commas; a part may be a range. Raises UsageError."""
    return [value for part in _split_at_top_level_commas(text) for value in _expand_range(part)]


def parse_toml_value_or_text(text: str) -> Any:
    """Parse one value in TOML syntax: a number, true, a list, a table; anything else is text."""
    try:
        found = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text.strip()
    return found if isinstance(found, (bool, int, float, str, list, dict)) else text.strip()


@dataclass(frozen=True)
class ValueKindAndUnit:
    """Kind of a column of values: "flag", "whole", "real" or "name", and the unit of a real ("" if it has none)."""

    name: str
    unit: str = ""

    @staticmethod
    def narrowest_kind_of(values: Iterable[Any]) -> ValueKindAndUnit:
        """The narrowest kind for all values; every kind permits None."""
        known = [value for value in values if value is not None]
        if all(isinstance(value, bool) for value in known):
            return ValueKindAndUnit("flag" if known else "name")
        if all(isinstance(value, int) and not isinstance(value, bool) for value in known):
            return ValueKindAndUnit("whole")
        numbers = [_parse_number_with_unit(value) for value in known]
        units = {number[1] for number in numbers if number}
        return ValueKindAndUnit("real", units.pop()) if all(numbers) and len(units) == 1 else ValueKindAndUnit("name")

    def convert_to_cell(self, value: Any) -> Any:
        """Convert a value to the column's type."""
        if value is None or self.name in ("flag", "whole"):
            return value
        number = _parse_number_with_unit(value) if self.name == "real" else None
        return format_axis_value(value) if number is None else number[0]


def format_axis_value(value: Any) -> str:
    """A value as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=isinstance(value, Mapping))


def _parse_number_with_unit(value: Any) -> tuple[float, str] | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value), ""
    return parse_quantity(value) if isinstance(value, str) else None


def _split_at_top_level_commas(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes. Raises UsageError for an empty part."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote or letter in "\"'":
            quote = ("" if letter == quote else quote) if quote else letter
        else:
            depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and not quote and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    if not all(part.strip() for part in parts):
        raise UsageError(f'values {text!r} cannot be parsed; fix: write them as "0.1,0.5" or "0.1..1.0 step 0.1"')
    return parts


def _expand_range(part: str) -> Sequence[Any]:
    match = _RANGE_PATTERN.fullmatch(part)
    if match is None:
        return [parse_toml_value_or_text(part)]
    low, high, unit = Decimal(match[1]), Decimal(match[2]), match[4]
    step = Decimal(match[3] or 1)
    if match[3] is None and not (_is_whole_number(match[1]) and _is_whole_number(match[2])):
        raise UsageError(f'range {part.strip()!r} needs a step, as in "0.1..1.0 step 0.1"')
    if step <= 0 or high < low:
        raise UsageError(f"range {part.strip()!r}: " + ("the step must be above 0" if step <= 0 else "it ends before it begins"))
    if (high - low) / step >= _MAX_VALUES:
        raise UsageError(f"range {part.strip()!r}: more than {_MAX_VALUES} values")
    whole = all(map(_is_whole_number, filter(None, match.group(1, 2, 3))))
    return [_decimal_to_axis_value(low + at * step, unit, whole=whole) for at in range(int((high - low) / step) + 1)]


def _decimal_to_axis_value(number: Decimal, unit: str, *, whole: bool) -> Any:
    if unit:
        return f"{number} {unit}"
    return int(number) if whole else float(number)


def _is_whole_number(text: str) -> bool:
    return text.lstrip("+-").isdigit()
