"""The hooks of a class `compiled=True`, compiled by numba (`pip install ecnlab[native]`).

Attributes set in `on_start`, which runs in plain Python, become a record: a word for each number, and numpy's arrays in place.
A compiled hook gets the record as `self` and a struct of what it sees, the same names as in plain Python.
"""

from __future__ import annotations

import ctypes
import dis
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from threading import Lock
from types import FunctionType
from typing import Any

import numpy as np

from ecnlab import _core
from ecnlab.aqm import api
from ecnlab.aqm.api import OPTIONAL_HOOKS, Aqm
from ecnlab.aqm.fingerprint import class_digest
from ecnlab.errors import UsageError

_NON_STATE_ATTRIBUTES = ("line", "random")
_STREAM_FIELD = "_stream"
_HOOKS = ("on_arrival", *OPTIONAL_HOOKS)

_BACKLOG_FIELDS = [("packets", "i8"), ("bytes", "i8")]
_PACKET_FIELDS = [("size", "i8"), ("ecn", "i8"), ("capable", "?"), ("flow", "i8"), ("rtt_s", "f8")]
_TIME_FIELDS = [("now_s", "f8"), ("now_ps", "i8")]


def _aligned_dtype(fields: Sequence[tuple[Any, ...]]) -> np.dtype[Any]:
    return np.dtype(list(fields), align=True)


def _hook_argument_dtype(hook: str, groups: int) -> np.dtype[Any]:
    """The struct that a hook sees, as crates/py/src/aqm/view.rs lays it out."""
    backlog = ("backlog", _aligned_dtype(_BACKLOG_FIELDS))
    per_group = [("groups", _aligned_dtype(_BACKLOG_FIELDS), (groups,))] if groups else []
    return {
        "on_arrival": _aligned_dtype([*_TIME_FIELDS, *_PACKET_FIELDS, ("head_waited_s", "f8"), ("full", "?"), backlog, *per_group]),
        "on_departure": _aligned_dtype([*_TIME_FIELDS, *_PACKET_FIELDS, ("waited_s", "f8"), backlog]),
        "on_deadline": _aligned_dtype([*_TIME_FIELDS, ("head_waited_s", "f8"), backlog]),
        "on_idle": _aligned_dtype(_TIME_FIELDS),
        "group": _aligned_dtype(_PACKET_FIELDS),
    }[hook]


class _CompiledClass:
    """The compiled hooks of a class whose record has this layout."""

    def __init__(self, cls: type[Aqm], layout: np.dtype[Any]) -> None:
        _register_class_methods_with_numba(cls)
        hooks = [hook for hook in _HOOKS if getattr(cls, hook) is not getattr(Aqm, hook)]
        self.functions = {hook: _compile_hook(cls, hook, layout) for hook in hooks}
        self.addresses = {hook: function.address for hook, function in self.functions.items()}


_compiled_classes: dict[tuple[type[Aqm], str, str], _CompiledClass] = {}
_compile_lock = Lock()


