from pathlib import Path

import polars as pl
import pytest

import ecnlab
from ecnlab.studies.aecn import chapter4, claims4
from ecnlab.studies.model import Need
from ecnlab.studies.runner import run_study
from helpers import short_study

NEEDS = {need for item in chapter4.ITEMS for need in item.needs.values()}
CLAIM_NEEDS = {need for claim in claims4.CLAIMS for need in claim.needs()}


def test_all_of_chapter_4_s_figures_are_there_in_its_order() -> None:
    # 4.1 is the topology.
    assert [item.number for item in chapter4.ITEMS] == [f"4.{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, *range(10, 21))]
    assert {item.part for item in chapter4.ITEMS} == {"Chapter 4: RED and ECN"}


def test_claims_a1_to_a9_are_there_and_each_says_something() -> None:
    assert [claim.id for claim in claims4.CLAIMS] == [f"A{n}" for n in range(1, 10)]
    assert all(claim.statements for claim in claims4.CLAIMS)
    assert {number for claim in claims4.CLAIMS for number in claim.figures} <= {item.number for item in chapter4.ITEMS}


def test_every_scenario_is_chapter_4_s_network() -> None:
    for need in NEEDS | CLAIM_NEEDS:
        flows = need.scenario["flows"]
        assert [group["access"]["delay"] for group in flows] == ["145 ms", "45 ms", "5 ms"]
        count = sum(group["count"] for group in flows)
        assert count in chapter4.FLOWS
        assert float(flows[0]["access"]["rate"].removesuffix(" Mbps")) * count == pytest.approx(300)
        queue = need.scenario["link"][0]["queue"]
        assert (queue["limit"], queue["w_q"]) == (120, 0.002)
        assert queue["max_th"] == 3 * queue["min_th"], "the thesis: max_th is always three times min_th"


def test_a_claim_needs_no_scenario_that_no_figure_shows() -> None:
    shown = {_setting(need) for need in NEEDS}
    assert {_setting(need) for need in CLAIM_NEEDS} <= shown


def _setting(need: Need) -> str:
    return ecnlab.scenario({**need.scenario, "record": {}}).hash


def test_the_sweeps_are_those_of_the_figures() -> None:
    swept = chapter4.ITEMS[3]
    assert swept.number == "4.5"
    thresholds = {
        (need.scenario["link"][0]["queue"]["min_th"], need.scenario["link"][0]["queue"]["max_p"]) for need in swept.needs.values()
    }
    assert thresholds == {(low, max_p) for low in (5, 10, 20, 30) for max_p in (0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0)}


def test_a_figure_s_curves_are_told_apart_without_colour() -> None:
    (item,) = short_study(chapter4.ITEMS, "4.10").items
    drawing = item.draw({key: ecnlab.run(ecnlab.scenario(need.scenario), seeds=[1]) for key, need in item.needs.items()})
    assert drawing.figure is not None
    (axes,) = drawing.figure.axes
    curves = [bars.lines[0] for bars in axes.containers if bars.lines[0].get_linestyle() != "None"]
    assert len({(curve.get_marker(), curve.get_linestyle()) for curve in curves}) == len(curves) == 6
    assert drawing.data is not None
    assert drawing.data.height == 2 * 3 * 7


def test_a_figure_against_time_is_drawn_with_its_numbers(tmp_path: Path) -> None:
    run_study(short_study(chapter4.ITEMS, "4.18"), tmp_path / "s", [1, 2])
    frame = pl.read_csv(tmp_path / "s" / "figures" / "figure-4.18.csv")
    assert frame.columns == ["scheme", "group", "time_s", "goodput_first_bps", "half_width"]
    assert frame.height == 2 * 3 * 4
