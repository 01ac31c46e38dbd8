"""MSER-5 on series with a known transient, against White, Cobb and Spratt (2000) and Hoad, Robinson and Davies (2010)."""

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecnlab.stats.steady_state import (
    MSER_BATCH,
    ObservedSeries,
    _batch_length_with_correlation,
    _mser_optimal_truncation,
    batch_means,
    steady_state_of_quantity,
    steady_state_of_run,
)

Series = NDArray[np.float64]
SERIES_LENGTH = 1000


def _noise_series(rng: np.random.Generator, correlation: float, length: int = SERIES_LENGTH) -> Series:
    """A stationary AR(1) series of variance 1."""
    steps = rng.normal(size=length) * math.sqrt(1 - correlation**2)
    steps[0] = rng.normal()
    found = np.empty(length)
    last = 0.0
    for at, step in enumerate(steps):
        found[at] = last = correlation * last + step
    return found


def _decaying_series(tau: float, length: int = SERIES_LENGTH) -> Series:
    return np.exp(-np.arange(length) / tau)


def _observed_series(runs: list[Series], name: str = "queue", batch: int = 5) -> ObservedSeries:
    return ObservedSeries(name, 0.1, [run.tolist() for run in runs], batch)


def _truncation_point(values: Sequence[float], batch: int = MSER_BATCH) -> int | None:
    """How many observations at the beginning of a series belong to its transient; None if the series is too short to tell."""
    found = _mser_optimal_truncation(batch_means(values, batch))
    return None if found is None or not found.is_in_first_half else found.at * batch


