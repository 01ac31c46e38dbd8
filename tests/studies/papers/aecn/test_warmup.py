from pathlib import Path

import polars as pl
import pytest

from ecnlab.studies.framework.runner import run_study
from ecnlab.studies.papers.aecn import STUDY, warmup
from helpers import short_study


def test_figures_3_3_and_3_4_stand_first_and_are_recorded_from_the_start() -> None:
    assert [item.number for item in STUDY.items[:2]] == ["3.3", "3.4"]
    for item in warmup.ITEMS:
        assert {need.scenario["measure_from"] for need in item.needs.values()} == {"20 s"}


def test_the_queue_is_drawn_from_0_s_on(tmp_path: Path) -> None:
    run_study(short_study(warmup.ITEMS, "3.3"), tmp_path / "s", [1, 2])
    queue = pl.read_csv(tmp_path / "s" / "figures" / "figure-3.3.csv")
    assert set(queue["scheme"]) == {"ECN", "RED"}
    assert queue["time_s"].min() == pytest.approx(0, abs=0.011)


def test_the_throughput_of_all_groups_is_drawn_from_0_s_on(tmp_path: Path) -> None:
    run_study(short_study(warmup.ITEMS, "3.4"), tmp_path / "s", [1, 2])
    rates = pl.read_csv(tmp_path / "s" / "figures" / "figure-3.4.csv")
    assert rates.columns == ["scheme", "time_s", "throughput_bps", "half_width"]
    assert rates.filter(pl.col("scheme") == "ECN")["time_s"].to_list() == [0, 1, 2, 3]
    assert rates["throughput_bps"].max() <= 10e6 + 8000
    assert rates["throughput_bps"].max() > 5e6, "the sum over the three groups"
