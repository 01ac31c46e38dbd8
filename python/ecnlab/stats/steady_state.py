"""The begin of the steady state of a run, by MSER-5, and whether the run is long enough for it.

MSER-5 (White, Simulation 69, 1997; White, Cobb and Spratt, Proc. Winter Simulation Conf. 2000) puts a series into batches of five
observations and drops the first d batches whose removal makes the standard error of the remaining mean least. As in Hoad, Robinson and
Davies (J. Oper. Res. Soc. 61, 2010) the last five batches are no candidates, since a few equal values at the end have no spread, and
the series of several seeds are averaged first. If the least lies in the second half, the series is too short to tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ecnlab.errors import Problem
from ecnlab.stats.student_t import two_sided_t_quantile

MSER_BATCH = 5
_MIN_BATCHES_AFTER_CUT = 5
_MIN_BATCHES = 20

# A truncation that shifts the mean by less than this share is immaterial.
MATERIAL_SHARE = 0.01
_CONFIDENCE = 0.99

# Batch means for the check of the measured interval's length (Schmeiser 1982: 10 to 30), and how many of them must be independent.
_BATCH_MEANS = 20
MIN_INDEPENDENT_SAMPLES = 10
# The correlation at which the batch means are worth that many.
_MAX_ACCEPTED_CORRELATION = (_BATCH_MEANS - MIN_INDEPENDENT_SAMPLES) / (_BATCH_MEANS + MIN_INDEPENDENT_SAMPLES)
# Twenty batches cannot show a correlation time above a quarter of their interval, which is five batches.
_MIN_BATCH_LENGTH = 1 / 5
_ONE_SIDED_95 = 1.645


@dataclass(frozen=True)
class ObservedSeries:
    """One quantity over the whole run, of several seeds at the same times.

    Attributes
    ----------
    name : str
        The quantity, e.g. "queue bottleneck" or "throughput".
    interval_s : float
        Time between two observations.
    runs : sequence of sequences
        The observations of each seed from 0 s on, all of one length.
    batch : int
        Observations per batch: 5, or 1 for a short series of interval means.
    """

    name: str
    interval_s: float
    runs: Sequence[Sequence[float]]
    batch: int = MSER_BATCH


@dataclass(frozen=True)
class SteadyStateOfQuantity:
    """Begin of the steady state of one quantity.

    Attributes
    ----------
    name : str
        The quantity.
    from_s : float or None
        Begin of the steady state; None where the run is too short to tell.
    shift : float
        Relative excess of the measured mean over the steady mean, where the measured interval begins before the steady state
        and the difference is more than noise; else 0.
    independent : float
        Approximate number of independent observations in the steady part of one run's measured interval; NaN where unknown,
        and at most 20, which is enough.
    correlation : float
        Correlation of neighbouring batch means of that part.
    """

    name: str
    from_s: float | None
    shift: float = 0.0
    independent: float = math.nan
    correlation: float = math.nan


@dataclass(frozen=True)
class SteadyState:
    """The begin of the steady state of a run: the latest of its quantities.

    Attributes
    ----------
    from_s : float or None
        Begin of the steady state in s; None where the run is too short to tell, or has no steady state.
    seeds : list of int
        The seeds whose series were averaged.
    quantities : list of SteadyStateOfQuantity
        Each quantity by itself.
    reason : str
        Why a steady state cannot exist: the scenario changes links at set times, its traffic ends, or nothing was delivered.
    warnings : list of Problem
        Warnings of a measured interval that begins too early, or of a run that is too short.
    """

    from_s: float | None
    seeds: list[int]
    quantities: list[SteadyStateOfQuantity] = field(default_factory=list)
    reason: str = ""
    warnings: list[Problem] = field(default_factory=list)


def arithmetic_mean(values: Sequence[float]) -> float:
    """The mean, without `statistics`, whose import costs more than the computation here."""
    return math.fsum(values) / len(values)


def batch_means(values: Sequence[float], batch: int) -> list[float]:
    """Means of consecutive batches; an incomplete batch at the end is dropped."""
    return [arithmetic_mean(values[at : at + batch]) for at in range(0, len(values) - batch + 1, batch)]


@dataclass(frozen=True)
class _MserOptimalDroppedBatches:
    """Optimal number of dropped batches, among all candidates and among those in the first half."""

    at: int
    in_half: int

    @property
    def is_in_first_half(self) -> bool:
        return self.at == self.in_half


def mser_statistics(means: Sequence[float]) -> list[float]:
    """Squared standard error of the mean of the remaining batches for each possible truncation; the last five are never dropped."""
    mean = squares = 0.0
    errors = []
    for count, value in enumerate(reversed(means), 1):
        delta = value - mean
        mean += delta / count
        squares += delta * (value - mean)
        errors.append(squares / count**2)
    return errors[: _MIN_BATCHES_AFTER_CUT - 1 : -1]


def _mser_optimal_truncation(means: Sequence[float]) -> _MserOptimalDroppedBatches | None:
    """The truncations that minimise the squared standard error of the mean of the remaining batches; the first of equal minima."""
    if len(means) < _MIN_BATCHES:
        return None
    errors = mser_statistics(means)
    half = errors[: len(means) // 2 + 1]
    return _MserOptimalDroppedBatches(errors.index(min(errors)), half.index(min(half)))


def steady_state_of_quantity(observed: ObservedSeries, measure_from_s: float, series: int = 1) -> SteadyStateOfQuantity:
    """Steady state of a quantity; `series` is the number of tested quantities, for a correction that keeps false warnings rare."""
    runs = [batch_means(run, observed.batch) for run in observed.runs]
    means = [arithmetic_mean(at_once) for at_once in zip(*runs, strict=True)]
    found = _mser_optimal_truncation(means)
    if found is None:
        return SteadyStateOfQuantity(observed.name, None)
    batch_s = observed.interval_s * observed.batch
    start = found.at
    if not found.is_in_first_half:
        if abs(_relative_shift(means[found.in_half :], means[found.at :])) >= MATERIAL_SHARE:
            return SteadyStateOfQuantity(observed.name, None)
        start = found.in_half
    begin = math.ceil(round(measure_from_s / batch_s, 6))
    shift = _relative_shift(means[begin:], means[start:]) if _is_mean_shifted_by_transient(means[begin:start], means[start:]) else 0.0
    correlation = _significant_batch_autocorrelation([run[max(begin, start) :] for run in runs], series)
    return SteadyStateOfQuantity(
        observed.name,
        round(start * batch_s, 9),
        shift if abs(shift) >= MATERIAL_SHARE else 0.0,
        _independent_batch_means(correlation),
        correlation,
    )


def _independent_batch_means(correlation: float) -> float:
    """The number of independent observations that the batch means are worth; NaN without a correlation."""
    return math.nan if math.isnan(correlation) else _BATCH_MEANS * (1 - correlation) / (1 + correlation)


def _measured_from(found: SteadyStateOfQuantity, observed: ObservedSeries, measure_from_s: float, series: int) -> SteadyStateOfQuantity:
    """A quantity whose independent observations are those from `measure_from_s` on, or from its steady state on if that is later."""
    if found.from_s is None:
        return found
    begin = math.ceil(round(max(measure_from_s, found.from_s) / (observed.interval_s * observed.batch), 6))
    correlation = _significant_batch_autocorrelation([batch_means(run, observed.batch)[begin:] for run in observed.runs], series)
    return replace(found, independent=_independent_batch_means(correlation), correlation=correlation)


def steady_state_of_run(
    quantities: Sequence[ObservedSeries], seeds: Sequence[int], measure_from_s: float, duration_s: float
) -> SteadyState:
    """The begin of the steady state of a run over all its quantities, with warnings."""
    series = len(quantities)
    found = [steady_state_of_quantity(one, measure_from_s, series) for one in quantities]
    starts = [one.from_s for one in found if one.from_s is not None]
    from_s = max(starts) if found and len(starts) == len(found) else None
    # The duration is advised for the begin of the measured interval that is advised beside it.
    advised_from_s = max([measure_from_s, *(one.from_s or 0.0 for one in found if one.shift)])
    moved = advised_from_s > measure_from_s
    judged = [_measured_from(one, of, advised_from_s, series) if moved else one for one, of in zip(found, quantities, strict=True)]
    warnings = [
        *_transient_warnings(found, measure_from_s, duration_s),
        *_short_interval_warnings(judged, advised_from_s, duration_s, min((len(one.runs) for one in quantities), default=1)),
    ]
    return SteadyState(from_s, list(seeds), found, "", warnings)


def _transient_warnings(found: Sequence[SteadyStateOfQuantity], measure_from_s: float, duration_s: float) -> list[Problem]:
    warnings = []
    undetermined = [one.name for one in found if one.from_s is None]
    if undetermined:
        names = _join_names_and_count_rest(undetermined)
        what = f"the run is too short to tell where the steady state of {names} begins (MSER-5 finds it in the second half)"
        warnings.append(Problem("duration", None, f'{what}; fix: a longer run, e.g. duration = "{2 * duration_s:g} s"'))
    early = [one for one in found if one.shift]
    if early:
        latest = max(one.from_s or 0.0 for one in early)
        most = max(early, key=lambda one: abs(one.shift))
        names = _join_names_and_count_rest([one.name for one in early])
        what = f"{measure_from_s:g} s lies inside the transient: the steady state of {names} begins at {latest:g} s (MSER-5)"
        moves = (
            f"the mean of {most.name} from {measure_from_s:g} s on is {_above_or_below_percent_text(most.shift)} that of its steady state"
        )
        warnings.append(Problem("measure_from", None, f'{what}, and {moves}; fix: measure_from = "{latest:g} s" or later'))
    return warnings


def _short_interval_warnings(found: Sequence[SteadyStateOfQuantity], measure_from_s: float, duration_s: float, runs: int) -> list[Problem]:
    """The warning of too few independent observations, with a duration that is enough for all quantities."""
    few = [one for one in found if one.independent < MIN_INDEPENDENT_SAMPLES]
    if not few:
        return []
    least = min(few, key=lambda one: one.independent)
    what = f"from {measure_from_s:g} s on a run holds only about {max(1.0, least.independent):.0f} independent observations of {least.name}"
    why = f"its 20 batch means are correlated by {least.correlation:.2f}, so the mean of a run hangs on a few swings"
    longer_s = max(
        (_interval_factor(one.correlation, runs, len(found)) - 1) * (duration_s - max(measure_from_s, one.from_s or 0.0)) for one in few
    )
    fix = f'fix: a longer run, e.g. duration = "{_round_up_seconds(duration_s + longer_s):g} s"'
    return [Problem("duration", None, f"{what}: {why}; {fix}")]


def _interval_factor(correlation: float, runs: int, series: int) -> float:
    """How many times as long the measured interval must be for enough independent observations.

    The correlation of a quantity is taken to decay exponentially with time, so longer batches are less correlated. The factor aims at a
    run that passes the same check in 95 % of cases. It is too small for a quantity whose correlation time is above a fifteenth of the
    run, as the estimate of its correlation is then too low.
    """
    deviation = _deviation_of_autocorrelation(runs)
    accepted = max(_MAX_ACCEPTED_CORRELATION, _significant_correlation(deviation, series))
    wanted = min(_MAX_ACCEPTED_CORRELATION, accepted - _ONE_SIDED_95 * deviation)
    return max(1.0, _batch_length_with_correlation(wanted) / max(_MIN_BATCH_LENGTH, _batch_length_with_correlation(correlation)))


def _batch_length_with_correlation(correlation: float) -> float:
    """The length of batches in correlation times at which neighbouring batch means have this correlation.

    For an exponential decay it is (1 - e^-x)^2 / (2 (x - 1 + e^-x)), which falls from 1 to 0.
    """
    low, high = -4 * math.log(10), 4 * math.log(10)
    for _ in range(60):
        middle = (low + high) / 2
        x = math.exp(middle)
        low, high = (middle, high) if math.expm1(-x) ** 2 / (2 * (x + math.expm1(-x))) > correlation else (low, middle)
    return math.exp(low)


def _deviation_of_autocorrelation(runs: int) -> float:
    """The standard deviation of the mean over runs of the correlation of independent batch means."""
    return math.sqrt((_BATCH_MEANS - 2) / (_BATCH_MEANS**2 - 1) / runs)


def _significant_correlation(deviation: float, series: int) -> float:
    """The least correlation that chance gives in no more than 1 % of cases over all series."""
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) / 2 * series >= 1 - _CONFIDENCE else (low, middle)
    return high * deviation


def _is_mean_shifted_by_transient(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether the mean of the measured values before the steady state differs from the steady mean by more than noise.

    The noise is that of the steady part: the variance of its batch means, with the correlation of neighbours taken into account.
    """
    count = min(_BATCH_MEANS, len(after) // 2)
    if not before or count <= 1:
        return False
    size = len(after) // count
    groups = batch_means(after, size)
    spread = arithmetic_mean([(one - arithmetic_mean(groups)) ** 2 for one in groups]) * len(groups) / (len(groups) - 1)
    lag = max(0.0, _lag_one_autocorrelation(groups)) if spread > 0 else 0.0
    per_batch = spread * size * (1 + lag) / (1 - lag)
    noise = math.sqrt(per_batch * (1 / len(before) + 1 / len(after)))
    return abs(arithmetic_mean(before) - arithmetic_mean(after)) > two_sided_t_quantile(0.99, len(groups) - 1) * noise


def _significant_batch_autocorrelation(runs: Sequence[Sequence[float]], series: int) -> float:
    """The mean over runs of the correlation of neighbouring batch means, by von Neumann's ratio.

    It is 0 if chance alone gives as much in more than 1 % of cases over all series; NaN where there is too little to tell, or no variation.
    """
    size = len(runs[0]) // _BATCH_MEANS
    if size == 0:
        return math.nan
    found = [_lag_one_autocorrelation(batch_means(run, size)[:_BATCH_MEANS]) for run in runs]
    known = [one for one in found if not math.isnan(one)]
    if not known:
        return math.nan
    deviation = _deviation_of_autocorrelation(len(known))
    mean = arithmetic_mean(known)
    by_chance = math.erfc(mean / deviation / math.sqrt(2)) / 2
    return mean if by_chance * series < 1 - _CONFIDENCE else 0.0


def _lag_one_autocorrelation(values: Sequence[float]) -> float:
    """1 - half of von Neumann's ratio (Ann. Math. Stat. 12, 1941), which estimates the correlation of neighbours; NaN without variation."""
    mean = arithmetic_mean(values)
    squares = sum((value - mean) ** 2 for value in values)
    steps = sum((values[at + 1] - values[at]) ** 2 for at in range(len(values) - 1))
    return 1 - steps / (2 * squares) if squares > 0 else math.nan


def _relative_shift(values: Sequence[float], steady: Sequence[float]) -> float:
    """Relative excess of the mean of values over the mean of the steady ones."""
    mean, base = arithmetic_mean(values), arithmetic_mean(steady)
    if base:
        return (mean - base) / abs(base)
    return math.copysign(math.inf, mean) if mean else 0.0


def _above_or_below_percent_text(share: float) -> str:
    if math.isinf(share):
        return "above"
    percent = float(f"{abs(share) * 100:.2g}")
    return f"{percent:g} % {'above' if share > 0 else 'below'}"


def _join_names_and_count_rest(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _round_up_seconds(seconds: float) -> float:
    """Seconds, rounded up to two digits for readers."""
    step = 10 ** max(0, math.floor(math.log10(seconds)) - 1) if seconds >= 1 else 0.1
    return math.ceil(seconds / step) * step
