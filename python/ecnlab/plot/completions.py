"""Completion times of transactions by their size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from ecnlab.plot import style
from ecnlab.plot.style import PALETTE_BY_POSITION
from ecnlab.stats.estimates import mean_with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Axis label of each quantity of the table `completions`.
QUANTITY_LABELS = {
    "transaction_mean_s": "mean time of a transaction (s)",
    "transaction_p50_s": "median time of a transaction (s)",
    "transaction_p95_s": "95th percentile of a transaction's time (s)",
    "transaction_p99_s": "99th percentile of a transaction's time (s)",
    "slowdown_mean": "mean slowdown of a transaction",
}


def draw_completions(axes: Axes, frame: pl.DataFrame, quantity: str, groups: Sequence[str]) -> None:
    """A quantity of each group against the size of its transactions, from the table `completions`.

    A point is the mean over seeds of a step of sizes, in the middle of the step, with its 95 % interval.
    """
    for position, group in enumerate(groups):
        points = mean_completions_by_size(frame.filter(frame["group"] == group), quantity)
        if points.height:
            bars = points["half_width"].fill_nan(0.0)
            label, colour = style.escape_and_wrap_label(axes, group), PALETTE_BY_POSITION.colour(group, position)
            axes.errorbar(points["size"], points["mean"], yerr=bars, color=colour, marker="o", markersize=2.5, linewidth=0.9, label=label)
    axes.set_xscale("log")
    style.set_log_y_with_plain_ticks(axes)
    axes.set_xlabel("size (bytes)")
    axes.set_ylabel(QUANTITY_LABELS[quantity])


def mean_completions_by_size(frame: pl.DataFrame, quantity: str) -> pl.DataFrame:
    """Size, mean over seeds and half width of its interval, for each step of sizes that any seed has, in ascending order."""
    steps = frame.group_by("size_from_bytes", "size_to_bytes").agg(pl.col(quantity)).sort("size_from_bytes")
    found = [mean_with_interval(values) for values in steps[quantity].to_list()]
    return pl.DataFrame(
        {
            "size": (steps["size_from_bytes"].cast(pl.Float64) * steps["size_to_bytes"].cast(pl.Float64)).sqrt(),
            "mean": pl.Series([one.mean for one in found], dtype=pl.Float64),
            "half_width": pl.Series([one.half_width for one in found], dtype=pl.Float64),
        }
    )
