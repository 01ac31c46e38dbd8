import math
import re
from pathlib import Path

import numpy as np
import pytest

import ecnlab
from ecnlab.errors import UnknownName, UsageError
from ecnlab.stats import precision
from ecnlab.stats.estimates import Estimate
from ecnlab.stats.student_t import two_sided_t_quantile
from helpers import FIXED

GROUPS, QUEUES = ["far", "near.far"], ["bottleneck", "far"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("goodput", ("goodput_bps", None, None, None)),
        ("goodput_bps", ("goodput_bps", None, None, None)),
        ("marks", ("marks", None, None, None)),
        ("delay_mean", ("delay_mean_s", None, None, None)),
        ("far.goodput", ("goodput_bps", "far", None, None)),
        ("near.far.goodput", ("goodput_bps", "near.far", None, None)),
        ("bottleneck.sojourn_mean", ("sojourn_mean_s", None, "bottleneck", None)),
        ("far.sojourn_mean", ("sojourn_mean_s", None, "far", None)),  # the group far has none, the queue has
        ("bottleneck.L.sojourn_p95", ("sojourn_p95_s", None, "bottleneck", "L")),
    ],
)
def test_a_measure_is_named_as_in_the_tables(text: str, expected: tuple[str | None, ...]) -> None:
    found = precision.parse_measure(text, GROUPS, QUEUES)
    assert (found.quantity, found.group, found.queue, found.band) == expected


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("far", "'far' is a group of flows; fix: name a measure of it, as in far.goodput"),
        ("near.far", "'near.far' is a group of flows; fix: name a measure of it, as in near.far.goodput"),
        ("bottleneck", "'bottleneck' is a queue; fix: name a measure of it, as in bottleneck.sojourn_mean"),
    ],
)
def test_a_group_or_queue_alone_is_no_measure(name: str, fix: str) -> None:
    with pytest.raises(UsageError, match=f"^of: {re.escape(fix)}$"):
        precision.parse_measure(name, GROUPS, QUEUES)
    measure = precision.parse_measure(fix.rpartition(" ")[2], GROUPS, QUEUES)
    assert name in (measure.group, measure.queue)
    assert precision.parse_measure("goodput", ["goodput"], QUEUES).group is None


def test_missing_measures_are_reported_with_the_existing_ones() -> None:
    with pytest.raises(UnknownName, match="did you mean 'goodput_bps'"):
        precision.parse_measure("goodputt", GROUPS, QUEUES)
    with pytest.raises(UnknownName, match="unknown group or queue 'nearr'"):
        precision.parse_measure("nearr.goodput", GROUPS, QUEUES)
    with pytest.raises(UnknownName, match="quantity of the table queues"):
        precision.parse_measure("bottleneck.goodput", GROUPS, QUEUES)
    with pytest.raises(UnknownName, match="quantity of the table groups"):
        precision.parse_measure("near.far.sojourn_mean", GROUPS, QUEUES)
    for text, form in [
        ("sojourn_mean", "bottleneck.sojourn_mean"),
        ("near.far.sojourn_mean", "bottleneck.sojourn_mean"),
        ("bottleneck.rtt_mean", "rtt_mean"),
    ]:
        with pytest.raises(UnknownName, match=f"fix: write {form}$"):
            precision.parse_measure(text, GROUPS, QUEUES)
        precision.parse_measure(form, GROUPS, QUEUES)
    with pytest.raises(UnknownName, match="unknown group or queue ''"):
        precision.parse_measure(".goodput", GROUPS, QUEUES)


@pytest.mark.parametrize(
    ("until", "of", "bound", "is_relative"),
    [
        ("1%", "goodput", 0.01, True),
        (" .5 % ", "marks", 0.005, True),
        ("1e-3%", "marks", 1e-5, True),
        ("10 kbps", "goodput", 1e4, False),
        ("0.1ms", "delay_mean", 1e-4, False),
        ("20", "marks", 20.0, False),
        ("20 packets", "marks", 20.0, False),
        ("2 flows", "locked_out_flows", 2.0, False),
        ("1 flow", "locked_out_flows", 1.0, False),
        ("5e-1flow", "locked_out_flows", 0.5, False),
        ("1e-3 s", "delay_mean", 1e-3, False),
        ("3 bit/s^2", "power", 3.0, False),
        ("0.01", "jain_goodput", 0.01, False),
        (5e3, "goodput", 5e3, False),
        (1234567.0, "goodput", 1234567.0, False),
    ],
)
def test_a_bound_is_a_share_or_a_value_in_the_measure_s_unit(until: str | float, of: str, bound: float, is_relative: bool) -> None:
    found = precision.parse_precision_target(until, of, GROUPS, QUEUES)
    assert (found.bound, found.is_relative) == (pytest.approx(bound), is_relative)


