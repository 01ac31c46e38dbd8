"""The set-ups of a study: values for the parameters that the paper leaves open, and the verdict on a claim in each.

Set-ups are the main one; every other admitted value, one parameter at a time; and the corners, where each parameter has its first or its
last value. A set-up is left out for a claim whose scenarios it does not change, or changes as another set-up does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from ecnlab.scenarios.load import scenario
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import Claim, ClaimDecision, SingleSetupDecision, combine_setup_verdicts, decide_claims
from ecnlab.studies.framework.model import InadmissibleSetup, OpenParameter, RequiredScenario, ScenarioRewriting, ScenarioTree, Study
from ecnlab.studies.framework.rewritings import apply_rewritings


@dataclass(frozen=True, eq=False)
class ParameterSetup:
    """One choice of values for the parameters that a paper leaves open.

    Attributes
    ----------
    values : mapping of str to str
        The value of each open parameter; empty for an alternative.
    name : str
        The alternative's name; empty for an admissible set-up.
    rewriting : callable
        Writes a scenario of the study for this set-up.
    """

    values: Mapping[str, str]
    name: str
    rewriting: ScenarioRewriting


def setups_from_open_parameters(parameters: Sequence[OpenParameter]) -> Iterator[ParameterSetup]:
    """The admissible set-ups, the main one first; each combination of values once."""
    main = {parameter.name: parameter.main for parameter in parameters}
    seen = [main]
    yield _setup_from_values(parameters, main)
    changed = [{**main, parameter.name: value} for parameter in parameters for value in parameter.values]
    for values in (*changed, *_corner_value_combinations(parameters)):
        if values not in seen:
            seen.append(values)
            yield _setup_from_values(parameters, values)


def _corner_value_combinations(parameters: Sequence[OpenParameter]) -> list[dict[str, str]]:
    ends = [(next(iter(parameter.values)), next(reversed(parameter.values))) for parameter in parameters]
    names = [parameter.name for parameter in parameters]
    return [dict(zip(names, values, strict=True)) for values in product(*ends)]


def _setup_from_values(parameters: Sequence[OpenParameter], values: Mapping[str, str]) -> ParameterSetup:
    rewritings = [parameter.values[values[parameter.name]] for parameter in parameters]
    return ParameterSetup(values, "", partial(apply_rewritings, rewritings))


def _with_later_measuring_start(tree: ScenarioTree) -> ScenarioTree:
    apps = [group.get("app") for group in tree["flows"]]
    if any(isinstance(app, Mapping) and app["kind"] == "file" for app in apps):
        return tree
    read = scenario(tree)
    start_s = read.measure_from_s + LATER_START_SHARE * (read.duration_s - read.measure_from_s)
    return {**tree, "measure_from": f"{start_s:g} s"}


LATER_START_SHARE = 0.25
# Reported with every study: a verdict that one of them changes depends on details that no paper specifies.
ROBUSTNESS_CHECKS = (
    InadmissibleSetup(
        "random processing time",
        "Each sender's host takes a random time of up to one packet's transmission time for each packet, as Floyd and Jacobson (1992) "
        "advise against phase effects.",
        lambda tree: {**tree, "processing_jitter": "packet"},
    ),
    InadmissibleSetup(
        "measured later",
        f"The measured interval begins later, by {LATER_START_SHARE:.0%} of its length: a verdict that changes depends on the warm-up. "
        "Scenarios in which a file is sent stay as they are, since the transfer is measured as a whole. Quantities over set times do not "
        "change either.",
        _with_later_measuring_start,
    ),
)


def alternatives_and_robustness_checks(study: Study) -> list[InadmissibleSetup]:
    """The alternatives of a study and the checks that each study has."""
    return [*study.alternatives, *ROBUSTNESS_CHECKS]


class StudySetups:
    """The set-ups of a study, and the needs of its claims in each. Scenarios that are equal share one need."""

    def __init__(self, study: Study) -> None:
        self.main, *self.others = setups_from_open_parameters(study.open_parameters)
        self.alternatives = [
            ParameterSetup({}, alternative.name, alternative.rewriting) for alternative in alternatives_and_robustness_checks(study)
        ]
        self._by_text: dict[tuple[str, bool], RequiredScenario] = {}
        self._rewritten: dict[tuple[ParameterSetup, RequiredScenario], RequiredScenario] = {}
        self._texts: dict[RequiredScenario, str] = {}

    def scenario_in_setup(self, setup: ParameterSetup, need: RequiredScenario) -> RequiredScenario:
        """A required scenario in a set-up: the same object where the set-up does not change it."""
        key = (setup, need)
        if key not in self._rewritten:
            own = self._by_text.setdefault((self._scenario_as_text(need), need.every_seed), need)
            tree = setup.rewriting(need.scenario)
            text = json.dumps(tree)
            unchanged = text == self._scenario_as_text(own)
            self._rewritten[key] = (
                need if unchanged else self._by_text.setdefault((text, need.every_seed), RequiredScenario(tree, need.every_seed))
            )
        return self._rewritten[key]

    def _scenario_as_text(self, need: RequiredScenario) -> str:
        if need not in self._texts:
            self._texts[need] = json.dumps(need.scenario)
        return self._texts[need]

    def required_scenarios_in_other_setups(self, claims: Sequence[Claim], *, alternatives: bool = True) -> Iterator[RequiredScenario]:
        """The needs of claims in all set-ups but the main one, whose needs are the claims' own.

        Set-ups that are alternatives are left out unless `alternatives`.
        """
        for setup in (*self.others, *(self.alternatives if alternatives else ())):
            for claim in claims:
                for need in claim.required_scenarios():
                    yield self.scenario_in_setup(setup, need)

    def setups_changing_claim_scenarios(self, claim: Claim) -> list[ParameterSetup]:
        """The set-ups without the main one that change a claim's scenarios, each differently."""
        by_scenarios = {self._claim_scenario_texts_in_setup(self.main, claim): self.main}
        for setup in self.others:
            by_scenarios.setdefault(self._claim_scenario_texts_in_setup(setup, claim), setup)
        return list(by_scenarios.values())[1:]

    def parameters_changing_claim_scenarios(self, claim: Claim) -> list[str]:
        """The open parameters that distinguish the set-ups of a claim: those that change it alone, or all where these do not suffice."""
        main = self.main.values
        differing = [
            [name for name in main if setup.values[name] != main[name]]
            for setup in self.others
            if self.is_claim_scenario_changed_by_setup(setup, claim)
        ]
        names = [name for name in main if [name] in differing]
        setups = [self.main, *self.setups_changing_claim_scenarios(claim)]
        return names if len({tuple(setup.values[name] for name in names) for setup in setups}) == len(setups) else list(main)

    def is_claim_scenario_changed_by_setup(self, setup: ParameterSetup, claim: Claim) -> bool:
        """Whether a set-up changes a claim's scenarios."""
        return self._claim_scenario_texts_in_setup(setup, claim) != self._claim_scenario_texts_in_setup(self.main, claim)

    def _claim_scenario_texts_in_setup(self, setup: ParameterSetup, claim: Claim) -> tuple[str, ...]:
        return tuple(self._scenario_as_text(self.scenario_in_setup(setup, need)) for need in claim.required_scenarios())

    def decide_over_setups(self, claims: Sequence[Claim], results: Mapping[RequiredScenario, Result]) -> list[ClaimDecision]:
        """The verdicts on claims over all set-ups. In each set-up the statements of all these claims are tested together.

        `results` has the needs of all verdicts. A claim is left out of an alternative of which a result is missing.
        """
        main = decide_claims(claims, results.__getitem__)
        found = {setup: self._decide_claims_in_setup(setup, claims, results) for setup in (*self.others, *self.alternatives)}
        return [self._combine_decisions_over_setups(decision, found) for decision in main]

    def _decide_claims_in_setup(
        self, setup: ParameterSetup, claims: Sequence[Claim], results: Mapping[RequiredScenario, Result]
    ) -> dict[str, SingleSetupDecision]:
        """The claims in a set-up, by name, whose results are complete."""

        def result_of_need(need: RequiredScenario) -> Result:
            return results[self.scenario_in_setup(setup, need)]

        whole = [claim for claim in claims if all(self.scenario_in_setup(setup, need) in results for need in claim.required_scenarios())]
        return {
            found.claim.id: SingleSetupDecision(setup.values, found.verdict, found.estimates)
            for found in decide_claims(whole, result_of_need)
        }

    def _combine_decisions_over_setups(
        self, main: ClaimDecision, found: Mapping[ParameterSetup, Mapping[str, SingleSetupDecision]]
    ) -> ClaimDecision:
        id_ = main.claim.id
        others = self.setups_changing_claim_scenarios(main.claim)
        names = self.parameters_changing_claim_scenarios(main.claim)
        in_main = SingleSetupDecision(self.main.values, main.verdict, main.estimates)
        every = [in_main, *(found[setup][id_] for setup in others)] if others else []
        setups = [replace(each, values={name: each.values[name] for name in names}) for each in every]
        changing = [
            setup for setup in self.alternatives if self.is_claim_scenario_changed_by_setup(setup, main.claim) and id_ in found[setup]
        ]
        return combine_setup_verdicts(main, setups, {setup.name: found[setup][id_] for setup in changing})
