"""The set-ups of a study: how what the paper leaves open is filled in, and what a claim comes to in each.

Set-ups are the main one; every other admitted value, one parameter at a time; and the corners, where each parameter has its first or its
last value. A set-up is left out for a claim whose scenarios it does not change, or changes as another set-up does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Any

from ecnlab.scenarios.load import scenario
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import Claim, ClaimInSetup, Decision, decide_all, over_setups
from ecnlab.studies.framework.model import Alternative, Need, OpenParameter, ScenarioRewriting, Study


@dataclass(frozen=True, eq=False)
class Setup:
    """One way to fill in what a paper leaves open.

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


def admissible(parameters: Sequence[OpenParameter]) -> Iterator[Setup]:
    """The admissible set-ups, the main one first; each combination of values once."""
    main = {parameter.name: parameter.main for parameter in parameters}
    seen = [main]
    yield _setup_of(parameters, main)
    for values in (*_one_at_a_time(parameters, main), *_corner_values(parameters)):
        if values not in seen:
            seen.append(values)
            yield _setup_of(parameters, values)


def _one_at_a_time(parameters: Sequence[OpenParameter], main: Mapping[str, str]) -> list[dict[str, str]]:
    return [{**main, parameter.name: value} for parameter in parameters for value in parameter.values]


def _corner_values(parameters: Sequence[OpenParameter]) -> list[dict[str, str]]:
    ends = [(next(iter(parameter.values)), next(reversed(parameter.values))) for parameter in parameters]
    names = [parameter.name for parameter in parameters]
    return [dict(zip(names, values, strict=True)) for values in product(*ends)]


def _setup_of(parameters: Sequence[OpenParameter], values: Mapping[str, str]) -> Setup:
    rewritings = [parameter.values[values[parameter.name]] for parameter in parameters]

    def rewrite(tree: Mapping[str, Any]) -> Mapping[str, Any]:
        return reduce(lambda made, rewriting: rewriting(made), rewritings, tree)

    return Setup(values, "", rewrite)


def _with_processing_jitter(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**tree, "processing_jitter": "packet"}


