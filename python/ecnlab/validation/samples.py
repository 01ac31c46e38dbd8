"""Means over seeds, and when two of them count as equal.

Two means agree when their difference is within the half width of its 99 % interval (Welch), or within 1 % of ns-2's mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ecnlab.stats.estimates import estimate, welch_half_width

CONFIDENCE = 0.99
TOLERANCE = 0.01


@dataclass(frozen=True)
class Sample:
    """Mean and standard deviation over n seeds."""

    mean: float
    sd: float
    n: int


def allowed_difference(ns2: Sample, ours: Sample) -> float:
    """The largest difference of two means that still counts as agreement."""
    return max(welch_half_width(ns2.sd, ns2.n, ours.sd, ours.n, CONFIDENCE), TOLERANCE * abs(ns2.mean))


def agree(ns2: Sample, ours: Sample) -> bool:
    """Whether the two means count as equal."""
    return abs(ours.mean - ns2.mean) <= allowed_difference(ns2, ours)


def from_row(row: Mapping[str, str], column: str) -> Sample:
    """The sample in `column`, `column`_sd and `seeds` of a row. Raises ValueError if one is no number."""
    return Sample(float(row[column]), float(row.get(f"{column}_sd") or 0.0), int(row["seeds"]))


def over_seeds(values: Sequence[float]) -> Sample:
    """The sample of our values, one a seed."""
    found = estimate(values)
    return Sample(found.mean, found.sd if found.n > 1 else 0.0, found.n)
