"""Figures of robustness: the transient and MSER-5, half widths against seeds, and p-values of many measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ecnlab.plot import style
from ecnlab.stats.estimates import CONFIDENCE, mean_with_interval
from ecnlab.stats.steady_state import ObservedSeries, arithmetic_mean, batch_means, mser_statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SERIES_COLOUR, _CUT_COLOUR, _MEASURED_COLOUR = style.COLOURS[0], style.COLOURS[1], style.COLOURS[2]
_MIN_SEEDS = 3


def draw_transient(axes: Axes, observed: ObservedSeries, from_s: float | None, measure_from_s: float) -> None:
    """The mean of a series over its seeds against time, with the begin of its steady state and of the measured interval."""
    means = [arithmetic_mean(at_once) for at_once in zip(*observed.runs, strict=True)]
    times = np.arange(len(means)) * observed.interval_s
    axes.plot(
        times,
        means,
        color=_SERIES_COLOUR,
        linewidth=0.8,
        label=f"mean of {len(observed.runs)} seeds" if len(observed.runs) > 1 else "queue",
    )
    if from_s is not None:
        axes.axvline(from_s, color=_CUT_COLOUR, linewidth=1.4, label=f"steady from {from_s:g} s (MSER-5)")
    axes.axvline(measure_from_s, color=_MEASURED_COLOUR, linestyle="--", linewidth=1.4, label=f"measured from {measure_from_s:g} s")
    axes.set_ylabel("queue length (packets)")
    axes.set_ylim(bottom=0)


def draw_mser_statistic(axes: Axes, observed: ObservedSeries, from_s: float | None) -> None:
    """The standard error of the mean of a truncated series, which MSER-5 minimises, against the truncation time."""
    runs = [batch_means(run, observed.batch) for run in observed.runs]
    errors = np.sqrt(mser_statistics([arithmetic_mean(at_once) for at_once in zip(*runs, strict=True)]))
    times = np.arange(len(errors)) * observed.interval_s * observed.batch
    axes.plot(times, errors, color=_SERIES_COLOUR, linewidth=1.0, label="standard error")
    if from_s is not None:
        axes.axvline(from_s, color=_CUT_COLOUR, linewidth=1.4)
    end_s = len(runs[0]) * observed.interval_s * observed.batch
    axes.axvspan(end_s / 2, end_s, color="black", alpha=0.08, linewidth=0, label="too short to tell")
    axes.set_xlabel("dropped up to (s)")
    axes.set_ylabel("standard error\n(packets)")
    axes.set_ylim(bottom=0)


def draw_interval_widths_by_seeds(axes: Axes, curves: Sequence[tuple[str, Sequence[float]]], bound: float | None = None) -> None:
    """The half width of the 95 % interval in per cent of the mean against the number of seeds, a line for each measure."""
    for position, (name, values) in enumerate(curves):
        counts = np.arange(_MIN_SEEDS, len(values) + 1)
        found = [mean_with_interval(values[: int(n)]) for n in counts]
        widths = [100 * one.half_width / abs(one.mean) if one.mean else math.nan for one in found]
        axes.plot(
            counts,
            widths,
            color=style.PALETTE_BY_POSITION.colour("", position),
            linewidth=1.2,
            label=style.escape_and_wrap_label(axes, name),
        )
    if bound is not None:
        axes.axhline(100 * bound, color="black", linestyle="--", linewidth=1.0, label=f"bound of {100 * bound:g} %")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("seeds")
    axes.set_ylabel("half width (% of the mean)")


def draw_p_values_by_rank(axes: Axes, curves: Sequence[tuple[str, Sequence[float]]]) -> None:
    """P-values in ascending order against their rank, with the lines of both rules: 0.05, and 0.05 rank / tests."""
    rate = 1 - CONFIDENCE
    most = max(len(values) for _, values in curves)
    for position, (name, values) in enumerate(curves):
        ranks = np.arange(1, len(values) + 1)
        colour = style.PALETTE_BY_POSITION.colour("", position)
        axes.plot(ranks, np.maximum(sorted(values), 1e-6), ".", color=colour, markersize=4, label=style.escape_and_wrap_label(axes, name))
    ranks = np.arange(1, most + 1)
    axes.axhline(rate, color="black", linestyle=":", linewidth=1.2, label=f"{rate:g}: each test alone")
    axes.plot(ranks, rate * ranks / most, color="black", linewidth=1.2, label=f"{rate:g} rank / {most}: Benjamini and Hochberg")
    axes.set_yscale("log")
    axes.set_xlabel("rank of the measure")
    axes.set_ylabel("p-value")
