"""Claims: what a paper says, as statements about measured quantities, and the one rule that decides them.

A claim is a sentence of the paper and the statements that it makes. A statement says in which range a measured quantity lies; the
quantity is a column of a run (`Of`), a change in per cent (`Change`) or a gap (`Gap`) between two of them, paired by seed, or several of
them folded into one (`Over`):

    Claim("A1", "ECN's goodput is above RED's", [
        Statement("60 flows", Change(Of(ecn, GOODPUT), Of(red, GOODPUT)), above(0), PERCENT, published=12.0),
    ])

`decide` takes the 95 % interval of the quantity's mean over seeds: inside the range it supports the statement, outside it contradicts it,
else it spans an end of the range. A claim is reproduced if all its statements are supported, not reproduced if one is contradicted,
and undecided else. There is no other way to a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from ecnlab.analysis.stats import Estimate, estimate
from ecnlab.studies.model import Need

if TYPE_CHECKING:
    from ecnlab.results import Result

Runs = Callable[[Need], "Result"]
BySeed = Mapping[int, float]


class Measured(Protocol):
    """A quantity that has a value for each seed."""

    def needs(self) -> Iterator[Need]:
        """The scenarios that it is measured in."""

    def values(self, runs: Runs) -> BySeed:
        """Its value for each seed."""

    def ns2(self) -> float | None:
        """ns-2's mean, where it is known."""


@dataclass(frozen=True)
class Of:
    """A quantity of a scenario: a column of `total`, or of the group's, queue's or band's row; or a function that measures it.

    Attributes
    ----------
    need : Need
        The scenario.
    quantity : str or callable
        A column's name, or what gives the values of a result, one a seed in the order of its seeds.
    group, queue, band : str, optional
        Whose row it is, as for `Result.values`.
    known : float, optional
        ns-2's mean of it, in the column's unit.
    """

    need: Need
    quantity: str | Callable[[Result], Sequence[float]]
    group: str | None = None
    queue: str | None = None
    band: str | None = None
    known: float | None = None

    def needs(self) -> Iterator[Need]:
        """The scenario."""
        yield self.need

    def values(self, runs: Runs) -> BySeed:
        """Its value for each seed."""
        result = runs(self.need)
        if callable(self.quantity):
            found = self.quantity(result)
        else:
            found = result.values(self.quantity, group=self.group, queue=self.queue, band=self.band)
        return dict(zip(result.seeds, found, strict=True))

    def ns2(self) -> float | None:
        """ns-2's mean, where it is known."""
        return self.known


@dataclass(frozen=True)
class Over:
    """Several quantities made one, seed by seed, by `fold`, as `fmean`, `max` and `min`: draws that they share are shared in it."""

    fold: Callable[[Sequence[float]], float]
    parts: Sequence[Measured]

    def needs(self) -> Iterator[Need]:
        """The scenarios of all of them."""
        for part in self.parts:
            yield from part.needs()

    def values(self, runs: Runs) -> BySeed:
        """What `fold` makes of the values of each seed that all have."""
        found = [part.values(runs) for part in self.parts]
        return {seed: self._folded([values[seed] for values in found]) for seed in found[0] if all(seed in values for values in found)}

    def ns2(self) -> float | None:
        """What `fold` makes of ns-2's means, where all are known."""
        known = [value for value in (part.ns2() for part in self.parts) if value is not None]
        return self._folded(known) if len(known) == len(self.parts) else None

    def _folded(self, values: Sequence[float]) -> float:
        """What `fold` makes of them; NaN if one of them is, which `max` and `min` would pass over."""
        return math.nan if any(map(math.isnan, values)) else self.fold(values)


class Change(Over):
    """How far `a` lies above `b`, as a share of `b`; NaN where that is 0."""

    def __init__(self, a: Measured, b: Measured) -> None:
        super().__init__(lambda pair: ratio(*pair) - 1, (a, b))


class Gap(Over):
    """How far `a` lies above `b`, in their unit."""

    def __init__(self, a: Measured, b: Measured) -> None:
        super().__init__(lambda pair: pair[0] - pair[1], (a, b))


def ratio(a: float, b: float) -> float:
    """a over b; NaN where b is 0."""
    return a / b if b else math.nan


@dataclass(frozen=True)
class Range:
    """Where a quantity lies if the statement holds, in the unit in which it is shown; `words` say it.

    Both ends are included, unless the range is `open` at them.
    """

    low: float
    high: float
    words: str
    open: bool = False

    def holds(self, value: float) -> bool:
        """Whether a value lies in it."""
        return self.low < value < self.high if self.open else self.low <= value <= self.high


def above(limit: float) -> Range:
    """More than `limit`."""
    return Range(limit, math.inf, f"above {limit:g}", open=True)


def below(limit: float) -> Range:
    """Less than `limit`."""
    return Range(-math.inf, limit, f"below {limit:g}", open=True)


def at_least(limit: float) -> Range:
    """`limit` or more."""
    return Range(limit, math.inf, f"at least {limit:g}")


def at_most(limit: float) -> Range:
    """`limit` or less."""
    return Range(-math.inf, limit, f"at most {limit:g}")


def between(low: float, high: float) -> Range:
    """From `low` to `high`."""
    return Range(low, high, f"{low:g} to {high:g}")


def about(value: float) -> Range:
    """How every "about" of a paper is read here: from half the value to one and a half of it."""
    low, high = sorted((0.5 * value, 1.5 * value))
    return Range(low, high, f"about {value:g}: {low:g} to {high:g}")


