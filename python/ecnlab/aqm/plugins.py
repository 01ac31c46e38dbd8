"""From a user's class to an entry of the engine's registry: its parameters, gauges, hooks, and the digest of its source."""

from __future__ import annotations

import math
import re
import types
import typing
import warnings
from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import Any

from ecnlab import _core
from ecnlab.aqm.api import OPTIONAL_HOOKS, Aqm, Gauge, Line, Param, Verdict
from ecnlab.aqm.fingerprint import class_digest, is_aqm_class, load_aqm_class
from ecnlab.errors import UnknownName, UsageError

_NAME_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_RESERVED_KEYS = ("aqm", "discipline", "limit", "name", "queue")
_MAX_TIME_S = 1e7
_MAX_EXACT_INTEGER = 2.0**53

_entry_cache: dict[tuple[type[Aqm], str], _core.BroughtAqm] = {}


def aqm_classes_and_registry_entries(aqms: Iterable[type[Aqm] | str]) -> tuple[tuple[type[Aqm], ...], list[_core.BroughtAqm]]:
    """The classes and their entries. Raises UsageError if one is not a valid AQM, or two have one name."""
    if isinstance(aqms, (str, type)) or not isinstance(aqms, Iterable):
        raise UsageError(f"aqms: must be a list of AQM classes, as in aqms=[MyAqm], not {aqms!r}")
    classes = tuple(dict.fromkeys(load_aqm_class(one) if isinstance(one, str) else _require_aqm_class(one) for one in aqms))
    names: dict[str, type[Aqm]] = {}
    for each in classes:
        other = names.setdefault(scenario_name_of_aqm(each), each)
        if other is not each:
            raise UsageError(f"two AQMs have the name {scenario_name_of_aqm(each)!r}; fix: give one of them another name = ...")
    return classes, [registry_entry_of_aqm(each) for each in classes]


def registry_entry_of_aqm(aqm: type[Aqm]) -> _core.BroughtAqm:
    """The entry of a class, renewed when its source changes. Raises UsageError if it is not a valid AQM."""
    key = (aqm, class_digest(aqm))
    if key not in _entry_cache:
        try:
            _entry_cache[key] = _core.BroughtAqm(
                _aqm_declaration(aqm, key[1]), Verdict, _aqm_instance_factory(aqm), _aqm_parameter_checker(aqm)
            )
        except ValueError as error:
            raise UsageError(f"{aqm.__qualname__}: {error}") from None
    return _entry_cache[key]


def scenario_name_of_aqm(aqm: type[Aqm]) -> str:
    """Its name in scenarios."""
    name = aqm.name or aqm.__name__
    if not isinstance(name, str) or not _NAME_PATTERN.fullmatch(name):
        what = "at most 64 ASCII letters, digits, _ and -, a letter first"
        raise UsageError(f'{aqm.__qualname__}: {name!r} cannot be a name in scenarios; fix: set name = "..." to {what}')
    return name


def _require_aqm_class(one: object) -> type[Aqm]:
    if not is_aqm_class(one):
        told = f"the class {one.__qualname__}" if isinstance(one, type) else repr(one)
        raise UsageError(f"aqms: {told} is not a subclass of ecnlab.Aqm")
    return one


