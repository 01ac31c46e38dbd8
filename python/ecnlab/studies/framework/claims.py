"""Claims: findings of a paper as statements about measured quantities, and the rule that decides them.

A claim is a sentence of the paper and the statements that it makes. A statement says in which range a measured quantity lies.
The quantity is a column of a run (`ScenarioMeasure`), a change in per cent (`RelativeChange`) or a difference (`MeasureDifference`) between
two of them, paired by seed, or several of them folded into one (`CombinedMeasure`):

    Claim("A1", "ECN's goodput is above RED's.", ["4.7"], [
        ClaimStatement("60 flows", RelativeChange(of_ecn, of_red), claimed_above(0), PERCENT, published=12.0),
    ])

`decide_claims` tests each quantity's mean over seeds against the nearest end of its range. The two-sided t-test at 5 % is equivalent to
asking whether the 95 % interval contains that end. The p-values of all statements are adjusted together by Benjamini and Hochberg (1995),
so that at most 5 % of the statements that are decided are expected to be wrong. A statement whose adjusted p-value is at most 0.05 is
supported where the mean lies inside the range, and contradicted where it lies outside; otherwise its number spans an end of the range. A
claim is reproduced if all its statements are supported, not reproduced if one is contradicted, and undecided otherwise.

If the paper leaves parameters open, `combine_setup_verdicts` compares the verdicts of all admissible set-ups: a claim on which they
differ depends on the set-up. No other function produces a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Protocol

from ecnlab.stats.estimates import CONFIDENCE, Estimate, fdr_adjusted_p_values, mean_with_interval, p_value
from ecnlab.storage.results import Result
from ecnlab.studies.framework.model import RequiredScenario

ResultOfNeed = Callable[[RequiredScenario], Result]
ValueBySeed = Mapping[int, float]


class MeasuredQuantity(Protocol):
    """A quantity that has a value for each seed."""

    def required_scenarios(self) -> Iterator[RequiredScenario]:
        """The scenarios in which it is measured."""

    def values_by_seed(self, runs: ResultOfNeed) -> ValueBySeed:
        """Its value for each seed."""

    def recorded_ns2_mean(self) -> float | None:
        """ns-2's mean, where it is known."""


@dataclass(frozen=True)
class ScenarioMeasure:
    """A quantity of a scenario: a column of `total`, or of the group's, queue's or band's row; or a function that measures it.

    Attributes
    ----------
    need : Need
        The scenario.
    quantity : str or callable
        A column's name, or a function of a result that returns one value per seed, in the order of its seeds.
    group, queue, band : str, optional
        The row of the column, as for `Result.values`.
    known : float, optional
        ns-2's mean of it, in the column's unit.
    """

    need: RequiredScenario
    quantity: str | Callable[[Result], Sequence[float]]
    group: str | None = None
    queue: str | None = None
    band: str | None = None
    known: float | None = None

    def required_scenarios(self) -> Iterator[RequiredScenario]:
        """The scenario."""
        yield self.need

    def values_by_seed(self, runs: ResultOfNeed) -> ValueBySeed:
        """Its value for each seed."""
        result = runs(self.need)
        if callable(self.quantity):
            found = self.quantity(result)
        else:
            found = result.values(self.quantity, group=self.group, queue=self.queue, band=self.band)
        return dict(zip(result.seeds, found, strict=True))

    def recorded_ns2_mean(self) -> float | None:
        """ns-2's mean, where it is known."""
        return self.known


@dataclass(frozen=True)
class CombinedMeasure:
    """Several quantities combined seed by seed by `fold` (`fmean`, `max`, `min`), so that shared random draws stay paired."""

    fold: Callable[[Sequence[float]], float]
    parts: Sequence[MeasuredQuantity]

    def required_scenarios(self) -> Iterator[RequiredScenario]:
        """The scenarios of all of them."""
        for part in self.parts:
            yield from part.required_scenarios()

    def values_by_seed(self, runs: ResultOfNeed) -> ValueBySeed:
        """`fold` of the values of each seed that all quantities have."""
        found = [part.values_by_seed(runs) for part in self.parts]
        return {
            seed: self._fold_unless_nan([values[seed] for values in found]) for seed in found[0] if all(seed in values for values in found)
        }

    def recorded_ns2_mean(self) -> float | None:
        """`fold` of ns-2's means, if all are known."""
        known = [value for value in (part.recorded_ns2_mean() for part in self.parts) if value is not None]
        return self._fold_unless_nan(known) if len(known) == len(self.parts) else None

    def _fold_unless_nan(self, values: Sequence[float]) -> float:
        """`fold` of the values; NaN if one is NaN, which `max` and `min` would ignore."""
        return math.nan if any(map(math.isnan, values)) else self.fold(values)


