"""Figures 3.3 and 3.4: the queue and the throughput from the start, for which the thesis leaves the first 20 s out (section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecnlab.analysis.stats import estimate
from ecnlab.networks import CHAPTER_4
from ecnlab.plots import series, style
from ecnlab.studies.aecn import schemes
from ecnlab.studies.aecn.schemes import THROUGHPUT
from ecnlab.studies.model import Drawing, Item, Need, Results, Table, with_interval

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from ecnlab.results import Result

# The thesis calls its experiment typical and does not name it: it is that of Figures 4.18 and 4.19.
_FLOWS, _MAX_P, _THRESHOLDS = 60, 0.5, (10, 30)
_SCHEMES = ("ECN", "RED")
_WARM_UP_S, _END_S = 20.0, 100.0
_SPANS_S = ((0, 5), (5, 10), (10, 20), (20, 60), (60, 100))
_PART = "Chapter 3: the first 20 s"
_SETTINGS = f"{_FLOWS} flows, max_p {_MAX_P:g}, chapter 4 network"


def _needs(record: dict[str, object], *, every_seed: bool) -> dict[tuple[str], Need]:
    return {(name,): Need(schemes.scheme(name, _FLOWS, _MAX_P, CHAPTER_4, record=record), every_seed) for name in _SCHEMES}


def _draw_queues(results: Results) -> Drawing:
    import polars as pl

    frames = {name: results[name,].only(results[name,].seeds[0]).series.queue for name in _SCHEMES}
    figure, axes = style.panels(2, 1, shape=0.95, sharex=True, sharey=True)
    for axis, (name, frame) in zip(axes, frames.items(), strict=True):
        series.draw_queue(axis, frame)
        for threshold in _THRESHOLDS:
            axis.axhline(threshold, color="black", linewidth=0.6, linestyle="--")
        _finish(axis, name)
    axes[0].set_xlabel("")
    style.legend_of_panels(figure, axes[0])
    return Drawing(figure, data=pl.concat(frame.select(pl.lit(name).alias("scheme"), pl.all()) for name, frame in frames.items()))


def _draw_throughput(results: Results) -> Drawing:
    import polars as pl

    figure, (axes,) = style.panels()
    rates = pl.concat(_of_all_flows(results[name,]).with_columns(pl.lit(name).alias("group")) for name in _SCHEMES)
    series.draw_rates(axes, rates, THROUGHPUT, _SCHEMES, schemes.SCHEMES)
    _finish(axes, "")
    style.legend_above(axes)
    rows = [[f"{start} to {end}", *(_mean(rates, name, start, end) for name in _SCHEMES)] for start, end in _SPANS_S]
    data = pl.concat(_data(rates, name) for name in _SCHEMES)
    return Drawing(figure, [Table("throughput of all flows (Mbit/s)", ["time (s)", *_SCHEMES], rows)], data)


def _of_all_flows(result: Result) -> pl.DataFrame:
    """The throughput of all groups together for each seed and second."""
    import polars as pl

    groups = result.series.rate.group_by("seed", "time_s", maintain_order=True).agg(THROUGHPUT)
    return groups.with_columns(pl.col(THROUGHPUT).list.sum())


def _mean(rates: pl.DataFrame, name: str, start: float, end: float) -> str:
    """The mean of a scheme over a span of time, with its interval over seeds."""
    one = rates.filter((rates["group"] == name) & rates["time_s"].is_between(start, end, closed="left"))
    means = [frame[THROUGHPUT].mean() for frame in one.partition_by("seed", maintain_order=True)]
    return with_interval(estimate([float(mean) for mean in means if isinstance(mean, float)]).scaled(1e-6), 3)


def _data(rates: pl.DataFrame, name: str) -> pl.DataFrame:
    import polars as pl

    means = series.over_seeds(rates.filter(rates["group"] == name), THROUGHPUT).rename({"mean": THROUGHPUT})
    return means.select(pl.lit(name).alias("scheme"), pl.all())


def _finish(axes: Axes, title: str) -> None:
    series.span(axes, _END_S)
    axes.axvline(_WARM_UP_S, color="black", linewidth=0.8, linestyle=":")
    axes.set_title(title, loc="left")


ITEMS = [
    Item(
        number="3.3",
        title=f"The router's queue from the start, {_FLOWS} flows",
        caption=(
            f"{_SETTINGS}; every 10 ms of the first seed, with the average that the queue keeps. Dashed: min_th and max_th; dotted: 20 s, "
            "from which everything is measured."
        ),
        needs=_needs({"queue": "10 ms"}, every_seed=False),
        draw=_draw_queues,
        part=_PART,
    ),
    Item(
        number="3.4",
        title=f"Throughput of all flows in intervals of 1 s from the start, {_FLOWS} flows",
        caption=f"{_SETTINGS}; mean over seeds with its 95 % interval as a band. Dotted: 20 s, from which everything is measured.",
        needs=_needs({"rates": True}, every_seed=True),
        draw=_draw_throughput,
        part=_PART,
    ),
]