def _aqm_declaration(aqm: type[Aqm], digest: str) -> dict[str, Any]:
    """The declaration of a class in the engine's form. Raises UsageError or ValueError."""
    hooks = ["on_start", "on_arrival", *OPTIONAL_HOOKS]
    for name in dir(aqm):
        if name.startswith("on_") and name not in hooks and callable(getattr(aqm, name)):
            raise ValueError(str(UnknownName("hook", name, hooks)))
    if aqm.on_arrival is Aqm.on_arrival:
        raise ValueError("on_arrival is missing, which decides what happens to a packet; fix: define it")
    if aqm.__init__ is not Aqm.__init__:
        raise ValueError("has an __init__, where parameters and line are not set yet; fix: set its state in on_start")
    if not isinstance(aqm.groups, int) or aqm.groups < 0:
        raise ValueError(f"groups = {aqm.groups!r} must be a whole number, at least 0")
    if not isinstance(aqm.marks, str | None):
        raise ValueError(f'marks = {aqm.marks!r} must be "congested", "incipient" or None')
    if (aqm.groups > 0) != (aqm.group is not Aqm.group):
        raise ValueError("groups = N and the method group(packet) require each other; fix: give both or neither")
    test_params = _test_params(aqm)
    title, summary = _title_and_summary(aqm)
    fields = _parameter_and_gauge_fields(aqm)
    return {
        "name": scenario_name_of_aqm(aqm),
        "title": title,
        "summary": summary,
        "source": aqm.source,
        "digest": digest,
        "marks": aqm.marks,
        "parameters": [_parameter_declaration(name, kind, given) for name, (kind, given) in fields.items() if not isinstance(given, Gauge)],
        "gauges": [(name, given.unit, given.doc) for name, (_, given) in fields.items() if isinstance(given, Gauge)],
        "test_params": [(str(name), _value_with_unit_text(value, _unit_of_parameter(fields, name))) for name, value in test_params.items()],
        "hooks": [hook for hook in OPTIONAL_HOOKS if getattr(aqm, hook) is not getattr(Aqm, hook)],
        "groups": aqm.groups,
    }


def _test_params(aqm: type[Aqm]) -> Mapping[str, Any]:
    """The values for `ecnlab test-aqm`; until the next release also under their old name `busy`. Raises ValueError."""
    old = getattr(aqm, "busy", None)
    if aqm.test_params is Aqm.test_params and isinstance(old, Mapping):
        warnings.warn(f"{aqm.__qualname__}.busy is now test_params", DeprecationWarning, stacklevel=2)
        return old
    if not isinstance(aqm.test_params, Mapping):
        raise ValueError(f"test_params must be a dict from parameters to values, not {type(aqm.test_params).__name__}")
    return aqm.test_params


def _title_and_summary(aqm: type[Aqm]) -> tuple[str, str]:
    """Its title and a few sentences: the first line of its docstring, and the first paragraph."""
    paragraph = cleandoc(aqm.__dict__.get("__doc__") or "").split("\n\n")[0]
    first, _, rest = paragraph.partition("\n")
    return first.removesuffix(".") or scenario_name_of_aqm(aqm), " ".join((rest or first).split())


def _parameter_and_gauge_fields(aqm: type[Aqm]) -> dict[str, tuple[Any, Any]]:
    """Type and declared value of each parameter and gauge, in order."""
    try:
        hints = typing.get_type_hints(aqm)
    except Exception as error:
        raise ValueError(f"the type of one of its fields cannot be read: {error}") from None
    given = {name: value for base in reversed(aqm.__mro__[:-1]) if base is not Aqm for name, value in vars(base).items()}
    own = [*hints, *(name for name, value in given.items() if name not in hints and isinstance(value, (Param, Gauge)))]
    public = [name for name in own if not name.startswith("_") and typing.get_origin(hints.get(name)) is not typing.ClassVar]
    fields = {name: (hints.get(name), given[name]) for name in public if name in given}
    taken = [name for name in fields if hasattr(Aqm, name) or name in _RESERVED_KEYS or name == "line"]
    if taken:
        raise ValueError(f"the field {taken[0]!r} has a name that every AQM uses; fix: choose another name")
    return fields


