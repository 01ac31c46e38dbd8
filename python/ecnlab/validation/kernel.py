"""Cases of a real kernel: one connection, Linux's packets compared with ours."""

from __future__ import annotations

import json
import tomllib
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.errors import UsageError
from ecnlab.validation.case_files import case_files, case_stem, outcomes_of_cases, read_case_text

REFERENCE_FOLDER = Path(__file__).parent.parent / "reference" / "linux"
CASES_FOLDER = REFERENCE_FOLDER / "cases"

#: The side of a case that ecnlab simulates.
REPLAY_MODES = ("receiver", "sender", "closed")
#: Verdicts, in the order in which they are counted. The last two fail.
VERDICTS = ("exact", "totals", "not comparable", "explained", "not built", "differs")
FAILING_VERDICTS = ("not built", "differs")


@dataclass(frozen=True)
class CaseResultInMode:
    """Outcome of a case in one mode.

    `agreed` of `packets` are the same before the first difference, and `excerpt` shows both runs around it.
    """

    way: str
    verdict: str
    why: str | None
    agreed: int
    packets: int
    excerpt: Sequence[str]

    @property
    def has_failed(self) -> bool:
        """Whether our packets differ from the kernel's without a declared reason."""
        return self.verdict in FAILING_VERDICTS


@dataclass(frozen=True)
class KernelCaseOutcome:
    """Result of one case."""

    name: str
    kind: str
    judgements: Sequence[CaseResultInMode]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class ExplainedKernelDifference:
    """Differences with a known cause: patterns over case and mode, and the reason."""

    case: str
    reason: str
    way: str = "*"

    def covers_case_in_mode(self, case: str, way: str) -> bool:
        """Whether the reason covers a case that differs in one mode."""
        return fnmatchcase(case, self.case) and fnmatchcase(way, self.way)


def read_explanations_of_kernel_cases(path: Path = REFERENCE_FOLDER / "explained.toml") -> list[ExplainedKernelDifference]:
    """The declared reasons. Raises UsageError if one is incomplete."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("explained", [])
    try:
        return [ExplainedKernelDifference(**entry) for entry in entries]
    except TypeError as error:
        raise UsageError(f"{path}: {error}") from None


def replay_kernel_cases_of_folder(
    folder: Path | None = None, ways: Sequence[str] = REPLAY_MODES, only: str = "*"
) -> list[KernelCaseOutcome]:
    """The cases of a folder whose name or file name matches a pattern, sorted by file name; the packaged cases without a folder.

    Raises UsageError if there is none, naming all files that are no case.
    """
    folder = folder or CASES_FOLDER
    paths = case_files(folder)
    chosen = [path for path in paths if fnmatchcase(case_stem(path), only) or fnmatchcase(_read_case_name(path), only)]
    if not chosen:
        raise UsageError(f"case {only!r}: not in {folder}; fix: use one of {', '.join(map(case_stem, paths))}")
    known = read_explanations_of_kernel_cases()
    return outcomes_of_cases(chosen, lambda path: replay_kernel_case(path, ways, known))


def replay_kernel_case(
    path: Path, ways: Sequence[str] = REPLAY_MODES, known: Sequence[ExplainedKernelDifference] = ()
) -> KernelCaseOutcome:
    """One case. Raises UsageError if the file is not a case."""
    try:
        text = read_case_text(path)
        results: list[Mapping[str, Any]] = [json.loads(_core.kernel_case(text, way)) for way in ways]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UsageError(f"{path} is not a case of a real kernel: {error}") from None
    name, kind = results[0]["name"], results[0]["kind"]
    judgements = [
        CaseResultInMode(way, told["verdict"], told["why"], told["agreed"], told["packets"], tuple(told["excerpt"]))
        for way, told in zip(ways, results, strict=True)
    ]
    return KernelCaseOutcome(name, kind, [_with_explanation(name, judgement, known) for judgement in judgements])


def verdict_counts_by_mode(outcomes: Sequence[KernelCaseOutcome]) -> dict[str, dict[str, int]]:
    """Number of cases with each verdict, for each mode."""
    counts = {judgement.way: Counter[str]() for outcome in outcomes for judgement in outcome.judgements}
    for outcome in outcomes:
        for judgement in outcome.judgements:
            counts[judgement.way][judgement.verdict] += 1
    return {way: {verdict: count[verdict] for verdict in VERDICTS} for way, count in counts.items()}


def _read_case_name(path: Path) -> str:
    """The name of a case from its file; "" if the file is not a case."""
    try:
        return str(json.loads(read_case_text(path))["name"])
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error):
        return ""


def _with_explanation(case: str, judgement: CaseResultInMode, known: Sequence[ExplainedKernelDifference]) -> CaseResultInMode:
    reason = next((explanation.reason for explanation in known if explanation.covers_case_in_mode(case, judgement.way)), None)
    if reason is None or not judgement.has_failed:
        return judgement
    return replace(judgement, verdict="explained", why=f"{reason} ({judgement.why})")
