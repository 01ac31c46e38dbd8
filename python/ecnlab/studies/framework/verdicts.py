"""Verdicts of claims as text and data: for the terminal, the report, claims.csv, claims.json and the page of a study."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import combinations
from typing import Any

from ecnlab.display.json_values import non_finite_to_none
from ecnlab.studies.framework.claims import ClaimDecision, ClaimVerdict, SingleSetupDecision, StatementEstimate, StatementStatus
from ecnlab.studies.framework.model import format_with_interval

# Distinguishable without colour; a word follows each.
VERDICT_SIGNS = {
    ClaimVerdict.REPRODUCED: "✓",
    ClaimVerdict.NOT_REPRODUCED: "✗",
    ClaimVerdict.HOLDS: "✓",
    ClaimVerdict.DOES_NOT_HOLD: "✗",
    ClaimVerdict.UNDECIDED: "?",
    ClaimVerdict.DEPENDS: "~",
}
_SEVERAL_SETUPS_WORDS = {
    ClaimVerdict.HOLDS: "hold",
    ClaimVerdict.DOES_NOT_HOLD: "do not hold",
    ClaimVerdict.DEPENDS: "depend on the set-up",
}
STATUS_SIGNS = {StatementStatus.SUPPORTED: "✓", StatementStatus.CONTRADICTED: "✗", StatementStatus.SPANNED: "?"}

_CSV_COLUMNS = ("claim", "verdict", "statement", "range", "unit", "published", "ours", "half_width", "n", "ns2", "adjusted_p", "standing")


def verdict_counts_text(decisions: Sequence[ClaimDecision]) -> str:
    """Counts of the verdicts: "19 claims: 12 reproduced, 7 not reproduced; 3 questions of our own: 2 hold, 1 undecided"."""
    papers, own = ([decision for decision in decisions if decision.claim.own is ours] for ours in (False, True))
    return "; ".join(
        _verdict_counts_with_noun(found, noun) for found, noun in ((papers, "claim{}"), (own, "question{} of our own")) if found
    )


def _verdict_counts_with_noun(decisions: Sequence[ClaimDecision], noun: str) -> str:
    counts = Counter(decision.verdict for decision in decisions)
    words = {
        verdict: _SEVERAL_SETUPS_WORDS.get(verdict, verdict) if counts[verdict] > 1 else verdict
        for verdict in ClaimVerdict
        if counts[verdict]
    }
    counts_text = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items())
    return f"{len(decisions)} {noun.format('s' * (len(decisions) != 1))}: {counts_text}"


def deciding_statement(decision: ClaimDecision | SingleSetupDecision) -> StatementEstimate:
    """The deciding statement, for tables with one statement per claim: the first that prevents the claim from being reproduced.

    Of a claim that is reproduced it is the first with a published number.
    """
    for standing in (StatementStatus.CONTRADICTED, StatementStatus.SPANNED):
        for weighed in decision.estimates:
            if weighed.status == standing:
                return weighed
    return next((weighed for weighed in decision.estimates if weighed.statement.published is not None), decision.estimates[0])


def verdicts_of_setups_text(setups: Sequence[SingleSetupDecision]) -> str:
    """Number of admissible set-ups with each verdict: "reproduced in 7 of 9 set-ups, undecided in 2"; empty for a single set-up."""
    counts = Counter(setup.verdict for setup in setups)
    setups_by_verdict = [f"{verdict} in {counts[verdict]}" for verdict in ClaimVerdict if counts[verdict]]
    return ", ".join([f"{setups_by_verdict[0]} of {len(setups)} set-ups", *setups_by_verdict[1:]]) if setups_by_verdict else ""


def parameters_that_change_verdict(setups: Sequence[SingleSetupDecision]) -> list[str]:
    """The open parameters on which a verdict depends: two set-ups that differ in that parameter alone have different verdicts."""
    names = list(setups[0].values) if setups else []
    return [name for name in names if any(_changes_verdict_alone(name, one, other) for one, other in combinations(setups, 2))]


def _changes_verdict_alone(name: str, one: SingleSetupDecision, other: SingleSetupDecision) -> bool:
    differing = [key for key, value in one.values.items() if other.values[key] != value]
    return differing == [name] and one.verdict != other.verdict


def statement_statuses_text(decision: ClaimDecision) -> str:
    """Number of the claim's statements, and counts of their status, e.g. "3 statements: 2 supported, 1 spanned"."""
    counts = Counter(weighed.status for weighed in decision.estimates)
    status_counts = ", ".join(f"{counts[standing]} {standing}" for standing in StatementStatus if counts[standing])
    return f"{len(decision.estimates)} statement{'s' * (len(decision.estimates) != 1)}: {status_counts}"


