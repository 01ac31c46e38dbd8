"""Means with Student-t intervals over seeds, paired differences, Welch's comparison of two means, and p-values adjusted for many tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ecnlab.errors import UsageError
from ecnlab.stats.student_t import two_sided_t_quantile, two_sided_tail_probability

CONFIDENCE = 0.95
_MIN_SAMPLES_FOR_SPREAD = 2


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its interval.

    Attributes
    ----------
    mean, sd : float
        Mean and standard deviation over the seeds.
    half_width : float
        Half width of the interval; NaN with one seed or with identical seeds, which have no interval.
    n : int
        Number of seeds.
    """

    mean: float
    sd: float
    half_width: float
    n: int

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half_width

    def without_interval(self) -> Estimate:
        """The same mean with NaN as half width, for seeds that are identical by construction."""
        return replace(self, half_width=math.nan)

    def scaled(self, factor: float) -> Estimate:
        """The same estimate in another unit."""
        return Estimate(self.mean * factor, self.sd * abs(factor), self.half_width * abs(factor), self.n)


def mean_with_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Mean and Student-t interval of the mean: mean +- t(n - 1) sd / sqrt(n).

    A NaN among the values makes the mean NaN: a quantity that is undefined in some seed has no mean.
    Raises UsageError if the confidence is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence: {confidence!r} must be above 0 and below 1")
    n = len(values)
    if n > 1 and all(value == values[0] for value in values):
        return Estimate(values[0], 0.0, 0.0, n)  # exact; sum and division would round
    mean = math.fsum(values) / n if n else math.nan
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1)) if n > 1 else math.nan
    half_width = two_sided_t_quantile(confidence, n - 1) * sd / math.sqrt(n) if n > 1 else math.nan
    return Estimate(mean, sd, half_width, n)


def paired_difference(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE, *, alike: bool = False) -> Estimate:
    """Mean of a - b over seeds with its interval.

    Parameters
    ----------
    a, b : sequence of float
        Values of two results; a[i] and b[i] come from the same seed, so shared random draws cancel.
    confidence : float
        Coverage of the interval, the probability that it contains the true difference.
    alike : bool
        Whether all seeds of both results are identical (`result.alike`) because nothing is random; the difference then has no interval.

    Raises
    ------
    UsageError
        The lengths differ, or the confidence is not between 0 and 1.
    """
    if len(a) != len(b):
        raise UsageError(f"paired values need equal lengths, got {len(a)} and {len(b)}")
    found = mean_with_interval([one - other for one, other in zip(a, b, strict=True)], confidence)
    return found.without_interval() if alike else found


def welch_half_width(sd_a: float, n_a: int, sd_b: float, n_b: int, confidence: float = 0.99) -> float:
    """Half width of the interval of the difference of two independent means.

    sqrt(sd_a^2 / n_a + sd_b^2 / n_b) times t at Welch and Satterthwaite's degrees of freedom.
    """
    error, freedom = _welch_error_and_freedom(sd_a, n_a, sd_b, n_b)
    return two_sided_t_quantile(confidence, freedom) * error if error > 0 else 0.0


def sign_flip_p_value(difference: Estimate) -> float:
    """Two-sided p-value of the exact sign-flip test of n equal paired differences, to which Student's t does not apply.

    Of the 2^n equally likely assignments of signs, two have a mean as far from 0: 2 / 2^n. It is 1 for differences of 0, and NaN without
    an interval. Fisher, The Design of Experiments (1935), section 21.
    """
    if math.isnan(difference.half_width):
        return math.nan
    return 1.0 if difference.mean == 0 else 2.0 ** (1 - difference.n)


def permutation_p_value(a: Estimate, b: Estimate) -> float:
    """Two-sided p-value of the exact permutation test of two independent samples, each of equal values, to which t does not apply.

    Of the C(n_a + n_b, n_a) equally likely divisions of the values, one has means as far apart in the observed direction. Both directions
    count equally, also if n_a and n_b differ: 2 / C(n_a + n_b, n_a). It is 1 for equal means, and NaN with one value of either. Pitman,
    J. R. Stat. Soc. Suppl. 4 (1937).
    """
    if min(a.n, b.n) <= 1:
        return math.nan
    return 1.0 if a.mean == b.mean else 2 / math.comb(a.n + b.n, a.n)


def p_value(mean: Estimate, value: float = 0.0) -> float:
    """Two-sided p-value of Student's t-test that the true mean is `value`; 0 or 1 where all seeds are equal, NaN without an interval.

    It is at most 1 - CONFIDENCE exactly where the interval at CONFIDENCE excludes `value`.
    """
    if math.isnan(mean.half_width):
        return math.nan
    return _t_p_value(mean.mean - value, mean.sd / math.sqrt(mean.n), mean.n - 1)


def welch_p_value(a: Estimate, b: Estimate) -> float:
    """Two-sided p-value of Welch's t-test that two independent true means are equal; NaN with one value of either."""
    if min(a.n, b.n) <= 1:
        return math.nan
    return _t_p_value(b.mean - a.mean, *_welch_error_and_freedom(a.sd, a.n, b.sd, b.n))


def fdr_adjusted_p_values(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, adjusted so that rejecting those up to q keeps the false discovery rate at or below q.

    Step-up procedure of Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995): with the p-values in ascending order, p_(i) becomes the
    least m / k * p_(k) over k >= i. A NaN stays NaN and does not count in m.
    """
    order = sorted((at for at, p in enumerate(p_values) if not math.isnan(p)), key=lambda at: p_values[at])
    adjusted = [math.nan] * len(p_values)
    least = 1.0
    for rank in range(len(order), 0, -1):
        least = min(least, p_values[order[rank - 1]] * len(order) / rank)
        adjusted[order[rank - 1]] = least
    return adjusted


def prediction_p_value(sample: Estimate, value: float) -> float:
    """Two-sided p-value of Student's t-test that one more value of the sample's distribution is as far from its mean as `value`.

    It is at most 1 - CONFIDENCE just where the prediction interval mean +- t(n - 1) sd sqrt(1 + 1/n) does not hold `value`.
    """
    if sample.n < _MIN_SAMPLES_FOR_SPREAD or math.isnan(sample.mean) or math.isnan(value):
        return math.nan
    return _t_p_value(sample.mean - value, sample.sd * math.sqrt(1 + 1 / sample.n), sample.n - 1)


def _t_p_value(difference: float, error: float, freedom: float) -> float:
    """P(|T| >= |difference| / error); for an error of 0 it is 0, or 1 where the difference is 0 too."""
    if error == 0:
        return float(difference == 0)
    return two_sided_tail_probability(difference / error, freedom)


def _welch_error_and_freedom(sd_a: float, n_a: int, sd_b: float, n_b: int) -> tuple[float, float]:
    """Standard error of the difference of two independent means, and Welch and Satterthwaite's degrees of freedom."""
    part_a, part_b = sd_a**2 / n_a, sd_b**2 / n_b
    variance = part_a + part_b
    freedom = variance**2 / (_welch_freedom_term(part_a, n_a) + _welch_freedom_term(part_b, n_b)) if variance > 0 else math.nan
    return math.sqrt(variance), freedom


def _welch_freedom_term(part: float, n: int) -> float:
    return part**2 / (n - 1) if part > 0 else 0.0