class RelativeChange(CombinedMeasure):
    """(a - b) / b; NaN where b is 0."""

    def __init__(self, a: MeasuredQuantity, b: MeasuredQuantity) -> None:
        super().__init__(lambda pair: ratio_or_nan(*pair) - 1, (a, b))


class MeasureRatio(CombinedMeasure):
    """a / b; NaN where b is 0."""

    def __init__(self, a: MeasuredQuantity, b: MeasuredQuantity) -> None:
        super().__init__(lambda pair: ratio_or_nan(*pair), (a, b))


class MeasureDifference(CombinedMeasure):
    """a - b, in their unit."""

    def __init__(self, a: MeasuredQuantity, b: MeasuredQuantity) -> None:
        super().__init__(lambda pair: pair[0] - pair[1], (a, b))


def ratio_or_nan(a: float, b: float) -> float:
    """a over b; NaN where b is 0."""
    return a / b if b else math.nan


@dataclass(frozen=True)
class ClaimedRange:
    """Range of a quantity if the statement holds, in the unit shown; `words` describe it.

    Both ends are included, unless the range is `open` at them.
    """

    low: float
    high: float
    words: str
    open: bool = False

    def contains(self, value: float) -> bool:
        """Whether a value is in the range."""
        return self.low < value < self.high if self.open else self.low <= value <= self.high


def claimed_above(limit: float) -> ClaimedRange:
    """More than `limit`."""
    return ClaimedRange(limit, math.inf, f"above {limit:g}", open=True)


def claimed_below(limit: float) -> ClaimedRange:
    """Less than `limit`."""
    return ClaimedRange(-math.inf, limit, f"below {limit:g}", open=True)


def claimed_at_least(limit: float) -> ClaimedRange:
    """`limit` or more."""
    return ClaimedRange(limit, math.inf, f"at least {limit:g}")


def claimed_at_most(limit: float) -> ClaimedRange:
    """`limit` or less."""
    return ClaimedRange(-math.inf, limit, f"at most {limit:g}")


def claimed_between(low: float, high: float) -> ClaimedRange:
    """From `low` to `high`."""
    return ClaimedRange(low, high, f"{low:g} to {high:g}")


def claimed_about(value: float) -> ClaimedRange:
    """The range for an "about" in a paper: from 0.5 to 1.5 times the value."""
    low, high = sorted((0.5 * value, 1.5 * value))
    return ClaimedRange(low, high, f"about {value:g}: {low:g} to {high:g}")


@dataclass(frozen=True)
class DisplayUnit:
    """The unit in which a quantity is shown and compared: its factor, its name, and how many decimals."""

    factor: float
    unit: str
    digits: int

    def label(self, quantity: str) -> str:
        """A quantity with the unit, as an axis or a column is called."""
        return f"{quantity} ({self.unit})" if self.unit else quantity

    def scaled(self, value: float | None) -> float | None:
        """A value in this unit; None where there is none."""
        return None if value is None else value * self.factor


DIMENSIONLESS = DisplayUnit(1, "", 4)
COUNT = DisplayUnit(1, "", 1)
PERCENT = DisplayUnit(100, "%", 1)
PERCENT_POINTS = DisplayUnit(100, "% points", 2)  # of a gap between two shares or two gains
MBPS = DisplayUnit(1e-6, "Mbit/s", 3)
KBPS = DisplayUnit(1e-3, "kbit/s", 1)
MS = DisplayUnit(1e3, "ms", 2)
SECONDS = DisplayUnit(1, "s", 2)
PACKETS = DisplayUnit(1, "packets", 2)
PER_SECOND = DisplayUnit(1, "1/s", 2)


