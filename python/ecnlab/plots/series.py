"""Time series: queue length, windows, and rates with their interval over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ecnlab.analysis.stats import t_quantile
from ecnlab.plots import style
from ecnlab.plots.style import BY_POSITION, Palette
from ecnlab.units import shown_unit

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

# The quantities of the series `window`, and what an axis calls them.
WINDOWS = {
    "cwnd_packets": "congestion window (packets)",
    "ssthresh_packets": "slow-start threshold (packets)",
    "alpha": "DCTCP's alpha",
}

_QUEUE, _AVERAGE = "#56B4E9", "#D55E00"


def draw_queue(axes: Axes, frame: pl.DataFrame) -> None:
    """Queue length and the AQM's average against time, from one seed and queue of the series `queue`."""
    axes.plot(frame["time_s"], frame["length_packets"], color=_QUEUE, linewidth=0.4, label="queue", rasterized=True)
    if not frame["average_packets"].is_nan().all():
        axes.plot(frame["time_s"], frame["average_packets"], color=_AVERAGE, linewidth=1.0, label="average")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("queue length (packets)")
    axes.set_ylim(bottom=0)


def draw_rates(axes: Axes, frame: pl.DataFrame, quantity: str, groups: Sequence[str], palette: Palette = BY_POSITION) -> None:
    """A rate of each group against time: mean over seeds, with the 95 % interval of the mean as a band."""
    unit = shown_unit(quantity)[1]
    for position, group in enumerate(groups):
        colour, dash = palette.colour(group, position), palette.dash(group)
        _draw_mean(axes, frame.filter(frame["group"] == group), quantity, group, colour, dash)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"{_words(quantity)} ({unit})")
    axes.set_ylim(bottom=0)


def draw_windows(axes: Axes, frame: pl.DataFrame, quantity: str, groups: Sequence[str]) -> None:
    """The mean window of each group's flows against time, over seeds, with the 95 % interval of the mean as a band.

    `frame` is the series `window` with the column `group` beside it.
    """
    import polars as pl

    means = frame.group_by("seed", "time_s", "group", maintain_order=True).agg(quantity).with_columns(pl.col(quantity).list.mean())
    for position, group in enumerate(groups):
        _draw_mean(axes, means.filter(means["group"] == group), quantity, group, BY_POSITION.colour(group, position))
    _window_axes(axes, quantity)


def draw_flow_windows(axes: Axes, frame: pl.DataFrame, quantity: str, flows: Sequence[int]) -> None:
    """The window of single flows against time, from one seed of the series `window`."""
    for position, flow in enumerate(flows):
        one = frame.filter(frame["flow"] == flow)
        axes.plot(one["time_s"], one[quantity], color=BY_POSITION.colour("", position), linewidth=0.9, label=f"flow {flow}")
    _window_axes(axes, quantity)


def span(axes: Axes, end_s: float) -> None:
    """Have the time axis run from 0 to the end of the run, whenever the last thing happened."""
    axes.set_xlim(0, end_s)


def _window_axes(axes: Axes, quantity: str) -> None:
    axes.set_xlabel("time (s)")
    axes.set_ylabel(WINDOWS[quantity])
    axes.set_ylim(bottom=0)


def _draw_mean(axes: Axes, frame: pl.DataFrame, quantity: str, name: str, colour: str, dash: str = "-") -> None:
    factor = shown_unit(quantity)[0]
    bins = over_seeds(frame, quantity)
    x, mean, half = bins["time_s"], bins["mean"].to_numpy() * factor, bins["half_width"].to_numpy() * factor
    if bins.height == 1:  # a line or a band of one point would be invisible
        axes.errorbar(x, mean, yerr=half, color=colour, marker="o", label=style.label(axes, name))
        return
    axes.plot(x, mean, color=colour, linestyle=dash, label=style.label(axes, name))
    axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)


def _words(quantity: str) -> str:
    return quantity.removesuffix("_bps").replace("_first", ", first transmissions")


def over_seeds(frame: pl.DataFrame, quantity: str) -> pl.DataFrame:
    """Mean and half width of the 95 % interval over seeds at each time: time_s, mean, half_width."""
    import numpy as np
    import polars as pl

    # Values are gathered first: a mean that is taken while groups are made is rounded in another order each time.
    value = pl.col(quantity).list
    numbers = value.mean().alias("mean"), value.std().alias("sd"), value.len().alias("n")
    bins = frame.group_by("time_s").agg(quantity).select("time_s", *numbers).sort("time_s")
    quantile = {n: t_quantile(0.95, n - 1) if n > 1 else 0.0 for n in bins["n"].unique()}
    n = bins["n"].to_numpy()
    half = np.array([quantile[count] for count in n]) * bins["sd"].fill_null(0.0).to_numpy() / np.sqrt(n)
    return bins.select("time_s", "mean", pl.Series("half_width", half))