def compiled_hooks_and_state(instance: Aqm, gauges: Sequence[str]) -> dict[str, Any]:
    """The record of a started instance and the addresses of its compiled hooks, for the engine."""
    cls = type(instance)
    state = _state_as_arrays(instance)
    layout = np.dtype(
        [
            (_STREAM_FIELD, "u8"),
            (_class_tag_field_name(cls), "u8"),
            *((name, value.dtype, value.shape) for name, value in state.items()),
        ]
    )
    record = np.zeros(1, layout)
    for name, value in state.items():
        record[name][0] = value
    with _compile_lock:
        key = (cls, repr(layout.descr), class_digest(cls))  # globals that the class uses may have changed
        if key not in _compiled_classes:
            _compiled_classes[key] = _CompiledClass(cls, layout)
        compiled = _compiled_classes[key]
    for name in gauges:
        if state[name].shape:
            raise TypeError(f"gauge {name}: is an array; fix: store one number")
    return {
        "record": record.tobytes(),
        **{hook: compiled.addresses.get(hook, 0) for hook in _HOOKS},
        "gauges": [(_field_offset(layout, name) // 8, state[name].dtype.kind == "i") for name in gauges],
        "again": _make_failed_hook_repeater(instance, layout),
        "keep": compiled,
    }


def _class_tag_field_name(cls: type[Aqm]) -> str:
    """A field that no other class's record has: by it numba tells whose methods are called."""
    return f"_of_{id(cls):x}"


def _field_offset(layout: np.dtype[Any], name: str) -> int:
    return layout.fields[name][1] if layout.fields is not None else 0


def _state_as_arrays(instance: Aqm) -> dict[str, np.ndarray[Any, Any]]:
    """Parameters and state as words. A text, and a parameter that is auto, stay with on_start. Raises TypeError."""
    state = {}
    for name, value in vars(instance).items():
        if name in _NON_STATE_ATTRIBUTES or isinstance(value, str) or value is None:
            continue
        if isinstance(value, (bool, int, np.integer, np.bool_)):
            state[name] = np.array(int(value), "i8")
        elif isinstance(value, (float, np.floating)):
            state[name] = np.array(float(value), "f8")
        elif isinstance(value, np.ndarray) and value.dtype.kind in "if" and value.size:
            state[name] = np.ascontiguousarray(value, "i8" if value.dtype.kind == "i" else "f8")
        else:
            raise TypeError(
                f"self.{name}: is a {type(value).__name__}, which numba cannot hold; fix: use numbers or numpy arrays of numbers"
            )
    return state


def _make_failed_hook_repeater(instance: Aqm, layout: np.dtype[Any]) -> Callable[[str, bytes, Any], None]:
    """Puts a question to the class in plain Python, over a record: a compiled hook raised, and this raises with a traceback."""
    begun = dict(vars(instance))

    def repeat_failed_hook_in_python(hook: str, record: bytes, seen: Any) -> None:
        other = type(instance).__new__(type(instance))
        words = np.frombuffer(record, layout)[0]
        now = {name: words[name].item() if words[name].shape == () else words[name].copy() for name in layout.names[2:]}  # type: ignore[index]
        draws = hook in ("on_arrival", "on_departure", "on_deadline")
        vars(other).update(begun, **now, random=Random(0).random if draws else begun["random"])
        getattr(other, hook)(seen)

    return repeat_failed_hook_in_python


def _compile_hook(cls: type[Aqm], hook: str, layout: np.dtype[Any]) -> Any:
    """A hook as a function of C. Raises TypeError if numba cannot compile it, or it would be another than in plain Python."""
    numba = _import_numba_with_extensions()
    types = numba.types
    record = numba.from_dtype(layout)
    seen = types.int64 if hook == "on_rate" else numba.from_dtype(_hook_argument_dtype(hook, cls.groups))
    function = numba.njit(getattr(cls, hook), boundscheck=True)
    try:
        function.compile((record, seen))
    except (numba.core.errors.NumbaError, AssertionError) as error:
        _refuse_array_replacement(cls, hook, layout)  # numba has no error message for this case
        raise TypeError(
            f"numba cannot compile {cls.__name__}.{hook}: {_shorten_numba_message(str(error)) or 'an assertion in numba failed'}"
        ) from None
    made = function.overloads[(record, seen)]
    _refuse_float_into_integer_field(cls, hook, made, record)
    _require_hook_return_type(cls, hook, made.signature.return_type, types)
    answer = types.float64 if hook == "on_deadline" else types.int64
    pointers = (types.CPointer(record), types.int64 if hook == "on_rate" else types.CPointer(seen))
    return numba.cfunc(answer(*pointers))(_hook_as_c_function(hook, function, numba.carray))


def _shorten_numba_message(told: str) -> str:
    """A short form of numba's error: its first lines and the last source position."""
    lines = [line for line in told.splitlines() if line.strip() and not line.startswith("Failed in nopython mode")]
    places = [at for at, line in enumerate(lines) if line.startswith("File ")]
    return "\n".join([*lines[:2], *(lines[places[-1] : places[-1] + 5] if places else [])])


def _refuse_float_into_integer_field(cls: type[Aqm], hook: str, made: Any, record: Any) -> None:
    """Refuse to put a real number into what began as a whole one, which would cut it."""
    from numba.core import ir, types

    kinds = made.type_annotation.typemap
    for block in made.type_annotation.blocks.values():
        for one in block.body:
            if not isinstance(one, ir.SetAttr) or kinds[one.target.name] != record:
                continue
            if isinstance(kinds[one.value.name], types.Array):
                what = f"is a number in on_start and becomes an array in {hook}"
                raise TypeError(f"{cls.__name__}: self.{one.attr} {what}; fix: create an array of that size in on_start")
            whole = str(record.typeof(one.attr)).startswith("int")
            if whole and str(kinds[one.value.name]).startswith("float"):
                told = f"is an integer in on_start and a float in {hook}; fix: start with 0.0"
                raise TypeError(f"{cls.__name__}: self.{one.attr} {told}")


def _refuse_array_replacement(cls: type[Aqm], hook: str, layout: np.dtype[Any]) -> None:
    """Refuse to put another array where one has its place. Raises TypeError."""
    method = getattr(cls, hook)
    names = {step.argval for step in dis.get_instructions(method) if step.opname == "STORE_ATTR"}
    for name in layout.names or ():
        if name in names and layout[name].shape:
            what = f"changes its shape in {hook}, or another array replaces it"
            raise TypeError(f"{cls.__name__}: self.{name} {what}; fix: write into it, as in self.{name}[:] = ...")


def _require_hook_return_type(cls: type[Aqm], hook: str, answer: Any, types: Any) -> None:
    if hook in ("on_arrival", "on_departure", "group") and not isinstance(answer, types.Integer):
        wanted = "a whole number" if hook == "group" else "PASS, mark() or drop()"
        raise TypeError(f"{cls.__name__}.{hook}: returned {answer}, expected {wanted}; fix: return {wanted} on every path")


def _hook_as_c_function(hook: str, function: Any, carray: Any) -> Callable[..., Any]:
    """The hook with the engine's calling convention: addresses as arguments, and a status code for each exception."""

    def c_verdict_hook(record, seen):  # type: ignore[no-untyped-def]
        try:
            return function(carray(record, 1)[0], carray(seen, 1)[0])
        except Exception:
            return -1

    def c_deadline_hook(record, seen):  # type: ignore[no-untyped-def]
        try:
            due = function(carray(record, 1)[0], carray(seen, 1)[0])
            return -np.inf if due is None else 1.0 * due
        except Exception:
            return np.inf

    def c_idle_hook(record, seen):  # type: ignore[no-untyped-def]
        try:
            function(carray(record, 1)[0], carray(seen, 1)[0])
            return 0
        except Exception:
            return -1

    def c_rate_hook(record, rate_bps):  # type: ignore[no-untyped-def]
        try:
            function(carray(record, 1)[0], rate_bps)
            return 0
        except Exception:
            return -1

    def c_group_hook(record, seen):  # type: ignore[no-untyped-def]
        try:
            return max(function(carray(record, 1)[0], carray(seen, 1)[0]), -2)
        except Exception:
            return -1

    return {"on_deadline": c_deadline_hook, "on_idle": c_idle_hook, "on_rate": c_rate_hook, "group": c_group_hook}.get(hook, c_verdict_hook)


@cache
def _import_numba_with_extensions() -> Any:
    """numba, taught what hooks may call. Raises UsageError if it is not there."""
    try:
        import numba
    except ImportError:
        raise UsageError(
            "compiled=True: needs numba, which is not installed; fix: pip install 'ecnlab[native]', or leave compiled out"
        ) from None
    _register_numba_overloads(numba)
    return numba


def _register_numba_overloads(numba: Any) -> None:
    """Let compiled hooks call mark, drop, self.random and the functions that are the same on every machine."""
    from numba.core.typing.arraydecl import RecordAttribute
    from numba.extending import overload, overload_method

    # A name that is not a field would end the lookup with a KeyError before the methods registered here are tried.
    # Records that are not ours are resolved as numba does it.
    resolve: Any = RecordAttribute.generic_resolve

    def resolve_attribute(self: Any, record: Any, name: str) -> Any:
        return None if _STREAM_FIELD in record.fields and name not in record.fields else resolve(self, record, name)

    RecordAttribute.generic_resolve = resolve_attribute  # type: ignore[method-assign]
    types, at = numba.types, _core.addresses()
    draw = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_uint64)(at["draw"])
    real = {name: ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(at[name]) for name in ("exp", "ln")}
    power = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_uint64)(at["powi"])

    @overload_method(types.Record, "random")
    def random(self):  # type: ignore[no-untyped-def]
        if _STREAM_FIELD not in self.fields:
            return None

        def draw_uniform(self):  # type: ignore[no-untyped-def]
            if self._stream == 0:
                raise RuntimeError("random() works only in on_arrival, on_departure and on_deadline")
            return draw(self._stream)

        return draw_uniform

    def register_overload(name: str) -> None:
        computed = real[name]
        overload(getattr(_core, name))(lambda x: lambda x: computed(x))

    register_overload("exp")
    register_overload("ln")

    @overload(_core.powi)
    def powi(base, exponent):  # type: ignore[no-untyped-def]
        def powi_impl(base, exponent):  # type: ignore[no-untyped-def]
            if exponent < 0:
                raise OverflowError("the exponent of powi must be at least 0")
            return power(base, exponent)

        return powi_impl

    _register_verdict_functions_with_numba(numba)


