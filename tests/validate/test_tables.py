from pathlib import Path

import pytest

import ecnlab
from ecnlab.validate.columns import values_by_column
from ecnlab.validate.explained import Explanation
from ecnlab.validate.rows import read_table
from ecnlab.validate.tables import Comparison, Sample, allowed_difference, compare_files, totals

HEADER = "era,mode,n,maxp,seeds"
ROW = "21b7,ecn,30,0.5,5"


def test_the_allowed_difference_is_welch_s_or_one_percent() -> None:
    assert allowed_difference(Sample(100.0, 0.0, 5), Sample(99.0, 0.0, 20)) == 1.0
    assert allowed_difference(Sample(100.0, 10.0, 10), Sample(100.0, 10.0, 10)) == pytest.approx(2.878440 * 10 * (2 / 10) ** 0.5, rel=1e-6)


def _our_values(tmp_path: Path) -> dict[str, list[float]]:
    path = tmp_path / "first-ch5.csv"
    path.write_text(f"{HEADER}\n{ROW}\n")
    table = read_table(path)
    return values_by_column(ecnlab.run(ecnlab.scenario(table.to_scenario(table.rows[0])), [1, 2]))


def _compared(tmp_path: Path, factor: float, explanations: list[Explanation]) -> list[Comparison]:
    """Our own means, times a factor, taken for ns-2's."""
    ours = {column: sum(values) / 2 * factor for column, values in _our_values(tmp_path).items()}
    path = tmp_path / "mine-ch5.csv"
    path.write_text(f"{HEADER},{','.join(ours)}\n{ROW},{','.join(map(repr, ours.values()))}\n")
    return compare_files([path], [1, 2], explanations)


def test_our_own_numbers_agree_with_themselves(tmp_path: Path) -> None:
    counted = totals(_compared(tmp_path, 1.0, []))
    assert counted["total"] == {"compared": 36, "agreeing": 36, "explained": 0, "open": 0}
    assert counted["mine-ch5"] == counted["total"]


def test_numbers_far_away_are_open_unless_explained(tmp_path: Path) -> None:
    explanation = Explanation("mine-*", "goodput_*", "made up", {"mode": "ecn"})
    comparisons = _compared(tmp_path, 50.0, [explanation])
    verdicts = {comparison.column: (comparison.verdict, comparison.reason) for comparison in comparisons}
    assert verdicts["goodput_mbps"] == ("explained", "made up")
    assert verdicts["throughput_mbps"] == ("open", None)


def test_an_explanation_holds_only_where_it_says() -> None:
    explanation = Explanation("thesis-ch5", "delay_*", "why", {"era": "235"})
    assert explanation.covers("thesis-ch5", "delay_mean_ms", {"era": "235", "mode": "red"})
    assert not explanation.covers("thesis-ch5", "delay_mean_ms", {"era": "21b7"})
    assert not explanation.covers("thesis-ch4", "delay_mean_ms", {"era": "235"})
    assert not explanation.covers("thesis-ch5", "drops", {"era": "235"})
