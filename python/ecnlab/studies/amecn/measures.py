"""What is measured: the average queue over a span of time, the link's use and losses, delays, and how two schemes differ at one delay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from ecnlab.networks import BOTTLENECK
from ecnlab.studies.amecn.networks import HOPS
from ecnlab.studies.claims import BySeed, Runs
from ecnlab.studies.model import Need

if TYPE_CHECKING:
    from ecnlab.results import Result

BySeeds = Callable[["Result"], list[float]]


def average_queue(start_s: float, end_s: float) -> BySeeds:
    """The mean of the queue's own average over a span of time, in packets."""

    def measure(result: Result) -> list[float]:
        import polars as pl

        span = (pl.col("queue") == BOTTLENECK) & pl.col("time_s").is_between(start_s, end_s, closed="left")
        by_seed = dict(result.series.queue.filter(span).group_by("seed").agg(pl.col("average_packets")).iter_rows())
        return [fmean(by_seed[seed]) for seed in result.seeds]

    return measure


def utilisation(result: Result) -> list[float]:
    """The share of the time in which the bottleneck sends."""
    return result.values("utilisation", queue=BOTTLENECK)


def unused(result: Result) -> list[float]:
    """The share of the time in which it does not."""
    return [1 - used for used in utilisation(result)]


def drop_rate(result: Result) -> list[float]:
    """The share of what came to the bottleneck that it dropped."""
    drops, arrivals = (result.values(name, queue=BOTTLENECK) for name in ("drops", "arrivals"))
    return [dropped / came for dropped, came in zip(drops, arrivals, strict=True)]


def delay(result: Result) -> list[float]:
    """The mean wait at the bottleneck, in s."""
    return result.values("sojourn_mean_s", queue=BOTTLENECK)


def off_target(target_ms: float) -> BySeeds:
    """How far the mean wait at the bottleneck lies above a target, as a share of it."""
    return lambda result: [value * 1e3 / target_ms - 1 for value in delay(result)]


def total_delay(result: Result) -> list[float]:
    """The mean waits at the three links of the parking lot, added up, in s."""
    return [math.fsum(waits) for waits in zip(*(result.values("sojourn_mean_s", queue=hop) for hop in HOPS), strict=True)]


def total_throughput(result: Result) -> list[float]:
    """What all flows got together, in bit/s."""
    return result.values("throughput_bps")


@dataclass(frozen=True)
class AtSameDelay:
    """How far a scheme's `value` lies above that of its rival at the same delay, seed by seed; as a share of it if `relative`.

    The rival's value is read off the straight lines between its scenarios, which differ by their target. Outside of them there is none.
    """

    need: Need
    rival: Sequence[Need]
    delay: BySeeds
    value: BySeeds
    relative: bool = False

    def needs(self) -> Iterator[Need]:
        """The scheme's scenario and all of the rival's."""
        yield self.need
        yield from self.rival

    def values(self, runs: Runs) -> BySeed:
        """The difference for each seed that all have."""
        delays, values = self._of(self.need, self.delay, runs), self._of(self.need, self.value, runs)
        line = [(self._of(need, self.delay, runs), self._of(need, self.value, runs)) for need in self.rival]
        seeds = [seed for seed in delays if all(seed in xs for xs, _ in line)]
        theirs = {seed: _between([(xs[seed], ys[seed]) for xs, ys in line], delays[seed]) for seed in seeds}
        return {seed: values[seed] / theirs[seed] - 1 if self.relative else values[seed] - theirs[seed] for seed in seeds}

    def ns2(self) -> float | None:
        """Not known."""
        return None

    def _of(self, need: Need, measure: BySeeds, runs: Runs) -> BySeed:
        result = runs(need)
        return dict(zip(result.seeds, measure(result), strict=True))


def _between(points: Sequence[tuple[float, float]], x: float) -> float:
    """The value at x of the straight lines between these points, NaN outside of them."""
    import numpy as np

    xs, ys = zip(*sorted(points), strict=True)
    return float(np.interp(x, xs, ys, left=math.nan, right=math.nan))
