"""The set-ups that a paper admits, and the verdict over all of them."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import ecnlab
from ecnlab.stats.estimates import Estimate
from ecnlab.studies.framework import page, runner, verdicts
from ecnlab.studies.framework.claims import (
    MBPS,
    Claim,
    ClaimStatement,
    ClaimVerdict,
    ScenarioMeasure,
    StatementStatus,
    claimed_above,
    claimed_below,
    decide_claims,
)
from ecnlab.studies.framework.model import InadmissibleSetup, OpenParameter, RequiredScenario
from ecnlab.studies.framework.setups import ROBUSTNESS_CHECKS, StudySetups, setups_from_open_parameters
from helpers import Outcome
from tiny_study import GOODPUT, HIGH, TINY, claim, known, no_runs

SEEDS = [1, 2, 3]


def _is_same_setup(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
    return scenario


def _with_rate(key: str, value: float) -> Any:
    def rewriting(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
        made: dict[str, Any] = json.loads(json.dumps(scenario))
        made["link"][0]["queue"][key] = value
        return made

    return rewriting


RED = OpenParameter("w_q", "nothing", "Both are ns-2's of some time.", {"0.002": _is_same_setup, "0.1": _with_rate("w_q", 0.1)}, "0.002")


def _need_at(rate: str) -> Any:
    def rewriting(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
        made: dict[str, Any] = json.loads(json.dumps(scenario))
        made["link"][0]["rate"] = rate
        return made

    return rewriting


RATE = OpenParameter(
    "rate", "nothing", "It is slow.", {"half": _need_at("1 Mbps"), "full": _is_same_setup, "more": _need_at("3 Mbps")}, "full"
)


def test_set_ups_are_the_main_one_one_value_at_a_time_and_the_corners() -> None:
    found = [tuple(setup.values.values()) for setup in setups_from_open_parameters([RED, RATE])]
    assert found == [
        ("0.002", "full"),
        ("0.1", "full"),
        ("0.002", "half"),
        ("0.002", "more"),
        ("0.1", "half"),
        ("0.1", "more"),
    ]
    assert [setup.values for setup in setups_from_open_parameters([])] == [{}]


def test_a_parameter_that_matters_only_in_a_corner_is_shown(tmp_path: Path) -> None:
    def faster_if_slow(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
        return _need_at("3 Mbps")(scenario) if scenario["link"][0]["rate"] == "1 Mbps" else scenario

    corner = OpenParameter("corner", "nothing", "", {"no": _is_same_setup, "yes": faster_if_slow}, "no")
    slow = OpenParameter("rate", "nothing", "", {"half": _need_at("1 Mbps"), "full": _is_same_setup}, "full")
    study = _study_with(1.2, open_parameters=[slow, corner])
    (decision, _) = runner.run_study(study, tmp_path / "s", SEEDS, store=tmp_path / "store").decisions
    assert [tuple(setup.values.values()) for setup in decision.setups] == [("full", "no"), ("half", "no"), ("half", "yes")]
    assert verdicts.parameters_that_change_verdict(decision.setups) == ["rate", "corner"]


def test_a_corner_has_the_values_of_all_parameters() -> None:
    (corner,) = (setup for setup in setups_from_open_parameters([RED, RATE]) if setup.values == {"w_q": "0.1", "rate": "more"})
    (link,) = corner.rewriting(HIGH.scenario)["link"]
    assert (link["queue"]["w_q"], link["rate"]) == (0.1, "3 Mbps")


def test_an_open_parameter_without_its_main_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'0\.3' must be one of"):
        dataclasses.replace(RED, main="0.3")


def test_a_set_up_that_changes_nothing_of_a_claim_is_left_out_for_it() -> None:
    other = RequiredScenario({"name": "other", "link": [{"queue": {}}]})

    def only_high(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
        return scenario if scenario["name"] == "other" else _with_rate("w_q", 0.1)(scenario)

    parameter = OpenParameter("w_q", "nothing", "", {"0.002": _is_same_setup, "0.1": only_high, "the same": only_high}, "0.002")
    setups = StudySetups(dataclasses.replace(TINY, open_parameters=[parameter]))
    unlike = Claim("X", "x", [], [ClaimStatement("x", ScenarioMeasure(other, "marks"), claimed_above(0))])
    assert setups.setups_changing_claim_scenarios(unlike) == []
    assert [setup.values["w_q"] for setup in setups.setups_changing_claim_scenarios(TINY.claims[0])] == ["0.1"], (
        "the same scenarios count once"
    )


def _study_with(limit: float, **rest: Any) -> Any:
    claims = [
        Claim("D", "Goodput is high.", [], [ClaimStatement("goodput", GOODPUT, claimed_above(limit), MBPS)], quote="“High.” (page 1)"),
        TINY.claims[0],
    ]
    return dataclasses.replace(TINY, claims=claims, **rest)


def test_a_claim_on_which_admissible_set_ups_differ_depends(tmp_path: Path) -> None:
    study = dataclasses.replace(_study_with(1.2, open_parameters=[RATE]), claims=_study_with(1.2).claims[:1])
    study = dataclasses.replace(study, alternatives=[InadmissibleSetup("small buffer", "None.", _need_at("1 Mbps"))])
    outcome = runner.run_study(study, tmp_path / "s", SEEDS, store=tmp_path / "store")
    (decision,) = outcome.decisions
    assert len({setup.verdict for setup in decision.setups}) > 1
    assert decision.verdict == ClaimVerdict.DEPENDS
    assert not decision.verdict.is_supported
    assert decision.setups[0].values == {"rate": "full"}
    assert verdicts.parameters_that_change_verdict(decision.setups) == ["rate"]
    assert decision.alternatives["small buffer"].verdict == ClaimVerdict.NOT_REPRODUCED
    html = outcome.report.read_text()
    assert verdicts.verdicts_of_setups_text(decision.setups) in html
    assert "“High.” (page 1)" in html
    assert "Alternative: small buffer" in html
    assert "It is slow." in html
    told = json.loads((tmp_path / "s" / "claims.json").read_text())
    assert told["all_setups"] is True
    (kept,) = told["claims"]
    assert kept["verdict"] == "depends"
    assert [setup["values"] for setup in kept["setups"]] == [{"rate": "full"}, {"rate": "half"}, {"rate": "more"}]
    text = page.page_with_claims("# T\n<!-- claims -->\n<!-- /claims -->\n", told["claims"])
    assert "D depends on rate (the first row" in text
    assert re.search(r"^\| half \| not reproduced \|", text, re.MULTILINE)


def test_a_set_up_of_a_claim_names_only_the_parameters_that_change_it(tmp_path: Path) -> None:
    idle = OpenParameter("idle", "nothing", "", {"no": _is_same_setup, "yes": _is_same_setup}, "no")
    study = _study_with(1.2, open_parameters=[idle, RATE])
    decisions = runner.run_study(study, tmp_path / "s", SEEDS, store=tmp_path / "store").decisions
    for decision in decisions:
        assert [setup.values for setup in decision.setups] == [{"rate": "full"}, {"rate": "half"}, {"rate": "more"}]
    assert [verdicts.parameters_that_change_verdict(decision.setups) for decision in decisions] == [["rate"], []]


def test_the_measured_interval_of_a_transfer_that_ends_begins_no_later() -> None:
    later = {check.name: check.rewriting for check in ROBUSTNESS_CHECKS}["measured later"]
    tree = HIGH.scenario
    assert later(tree)["measure_from"] != tree.get("measure_from")
    of_file = {**tree, "flows": [{**tree["flows"][0], "app": {"kind": "file", "bytes": "1 MB"}}]}
    assert later(of_file) == of_file


def test_the_main_set_up_alone_is_decided_where_no_other_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = _study_with(1.2, open_parameters=[RATE])
    outcome = runner.run_study(study, tmp_path / "s", SEEDS, all_setups=False, store=tmp_path / "store")
    assert [decision.setups for decision in outcome.decisions] == [(), ()]
    assert "ecnlab study run tiny --main-setup --seeds 1..3" in outcome.report.read_text()
    assert "those of the main set-up alone" in outcome.report.read_text()
    assert "This is a quick look: a full run has 20 seeds" in outcome.report.read_text()
    monkeypatch.setattr(runner, "FULL_SEEDS", SEEDS)
    of_all_seeds = runner.run_study(study, tmp_path / "t", SEEDS, all_setups=False, store=tmp_path / "store").report.read_text()
    assert "quick look" not in of_all_seeds
    assert "A full run decides claims in all admitted set-ups" in of_all_seeds


def test_an_alternative_whose_run_fails_is_left_out_and_the_verdict_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = _need_at("1 Mbps")
    study = _study_with(
        1.2, alternatives=[InadmissibleSetup("slow", "None.", slow), InadmissibleSetup("fast", "None.", _need_at("3 Mbps"))]
    )
    bad = ecnlab.scenario(slow(HIGH.scenario)).hash
    run_all = ecnlab.run_all

    def failing(requests: list[ecnlab.Request], **rest: object) -> ecnlab.Outcome:
        kept = [dataclasses.replace(one, seeds=[1] if one.scenario.hash == bad else one.seeds) for one in requests]
        return ecnlab.Outcome(run_all(kept, **rest).results, [])

    monkeypatch.setattr("ecnlab.studies.framework.plan.run_all", failing)
    outcome = runner.run_study(study, tmp_path / "s", SEEDS, claims=["D"])
    assert outcome.left_out == []
    assert "slow" not in outcome.decisions[0].alternatives
    assert "fast" in outcome.decisions[0].alternatives


def test_networks_are_drawn_into_the_report(tmp_path: Path) -> None:
    study = _study_with(0.5, networks={"Figure 4.1, the network": HIGH})
    html = runner.run_study(study, tmp_path / "s", SEEDS).report.read_text()
    assert '<img alt="Figure 4.1, the network" src="data:image/svg+xml;base64,' in html


def test_quick_and_main_setup_are_options_of_the_command(command: Callable[..., Outcome], tmp_path: Path) -> None:
    done = command("study", "run", "rfc2884", "--quick", "--seeds", "1..3", "--out", str(tmp_path / "s"))
    assert done.code == 2
    assert "--quick means --seeds 1..5" in done.err


def test_few_of_many_statements_without_an_effect_are_decided() -> None:
    """200 statements whose true numbers lie at the end of their ranges: each interval excludes the end in 5 % of the cases."""
    chance = random.Random(1992)
    statements = [ClaimStatement(str(at), known([chance.gauss(0, 1) for _ in range(20)]), claimed_above(0)) for at in range(200)]
    found = decide_claims([claim(statement) for statement in statements], no_runs)
    excluded = sum(_claim_excluding(decision.estimates[0].ours) for decision in found)
    decided = sum(decision.estimates[0].status != StatementStatus.SPANNED for decision in found)
    assert excluded >= 5, "intervals one by one decide some of them"
    assert decided <= 1, "together nearly none is decided"


def test_a_clear_statement_is_decided_beside_many_without_an_effect() -> None:
    chance = random.Random(7)
    unclear = [ClaimStatement(str(at), known([chance.gauss(0, 1) for _ in range(20)]), claimed_above(0)) for at in range(99)]
    clear = ClaimStatement("clear", known([chance.gauss(3, 1) for _ in range(20)]), claimed_below(0))
    (decision,) = decide_claims([claim(*unclear, clear)], no_runs)
    assert decision.estimates[-1].status == StatementStatus.CONTRADICTED


def _claim_excluding(mean: Estimate) -> bool:
    return not mean.low <= 0 <= mean.high
