import re
from pathlib import Path

import pytest

import ecnlab
from ecnlab.plots import style
from ecnlab.studies.aecn import STUDY
from ecnlab.studies.model import Drawing, Item, Need, Results, Study, Table, with_interval
from ecnlab.studies.runner import run_study
from helpers import SMALL


def _draw(results: Results) -> Drawing:
    cells = [[str(key[0]), with_interval(result.estimate("goodput_bps").scaled(1e-6))] for key, result in results.items()]
    figure, (axes,) = style.panels()
    axes.plot([1, 2], [1, 2])
    return Drawing(figure, [Table("goodput (Mbit/s)", ["max_p", "goodput"], cells)])


@pytest.fixture
def study() -> Study:
    import tomllib

    tree = tomllib.loads(SMALL)
    tree["link"][0]["queue"]["max_p"] = 0.1
    needs = {(0.1,): Need(tree), (0.5,): Need(tomllib.loads(SMALL), every_seed=False)}
    item = Item("1.1", "Goodput <here>", "A caption.", needs, _draw)
    return Study("tiny", "A tiny study", "nowhere", "Nothing much.", [item, Item("1.2", "Again", "Same runs.", needs, _draw)])


def test_a_report_stands_alone_and_shows_every_item(study: Study, tmp_path: Path) -> None:
    html = run_study(study, tmp_path / "s", [1, 2]).read_text()
    assert "Figure 1.1: Goodput &lt;here&gt;" in html
    assert "Figure 1.2: Again" in html
    assert not re.search(r"https?://|<script|<link|url\(", html)
    assert html.count("data:image/svg+xml;base64,") == 2


def test_a_number_in_a_report_has_its_interval(study: Study, tmp_path: Path) -> None:
    html = run_study(study, tmp_path / "s", [1, 2]).read_text()
    assert re.search(r"<td>0\.1</td><td>\d\.\d{4} ± \d\.\d{4}</td>", html)


def test_a_scenario_that_two_items_need_is_run_once(study: Study, tmp_path: Path) -> None:
    run_study(study, tmp_path / "s", [1, 2])
    runs = sorted((tmp_path / "s" / "runs").iterdir())
    assert len(runs) == 2
    assert sorted(len(ecnlab.open_result(run).seeds) for run in runs) == [1, 2]


def test_a_study_that_was_stopped_goes_on_where_it_was(study: Study, tmp_path: Path) -> None:
    run_study(study, tmp_path / "s", [1])
    before = {path: path.stat().st_ino for path in (tmp_path / "s" / "runs").glob("*/seed-1")}
    run_study(study, tmp_path / "s", [1, 2])
    assert before == {path: path.stat().st_ino for path in (tmp_path / "s" / "runs").glob("*/seed-1")}


def test_figures_are_saved_beside_the_report(study: Study, tmp_path: Path) -> None:
    run_study(study, tmp_path / "s", [1], ["1.2"])
    assert sorted(path.name for path in (tmp_path / "s" / "figures").iterdir()) == ["figure-1.2.pdf", "figure-1.2.png", "figure-1.2.svg"]


@pytest.mark.parametrize("number", ["5.29", "5.5", "5.28", "4.14", "5.25", "5.1"])
def test_the_aecn_study_draws(number: str, tmp_path: Path) -> None:
    html = run_study(STUDY, tmp_path / "s", [1, 2], [number]).read_text()
    assert f" {number}:" in html
    assert "nan" not in html.split("<h2>Runs")[0].replace("data:", "").lower().split("base64")[0]
