"""Student's t distribution: tail probability and quantile, to 11 digits up to 100 000 degrees of freedom."""

from __future__ import annotations

import math
from functools import lru_cache

_MAX_TERMS = 10_000
_MAX_STEPS = 200
_TINY = 1e-300


def two_sided_tail_probability(t: float, freedom: float) -> float:
    """P(|T| >= |t|) with `freedom` degrees of freedom, which need not be an integer; NaN if either is NaN.

    It is the regularised incomplete beta function I_x(freedom / 2, 1 / 2) at x = freedom / (freedom + t^2): NIST, Digital Library of
    Mathematical Functions, 8.17.
    """
    if math.isnan(t) or math.isnan(freedom):
        return math.nan
    if math.isinf(freedom):
        return math.erfc(abs(t) / math.sqrt(2))
    if math.isinf(t * t):
        return 0.0
    square = t * t
    return _regularised_beta(freedom / (freedom + square), square / (freedom + square), freedom / 2, 0.5)


@lru_cache(maxsize=256)
def two_sided_t_quantile(confidence: float, freedom: float) -> float:
    """The two-sided quantile: P(|T| <= t) = confidence. NaN if either is NaN."""
    alpha = 1 - confidence
    if math.isnan(alpha) or math.isnan(freedom):
        return math.nan
    # The tail is convex in t > 0, so Newton's steps approach the root from its left. They shrink until only rounding errors remain.
    t, previous = 0.0, math.inf
    for _ in range(_MAX_STEPS):
        step = (two_sided_tail_probability(t, freedom) - alpha) / (2 * _density(t, freedom))
        if abs(step) < 1e-6 * t and abs(step) >= previous / 2:
            break
        t += step
        previous = abs(step)
    return t


def _density(t: float, freedom: float) -> float:
    if math.isinf(freedom):
        return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    scale = _log_gamma_half_step_ratio(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def _log_gamma_half_step_ratio(a: float) -> float:
    """ln(gamma(a + 1/2) / gamma(a)); by its asymptotic series where the difference of two large logarithms would lose digits."""
    if a < 1000:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3)


def _regularised_beta(x: float, rest: float, a: float, b: float) -> float:
    """I_x(a, b), where `rest` is 1 - x without its rounding error and b or a is 1/2."""
    if x == 0:
        return 0.0
    if rest == 0:
        return 1.0
    half, other = (b, a) if b == 0.5 else (a, b)
    front = math.exp(a * _log_near_one(x, rest) + b * _log_near_one(rest, x) + _log_gamma_half_step_ratio(other) - math.lgamma(half))
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(x, a, b) / a
    return 1 - front * _continued_fraction(rest, b, a) / b


def _log_near_one(x: float, rest: float) -> float:
    """ln(x), where `rest` is 1 - x without its rounding error."""
    return math.log(x) if x < 0.5 else math.log1p(-rest)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of DLMF 8.17.22 by the modified method of Lentz."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
