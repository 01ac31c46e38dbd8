import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ecnlab
from ecnlab.comparison.model import DifferenceRow, DifferingParameter
from ecnlab.comparison.sides import with_adjusted_p_values
from ecnlab.errors import ResultsError, UnknownName, UsageError
from ecnlab.stats.differences import SampleBySeed, difference_of_samples
from ecnlab.stats.estimates import paired_difference
from helpers import SMALL

MAX_P = "link.bottleneck.queue.max_p"


def _two_results(small: ecnlab.Scenario, **options: Any) -> ecnlab.Comparison:
    return ecnlab.compare(small, small.changed({MAX_P: 0.1}), seeds=4, store=None, **options)


def _notes_of_comparison(found: ecnlab.Comparison) -> list[str]:
    """The notes without the one on percentiles, which appears with few seeds."""
    return [note for note in found.notes if "histogram" not in note]


def test_the_differences_are_those_of_the_two_results_paired_by_seed(small: ecnlab.Scenario) -> None:
    a, b = ecnlab.run(small, seeds=4), ecnlab.run(small.changed({MAX_P: 0.1}), seeds=4)
    found = _two_results(small)
    for row in found.rows:
        named = {"groups": {"group": row.name}, "queues": {"queue": row.name}}.get(row.table, {})
        expected = paired_difference(b.values(row.quantity, **named), a.values(row.quantity, **named))
        assert row.difference.change == expected
        assert row.difference.paired
    assert {(row.table, row.name) for row in found.rows} == {("total", ""), ("groups", "far"), ("groups", "near"), ("queues", "bottleneck")}
    assert found.parameters == [DifferingParameter(MAX_P, 0.5, 0.1)]
    assert found.notes == []


def test_what_is_apart_comes_first_and_of_that_the_largest_change(small: ecnlab.Scenario) -> None:
    found = _two_results(small)
    for table in ("total", "groups", "queues"):
        rows = [row for row in found.rows if row.table == table]
        apart = [row.is_apart for row in rows]
        assert apart == sorted(apart, reverse=True)
        sizes = [abs(row.difference.relative_change.mean) for row in rows if row.is_apart]
        assert sizes == sorted(sizes, reverse=True)
    assert found.differing_rows
    assert all(row in found.rows for row in found.differing_rows)


def _null_p_values(rng: np.random.Generator, measures: int, real: int = 0, n: int = 10) -> list[DifferenceRow]:
    """Rows of paired measures, of which only the first `real` differ, by three standard deviations."""
    rows = []
    for at in range(measures):
        values = rng.normal(size=n) + (3.0 if at < real else 0.0)
        found = difference_of_samples(SampleBySeed(dict.fromkeys(range(n), 0.0)), SampleBySeed(dict(enumerate(values))))
        rows.append(DifferenceRow({}, "total", "", f"q{at}", "1", found, found.p_value, found.is_apart))
    return rows


def test_a_null_comparison_of_100_measures_has_a_discovery_at_no_more_than_the_nominal_rate() -> None:
    rng = np.random.default_rng(1995)
    comparisons = [_null_p_values(rng, 100) for _ in range(300)]
    by_interval = [sum(row.difference.is_apart for row in rows) for rows in comparisons]
    assert np.mean(by_interval) == pytest.approx(5, abs=0.5), "the unadjusted rule: 5 of 100"
    found = [sum(row.is_apart for row in with_adjusted_p_values(rows, 0.95)) for rows in comparisons]
    assert np.mean([n > 0 for n in found]) <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5, "where all are null each discovery is false"


def test_real_differences_are_found_and_of_what_is_found_at_most_the_nominal_share_is_false() -> None:
    rng = np.random.default_rng(1995)
    false_shares = []
    for _ in range(200):
        apart = [row for row in with_adjusted_p_values(_null_p_values(rng, 100, real=10), 0.95) if row.is_apart]
        real = [row for row in apart if int(row.quantity[1:]) < 10]
        assert len(real) >= 9
        false_shares.append((len(apart) - len(real)) / len(apart))
    assert np.mean(false_shares) <= 0.05 + 0.01


def test_a_quantity_that_is_compared_alone_is_judged_by_its_own_p_value(small: ecnlab.Scenario) -> None:
    alone = _two_results(small, quantities=["jain_goodput"])
    (row,) = (row for row in alone.rows if row.table == "total")
    assert alone.tested == len(alone.rows) == 1
    assert row.adjusted_p_value == row.difference.p_value
    among = next(row for row in _two_results(small).rows if row.table == "total" and row.quantity == "jain_goodput")
    assert among.adjusted_p_value >= row.adjusted_p_value