@dataclass(frozen=True)
class ClaimStatement:
    """One part of a claim: the quantity lies in the range. `published` is the paper's number for it, in the unit shown."""

    text: str
    measured: MeasuredQuantity
    range: ClaimedRange
    shown: DisplayUnit = DIMENSIONLESS
    published: float | None = None


def largest_level_statements(at: str, levels: Mapping[str, MeasuredQuantity], setting: str = "") -> list[ClaimStatement]:
    """The statements that the quantity is largest `at` one of the levels, each named as the report shows it, in a setting."""
    return [
        ClaimStatement(_larger_than_text(setting, at, name), MeasureDifference(levels[at], other), claimed_above(0))
        for name, other in levels.items()
        if name != at
    ]


def descending_order_statements(
    levels: Mapping[str, MeasuredQuantity], shown: DisplayUnit = DIMENSIONLESS, setting: str = ""
) -> list[ClaimStatement]:
    """The statements that each level lies above the next one, in a setting."""
    return [
        ClaimStatement(_larger_than_text(setting, one, other), MeasureDifference(a, b), claimed_above(0), shown)
        for (one, a), (other, b) in pairwise(levels.items())
    ]


def _larger_than_text(setting: str, one: str, other: str) -> str:
    return f"{setting}: {one} over {other}" if setting else f"{one} over {other}"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Attributes
    ----------
    id : str
        The claim's name in the study, e.g. "A1".
    sentence : str
        The paper's finding in our words.
    figures : sequence of str
        The numbers of the figures and tables that it is read from, e.g. "4.7".
    statements : sequence of Statement
        All statements that the claim makes.
    quote : str
        The paper's own sentence with its place; empty for a question of our own.
    reading : str
        How the paper's words became ranges, if that is a choice.
    why : str
        The known cause why the claim does not hold, or not clearly, in a full run.
    """

    id: str
    sentence: str
    figures: Sequence[str]
    statements: Sequence[ClaimStatement]
    reading: str = ""
    why: str = ""
    quote: str = ""

    @property
    def own(self) -> bool:
        """Whether it is a question of ecnlab that no paper answers."""
        return not self.quote

    def required_scenarios(self) -> Iterator[RequiredScenario]:
        """The scenarios that decide it."""
        for statement in self.statements:
            yield from statement.measured.required_scenarios()


class ClaimVerdict(StrEnum):
    """The answer to a claim. A paper's claim is reproduced or not; a question of our own holds or does not.

    It depends where admissible set-ups have different verdicts.
    """

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    UNDECIDED = "undecided"
    DEPENDS = "depends"

    @property
    def is_supported(self) -> bool:
        """Whether all statements of the claim are supported."""
        return self in (ClaimVerdict.REPRODUCED, ClaimVerdict.HOLDS)


class StatementStatus(StrEnum):
    """Status of a statement according to its interval."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    SPANNED = "spanned"


@dataclass(frozen=True)
class StatementEstimate:
    """A statement with its measured values, ours and ns-2's in the unit shown, and its status.

    `p` is the p-value of the t-test of the mean against the nearest end of the range, adjusted for the statements decided with it.
    """

    statement: ClaimStatement
    ours: Estimate
    ns2: float | None
    status: StatementStatus
    p: float = math.nan


@dataclass(frozen=True)
class SingleSetupDecision:
    """A claim in one set-up: the values of the open parameters that matter for it (none in an alternative), verdict and statements."""

    values: Mapping[str, str]
    verdict: ClaimVerdict
    estimates: Sequence[StatementEstimate]


@dataclass(frozen=True)
class ClaimDecision:
    """A claim and its verdict.

    Attributes
    ----------
    claim : Claim
        The claim.
    verdict : Verdict
        The verdict over all admissible set-ups that were run; that of the main one if no other was run.
    estimates : sequence of StatementEstimate
        Its statements in the main set-up.
    setups : sequence of ClaimDecisionInSetup
        The claim in each admissible set-up that differs for it, the main one first; empty for a single set-up.
    alternatives : mapping of str to ClaimDecisionInSetup
        The claim under each alternative that changes its scenarios. These do not count for the verdict.
    """

    claim: Claim
    verdict: ClaimVerdict
    estimates: Sequence[StatementEstimate]
    setups: Sequence[SingleSetupDecision] = ()
    alternatives: Mapping[str, SingleSetupDecision] = field(default_factory=dict)


