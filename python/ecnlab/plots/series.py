"""Time series: queue length, and rates with their interval over seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ecnlab.analysis.stats import t_quantile
from ecnlab.plots import style
from ecnlab.units import shown_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_queue(axes: Axes, frame: pl.DataFrame) -> None:
    """Queue length and the AQM's average against time, from one seed and queue of the series `queue`."""
    axes.plot(
        frame["time_s"],
        frame["length_packets"],
        color=style.SPARE[5],
        linewidth=0.4,
        label="queue",
        rasterized=True,
    )
    if not frame["average_packets"].is_nan().all():
        axes.plot(frame["time_s"], frame["average_packets"], color=style.SPARE[1], linewidth=1.0, label="average")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("queue length (packets)")
    axes.set_ylim(bottom=0)


def draw_rates(axes: Axes, frame: pl.DataFrame, quantity: str, groups: list[str]) -> None:
    """A rate of each group against time: mean over seeds, with the 95 % interval of the mean as a band."""
    factor, unit = shown_unit(quantity)
    for position, group in enumerate(groups):
        bins = _over_seeds(frame.filter(pl.col("group") == group), quantity)
        x, mean, half = (
            bins["time_s"],
            bins["mean"].to_numpy() * factor,
            bins["half_width"].to_numpy() * factor,
        )
        colour = style.colour(group, position)
        axes.plot(x, mean, color=colour, label=group)
        axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"{_words(quantity)} ({unit})")
    axes.set_ylim(bottom=0)


def _words(quantity: str) -> str:
    return quantity.removesuffix("_bps").replace("_first", ", first transmissions")


def _over_seeds(frame: pl.DataFrame, quantity: str) -> pl.DataFrame:
    value = pl.col(quantity)
    bins = frame.group_by("time_s").agg(value.mean().alias("mean"), value.std().alias("sd"), pl.len().alias("n")).sort("time_s")
    n = bins["n"].to_numpy()
    quantile = np.array([t_quantile(0.95, count - 1) if count > 1 else 0.0 for count in n])
    half = quantile * bins["sd"].fill_null(0.0).to_numpy() / np.sqrt(n)
    return bins.with_columns(pl.Series("half_width", half))
