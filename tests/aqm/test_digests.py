"""Digests of generated values: unequal values differ, processes agree, and unknown kinds are refused."""

from __future__ import annotations

import argparse
import array
import dataclasses
import enum
import functools
import json
import logging
import operator
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import threading
import types
import typing
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ecnlab
from ecnlab.aqm.fingerprint import class_digest


@dataclass
class Gains:
    alpha: float
    beta: float = 1.0
    history: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Slotted:
    one: Any


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value


class Colour(Enum):
    RED = 1
    GREEN = 2


class Other(Enum):
    RED = 1
    GREEN = 2


class Number(IntEnum):
    ONE = 1


class Bits(Flag):
    A = 1
    B = 2


Pair = namedtuple("Pair", "left right")


class Listed(list):  # type: ignore[type-arg]
    pass


def class_reading_value(value: Any) -> type[ecnlab.Aqm]:
    """An AQM of a script, whose hook reads the global HOT."""
    names = {"__name__": "__main__", "ecnlab": ecnlab, "HOT": value}
    exec(
        "class Mine(ecnlab.Aqm):\n    def on_arrival(self, arrival):\n        return ecnlab.mark() if HOT else ecnlab.PASS\n",
        names,
    )
    made = names["Mine"]
    assert isinstance(made, type)
    return made


def digest(value: Any) -> str:
    return class_digest(class_reading_value(value))


_SCALARS = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
    st.text(),
    st.binary(),
    st.booleans(),
    st.none(),
)
_HASHABLE = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.tuples(inner, inner), st.frozensets(inner, max_size=4), st.lists(inner, max_size=3).map(tuple)),
    max_leaves=6,
)
_DTYPES = st.sampled_from(["i1", "u1", "i4", "u4", "i8", "f4", "f8", ">f8", "c16", "?", "M8[s]", "m8[ms]"])
_ARRAYS = st.builds(
    lambda kind, shape, data: np.frombuffer((data * 16)[: int(np.prod(shape)) * np.dtype(kind).itemsize], kind).reshape(shape),
    _DTYPES,
    st.sampled_from([(2,), (4,), (2, 2), (1, 4), (4, 1), (1, 2, 2)]),
    st.binary(min_size=8, max_size=8),
)

