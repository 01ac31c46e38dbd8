"""What became of claims, as text and data: for the terminal, the report, claims.csv, claims.json and the page of a study."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import combinations
from typing import Any

from ecnlab.studies.claims import Decision, InSetup, Standing, Verdict, Weighed
from ecnlab.studies.model import with_interval

# Told apart without colour, and beside a word.
SIGNS = {
    Verdict.REPRODUCED: "✓",
    Verdict.NOT_REPRODUCED: "✗",
    Verdict.HOLDS: "✓",
    Verdict.DOES_NOT_HOLD: "✗",
    Verdict.UNDECIDED: "?",
    Verdict.DEPENDS: "~",
}
_OF_SEVERAL = {Verdict.HOLDS: "hold", Verdict.DOES_NOT_HOLD: "do not hold", Verdict.DEPENDS: "depend on the set-up"}
STANDING_SIGNS = {Standing.SUPPORTED: "✓", Standing.CONTRADICTED: "✗", Standing.SPANNED: "?"}

_COLUMNS = ("claim", "verdict", "statement", "range", "unit", "published", "ours", "half_width", "n", "ns2", "adjusted_p", "standing")


def counted(decisions: Sequence[Decision]) -> str:
    """How many there are of each verdict: "19 claims: 12 reproduced, 7 not reproduced; 3 questions of our own: 2 hold, 1 undecided"."""
    papers, own = ([decision for decision in decisions if decision.claim.own is ours] for ours in (False, True))
    return "; ".join(_counted(found, noun) for found, noun in ((papers, "claim{}"), (own, "question{} of our own")) if found)


def _counted(decisions: Sequence[Decision], noun: str) -> str:
    counts = Counter(decision.verdict for decision in decisions)
    words = {verdict: _OF_SEVERAL.get(verdict, verdict) if counts[verdict] > 1 else verdict for verdict in Verdict if counts[verdict]}
    told = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items())
    return f"{len(decisions)} {noun.format('s' * (len(decisions) != 1))}: {told}"


def deciding(decision: Decision | InSetup) -> Weighed:
    """The statement that stands for the others where there is room for one: the first that stands in the way of the claim.

    Of a claim that is reproduced it is the first with a published number.
    """
    for standing in (Standing.CONTRADICTED, Standing.SPANNED):
        for weighed in decision.weighed:
            if weighed.standing == standing:
                return weighed
    return next((weighed for weighed in decision.weighed if weighed.statement.published is not None), decision.weighed[0])


def over_setups(setups: Sequence[InSetup]) -> str:
    """How many admissible set-ups have each verdict: "reproduced in 7 of 9 set-ups, undecided in 2"; empty where there is but one."""
    counts = Counter(setup.verdict for setup in setups)
    told = [f"{verdict} in {counts[verdict]}" for verdict in Verdict if counts[verdict]]
    return ", ".join([f"{told[0]} of {len(setups)} set-ups", *told[1:]]) if told else ""


def depends_on(setups: Sequence[InSetup]) -> list[str]:
    """The open parameters on which a verdict depends: two set-ups that differ in that parameter alone have different verdicts."""
    names = list(setups[0].values) if setups else []
    return [name for name in names if any(_turns(name, one, other) for one, other in combinations(setups, 2))]


def _turns(name: str, one: InSetup, other: InSetup) -> bool:
    differing = [key for key, value in one.values.items() if other.values[key] != value]
    return differing == [name] and one.verdict != other.verdict


def standings(decision: Decision) -> str:
    """How many statements the claim makes, and what became of them, e.g. "3 statements: 2 supported, 1 spanned"."""
    counts = Counter(weighed.standing for weighed in decision.weighed)
    told = ", ".join(f"{counts[standing]} {standing}" for standing in Standing if counts[standing])
    return f"{len(decision.weighed)} statement{'s' * (len(decision.weighed) != 1)}: {told}"


def numbers(weighed: Weighed) -> tuple[str, str, str]:
    """What was published, ours with its interval, and ns-2's, as text in the unit shown; empty where there is none."""
    shown = weighed.statement.shown
    published, unit = weighed.statement.published, f" {shown.unit}" if shown.unit else ""
    return (
        "" if published is None else f"{published:g}{unit}",
        with_interval(weighed.ours, shown.digits) + unit,
        "" if weighed.ns2 is None else f"{weighed.ns2:.{shown.digits}f}{unit}",
    )


