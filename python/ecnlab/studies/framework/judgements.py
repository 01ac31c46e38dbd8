"""Judgements of each claim (fair, strict or loose) by two readers who saw only the paper and the claim's statements.

`judgements.json` in the study's folder has them. A judgement belongs to the statements that the readers saw: it has a digest of them.
`python -m ecnlab.studies.framework.judgements NAME` prints what a reader is given, with the digests.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ecnlab import studies
from ecnlab.studies.framework.claims import Claim
from ecnlab.studies.framework.model import Study

FAIR_WORD, STRICT_WORD, LOOSE_WORD = "fair", "strict", "loose"


@dataclass(frozen=True)
class ClaimJudgements:
    """The readers' judgements of one claim: a word each, and a reason if given."""

    words: Sequence[str]
    reasons: Sequence[str]
    digest: str


def reader_judgements_of_study(name: str) -> dict[str, ClaimJudgements]:
    """The judgements of a study by claim; empty where no readers were asked."""
    path = studies.folder_of_study(name) / "judgements.json"
    if not path.is_file():
        return {}
    found: Mapping[str, Mapping[str, object]] = json.loads(path.read_text(encoding="utf-8"))
    return {id_: ClaimJudgements(**judged) for id_, judged in found.items()}  # type: ignore[arg-type]


def claim_digest(claim: Claim) -> str:
    """A digest of the judged text: the claim's sentence, reading and statements with their ranges."""
    return hashlib.sha256(claim_as_readers_see_it(claim).encode()).hexdigest()[:16]


def claim_as_readers_see_it(claim: Claim) -> str:
    """A claim as the readers see it."""
    lines = [f"{claim.id}: {claim.sentence}", f"the paper: {claim.quote}"]
    if claim.reading:
        lines.append(f"how it is read: {claim.reading}")
    for statement in claim.statements:
        published = "" if statement.published is None else f" (printed: {statement.published:g})"
        lines.append(f"  {statement.text}: {statement.range.words} {statement.shown.unit}".rstrip() + published)
    return "\n".join(lines)


def claims_of_paper(study: Study) -> list[Claim]:
    """The judged claims: those of the paper."""
    return [claim for claim in study.claims if not claim.own]


def print_claims_for_readers(arguments: Sequence[str]) -> int:
    """Print the claims of a study as readers see them; returns the exit code."""
    if len(arguments) != 1:
        print("python -m ecnlab.studies.framework.judgements NAME: a study", file=sys.stderr)
        return 2
    for claim in claims_of_paper(studies.find_study(arguments[0])):
        print(f"{claim_as_readers_see_it(claim)}\ndigest: {claim_digest(claim)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(print_claims_for_readers(sys.argv[1:]))
