from typing import Any

import pytest

from ecnlab.errors import UnknownName, UsageError
from ecnlab.sweeps.arithmetic import evaluate_expression

NAMED_VALUES = {"flows": 60, "share": 0.5, "delay": "5 ms", "rate": "10 Mbps", "scheme": "RED"}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("flows / 3", 20),
        ("flows // 7", 8),
        ("flows * share - 1", 29),
        ("90 Mbps / flows", "1500000 bps"),
        ("2 * delay", "0.01 s"),
        ("delay + 1 ms", "0.006 s"),
        ("rate / 2 Mbps", 5),
        ("max(10, min(2 * flows, 100))", 100),
        ("round(flows / 7)", 9),
        ("ceil(flows / 7) + floor(2.5)", 11),
        ("-(flows % 7) ** 2", -16),
        ("1 / 8", 0.125),
        ("3 min + 1 s", "181 s"),
        ("64 KB * share", "32000 B"),
    ],
)
def test_arithmetic_keeps_account_of_units(expression: str, value: Any) -> None:
    assert evaluate_expression(expression, NAMED_VALUES) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("flows + delay", r"units \(none and s\) do not fit"),
        ("delay * rate", "do not fit"),
        ("1 / delay", "do not fit"),
        ("delay ** 2", "do not fit"),
        ("max(1, delay)", "do not fit"),
        ("1 / 0", "division by zero"),
        ("10 ** 10 ** 10", "has no value"),
        ("scheme * 2", "'RED', which is not a number"),
        ("open('x')", "cannot be parsed"),
        ("flows.real", "cannot be parsed"),
        ("flows if 1 else 2", "cannot be parsed"),
        ("min()", "cannot be parsed"),
        ("round(1, 2, 3)", "has no value"),
        ("flows /", "cannot be parsed"),
        ("", "cannot be parsed"),
        ("True", "cannot be parsed"),
        ("'text'", "cannot be parsed"),
        ("(-8) ** 0.5", "cannot be parsed|no value"),
    ],
)
def test_invalid_expressions_and_those_without_a_value_are_refused(expression: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate_expression(expression, NAMED_VALUES)


def test_an_unknown_axis_is_reported_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'flows'"):
        evaluate_expression("flow / 3", NAMED_VALUES)
