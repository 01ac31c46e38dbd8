"""What a sweep varies: axes, each a named column of the sweep's tables and the keys of the scenario that it sets.

A grid is read from a dict, which is what the section [grid] of a sweep file is:

    {"link.bottleneck.queue.max_p": [0.1, 0.5],                       a key and its values
     "limit": {"key": "link.bottleneck.queue.limit", "values": ...},   the same under a name of one's own; `keys` sets several alike
     "flows": {"values": [15, 30]},                                    no key: for values that depend on it
     "scheme": {"RED": {KEY: VALUE, ...}, "ECN": {...}}}               names, each for several keys at once
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ecnlab.errors import UsageError
from ecnlab.sweeps.values import ValueKind, format_axis_value, parse_axis_values_text

# What the sweep's own tables call their columns.
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
    """One thing that is varied.

    Attributes
    ----------
    name : str
        What its column is called.
    values : tuple
        The values, in the order in which they were given.
    keys : tuple of str
        The keys of the scenario that each value is written into; none where the axis only names something.
    bundles : Mapping
        Where a value is a name for several changes: the changes of each.
    """

    name: str
    values: tuple[Any, ...]
    keys: tuple[str, ...] = ()
    bundles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def value_kind(self) -> ValueKind:
        """What its column holds."""
        return ValueKind("name") if self.bundles else ValueKind.narrowest_kind_of(self.values)

    @property
    def overridden_keys(self) -> frozenset[str]:
        """All keys that some value writes."""
        return frozenset((*self.keys, *(key for bundle in self.bundles.values() for key in bundle)))

    def overrides_for(self, value: Any) -> dict[str, Any]:
        """What a value changes in the scenario, by key."""
        return dict(self.bundles[value]) if self.bundles else dict.fromkeys(self.keys, value)


def grid_axes(grid: Mapping[str, Any]) -> list[SweepAxis]:
    """The axes of a grid. Raises UsageError that names everything that is wrong."""
    if not isinstance(grid, Mapping):
        raise UsageError(f"grid: must be a dict from keys to lists of values, not {type(grid).__name__}")
    problems: list[str] = []
    axes = []
    for name, given in grid.items():
        try:
            axes.append(_parse_axis(str(name), given))
        except UsageError as error:
            problems.append(f"grid: {name}: {error}")
    if problems:
        raise UsageError("\n".join(problems))
    return axes


def axes_with_listed_points(axes: Sequence[SweepAxis], points: Sequence[Mapping[str, Any]]) -> list[SweepAxis]:
    """The axes with the values that listed points add to them, and one for each key that only such points set. Raises UsageError."""
    found = {axis.name: list(axis.values) for axis in axes}
    problems: list[str] = []
    for at, point in enumerate(points, 1):
        for name, value in point.items():
            try:
                require_plain_key(name, value)
            except UsageError as error:
                problems.append(f"point {at}: {name}: {error}")
            found.setdefault(name, []).append(value)
    for axis in axes:
        strange = [value for value in found[axis.name] if axis.bundles and value not in axis.bundles]
        problems += [
            f"point: {axis.name}: unknown value {format_axis_value(value)}; fix: use one of {', '.join(axis.bundles)}" for value in strange
        ]
    if problems:
        raise UsageError("\n".join(problems))
    known = {axis.name: axis for axis in axes}
    new = {name: SweepAxis(name, (), () if name == LABEL_KEY else (name,)) for name in found if name not in known}
    return [replace(axis, values=tuple(distinct_values(found[name]))) for name, axis in (known | new).items()]


def short_column_names(axes: Sequence[SweepAxis]) -> dict[str, str]:
    """What each axis' column is called: as the axis, a key by its last part unless that is taken.

    Raises UsageError where two have one name, a name is one that the tables use, or two axes write the same key.
    """
    ends = [axis.name.rsplit(".", 1)[-1] for axis in axes]
    short = {
        axis.name: end if ends.count(end) == 1 and end not in RESERVED_NAMES else axis.name for end, axis in zip(ends, axes, strict=True)
    }
    problems = [f"grid: {axis.name}: {_reserved_axis_name_error(axis)}" for axis in axes if short[axis.name] in RESERVED_NAMES]
    problems += _overlapping_axis_keys(axes)
    if problems:
        raise UsageError("\n".join(problems))
    return short


def require_plain_key(key: Any, value: Any) -> None:
    """Raises UsageError where dots outside quotes have made a table of what was meant as a key."""
    if not isinstance(key, str):
        raise UsageError(f"{key!r} is not a key of a scenario")
    if key in _LIST_KEYS and isinstance(value, Mapping):
        below = _path_of_first_leaf(key, value)
        raise UsageError(f'is a table, not a value; fix: write the whole key in quotes, as in "{below}" = ...')


def _parse_axis(name: str, given: Any) -> SweepAxis:
    require_plain_key(name, None if isinstance(given, Mapping) and "values" in given else given)
    if not isinstance(given, Mapping):
        return SweepAxis(name, _parse_axis_values(given), (name,))
    if "values" in given:
        return SweepAxis(name, _parse_axis_values(given["values"]), _parse_axis_keys(given))
    if not given or not all(isinstance(bundle, Mapping) for bundle in given.values()):
        raise UsageError(_AXIS_FORMS_TEXT)
    for bundle in given.values():
        for key, value in bundle.items():
            require_plain_key(key, value)
    return SweepAxis(name, tuple(map(str, given)), bundles={str(value): dict(bundle) for value, bundle in given.items()})


def _parse_axis_values(given: Any) -> tuple[Any, ...]:
    """Values as a tuple: a text is read as a list or a range. Raises UsageError."""
    values = parse_axis_values_text(given) if isinstance(given, str) else list(given) if _is_list_like(given) else None
    if values is None:
        raise UsageError(f'{given!r} is not a list of values; fix: write [0.1, 0.5] or "0.1..1.0 step 0.1"')
    plain = list(map(numpy_to_python_value, values))
    if not plain:
        raise UsageError("has no value")
    twice = [value for value in distinct_values(plain) if plain.count(value) > 1]
    if twice:
        raise UsageError(f"{format_axis_value(twice[0])} is given twice")
    return tuple(plain)


def numpy_to_python_value(given: Any) -> Any:
    """A value of numpy as Python's own."""
    return given.tolist() if hasattr(given, "tolist") else given