# Kinds of values, each of which a script may hold in a global.
_KINDS: dict[str, st.SearchStrategy[Any]] = {
    "scalar": _SCALARS,
    "list": st.lists(_HASHABLE, max_size=5),
    "tuple": st.lists(_HASHABLE, max_size=5).map(tuple),
    "dict": st.dictionaries(_HASHABLE, _HASHABLE, max_size=4),
    "set": st.sets(_HASHABLE, max_size=6),
    "frozenset": st.frozensets(_HASHABLE, max_size=6),
    "range": st.builds(range, st.integers(-5, 5), st.integers(-5, 5), st.integers(1, 3)),
    "slice": st.builds(slice, st.integers(-5, 5), st.integers(-5, 5)),
    "deque": st.builds(deque, st.lists(_HASHABLE, max_size=4), st.sampled_from([None, 3, 9])),
    "ordered": st.lists(st.tuples(_HASHABLE, _HASHABLE), max_size=4).map(OrderedDict),
    "counter": st.lists(_HASHABLE, max_size=5).map(Counter),
    "defaultdict": st.builds(defaultdict, st.sampled_from([int, list, None]), st.dictionaries(_HASHABLE, _HASHABLE, max_size=3)),
    "chain": st.builds(ChainMap, st.dictionaries(_HASHABLE, _HASHABLE, max_size=3)),
    "bytearray": st.binary().map(bytearray),
    "array": st.lists(st.floats(allow_nan=False), max_size=4).map(functools.partial(array.array, "d")),
    "fraction": st.fractions(),
    "decimal": st.decimals(allow_nan=False),
    "partial": st.builds(lambda bound, word: functools.partial(operator.add, bound, *[word]), _SCALARS, _SCALARS),
    "pattern": st.builds(re.compile, st.sampled_from(["a", "b+", "[c]"]), st.sampled_from([0, re.I, re.M])),
    "timedelta": st.timedeltas(),
    "date": st.dates(),
    "time": st.times(),
    "datetime": st.datetimes(timezones=st.sampled_from([None, UTC, ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=2))])),
    "enum": st.sampled_from([Colour.RED, Colour.GREEN, Other.RED, Other.GREEN, Number.ONE, Bits.A, Bits.B, Bits.A | Bits.B, 1]),
    "dataclass": st.builds(Gains, st.floats(allow_nan=False), st.floats(allow_nan=False), st.lists(st.integers(), max_size=3)),
    "slotted": st.builds(Slotted, _HASHABLE),
    "instance": st.builds(Plain, _HASHABLE),
    "named tuple": st.builds(Pair, _HASHABLE, _HASHABLE),
    "list of its own": st.lists(_HASHABLE, max_size=4).map(Listed),
    "path": st.sampled_from([Path("a"), Path("b"), PurePosixPath("a"), Path("a/b")]),
    "uuid": st.uuids(),
    "namespace": st.builds(lambda x, y: SimpleNamespace(x=x, y=y), _HASHABLE, _HASHABLE),
    "normal": st.builds(statistics.NormalDist, st.integers(-3, 3), st.integers(0, 3)),
    "getter": st.builds(operator.itemgetter, st.integers(0, 3)),
    "array of numpy": _ARRAYS,
    "number of numpy": st.one_of(
        st.integers(-100, 100).map(np.int32),
        st.integers(-100, 100).map(np.int64),
        st.floats(width=32).map(np.float32),
        st.floats().map(np.float64),
    ),
    "dtype": _DTYPES.map(np.dtype),
    "argparse namespace": st.builds(lambda x: argparse.Namespace(x=x), _HASHABLE),
    "struct": st.sampled_from(["!I", "<I", "!Q", "!II"]).map(struct.Struct),
    "new type": st.builds(typing.NewType, st.sampled_from(["Size", "Rate"]), st.sampled_from([int, float])),
    "bound method": st.builds(lambda value: Plain(value).__init__, _HASHABLE),  # type: ignore[misc]
}


def _digests_are_equal(one: Any, other: Any) -> bool:
    """Whether two values are identical for a hook that reads them: by type and content, unlike `==`."""
    return type(one) is type(other) and _class_from_source(one) == _class_from_source(other)


def _class_from_source(value: Any) -> Any:
    """A value as a tree of texts, independent of the digest: its repr with sorted sets."""
    kind = type(value).__name__
    if isinstance(value, (set, frozenset)):
        return [kind, *sorted(json.dumps(_class_from_source(one)) for one in value)]
    if isinstance(value, (list, tuple, deque)):
        return [kind, str(getattr(value, "maxlen", "")), *map(_class_from_source, value)]
    if isinstance(value, dict):
        default = repr(getattr(value, "default_factory", ""))
        return [kind, default, *([_class_from_source(key), _class_from_source(one)] for key, one in value.items())]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, repr(value.shape), value.tobytes().hex()]
    if isinstance(value, np.generic):
        return [value.dtype.str, value.tobytes().hex()]
    if isinstance(value, functools.partial):
        return [kind, _class_from_source(value.args)]
    if isinstance(value, struct.Struct):
        return [kind, value.format]
    if isinstance(value, typing.NewType):
        return [kind, value.__name__, repr(value.__supertype__)]
    if isinstance(value, (Plain, Gains, SimpleNamespace, argparse.Namespace)):
        return [kind, _class_from_source(vars(value))]
    if isinstance(value, Slotted):
        return [kind, _class_from_source(value.one)]
    if isinstance(value, ChainMap):
        return [kind, _class_from_source(value.maps)]
    if hasattr(value, "__self__"):
        return [kind, _class_from_source(value.__self__)]
    if isinstance(value, complex):
        return [kind, _class_from_source(value.real), _class_from_source(value.imag)]
    if isinstance(value, Enum):
        return [kind, repr(value)]
    return [kind, repr(value)]


