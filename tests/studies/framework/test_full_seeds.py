import dataclasses
from pathlib import Path

from ecnlab.studies.framework import runner
from ecnlab.studies.framework.runner import run_study
from tiny_study import TINY


def test_a_study_of_long_runs_has_fewer_seeds_in_full(tmp_path: Path) -> None:
    short = dataclasses.replace(TINY, full_seed_count=3)
    assert list(runner.seeds_of_full_run(TINY)) == list(range(101, 121))
    assert list(runner.seeds_of_full_run(short)) == [101, 102, 103]
    text = run_study(short, tmp_path / "s", [1, 2]).report.read_text()
    assert "This is a quick look: a full run has 3 seeds" in text
    assert "This is a quick look" not in run_study(short, tmp_path / "s", runner.seeds_of_full_run(short)).report.read_text()