def published_and_measured_texts(weighed: StatementEstimate) -> tuple[str, str, str]:
    """The published number, ours with its interval, and ns-2's, as text in the unit shown; empty where unknown."""
    shown = weighed.statement.shown
    published, unit = weighed.statement.published, f" {shown.unit}" if shown.unit else ""
    return (
        "" if published is None else f"{published:g}{unit}",
        format_with_interval(weighed.ours, shown.digits) + unit,
        "" if weighed.ns2 is None else f"{weighed.ns2:.{shown.digits}f}{unit}",
    )


def claimed_range_text(weighed: StatementEstimate) -> str:
    """The claimed range with its unit."""
    return f"{weighed.statement.range.words} {weighed.statement.shown.unit}".rstrip()


def why_claim_fails(
    decision: ClaimDecision, in_full: Mapping[str, ClaimVerdict], *, full: bool, seeds_in_full: int, of_study: bool = True
) -> tuple[str, str]:
    """The prefix that names the run, and the cause why a claim does not hold in it; both empty without a known cause.

    Reasons are written for a full run, whose verdicts are `in_full`; `full` is whether this run is one. If this run has
    another verdict, the prefix names both. Reasons hold for the study's own hosts; `of_study` is whether this run has them.
    """
    known = in_full.get(decision.claim.id, decision.verdict)
    why = "" if known.is_supported else decision.claim.why
    run = f"{seeds_in_full} seeds in all set-ups" if known == ClaimVerdict.DEPENDS else f"{seeds_in_full} seeds"
    if not of_study:
        return f"With the study's own hosts, simulated, and {run}: {known}.", why
    if known != decision.verdict:
        return f"With {run}: {known}.", why
    return ("Why." if full else f"Why, as {seeds_in_full} seeds show it.", why) if why else ("", "")


def decision_to_dict(decision: ClaimDecision, in_full: Mapping[str, ClaimVerdict]) -> dict[str, Any]:
    """A claim with its verdict as JSON values, and the verdict of a full run, to which `why` refers; null if unknown.

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
        "decided_by": decision.estimates.index(deciding_statement(decision)),
        "depends_on": parameters_that_change_verdict(decision.setups),
        "setups": [_claim_in_setup_to_dict(setup) for setup in decision.setups],
        "alternatives": {name: _claim_in_setup_to_dict(setup) for name, setup in decision.alternatives.items()},
        "statements": [_statement_to_dict(weighed) for weighed in decision.estimates],
    }


def _claim_in_setup_to_dict(setup: SingleSetupDecision) -> dict[str, Any]:
    """A claim in a set-up: the open parameters' values, the verdict, and each statement's number."""
    return {
        "values": dict(setup.values),
        "verdict": str(setup.verdict),
        "decided_by": setup.estimates.index(deciding_statement(setup)),
        "statements": [_statement_number_to_dict(weighed) for weighed in setup.estimates],
    }


def _statement_number_to_dict(weighed: StatementEstimate) -> dict[str, Any]:
    ours = weighed.ours
    return {
        "ours": non_finite_to_none(ours.mean),
        "half_width": non_finite_to_none(ours.half_width),
        "n": ours.n,
        "adjusted_p": non_finite_to_none(weighed.p),
        "standing": str(weighed.status),
    }


def _statement_to_dict(weighed: StatementEstimate) -> dict[str, Any]:
    statement = weighed.statement
    return {
        "statement": statement.text,
        "range": statement.range.words,
        "low": non_finite_to_none(statement.range.low),
        "high": non_finite_to_none(statement.range.high),
        "open": statement.range.open,
        "unit": statement.shown.unit,
        "digits": statement.shown.digits,
        "published": statement.published,
        "ns2": weighed.ns2,
        **_statement_number_to_dict(weighed),
    }


def decisions_as_csv(decisions: Sequence[ClaimDecision]) -> str:
    """A row for each statement of each claim."""
    text = StringIO()
    writer = csv.DictWriter(text, _CSV_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for decision in decisions:
        claim = {"claim": decision.claim.id, "verdict": str(decision.verdict)}
        writer.writerows(claim | _statement_to_dict(weighed) for weighed in decision.estimates)
    return text.getvalue()
