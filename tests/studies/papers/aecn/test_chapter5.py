from pathlib import Path

import polars as pl
import pytest

import ecnlab
from ecnlab.studies.framework.claims import ClaimStatement, CombinedMeasure
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.framework.runner import run_study
from ecnlab.studies.papers.aecn import STUDY, chapter5, claims5, published
from ecnlab.studies.papers.aecn.extremes import MeasureAtExtremeSetting
from helpers import short_study

NEEDS = {need for item in chapter5.ITEMS for need in item.needs.values()}
CLAIM_NEEDS = {need for claim in claims5.CLAIMS for need in claim.required_scenarios()}


def _queue_of(need: RequiredScenario) -> dict[str, object]:
    return dict(need.scenario["link"][0]["queue"])


def _flow_count(need: RequiredScenario) -> int:
    return sum(group["count"] for group in need.scenario["flows"])


def _swept_values(number: str, parameter: str) -> set[tuple[int, object]]:
    """The number of flows and the value of the parameter in each scenario of a figure."""
    (item,) = STUDY.choose_items([number])
    return {(_flow_count(need), _queue_of(need)[parameter]) for need in item.needs.values()}


def _claim_named(name: str) -> list[ClaimStatement]:
    (claim,) = STUDY.choose_claims([name])
    return list(claim.statements)


def test_all_of_chapter_5_s_figures_are_there() -> None:
    # 5.1 and 5.2 show the queues and the topology, 5.34 sketches the control law.
    numbers = [f"5.{n}" for n in range(3, 45) if n != 34]
    assert sorted(item.heading for item in chapter5.ITEMS) == sorted([f"Figure {number}" for number in numbers] + ["Table 5.1"])
    assert len({item.part for item in chapter5.ITEMS}) == 3


def test_the_claims_of_chapter_5_are_there_and_each_quotes_its_sentence() -> None:
    assert [claim.id for claim in claims5.CLAIMS] == [f"A{n}" for n in (*range(10, 20), *range(23, 29))]
    for claim in claims5.CLAIMS:
        assert claim.statements, claim.id
        assert "“" in claim.quote, claim.id
        assert "page" in claim.quote, claim.id
    known = {item.number for item in STUDY.items} | {item.heading for item in STUDY.items}
    assert {number for claim in claims5.CLAIMS for number in claim.figures} <= known


def test_every_scenario_is_chapter_5_s_network() -> None:
    for need in NEEDS:
        flows = need.scenario["flows"]
        assert [group["access"]["delay"] for group in flows] == ["95 ms", "45 ms", "20 ms"]
        assert float(flows[0]["access"]["rate"].removesuffix(" Mbps")) * _flow_count(need) == pytest.approx(90)
        queue = _queue_of(need)
        assert (queue["limit"], queue["min_th"], queue["w_q"]) == (120, 10, 0.002)


def test_a_claim_needs_no_scenario_that_no_figure_shows() -> None:
    shown = {_settings_of_need(need) for item in STUDY.items for need in item.needs.values()}
    assert {_settings_of_need(need) for need in CLAIM_NEEDS} <= shown


def _settings_of_need(need: RequiredScenario) -> str:
    return ecnlab.scenario({**need.scenario, "record": {}}).hash


def test_the_sweeps_are_those_of_the_thesis() -> None:
    assert _swept_values("5.29", "max_p") == {(flows, 0.5) for flows in (30, 60, 120, 240, 480)}
    assert _swept_values("5.21", "max_p") == {(flows, 0.8) for flows in (30, 60, 120, 240, 480)}
    assert _swept_values("5.16", "alpha") == _swept_values("5.16", "beta") == {(60, alpha) for alpha in (1.0, 1.5, 2.0, 2.5, 2.6, 2.8, 3.0)}
    assert _swept_values("5.38", "robust_min_th") == {(120, value) for value in range(1, 11)}
    assert _swept_values("5.41", "max_th") == {(flows, value) for flows in (60, 120) for value in (30, 40, 50, 60, 70)}
    assert _swept_values("5.41", "robust_min_th") == {(60, 9), (120, 3)}


def test_aecn2_s_ratios_follow_the_lengths_of_the_groups() -> None:
    (item,) = STUDY.choose_items(["5.32"])
    assert {_queue_of(need)["balance"] for need in item.needs.values()} == {"population"}


def test_the_published_numbers_stand_in_statements_and_figures() -> None:
    at_60 = _claim_named("A11")[:2]
    assert [statement.published for statement in at_60] == [0.01053, 0.1301]
    assert [statement.published for statement in _claim_named("A19")] == [7, 7, 17, 8, 7]
    assert published.values_of_table_5_1(published.JAIN, "ECN") == {60: 0.722963, 120: 0.500629}
    assert published.values_of_table_5_1("delay_mean_s", "ECN") == {}


def test_jain_s_index_is_highest_at_2_5_and_falls_beyond() -> None:
    ranges = {statement.text: statement.range.words for statement in _claim_named("A12")}
    of_60 = [f"60 flows, Jain's index: alpha 2.5 over alpha {other}" for other in ("1", "1.5", "2", "2.6", "2.8", "3")]
    assert list(ranges)[:6] == of_60
    assert len(ranges) == 2 * 7 + 1
    slopes = [text for text, words in ranges.items() if words == "below 0"]
    assert slopes == [
        f"{of}: slope of the line from alpha 2.5 to 3" for of in ("60 flows, Jain's index", "120 flows, Jain's index", "120 flows, goodput")
    ]