def _is_list_like(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping))


def _parse_axis_keys(given: Mapping[str, Any]) -> tuple[str, ...]:
    strange = [name for name in given if name not in ("key", "keys", "values")]
    keys = given.get("keys", [given["key"]] if "key" in given else [])
    if strange or ("key" in given and "keys" in given) or not _is_list_like(keys) or isinstance(keys, str):
        raise UsageError(_AXIS_FORMS_TEXT)
    if not all(isinstance(key, str) for key in keys):
        raise UsageError(f"keys must be texts, not {keys!r}")
    return tuple(keys)


def _reserved_axis_name_error(axis: SweepAxis) -> str:
    """Why an axis cannot have the name that it has, which is one of the tables' own."""
    is_key = axis.keys == (axis.name,)
    return _UNVARIABLE_KEYS.get(axis.name, "is not a key of a scenario") if is_key else _NAME_TAKEN_TEXT


def _overlapping_axis_keys(axes: Sequence[SweepAxis]) -> list[str]:
    written: dict[str, str] = {}
    problems = []
    for axis in axes:
        for key in sorted(axis.overridden_keys):
            if written.setdefault(key, axis.name) != axis.name:
                problems.append(f"grid: {written[key]} and {axis.name} both set {key}; fix: leave out one of them")
    return problems


def _path_of_first_leaf(key: str, value: Any) -> str:
    path = [key]
    while isinstance(value, Mapping) and value:
        name, value = next(iter(value.items()))
        path.append(str(name))
    return ".".join(path)


def distinct_values(values: Iterable[Any]) -> list[Any]:
    """The values without repetition, in order; some may be lists or dicts."""
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
