"""Cumulative distributions of one-way delay, round-trip time and sojourn time over packets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ecnlab.plot import style
from ecnlab.plot.style import PALETTE_BY_POSITION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Axis label of each quantity of the table `distributions`.
QUANTITY_LABELS = {"delay": "one-way delay", "rtt": "round-trip time", "sojourn": "time in the queue"}

FloatArray = NDArray[np.float64]

_MS_PER_S = 1e3


def draw_distributions(axes: Axes, frame: pl.DataFrame, quantity: str, names: Sequence[str]) -> None:
    """The cumulative share of each name's samples against the quantity, all seeds together, from the table `distributions`.

    A queue with several bands has a curve for each of them.
    """
    of_quantity = frame.filter(pl.col("quantity") == quantity)
    parts = [(name, band) for name in names for band in _queue_bands_with_samples(of_quantity, name)]
    for position, (name, band) in enumerate(parts):
        times, shares = cumulative_shares(of_quantity.filter((pl.col("group_or_queue") == name) & (pl.col("band") == band)))
        line, colour = style.LINES[position % len(style.LINES)], PALETTE_BY_POSITION.colour(name, position)
        words = name if not band else f"{name}, {band}" if len(names) > 1 else band
        axes.plot(times * _MS_PER_S, shares, color=colour, linestyle=line, label=style.escape_and_wrap_label(axes, words))
    axes.set_xlabel(f"{QUANTITY_LABELS[quantity]} (ms)")
    axes.set_ylabel("cumulative share")
    axes.set_ylim(0, 1)


def _queue_bands_with_samples(frame: pl.DataFrame, name: str) -> list[str]:
    """The bands with samples of a name, in their order; an empty name where it has no bands."""
    return frame.filter(pl.col("group_or_queue") == name)["band"].unique(maintain_order=True).to_list() or [""]


def cumulative_shares(cells: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
    """The steps of a cumulative distribution: times in seconds, and the share of samples up to each.

    `cells` has the columns low_s, high_s and count; cells of several seeds are added up. Within a cell the samples count as spread evenly.
    """
    filled = cells.filter(pl.col("count") > 0).group_by("low_s", "high_s").agg(pl.col("count").sum()).sort("low_s", "high_s")
    after = np.cumsum(filled["count"].to_numpy()) / max(filled["count"].sum(), 1)
    before = np.concatenate([[0.0], after[:-1]])[: len(after)]
    times = np.column_stack([filled["low_s"].to_numpy(), filled["high_s"].to_numpy()]).ravel()
    return times, np.column_stack([before, after]).ravel()
