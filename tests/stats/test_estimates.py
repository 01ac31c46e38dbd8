"""Expected numbers: Student's sleep data (Biometrika 6, 1908), as in textbooks and from R's t.test."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from ecnlab.errors import UsageError
from ecnlab.stats.estimates import (
    fdr_adjusted_p_values,
    mean_with_interval,
    p_value,
    paired_difference,
    welch_half_width,
    welch_p_value,
)
from ecnlab.stats.student_t import two_sided_t_quantile

DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_the_paired_interval_is_that_of_the_sleep_data() -> None:
    found = paired_difference(DRUG_2, DRUG_1)
    assert found.mean == pytest.approx(1.58)
    assert (found.low, found.high) == (pytest.approx(0.7001142, abs=1e-7), pytest.approx(2.4598858, abs=1e-7))


def test_the_interval_of_a_mean_is_that_of_the_sleep_data() -> None:
    found = mean_with_interval(DRUG_1)
    assert (found.mean, found.sd, found.n) == (pytest.approx(0.75), pytest.approx(1.789010, abs=1e-6), 10)
    assert found.half_width == pytest.approx(2.262157 * 1.789010 / math.sqrt(10), rel=1e-6)


@given(st.floats(0.1, 10), st.integers(2, 30))
def test_equal_values_have_themselves_as_mean_and_no_spread_at_all(value: float, n: int) -> None:
    found = mean_with_interval([value] * n)
    assert (found.mean, found.sd, found.half_width) == (value, 0.0, 0.0)


def test_welch_s_half_width_is_that_of_the_sleep_data() -> None:
    found = welch_half_width(mean_with_interval(DRUG_1).sd, 10, mean_with_interval(DRUG_2).sd, 10, confidence=0.95)
    assert found == pytest.approx((0.2054832 + 3.3654832) / 2, abs=1e-6)


def test_two_means_without_spread_have_no_interval() -> None:
    assert welch_half_width(0.0, 3, 0.0, 20) == 0.0


def test_one_sided_spread_has_the_degrees_of_freedom_of_its_side() -> None:
    assert welch_half_width(2.0, 16, 0.0, 3, confidence=0.95) == pytest.approx(two_sided_t_quantile(0.95, 15) * 2.0 / 4)


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (4, 2.776), (19, 2.093), (120, 1.980)])
def test_quantiles_are_those_of_the_printed_table(freedom: int, t: float) -> None:
    assert two_sided_t_quantile(0.95, freedom) == pytest.approx(t, abs=5e-4)


def test_one_value_has_no_interval() -> None:
    assert math.isnan(mean_with_interval([3.0]).half_width)
    assert mean_with_interval([3.0]).mean == 3.0


def test_pairs_of_unequal_length_are_refused() -> None:
    with pytest.raises(UsageError, match="equal lengths"):
        paired_difference([1.0], [1.0, 2.0])


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(0.001, 1000))
def test_an_estimate_scales_with_its_unit(values: list[float], factor: float) -> None:
    direct, scaled = mean_with_interval([value * factor for value in values]), mean_with_interval(values).scaled(factor)
    assert scaled.mean == pytest.approx(direct.mean, rel=1e-6, abs=1e-6)
    assert scaled.half_width == pytest.approx(direct.half_width, rel=1e-6, abs=1e-3)


def test_the_difference_of_identical_runs_has_no_interval() -> None:
    found = paired_difference([3.0, 3.0], [1.0, 1.0], alike=True)
    assert (found.mean, found.n) == (2.0, 2)
    assert math.isnan(found.half_width)


# The 15 p-values of section 3 of Benjamini and Hochberg 1995 (Neuhaus et al. 1992), of which the procedure rejects 4 at q = 0.05.
BENJAMINI_HOCHBERG = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0,
]  # fmt: skip


def test_the_adjustment_rejects_the_four_hypotheses_of_the_published_example() -> None:
    adjusted = fdr_adjusted_p_values(BENJAMINI_HOCHBERG)
    assert [p <= 0.05 for p in adjusted] == [True] * 4 + [False] * 11
    assert adjusted[:4] == pytest.approx([0.0015, 0.003, 0.0095, 0.035625])
    assert adjusted[5] == adjusted[6] == pytest.approx(0.0298 * 15 / 7), "the smaller bound of a larger p-value counts"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_the_adjustment_is_scipy_s(p_values: list[float]) -> None:
    assert fdr_adjusted_p_values(p_values) == pytest.approx(list(false_discovery_control(p_values)))


def test_a_nan_among_p_values_stays_and_does_not_count() -> None:
    adjusted = fdr_adjusted_p_values([0.04, math.nan, 0.01, math.nan])
    assert adjusted[0::2] == fdr_adjusted_p_values([0.04, 0.01]) == [0.04, 0.02]
    assert math.isnan(adjusted[1])
    assert math.isnan(adjusted[3])
    assert fdr_adjusted_p_values([]) == []


def test_p_values_are_those_of_the_sleep_data() -> None:
    assert p_value(paired_difference(DRUG_2, DRUG_1)) == pytest.approx(0.002833, abs=1e-6)
    assert welch_p_value(mean_with_interval(DRUG_1), mean_with_interval(DRUG_2)) == pytest.approx(0.07939, abs=1e-5)
    assert p_value(mean_with_interval(DRUG_1), 0.75) == 1.0


def test_without_an_interval_there_is_no_p_value_and_without_spread_any_other_value_is_excluded() -> None:
    assert math.isnan(p_value(mean_with_interval([1.0])))
    assert math.isnan(p_value(mean_with_interval([1.0, 1.0]).without_interval()))
    assert p_value(mean_with_interval([1.0, 1.0]), 1.0) == 1.0
    assert p_value(mean_with_interval([1.0, 1.0]), 2.0) == 0.0
    assert math.isnan(welch_p_value(mean_with_interval([1.0]), mean_with_interval([1.0, 2.0])))
    assert math.isnan(p_value(mean_with_interval([1.0, math.nan])))