def _register_class_methods_with_numba(cls: type[Aqm]) -> None:
    """Let the compiled hooks of a class call its other methods."""
    members = {name: getattr(cls, name) for base in reversed(cls.__mro__[:-1]) if base is not Aqm for name in vars(base)}
    for name, method in members.items():
        if isinstance(method, FunctionType) and not hasattr(Aqm, name):
            _register_class_method_with_numba(cls, name, method)


def _register_class_method_with_numba(cls: type[Aqm], name: str, method: FunctionType) -> None:
    numba = _import_numba_with_extensions()
    mark = _class_tag_field_name(cls)

    def method_if_record_is_of_class(*arguments: Any) -> FunctionType | None:
        return method if mark in arguments[0].fields else None

    method_if_record_is_of_class.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    numba.extending.overload_method(numba.types.Record, name, jit_options={"boundscheck": True})(method_if_record_is_of_class)


def _register_verdict_functions_with_numba(numba: Any) -> None:
    from numba.extending import overload

    types = numba.types

    @numba.njit
    def clamp_index_to_u32(number):  # type: ignore[no-untyped-def]
        if number < 0:
            raise ValueError("group and victim must be at least 0")
        return min(number, 2**32 - 1)

    @overload(api.mark, prefer_literal=True)
    def mark(level="congested", group=None, cause="early"):  # type: ignore[no-untyped-def]
        words = _literal_argument_values(types, {"level": (level, "congested"), "cause": (cause, "early")})
        if words is None:
            return None
        if not _is_argument_given(types, group):
            plain = int(api.mark(words["level"], None, words["cause"]))
            return lambda level="congested", group=None, cause="early": plain
        first = int(api.mark(words["level"], 0, words["cause"]))
        return lambda level="congested", group=None, cause="early": first | (clamp_index_to_u32(group) << 16)

    @overload(api.drop, prefer_literal=True)
    def drop(victim="arriving", cause="early"):  # type: ignore[no-untyped-def]
        words = _literal_argument_values(types, {"cause": (cause, "early")})
        if words is None:
            return None
        if isinstance(victim, types.Integer):
            first = int(api.drop(0, **words))
            return lambda victim="arriving", cause="early": first | (clamp_index_to_u32(victim) << 16)
        named = _literal_argument_values(types, {"victim": (victim, "arriving")})
        if named is None:
            return None
        plain = int(api.drop(**named, **words))
        return lambda victim="arriving", cause="early": plain


def _is_argument_given(types: Any, value: Any) -> bool:
    return not (value is None or isinstance(value, (types.NoneType, types.Omitted)))


def _literal_argument_values(types: Any, given: Mapping[str, tuple[Any, str]]) -> dict[str, str] | None:
    """The words that a call spells out, or its defaults; nothing if one is not spelled out."""
    words = {}
    for name, (value, default) in given.items():
        if isinstance(value, types.StringLiteral):
            words[name] = value.literal_value
        elif isinstance(value, (str, types.Omitted)):
            words[name] = default
        else:
            return None
    return words