@given(st.lists(st.floats(-1e3, 1e3), min_size=20, max_size=80))
def test_the_truncation_minimises_the_squared_standard_error_of_the_remaining_mean(values: list[float]) -> None:
    errors = [np.var(values[at:]) / (len(values) - at) for at in range(len(values) - 5)]
    found = _truncation_point(values, batch=1)
    if found is None:
        assert min(errors[: len(values) // 2 + 1]) > min(errors[len(values) // 2 + 1 :]) - 1e-9
    else:
        assert found <= len(values) / 2
        assert errors[found] == pytest.approx(min(errors), abs=1e-9)


def test_batches_are_of_five_and_the_rest_belongs_to_none() -> None:
    assert batch_means([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99], 5) == [3.0, 8.0]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("tau", [25, 50, 100])
def test_an_exponential_transient_is_cut_where_it_has_sunk_into_the_noise(correlation: float, tau: float) -> None:
    rng = np.random.default_rng(1997)
    found = [_truncation_point(20 + 30 * _decaying_series(tau) + 5 * _noise_series(rng, correlation)) for _ in range(40)]
    known = [cut for cut in found if cut is not None]
    assert len(known) >= 36
    left = 30 * math.exp(-float(np.median(known)) / tau)
    assert left < 8, "what is left of the transient is about the noise's standard deviation of 5"
    assert np.median(known) < 6 * tau


@pytest.mark.parametrize("at", [50, 100, 300, 450])
def test_a_step_is_cut_where_it_is(at: int) -> None:
    rng = np.random.default_rng(2000)
    step = np.where(np.arange(SERIES_LENGTH) < at, 0.0, 10.0)
    found = [_truncation_point(step + _noise_series(rng, 0.3)) for _ in range(20)]
    assert np.median([cut for cut in found if cut is not None]) == at
    assert _truncation_point(step) == at


def test_without_a_transient_little_is_cut() -> None:
    rng = np.random.default_rng(7)
    found = [_truncation_point(_noise_series(rng, 0.5)) for _ in range(100)]
    assert None not in found
    assert np.median([cut for cut in found if cut is not None]) == 0
    assert np.mean([cut for cut in found if cut is not None]) < 0.05 * SERIES_LENGTH
    assert _truncation_point([3.0] * 200) == 0


def test_a_trend_a_late_step_and_a_short_series_are_too_short_to_tell() -> None:
    rng = np.random.default_rng(7)
    trend = np.linspace(0, 10, SERIES_LENGTH)
    assert _truncation_point(trend) is None
    assert _truncation_point(trend + _noise_series(rng, 0.5)) is None
    assert _truncation_point(np.where(np.arange(SERIES_LENGTH) < 700, 0.0, 10.0) + _noise_series(rng, 0.5)) is None
    assert _truncation_point(_noise_series(rng, 0.0, 99)) is None


def test_a_few_equal_values_at_the_end_are_no_steady_state() -> None:
    values = [*np.random.default_rng(1).normal(size=194), 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert _truncation_point(values, batch=1) == 0


def test_the_mean_of_several_seeds_shows_a_transient_that_is_below_the_noise_of_one() -> None:
    rng = np.random.default_rng(5)
    transient = 20 + 2 * _decaying_series(100)
    one, several = (
        [_truncation_point(transient + np.mean([5 * _noise_series(rng, 0.3) for _ in range(n)], axis=0)) for _ in range(40)]
        for n in (1, 30)
    )
    assert np.median([cut or 0 for cut in several]) > np.median([cut or 0 for cut in one])


def test_a_measured_interval_that_begins_inside_the_transient_is_warned_of_with_the_time_from_which_to_measure() -> None:
    rng = np.random.default_rng(3)
    runs = [20 + 30 * _decaying_series(100) + 5 * _noise_series(rng, 0.5) for _ in range(5)]
    found = steady_state_of_run([_observed_series(runs, "queue bottleneck")], [1, 2, 3, 4, 5], 10.0, 100.0)
    assert found.from_s is not None
    assert 15 < found.from_s < 45
    (warning,) = found.warnings
    assert warning.place == "measure_from"
    assert "10 s lies inside the transient" in warning.message
    assert f'fix: measure_from = "{found.from_s:g} s" or later' in warning.message
    assert found.quantities[0].shift == pytest.approx(30 * 10 * math.exp(-1) / 90 / 20, rel=0.3)
    assert steady_state_of_run([_observed_series(runs)], [1, 2, 3, 4, 5], 45.0, 100.0).warnings == []


@pytest.mark.parametrize("seeds", [1, 5])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_noise_alone_warns_of_no_transient_and_no_short_run(seeds: int, correlation: float) -> None:
    rng = np.random.default_rng(11)
    found = [
        steady_state_of_run([_observed_series([20 + 5 * _noise_series(rng, correlation) for _ in range(seeds)])], [1], 20.0, 100.0)
        for _ in range(60)
    ]
    assert sum(bool(one.warnings) for one in found) <= 3
    assert sum(one.from_s is None for one in found) <= 1


@pytest.mark.parametrize("seeds", [1, 5])
def test_a_run_of_a_few_swings_is_too_short_for_the_interval_that_it_reports(seeds: int) -> None:
    rng = np.random.default_rng(13)
    swings = 10 * np.sin(2 * np.pi * np.arange(SERIES_LENGTH) / 333)
    found = steady_state_of_quantity(_observed_series([20 + swings + _noise_series(rng, 0.0) for _ in range(seeds)]), 0.0)
    assert found.independent < 10
    assert found.correlation > 0.5
    long = steady_state_of_quantity(_observed_series([20 + _noise_series(rng, 0.0) for _ in range(seeds)]), 0.0)
    assert long.independent == 20


def test_a_run_that_is_too_short_is_reported_with_a_longer_duration() -> None:
    rng = np.random.default_rng(17)
    runs = [20 + 5 * _noise_series(rng, 0.98) for _ in range(5)]
    found = steady_state_of_run([_observed_series(runs, "queue a")], [1], 0.0, 100.0)
    (warning,) = [one for one in found.warnings if "independent" in one.message]
    assert warning.place == "duration"
    assert "independent observations of queue a" in warning.message
    trend = steady_state_of_run([_observed_series([np.linspace(0, 1, SERIES_LENGTH)], name) for name in "abcde"], [1], 20.0, 100.0)
    assert trend.from_s is None
    (warning,) = trend.warnings
    assert "too short to tell where the steady state of a, b, c and 2 more begins" in warning.message
    assert 'fix: a longer run, e.g. duration = "200 s"' in warning.message


@pytest.mark.parametrize("length", [0.01, 0.5, 1.98, 20.0])
def test_batches_of_an_exponential_decay_have_the_length_of_their_correlation(length: float) -> None:
    correlation = (1 - math.exp(-length)) ** 2 / (2 * (length - 1 + math.exp(-length)))
    assert _batch_length_with_correlation(correlation) == pytest.approx(length, rel=1e-6)


def _advised_duration_s(rng: np.random.Generator, duration_s: float) -> float | None:
    """The duration that five runs of a slow process are advised; None if they have enough independent observations."""
    runs = [20 + 5 * _noise_series(rng, 0.97, round(duration_s * 10)) for _ in range(5)]
    found = steady_state_of_run([_observed_series(runs)], [1, 2, 3, 4, 5], 0.0, duration_s)
    advice = [re.search(r'duration = "(.*) s"', one.message) for one in found.warnings if "independent" in one.message]
    return float(advice[0][1]) if advice and advice[0] else None


def test_independent_observations_are_counted_from_the_advised_begin_which_the_warning_names() -> None:
    rng = np.random.default_rng(0)
    slow = [20 + 5 * _noise_series(rng, 0.985, 2000) for _ in range(5)]
    falling = [20 + 200 * np.exp(-np.arange(2000) / 60) + rng.normal(size=2000) for _ in range(5)]
    found = steady_state_of_run([_observed_series(slow), _observed_series(falling)], [1, 2, 3, 4, 5], 0.0, 200.0)
    moved, few = (one.message for one in found.warnings)
    (begin,) = re.findall(r'measure_from = "(.*) s" or later', moved)
    assert float(begin) > 0
    assert few.startswith(f"from {begin} s on a run holds only about ")


def test_the_advised_duration_is_mostly_enough_at_once() -> None:
    rng = np.random.default_rng(5)
    advised = [advice for _ in range(40) if (advice := _advised_duration_s(rng, 50.0)) is not None]
    again = [advice for advice in advised if _advised_duration_s(rng, advice) is not None]
    assert len(advised) > 20
    assert len(again) < 0.25 * len(advised)


def test_a_full_link_whose_last_seconds_are_exactly_equal_is_steady_from_its_beginning() -> None:
    rng = np.random.default_rng(19)
    throughput = 20 + 0.01 * rng.normal(size=60)
    throughput[:2] = 15.0, 19.0
    throughput[-12:] = 20.0
    assert _truncation_point(throughput, batch=1) is None, "by the letter"
    found = steady_state_of_quantity(ObservedSeries("throughput", 1.0, [throughput.tolist()], 1), 10.0)
    assert found.from_s == 2.0, "a truncation that moves the mean by less than 1 % is none"


def test_a_quantity_that_never_varies_is_steady_and_says_nothing_of_the_length() -> None:
    found = steady_state_of_quantity(_observed_series([np.zeros(SERIES_LENGTH)]), 10.0)
    assert (found.from_s, found.shift) == (0.0, 0.0)
    assert math.isnan(found.independent)
