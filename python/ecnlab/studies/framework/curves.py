"""Figures of measured quantities against a parameter, as items: panels of curves, each point a quantity that claims can name too.

    points = {15: ScenarioMeasure(need(15), "goodput_bps"), 30: ScenarioMeasure(need(30), "goodput_bps")}
    curve_figure("4.2", "Goodput", "...", [CurvePanel("", {"ECN": points})], AxisScales("number of flows", "goodput", MBPS))

A point has its mean over seeds with the 95 % interval as a bar, ns-2's mean, where it is known, as an open marker, and what the paper
prints as a half-filled one.
A table below the figure and its CSV have the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ecnlab.plot import lines, style
from ecnlab.plot.style import PALETTE_BY_POSITION, Palette
from ecnlab.stats.estimates import Estimate
from ecnlab.studies.framework.claims import DisplayUnit, MeasuredQuantity, ResultOfNeed, estimate_of_quantity
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    NeedKey,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
    numbered_needs,
)

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes


CurvePoints = Mapping[float, MeasuredQuantity]


@dataclass(frozen=True)
class CurvePanel:
    """One panel of a figure: its title, which may be empty for a single panel, and its curves by label.

    `published` is what the paper prints of a curve, by x, in the unit shown; `source` is its name in the legend and in the data.
    """

    title: str
    curves: Mapping[str, CurvePoints]
    published: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    source: str = "published"

    def published_curves(self) -> list[lines.Curve]:
        """The paper's values as curves without intervals."""
        found = {label: self.published.get(label, {}) for label in self.curves}
        return [lines.Curve(label, list(points), (), list(points.values())).reference_curve() for label, points in found.items()]


@dataclass(frozen=True)
class AxisSettings:
    """The axes of all panels: the quantities of x and y, the unit of y, and ranges and ticks unless automatic.

    `ticks` puts x on a log scale with just these ticks. Panels have one range of y, unless each has its `own_y`.
    """

    x: str
    y: str
    shown: DisplayUnit
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    ticks: Sequence[float] = ()
    own_y: bool = False

    @property
    def y_label(self) -> str:
        """Label of the y axis."""
        return self.shown.label(self.y)


@dataclass(frozen=True)
class _CurveFigure:
    """The panels of a figure and the scenarios that they require."""

    panels: Sequence[CurvePanel]
    scales: AxisSettings
    palette: Palette

    def required_scenarios(self) -> dict[NeedKey, RequiredScenario]:
        """The scenarios of all points, numbered."""
        return numbered_needs(need for _, _, _, measured in self._points_of_all_panels() for need in measured.required_scenarios())

    def draw_item_content(self, results: ResultsByKey) -> DrawnItemContent:
        """The figure, a table of each panel, and the numbers behind them."""
        runs = {need: results[key] for key, need in self.required_scenarios().items()}.__getitem__
        count = len(self.panels)
        shape = 0.61 if count == 1 else 0.12 + 0.39 * ((count + 1) // 2)
        figure, axes = style.figure_with_panel_count(count, min(count, 2), shape=shape, sharey=not self.scales.own_y)
        for axis, panel in zip(axes, self.panels, strict=True):
            self._draw_panel(axis, panel, runs)
        for axis in axes[1::2]:
            axis.set_ylabel("")
        if count > 1:
            style.shared_legend_of_panels(figure, *axes)
        else:
            style.legend_above(axes[0])
        return DrawnItemContent(figure, [self._panel_table(panel, runs) for panel in self.panels], self._points_frame(runs))

    def _draw_panel(self, axes: Axes, panel: CurvePanel, runs: ResultOfNeed) -> None:
        scales = self.scales
        curves = [
            lines.Curve(
                label,
                list(points),
                [self._estimate_of_point(measured, runs) for measured in points.values()],
                [scales.shown.scaled(measured.recorded_ns2_mean()) for measured in points.values()],
            )
            for label, points in panel.curves.items()
        ]
        lines.draw_curves(axes, curves, x_label=scales.x, y_label=scales.y_label, ticks=scales.ticks, palette=self.palette)
        lines.draw_reference_points(axes, panel.published_curves(), panel.source, palette=self.palette, half=True)
        axes.set_title(panel.title, loc="left")
        if scales.x_range:
            axes.set_xlim(scales.x_range)
        if scales.y_range:
            axes.set_ylim(scales.y_range)

    def _panel_table(self, panel: CurvePanel, runs: ResultOfNeed) -> ReportTable:
        digits = self.scales.shown.digits
        xs = sorted({x for points in panel.curves.values() for x in points})
        rows = [
            [f"{x:g}"]
            + [
                format_with_interval(self._estimate_of_point(points[x], runs), digits) if x in points else ""
                for points in panel.curves.values()
            ]
            for x in xs
        ]
        title = ", ".join(words for words in (panel.title, self.scales.y_label) if words)
        return ReportTable(title, [self.scales.x, *panel.curves], rows)

    def _points_frame(self, runs: ResultOfNeed) -> pl.DataFrame:
        import polars as pl

        points = list(self._points_of_all_panels())
        rows = [((panel, label, x), self._estimate_of_point(measured, runs)) for panel, label, x, measured in points]
        known = [self.scales.shown.scaled(measured.recorded_ns2_mean()) for _, _, _, measured in points]
        published = [panel.published.get(label, {}).get(x) for panel in self.panels for label, xs in panel.curves.items() for x in xs]
        frame = estimates_frame(["panel", "curve", self.scales.x], self.scales.y_label, rows)
        beside = [pl.Series(name, values, dtype=pl.Float64) for name, values in (("ns2_mean", known), (self.panels[0].source, published))]
        return frame.with_columns(column for column in beside if column.count())

    def _estimate_of_point(self, measured: MeasuredQuantity, runs: ResultOfNeed) -> Estimate:
        return estimate_of_quantity(measured, runs).scaled(self.scales.shown.factor)

    def _points_of_all_panels(self) -> Iterator[tuple[str, str, float, MeasuredQuantity]]:
        for panel in self.panels:
            for label, points in panel.curves.items():
                for x, measured in points.items():
                    yield panel.title, label, x, measured


def curve_figure(
    number: str,
    title: str,
    caption: str,
    panels: Sequence[CurvePanel],
    scales: AxisSettings,
    *,
    part: str = "",
    palette: Palette = PALETTE_BY_POSITION,
) -> StudyItem:
    """The item of a figure; several panels are in two columns, with one legend for all."""
    curves = _CurveFigure(panels, scales, palette)
    return StudyItem(number, title, caption, curves.required_scenarios(), curves.draw_item_content, part=part)