@pytest.mark.parametrize("until", ["1 ms", "x", "-3%", "1 %%", "", True, None, "nan", float("nan")])
def test_an_invalid_bound_of_a_measure_is_refused_with_an_example(until: str) -> None:
    with pytest.raises(UsageError, match=r"fix: write it as in \"1%\""):
        precision.parse_precision_target(until, "goodput", GROUPS, QUEUES)


@pytest.mark.parametrize(
    ("until", "of", "message"),
    [
        ("5", "goodput", 'until: \'5\' has no unit, and goodput is in bit/s; fix: write it as in "1%" or "10 kbps"'),
        ("5", "delay_mean", 'until: \'5\' has no unit, and delay mean is in s; fix: write it as in "1%" or "1 ms"'),
        ("5 ms", "jain_goodput", 'until: \'5 ms\' is not a bound of jain goodput; fix: write it as in "1%" or "0.01"'),
        ("5 ms", "marks", 'until: \'5 ms\' is not a bound of marks (packets); fix: write it as in "1%", "5" or "5 packets"'),
        ("5 flow", "goodput", 'until: \'5 flow\' is not a bound of goodput (bit/s); fix: write it as in "1%" or "10 kbps"'),
        ("0 flows", "locked_out_flows", 'until: \'0 flows\' must be above 0; fix: write it as in "1%", "5" or "5 flows"'),
    ],
)
def test_a_bound_without_the_unit_in_which_the_measure_is_compared_is_refused(until: str, of: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        precision.parse_precision_target(until, of, GROUPS, QUEUES)


@pytest.mark.parametrize(
    ("until", "of", "found", "what"),
    [
        ("1%", "goodput", Estimate(1e6, 1.0, 2e4, 10), "goodput is known to ± 2.0 % after 10 seeds, the maximum, and not to 1 %"),
        ("10 kbps", "goodput", Estimate(1e6, 1.0, 2e4, 10), "known to ± 20 kbit/s after 10 seeds, the maximum, and not to 10 kbit/s"),
        ("10 us", "delay_mean", Estimate(0.1, 1.0, 1.5e-3, 10), "known to ± 1.5 ms after 10 seeds, the maximum, and not to 10 µs"),
        ("0.01", "jain_goodput", Estimate(0.9, 1.0, 0.02, 10), "known to ± 0.020 after 10 seeds, the maximum, and not to 0.01"),
        ("5", "marks", Estimate(100.0, 1.0, 7.0, 10), "known to ± 7.0 packets after 10 seeds, the maximum, and not to 5 packets"),
        ("5", "marks", Estimate(100.0, math.nan, math.nan, 1), "known to ± ? after 1 seeds, the maximum, and not to 5 packets"),
    ],
)
def test_a_precision_that_is_not_reached_is_reported_in_the_unit_of_the_bound(until: str, of: str, found: Estimate, what: str) -> None:
    assert what in precision.parse_precision_target(until, of, [], []).shortfall_problem(found).message


@pytest.mark.parametrize("until", ["0%", "0 kbps", 0, -1.0, math.inf])
def test_no_number_of_seeds_reaches_a_bound_of_zero(until: str | float) -> None:
    with pytest.raises(UsageError, match=r"until: .*fix:"):
        precision.parse_precision_target(until, "goodput", GROUPS, QUEUES)


def test_stages_begin_with_ten_and_grow_by_half_up_to_the_most() -> None:
    assert list(precision.seed_stages(1000)) == [10, 15, 23, 35, 53, 80, 120, 180, 270, 405, 608, 912, 1000]
    assert list(precision.seed_stages(12)) == [10, 12]
    assert list(precision.seed_stages(10)) == [10]


@pytest.mark.parametrize(
    ("mean", "half_width", "shown"),
    [
        (100.0, 1.31, "1.4 %"),
        (100.0, 1.3, "1.3 %"),
        (100.0, 0.0, "0 %"),
        (-3.0, 0.03, "1.0 %"),
        (1.0, 2.501, "260 %"),
        (0.0, 4.0, "4.0 packets"),
    ],
)
def test_a_half_width_is_shown_rounded_up(mean: float, half_width: float, shown: str) -> None:
    measure = precision.parse_measure("marks", [], [])
    assert precision.relative_half_width_text(measure, Estimate(mean, 1.0, half_width, 5)) == shown
    assert precision.relative_half_width_text(measure, Estimate(mean, 1.0, math.nan, 5)) == "?"


@pytest.mark.parametrize("bound", [0.05, 0.03, 0.02, 0.01])
def test_intervals_after_sequential_stopping_hold_the_mean_about_as_often_as_they_say(bound: float) -> None:
    rng = np.random.default_rng(1965)
    runs, sd, most = 2000, 0.05, 200
    values = 1 + sd * rng.normal(size=(runs, most))
    sums, squares = np.cumsum(values, axis=1), np.cumsum(values**2, axis=1)
    stopped, covered = np.zeros(runs, bool), np.zeros(runs, bool)
    for n in precision.seed_stages(most):
        mean = sums[:, n - 1] / n
        half = two_sided_t_quantile(0.95, n - 1) * np.sqrt(np.maximum(0, squares[:, n - 1] - n * mean**2) / (n - 1) / n)
        stops = ~stopped & ((half <= bound * mean) | (n == most))
        covered[stops] = (np.abs(mean - 1) <= half)[stops]
        stopped |= stops
    assert covered.mean() >= 0.93


def test_seeds_are_added_until_the_interval_is_narrow_enough(small: ecnlab.Scenario) -> None:
    wide, narrow = (ecnlab.run(small, until=bound, of="near.goodput") for bound in ("20%", "1%"))
    assert wide.seeds == list(range(1, 11))
    assert len(narrow.seeds) in set(precision.seed_stages(1000)) - {10}
    found = narrow.estimate("goodput_bps", group="near")
    assert found.half_width <= 0.01 * found.mean
    before = [n for n in precision.seed_stages(1000) if n < len(narrow.seeds)][-1]
    fewer = ecnlab.run(small, before).estimate("goodput_bps", group="near")
    assert fewer.half_width > 0.01 * fewer.mean, "the stage before was not enough"
    assert [warning for warning in narrow.warnings if warning.place == "until"] == []


def test_a_folder_gives_the_same_seeds_and_has_them_the_next_time(small: ecnlab.Scenario, tmp_path: Path) -> None:
    first = ecnlab.run(small, until="1%", of="near.goodput", out=tmp_path / "r")
    batches = sorted((tmp_path / "r").glob("batch-*"))
    again = ecnlab.run(small, until="1%", of="near.goodput", out=tmp_path / "r")
    assert first.fingerprints == again.fingerprints == ecnlab.run(small, until="1%", of="near.goodput").fingerprints
    assert sorted((tmp_path / "r").glob("batch-*")) == batches


def test_the_most_seeds_end_it_with_a_warning(small: ecnlab.Scenario) -> None:
    result = ecnlab.run(small, range(5, 17), until="0.0001%", of="marks")
    assert result.seeds == list(range(5, 17))
    (warning,) = [warning for warning in result.warnings if warning.place == "until"]
    assert "after 12 seeds, the maximum, and not to 0.0001 %; fix: give more --seeds" in warning.message


def test_identical_seeds_end_it_with_a_warning() -> None:
    result = ecnlab.run(ecnlab.scenario(FIXED), until="1%")
    assert len(result.seeds) == 10
    assert "all 10 seeds are identical, because nothing in this scenario is random" in result.warnings[0].message


def test_a_measure_without_a_value_ends_it_with_a_warning(small: ecnlab.Scenario) -> None:
    result = ecnlab.run(small, until="1%", of="transaction_mean")
    assert len(result.seeds) == 10
    assert "transaction mean has no value in some of 10 seeds" in result.warnings[0].message


def test_a_band_of_a_queue_without_bands_is_refused(small: ecnlab.Scenario) -> None:
    with pytest.raises(UnknownName, match=r"unknown band 'bottleneck\.L'; none is defined$"):
        ecnlab.run(small, 10, until="1%", of="bottleneck.L.sojourn_mean")


def test_too_few_seeds_and_traces_are_refused(small: ecnlab.Scenario, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="5 seeds are too few for an interval; fix: allow 10 or more"):
        ecnlab.run(small, 5, until="1%")
    with pytest.raises(UsageError, match="until: one seed is too few"):
        ecnlab.run(small, seed=5, until="1%")
    with pytest.raises(UsageError, match="excludes a trace, whose seeds must be known"):
        ecnlab.run(small, until="1%", trace=tmp_path / "t.tr")