def _parameter_declaration(name: str, kind: Any, given: Any) -> dict[str, Any]:
    declared = given if isinstance(given, Param) else Param(given, None, "", "", "", ())
    kind, word = _split_optional_type(kind or type(declared.default))
    kinds = {bool: "flag", int: "count", float: "number", str: "choice" if declared.choices else "text"}
    if kind not in kinds:
        raise ValueError(f"{name}: {kind!r} cannot be a parameter's type; fix: use float, int, bool or str, each also with | None")
    what = {("number", "s"): "time", ("number", "bit/s"): "rate"}.get((kinds[kind], declared.unit), kinds[kind])
    least, most = _parameter_min_and_max(name, what, declared.bounds)
    return {
        "name": name,
        "kind": what,
        "min": least,
        "max": most,
        "unit": declared.unit,
        "default": _default_text(name, kind, declared, word),
        "word": word,
        "choices": list(declared.choices),
        "doc": declared.doc,
        "source": declared.source,
    }


def _split_optional_type(kind: Any) -> tuple[Any, str | None]:
    if typing.get_origin(kind) not in (types.UnionType, typing.Union):
        return kind, None
    others = [one for one in typing.get_args(kind) if one is not type(None)]
    return (others[0] if len(others) == 1 else kind), "auto"


def _parameter_min_and_max(name: str, kind: str, bounds: Any) -> tuple[float, float]:
    natural = {"number": (-math.inf, math.inf), "count": (0.0, _MAX_EXACT_INTEGER), "time": (0.0, _MAX_TIME_S)}.get(kind, (0.0, 0.0))
    if bounds is None:
        return natural
    try:
        least, most = map(float, bounds)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: bounds = {bounds!r} must be two numbers, the smallest and the largest value") from None
    if kind not in ("number", "count", "time") or not natural[0] <= least <= most <= natural[1]:
        raise ValueError(
            f"{name}: bounds = {bounds!r} do not fit a {kind}; fix: give two values from {natural[0]} to {natural[1]}, the smaller first"
        )
    return least, most


def _default_text(name: str, kind: type, declared: Param, word: str | None) -> str:
    """The default as a scenario would write it."""
    value = declared.default
    if value is None:
        if word is None:
            raise ValueError(f"{name}: a default of None needs the type {kind.__name__} | None")
        return word
    fits = (int, float) if kind is float else (kind,)
    quantity = declared.unit in ("s", "bit/s") and isinstance(value, str)
    if not (isinstance(value, fits) or quantity) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name}: default {value!r} must be {kind.__name__}")
    return _value_with_unit_text(value, declared.unit)


def _unit_of_parameter(fields: Mapping[str, tuple[Any, Any]], name: str) -> str:
    """The unit of a parameter, in which a plain number is, as its default may be."""
    _, given = fields.get(name, (None, None))
    return given.unit if isinstance(given, Param) else ""


def _value_with_unit_text(value: Any, unit: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return f"{value!r} {'bps' if unit == 'bit/s' else 's'}" if unit in ("s", "bit/s") else repr(value)


def _aqm_instance_factory(aqm: type[Aqm]) -> Any:
    """A factory of instances for runs: from values and line to instance, random stream, first deadline and compiled hooks."""
    gauges = {name: given.initial for name, (_, given) in _parameter_and_gauge_fields(aqm).items() if isinstance(given, Gauge)}

    def make_started_instance(values: dict[str, Any], rate_bps: int, limit_packets: int | None, limit_bytes: int | None) -> tuple[Any, ...]:
        instance, draws = aqm.__new__(aqm), _core.Draws()
        vars(instance).update(values, **gauges, line=Line(rate_bps, limit_packets, limit_bytes), random=draws.random)
        due = instance.on_start()
        if not aqm.compiled:
            return instance, draws, due, None
        from ecnlab.aqm import compiled

        return instance, draws, due, compiled.compiled_hooks_and_state(instance, list(gauges))

    return make_started_instance


def _aqm_parameter_checker(aqm: type[Aqm]) -> Any:
    """A function that checks the values of parameters against each other."""

    def find_parameter_contradictions(values: dict[str, Any]) -> list[tuple[str, str]]:
        instance = aqm.__new__(aqm)
        vars(instance).update(values)
        return [(str(name), str(why)) for name, why in instance.check().items()]

    return find_parameter_contradictions