def test_what_is_not_tested_does_not_count(small: ecnlab.Scenario) -> None:
    one = ecnlab.compare(small, small.changed({MAX_P: 0.1}), seeds=1, store=None)
    assert one.tested == 0
    assert one.differing_rows, "of one seed each difference stands for itself, and a note says so"
    assert "false discovery" not in repr(one)
    same = ecnlab.compare(small, small.changed({"name": "renamed"}), seeds=3, store=None)
    assert same.tested == 0, "equal values at each seed are no test"


def test_few_seeds_of_one_scenario_differ_from_others_of_it_only_by_chance(small: ecnlab.Scenario) -> None:
    for n in (2, 3):
        firsts = range(1, 81 - 2 * n, 2 * n)
        sides = [[ecnlab.run(small, seeds=range(first + side * n, first + side * n + n)) for side in (0, 1)] for first in firsts]
        found = [ecnlab.compare(*pair) for pair in sides]
        flat = [row for comparison in found for row in comparison.rows if row.difference.change.sd == 0 != row.difference.change.mean]
        assert flat, "rows without spread that differ"
        assert not any(row.is_apart for row in flat)
        assert sum(bool(comparison.differing_rows) for comparison in found) <= 2, n


@pytest.mark.parametrize(("n", "few"), [(1, "1 seed is"), (2, "2 seeds are"), (4, "4 seeds are"), (5, None)])
def test_fewer_than_five_seeds_are_a_warning_with_the_fix(small: ecnlab.Scenario, n: int, few: str | None) -> None:
    for first in (1, 11):
        sides = ecnlab.run(small, seeds=range(1, n + 1)), ecnlab.run(small.changed({MAX_P: 0.1}), seeds=range(first, first + n))
        warnings = [(warning.place, warning.message) for _, warning in ecnlab.compare(*sides).warnings]
        message = f"{few} too few to tell differences from chance; fix: run at least 5, as in --seeds 5"
        assert warnings == ([] if few is None else [("seeds", message)])


def test_quantities_may_be_chosen(small: ecnlab.Scenario) -> None:
    found = _two_results(small, quantities=["goodput_bps", "utilisation"])
    assert [row.quantity for row in found.rows].count("goodput_bps") == 3
    assert {row.quantity for row in found.rows} == {"goodput_bps", "utilisation"}
    with pytest.raises(UnknownName, match="did you mean 'goodput_bps'"):
        _two_results(small, quantities=["goodput"])


