import math
from collections.abc import Sequence
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecnlab
from ecnlab.studies.framework.claims import (
    DIMENSIONLESS,
    PERCENT,
    ClaimedRange,
    ClaimStatement,
    ClaimVerdict,
    CombinedMeasure,
    DisplayUnit,
    MeasureDifference,
    RelativeChange,
    ScenarioMeasure,
    StatementStatus,
    claimed_about,
    claimed_above,
    claimed_at_least,
    claimed_at_most,
    claimed_below,
    claimed_between,
    descending_order_statements,
    largest_level_statements,
)
from ecnlab.studies.framework.model import RequiredScenario
from helpers import FIXED
from tiny_study import Known, claim, decide_claim, known, no_runs


def status_of(values: Sequence[float], wanted: ClaimedRange, shown: DisplayUnit = DIMENSIONLESS) -> StatementStatus:
    (weighed,) = decide_claim(claim(ClaimStatement("it", known(values), wanted, shown)), no_runs).estimates
    return weighed.status


# The interval of 1..5: 3 +- 2.776 445 * sqrt(2.5) / sqrt(5) = 3 +- 1.963 243, Student's t at 0.975 with 4 degrees of freedom.
ONE_TO_FIVE = [1.0, 2.0, 3.0, 4.0, 5.0]
LOW, HIGH = 1.036757, 4.963243


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (claimed_above(LOW - 1e-5), StatementStatus.SUPPORTED),
        (claimed_above(LOW + 1e-5), StatementStatus.SPANNED),
        (claimed_above(HIGH - 1e-5), StatementStatus.SPANNED),
        (claimed_above(HIGH + 1e-5), StatementStatus.CONTRADICTED),
        (claimed_below(HIGH + 1e-5), StatementStatus.SUPPORTED),
        (claimed_below(LOW - 1e-5), StatementStatus.CONTRADICTED),
        (claimed_between(LOW - 1e-5, HIGH + 1e-5), StatementStatus.SUPPORTED),
        (claimed_between(2, 4), StatementStatus.SPANNED),
        (claimed_between(5, 9), StatementStatus.CONTRADICTED),
        (claimed_about(3), StatementStatus.SPANNED),
        (claimed_about(-3), StatementStatus.CONTRADICTED),
    ],
)
def test_an_interval_within_the_range_supports_outside_contradicts_else_spans(wanted: ClaimedRange, expected: StatementStatus) -> None:
    assert status_of(ONE_TO_FIVE, wanted) == expected


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        (2.0, claimed_above(2), StatementStatus.CONTRADICTED),
        (2.0, claimed_at_least(2), StatementStatus.SUPPORTED),
        (2.0, claimed_below(2), StatementStatus.CONTRADICTED),
        (2.0, claimed_at_most(2), StatementStatus.SUPPORTED),
        (0.1, claimed_at_least(0.1), StatementStatus.SUPPORTED),
    ],
)
def test_seeds_of_one_value_have_that_value_for_an_interval(value: float, wanted: ClaimedRange, expected: StatementStatus) -> None:
    assert status_of([value] * 7, wanted) == expected


@pytest.mark.parametrize("values", [[], [3.0], [3.0, math.nan, 3.0], [math.inf, 3.0, 3.0]], ids=["none", "one seed", "NaN", "infinite"])
def test_estimates_without_interval_support_no_claim(values: Sequence[float]) -> None:
    assert status_of(values, claimed_above(0)) == StatementStatus.SPANNED
    assert status_of(values, claimed_below(0)) == StatementStatus.SPANNED


def test_identical_seeds_because_nothing_is_random_decide_nothing() -> None:
    need = RequiredScenario(FIXED)
    result = ecnlab.run(ecnlab.scenario(FIXED), [1, 2])
    assert result.alike
    (weighed,) = decide_claim(
        claim(ClaimStatement("goodput", ScenarioMeasure(need, "goodput_bps"), claimed_above(0))), lambda _: result
    ).estimates
    assert weighed.status == StatementStatus.SPANNED
    assert math.isnan(weighed.ours.half_width)


def test_a_quantity_is_compared_in_the_unit_in_which_it_is_shown() -> None:
    (weighed,) = decide_claim(claim(ClaimStatement("it", known([0.5, 0.5], ns2=0.25), claimed_about(50), PERCENT)), no_runs).estimates
    assert (weighed.ours.mean, weighed.ns2, weighed.status) == (50.0, 25.0, StatementStatus.SUPPORTED)


def test_two_quantities_are_paired_by_seed_and_by_those_alone_that_both_have() -> None:
    a, b = Known({1: 10.0, 2: 20.0, 3: 33.0, 9: 1e9}), Known({2: 16.0, 3: 30.0, 1: 8.0, 7: -1e9})
    assert MeasureDifference(a, b).values_by_seed(no_runs) == {1: 2.0, 2: 4.0, 3: 3.0}
    assert RelativeChange(a, b).values_by_seed(no_runs) == {1: 0.25, 2: 0.25, 3: pytest.approx(0.1)}


