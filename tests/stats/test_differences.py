"""Expected numbers of unpaired samples: Student's sleep data with R's default t.test, which is Welch's."""

import math
from itertools import combinations, product

import pytest

from ecnlab.stats.differences import SampleBySeed, difference_of_samples

DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def _sample_from(values: list[float], first: int = 1, *, alike: bool = False) -> SampleBySeed:
    return SampleBySeed(dict(enumerate(values, first)), alike)


def test_runs_of_the_same_seeds_are_paired() -> None:
    found = difference_of_samples(_sample_from(DRUG_1), _sample_from(DRUG_2))
    assert found.paired
    assert (found.change.low, found.change.high) == (pytest.approx(0.7001142, abs=1e-7), pytest.approx(2.4598858, abs=1e-7))
    assert found.is_apart
    assert found.p_value == pytest.approx(0.002833, abs=1e-6)
    assert found.relative_change.mean == pytest.approx(1.58 / 0.75)


def test_runs_of_unlike_seeds_are_compared_by_welch() -> None:
    found = difference_of_samples(_sample_from(DRUG_1), _sample_from(DRUG_2, first=11))
    assert not found.paired
    assert (found.change.low, found.change.high) == (pytest.approx(-0.2054832, abs=1e-7), pytest.approx(3.3654832, abs=1e-7))
    assert not found.is_apart
    assert found.p_value == pytest.approx(0.07939, abs=1e-5)


def test_of_seeds_that_overlap_only_the_shared_ones_count() -> None:
    found = difference_of_samples(SampleBySeed({1: 1.0, 2: 2.0, 3: 90.0}), SampleBySeed({1: 2.0, 2: 4.0, 9: 0.0}))
    assert (found.paired, found.a.mean, found.b.mean, found.change.mean, found.change.n) == (True, 1.5, 3.0, 1.5, 2)


def test_one_shared_seed_among_several_is_not_a_pair() -> None:
    assert not difference_of_samples(SampleBySeed({1: 1.0, 2: 2.0}), SampleBySeed({2: 2.0, 3: 4.0})).paired


def test_one_seed_has_a_difference_and_no_interval() -> None:
    found = difference_of_samples(SampleBySeed({7: 1.0}), SampleBySeed({7: 3.0}))
    assert (found.paired, found.change.mean, found.is_apart) == (True, 2.0, True)
    assert math.isnan(found.change.half_width)
    assert math.isnan(found.p_value)
    lone = difference_of_samples(SampleBySeed({7: 1.0}), SampleBySeed({8: 3.0}))
    assert (lone.paired, math.isnan(lone.change.half_width)) == (False, True)


@pytest.mark.parametrize("n", range(2, 8))
@pytest.mark.parametrize("first", [1, 11], ids=["paired", "unpaired"])
def test_values_without_spread_have_the_p_value_of_all_permutations(n: int, first: int) -> None:
    a, b = [11.0] * n, [12.0] * n
    found = difference_of_samples(_sample_from(a), _sample_from(b, first=first))
    assert (found.paired, found.change.half_width) == (first == 1, 0.0)
    if found.paired:
        means = [sum(signs) for signs in product((-1.0, 1.0), repeat=n)]
    else:
        means = [sum(a + b) - 2 * sum(chosen) for chosen in combinations(a + b, n)]
    assert found.p_value == pytest.approx(sum(abs(mean) >= n for mean in means) / len(means), rel=1e-12)
    assert math.isnan(difference_of_samples(_sample_from(a), _sample_from(a, first=first)).p_value)


@pytest.mark.parametrize("sizes", [(2, 3), (2, 6), (5, 3)])
def test_samples_of_different_sizes_without_spread_have_twice_the_p_value_of_one_direction(sizes: tuple[int, int]) -> None:
    a, b = [11.0] * sizes[0], [12.0] * sizes[1]
    sums = [sum(chosen) for chosen in combinations(a + b, len(a))]
    one_direction = sum(chosen <= sum(a) for chosen in sums) / len(sums)
    for first, second in ((a, b), (b, a)):
        found = difference_of_samples(_sample_from(first), _sample_from(second, first=11))
        assert found.p_value == pytest.approx(2 * one_direction, rel=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "mean"),
    [([0.1, 0.3], [0.2, 0.4], 0.1), ([0.3, 0.2, 0.7], [0.4, 0.3, 0.8], 0.1), ([0.3, 1.0], [0.1 + 0.2, 1.0], 0.0)],
)
def test_differences_that_are_equal_but_for_rounding_have_no_spread(a: list[float], b: list[float], mean: float) -> None:
    found = difference_of_samples(_sample_from(a), _sample_from(b))
    assert (found.change.sd, found.change.half_width) == (0.0, 0.0)
    assert found.change.mean == pytest.approx(mean, rel=1e-12)
    assert found.p_value == pytest.approx(2.0 ** (1 - len(a)) if mean else math.nan, nan_ok=True)


def test_identical_seeds_in_both_have_no_interval() -> None:
    found = difference_of_samples(_sample_from([1.0] * 5, alike=True), _sample_from([1.5] * 5, alike=True))
    assert (found.change.mean, found.is_apart) == (0.5, True)
    assert math.isnan(found.change.half_width)
    assert math.isnan(found.a.half_width)
    apart = difference_of_samples(_sample_from([1.0] * 5, alike=True), _sample_from([1.5] * 5, first=9, alike=True))
    assert math.isnan(apart.change.half_width)


def test_where_only_one_of_the_two_is_random_the_interval_is_that_of_the_other() -> None:
    found = difference_of_samples(_sample_from([0.0] * 10, alike=True), _sample_from(DRUG_1))
    assert found.change.half_width == pytest.approx(2.262157 * 1.789010 / math.sqrt(10), rel=1e-6)
    assert not math.isnan(found.b.half_width)


def test_a_relative_change_from_0_is_infinite_and_0_to_0_is_no_change() -> None:
    assert difference_of_samples(_sample_from([0.0, 0.0]), _sample_from([3.0, 4.0])).relative_change.mean == math.inf
    still = difference_of_samples(_sample_from([0.0, 0.0]), _sample_from([0.0, 0.0]))
    assert (still.relative_change.mean, still.is_apart) == (0.0, False)
    assert math.isnan(still.p_value), "equal values at each seed are no test"


def test_quantities_of_one_side_only_are_not_compared() -> None:
    found = difference_of_samples(_sample_from([math.nan, math.nan]), _sample_from([1.0, 2.0]))
    assert math.isnan(found.change.mean)
    assert not found.is_apart
