import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab.scenarios.load import scenario
from ecnlab.studies import find_study
from ecnlab.studies.framework.claims import ClaimVerdict
from ecnlab.studies.framework.model import InadmissibleSetup, OpenParameter, RequiredScenario
from ecnlab.studies.framework.runner import run_study
from ecnlab.studies.papers.red_ecn import STUDY, claims, fit, open_parameters
from ecnlab.studies.papers.red_ecn.network import CHOSEN_CHOICE, OpenParameterChoice, goodput_per_source, table_row_scenario
from ecnlab.studies.papers.red_ecn.published import DELAYS_MS, EXPERIMENTS, PUBLISHED_KBPS, SCHEMES, recorded_ns2_throughput_kbps_by_row
from helpers import short_study
from tiny_study import decide_claim


def test_the_study_is_found_by_its_name() -> None:
    assert find_study("red-ecn") is STUDY


def test_the_network_is_the_papers() -> None:
    parameters = scenario(table_row_scenario((2, "RED with ECN", 250)).scenario).resolved
    long, bottleneck = parameters["link"]
    assert (long["delay"], long["limit"]) == ("0.25 s", 25)
    queue = bottleneck["queue"]
    assert (queue["aqm"], queue["min_th"], queue["max_th"], queue["limit"]) == ("ecn", 6.0, 18.0, "25 packets")
    bulk, bursts = parameters["flows"]
    assert (bulk["count"], bulk["access"]["rate"], bulk["access"]["delay"]) == (10, ["1000000 bps"], ["0.01 s"])
    assert (bulk["tcp"]["recovery"], bulk["tcp"]["packet_size"]) == ("reno", 1000)
    assert bursts["app"]["rate"] == "100000 bps"
    assert bursts["app"]["on"] == bursts["app"]["off"] == "exponential 2.5 s"


def test_the_numbers_behind_a_figure_have_the_paper_s_and_ns_2_s_beside_ours(tmp_path: Path) -> None:
    run_study(short_study(STUDY.items, "5"), tmp_path / "s", [1])
    data = pl.read_csv(tmp_path / "s" / "figures" / "figure-5.csv")
    row = data.row(by_predicate=(pl.col("scheme") == "RED") & (pl.col("delay_ms") == 250), named=True)
    assert row["published"] == 123.1177
    assert row["ns2_mean"] == pytest.approx(recorded_ns2_throughput_kbps_by_row()[1, "RED", 250])
    assert data["published"].count() == 8


def test_datagrams_are_in_the_second_experiment_only() -> None:
    assert len(table_row_scenario((1, "RED", 50)).scenario["flows"]) == 1
    assert table_row_scenario((2, "RED", 50), OpenParameterChoice(bursts=6)).scenario["flows"][1]["count"] == 6


def test_what_a_row_is_compared_with_is_complete() -> None:
    rows = {(experiment, scheme, delay) for experiment in EXPERIMENTS for scheme in SCHEMES for delay in DELAYS_MS}
    assert set(PUBLISHED_KBPS) == set(recorded_ns2_throughput_kbps_by_row()) == rows
    assert PUBLISHED_KBPS[1, "RED with ECN", 100] == 122.3003
    assert PUBLISHED_KBPS[2, "RED", 375] == 81.9883


def test_each_claim_of_the_paper_has_statements_and_numbers_beside_them() -> None:
    assert [claim.id for claim in STUDY.claims] == ["G1", "G2", "G4", "G5", "G6", "G3"]
    assert [len(claim.statements) for claim in STUDY.claims] == [4, 4, 1, 8, 8, 12]
    statements = [statement for claim in STUDY.claims if claim.id != "G6" for statement in claim.statements]
    assert all(statement.published is not None and statement.measured.recorded_ns2_mean() is not None for statement in statements)


def test_each_claim_of_the_paper_quotes_it_and_the_question_of_our_own_does_not() -> None:
    assert {claim.id for claim in STUDY.claims if claim.own} == {"G3"}