def test_folders_files_and_results_can_stand_on_either_side(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    stored = ecnlab.run(small, seeds=range(3, 6), out=tmp_path / "r")
    other = tmp_path / "other.toml"
    other.write_text(SMALL.replace("max_p = 0.5", "max_p = 0.1"))
    found = ecnlab.compare(tmp_path / "r", other, store=tmp_path / "store")
    assert found.frame()["n"].unique().to_list() == [3], "the seeds of the folder"
    assert found.names == ("r", "other")
    again = ecnlab.compare(stored, ecnlab.load(other), store=tmp_path / "store")
    assert again.frame().equals(found.frame())
    assert ecnlab.compare(small_file, other, seeds=2, store=None).names == ("small", "other")


def test_one_scenario_twice_differs_in_nothing(small: ecnlab.Scenario) -> None:
    found = ecnlab.compare(small, small.changed({"name": "renamed"}), seeds=2, store=None)
    assert found.notes == ["both sides are the same scenario: all differences are chance"]
    assert found.differing_rows == []
    assert found.parameters == []


def test_seeds_that_do_not_overlap_are_reported(small: ecnlab.Scenario) -> None:
    one, other = ecnlab.run(small, seeds=[1, 2, 3]), ecnlab.run(small.changed({MAX_P: 0.1}), seeds=[4, 5])
    found = ecnlab.compare(one, other)
    assert found.notes == ["not paired, because the seeds 1..3 of A and 4,5 of B hardly overlap; intervals are Welch's, which are wider"]
    assert not any(row.difference.paired for row in found.rows)
    partly = ecnlab.compare(one, ecnlab.run(small.changed({MAX_P: 0.1}), seeds=[2, 3, 4]))
    assert partly.notes == ["seeds 1,4 are only in one of the two and omitted"]
    single = ecnlab.compare(one.only(2), ecnlab.run(small.changed({MAX_P: 0.1}), seed=2))
    assert single.notes == ["one seed: no intervals, and any difference can be chance"]


def test_identical_seeds_are_reported_and_their_differences_are_exact(small_file: Path) -> None:
    still = {"flows.*.start": "0 s", "flows.*.tcp": '{ profile = "rfc" }', "link.bottleneck.queue": '{ aqm = "droptail", limit = 20 }'}
    scenario = ecnlab.load(small_file, still)
    found = ecnlab.compare(scenario, scenario.changed({"link.bottleneck.queue.limit": 30}), seeds=3, store=None)
    assert found.notes == ["all seeds are identical in both, because nothing is random: no intervals, and each difference is exact"]
    assert found.differing_rows
    assert all(math.isnan(row.difference.change.half_width) for row in found.rows)
    mixed = ecnlab.compare(scenario, scenario.changed({"flows.*.access.spread": "1 ms"}), seeds=3, store=None)
    assert mixed.notes == ["all seeds of A are identical, because nothing in it is random"]


def test_different_times_builds_and_groups_get_notes(small: ecnlab.Scenario) -> None:
    a = ecnlab.run(small, seeds=2)
    b = ecnlab.run(ecnlab.scenario(_renamed_scenario("far", "distant"), {"duration": "8 s"}), seeds=2)
    b.header["build"] = "another"  # type: ignore[index]
    found = ecnlab.compare(a, b)
    assert _notes_of_comparison(found) == [
        f"run by different builds of the engine ({a.header['build']} and another): differences can come from the engine",
        "measured over 5 s and 7 s: counts, such as marks and drops, cover different times",
        "group only in A: far",
        "group only in B: distant",
    ]
    assert {row.name for row in found.rows if row.table == "groups"} == {"near"}
    assert found.parameters == [
        DifferingParameter("flows.far", "present", None),
        DifferingParameter("flows.distant", None, "present"),
        DifferingParameter("duration", "6 s", "8 s"),
    ]


def _renamed_scenario(old: str, new: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(SMALL.replace(f'name = "{old}"', f'name = "{new}"'))


def test_what_chooses_an_algorithm_stands_first(small: ecnlab.Scenario) -> None:
    other = small.changed({"link.bottleneck.rate": "3 Mbps", "link.bottleneck.queue": '{ aqm = "pie", limit = 60 }'})
    keys = [changed.key for changed in ecnlab.compare(small, other, seeds=1, store=None).parameters]
    assert keys[:2] == ["link.bottleneck.queue.aqm", "link.bottleneck.queue.ecn"]
    assert keys.index("link.bottleneck.rate") < keys.index("link.bottleneck.queue.max_p")


def test_the_frame_and_the_json_have_every_row(small: ecnlab.Scenario) -> None:
    found = _two_results(small)
    frame = found.frame()
    assert frame.height == len(found.rows) == len(found.to_dict()["differences"])
    goodput = frame.row(by_predicate=(pl.col("table") == "total") & (pl.col("quantity") == "goodput_bps"), named=True)
    assert goodput["b_mean"] - goodput["a_mean"] == pytest.approx(goodput["change_mean"])
    assert goodput["relative"] == pytest.approx(goodput["change_mean"] / goodput["a_mean"])
    assert goodput["p_value"] <= goodput["adjusted_p_value"] <= 1
    assert goodput["is_apart"] == (goodput["adjusted_p_value"] <= 0.05)
    assert (found.to_dict()["false_discovery_rate"], found.to_dict()["tests"]) == (0.05, found.tested)
    assert found.to_dict()["parameters"] == [{"key": MAX_P, "a": 0.5, "b": 0.1}]
    json.dumps(found.to_dict())
    assert found.json() == found.to_dict(), "the old name works until the next release"


def test_sweeps_are_compared_at_each_point_that_both_have(small_file: Path) -> None:
    grid = {"flows.*.count": [1, 2, 3], MAX_P: [0.1, 0.5]}
    a = ecnlab.sweep(small_file, grid, seeds=3, store=None)
    b = ecnlab.sweep(
        ecnlab.load(small_file, {"link.bottleneck.queue.aqm": "red"}), {MAX_P: [0.5, 0.1], "flows.*.count": [2, 3, 4]}, seeds=3, store=None
    )
    found = ecnlab.compare(a, b)
    assert {tuple(row.point.items()) for row in found.rows} == {(("count", n), ("max_p", p)) for n in (2, 3) for p in (0.1, 0.5)}
    assert _notes_of_comparison(found) == ["2 points are only in A and omitted", "2 points are only in B and omitted"]
    one = next(row for row in found.rows if row.quantity == "marks" and row.table == "total" and row.point == {"count": 3, "max_p": 0.5})
    scenario = ecnlab.load(small_file, {"flows.*.count": 3})
    singles = [ecnlab.run(scenario, seeds=3), ecnlab.run(scenario.changed({"link.bottleneck.queue.aqm": "red"}), seeds=3)]
    assert one.difference.change == paired_difference(singles[1].values("marks"), singles[0].values("marks"))
    assert found.parameters[0] == DifferingParameter("link.bottleneck.queue.aqm", "ecn", "red")
    assert found.parameters == ecnlab.compare(*(a.result(4), b.result(1))).parameters, "those in force, as of two results"
    assert (a.in_force(4)["flows.far.count"], b.in_force(1)["flows.far.count"]) == (2, 2)


def test_sweeps_with_different_measured_times_get_a_note_from_their_parameters(small_file: Path, tmp_path: Path) -> None:
    derived = {"link.bottleneck.queue.limit": "20 * count", "duration": "4 s"}
    asked: dict[str, Any] = {"seeds": 2, "store": tmp_path / "store"}
    ecnlab.sweep(small_file, {"flows.*.count": [1, 2]}, out=tmp_path / "a", **asked)
    ecnlab.sweep(small_file, {"flows.*.count": [1, 2]}, derived=derived, out=tmp_path / "b", **asked)
    found = ecnlab.compare(tmp_path / "a", tmp_path / "b")
    assert found.parameters == [
        DifferingParameter("duration", "6 s", "4 s"),
        DifferingParameter("link.bottleneck.queue.limit", "60 packets", "20 packets"),
    ]
    assert _notes_of_comparison(found) == [
        "measured over 5 s and 3 s: counts, such as marks and drops, cover different times",
        "some parameters differ differently at each point: their values at the first point are shown",
    ]


def test_percentiles_in_one_histogram_cell_get_a_note(small_file: Path) -> None:
    found = ecnlab.compare(small_file, ecnlab.load(small_file, {"duration": "8 s"}), seeds=2, store=None)
    apart = [row for row in found.rows if row.difference.is_apart]
    exact = [row for row in apart if re.search(r"_p\d+_s$", row.quantity) and row.difference.change.half_width == 0]
    assert exact
    (note,) = [note for note in found.notes if "histogram" in note]
    assert {row.quantity for row in exact} == set(note.split(":")[0].split(", "))
    assert "right to 0.2 % of its value" in note


def test_a_sweep_and_itself_are_one(small_file: Path) -> None:
    one = ecnlab.sweep(small_file, {MAX_P: [0.1, 0.5]}, seeds=2, store=None)
    found = ecnlab.compare(one, one)
    assert found.notes == ["both sides have the same scenario at each point: all differences are chance"]
    assert (found.differing_rows, found.parameters) == ([], [])


@pytest.mark.parametrize(
    ("grid", "message"),
    [({MAX_P: [0.9]}, "have no point in common"), ({"flows.*.count": [2]}, r"vary different parameters \(max_p and count\)")],
)
def test_sweeps_without_a_common_point_are_refused(small_file: Path, grid: dict[str, Any], message: str) -> None:
    a = ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=None)
    with pytest.raises(UsageError, match=message):
        ecnlab.compare(a, ecnlab.sweep(small_file, grid, store=None))


def test_what_cannot_be_compared_is_refused(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    swept = ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=None)
    with pytest.raises(UsageError, match="one side is a sweep and the other is not"):
        ecnlab.compare(swept, ecnlab.run(small))
    with pytest.raises(UsageError, match="both sides are finished runs; fix: omit the seeds"):
        ecnlab.compare(swept, swept, seeds=3)
    with pytest.raises(UsageError, match="must be a result, a sweep, a scenario, or a path, not int"):
        ecnlab.compare(small, 3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot read"):
        ecnlab.compare(small, tmp_path / "nowhere.toml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ResultsError, match="is not a results folder"):
        ecnlab.compare(small, tmp_path / "empty")
    (tmp_path / "s.toml").write_text('scenario = "small.toml"\n')
    with pytest.raises(UsageError, match="is a sweep file; fix: run it with ecnlab sweep"):
        ecnlab.compare(small, tmp_path / "s.toml")
