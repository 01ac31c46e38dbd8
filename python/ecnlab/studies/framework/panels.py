"""Schemes compared by several measures at once: a panel for each measure, against a parameter or over named cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecnlab.plot import lines, style
from ecnlab.plot.style import PALETTE_BY_POSITION, Palette
from ecnlab.stats.estimates import Estimate
from ecnlab.studies.framework.claims import DisplayUnit, MeasureDifference, RelativeChange, ScenarioMeasure, ratio_or_nan
from ecnlab.studies.framework.model import DrawnItemContent, ReportTable, RequiredScenario, ResultsByKey, StudyItem, format_with_interval

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from ecnlab.storage.results import Result

ValuesOfResult = Callable[["Result"], Sequence[float]]
CaseKey = float | str
NeedsByCase = Mapping[tuple[str, CaseKey], RequiredScenario]


def result_column_getter(quantity: str, *, group: str | None = None, queue: str | None = None) -> ValuesOfResult:
    """A column of a result, from `Result.values`."""
    return lambda result: result.values(quantity, group=group, queue=queue)


def column_summed_over_groups(groups: Sequence[str], quantity: str, *, skip_missing: bool = False) -> ValuesOfResult:
    """A column summed over these groups.

    A group that the result lacks raises UnknownName, or is left out if `skip_missing`; without any group there is no value.
    """

    def sums_by_seed(result: Result) -> list[float]:
        known = result.group_names
        found = [result.values(quantity, group=group) for group in groups if not skip_missing or group in known]
        return [sum(each) for each in zip(*found, strict=True)]

    return sums_by_seed


def quotient_of_values(above: ValuesOfResult, below: ValuesOfResult) -> ValuesOfResult:
    """One quantity over another, seed by seed."""
    return lambda result: [ratio_or_nan(a, b) for a, b in zip(above(result), below(result), strict=True)]


@dataclass(frozen=True)
class PanelMeasure:
    """Measures one quantity of a run.

    Attributes
    ----------
    label : str
        What an axis calls it, without its unit.
    name : str
        Its name in the data behind a figure.
    values : callable
        Its values, one a seed, from a result.
    shown : Shown
        The unit in which it is shown.
    top : float, optional
        Where its axis ends, which then begins at 0.
    target : float, optional
        A value to be met, drawn as a dashed line.
    """

    label: str
    name: str
    values: ValuesOfResult
    shown: DisplayUnit
    top: float | None = None
    target: float | None = None

    @property
    def label_with_unit(self) -> str:
        """Its label with the unit."""
        return self.shown.label(self.label)

    def estimate(self, result: Result) -> Estimate:
        """Its mean and interval, in the unit shown; no interval where nothing in the scenario is random."""
        return result.estimate_of(self.values(result)).scaled(self.shown.factor)

    def relative_change(self, a: RequiredScenario, b: RequiredScenario) -> RelativeChange:
        """Its relative change from scenario `b` to `a`."""
        return RelativeChange(self.measure_of_scenario(a), self.measure_of_scenario(b))

    def difference(self, a: RequiredScenario, b: RequiredScenario) -> MeasureDifference:
        """Its value in scenario `a` less that in `b`."""
        return MeasureDifference(self.measure_of_scenario(a), self.measure_of_scenario(b))

    def measure_of_scenario(self, need: RequiredScenario) -> ScenarioMeasure:
        """The measure as a quantity for a claim's statement."""
        return ScenarioMeasure(need, self.values)


@dataclass(frozen=True)
class PanelGridStyle:
    """Style of the panels: the parameter's label, its ticks on a log scale if given, the palette, and the number of panels per row."""

    axis: str
    palette: Palette = PALETTE_BY_POSITION
    ticks: Sequence[float] = ()
    columns: int = 2


def measures_figure_item(
    number: str,
    title: str,
    caption: str,
    needs: NeedsByCase,
    measures: Sequence[PanelMeasure],
    look: PanelGridStyle,
    *,
    also: Sequence[PanelMeasure] = (),
    part: str = "",
) -> StudyItem:
    """An item with a panel for each of `measures`; `also` are measures that the table shows beside them."""

    def draw_item(results: ResultsByKey) -> DrawnItemContent:
        shape = (0.38 if look.columns > 1 else 0.3) * -(-len(measures) // look.columns) + 0.12
        figure, panels = style.figure_with_panel_count(len(measures), look.columns, shape=shape)
        for axes, measure in zip(panels, measures, strict=True):
            _draw_panel(axes, results, measure, look)
        style.shared_legend_of_panels(figure, panels[0])
        table = panel_report_table(title, look.axis, results, [*measures, *also])
        return DrawnItemContent(figure, [table], panel_estimates_frame(results, [*measures, *also], look.axis))

    return StudyItem(number, title, caption, needs, draw_item, part=part)


def panel_report_table(title: str, axis: str, results: ResultsByKey, measures: Sequence[PanelMeasure]) -> ReportTable:
    """A row for each scheme and case, a column for each measure."""
    rows = [
        [str(scheme), _x_axis_case_label(case), *(estimate_cell(measure, result) for measure in measures)]
        for (scheme, case), result in results.items()
    ]
    return ReportTable(title, ["scheme", axis, *(measure.label_with_unit for measure in measures)], rows)


def panel_estimates_frame(results: ResultsByKey, measures: Sequence[PanelMeasure], axis: str) -> pl.DataFrame:
    """A row for each scheme, case and measure."""
    import polars as pl

    rows = []
    for (scheme, case), result in results.items():
        for measure in measures:
            found = measure.estimate(result)
            rows.append((scheme, case, measure.name, measure.shown.unit, found.mean, found.sd, found.half_width, found.n))
    return pl.DataFrame(rows, schema=["scheme", axis, "quantity", "unit", "mean", "sd", "half_width", "n"], orient="row")


def _draw_panel(axes: Axes, results: ResultsByKey, measure: PanelMeasure, look: PanelGridStyle) -> None:
    cases = list(dict.fromkeys(case for _, case in results))
    names = [_x_axis_case_label(case) for case in cases] if any(isinstance(case, str) for case in cases) else None
    curves = []
    for scheme in dict.fromkeys(scheme for scheme, _ in results):
        measured_cases = [(at, case) for at, case in enumerate(cases) if (scheme, case) in results]
        xs = [float(at) if names else float(case) for at, case in measured_cases]
        curves.append(lines.Curve(scheme, xs, [measure.estimate(results[scheme, case]) for _, case in measured_cases]))
    if names:
        lines.draw_points_over_names(axes, names, curves, y_label=measure.label_with_unit, palette=look.palette)
    else:
        lines.draw_curves(axes, curves, x_label=look.axis, y_label=measure.label_with_unit, ticks=look.ticks, palette=look.palette)
    if measure.top is not None:
        axes.set_ylim(0, measure.top)
    if measure.target is not None:
        axes.axhline(measure.target, color="black", linewidth=0.6, linestyle="--")


def estimate_cell(measure: PanelMeasure, result: Result) -> str:
    """The measure of a result as text without its unit; empty where there is none."""
    found = measure.estimate(result)
    return "" if math.isnan(found.mean) else format_with_interval(found, measure.shown.digits)


def _x_axis_case_label(case: CaseKey) -> str:
    return case if isinstance(case, str) else f"{case:g}"