def test_a_trend_is_the_slope_of_the_line_through_the_points() -> None:
    (statement,) = (statement for statement in _claim_named("A12") if statement.text.startswith("120 flows, goodput"))
    assert isinstance(statement.measured, CombinedMeasure)
    assert {_queue_of(need)["alpha"] for need in statement.measured.required_scenarios()} == {2.5, 2.6, 2.8, 3.0}
    assert statement.measured.fold([10 - 2 * alpha for alpha in (2.5, 2.6, 2.8, 3.0)]) == pytest.approx(-2)


def test_the_groups_come_closer_with_each_step_of_alpha_up_to_2_6() -> None:
    steps = [
        f"alpha {a} over alpha {b}" for a, b in (("2.6", "2.5"), ("2.5", "2"), ("2", "1.5"), ("1.5", "1"), ("2.6", "2.8"), ("2.6", "3"))
    ]
    others = [f"alpha 2.6 over alpha {other}" for other in ("1", "1.5", "2", "2.5", "2.8", "3")]
    words = "smallest over largest group"
    expected = [f"60 flows, {words}: {step}" for step in steps] + [f"120 flows, {words}: {other}" for other in others]
    assert [statement.text for statement in _claim_named("A27")] == expected


def test_the_best_min_th_is_compared_with_every_other_one() -> None:
    texts = [statement.text for statement in _claim_named("A18")][3:]
    others = {60: ("min_th 9", {*range(1, 11)} - {9}), 120: ("between min_th 2 and 3", {*range(1, 11)} - {2, 3})}
    assert texts == [
        f"{flows} flows, smallest over largest group: {best} over min_th {other}"
        for flows, (best, at) in others.items()
        for other in sorted(at)
    ]


def test_the_gains_of_mark_front_are_those_of_table_5_1() -> None:
    for statement in _claim_named("A11"):
        assert statement.published is not None
        assert (statement.range.low, statement.range.high) == pytest.approx((statement.published / 2, 1.5 * statement.published))


def test_a23_reads_both_rates_at_the_same_number_of_flows() -> None:
    throughput, goodput = (statement.measured for statement in _claim_named("A23"))
    assert isinstance(throughput, MeasureAtExtremeSetting)
    assert isinstance(goodput, MeasureAtExtremeSetting)
    assert [set(part.required_scenarios()) for part in throughput.settings] == [set(part.required_scenarios()) for part in goodput.settings]
    assert goodput.below_zero == throughput.settings
    assert {_flow_count(need) for need in goodput.required_scenarios()} == {30, 60, 120, 240, 480}


def test_a_run_of_aecn_without_a_drop_is_counted_seed_by_seed() -> None:
    statement = next(statement for statement in _claim_named("A15") if "without a drop" in statement.text)
    (need,) = set(statement.measured.required_scenarios())
    result = ecnlab.run(ecnlab.scenario(need.scenario), seeds=[1, 2, 3])
    drops = result.values("drops")
    assert list(statement.measured.values_by_seed(lambda _: result).values()) == [float(not one) for one in drops]


def test_the_fall_of_a28_is_bounded_by_half_of_table_5_1_s() -> None:
    falls = {statement.text: (statement.range.high, statement.published) for statement in _claim_named("A28")}
    assert falls["ECN, max_p 0.5: goodput, 120 over 60 flows"] == (-6.5, -12.9)
    assert falls["ECN, max_p 0.8: Jain's index, 240 over 120 flows"] == (-15.4, None)


def test_ns2_s_means_stand_beside_where_it_measured_the_same() -> None:
    by_text = {
        statement.text: statement.measured.recorded_ns2_mean()
        for statement in _claim_named("A19") + _claim_named("A18") + _claim_named("A17")
    }
    # From the rows of thesis-aecn.csv with count=group: delay of robust flows 57.62424 and 73.88174 ms, of groups at min_th 9 and 6.
    assert by_text["delay of robust flows, max_th 50 over 30"] == pytest.approx(73.88174 / 57.62424 - 1)
    fairness = 3.05118 / 3.51756 - 3.18512 / 3.46366
    assert by_text["60 flows, smallest over largest group: min_th 9 over min_th 6"] == pytest.approx(fairness)
    assert by_text["base max_p 0.5: Jain's index, AECN2 over AECN"] is None, "ns-2's AECN2 has one count for the router"


@pytest.mark.parametrize(("number", "rows"), [("5.3", 4 * 5), ("5.17", 4 * 7), ("5.31", 3 * 2 * 5), ("5.33", 6 + 1)])
def test_a_figure_draws_with_its_numbers(number: str, rows: int, tmp_path: Path) -> None:
    run_study(short_study(chapter5.ITEMS, number), tmp_path / "s", [1, 2])
    assert pl.read_csv(tmp_path / "s" / "figures" / f"figure-{number}.csv").height == rows


def test_packets_of_chapter_5_are_drawn_from_the_first_seed(tmp_path: Path) -> None:
    run_study(short_study(chapter5.ITEMS, "5.9"), tmp_path / "s", [1, 2])
    marks = pl.read_csv(tmp_path / "s" / "figures" / "figure-5.9.csv")
    assert marks.height > 0
    assert set(marks["kind"]) == {"mark"}
