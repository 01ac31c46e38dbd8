"""Measures: the average queue over a span of time, the link's use and losses, delays, and how two schemes differ at one delay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from ecnlab.scenarios.networks import BOTTLENECK
from ecnlab.studies.framework.claims import ResultOfNeed, ValueBySeed
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.amecn.networks import HOP_NAMES

if TYPE_CHECKING:
    from ecnlab.storage.results import Result

ValuesOfResult = Callable[["Result"], list[float]]


def average_queue_over_span(start_s: float, end_s: float, fold: Callable[[Sequence[float]], float] = fmean) -> ValuesOfResult:
    """What `fold` makes of the queue's own average over a span of time, in packets: its mean, or its largest or smallest value."""
    return lambda result: [fold([average for _, average in samples]) for samples in _average_queue_samples(result, start_s, end_s)]


def average_queue_time_share_in_range(low: float, high: float, start_s: float, end_s: float) -> ValuesOfResult:
    """The share of a span of time in which the queue's own average lies between `low` and `high` packets."""
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
        return [return_time_of_run(samples, end_s) - change_s for samples in _average_queue_samples(result, change_s, end_s)]

    def return_time_of_run(samples: Sequence[tuple[float, float]], end_s: float) -> float:
        until_latest = [sample for sample in samples if sample[0] < latest_s]
        start_s, extreme = (max if rises else min)(until_latest, key=lambda sample: sample[1])
        if extreme <= high if rises else extreme >= low:
            return change_s
        return next((time for time, average in samples if time > start_s and low <= average <= high), end_s)

    return return_times


def _average_queue_samples(result: Result, start_s: float, end_s: float) -> Iterator[list[tuple[float, float]]]:
    """For each seed the times and the queue's own average at them, over a span of time."""
    import polars as pl

    span = (pl.col("queue") == BOTTLENECK) & pl.col("time_s").is_between(start_s, end_s, closed="left")
    samples = result.series.queue.filter(span).select("seed", "time_s", "average_packets")
    for seed in result.seeds:
        yield samples.filter(pl.col("seed") == seed).sort("time_s").select("time_s", "average_packets").rows()


def bottleneck_utilisation(result: Result) -> list[float]:
    """The share of the time in which the bottleneck sends."""
    return result.values("utilisation", queue=BOTTLENECK)


def unused_link_share(result: Result) -> list[float]:
    """The share of the time in which it does not."""
    return [1 - used for used in bottleneck_utilisation(result)]


def drop_rate(result: Result) -> list[float]:
    """The share of what came to the bottleneck that it dropped."""
    drops, arrivals = (result.values(name, queue=BOTTLENECK) for name in ("drops", "arrivals"))
    return [dropped / came for dropped, came in zip(drops, arrivals, strict=True)]


def mean_bottleneck_wait(result: Result) -> list[float]:
    """The mean wait at the bottleneck, in s."""
    return result.values("sojourn_mean_s", queue=BOTTLENECK)


def mean_wait_error_from_target(target_ms: float) -> ValuesOfResult:
    """How far the mean wait at the bottleneck lies above a target, as a share of it."""
    return lambda result: [value * 1e3 / target_ms - 1 for value in mean_bottleneck_wait(result)]


def total_wait_of_three_links(result: Result) -> list[float]:
    """The mean waits at the three links of the parking lot, added up, in s."""
    return [math.fsum(waits) for waits in zip(*(result.values("sojourn_mean_s", queue=hop) for hop in HOP_NAMES), strict=True)]


def total_throughput(result: Result) -> list[float]:
    """Total goodput of all flows, in bit/s."""
    return result.values("throughput_bps")


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
        """The difference for each seed that all have."""
        delays, values = (
            self._values_of_measure_by_seed(self.need, self.delay, runs),
            self._values_of_measure_by_seed(self.need, self.value, runs),
        )
        line = [
            (self._values_of_measure_by_seed(need, self.delay, runs), self._values_of_measure_by_seed(need, self.value, runs))
            for need in self.rival
        ]
        seeds = [seed for seed in delays if all(seed in xs for xs, _ in line)]
        theirs = {seed: _interpolate_linearly([(xs[seed], ys[seed]) for xs, ys in line], delays[seed]) for seed in seeds}
        return {seed: values[seed] / theirs[seed] - 1 if self.relative else values[seed] - theirs[seed] for seed in seeds}

    def ns2_mean(self) -> float | None:
        """Not known."""
        return None

    def _values_of_measure_by_seed(self, need: RequiredScenario, measure: ValuesOfResult, runs: ResultOfNeed) -> ValueBySeed:
        result = runs(need)
        return dict(zip(result.seeds, measure(result), strict=True))


def _interpolate_linearly(points: Sequence[tuple[float, float]], x: float) -> float:
    """The value at x of the straight lines between these points, NaN outside of them."""
    import numpy as np

    xs, ys = zip(*sorted(points), strict=True)
    return float(np.interp(x, xs, ys, left=math.nan, right=math.nan))
