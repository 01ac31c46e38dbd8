"""Figures of measured quantities against a parameter, as items: panels of curves, each point a quantity that claims can name too.

    figure("4.2", "Throughput", "...", [Panel("", {"ECN": {15: Of(...), 30: Of(...)}})], Scales("number of flows", "throughput", MBPS))

A point has its mean over seeds with the 95 % interval as a bar, ns-2's mean, where it is known, as an open marker, and what the paper
prints as a half-filled one.
The numbers stand in a table below the figure and in its CSV.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ecnlab.analysis.stats import Estimate
from ecnlab.plots import lines, style
from ecnlab.plots.style import BY_POSITION, Palette
from ecnlab.studies.claims import Measured, Runs, Shown, estimated
from ecnlab.studies.model import Drawing, Item, Key, Need, Results, Table, estimates, with_interval

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from ecnlab.plots.drawn import Drawn

Points = Mapping[float, Measured]


@dataclass(frozen=True)
class Panel:
    """One of a figure's axes: its title, which may be empty if there is no other panel, and its curves by label.

    `published` is what the paper prints of a curve, by x, in the unit shown.
    """

    title: str
    curves: Mapping[str, Points]
    published: Mapping[str, Mapping[float, float]] = field(default_factory=dict)

    def of_paper(self) -> list[lines.Curve]:
        """What the paper prints, as curves without intervals."""
        found = {label: self.published.get(label, {}) for label in self.curves}
        return [lines.Curve(label, list(points), (), list(points.values())).of_another() for label, points in found.items()]


@dataclass(frozen=True)
class Scales:
    """The axes of all panels: what x and y are, the unit of y, and the ranges and ticks, where they are not left to the data.

    `ticks` puts x on a log scale with just these ticks. Panels have one range of y, unless each has its `own_y`.
    """

    x: str
    y: str
    shown: Shown
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    ticks: Sequence[float] = ()
    own_y: bool = False

    @property
    def y_label(self) -> str:
        """What stands at the y axis."""
        return f"{self.y} ({self.shown.unit})" if self.shown.unit else self.y


@dataclass(frozen=True)
class _Curves:
    """What a figure draws, and the scenarios that it needs."""

    panels: Sequence[Panel]
    scales: Scales
    palette: Palette

    def needs(self) -> dict[Key, Need]:
        """The scenarios of all points, numbered."""
        distinct = dict.fromkeys(need for _, _, _, measured in self._points() for need in measured.needs())
        return {(at,): need for at, need in enumerate(distinct)}

    def draw(self, results: Results) -> Drawing:
        """The figure, a table of each panel, and the numbers behind them."""
        runs = {need: results[key] for key, need in self.needs().items()}.__getitem__
        figure, axes = _axes(len(self.panels), sharey=not self.scales.own_y)
        for axis, panel in zip(axes, self.panels, strict=True):
            self._draw_panel(axis, panel, runs)
        for axis in axes[1::2]:
            axis.set_ylabel("")
        if len(self.panels) > 1:
            style.legend_of_panels(figure, *axes)
        else:
            style.legend_above(axes[0])
        return Drawing(figure, [self._table(panel, runs) for panel in self.panels], self._data(runs))

    def _draw_panel(self, axes: Axes, panel: Panel, runs: Runs) -> None:
        scales, factor = self.scales, self.scales.shown.factor
        curves = [
            lines.Curve(
                label,
                list(points),
                [self._estimate(measured, runs) for measured in points.values()],
                [None if known is None else known * factor for known in (measured.ns2() for measured in points.values())],
            )
            for label, points in panel.curves.items()
        ]
        lines.draw(axes, curves, x_label=scales.x, y_label=scales.y_label, ticks=scales.ticks, palette=self.palette)
        lines.draw_beside(axes, panel.of_paper(), "published", palette=self.palette, half=True)
        axes.set_title(panel.title, loc="left")
        if scales.x_range:
            axes.set_xlim(scales.x_range)
        if scales.y_range:
            axes.set_ylim(scales.y_range)

    def _table(self, panel: Panel, runs: Runs) -> Table:
        digits = self.scales.shown.digits
        xs = sorted({x for points in panel.curves.values() for x in points})
        rows = [
            [f"{x:g}"] + [with_interval(self._estimate(points[x], runs), digits) if x in points else "" for points in panel.curves.values()]
            for x in xs
        ]
        title = ", ".join(words for words in (panel.title, self.scales.y_label) if words)
        return Table(title, [self.scales.x, *panel.curves], rows)

    def _data(self, runs: Runs) -> pl.DataFrame:
        import polars as pl

        points = list(self._points())
        rows = [((panel, label, x), self._estimate(measured, runs)) for panel, label, x, measured in points]
        known = [measured.ns2() for _, _, _, measured in points]
        scaled = [None if value is None else value * self.scales.shown.factor for value in known]
        published = [panel.published.get(label, {}).get(x) for panel in self.panels for label, xs in panel.curves.items() for x in xs]
        frame = estimates(["panel", "curve", self.scales.x], self.scales.y_label, rows)
        beside = [pl.Series(name, values, dtype=pl.Float64) for name, values in (("ns2_mean", scaled), ("published", published))]
        return frame.with_columns(column for column in beside if column.count())

    def _estimate(self, measured: Measured, runs: Runs) -> Estimate:
        return estimated(measured, runs).scaled(self.scales.shown.factor)

    def _points(self) -> Iterator[tuple[str, str, float, Measured]]:
        for panel in self.panels:
            for label, points in panel.curves.items():
                for x, measured in points.items():
                    yield panel.title, label, x, measured


def figure(
    number: str,
    title: str,
    caption: str,
    panels: Sequence[Panel],
    scales: Scales,
    *,
    part: str = "",
    palette: Palette = BY_POSITION,
) -> Item:
    """The item of a figure; more than one panel stand in two columns, with one legend for all."""
    curves = _Curves(panels, scales, palette)
    return Item(number, title, caption, curves.needs(), curves.draw, part=part)


def _axes(panels: int, *, sharey: bool) -> tuple[Drawn, list[Axes]]:
    if panels == 1:
        return style.panels()
    rows = (panels + 1) // 2
    figure, axes = style.panels(rows, 2, shape=0.12 + 0.39 * rows, sharey=sharey)
    for spare in axes[panels:]:
        spare.set_visible(False)
    return figure, axes[:panels]
