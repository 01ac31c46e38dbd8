from pathlib import Path

import polars as pl
import pytest

import ecnlab
from ecnlab.studies.framework.claims import CombinedMeasure
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.framework.runner import run_study
from ecnlab.studies.papers.aecn import chapter4, claims4, schemes
from helpers import short_study

NEEDS = {need for item in chapter4.ITEMS for need in item.needs.values()}
CLAIM_NEEDS = {need for claim in claims4.CLAIMS for need in claim.required_scenarios()}


def test_all_of_chapter_4_s_figures_are_there_in_its_order() -> None:
    # 4.1 is the topology.
    assert [item.number for item in chapter4.ITEMS] == [f"4.{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, *range(10, 21))]
    assert {item.part for item in chapter4.ITEMS} == {"Chapter 4: RED and ECN"}


def test_the_claims_of_chapter_4_are_there_and_each_quotes_its_sentence() -> None:
    assert [claim.id for claim in claims4.CLAIMS] == [f"A{n}" for n in (*range(1, 10), 20, 21, 22)]
    for claim in claims4.CLAIMS:
        assert claim.statements, claim.id
        assert "“" in claim.quote, claim.id
        assert "page" in claim.quote, claim.id
    assert {number for claim in claims4.CLAIMS for number in claim.figures} <= {item.number for item in chapter4.ITEMS}


def test_every_scenario_is_chapter_4_s_network() -> None:
    for need in NEEDS | CLAIM_NEEDS:
        flows = need.scenario["flows"]
        assert [group["access"]["delay"] for group in flows] == ["145 ms", "45 ms", "5 ms"]
        count = sum(group["count"] for group in flows)
        assert count in chapter4.FLOW_COUNTS
        assert float(flows[0]["access"]["rate"].removesuffix(" Mbps")) * count == pytest.approx(300)
        queue = need.scenario["link"][0]["queue"]
        assert (queue["limit"], queue["w_q"]) == (120, 0.002)
        assert queue["max_th"] == 3 * queue["min_th"], "the thesis: max_th is always three times min_th"


def test_a_claim_needs_no_scenario_that_no_figure_shows() -> None:
    shown = {_settings_of_need(need) for need in NEEDS}
    assert {_settings_of_need(need) for need in CLAIM_NEEDS} <= shown


def _settings_of_need(need: RequiredScenario) -> str:
    return ecnlab.scenario({**need.scenario, "record": {}}).hash


def test_the_sweeps_are_those_of_the_figures() -> None:
    swept = chapter4.ITEMS[3]
    assert swept.number == "4.5"
    thresholds = {
        (need.scenario["link"][0]["queue"]["min_th"], need.scenario["link"][0]["queue"]["max_p"]) for need in swept.needs.values()
    }
    assert thresholds == {(low, max_p) for low in (5, 10, 20, 30) for max_p in (0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0)}


def test_a_figure_s_curves_are_distinguished_without_colour() -> None:
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


def test_flows_without_data_deliver_no_packet_in_the_measured_time() -> None:
    # The group "late" starts at the end of the run.
    tree = schemes.scheme_scenario("ECN", 15, network=chapter4.CHAPTER_4)
    late = {**tree["flows"][0], "name": "late", "count": 2, "start": "100 s"}
    result = ecnlab.run(ecnlab.scenario({**tree, "flows": [*tree["flows"], late]}), seeds=[1, 2])
    assert claims4.flows_without_data(result) == [2.0, 2.0]


def test_the_share_of_situations_pairs_ecn_s_values_with_red_s() -> None:
    (claim,) = (claim for claim in claims4.CLAIMS if claim.id == "A21")
    (statement,) = claim.statements
    measured = statement.measured
    assert isinstance(measured, CombinedMeasure)
    assert len(measured.parts) == 2 * len(chapter4.FLOW_COUNTS) * len(chapter4.MAX_PS)
    above = [1.0] * 21
    assert measured.fold([*above, *(0.5 for _ in range(21))]) == 1
    assert measured.fold([*above, *(0.5 for _ in range(14)), *(2.0 for _ in range(7))]) == pytest.approx(2 / 3)


def test_a1_compares_both_schemes_at_the_same_max_p_with_15_flows_too() -> None:
    (claim,) = (claim for claim in claims4.CLAIMS if claim.id == "A1")
    assert len(claim.statements) == 2 * len(chapter4.FLOW_COUNTS)
    for statement in claim.statements:
        assert len({need.scenario["link"][0]["queue"]["max_p"] for need in statement.measured.required_scenarios()}) == 1
        assert statement.range.words == ("at most 0" if " 15 flows" in statement.text else "above 0")


def test_a6_holds_the_highest_goodput_against_red_too() -> None:
    (claim,) = (claim for claim in claims4.CLAIMS if claim.id == "A6")
    (statement,) = (statement for statement in claim.statements if "RED's best" in statement.text)
    queues = [need.scenario["link"][0]["queue"] for need in statement.measured.required_scenarios()]
    assert sum(queue["aqm"] == "red" for queue in queues) == len(chapter4.THRESHOLD_PAIRS) * len(chapter4.SWEPT_MAX_PS)


def test_a5_reads_the_delay_of_figure_4_10_and_the_largest_gain_of_figure_4_7() -> None:
    (claim,) = (claim for claim in claims4.CLAIMS if claim.id == "A5")
    delay, goodput = claim.statements
    assert {need.scenario["name"].rpartition(", ")[2] for need in delay.measured.required_scenarios()} == {chapter4.DELAY_FIGURE_MAX_P}
    assert {need.scenario["link"][0]["queue"]["max_p"] for need in goodput.measured.required_scenarios()} == set(chapter4.MAX_PS)