def test_the_gain_that_a_claim_shows_as_published_is_that_of_the_papers_two_columns() -> None:
    assert [statement.published for statement in claims.NO_IMPROVEMENT.statements] == [1.15, -11.75, 4.58, 6.08]
    assert [statement.published for statement in claims.BETTER.statements] == [1.45, 1.75, -0.21, 8.57]
    assert claims.MORE_UNDER_HEAVY.statements[0].published == 2.88


def test_no_degradation_allows_one_and_a_half_of_the_loss_with_which_the_paper_has_ecn_better() -> None:
    assert {statement.range.low for statement in claims.NO_DEGRADATION.statements} == {-0.315}


def _settings_of_need(need: RequiredScenario, parameter: OpenParameter, value: str) -> dict[str, Any]:
    return scenario(parameter.values[value](need.scenario)).resolved


def test_each_admitted_value_sets_its_parameter() -> None:
    heavy = table_row_scenario((2, "RED with ECN", 250))
    assert _settings_of_need(heavy, open_parameters.RATE, "1.544 Mbit/s")["link"][1]["rate"] == "1544000 bps"
    assert _settings_of_need(heavy, open_parameters.TCP, "Tahoe")["flows"][0]["tcp"]["recovery"] == "tahoe"
    assert _settings_of_need(heavy, open_parameters.TCP, "Reno, at most 20 packets")["flows"][0]["tcp"]["max_rwnd"] == 20
    assert _settings_of_need(heavy, open_parameters.DURATION, "200 s")["duration"] == "200 s"
    assert _settings_of_need(heavy, open_parameters.BURSTS, "10")["flows"][1]["count"] == 10
    light = table_row_scenario((1, "RED", 50)).scenario
    assert open_parameters.BURSTS.values["10"](light) == light, "experiment 1 has no datagrams"


def test_the_main_value_of_each_open_parameter_leaves_scenarios_as_they_are() -> None:
    needs = [each for claim in STUDY.claims for each in claim.required_scenarios()]
    for parameter in STUDY.open_parameters:
        assert all(parameter.values[parameter.main](each.scenario) is each.scenario for each in needs)


@pytest.mark.parametrize("alternative", STUDY.alternatives, ids=lambda alternative: alternative.name)
def test_an_alternative_is_another_scenario(alternative: InadmissibleSetup) -> None:
    tree = table_row_scenario((1, "RED with ECN", 50)).scenario
    assert scenario(alternative.rewriting(tree)).resolved != scenario(tree).resolved


def test_tables_1_and_2_are_found_by_their_numbers(tmp_path: Path) -> None:
    study = run_study(short_study(STUDY.items, "I"), tmp_path / "s", [1])
    assert "Table I:" in study.report.read_text()
    assert [STUDY.find_item(f"table {number}").heading for number in ("I", "II")] == ["Table I", "Table II"]


def test_the_fit_varies_one_thing_at_a_time() -> None:
    assert fit.FITTED_CHOICES[0] is CHOSEN_CHOICE
    for choice in fit.FITTED_CHOICES[1:]:
        parts = ("rate", "bursts", "duration", "tcp", "queue")
        assert sum(getattr(choice, part) != getattr(CHOSEN_CHOICE, part) for part in parts) == 1, choice.name


def test_distance_is_the_root_of_the_mean_square() -> None:
    assert fit._root_mean_square([0.3, -0.4]) == pytest.approx(math.sqrt(0.125))


def test_the_study_draws_and_decides(tmp_path: Path) -> None:
    html = run_study(STUDY, tmp_path / "s", [1], ["7"], ["G2"]).report.read_text()
    assert "Figure 7:" in html
    assert not re.search(r"\bnan\b", html)


def test_a_source_gets_its_share_of_the_bottleneck() -> None:
    result = ecnlab.run(scenario(table_row_scenario((1, "RED with ECN", 50)).scenario), seeds=2)
    assert all(140e3 < value <= 150e3 for value in goodput_per_source(result))
    assert decide_claim(claims.NO_IMPROVEMENT, lambda _: result).verdict is ClaimVerdict.REPRODUCED, (
        "of one and the same result the gain is 0"
    )
    assert decide_claim(claims.BETTER, lambda _: result).verdict is ClaimVerdict.NOT_REPRODUCED
