"""Means over seeds, and the test for their equality.

Two means agree when their difference is within the half width of its 99 % interval (Welch), or within 1 % of ns-2's mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ecnlab.stats.estimates import mean_with_interval, welch_half_width

CONFIDENCE = 0.99
TOLERANCE = 0.01


@dataclass(frozen=True)
class SampleStatistics:
    """Mean and standard deviation over n seeds."""

    mean: float
    sd: float
    n: int


def allowed_difference(ns2: SampleStatistics, ours: SampleStatistics) -> float:
    """Maximum difference of two means that counts as agreement."""
    return max(welch_half_width(ns2.sd, ns2.n, ours.sd, ours.n, CONFIDENCE), TOLERANCE * abs(ns2.mean))


def means_agree(ns2: SampleStatistics, ours: SampleStatistics) -> bool:
    """Whether the two means count as equal."""
    return abs(ours.mean - ns2.mean) <= allowed_difference(ns2, ours)


def sample_from_row(row: Mapping[str, str], column: str) -> SampleStatistics:
    """The sample in `column`, `column`_sd and `seeds` of a row. Raises ValueError if one is not a number."""
    return SampleStatistics(float(row[column]), float(row.get(f"{column}_sd") or 0.0), int(row["seeds"]))


def sample_over_seeds(values: Sequence[float]) -> SampleStatistics:
    """The sample of our values, one per seed."""
    found = mean_with_interval(values)
    return SampleStatistics(found.mean, found.sd if found.n > 1 else 0.0, found.n)
