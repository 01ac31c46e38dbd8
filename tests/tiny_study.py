"""A study that runs within milliseconds: two scenarios, two figures, and claims of each verdict."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ecnlab.plot import style
from ecnlab.studies.framework.claims import (
    COUNT,
    MBPS,
    PERCENT,
    Claim,
    ClaimDecision,
    ClaimStatement,
    MeasureDifference,
    RelativeChange,
    ResultOfNeed,
    ScenarioMeasure,
    ValueBySeed,
    claimed_above,
    claimed_below,
    decide_claims,
)
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    Study,
    StudyItem,
    format_with_interval,
)
from helpers import SMALL


def tree(max_p: float = 0.5, **rest: Any) -> Mapping[str, Any]:
    """The small scenario without recordings."""
    made = {key: value for key, value in tomllib.loads(SMALL).items() if key != "record"} | rest
    made["link"][0]["queue"]["max_p"] = max_p
    return made


def draw(results: ResultsByKey) -> DrawnItemContent:
    """A table of goodputs, and a figure."""
    cells = [[str(key[0]), format_with_interval(result.estimate("goodput_bps").scaled(1e-6))] for key, result in results.items()]
    figure, (axes,) = style.figure_with_panels()
    axes.plot([1, 2], [1, 2])
    return DrawnItemContent(figure, [ReportTable("goodput (Mbit/s)", ["max_p", "goodput"], cells)])


LOW, HIGH = RequiredScenario(tree(0.1)), RequiredScenario(tree())
FIRST = RequiredScenario(tree(), every_seed=False)
ITEMS = [
    StudyItem("1.1", "Goodput <here>", "A caption.", {(0.1,): LOW, (0.5,): FIRST}, draw, part="Chapter 1"),
    StudyItem("1.2", "Again", "Same runs.", {(0.1,): LOW}, draw, part="Chapter 2"),
]
GOODPUT = ScenarioMeasure(HIGH, "goodput_bps", known=1.9e6)
CLAIMS = [
    Claim(
        "T1",
        "Something is delivered.",
        ["1.1"],
        [ClaimStatement("goodput", GOODPUT, claimed_above(0.5), MBPS, published=1.75)],
        quote="“Something.” (page 1)",
    ),
    Claim(
        "T2",
        "Nothing is marked & dropped.",
        ["1.2"],
        [
            ClaimStatement("goodput", GOODPUT, claimed_above(0.5), MBPS),
            ClaimStatement("marks", ScenarioMeasure(LOW, "marks"), claimed_below(1), COUNT),
        ],
        reading="Nothing is less than 1.",
        why="A queue that marks, marks.",
        quote="“Nothing.” (page 1)",
    ),
    Claim(
        "T3",
        "Both are alike.",
        ["1.1"],
        [ClaimStatement("one over the other", RelativeChange(ScenarioMeasure(LOW, "goodput_bps"), GOODPUT), claimed_above(0), PERCENT)],
        quote="“Both.” (page 2)",
    ),
    Claim("F1", "It is our own.", ["1.1"], [ClaimStatement("twice", MeasureDifference(GOODPUT, GOODPUT), claimed_below(1), MBPS)]),
]
TINY = Study("tiny", "A tiny study", "nowhere", "Nothing much.", ITEMS, CLAIMS, demo=["1.2"])


@dataclass(frozen=True)
class Known:
    """A quantity whose values are known."""

    by_seed: ValueBySeed
    known: float | None = None

    def required_scenarios(self) -> Iterator[RequiredScenario]:
        return iter(())

    def values_by_seed(self, _runs: ResultOfNeed) -> ValueBySeed:
        return self.by_seed

    def recorded_ns2_mean(self) -> float | None:
        return self.known


def known(values: Sequence[float], ns2: float | None = None) -> Known:
    return Known(dict(enumerate(values, 1)), ns2)


def claim(*statements: ClaimStatement) -> Claim:
    return Claim("X1", "Something is so.", [], statements, quote="“So.” (page 1)")


def decide_claim(one: Claim, runs: ResultOfNeed) -> ClaimDecision:
    return decide_claims([one], runs)[0]


def no_runs(_need: RequiredScenario) -> NoReturn:
    raise AssertionError("nothing is run")
