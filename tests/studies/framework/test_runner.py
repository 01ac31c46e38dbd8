import dataclasses
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab.stats.estimates import Estimate
from ecnlab.storage.segments import StoredBatch
from ecnlab.studies.framework.model import DrawnItemContent, RequiredScenario, ResultsByKey, Study, StudyItem, format_with_interval
from ecnlab.studies.framework.runner import run_study
from ecnlab.studies.papers.aecn import STUDY
from helpers import SMALL
from tiny_study import TINY


@pytest.fixture
def study() -> Study:
    """Two items, of which one shows the first seed of a second scenario."""
    return dataclasses.replace(TINY, claims=[])


def test_a_number_in_a_report_has_its_interval(study: Study, tmp_path: Path) -> None:
    html = run_study(study, tmp_path / "s", [1, 2]).report.read_text()
    assert re.search(r"<td>0\.1</td><td>\d\.\d{4} ± \d\.\d{4}</td>", html)


def test_a_scenario_that_two_items_need_is_run_once(study: Study, tmp_path: Path) -> None:
    run_study(study, tmp_path / "s", [1, 2], store=tmp_path / "s" / "runs")
    batches = ecnlab.Store(tmp_path / "s" / "runs").batches
    assert sorted(
        [seed for part in batches.parts_of_scenario(key) for seed in part.seed_run_statistics] for key in batches.scenario_keys
    ) == [
        [1],
        [1, 2],
    ]


def test_a_study_that_was_stopped_goes_on_where_it_was(study: Study, tmp_path: Path) -> None:
    run_study(study, tmp_path / "s", [1], store=tmp_path / "s" / "runs")
    before = _batch_count(tmp_path / "s")
    run_study(study, tmp_path / "s", [1, 2], store=tmp_path / "s" / "runs")
    now = _batch_count(tmp_path / "s")
    assert before.items() <= now.items()
    (new,) = now.keys() - before.keys()
    assert [list(part.seed_run_statistics) for part in StoredBatch.open(new).parts] == [[2]], "one scenario is asked for seed 1 only"


def _batch_count(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_ino for path in (out / "runs").glob("*/batch-*")}


def test_what_several_items_record_of_one_scenario_is_recorded_in_one_run(tmp_path: Path) -> None:
    tree = {key: value for key, value in tomllib.loads(SMALL).items() if key != "record"}
    drawn: list[tuple[str, list[int], dict[str, list[int]]]] = []

    def draws(number: str, record: dict[str, Any], every_seed: bool) -> StudyItem:
        def draw(results: ResultsByKey) -> DrawnItemContent:
            (result,) = results.values()
            drawn.append((number, result.seeds, {name: result.seeds_with(name) for name in ("series_rate", "events")}))
            return DrawnItemContent()

        return StudyItem(number, "t", "c", {(): RequiredScenario(tree | {"record": record}, every_seed)}, draw)

    items = [draws("1", {}, True), draws("2", {"rates": True}, True), draws("3", {"events": True}, False)]
    run_study(Study("tiny", "t", "s", "u", items), tmp_path / "s", [1, 2], store=tmp_path / "s" / "runs")
    assert drawn == [
        ("1", [1, 2], {"series_rate": [1, 2], "events": [1]}),
        ("2", [1, 2], {"series_rate": [1, 2], "events": [1]}),
        ("3", [1], {"series_rate": [1], "events": [1]}),
    ]
    parts = [part for path in _batch_count(tmp_path / "s") for part in StoredBatch.open(path).parts]
    assert len({part.key for part in parts}) == 1
    assert sorted(seed for part in parts for seed in part.seed_run_statistics) == [1, 2]


def test_the_numbers_behind_a_figure_are_saved_as_csv(tmp_path: Path) -> None:
    run_study(STUDY, tmp_path / "s", [1, 2], ["5.29", "5.5"])
    jain = pl.read_csv(tmp_path / "s" / "figures" / "figure-5.29.csv")
    assert jain.columns == ["panel", "curve", "number of flows", "Jain's index", "sd", "half_width", "n", "ns2_mean", "published"]
    at_120 = jain.filter((pl.col("curve") == "ECN") & (pl.col("number of flows") == 120))
    assert at_120["published"].to_list() == [0.500629]
    assert jain.height == 2 * 5
    goodput = pl.read_csv(tmp_path / "s" / "figures" / "figure-5.5.csv")
    assert goodput.columns == ["scheme", "group", "time_s", "goodput_first_bps", "half_width"]
    assert goodput.height == 2 * 3 * 100


def test_identical_seeds_have_no_interval() -> None:
    assert format_with_interval(Estimate(1.5, 0.0, math.nan, 5), 2) == "1.50"


def test_figures_are_saved_beside_the_report(study: Study, tmp_path: Path) -> None:
    run_study(study, tmp_path / "s", [1], ["1.2"])
    assert sorted(path.name for path in (tmp_path / "s" / "figures").iterdir()) == ["figure-1.2.pdf", "figure-1.2.png", "figure-1.2.svg"]


@pytest.mark.parametrize("number", ["5.29", "5.5", "5.28", "4.14", "5.25", "5.1"])
def test_the_aecn_study_draws(number: str, tmp_path: Path) -> None:
    html = run_study(STUDY, tmp_path / "s", [1, 2], [number]).report.read_text()
    assert f" {number}:" in html
    assert not re.search(r"\bnan\b", re.sub(r"base64,[^\"]*", "", html), re.IGNORECASE)


def test_processes_draw_what_one_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecnlab.studies.framework.drawing._MIN_ITEMS_PER_PROCESS", 1)
    numbers = ["4.3", "5.25"]
    one, two = (run_study(STUDY, tmp_path / str(n), [1], numbers, store=tmp_path / "store", processes=n).report for n in (1, 2))
    assert one.read_bytes() == two.read_bytes()
    assert one.read_text().count("data:image/svg+xml;base64,") == len(numbers) + len(STUDY.networks)
