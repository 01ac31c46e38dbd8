from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

import ecnlab
from ecnlab import diagram
from ecnlab.studies.framework.model import InadmissibleSetup, OpenParameter, RequiredScenario
from ecnlab.studies.papers.aecn import STUDY, chapter4, schemes

Tree = Mapping[str, Any]

NEEDS = list(dict.fromkeys(need for claim in STUDY.claims for need in claim.required_scenarios()))
PARAMETERS = {parameter.name: parameter for parameter in STUDY.open_parameters}
OTHER_PARAMETERS = [
    pytest.param(parameter, value, id=f"{parameter.name}: {value}")
    for parameter in STUDY.open_parameters
    for value in parameter.values
    if value != parameter.main
]


def _aqm_names(tree: Tree) -> set[str]:
    return {link["queue"].get("aqm", "") for link in tree["link"]}


def _changed_needs(parameter: str, value: str) -> list[Tree]:
    """The claims' scenarios that this value changes, in their form of the main set-up."""
    rewriting = PARAMETERS[parameter].values[value]
    return [need.scenario for need in NEEDS if rewriting(need.scenario) != need.scenario]


@pytest.mark.parametrize("parameter", STUDY.open_parameters, ids=lambda parameter: parameter.name)
def test_the_main_value_leaves_every_scenario_as_it_is(parameter: OpenParameter) -> None:
    assert all(parameter.values[parameter.main](need.scenario) == need.scenario for need in NEEDS)


@pytest.mark.parametrize(("parameter", "value"), OTHER_PARAMETERS)
def test_each_other_value_makes_sound_scenarios_and_mutates_none(parameter: OpenParameter, value: str) -> None:
    changed = _changed_needs(parameter.name, value)
    assert changed
    before = deepcopy(changed)
    hashes = {ecnlab.scenario(parameter.values[value](tree)).hash for tree in changed}
    assert changed == before
    assert hashes.isdisjoint({ecnlab.scenario(tree).hash for tree in changed}) or parameter.name == "max_p of Figure 4.10"


@pytest.mark.parametrize("alternative", STUDY.alternatives, ids=lambda alternative: alternative.name)
def test_each_alternative_makes_sound_scenarios(alternative: InadmissibleSetup) -> None:
    changed = [alternative.rewriting(need.scenario) for need in NEEDS if alternative.rewriting(need.scenario) != need.scenario]
    assert changed
    assert all(ecnlab.scenario(tree).hash for tree in changed)


def test_the_count_and_the_reported_time_change_aecn_alone() -> None:
    for parameter, value in (("AECN's count of packets since the last mark", "router"), ("round-trip time in a packet", "last")):
        assert {frozenset(_aqm_names(tree)) for tree in _changed_needs(parameter, value)} == {frozenset({"aecn"})}, parameter


def test_the_ratios_change_aecn2_alone() -> None:
    changed = _changed_needs("AECN2's ratios", "whole")
    assert {tree["link"][0]["queue"]["balance"] for tree in changed} == {"population"}


def test_the_max_p_of_figure_4_10_changes_its_runs_alone() -> None:
    changed = _changed_needs("max_p of Figure 4.10", "0.1")
    (figure,) = STUDY.choose_items(["4.10"])
    assert {tree["name"] for tree in changed} == {need.scenario["name"] for need in figure.needs.values()}
    rewritten = {ecnlab.scenario(PARAMETERS["max_p of Figure 4.10"].values["0.1"](tree)).hash for tree in changed}
    assert rewritten == {ecnlab.scenario(_need_of(name, n).scenario).hash for name in ("ECN", "RED") for n in chapter4.FLOW_COUNTS}


def _need_of(name: str, flows: int) -> RequiredScenario:
    return schemes.required_scheme_scenario(name, flows, 0.1, chapter4.CHAPTER_4)


def test_every_network_is_drawn() -> None:
    assert all("bottleneck" in _network_svg(need) or "hop 1" in _network_svg(need) for need in STUDY.networks.values())
    assert len(STUDY.networks) == 3


def _network_svg(need: RequiredScenario) -> str:
    return diagram.network_svg(ecnlab.scenario(need.scenario))
