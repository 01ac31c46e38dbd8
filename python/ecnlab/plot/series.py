"""Time series: queue length, windows, and rates with their interval over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ecnlab.plot import style
from ecnlab.plot.style import PALETTE_BY_POSITION, Palette
from ecnlab.scenarios.units import column_display_factor_and_unit
from ecnlab.stats.student_t import two_sided_t_quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]

# Axis label of each quantity of the series `window`.
WINDOW_QUANTITIES = {
    "cwnd_packets": "congestion window (packets)",
    "ssthresh_packets": "slow-start threshold (packets)",
    "alpha": "DCTCP's alpha",
}

_QUEUE_COLOUR, _AVERAGE_COLOUR = style.COLOURS[0], style.COLOURS[1]

# Minimum width of the axes as a share of the figure's. An interval of a decimated series is one point (1/72 inch) wide.
_AXES_SHARE_OF_WIDTH, _POINTS_PER_INCH = 0.8, 72
_SAMPLES_PER_INTERVAL = 2  # series with more samples are decimated
_RANGE_ALPHA = 0.3


def draw_queue(axes: Axes, frame: pl.DataFrame, bands: pl.DataFrame | None = None) -> None:
    """Queue length and the AQM's average against time, from one seed and queue of the series `queue`.

    Rows of the series `band` give a line for the length of each band, instead of one for all.
    """
    by_band = {} if bands is None else bands.partition_by("band", maintain_order=True, as_dict=True)
    for position, (band, one) in enumerate(by_band.items()):
        colour = PALETTE_BY_POSITION.colour("", position)
        draw_time_series(axes, one["time_s"], one["length_packets"], color=colour, linewidth=0.8, label=str(band[0]))
    if not by_band:
        draw_time_series(axes, frame["time_s"], frame["length_packets"], color=_QUEUE_COLOUR, linewidth=0.8, label="queue")
    if not frame["average_packets"].is_nan().all():
        draw_time_series(
            axes, frame["time_s"], frame["average_packets"], color=_AVERAGE_COLOUR, linewidth=1.2, label="average", has_range=False
        )
    label_time_axes(axes, "queue length (packets)")


def draw_time_series(
    axes: Axes, times: pl.Series, values: pl.Series, *, color: str, linewidth: float, label: str, has_range: bool = True
) -> None:
    """A series as a line; with more samples than the axes can show, the mean of each interval in a band from minimum to maximum.

    With `has_range` the band has its legend entry; else no band is drawn.
    """
    samples = values.to_numpy().astype(float)
    thinned = decimate_samples(axes, times.to_numpy(), samples, samples)
    if thinned is None:
        axes.plot(times, values, color=color, linewidth=linewidth, label=label)
        return
    at, low, high = thinned
    means = _mean_of_decimation_intervals(axes, samples)
    axes.plot(at, means, color=color, linewidth=linewidth, label=f"{label} (mean)" if has_range else label)
    if has_range:
        axes.fill_between(at, low, high, color=color, alpha=_RANGE_ALPHA, linewidth=0, label=f"{label} (min to max)")


def decimate_samples(axes: Axes, times: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """The middle of each interval, the minimum of `low` and the maximum of `high` in it; None where every sample fits.

    NaN counts only where an interval has nothing else.
    """
    starts = _decimation_interval_starts(axes, len(times))
    if starts is None:
        return None
    ends = np.append(starts[1:], len(times)) - 1
    return (times[starts] + times[ends]) / 2, np.fmin.reduceat(low, starts), np.fmax.reduceat(high, starts)


def _mean_of_decimation_intervals(axes: Axes, values: FloatArray) -> FloatArray:
    """The mean in each interval of `decimate_samples`, ignoring NaN."""
    starts = _decimation_interval_starts(axes, len(values))
    assert starts is not None, "values that are thinned"
    known = ~np.isnan(values)
    counts = np.add.reduceat(known.astype(float), starts)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    means = np.full(len(starts), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _decimation_interval_starts(axes: Axes, samples: int) -> NDArray[np.int64] | None:
    """Index of the first sample of each decimation interval; None where every sample fits."""
    intervals = int(_AXES_SHARE_OF_WIDTH * _POINTS_PER_INCH * style.figure_of(axes).get_figwidth())
    if samples <= _SAMPLES_PER_INTERVAL * intervals:
        return None
    return np.linspace(0, samples, intervals, endpoint=False).astype(np.int64)


def draw_queue_delay(axes: Axes, frame: pl.DataFrame, bands: Sequence[str]) -> None:
    """Sojourn times against time, from one seed and queue: a line for the mean of each sample's packets, shaded up to the maximum.

    `frame` holds the series `band` if there are `bands`, with one line for each, else the series `queue`.
    """
    for position, band in enumerate(bands or [""]):
        one = frame.filter(frame["band"] == band) if band else frame
        time_s, mean_ms, max_ms = one["time_s"].to_numpy(), one["sojourn_mean_s"].to_numpy() * 1e3, one["sojourn_max_s"].to_numpy() * 1e3
        if (thinned := decimate_samples(axes, time_s, mean_ms, max_ms)) is not None:
            time_s, _, max_ms = thinned
            mean_ms = _mean_of_decimation_intervals(axes, mean_ms)
        colour = PALETTE_BY_POSITION.colour("", position)
        axes.fill_between(time_s, mean_ms, max_ms, color=colour, alpha=0.25, linewidth=0, rasterized=True)
        axes.plot(time_s, mean_ms, color=colour, linewidth=0.7, label=band or "mean", rasterized=True)
        if alone := _isolated_sample_indices(mean_ms):  # drawn separately, so that the line's legend entry has no dot
            axes.plot(time_s[alone], mean_ms[alone], color=colour, linestyle="none", marker=".", markersize=1.5, rasterized=True)
    shade = "black" if bands else PALETTE_BY_POSITION.colour("", 0)
    axes.fill_between([], [], color=shade, alpha=0.25, linewidth=0, label="up to the largest")
    label_time_axes(axes, "queueing delay (ms)")


def _isolated_sample_indices(values: FloatArray) -> list[int]:
    """Indices of values with NaN on both sides, which a line does not show."""
    is_nan = np.concatenate([[True], np.isnan(values), [True]])
    return list(map(int, np.flatnonzero(~is_nan[1:-1] & is_nan[:-2] & is_nan[2:])))


def draw_rates(axes: Axes, frame: pl.DataFrame, quantity: str, groups: Sequence[str], palette: Palette = PALETTE_BY_POSITION) -> None:
    """A rate of each group against time: mean over seeds, with the 95 % interval of the mean as a band."""
    unit = column_display_factor_and_unit(quantity)[1]
    for position, group in enumerate(groups):
        colour, dash = palette.colour(group, position), palette.dash_of_name(group)
        _draw_mean_over_seeds(axes, frame.filter(frame["group"] == group), quantity, group, colour, dash)
    label = quantity.removesuffix("_bps").replace("_first", ", first transmissions")
    label_time_axes(axes, f"{label} ({unit})")


def draw_group_mean_windows(axes: Axes, frame: pl.DataFrame, quantity: str, groups: Sequence[str]) -> None:
    """The mean window of each group's flows against time, over seeds, with the 95 % interval of the mean as a band.

    `frame` is the series `window` with the column `group` beside it.
    """
    means = frame.group_by("seed", "time_s", "group", maintain_order=True).agg(quantity).with_columns(pl.col(quantity).list.mean())
    for position, group in enumerate(groups):
        _draw_mean_over_seeds(axes, means.filter(means["group"] == group), quantity, group, PALETTE_BY_POSITION.colour(group, position))
    label_time_axes(axes, WINDOW_QUANTITIES[quantity])


def draw_flow_windows(axes: Axes, frame: pl.DataFrame, quantity: str, flows: Sequence[int]) -> None:
    """The window of single flows against time, from one seed of the series `window`."""
    for position, flow in enumerate(flows):
        one = frame.filter(frame["flow"] == flow)
        draw_time_series(
            axes, one["time_s"], one[quantity], color=PALETTE_BY_POSITION.colour("", position), linewidth=0.9, label=f"flow {flow}"
        )
    label_time_axes(axes, WINDOW_QUANTITIES[quantity])


def set_time_span(axes: Axes, end_s: float) -> None:
    """Set the time axis from 0 to the end of the run, also where the last event is earlier."""
    axes.set_xlim(0, end_s)


def label_time_axes(axes: Axes, y_label: str) -> None:
    """Label the axes of a quantity against time, which begins at 0."""
    axes.set_xlabel("time (s)")
    axes.set_ylabel(y_label)
    axes.set_ylim(bottom=0)


def _draw_mean_over_seeds(axes: Axes, frame: pl.DataFrame, quantity: str, name: str, colour: str, dash: str = "-") -> None:
    factor = column_display_factor_and_unit(quantity)[0]
    bins = mean_over_seeds(frame, quantity)
    x, mean, half = bins["time_s"].to_numpy(), bins["mean"].to_numpy() * factor, bins["half_width"].to_numpy() * factor
    if bins.height == 1:  # a line or a band of one point would be invisible
        axes.errorbar(x, mean, yerr=half, color=colour, marker="o", label=style.escape_and_wrap_label(axes, name))
        return
    low, high = mean - half, mean + half
    if (thinned := decimate_samples(axes, x, low, high)) is not None:
        x, low, high = thinned
        mean = _mean_of_decimation_intervals(axes, mean)
    axes.plot(x, mean, color=colour, linestyle=dash, label=style.escape_and_wrap_label(axes, name))
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def mean_over_seeds(frame: pl.DataFrame, quantity: str) -> pl.DataFrame:
    """Mean and half width of the 95 % interval over seeds at each time: time_s, mean, half_width."""
    # Values are collected before averaging: a mean computed during grouping sums, and rounds, in another order each time.
    value = pl.col(quantity).list
    numbers = value.mean().alias("mean"), value.std().alias("sd"), value.len().alias("n")
    bins = frame.group_by("time_s").agg(quantity).select("time_s", *numbers).sort("time_s")
    quantile = {n: two_sided_t_quantile(0.95, n - 1) if n > 1 else 0.0 for n in bins["n"].unique()}
    n = bins["n"].to_numpy()
    half = np.array([quantile[count] for count in n]) * bins["sd"].fill_null(0.0).to_numpy() / np.sqrt(n)
    return bins.select("time_s", "mean", pl.Series("half_width", half))
