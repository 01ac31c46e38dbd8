"""Periods in which ECN drops packets with 60 flows, as section 5.5 reads them from Figure 5.7: "around at second 50, 67 and 78"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from ecnlab.storage.results import Result
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.aecn import schemes

# Half of the smallest pause that the thesis names, from second 67 to 78.
PAUSE_S = 11 / 2
ECN_60_FLOWS = RequiredScenario(schemes.scheme_scenario("ECN", 60, record={"events": True}))


def number_of_drop_periods(result: Result) -> list[float]:
    """Number of periods with drops in the measured time, for each seed."""
    return [float(len(lengths)) for lengths in _drop_period_lengths_by_seed(result)]


def longest_drop_period_s(result: Result) -> list[float]:
    """Length in s of the longest period with drops in the measured time, for each seed; 0 without drops."""
    return [float(max(lengths, default=0)) for lengths in _drop_period_lengths_by_seed(result)]


def _drop_period_lengths_by_seed(result: Result) -> list[Sequence[int]]:
    """The lengths of each seed's periods."""
    drops = result.series.events.filter(
        pl.col("kind") == "drop", pl.col("packet") == "data", pl.col("time_s") >= result.header["measure_from_s"]
    )
    seconds: dict[int, list[int]] = {seed: [] for seed in result.seeds}
    for seed, second in drops.select("seed", pl.col("time_s").floor().cast(pl.Int64)).unique().iter_rows():
        seconds[seed].append(second)
    return [drop_period_lengths_s(found) for found in seconds.values()]


def drop_period_lengths_s(seconds: Sequence[int]) -> list[int]:
    """Lengths in s of periods, from the times of drops: drops closer than `PAUSE_S` belong to one period."""
    ordered = sorted(seconds)
    starts = [at for at, (before, second) in enumerate(pairwise(ordered), start=1) if second - before > PAUSE_S]
    bounds = [0, *starts, len(ordered)] if ordered else []
    return [ordered[end - 1] - ordered[start] + 1 for start, end in pairwise(bounds)]