@pytest.mark.parametrize("kind", _KINDS)
def test_unequal_values_of_a_kind_get_unequal_digests_and_equal_ones_equal_digests(kind: str) -> None:
    @settings(max_examples=40, deadline=None)
    @given(_KINDS[kind], _KINDS[kind])
    def judge(one: Any, other: Any) -> None:
        assert (digest(one) == digest(other)) == _digests_are_equal(one, other)

    judge()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_values_of_two_kinds_get_unequal_digests(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(_KINDS)), min_size=2, max_size=2, unique=True))
    one, other = (data.draw(_KINDS[kind]) for kind in kinds)
    assume(not _digests_are_equal(one, other))
    assert digest(one) != digest(other)


_DIGEST_SCRIPT = """
import sys
sys.path[:0] = {path!r}
from test_digests import digests_of_samples
print(*digests_of_samples(), sep="\\n")
"""


def digests_of_samples() -> list[str]:
    """Digests of values that hold sets, whose order differs between processes."""
    words = [f"word {number}" for number in range(50)]
    values: list[Any] = [
        set(words),
        {frozenset(words[:9]): set(words[9:])},
        [{(word, number)} for number, word in enumerate(words)],
        Plain({Colour.RED, "x", 2.5, None}),
        lambda arrival: arrival in {"a", "b", "c", "d", "e", "f"},
        {len, min, max, sorted, Plain, Colour, _generator},
    ]
    return list(map(digest, values))


def test_digests_are_equal_in_processes_that_order_sets_otherwise() -> None:
    path = [str(Path(__file__).parent), str(Path(ecnlab.__file__).parent.parent)]
    told = set()
    for seed in ("0", "1", "271"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        code = _DIGEST_SCRIPT.format(path=path)
        told.add(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout)
    assert told == {"\n".join(digests_of_samples()) + "\n"}


def _generator() -> Any:
    yield 1


class HoldingOne:
    def __init__(self) -> None:
        self.inner = {"lock": [threading.Lock()]}


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (random.Random(1), "the global HOT is a random.Random"),
        (random.Random(1).random, "the global HOT is a method of a random.Random"),
        (np.random.default_rng(1), "the global HOT is a numpy.random._generator.Generator"),
        (np.random.RandomState(1), "the global HOT is a numpy.random.mtrand.RandomState"),
        (_generator(), "the global HOT is a generator"),
        (iter([1]), "the global HOT is a list_iterator"),
        (sys.stdout.buffer, "the global HOT is a "),
        (threading.Lock(), "the global HOT is a _thread.lock"),
        (threading.RLock(), "the global HOT is a _thread.RLock"),
        (pl.DataFrame({"a": [1]}), "the global HOT is a polars.dataframe.frame.DataFrame"),
        (object(), "the global HOT is an object"),
        (np.array([{}, 1], object), "the global HOT is an array of objects"),
        ([1, {"b": object()}], "the global HOT[1]['b'] is an object"),
        (HoldingOne(), "the global HOT.inner['lock'][0] is a _thread.lock"),
        ({(1, object)}, None),
        ({1: _generator()}, "the global HOT[1] is a generator"),
    ],
)
def test_what_cannot_be_covered_is_refused_by_its_name(value: Any, named: str | None) -> None:
    if named is None:
        assert digest(value) == digest(value)
        return
    with pytest.raises(ecnlab.UsageError) as raised:
        digest(value)
    assert str(raised.value).startswith(f"Mine: {named}")
    assert ", whose value cannot be part of the key; fix: " in str(raised.value)


def test_a_value_that_holds_itself_has_a_digest() -> None:
    def instance_in_own_list(last: int) -> list[Any]:
        made: list[Any] = [1]
        made.append({"again": made, "last": last})
        return made

    assert digest(instance_in_own_list(1)) == digest(instance_in_own_list(1)) != digest(instance_in_own_list(2))


