from pathlib import Path

import pytest

import ecnlab
from ecnlab.validation import more_seeds
from ecnlab.validation.columns import values_by_column
from ecnlab.validation.explained import ExplainedDifference
from ecnlab.validation.more_seeds import FurtherRecordedNs2Seeds
from ecnlab.validation.rows import read_tables
from ecnlab.validation.samples import SampleStatistics, allowed_difference
from ecnlab.validation.tables import CellComparison, compare_with_ns2_files, verdict_counts_by_file

OWN_TABLE = more_seeds.MORE_SEEDS_FILE.parent
HEADER = "era,mode,n,maxp,seeds"
ROW = "21b7,ecn,30,0.5,5"


def test_the_allowed_difference_is_welch_s_or_one_percent() -> None:
    assert allowed_difference(SampleStatistics(100.0, 0.0, 5), SampleStatistics(99.0, 0.0, 20)) == 1.0
    assert allowed_difference(SampleStatistics(100.0, 10.0, 10), SampleStatistics(100.0, 10.0, 10)) == pytest.approx(
        2.878440 * 10 * (2 / 10) ** 0.5, rel=1e-6
    )


def _our_values(tmp_path: Path) -> dict[str, list[float]]:
    path = tmp_path / "first-ch5.csv"
    path.write_text(f"{HEADER}\n{ROW}\n")
    (table,) = read_tables([path])
    return values_by_column(ecnlab.run(table.rows[0].scenario, [1, 2]))


def _compare_rows(
    tmp_path: Path,
    factor: float,
    explanations: list[ExplainedDifference],
    further: FurtherRecordedNs2Seeds | None = None,
) -> list[CellComparison]:
    """Our means, scaled by a factor, as if they were ns-2's."""
    ours = {column: sum(values) / 2 * factor for column, values in _our_values(tmp_path).items()}
    path = tmp_path / "mine-ch5.csv"
    path.write_text(f"{HEADER},{','.join(ours)}\n{ROW},{','.join(map(repr, ours.values()))}\n")
    return compare_with_ns2_files([path], [1, 2], explanations, further or FurtherRecordedNs2Seeds())


def test_a_spread_that_the_file_does_not_say_is_taken_to_be_ours(tmp_path: Path) -> None:
    ours = _our_values(tmp_path)["marks"]
    (marks,) = (c for c in _compare_rows(tmp_path, 1.0, []) if c.column == "marks")
    assert marks.ns2.sd == marks.ours.sd == pytest.approx(abs(ours[0] - ours[1]) / 2**0.5)
    assert ours[0] != ours[1]


def test_our_own_numbers_agree_with_themselves(tmp_path: Path) -> None:
    counted = verdict_counts_by_file(_compare_rows(tmp_path, 1.0, []))
    assert counted["total"] == {"compared": 36, "agreeing": 36, "explained": 0, "open": 0}
    assert counted["mine-ch5"] == counted["total"]


def test_numbers_far_away_are_open_unless_explained(tmp_path: Path) -> None:
    explanation = ExplainedDifference("mine-*", "goodput_*", "made up", {"mode": "ecn"})
    comparisons = _compare_rows(tmp_path, 50.0, [explanation])
    verdicts = {comparison.column: (comparison.verdict, comparison.reason) for comparison in comparisons}
    assert verdicts["goodput_mbps"] == ("explained", "made up")
    assert verdicts["throughput_mbps"] == ("open", None)


def test_further_seeds_of_ns_2_that_agree_with_ours_explain_a_disagreement(tmp_path: Path) -> None:
    ours = _our_values(tmp_path)
    row = dict(zip(HEADER.split(","), ROW.split(","), strict=True)) | {"network": "ch5", "seeds": "16"}
    row |= {"goodput_mbps": str(sum(ours["goodput_mbps"]) / 2), "goodput_mbps_sd": "1.5", "delay_mean_ms": "1000000"}
    further = more_seeds.read_more_seeds(_write_table(tmp_path / "more.csv", row))
    found = {c.column: c for c in _compare_rows(tmp_path, 1.2, [], further)}
    assert found["goodput_mbps"].verdict == "explained"
    assert str(found["goodput_mbps"].reason).startswith("ns-2's spread over 5 seeds is too small by chance: 16 further seeds")
    assert found["delay_mean_ms"].verdict == "open", "the further seeds disagree as well"
    assert found["throughput_mbps"].verdict == "open", "the further seeds do not have it"


def test_further_seeds_do_not_explain_a_table_that_they_contradict_themselves(tmp_path: Path) -> None:
    ours = _our_values(tmp_path)
    row = dict(zip(HEADER.split(","), ROW.split(","), strict=True)) | {"network": "ch5", "seeds": "16"}
    row |= {"goodput_mbps": str(sum(ours["goodput_mbps"]) / 2), "goodput_mbps_sd": "0.02"}
    further = more_seeds.read_more_seeds(_write_table(tmp_path / "more.csv", row))
    found = {c.column: c for c in _compare_rows(tmp_path, 1.2, [], further)}
    assert found["goodput_mbps"].verdict == "open"


def test_an_explanation_covers_no_larger_difference_than_it_says(tmp_path: Path) -> None:
    explanation = ExplainedDifference("mine-*", "goodput_*", "made up", within=0.3)
    near = {c.column: c.verdict for c in _compare_rows(tmp_path, 1.2, [explanation])}
    far = {c.column: c.verdict for c in _compare_rows(tmp_path, 2.0, [explanation])}
    assert (near["goodput_mbps"], far["goodput_mbps"]) == ("explained", "open")


@pytest.mark.parametrize("seeds", [[], [1]])
def test_too_few_seeds_for_an_interval_are_refused(seeds: list[int]) -> None:
    with pytest.raises(ecnlab.UsageError, match="too few for an interval; fix: give 2 or more"):
        compare_with_ns2_files([], seeds)


def test_an_explanation_holds_only_where_it_says() -> None:
    explanation = ExplainedDifference("thesis-ch5", "delay_*", "why", {"era": "235"})
    assert explanation.covers_column_of_row("thesis-ch5", "delay_mean_ms", {"era": "235", "mode": "red"})
    assert not explanation.covers_column_of_row("thesis-ch5", "delay_mean_ms", {"era": "21b7"})
    assert not explanation.covers_column_of_row("thesis-ch4", "delay_mean_ms", {"era": "235"})
    assert not explanation.covers_column_of_row("thesis-ch5", "drops", {"era": "235"})


def test_ten_flows_and_bursts_of_datagrams_match_ns_2(tmp_path: Path) -> None:
    lines = (OWN_TABLE / "red-ecn.csv").read_text().splitlines()
    path = tmp_path / "red-ecn.csv"
    path.write_text("\n".join([lines[0], *(line for line in lines if ",50,ecn," in line)]) + "\n")
    found = compare_with_ns2_files([path], range(1, 9), [])
    assert [(c.row, c.column, c.difference_from_ns2, c.allowed) for c in found if c.verdict != "agrees"] == []
    assert {c.column for c in found} == {"goodput_kbps", "jain", "drops", "marks", "timeouts"}


def _write_table(path: Path, row: dict[str, str]) -> Path:
    path.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    return path
