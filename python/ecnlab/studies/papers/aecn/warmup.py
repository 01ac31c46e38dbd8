"""Figures 3.3 and 3.4: the queue and the throughput from 0 s, which justify the thesis' warm-up of 20 s (section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ecnlab.plot import series, style
from ecnlab.scenarios.networks import CHAPTER_4
from ecnlab.stats.estimates import mean_with_interval
from ecnlab.storage.results import Result
from ecnlab.studies.framework.model import DrawnItemContent, ReportTable, RequiredScenario, ResultsByKey, StudyItem, format_with_interval
from ecnlab.studies.papers.aecn import bytime, schemes
from ecnlab.studies.papers.aecn.schemes import THROUGHPUT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The thesis calls its experiment typical without naming it; this is the one of Figures 4.18 and 4.19.
_FLOWS, _MAX_P, _THRESHOLDS = 60, 0.5, (10, 30)
_SCHEMES = ("ECN", "RED")
_WARM_UP_S, _END_S = 20.0, 100.0
_SPANS_S = ((0, 5), (5, 10), (10, 20), (20, 60), (60, 100))
_PART = "Chapter 3: the first 20 s"
_SETTINGS_TEXT = f"{_FLOWS} flows, max_p {_MAX_P:g}, chapter 4 network"


def _warm_up_scenarios(record: dict[str, object], *, every_seed: bool) -> dict[tuple[str], RequiredScenario]:
    return {
        (name,): RequiredScenario(schemes.scheme_scenario(name, _FLOWS, _MAX_P, CHAPTER_4, record=record), every_seed) for name in _SCHEMES
    }


def _draw_warm_up_queues(results: ResultsByKey) -> DrawnItemContent:
    frames = {name: results[name,].only(results[name,].seeds[0]).series.queue for name in _SCHEMES}
    figure, axes = style.figure_with_panels(2, 1, shape=0.95, sharex=True, sharey=True)
    for axis, (name, frame) in zip(axes, frames.items(), strict=True):
        series.draw_queue(axis, frame)
        for threshold in _THRESHOLDS:
            axis.axhline(threshold, color="black", linewidth=0.6, linestyle="--")
        _set_warm_up_axes(axis, name)
    axes[0].set_xlabel("")
    style.shared_legend_of_panels(figure, axes[0])
    return DrawnItemContent(figure, data=pl.concat(frame.select(pl.lit(name).alias("scheme"), pl.all()) for name, frame in frames.items()))


def _draw_warm_up_throughput(results: ResultsByKey) -> DrawnItemContent:
    figure, (axes,) = style.figure_with_panels()
    rates = pl.concat(_total_throughput(results[name,]).with_columns(pl.lit(name).alias("group")) for name in _SCHEMES)
    series.draw_rates(axes, rates, THROUGHPUT, _SCHEMES, schemes.SCHEME_PALETTE)
    _set_warm_up_axes(axes, "")
    style.legend_above(axes)
    rows = [
        [f"{start} to {end}", *(_mean_throughput_of_span_text(rates, name, start, end) for name in _SCHEMES)] for start, end in _SPANS_S
    ]
    data = pl.concat(bytime.mean_rate_frame(rates, name, THROUGHPUT, {"scheme": name}) for name in _SCHEMES)
    return DrawnItemContent(figure, [ReportTable("throughput of all flows (Mbit/s)", ["time (s)", *_SCHEMES], rows)], data)


def _total_throughput(result: Result) -> pl.DataFrame:
    """The throughput of all groups together for each seed and second."""
    groups = result.series.rate.group_by("seed", "time_s", maintain_order=True).agg(THROUGHPUT)
    return groups.with_columns(pl.col(THROUGHPUT).list.sum())


def _mean_throughput_of_span_text(rates: pl.DataFrame, name: str, start: float, end: float) -> str:
    """The mean of a scheme over a span of time, with its interval over seeds."""
    one = rates.filter((rates["group"] == name) & rates["time_s"].is_between(start, end, closed="left"))
    means = [frame[THROUGHPUT].mean() for frame in one.partition_by("seed", maintain_order=True)]
    return format_with_interval(mean_with_interval([float(mean) for mean in means if isinstance(mean, float)]).scaled(1e-6), 3)


def _set_warm_up_axes(axes: Axes, title: str) -> None:
    series.set_time_span(axes, _END_S)
    axes.axvline(_WARM_UP_S, color="black", linewidth=0.8, linestyle=":")
    axes.set_title(title, loc="left")


ITEMS = [
    StudyItem(
        number="3.3",
        title=f"The router's queue from the start, {_FLOWS} flows",
        caption=(
            f"{_SETTINGS_TEXT}; every 10 ms of the first seed, with the average that the queue keeps. "
            "Dashed: min_th and max_th; dotted: 20 s, from which everything is measured."
        ),
        needs=_warm_up_scenarios({"queue": "10 ms"}, every_seed=False),
        draw=_draw_warm_up_queues,
        part=_PART,
    ),
    StudyItem(
        number="3.4",
        title=f"Throughput of all flows in intervals of 1 s from the start, {_FLOWS} flows",
        caption=f"{_SETTINGS_TEXT}; mean over seeds with its 95 % interval as a band. Dotted: 20 s, from which everything is measured.",
        needs=_warm_up_scenarios({"rates": True}, every_seed=True),
        draw=_draw_warm_up_throughput,
        part=_PART,
    ),
]