def test_a_set_whose_member_leads_back_to_it_has_a_digest() -> None:
    def set_that_contains_its_owner(last: int) -> set[Any]:
        one = Plain(last)
        members = {one, "x"}
        one.others = members  # type: ignore[attr-defined]
        return members

    assert digest(set_that_contains_its_owner(1)) == digest(set_that_contains_its_owner(1)) != digest(set_that_contains_its_owner(2))


def test_one_list_referenced_twice_differs_from_two_equal_lists() -> None:
    inner = [1]
    assert digest([inner, inner]) != digest([[1], [1]])


def test_a_value_nested_too_deeply_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ecnlab.UsageError, match="nested too deeply"):
        digest(deep)


def test_what_a_logger_and_a_cache_hold_does_not_count() -> None:
    @functools.cache
    def doubled(number: int) -> int:
        return 2 * number

    before = digest(doubled)
    doubled(3)
    assert digest(doubled) == before
    logger = logging.Logger("a")
    before = digest(logger)
    logger.setLevel(logging.ERROR)
    logger.addHandler(logging.NullHandler())
    assert digest(logger) == before != digest(logging.Logger("b"))


def test_functions_count_by_what_they_do_and_not_by_where_they_stand() -> None:
    pair = [lambda x: x + 1, lambda x: x + 2]  # on one line
    assert len({digest(one) for one in pair}) == 2

    def adding(number: float) -> Callable[[float], float]:
        return lambda x: x + number

    assert digest(adding(1)) == digest(adding(1)) != digest(adding(1.0))
    assert digest(functools.partial(max, 1)) != digest(functools.partial(min, 1))
    assert digest(np.mean) != digest(np.median)
    assert digest(np.exp) != digest(np.log)


def test_kinds_that_compare_equal_are_unlike() -> None:
    unlike = [
        1,
        1.0,
        True,
        1 + 0j,
        Fraction(1),
        Decimal(1),
        Decimal("1.0"),
        Number.ONE,
        np.int64(1),
        np.float64(1),
        "1",
        b"1",
        bytearray(b"1"),
    ]
    unlike += [
        0.0,
        -0.0,
        (1,),
        [1],
        {1},
        frozenset({1}),
        deque([1]),
        range(1, 2),
        Pair(1, 2),
        (1, 2),
        {1: 2},
        OrderedDict({1: 2}),
        Counter({1: 2}),
    ]
    assert len({digest(one) for one in unlike}) == len(unlike)
    assert digest({"a": 1, "b": 2}) != digest({"b": 2, "a": 1})
    assert digest(date(2026, 1, 1)) != digest(datetime(2026, 1, 1))
    assert digest(time(1)) != digest(timedelta(hours=1))
    assert digest(UUID(int=1)) != digest(1)


@pytest.mark.parametrize("value", [threading.Lock(), sys.stderr, sys.stdout.buffer])
def test_a_lock_or_a_stream_is_refused_with_a_fix_that_helps(value: Any) -> None:
    with pytest.raises(ecnlab.UsageError, match=r"; fix: create it inside the hook or in on_start$"):
        digest(value)


def test_a_function_with_single_dispatch_counts_by_its_implementations() -> None:
    def function_with_dispatch(of_integers: Callable[[Any], int]) -> Any:
        @functools.singledispatch
        def size(value: Any) -> int:
            return 1

        size.register(int)(of_integers)
        return size

    assert (
        digest(function_with_dispatch(lambda x: 2))
        == digest(function_with_dispatch(lambda x: 2))
        != digest(function_with_dispatch(lambda x: 3))
    )


def _digest_of_shared_array(value: Any, shared: Any, copied: Any) -> None:
    assert digest([value, shared]) == digest([value, shared]) != digest([value, copied])


