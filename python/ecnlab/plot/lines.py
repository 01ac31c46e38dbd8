"""Quantities against a parameter: means joined by lines, 95 % intervals as bars; values from other sources as open markers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ecnlab.plot import style
from ecnlab.plot.style import PALETTE_BY_POSITION, Palette
from ecnlab.stats.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# An open marker, larger than a curve's own and drawn on top, so that both are visible where they overlap.
_OPEN_MARKER: Any = {
    "linestyle": "none",
    "markerfacecolor": "none",
    "markersize": 8.0,
    "markeredgewidth": 0.9,
    "linewidth": 0.9,
    "zorder": 4,
}
# A marker with its left half filled, drawn inside an open marker and on top of it.
_HALF_GROUP_WIDTH: Any = {
    "linestyle": "none",
    "fillstyle": "left",
    "markerfacecoloralt": "none",
    "markersize": 6.6,
    "markeredgewidth": 0.9,
    "zorder": 5,
}

# Share of a name's width on the axis that its markers take.
_GROUP_SHARE_OF_NAME = 0.7


@dataclass(frozen=True)
class Curve:
    """One line: its label, where it has points, and the estimates there.

    `beside` are the means that another source has at these points (ns-2, a paper), None where it has none; `across` are half widths along
    the x axis.
    """

    label: str
    xs: Sequence[float]
    points: Sequence[Estimate]
    beside: Sequence[float | None] = ()
    across: Sequence[float] | None = None

    def errorbar(self, axes: Axes, shift: float = 0, **looks: Any) -> None:
        """Draw the points with their intervals; NaN (no interval) draws no bar."""
        axes.errorbar(
            [x + shift for x in self.xs],
            [point.mean for point in self.points],
            xerr=self.across,
            yerr=[point.half_width for point in self.points],
            **looks,
        )

    def reference_curve(self) -> Curve:
        """The reference values as a curve without intervals."""
        known = [(x, value) for x, value in zip(self.xs, self.beside, strict=False) if value is not None]
        return Curve(self.label, [x for x, _ in known], [Estimate(value, math.nan, math.nan, 1) for _, value in known])


def draw_curves(
    axes: Axes,
    curves: Sequence[Curve],
    *,
    x_label: str,
    y_label: str,
    ticks: Sequence[float] = (),
    palette: Palette = PALETTE_BY_POSITION,
) -> None:
    """Draw curves with their intervals; `ticks` puts the x axis on a log scale with just these ticks.

    The means `beside` the curves' own are ns-2's.
    """
    for position, curve in enumerate(curves):
        curve.errorbar(
            axes,
            label=style.escape_and_wrap_label(axes, curve.label),
            color=palette.colour(curve.label, position),
            marker=palette.marker_of_name(curve.label, position),
            linestyle=palette.dash_of_name(curve.label),
        )
    draw_reference_points(axes, [curve.reference_curve() for curve in curves], "ns-2", palette=palette)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if ticks:
        axes.set_xscale("log")
        axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()


def draw_points_over_names(
    axes: Axes, names: Sequence[str], curves: Sequence[Curve], *, y_label: str, palette: Palette = PALETTE_BY_POSITION
) -> None:
    """Curves over named cases instead of a parameter: markers side by side over each name, whose place in `names` their xs give."""
    width = _GROUP_SHARE_OF_NAME / max(len(curves), 1)
    for position, curve in enumerate(curves):
        shift = (position - (len(curves) - 1) / 2) * width
        curve.errorbar(
            axes,
            shift,
            label=style.escape_and_wrap_label(axes, curve.label),
            color=palette.colour(curve.label, position),
            marker=palette.marker_of_name(curve.label, position),
            linestyle="none",
        )
    axes.set_xticks(range(len(names)), [style.escape_and_wrap_to_letters(name, max(len(word) for word in name.split())) for name in names])
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(y_label)


def draw_reference_points(
    axes: Axes, curves: Sequence[Curve], source: str, *, palette: Palette = PALETTE_BY_POSITION, half: bool = False
) -> None:
    """Draw values of another `source` for the same curves: markers without a line, open or `half` filled, in the colour of their curve.

    The legend names the source once, beside a sample of its markers. Call it after `draw_curves`.
    """
    look = _HALF_GROUP_WIDTH if half else _OPEN_MARKER
    shapes = [palette.marker_of_name(curve.label, position) for position, curve in enumerate(curves)]
    for position, curve in enumerate(curves):
        if curve.points:
            curve.errorbar(axes, color=palette.colour(curve.label, position), marker=shapes[position], **look)
    drawn = [shape for shape, curve in zip(shapes, curves, strict=True) if curve.points]
    if drawn:
        words = f"{source} ({'half filled' if half else 'open'})"
        axes.plot([], [], color="black", marker=drawn[0], label=style.escape_and_wrap_label(axes, words), **look)