@dataclass(frozen=True)
class Shown:
    """The unit in which a quantity is shown and compared: its factor, its name, and how many decimals."""

    factor: float
    unit: str
    digits: int


PLAIN = Shown(1, "", 4)
COUNT = Shown(1, "", 1)
PERCENT = Shown(100, "%", 1)
POINTS = Shown(100, "% points", 2)  # of a gap between two shares or two gains
MBPS = Shown(1e-6, "Mbit/s", 3)
KBPS = Shown(1e-3, "kbit/s", 1)
MS = Shown(1e3, "ms", 2)
SECONDS = Shown(1, "s", 2)


@dataclass(frozen=True)
class Statement:
    """One part of a claim: the quantity lies in the range. `published` is the paper's number for it, in the unit shown."""

    text: str
    measured: Measured
    range: Range
    shown: Shown = PLAIN
    published: float | None = None


def peak(at: str, levels: Mapping[str, Measured], shown: Shown = PLAIN, setting: str = "") -> list[Statement]:
    """The statements that the quantity is largest `at` one of the levels, each named as the report shows it, in a setting."""
    others = {name: other for name, other in levels.items() if name != at}
    return [Statement(_compared(setting, at, name), Gap(levels[at], other), above(0), shown) for name, other in others.items()]


def order(levels: Mapping[str, Measured], shown: Shown = PLAIN, setting: str = "") -> list[Statement]:
    """The statements that each level lies above the next one, in a setting."""
    pairs = pairwise(levels.items())
    return [Statement(_compared(setting, one, other), Gap(a, b), above(0), shown) for (one, a), (other, b) in pairs]


def _compared(setting: str, one: str, other: str) -> str:
    return f"{setting}: {one} over {other}" if setting else f"{one} over {other}"


@dataclass(frozen=True)
class Claim:
    """What a paper says.

    Attributes
    ----------
    id : str
        Its name in the study, e.g. "A1".
    sentence : str
        What the paper says, in a sentence of ours.
    figures : sequence of str
        The numbers of the figures and tables that it is read from, e.g. "4.7".
    statements : sequence of Statement
        What it says, all of it.
    reading : str
        How its words were made ranges, where that is a choice.
    why : str
        Why it does not hold, or not clearly, in a full run, if that is known.
    own : bool
        Whether the laboratory itself asks it and no paper says it.
    """

    id: str
    sentence: str
    figures: Sequence[str]
    statements: Sequence[Statement]
    reading: str = ""
    why: str = ""
    own: bool = False

    def needs(self) -> Iterator[Need]:
        """The scenarios that decide it."""
        for statement in self.statements:
            yield from statement.measured.needs()


class Verdict(StrEnum):
    """What becomes of a claim. What a paper says is reproduced or not; what the laboratory itself asks holds or does not."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    UNDECIDED = "undecided"

    @property
    def stands(self) -> bool:
        """Whether all statements of the claim are supported."""
        return self in (Verdict.REPRODUCED, Verdict.HOLDS)


class Standing(StrEnum):
    """What the interval says of a statement."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    SPANNED = "spanned"


@dataclass(frozen=True)
class Weighed:
    """A statement with what was measured, ours and ns-2's in the unit shown, and what follows for it."""

    statement: Statement
    ours: Estimate
    ns2: float | None
    standing: Standing


@dataclass(frozen=True)
class Decision:
    """A claim, its verdict, and the statements that led to it."""

    claim: Claim
    verdict: Verdict
    weighed: Sequence[Weighed]


def decide(claim: Claim, runs: Runs) -> Decision:
    """The verdict on a claim from the results of its scenarios. This is the only place where a verdict is made."""
    weighed = [_weigh(statement, runs) for statement in claim.statements]
    standings = {each.standing for each in weighed}
    if Standing.CONTRADICTED in standings:
        verdict = Verdict.DOES_NOT_HOLD if claim.own else Verdict.NOT_REPRODUCED
    elif standings == {Standing.SUPPORTED}:
        verdict = Verdict.HOLDS if claim.own else Verdict.REPRODUCED
    else:
        verdict = Verdict.UNDECIDED
    return Decision(claim, verdict, weighed)


def _weigh(statement: Statement, runs: Runs) -> Weighed:
    factor = statement.shown.factor
    ours = estimated(statement.measured, runs).scaled(factor)
    known = statement.measured.ns2()
    return Weighed(statement, ours, None if known is None else known * factor, _standing(ours, statement.range))


def estimated(measured: Measured, runs: Runs) -> Estimate:
    """The mean of a quantity over seeds, with its interval unless nothing is random in the scenarios that it is measured in."""
    found = estimate(list(measured.values(runs).values()))
    return found.without_interval() if _alike(measured, runs) else found


def _alike(measured: Measured, runs: Runs) -> bool:
    """Whether nothing is random in any scenario of it, so that its seeds say nothing of how it varies."""
    needs = list(measured.needs())
    return bool(needs) and all(runs(need).alike for need in needs)


def _standing(ours: Estimate, wanted: Range) -> Standing:
    """What an interval says of a range; without an interval, or with NaN, nothing."""
    if wanted.holds(ours.low) and wanted.holds(ours.high):
        return Standing.SUPPORTED
    if ours.high < wanted.low or wanted.high < ours.low:
        return Standing.CONTRADICTED
    if wanted.open and (ours.high == wanted.low or ours.low == wanted.high):
        return Standing.CONTRADICTED
    return Standing.SPANNED
