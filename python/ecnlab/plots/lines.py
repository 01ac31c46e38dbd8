"""Quantities against a parameter: means joined by lines, 95 % intervals as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecnlab.analysis.stats import Estimate
from ecnlab.plots import style
from ecnlab.plots.style import BY_POSITION, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Curve:
    """One line: its label, where it has points, and the estimates there."""

    label: str
    xs: Sequence[float]
    points: Sequence[Estimate]


def draw(
    axes: Axes,
    curves: Sequence[Curve],
    *,
    x_label: str,
    y_label: str,
    ticks: Sequence[float] = (),
    palette: Palette = BY_POSITION,
    dashed: bool = False,
) -> None:
    """Draw curves with their intervals; `ticks` puts the x axis on a log scale with just these, `dashed` gives unlike dashes."""
    for position, curve in enumerate(curves):
        axes.errorbar(
            list(curve.xs),
            [point.mean for point in curve.points],
            yerr=[point.half_width for point in curve.points],  # NaN, where there is no interval, draws no bar
            label=style.label(axes, curve.label),
            color=palette.colour(curve.label, position),
            marker=palette.marker(curve.label, position),
            linestyle=style.LINES[position % len(style.LINES)] if dashed else "-",
        )
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if ticks:
        _only(axes, ticks)


def _only(axes: Axes, ticks: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
