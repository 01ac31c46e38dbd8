"""Disagreements whose cause is known, from reference/ns2/explained.toml."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from ecnlab.errors import UsageError
from ecnlab.packet_traces import ns2

EXPLANATIONS_FILE = ns2.REFERENCE / "explained.toml"


@dataclass(frozen=True)
class ExplainedDifference:
    """The disagreements that it covers, and their cause.

    Patterns over file and column, texts that the row must have, and the largest difference as a share of ns-2's mean.
    """

    file: str
    column: str
    reason: str
    when: Mapping[str, str] = field(default_factory=dict)
    within: float = math.inf

    def covers_column_of_row(self, file: str, column: str, row: Mapping[str, str]) -> bool:
        """Whether the explanation covers a disagreement in `column` of `row` of `file`."""
        named = fnmatchcase(file, self.file) and fnmatchcase(column, self.column)
        return named and all(row.get(key) == value for key, value in self.when.items())


def read_explanations(path: Path = EXPLANATIONS_FILE) -> list[ExplainedDifference]:
    """The explanations of a file. Raises UsageError if one is incomplete."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("explained", [])
    try:
        return [ExplainedDifference(**entry) for entry in entries]
    except TypeError as error:
        raise UsageError(f"{path}: {error}") from None


def reason_for_difference(
    explanations: Sequence[ExplainedDifference], file: str, column: str, row: Mapping[str, str], share: float
) -> str | None:
    """The first explanation's reason for a difference of `share` of ns-2's mean, or None."""
    return next((e.reason for e in explanations if e.covers_column_of_row(file, column, row) and share <= e.within), None)
