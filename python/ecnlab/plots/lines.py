"""Quantities against a parameter: means joined by lines, 95 % intervals as bars, another's means beside them as open markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ecnlab.analysis.stats import Estimate
from ecnlab.plots import style
from ecnlab.plots.style import BY_POSITION, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Larger than a curve's own markers, so that they show around them.
_OPEN: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none", "markersize": 9, "zorder": 3}

# How much of a name's room its markers take.
_SHARE_OF_NAME = 0.7


@dataclass(frozen=True)
class Curve:
    """One line: its label, where it has points, the estimates there, and what `another` found there (ns-2, a paper), where it is known."""

    label: str
    xs: Sequence[float]
    points: Sequence[Estimate]
    beside: Sequence[float | None] = ()


def draw(
    axes: Axes,
    curves: Sequence[Curve],
    *,
    x_label: str,
    y_label: str,
    ticks: Sequence[float] = (),
    palette: Palette = BY_POSITION,
    another: str = "ns-2",
) -> None:
    """Draw curves with their intervals; `ticks` puts the x axis on a log scale with just these ticks.

    `another` is who found what the curves have `beside` them.
    """
    for position, curve in enumerate(curves):
        colour, marker = palette.colour(curve.label, position), palette.marker(curve.label, position)
        axes.errorbar(
            list(curve.xs),
            [point.mean for point in curve.points],
            yerr=[point.half_width for point in curve.points],  # NaN, where there is no interval, draws no bar
            label=style.label(axes, curve.label),
            color=colour,
            marker=marker,
            linestyle=palette.dash(curve.label),
        )
        _draw_beside(axes, curve, colour, marker)
    if any(value is not None for curve in curves for value in curve.beside):
        axes.plot([], [], color="black", marker="o", label=style.label(axes, another), **_OPEN)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if ticks:
        _only(axes, ticks)


def draw_over_names(axes: Axes, names: Sequence[str], curves: Sequence[Curve], *, y_label: str, palette: Palette = BY_POSITION) -> None:
    """Curves over named cases instead of a parameter: markers side by side over each name, whose place in `names` their xs give."""
    width = _SHARE_OF_NAME / max(len(curves), 1)
    for position, curve in enumerate(curves):
        shift = (position - (len(curves) - 1) / 2) * width
        axes.errorbar(
            [x + shift for x in curve.xs],
            [point.mean for point in curve.points],
            yerr=[point.half_width for point in curve.points],
            label=style.label(axes, curve.label),
            color=palette.colour(curve.label, position),
            marker=palette.marker(curve.label, position),
            linestyle="none",
        )
    axes.set_xticks(range(len(names)), [style.escaped(name, max(len(word) for word in name.split())) for name in names])
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(y_label)


def _draw_beside(axes: Axes, curve: Curve, colour: str, marker: str) -> None:
    known = [(x, value) for x, value in zip(curve.xs, curve.beside, strict=False) if value is not None]
    if known:
        axes.plot(*zip(*known, strict=True), color=colour, marker=marker, **_OPEN)


def _only(axes: Axes, ticks: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