def _measured_later(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    if any(_sends_file(group) for group in tree["flows"]):
        return tree
    read = scenario(tree)
    start_s = read.measure_from_s + LATER_START_SHARE * (read.duration_s - read.measure_from_s)
    return {**tree, "measure_from": f"{start_s:g} s"}


def _sends_file(group: Mapping[str, Any]) -> bool:
    app = group.get("app")
    return isinstance(app, Mapping) and app["kind"] == "file"


LATER_START_SHARE = 0.25
# Reported with every study: a verdict that one of them changes depends on what no paper means to say.
ROBUSTNESS_CHECKS = (
    Alternative(
        "random processing time",
        "Each sender's host takes a random time of up to one packet's transmission time for each packet, as Floyd and Jacobson (1992) "
        "advise against phase effects.",
        _with_processing_jitter,
    ),
    Alternative(
        "measured later",
        f"The measured interval begins later, by {LATER_START_SHARE:.0%} of its length: a verdict that changes depends on the warm-up. "
        "Scenarios in which a file is sent stay as they are, since the transfer is measured as a whole. Quantities over set times do not "
        "change either.",
        _measured_later,
    ),
)


def all_alternatives(study: Study) -> list[Alternative]:
    """The alternatives of a study and the checks that each study has."""
    return [*study.alternatives, *ROBUSTNESS_CHECKS]


class StudySetups:
    """The set-ups of a study, and the needs of its claims in each. Scenarios that are equal share one need."""

    def __init__(self, study: Study) -> None:
        self.main, *self.others = admissible(study.open_parameters)
        self.alternatives = [Setup({}, alternative.name, alternative.rewriting) for alternative in all_alternatives(study)]
        self._by_text: dict[tuple[str, bool], Need] = {}
        self._rewritten: dict[tuple[Setup, Need], Need] = {}
        self._texts: dict[Need, str] = {}

    def need(self, setup: Setup, need: Need) -> Need:
        """A need of the study in a set-up: the same object where the set-up changes nothing of it."""
        key = (setup, need)
        if key not in self._rewritten:
            own = self._by_text.setdefault((self._text(need), need.every_seed), need)
            tree = setup.rewriting(need.scenario)
            text = json.dumps(tree)
            self._rewritten[key] = need if text == self._text(own) else self._of(text, tree, need)
        return self._rewritten[key]

    def _of(self, text: str, tree: Mapping[str, Any], need: Need) -> Need:
        return self._by_text.setdefault((text, need.every_seed), Need(tree, need.every_seed))

    def _text(self, need: Need) -> str:
        if need not in self._texts:
            self._texts[need] = json.dumps(need.scenario)
        return self._texts[need]

    def needs(self, claims: Sequence[Claim]) -> Iterator[Need]:
        """The needs of claims in all set-ups and alternatives; those of the main one are the claims' own."""
        yield from self.needs_of_verdicts(claims)
        yield from self._needs(self.alternatives, claims)

    def needs_of_verdicts(self, claims: Sequence[Claim]) -> Iterator[Need]:
        """The needs of claims in all admissible set-ups but the main one."""
        yield from self._needs(self.others, claims)

    def _needs(self, setups: Sequence[Setup], claims: Sequence[Claim]) -> Iterator[Need]:
        for setup in setups:
            for claim in claims:
                for need in claim.needs():
                    yield self.need(setup, need)

    def that_change(self, claim: Claim) -> list[Setup]:
        """The set-ups that change what is run for a claim, each in another way, without the main one."""
        by_scenarios = {self._scenarios(self.main, claim): self.main}
        for setup in self.others:
            by_scenarios.setdefault(self._scenarios(setup, claim), setup)
        return list(by_scenarios.values())[1:]

    def _that_matter(self, claim: Claim) -> list[str]:
        """The open parameters that tell the set-ups of a claim apart: those that change it alone, or all where these do not suffice."""
        main = self.main.values
        differing = [[name for name in main if setup.values[name] != main[name]] for setup in self.others if self.changes(setup, claim)]
        names = [name for name in main if [name] in differing]
        setups = [self.main, *self.that_change(claim)]
        return names if len({tuple(setup.values[name] for name in names) for setup in setups}) == len(setups) else list(main)

    def changes(self, setup: Setup, claim: Claim) -> bool:
        """Whether a set-up changes what is run for a claim."""
        return self._scenarios(setup, claim) != self._scenarios(self.main, claim)

    def _scenarios(self, setup: Setup, claim: Claim) -> tuple[str, ...]:
        return tuple(self._text(self.need(setup, need)) for need in claim.needs())

    def decide(self, claims: Sequence[Claim], results: Mapping[Need, Result]) -> list[Decision]:
        """The verdicts on claims over all set-ups. In each set-up the statements of all these claims are tested together.

        `results` has the needs of all verdicts. A claim is left out of an alternative of which a result is missing.
        """
        main = decide_all(claims, results.__getitem__)
        found = {setup: self._in(setup, claims, results) for setup in (*self.others, *self.alternatives)}
        return [self._over(decision, found) for decision in main]

    def _in(self, setup: Setup, claims: Sequence[Claim], results: Mapping[Need, Result]) -> dict[str, ClaimInSetup]:
        """The claims in a set-up, by name, of which all results are there."""

        def result_of_need(need: Need) -> Result:
            return results[self.need(setup, need)]

        whole = [claim for claim in claims if all(self.need(setup, need) in results for need in claim.needs())]
        return {found.claim.id: ClaimInSetup(setup.values, found.verdict, found.estimates) for found in decide_all(whole, result_of_need)}

    def _over(self, main: Decision, found: Mapping[Setup, Mapping[str, ClaimInSetup]]) -> Decision:
        id_ = main.claim.id
        others = self.that_change(main.claim)
        names = self._that_matter(main.claim)
        in_main = ClaimInSetup(self.main.values, main.verdict, main.estimates)
        every = [in_main, *(found[setup][id_] for setup in others)] if others else []
        setups = [replace(each, values={name: each.values[name] for name in names}) for each in every]
        changing = [setup for setup in self.alternatives if self.changes(setup, main.claim) and id_ in found[setup]]
        return over_setups(main, setups, {setup.name: found[setup][id_] for setup in changing})
