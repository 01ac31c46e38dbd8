import math
import re
from xml.etree import ElementTree

import pytest

from ecnlab.stats.estimates import Estimate
from ecnlab.studies.framework.claims import ClaimedRange, ClaimStatement, StatementEstimate, StatementStatus, claimed_above, claimed_between
from ecnlab.studies.framework.strip import statement_interval_svg
from tiny_study import GOODPUT


def _statement_estimate(
    wanted: ClaimedRange, mean: float, half_width: float, published: float | None = None, ns2: float | None = None
) -> StatementEstimate:
    statement = ClaimStatement("s", GOODPUT, wanted, published=published)
    return StatementEstimate(statement, Estimate(mean, 1.0, half_width, 5), ns2, StatementStatus.SPANNED)


def _mark_positions(picture: str) -> dict[str, float]:
    """The x coordinates of the range, our interval and its middle, the published number and ns-2's."""
    ElementTree.fromstring(picture)
    rect = re.search(r'<rect x="([\d.]+)" y="2" width="([\d.]+)"', picture)
    assert rect is not None
    places = {"from": float(rect[1]), "to": float(rect[1]) + float(rect[2])}
    patterns = {"low": r"M([\d.]+) 10H", "high": r" 10H([\d.]+)", "ours": r'cx="([\d.]+)" cy="10" r="3"'}
    patterns |= {"published": r"M([\d.]+) 5l", "ns2": r'cx="([\d.]+)" cy="10" r="4.5"'}
    found = {name: re.search(pattern, picture) for name, pattern in patterns.items()}
    return places | {name: float(match[1]) for name, match in found.items() if match}


def test_everything_stands_in_the_order_of_its_numbers() -> None:
    at = _mark_positions(statement_interval_svg(_statement_estimate(claimed_between(2, 6), 5, 2, published=8, ns2=4)))
    assert at["from"] < at["low"] < at["ns2"] < at["ours"] < at["to"] < at["high"] < at["published"]
    assert at["ours"] - at["low"] == pytest.approx(at["high"] - at["ours"], abs=0.11)


def test_an_open_range_goes_on_to_the_end_of_the_picture() -> None:
    at = _mark_positions(statement_interval_svg(_statement_estimate(claimed_above(0), 5, 2)))
    assert at["to"] == 150
    assert 0 < at["from"] < at["low"]


@pytest.mark.parametrize("mean", [0.0, 1e-12, -3e9])
def test_numbers_that_are_all_one_have_a_place(mean: float) -> None:
    at = _mark_positions(statement_interval_svg(_statement_estimate(claimed_above(mean), mean, math.nan)))
    assert 0 <= at["ours"] <= 150
    assert "low" not in at


def test_what_was_not_measured_has_no_picture() -> None:
    assert statement_interval_svg(_statement_estimate(claimed_above(0), math.nan, math.nan)) == ""
