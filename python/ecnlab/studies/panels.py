"""Schemes compared by several measures at once: a panel for each measure, against a parameter or over named cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecnlab.analysis.stats import Estimate
from ecnlab.plots import lines, style
from ecnlab.plots.style import BY_POSITION, Palette
from ecnlab.studies.claims import Of, Shown
from ecnlab.studies.model import Drawing, Item, Need, Results, Table, with_interval

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from ecnlab.plots.drawn import Drawn
    from ecnlab.results import Result

Values = Callable[["Result"], Sequence[float]]
Case = float | str
Needs = Mapping[tuple[str, Case], Need]


def column(quantity: str, *, group: str | None = None, queue: str | None = None, band: str | None = None) -> Values:
    """A column of a result, as `Result.values` gives it."""
    return lambda result: result.values(quantity, group=group, queue=queue, band=band)


@dataclass(frozen=True)
class Measure:
    """What is measured of a run.

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
    values: Values
    shown: Shown
    top: float | None = None
    target: float | None = None

    @property
    def heading(self) -> str:
        """Its label with the unit."""
        return f"{self.label} ({self.shown.unit})" if self.shown.unit else self.label

    def estimate(self, result: Result) -> Estimate:
        """Its mean and interval, in the unit shown; no interval where nothing in the scenario is random."""
        return result.estimate_of(self.values(result)).scaled(self.shown.factor)

    def of(self, need: Need) -> Of:
        """The same as what a statement of a claim compares."""
        return Of(need, self.values)


@dataclass(frozen=True)
class Look:
    """How panels look: what the parameter is called, its ticks on a log scale if given, the palette, and how many stand in a row."""

    axis: str
    palette: Palette = BY_POSITION
    ticks: Sequence[float] = ()
    columns: int = 2


def item(
    number: str,
    title: str,
    caption: str,
    needs: Needs,
    measures: Sequence[Measure],
    look: Look,
    *,
    also: Sequence[Measure] = (),
    part: str = "",
) -> Item:
    """An item with a panel for each of `measures`; `also` are measures that the table shows beside them."""

    def draw(results: Results) -> Drawing:
        figure, panels = _panels(len(measures), look.columns)
        for axes, measure in zip(panels, measures, strict=False):
            _draw(axes, results, measure, look)
        style.legend_of_panels(figure, panels[0])
        return Drawing(figure, [table(title, look.axis, results, [*measures, *also])], data(results, [*measures, *also], look.axis))

    return Item(number, title, caption, needs, draw, part=part)


def table(title: str, axis: str, results: Results, measures: Sequence[Measure]) -> Table:
    """A row for each scheme and case, a column for each measure."""
    rows = [[str(scheme), _word(case), *(_cell(measure, result) for measure in measures)] for (scheme, case), result in results.items()]
    return Table(title, ["scheme", axis, *(measure.heading for measure in measures)], rows)


def data(results: Results, measures: Sequence[Measure], axis: str) -> pl.DataFrame:
    """A row for each scheme, case and measure."""
    import polars as pl

    rows = []
    for (scheme, case), result in results.items():
        for measure in measures:
            found = measure.estimate(result)
            rows.append((scheme, case, measure.name, measure.shown.unit, found.mean, found.sd, found.half_width, found.n))
    return pl.DataFrame(rows, schema=["scheme", axis, "quantity", "unit", "mean", "sd", "half_width", "n"], orient="row")


def _panels(count: int, columns: int) -> tuple[Drawn, list[Axes]]:
    rows = -(-count // columns)
    figure, panels = style.panels(rows, columns, shape=(0.38 if columns > 1 else 0.3) * rows + 0.12)
    for empty in panels[count:]:
        empty.set_visible(False)
    return figure, panels


def _draw(axes: Axes, results: Results, measure: Measure, look: Look) -> None:
    cases = list(dict.fromkeys(case for _, case in results))
    names = [_word(case) for case in cases] if any(isinstance(case, str) for case in cases) else None
    curves = []
    for scheme in dict.fromkeys(scheme for scheme, _ in results):
        there = [(at, case) for at, case in enumerate(cases) if (scheme, case) in results]
        xs = [float(at) if names else float(case) for at, case in there]
        curves.append(lines.Curve(scheme, xs, [measure.estimate(results[scheme, case]) for _, case in there]))
    if names:
        lines.draw_over_names(axes, names, curves, y_label=measure.heading, palette=look.palette)
    else:
        lines.draw(axes, curves, x_label=look.axis, y_label=measure.heading, ticks=look.ticks, palette=look.palette)
    if measure.top is not None:
        axes.set_ylim(0, measure.top)
    if measure.target is not None:
        axes.axhline(measure.target, color="black", linewidth=0.6, linestyle="--")


def _cell(measure: Measure, result: Result) -> str:
    found = measure.estimate(result)
    return "" if math.isnan(found.mean) else with_interval(found, measure.shown.digits)


def _word(case: Case) -> str:
    return case if isinstance(case, str) else f"{case:g}"