def test_memory_that_two_names_share_is_not_a_copy() -> None:
    numbers = np.zeros(4)
    _digest_of_shared_array(numbers, numbers, numbers.copy())
    _digest_of_shared_array(numbers, numbers[:2], numbers[:2].copy())
    _digest_of_shared_array(numbers, numbers[:2], numbers[2:])
    _digest_of_shared_array(numbers[:2], numbers[:2], numbers[1:3])
    data = bytearray(4)
    _digest_of_shared_array(data, data, bytearray(4))
    _digest_of_shared_array(data, memoryview(data)[1:], memoryview(bytearray(3)))
    _digest_of_shared_array(data, np.frombuffer(data, "u1"), np.zeros(4, "u1"))
    _digest_of_shared_array(memoryview(data)[:2], memoryview(data)[:2], memoryview(data)[1:3])
    counts = array.array("d", [0, 0])
    _digest_of_shared_array(counts, counts, array.array("d", [0, 0]))
    assert digest([np.zeros(2), np.zeros(2)]) == digest([np.zeros(2), np.zeros(2)])


def test_pairs_of_pairs_are_not_expanded_again_and_count_by_content() -> None:
    def nested(depth: int, innermost: Any, copied: bool) -> Any:
        pair = innermost
        for _ in range(depth):
            pair = (pair, (pair[0], pair[1]) if copied else pair)
        return pair

    for innermost in ((1, 2), ([1], 2)):
        assert digest(nested(8, innermost, False)) == digest(nested(8, innermost, True))
        # Each pair doubles what an expansion would hold: 2 ** 200 numbers.
        assert digest(nested(200, innermost, False)) != digest(nested(201, innermost, False))
    assert digest(((1, 2), (1, 2))) != digest(((1, 2), (1, 3)))


def test_a_tuple_that_holds_itself_by_a_list_has_a_digest() -> None:
    def instance_in_own_list(last: int) -> Any:
        inner: list[Any] = []
        made = (inner, [last])
        inner.append(made)
        return [made, made, inner]

    assert digest(instance_in_own_list(1)) == digest(instance_in_own_list(1)) != digest(instance_in_own_list(2))


def test_all_of_an_enumeration_counts() -> None:
    def with_private(value: float) -> type[Enum]:
        class Mode(Enum):
            ON = 1
            __factor = value

        return Mode

    def with_cached(function: Callable[[Any], float]) -> type[Enum]:
        class Mode(Enum):
            ON = 1
            factor = functools.cache(function)

        return Mode

    assert digest(with_private(0.1)) == digest(with_private(0.1)) != digest(with_private(0.9))
    assert digest(with_cached(lambda mode: 0.1)) == digest(with_cached(lambda mode: 0.1)) != digest(with_cached(lambda mode: 0.9))


def test_what_an_enumeration_has_besides_members_counts() -> None:
    def enum_with_factor(value: float) -> type[Enum]:
        class Mode(Enum):
            ON = 1
            FACTOR = enum.nonmember(value)

        return Mode

    assert digest(enum_with_factor(0.1)) == digest(enum_with_factor(0.1)) != digest(enum_with_factor(0.9))


def test_a_class_that_a_call_makes_counts_by_its_attributes() -> None:
    def of_call(value: float) -> type:
        return types.new_class("Settings", (), {}, lambda names: names.update(factor=value))

    def of_fields(value: float) -> type:
        return dataclasses.make_dataclass("Settings", [("factor", float, field(default=value))])

    for made in (of_call, of_fields):
        assert digest(made(0.1)) == digest(made(0.1)) != digest(made(0.9))
        assert digest(made(0.1)()) == digest(made(0.1)()) != digest(made(0.9)())


def test_the_metadata_of_fields_and_an_attribute_called_read_from_count() -> None:
    def with_metadata(value: float) -> type:
        return dataclasses.make_dataclass("Settings", [("factor", float, field(default=1.0, metadata={"scale": value}))])

    def with_place(value: float) -> type:
        return type("Settings", (), {"read_from": value, "__module__": __name__})

    for made in (with_metadata, with_place):
        assert digest(made(0.1)) == digest(made(0.1)) != digest(made(0.9))
