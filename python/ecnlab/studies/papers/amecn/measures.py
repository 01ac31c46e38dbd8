"""Measures: the average queue in a time interval, the link's utilization and losses, delays, and differences of two schemes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from ecnlab.scenarios.networks import BOTTLENECK
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import PERCENT, DisplayUnit, ResultOfNeed, ValueBySeed
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.framework.panels import PanelMeasure, ValuesOfResult
from ecnlab.studies.papers.amecn.networks import HOP_NAMES


def average_queue_over_span(start_s: float, end_s: float, fold: Callable[[Sequence[float]], float] = fmean) -> ValuesOfResult:
    """`fold` (mean, maximum or minimum) of the AQM's average queue in a time interval, in packets."""
    return lambda result: [fold([average for _, average in samples]) for samples in _average_queue_samples(result, start_s, end_s)]


def average_queue_time_share_in_range(low: float, high: float, start_s: float, end_s: float) -> ValuesOfResult:
    """The share of a time interval in which the AQM's average queue is between `low` and `high` packets."""
    return lambda result: [
        fmean(low <= average <= high for _, average in samples) for samples in _average_queue_samples(result, start_s, end_s)
    ]


def average_queue_return_time(low: float, high: float, change_s: float, latest_s: float, *, rises: bool) -> ValuesOfResult:
    """How long after a change the queue's own average is back between `low` and `high` packets, in s.

    The way back begins where the average is largest (smallest unless it `rises`) between the change and `latest_s`. It is 0 where the
    average does not leave the range on that side, and lasts until the end of the run where the average does not come back.
    """

    def return_times(result: Result) -> list[float]:
        end_s = result.header["duration_s"]
        return [time_back_in_range_s(samples, end_s) - change_s for samples in _average_queue_samples(result, change_s, end_s)]

    def time_back_in_range_s(samples: Sequence[tuple[float, float]], end_s: float) -> float:
        until_latest = [sample for sample in samples if sample[0] < latest_s]
        start_s, extreme = (max if rises else min)(until_latest, key=lambda sample: sample[1])
        if extreme <= high if rises else extreme >= low:
            return change_s
        return next((time for time, average in samples if time > start_s and low <= average <= high), end_s)

    return return_times


def _average_queue_samples(result: Result, start_s: float, end_s: float) -> Iterator[list[tuple[float, float]]]:
    """Times and the AQM's average queue in a time interval, for each seed."""
    span = (pl.col("queue") == BOTTLENECK) & pl.col("time_s").is_between(start_s, end_s, closed="left")
    samples = result.series.queue.filter(span).select("seed", "time_s", "average_packets")
    for seed in result.seeds:
        yield samples.filter(pl.col("seed") == seed).sort("time_s").select("time_s", "average_packets").rows()


def bottleneck_utilisation(result: Result) -> list[float]:
    """Utilization of the bottleneck."""
    return result.values("utilisation", queue=BOTTLENECK)


def drop_rate(result: Result) -> list[float]:
    """The share of arriving packets that the bottleneck dropped."""
    drops, arrivals = (result.values(name, queue=BOTTLENECK) for name in ("drops", "arrivals"))
    return [dropped / came for dropped, came in zip(drops, arrivals, strict=True)]


def mean_bottleneck_wait(result: Result) -> list[float]:
    """Mean queueing delay at the bottleneck, in s."""
    return result.values("sojourn_mean_s", queue=BOTTLENECK)


def relative_wait_excess_over_target(target_ms: float) -> ValuesOfResult:
    """Relative excess of the bottleneck's mean queueing delay over a target."""
    return lambda result: [value * 1e3 / target_ms - 1 for value in mean_bottleneck_wait(result)]


def total_wait_of_three_links(result: Result) -> list[float]:
    """Sum of the mean queueing delays at the three links of the parking lot, in s."""
    return [math.fsum(waits) for waits in zip(*(result.values("sojourn_mean_s", queue=hop) for hop in HOP_NAMES), strict=True)]


def total_throughput(result: Result) -> list[float]:
    """Total goodput of all flows, in bit/s."""
    return result.values("throughput_bps")


WAIT_MS = PanelMeasure("delay", "delay_s", mean_bottleneck_wait, DisplayUnit(1e3, "ms", 1))
UTILISATION = PanelMeasure("link efficiency", "efficiency", bottleneck_utilisation, DisplayUnit(100, "%", 2))
DROP_RATE = PanelMeasure("drops of arrivals", "drop_rate", drop_rate, PERCENT)


@dataclass(frozen=True)
class DifferenceAtSameDelay:
    """How far a scheme's `value` lies above that of its rival at the same delay, seed by seed; as a share of it if `relative`.

    The rival's value is read off the straight lines between its scenarios, which differ by their target. Outside of them there is none.
    """

    need: RequiredScenario
    rival: Sequence[RequiredScenario]
    delay: ValuesOfResult
    value: ValuesOfResult
    relative: bool = False

    def required_scenarios(self) -> Iterator[RequiredScenario]:
        """The scheme's scenario and all of the rival's."""
        yield self.need
        yield from self.rival

    def values_by_seed(self, runs: ResultOfNeed) -> ValueBySeed:
        """The difference for each seed that all results have."""
        (delays, values), *line = (self._delays_and_values_by_seed(runs(need)) for need in self.required_scenarios())
        seeds = [seed for seed in delays if all(seed in xs for xs, _ in line)]
        theirs = {seed: _interpolate_linearly([(xs[seed], ys[seed]) for xs, ys in line], delays[seed]) for seed in seeds}
        return {seed: values[seed] / theirs[seed] - 1 if self.relative else values[seed] - theirs[seed] for seed in seeds}

    def recorded_ns2_mean(self) -> float | None:
        """None: ns-2 has no number."""
        return None

    def _delays_and_values_by_seed(self, result: Result) -> tuple[ValueBySeed, ValueBySeed]:
        delays, values = (dict(zip(result.seeds, measure(result), strict=True)) for measure in (self.delay, self.value))
        return delays, values


def _interpolate_linearly(points: Sequence[tuple[float, float]], x: float) -> float:
    """Linear interpolation between these points at x; NaN outside."""
    import numpy as np

    xs, ys = zip(*sorted(points), strict=True)
    return float(np.interp(x, xs, ys, left=math.nan, right=math.nan))