def test_pairing_decides_what_two_means_would_not() -> None:
    draws = [0.0, 100.0, 200.0, 300.0]
    a, b = known([draw + 1 for draw in draws]), known(draws)
    (weighed,) = decide_claim(claim(ClaimStatement("a over b", MeasureDifference(a, b), claimed_above(0))), no_runs).estimates
    assert weighed.status == StatementStatus.SUPPORTED


def test_a_change_from_nothing_is_not_a_number() -> None:
    assert math.isnan(RelativeChange(known([1.0]), known([0.0])).values_by_seed(no_runs)[1])


def test_several_quantities_are_folded_seed_by_seed() -> None:
    parts = [Known({1: 1.0, 2: 5.0}, 1.0), Known({1: 3.0, 2: 4.0, 3: 9.0}, 4.0)]
    assert CombinedMeasure(fmean, parts).values_by_seed(no_runs) == {1: 2.0, 2: 4.5}
    assert CombinedMeasure(max, parts).recorded_ns2_mean() == 4.0
    nothing = known([math.nan, 1.0])
    for one, other in ((nothing, known([3.0, 4.0])), (known([3.0, 4.0]), nothing)):
        assert [math.isnan(value) for value in CombinedMeasure(max, [one, other]).values_by_seed(no_runs).values()] == [True, False]
    assert CombinedMeasure(max, [*parts, known([1.0])]).recorded_ns2_mean() is None, "ns-2's is known of all or of none"


SUPPORTED_VALUES = ClaimStatement("good", known(ONE_TO_FIVE), claimed_above(0))
CONTRADICTED_VALUES = ClaimStatement("bad", known(ONE_TO_FIVE), claimed_below(0))
SPANNED_VALUES = ClaimStatement("open", known(ONE_TO_FIVE), claimed_above(3))


@pytest.mark.parametrize(
    ("statements", "verdict"),
    [
        ([SUPPORTED_VALUES, SUPPORTED_VALUES], ClaimVerdict.REPRODUCED),
        ([SUPPORTED_VALUES, SPANNED_VALUES], ClaimVerdict.UNDECIDED),
        ([SPANNED_VALUES], ClaimVerdict.UNDECIDED),
        ([SUPPORTED_VALUES, SPANNED_VALUES, CONTRADICTED_VALUES], ClaimVerdict.NOT_REPRODUCED),
        ([CONTRADICTED_VALUES], ClaimVerdict.NOT_REPRODUCED),
        ([], ClaimVerdict.UNDECIDED),
    ],
)
def test_all_statements_make_a_claim_and_one_breaks_it(statements: Sequence[ClaimStatement], verdict: ClaimVerdict) -> None:
    assert decide_claim(claim(*statements), no_runs).verdict == verdict


def test_a_peak_and_an_order_are_statements_about_pairs() -> None:
    levels = {"0.1": known([1.0, 1.0]), "0.5": known([3.0, 3.0]), "0.8": known([2.0, 2.0])}
    assert [s.text for s in largest_level_statements("0.5", levels)] == ["0.5 over 0.1", "0.5 over 0.8"]
    assert decide_claim(claim(*largest_level_statements("0.5", levels)), no_runs).verdict == ClaimVerdict.REPRODUCED
    assert [s.text for s in descending_order_statements(levels)] == ["0.1 over 0.5", "0.5 over 0.8"]
    assert decide_claim(claim(*descending_order_statements(levels)), no_runs).verdict == ClaimVerdict.NOT_REPRODUCED


STATUS_RANK = {StatementStatus.CONTRADICTED: 0, StatementStatus.SPANNED: 1, StatementStatus.SUPPORTED: 2}
MIRRORED = {
    StatementStatus.CONTRADICTED: StatementStatus.SUPPORTED,
    StatementStatus.SPANNED: StatementStatus.SPANNED,
    StatementStatus.SUPPORTED: StatementStatus.CONTRADICTED,
}
VALUES = st.lists(st.integers(-8000, 8000).map(lambda eighths: eighths / 8), min_size=2, max_size=30)
SHIFT_RANGES = st.integers(-5000, 5000)


@given(VALUES, SHIFT_RANGES, st.integers(1, 5000))
def test_data_that_move_up_never_lose_a_statement_that_they_are_above(values: list[float], shift: int, further: int) -> None:
    standings = [status_of([value + moved for value in values], claimed_above(0)) for moved in (shift, shift + further)]
    assert STATUS_RANK[standings[0]] <= STATUS_RANK[standings[1]]


@given(VALUES)
def test_data_shifted_far_across_the_limit_turn_the_verdict(values: list[float]) -> None:
    far = 1e6
    assert status_of([value + far for value in values], claimed_above(0)) == StatementStatus.SUPPORTED
    assert status_of([value - far for value in values], claimed_above(0)) == StatementStatus.CONTRADICTED


@given(VALUES, SHIFT_RANGES)
def test_what_supports_a_statement_contradicts_its_opposite(values: list[float], limit: int) -> None:
    assert status_of(values, claimed_at_most(limit)) == MIRRORED[status_of(values, claimed_above(limit))]
    assert status_of(values, claimed_below(limit)) == MIRRORED[status_of(values, claimed_at_least(limit))]
    assert status_of([-value for value in values], claimed_below(-limit)) == status_of(values, claimed_above(limit))