def decide_claims(claims: Sequence[Claim], runs: ResultOfNeed) -> list[ClaimDecision]:
    """The verdicts on claims from the results of their scenarios, in one set-up. Only this function and `combine_setup_verdicts` decide.

    The p-values of all statements of all these claims are adjusted together.
    """
    measured = [_statement_estimate_and_recorded_ns2_mean(statement, runs) for claim in claims for statement in claim.statements]
    adjusted = fdr_adjusted_p_values([_p_value_against_range(ours, statement.range) for statement, ours, _ in measured])
    weighed = iter(
        [
            StatementEstimate(*found, _status_of_statement(found[1], found[0].range, p), p)
            for found, p in zip(measured, adjusted, strict=True)
        ]
    )
    return [_decision_from_estimates(claim, [next(weighed) for _ in claim.statements]) for claim in claims]


def combine_setup_verdicts(
    main: ClaimDecision, setups: Sequence[SingleSetupDecision], alternatives: Mapping[str, SingleSetupDecision]
) -> ClaimDecision:
    """The verdict over admissible set-ups, the main one among them: the verdict on which all agree, otherwise that it depends."""
    verdicts = {setup.verdict for setup in setups} | {main.verdict}
    verdict = main.verdict if len(verdicts) == 1 else ClaimVerdict.DEPENDS
    return replace(main, verdict=verdict, setups=setups, alternatives=alternatives)


def _decision_from_estimates(claim: Claim, weighed: Sequence[StatementEstimate]) -> ClaimDecision:
    standings = {each.status for each in weighed}
    if StatementStatus.CONTRADICTED in standings:
        verdict = ClaimVerdict.DOES_NOT_HOLD if claim.own else ClaimVerdict.NOT_REPRODUCED
    elif standings == {StatementStatus.SUPPORTED}:
        verdict = ClaimVerdict.HOLDS if claim.own else ClaimVerdict.REPRODUCED
    else:
        verdict = ClaimVerdict.UNDECIDED
    return ClaimDecision(claim, verdict, weighed)


def _statement_estimate_and_recorded_ns2_mean(
    statement: ClaimStatement, runs: ResultOfNeed
) -> tuple[ClaimStatement, Estimate, float | None]:
    """A statement with our number and ns-2's in the unit shown."""
    shown, measured = statement.shown, statement.measured
    return statement, estimate_of_quantity(measured, runs).scaled(shown.factor), shown.scaled(measured.recorded_ns2_mean())


def estimate_of_quantity(measured: MeasuredQuantity, runs: ResultOfNeed) -> Estimate:
    """The mean of a quantity over seeds, with its interval unless nothing is random in the scenarios that it is measured in."""
    found = mean_with_interval(list(measured.values_by_seed(runs).values()))
    return found.without_interval() if _is_deterministic(measured, runs) else found


def _is_deterministic(measured: MeasuredQuantity, runs: ResultOfNeed) -> bool:
    """Whether none of its scenarios has randomness, so that its seeds do not show its variance."""
    needs = list(measured.required_scenarios())
    return bool(needs) and all(runs(need).alike for need in needs)


def _p_value_against_range(ours: Estimate, wanted: ClaimedRange) -> float:
    """The p-value of the mean against the nearest end of a range; NaN without an interval or a number."""
    ends = [end for end in (wanted.low, wanted.high) if math.isfinite(end)]
    if not ends or math.isnan(ours.half_width):
        return math.nan if math.isnan(ours.half_width) else 0.0
    if ours.half_width == 0 and ours.mean in ends:
        return 0.0  # all seeds equal the end; the range defines whether it is included
    return max(p_value(ours, end) for end in ends)


def _status_of_statement(ours: Estimate, wanted: ClaimedRange, p: float) -> StatementStatus:
    """Whether the mean is inside the range, outside, or too close to an end to decide; NaN decides nothing."""
    if not p <= 1 - CONFIDENCE + 1e-12:
        return StatementStatus.SPANNED
    return StatementStatus.SUPPORTED if wanted.contains(ours.mean) else StatementStatus.CONTRADICTED
