"""Difference of one quantity between two sets of runs: paired by seed where they share seeds, else Welch's interval."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ecnlab.stats.estimates import (
    CONFIDENCE,
    Estimate,
    mean_with_interval,
    p_value,
    paired_difference,
    permutation_p_value,
    sign_flip_p_value,
    welch_half_width,
    welch_p_value,
)

_MIN_PAIRS = 2
# Share of the largest value up to which differences of rounded values are equal.
_ROUNDING_SHARE = 8 * sys.float_info.epsilon


@dataclass(frozen=True)
class SampleBySeed:
    """A quantity's values by seed, and whether all seeds are identical because nothing in the scenario is random."""

    values: Mapping[int, float]
    alike: bool = False


@dataclass(frozen=True)
class QuantityDifference:
    """B - A of one quantity.

    Attributes
    ----------
    a, b : Estimate
        The means of both, over the seeds that are compared.
    change : Estimate
        The mean of B - A with its interval. One seed, or identical seeds in both, give no interval.
    paired : bool
        Whether `change` is a mean over pairs of runs with equal seeds; else it is the difference of two independent means.
    """

    a: Estimate
    b: Estimate
    change: Estimate
    paired: bool

    @property
    def relative_change(self) -> Estimate:
        """The change as a share of A's mean; infinite where A's mean is 0."""
        base = abs(self.a.mean)
        if base == 0:
            share = math.copysign(math.inf, self.change.mean) if self.change.mean else self.change.mean
            return Estimate(share, math.nan, math.nan, self.change.n)
        return self.change.scaled(1 / base)

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the hypothesis of no difference, from the same test as the interval.

        NaN where nothing is tested: without an interval, or where the two have equal values at every seed. Values without spread have no
        t distribution: a few equal counts, maxima or percentiles can be chance. Their p-value is that of the exact permutation test
        (Fisher 1935; Pitman 1937).
        """
        if math.isnan(self.change.half_width) or self.change.sd == self.change.mean == 0:
            return math.nan
        if self.change.sd == 0:
            return sign_flip_p_value(self.change) if self.paired else permutation_p_value(self.a, self.b)
        return p_value(self.change) if self.paired else welch_p_value(self.a, self.b)

    @property
    def is_apart(self) -> bool:
        """Whether the interval of this quantity excludes 0; without an interval, whether the means differ at all."""
        width = 0.0 if math.isnan(self.change.half_width) else self.change.half_width
        return abs(self.change.mean) > width


def difference_of_samples(a: SampleBySeed, b: SampleBySeed, confidence: float = CONFIDENCE) -> QuantityDifference:
    """B - A, paired over the shared seeds if there are at least two, or if both have the same single seed."""
    if can_pair_by_seed(a.values, b.values):
        shared = sorted(a.values.keys() & b.values.keys())
        of_a, of_b = ([sample.values[seed] for seed in shared] for sample in (a, b))
        change = _without_rounding_error(
            paired_difference(of_b, of_a, confidence, alike=a.alike and b.alike), max(map(abs, [*of_a, *of_b]))
        )
        return QuantityDifference(_estimate_of_sample(of_a, confidence, a), _estimate_of_sample(of_b, confidence, b), change, True)
    mean_a, mean_b = (_estimate_of_sample(list(sample.values.values()), confidence, sample) for sample in (a, b))
    return QuantityDifference(mean_a, mean_b, _unpaired_difference(mean_a, mean_b, confidence, alike=a.alike and b.alike), False)


def _without_rounding_error(change: Estimate, largest: float) -> Estimate:
    """The mean difference of values up to `largest`, with no spread where they differ by rounding alone, as 0.2 - 0.1 and 0.4 - 0.3 do."""
    if not 0 < change.sd <= _ROUNDING_SHARE * largest:
        return change
    mean = 0.0 if abs(change.mean) <= _ROUNDING_SHARE * largest else change.mean
    return replace(change, mean=mean, sd=0.0, half_width=0.0 * change.half_width)


def can_pair_by_seed(a: Mapping[int, object], b: Mapping[int, object]) -> bool:
    """Whether two sets of seeds are compared pair by pair."""
    shared = len(a.keys() & b.keys())
    return shared >= _MIN_PAIRS or (shared == 1 and len(a) == len(b) == 1)


def _estimate_of_sample(values: list[float], confidence: float, sample: SampleBySeed) -> Estimate:
    found = mean_with_interval(values, confidence)
    return found.without_interval() if sample.alike else found


def _unpaired_difference(a: Estimate, b: Estimate, confidence: float, *, alike: bool) -> Estimate:
    enough = a.n > 1 and b.n > 1 and not alike
    width = welch_half_width(a.sd, a.n, b.sd, b.n, confidence) if enough and math.isfinite(a.sd + b.sd) else math.nan
    return Estimate(b.mean - a.mean, math.hypot(a.sd, b.sd), width, min(a.n, b.n))
