from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecnlab
from ecnlab.errors import UsageError
from ecnlab.scenarios.units import UNITS, parse_quantity
from ecnlab.sweeps.values import ValueKindAndUnit, parse_axis_values_text


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.1,0.5", [0.1, 0.5]),
        ("10..40 step 10", [10, 20, 30, 40]),
        ("1..3", [1, 2, 3]),
        ("0.1..0.5 step 0.2", [0.1, 0.3, 0.5]),
        ("5..50 step 15 ms", ["5 ms", "20 ms", "35 ms", "50 ms"]),
        ("0.5..1.5 step 0.5 Mbps,10 Mbps", ["0.5 Mbps", "1.0 Mbps", "1.5 Mbps", "10 Mbps"]),
        ("1..2,8", [1, 2, 8]),
        ("red,ecn", ["red", "ecn"]),
        ("true,false", [True, False]),
        ('{ aqm = "red", limit = 25 },{ aqm = "pie", limit = 25 }', [{"aqm": "red", "limit": 25}, {"aqm": "pie", "limit": 25}]),
        ('["0 s", "2 s"],["1 s"]', [["0 s", "2 s"], ["1 s"]]),
        ('"a,b",c', ["a,b", "c"]),
        ("1979-05-27", ["1979-05-27"]),
    ],
)
def test_a_text_lists_values_and_ranges(text: str, values: list[Any]) -> None:
    found = parse_axis_values_text(text)
    assert (found, list(map(type, found))) == (values, list(map(type, values)))


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 7))
def test_a_range_of_tenths_has_just_the_numbers_that_are_written(low: int, count: int, step: int) -> None:
    high = low + count * step
    expected = [float(f"{at / 10:.1f}") for at in range(low, high + 1, step)]
    assert parse_axis_values_text(f"{low / 10:.1f}..{high / 10:.1f} step {step / 10:.1f}") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1..0.5", "needs a step"),
        ("5..1", "ends before it begins"),
        ("1..5 step 0", "the step must be above 0"),
        ("0..1 step 1e-9", "more than 100000 values"),
        ("1,,2", "cannot be parsed"),
        ("", "cannot be parsed"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_axis_values_text(text)


@pytest.mark.parametrize(
    ("values", "kind", "cells"),
    [
        ([True, False], ValueKindAndUnit("flag"), [True, False]),
        ([1, 2, None], ValueKindAndUnit("whole"), [1, 2, None]),
        ([1, 2.5], ValueKindAndUnit("real"), [1.0, 2.5]),
        (["5 ms", "1 s"], ValueKindAndUnit("real", "s"), [0.005, 1.0]),
        (["500 kbps", "1 Mbps"], ValueKindAndUnit("real", "bit/s"), [5e5, 1e6]),
        (["5 ms", "1 Mbps"], ValueKindAndUnit("name"), ["5 ms", "1 Mbps"]),
        ([1, "auto"], ValueKindAndUnit("name"), ["1", "auto"]),
        ([True, 2], ValueKindAndUnit("name"), ["true", "2"]),
        ([{"b": 1, "a": 2}, ["x"]], ValueKindAndUnit("name"), ['{"a": 2, "b": 1}', '["x"]']),
        ([None], ValueKindAndUnit("name"), [None]),
    ],
)
def test_a_column_has_the_narrowest_kind_that_holds_its_values(values: list[Any], kind: ValueKindAndUnit, cells: list[Any]) -> None:
    assert ValueKindAndUnit.narrowest_kind_of(values) == kind
    assert list(map(kind.convert_to_cell, values)) == cells


FLOWS = [{"name": "f", "from": "a", "to": "b", "tcp": {"profile": "rfc"}}]


def _value_in_force(unit: str) -> tuple[str, str]:
    """The engine's text of 3 units, in a scenario that takes such a quantity."""
    number = "3"
    link = {"name": "l", "from": "a", "to": "b", "rate": "1 Mbps", "delay": "1 ms", "queue": {"aqm": "droptail", "limit": 9}}
    place = {"s": "delay", "bit/s": "rate", "bytes": "queue", "packets": "queue"}[UNITS[unit][1]]
    given = {"aqm": "droptail", "limit": f"{number} {unit}"} if place == "queue" else f"{number} {unit}"
    tree = {"name": "u", "duration": "30 h", "link": [{**link, place: given}], "flows": FLOWS}
    found = ecnlab.scenario(tree).resolved["link"][0][place]
    return number, found["limit"] if place == "queue" else found


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_those_of_the_engine(unit: str) -> None:
    number, written = _value_in_force(unit)
    ours, in_force = parse_quantity(f"{number} {unit}"), parse_quantity(written)
    assert ours is not None
    assert in_force is not None
    assert in_force == (pytest.approx(ours[0]), ours[1])


def test_rates_and_times_are_read_in_all_spellings() -> None:
    same = {"10 Mbps": 1e7, "10 Mbit/s": 1e7, "10mbit": 1e7, "9600 bit/s": 9600.0, "0.5 gbit": 5e8}
    assert {text: parse_quantity(text) for text in same} == {text: (rate, "bit/s") for text, rate in same.items()}
    assert parse_quantity("2 days") == (172800.0, "s")
    assert parse_quantity("20 \u03bcs") == parse_quantity("20 \u00b5s") == (pytest.approx(20e-6), "s")
    assert parse_quantity("10 mbps") is None, "bytes to some tools, bits to others"
    assert parse_axis_values_text("5..15 step 5 Mbit/s") == ["5 Mbit/s", "10 Mbit/s", "15 Mbit/s"]
