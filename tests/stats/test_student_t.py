"""Student's t distribution against scipy, closed forms and a printed table."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr, stdtrit

from ecnlab.stats.student_t import two_sided_t_quantile, two_sided_tail_probability

FREEDOMS = st.one_of(st.integers(1, 200).map(float), st.floats(1, 1e5))


@given(st.floats(1e-6, 300), FREEDOMS)
def test_the_tail_is_scipy_s(t: float, freedom: float) -> None:
    assert two_sided_tail_probability(t, freedom) == pytest.approx(2 * stdtr(freedom, -t), rel=1e-9, abs=1e-300)
    assert two_sided_tail_probability(-t, freedom) == two_sided_tail_probability(t, freedom)


@given(st.floats(0.001, 0.99999), FREEDOMS)
def test_the_quantile_is_scipy_s_and_has_its_own_tail(confidence: float, freedom: float) -> None:
    t = two_sided_t_quantile(confidence, freedom)
    assert t == pytest.approx(stdtrit(freedom, 0.5 + confidence / 2), rel=1e-9)
    assert two_sided_tail_probability(t, freedom) == pytest.approx(1 - confidence, rel=1e-9)


@given(st.floats(0, 1e6))
def test_with_one_and_two_degrees_of_freedom_the_tail_has_a_closed_form(t: float) -> None:
    assert two_sided_tail_probability(t, 1) == pytest.approx(2 / math.pi * math.atan2(1, t), rel=1e-12)
    root = math.sqrt(2 + t * t)
    assert two_sided_tail_probability(t, 2) == pytest.approx(2 / (root * (root + t)), rel=1e-10)


# Student 1908 as printed in textbooks: two-sided quantiles at 95 and 99 %.
@pytest.mark.parametrize(
    ("freedom", "at_95", "at_99"), [(1, 12.706, 63.657), (4, 2.776, 4.604), (9, 2.262, 3.250), (19, 2.093, 2.861), (99, 1.984, 2.626)]
)
def test_the_quantiles_are_those_of_printed_tables(freedom: int, at_95: float, at_99: float) -> None:
    assert round(two_sided_t_quantile(0.95, freedom), 3) == at_95
    assert round(two_sided_t_quantile(0.99, freedom), 3) == at_99


def test_without_a_number_there_is_no_quantile_and_at_the_ends_the_tail_is_whole_or_nothing() -> None:
    assert math.isnan(two_sided_t_quantile(0.95, math.nan))
    assert math.isnan(two_sided_tail_probability(math.nan, 4))
    assert two_sided_tail_probability(0.0, 4) == 1.0
    assert two_sided_tail_probability(math.inf, 4) == 0.0
    assert two_sided_tail_probability(1e200, 4) == 0.0
    assert two_sided_t_quantile(0.95, math.inf) == pytest.approx(1.959963984540054)
