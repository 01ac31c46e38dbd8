"""Axes of a sweep: each is a named column of the sweep's tables and sets keys of the scenario.

A grid is a dict, the section [grid] of a sweep file:

    {"link.bottleneck.queue.max_p": [0.1, 0.5],                       a key and its values
     "limit": {"key": "link.bottleneck.queue.limit", "values": ...},   the same with a chosen name; `keys` sets several to one value
     "flows": {"values": [15, 30]},                                    no key: for values that depend on it
     "scheme": {"RED": {KEY: VALUE, ...}, "ECN": {...}}}               names, each for several keys at once
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ecnlab.errors import UsageError, require_no_problems
from ecnlab.scenarios.load import numpy_to_python_value
from ecnlab.sweeps.values import ValueKindAndUnit, Values, format_axis_value, parse_axis_values_text

# Column names of the sweep's tables.
RESERVED_NAMES = frozenset(
    ("point", "key", "seed", "group", "queue", "band", "table", "name", "quantity", "unit", "mean", "sd", "half_width", "n")
)
LABEL_KEY = "label"
_LIST_KEYS = ("link", "flows")
_UNVARIABLE_KEYS = {
    "name": "is the scenario's title, which changes no result; fix: vary something else",
    "seed": "cannot be varied, because each seed runs at every point; fix: choose seeds with --seeds, or seeds=...",
}
_NAME_TAKEN_TEXT = "is the name of a column of the tables; fix: choose another name"
_AXIS_FORMS_TEXT = (
    'write it as "KEY" = [VALUES], NAME = { key = "KEY", values = [VALUES] }, or NAME = { VALUE = { "KEY" = VALUE, ... }, ... }'
)


@dataclass(frozen=True)
class SweepAxis:
    """An axis of a sweep: values and the scenario keys that they set.

    Attributes
    ----------
    name : str
        Name of its column.
    values : tuple
        The values, in order.
    keys : tuple of str
        The scenario keys that each value sets; empty for an axis of names.
    bundles : Mapping
        For values that name several changes: the changes of each name.
    """

    name: str
    values: tuple[Any, ...]
    keys: tuple[str, ...] = ()
    bundles: Mapping[str, Values] = field(default_factory=dict)

    @property
    def value_kind(self) -> ValueKindAndUnit:
        """Kind and unit of its column."""
        return ValueKindAndUnit("name") if self.bundles else ValueKindAndUnit.narrowest_kind_of(self.values)

    @property
    def overridden_keys(self) -> frozenset[str]:
        """All keys that its values set."""
        return frozenset((*self.keys, *(key for bundle in self.bundles.values() for key in bundle)))

    def overrides_for(self, value: Any) -> dict[str, Any]:
        """The overrides of a value, by scenario key."""
        return dict(self.bundles[value]) if self.bundles else dict.fromkeys(self.keys, value)


def parse_grid_axes(grid: Values) -> list[SweepAxis]:
    """Parse a grid into axes. Raises UsageError that lists all errors."""
    if not isinstance(grid, Mapping):
        raise UsageError(f"grid: must be a dict from keys to lists of values, not {type(grid).__name__}")
    problems: list[str] = []
    axes = []
    for name, given in grid.items():
        try:
            axes.append(_parse_axis(str(name), given))
        except UsageError as error:
            problems.append(f"grid: {name}: {error}")
    require_no_problems(problems)
    return axes


def extend_axes_by_listed_points(axes: Sequence[SweepAxis], points: Sequence[Values]) -> list[SweepAxis]:
    """Extend the axes by the values of listed points, and add an axis for each key that only these set. Raises UsageError."""
    found = {axis.name: list(axis.values) for axis in axes}
    problems: list[str] = []
    for at, point in enumerate(points, 1):
        for name, value in point.items():
            try:
                require_unsplit_dotted_key(name, value)
            except UsageError as error:
                problems.append(f"point {at}: {name}: {error}")
            found.setdefault(name, []).append(value)
    for axis in axes:
        strange = [value for value in found[axis.name] if axis.bundles and value not in axis.bundles]
        problems += [
            f"point: {axis.name}: unknown value {format_axis_value(value)}; fix: use one of {', '.join(axis.bundles)}" for value in strange
        ]
    require_no_problems(problems)
    known = {axis.name: axis for axis in axes}
    new = {name: SweepAxis(name, (), () if name == LABEL_KEY else (name,)) for name in found if name not in known}
    return [replace(axis, values=tuple(distinct_values(found[name]))) for name, axis in (known | new).items()]


def short_column_names(axes: Sequence[SweepAxis]) -> dict[str, str]:
    """The column name of each axis: its name, or the last part of its key unless that is in use.

    Raises UsageError for duplicate names, reserved names, and keys set by two axes.
    """
    ends = [axis.name.rsplit(".", 1)[-1] for axis in axes]
    short = {
        axis.name: end if ends.count(end) == 1 and end not in RESERVED_NAMES else axis.name for end, axis in zip(ends, axes, strict=True)
    }
    problems = [f"grid: {axis.name}: {_reserved_axis_name_error(axis)}" for axis in axes if short[axis.name] in RESERVED_NAMES]
    problems += _overlapping_axis_key_errors(axes)
    require_no_problems(problems)
    return short


def require_unsplit_dotted_key(key: Any, value: Any) -> None:
    """Check that a key was not split into a table by dots outside quotes. Raises UsageError."""
    if not isinstance(key, str):
        raise UsageError(f"{key!r} is not a key of a scenario")
    if key in _LIST_KEYS and isinstance(value, Mapping):
        below = _path_of_first_leaf(key, value)
        raise UsageError(f'is a table, not a value; fix: write the whole key in quotes, as in "{below}" = ...')


def _parse_axis(name: str, given: Any) -> SweepAxis:
    require_unsplit_dotted_key(name, None if isinstance(given, Mapping) and "values" in given else given)
    if not isinstance(given, Mapping):
        return SweepAxis(name, _parse_axis_values(given), (name,))
    if "values" in given:
        return SweepAxis(name, _parse_axis_values(given["values"]), _parse_axis_keys(given))
    if not given or not all(isinstance(bundle, Mapping) for bundle in given.values()):
        raise UsageError(_AXIS_FORMS_TEXT)
    for bundle in given.values():
        for key, value in bundle.items():
            require_unsplit_dotted_key(key, value)
    return SweepAxis(name, tuple(map(str, given)), bundles={str(value): dict(bundle) for value, bundle in given.items()})


def _parse_axis_values(given: Any) -> tuple[Any, ...]:
    """Parse values: text as a list or range, sequences as they are. Raises UsageError."""
    values = parse_axis_values_text(given) if isinstance(given, str) else list(given) if _is_list_like(given) else None
    if values is None:
        raise UsageError(f'{given!r} is not a list of values; fix: write [0.1, 0.5] or "0.1..1.0 step 0.1"')
    plain = list(map(numpy_to_python_value, values))
    if not plain:
        raise UsageError("has no value")
    distinct = distinct_values(plain)
    if len(distinct) < len(plain):
        # Up to the first repeated value the distinct values are the given ones.
        repeated = next((value for value, kept in zip(plain, distinct, strict=False) if value is not kept), plain[len(distinct)])
        raise UsageError(f"{format_axis_value(repeated)} is given twice")
    return tuple(plain)


def _is_list_like(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping))


def _parse_axis_keys(given: Values) -> tuple[str, ...]:
    strange = [name for name in given if name not in ("key", "keys", "values")]
    keys = given.get("keys", [given["key"]] if "key" in given else [])
    if strange or ("key" in given and "keys" in given) or not _is_list_like(keys) or isinstance(keys, str):
        raise UsageError(_AXIS_FORMS_TEXT)
    if not all(isinstance(key, str) for key in keys):
        raise UsageError(f"keys must be texts, not {keys!r}")
    return tuple(keys)


def _reserved_axis_name_error(axis: SweepAxis) -> str:
    """The error for an axis with a reserved column name."""
    is_key = axis.keys == (axis.name,)
    return _UNVARIABLE_KEYS.get(axis.name, "is not a key of a scenario") if is_key else _NAME_TAKEN_TEXT


def _overlapping_axis_key_errors(axes: Sequence[SweepAxis]) -> list[str]:
    written: dict[str, str] = {}
    problems = []
    for axis in axes:
        for key in sorted(axis.overridden_keys):
            if written.setdefault(key, axis.name) != axis.name:
                problems.append(f"grid: {written[key]} and {axis.name} both set {key}; fix: omit one of them")
    return problems


def _path_of_first_leaf(key: str, value: Any) -> str:
    path = [key]
    while isinstance(value, Mapping) and value:
        name, value = next(iter(value.items()))
        path.append(str(name))
    return ".".join(path)


def distinct_values(values: Iterable[Any]) -> list[Any]:
    """The values without duplicates, in order; values may be lists or dicts."""
    given = list(values)
    try:
        return list(dict.fromkeys(given))
    except TypeError:  # not hashable
        found: list[Any] = []
        for value in given:
            if value not in found:
                found.append(value)
        return found