def wanted(weighed: Weighed) -> str:
    """Where the number has to lie, with its unit."""
    return f"{weighed.statement.range.words} {weighed.statement.shown.unit}".rstrip()


def explained(
    decision: Decision, in_full: Mapping[str, Verdict], *, full: bool, seeds_in_full: int, of_study: bool = True
) -> tuple[str, str]:
    """Why a claim does not hold, behind the words that say of which run that is known; both empty if there is nothing to say.

    Reasons are written for a full run, whose verdicts are `in_full`; `full` is whether this run is one. Where this run's
    verdict is another, the words say so. They are of the study's own hosts; `of_study` is whether those of this run are.
    """
    known = in_full.get(decision.claim.id, decision.verdict)
    why = "" if known.stands else decision.claim.why
    run = f"{seeds_in_full} seeds in all set-ups" if known == Verdict.DEPENDS else f"{seeds_in_full} seeds"
    if not of_study:
        return f"With the study's own hosts, simulated, and {run}: {known}.", why
    if known != decision.verdict:
        return f"With {run}: {known}.", why
    return ("Why." if full else f"Why, as {seeds_in_full} seeds show it.", why) if why else ("", "")


def plain(decision: Decision, in_full: Mapping[str, Verdict]) -> dict[str, Any]:
    """A claim with its verdict as JSON has it, and that of a full run, to which `why` belongs; null where there is none.

    Numbers are in the unit shown; `decided_by` counts from 0.
    """
    claim = decision.claim
    return {
        "id": claim.id,
        "sentence": claim.sentence,
        "quote": claim.quote,
        "verdict": str(decision.verdict),
        "verdict_in_full": in_full.get(claim.id),
        "figures": list(claim.figures),
        "own": claim.own,
        "reading": claim.reading,
        "why": claim.why,
        "decided_by": decision.weighed.index(deciding(decision)),
        "depends_on": depends_on(decision.setups),
        "setups": [_plain_setup(setup) for setup in decision.setups],
        "alternatives": {name: _plain_setup(setup) for name, setup in decision.alternatives.items()},
        "statements": [_plain_statement(weighed) for weighed in decision.weighed],
    }


def _plain_setup(setup: InSetup) -> dict[str, Any]:
    """A claim in a set-up: the open parameters' values, the verdict, and each statement's number."""
    return {
        "values": dict(setup.values),
        "verdict": str(setup.verdict),
        "decided_by": setup.weighed.index(deciding(setup)),
        "statements": [_plain_number(weighed) for weighed in setup.weighed],
    }


def _plain_number(weighed: Weighed) -> dict[str, Any]:
    ours = weighed.ours
    return {
        "ours": _finite(ours.mean),
        "half_width": _finite(ours.half_width),
        "n": ours.n,
        "adjusted_p": _finite(weighed.p),
        "standing": str(weighed.standing),
    }


def _plain_statement(weighed: Weighed) -> dict[str, Any]:
    statement = weighed.statement
    return {
        "statement": statement.text,
        "range": statement.range.words,
        "low": _finite(statement.range.low),
        "high": _finite(statement.range.high),
        "open": statement.range.open,
        "unit": statement.shown.unit,
        "digits": statement.shown.digits,
        "published": statement.published,
        "ns2": weighed.ns2,
        **_plain_number(weighed),
    }


def as_csv(decisions: Sequence[Decision]) -> str:
    """A row for each statement of each claim."""
    text = StringIO()
    writer = csv.DictWriter(text, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for decision in decisions:
        claim = {"claim": decision.claim.id, "verdict": str(decision.verdict)}
        writer.writerows(claim | _plain_statement(weighed) for weighed in decision.weighed)
    return text.getvalue()


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
