"""The figures of a sweep: any quantity against any of its parameters, with intervals, a line for each value of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ecnlab.analysis.stats import Estimate
from ecnlab.errors import UnknownName, UsageError, all_at_once
from ecnlab.names import file_name
from ecnlab.plots import lines, style
from ecnlab.plots.result import MOST_CURVES
from ecnlab.plots.style import Palette, Style
from ecnlab.sweeps.estimates import estimates, row_names, tables_with
from ecnlab.sweeps.values import shown, value
from ecnlab.units import shown_as, shown_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ecnlab.plots.drawn import Drawn
    from ecnlab.sweeps.sweep import Parameter, Sweep

# What is drawn unless a quantity is named.
QUANTITIES = ("goodput_bps", "jain_goodput", "delay_mean_s", "marks", "drops")

# The tables by which row of a run they have, and what a line for each of those rows is asked for by.
_ROWS = {
    "total": None,
    "queues": "queue",
    "groups": "group",
    "bands": "band",
    "impairments": "impairment",
    "completions": "size",
    "flows": "flow",
}
_KINDS = tuple(filter(None, _ROWS.values()))
_FEWEST_ON_LOG, _SPAN_OF_LOG = 4, 16.0
_GAP = 0.06  # of the axis, between two ticks


@dataclass(frozen=True)
class View:
    """What a figure shows of a sweep: a quantity of a table, against `x`, a line for each combination of `by`."""

    quantity: str
    table: str
    x: Parameter
    by: Sequence[str]
    rows: pl.DataFrame

    @property
    def stem(self) -> str:
        """What its files are called."""
        names = self.rows["name"].unique()
        row = [names[0]] if self.table != "total" and len(names) == 1 and _ROWS[self.table] not in self.by else []
        return "-".join(file_name(part) for part in (self.quantity, self.x.name, *row))

    @property
    def data(self) -> pl.DataFrame:
        """The numbers behind it: the parameters, the row's name, mean, sd, half_width and n, in the quantity's own unit."""
        row = _ROWS[self.table]
        named = self.rows.rename({"name": row}) if row else self.rows.drop("name")
        return named.drop("point").sort([*self.by, self.x.name], maintain_order=True)


class SweepPlots:
    """Figures of a sweep, each a figure of matplotlib that a notebook shows as it is.

    `sweep.plot("goodput_bps", x="flows", by="scheme")` is one.
    """

    def __init__(self, sweep: Sweep, chosen: Style | None = None) -> None:
        self._sweep = sweep
        self._style = chosen or Style()

    def styled(self, *, width_in: float | None = None, font_size: float | None = None, titles: bool | None = None) -> SweepPlots:
        """The same figures in another style. Raises UsageError for a width or a size that no figure can have."""
        now = self._style
        width, size = now.width_in if width_in is None else width_in, now.font_size if font_size is None else font_size
        return SweepPlots(self._sweep, Style(width, size, now.titles if titles is None else titles))

    def __call__(
        self,
        y: str,
        x: str | None = None,
        by: str | Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        **row: str | None,
    ) -> Drawn:
        """A quantity against a parameter: means over the seeds and their 95 % intervals.

        Parameters
        ----------
        y : str
            The quantity, e.g. "goodput_bps": a column of `total`, or of another table of the measures.
        x : str, optional
            The parameter along the axis; the first that is a number unless named.
        by : str or sequence of str, optional
            What there is a line for each of: parameters, and one of "group", "queue", "band" (QUEUE.BAND), "impairment"
            (LINK.PART.KIND), "size" (GROUP.FROM.TO, of transactions) and "flow" (FLOW.GROUP); all other parameters unless named.
        where : Mapping, optional
            Only the points at which parameters have these values.
        row : str, optional
            The one row of the table whose quantity it is, as in group="far" or queue="bottleneck".

        Raises
        ------
        UnknownName
            A quantity, parameter, group, queue, band or value that is not there.
        UsageError
            What is asked for cannot be drawn in one figure.
        """
        return self.drawn(self.view(y, x, by, where=where, **row))

    def view(
        self,
        y: str,
        x: str | None = None,
        by: str | Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        **row: str | None,
    ) -> View:
        """What such a figure shows; arguments and errors as for the figure itself."""
        named = None if by is None else [by] if isinstance(by, str) else list(by)
        self._require_known(y, x, named or (), where or {}, row)
        table, name = _table(row, named or (), tables_with(self._sweep, y))
        rows = _of_row(_at(estimates(self._sweep, table, y), self._sweep.parameters, where or {}), _ROWS[table], name)
        along, split = self._axes(rows, x, named, _ROWS[table])
        return View(y, table, along, split, rows.filter(pl.col(along.name).is_not_null()))

    def drawn(self, view: View) -> Drawn:
        """The figure of a view."""
        factor, unit = shown_unit(view.quantity)
        curves = _curves(view, factor)
        with self._style.applied():
            figure, (axes,) = style.panels(style=self._style)
            if self._style.titles:
                n = len(self._sweep.seeds)
                style.title(axes, f"{self._sweep.name}: {n} seed{'s' * (n != 1)}")
            _draw(axes, view, curves[:MOST_CURVES], _words(view.quantity) + (f" ({unit})" if unit != "1" else ""))
            if len(curves) > 1:
                note = f"the first {MOST_CURVES} of {len(curves)} lines" if len(curves) > MOST_CURVES else ", ".join(view.by)
                style.legend_above(axes, note)
        return figure

    def save_all(
        self,
        folder: str | Path,
        quantities: Sequence[str] = (),
        x: str | None = None,
        by: Sequence[str] | None = None,
        *,
        formats: Sequence[str] = ("svg",),
        progress: Callable[[int, int], None] | None = None,
        **rows: Any,
    ) -> list[str]:
        """Write figures into `folder`, each with its data as CSV beside it: of the quantities named, else of the usual ones.

        `rows` are `where` and a row, as for a figure. Returns the names of what was written.
        Raises what a figure raises, and ResultsError if the disk refuses.
        """
        from ecnlab.plots.drawn import checked_formats, write

        checked_formats(formats)
        row = {kind: name for kind, name in rows.items() if kind != "where"}
        all_at_once(partial(self._require_known, y, x, by or (), rows.get("where") or {}, row) for y in quantities)
        views = [self.view(quantity, x, by, **rows) for quantity in quantities or self._usual(**rows)]
        for done, view in enumerate(views):
            if progress is not None:
                progress(done, len(views))
            write(Path(folder) / view.stem, {**self.drawn(view).rendered(formats), "csv": view.data.write_csv().encode()})
        return [view.stem for view in views]

    def _require_known(self, y: str, x: str | None, by: Sequence[str], where: Mapping[str, Any], row: Mapping[str, str | None]) -> None:
        """Raises UnknownName, or UsageError that has all the names that nothing carries."""
        parameters = {one.name: one for one in self._sweep.parameters}
        checks: list[Callable[[], object]] = [partial(tables_with, self._sweep, y)]
        checks += [partial(_require_parameter, name, parameters) for name in [x] if name is not None]
        checks += [partial(_require_parameter, name, [*parameters, *_KINDS]) for name in by]
        checks += [partial(_require_row, self._sweep, kind, name) for kind, name in row.items()]
        checks += [partial(_cell, parameters, name, wanted) for name, wanted in where.items()]
        all_at_once(checks)

    def _usual(self, **rows: Any) -> Sequence[str]:
        """The usual quantities, as far as the table that is asked of has them."""
        tables = [table for table, row in _ROWS.items() if rows.get(row or "") is not None] or ["total"]
        return [quantity for quantity in QUANTITIES if set(tables) & set(tables_with(self._sweep, quantity))]

    def _axes(self, rows: pl.DataFrame, x: str | None, by: Sequence[str] | None, row: str | None) -> tuple[Parameter, Sequence[str]]:
        """The parameter along the axis, and what there is a line for each of."""
        parameters = {one.name: one for one in self._sweep.parameters}
        varied = [name for name in parameters if rows[name].n_unique() > 1] or list(parameters)
        numbers = [name for name in varied if parameters[name].kind in ("whole", "real")]
        along = (numbers or varied)[0] if x is None else x
        rest = [name for name in varied if name != along]
        several = [row] if row and rows["name"].n_unique() > 1 else []
        split = [*rest, *several] if by is None else list(by)
        for name in (along, *split):
            if name not in parameters and (name not in several or name == along):
                raise UnknownName("parameter of the sweep", name, [*parameters, *several])
        left = [name for name in (*rest, *several) if name not in split]
        if left:
            told = ", ".join(left)
            raise UsageError(
                f"{told}: has several values at each {along}: add it to what there is a line for each of (by), or choose one (where)"
            )
        return parameters[along], split


def _draw(axes: Axes, view: View, curves: Sequence[lines.Curve], y_label: str) -> None:
    """Curves against a number; over words, which have no order, markers that no line joins."""
    x_unit = shown_as(view.x.unit)[1]
    x_label = style.label(axes, view.x.name + (f" ({x_unit})" if x_unit else ""))
    if _is_of_words(view):
        names = [shown(one) for one in _places(view)]
        lines.draw_over_names(axes, names, curves, y_label=y_label, palette=_palette(curves))
        axes.set_xticks(range(len(names)), [style.label(axes, name, len(names)) for name in names])
        axes.set_xlabel(x_label)
        return
    lines.draw(axes, curves, x_label=x_label, y_label=y_label, ticks=_ticks(view), palette=_palette(curves))
    if _stand_apart(xs := _xs(view)) and axes.get_xscale() == "linear":
        axes.set_xticks(xs, [f"{x:g}" for x in xs])


def _is_of_words(view: View) -> bool:
    return view.x.kind in ("name", "flag")


def _table(asked: Mapping[str, str | None], by: Sequence[str], having: Sequence[str]) -> tuple[str, str | None]:
    """The table that a figure is drawn from, and the one row of it that is asked for, if any."""
    kinds = [kind for kind, name in asked.items() if name is not None] or [kind for kind in _KINDS if kind in by]
    if len(kinds) > 1:
        raise UsageError(f"{' and '.join(kinds)} exclude each other: a quantity belongs to one of them")
    if not kinds:
        return having[0], None
    table = next(table for table, row in _ROWS.items() if row == kinds[0])
    if table not in having:
        raise UsageError(f"there is no such quantity of a {kinds[0]}: it is one of {', '.join(having)}")
    return table, asked.get(kinds[0])


def _require_parameter(name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise UnknownName("parameter of the sweep", name, known)


def _require_row(sweep: Sweep, kind: str, name: str | None) -> None:
    """Raises UnknownName where there is no such kind of row, or no row of that name."""
    if kind not in _KINDS:
        raise UnknownName("kind of row", kind, _KINDS)
    table = next(table for table, row in _ROWS.items() if row == kind)
    if name is not None and table in sweep.tables and name not in (names := row_names(sweep, table)):
        raise UnknownName(kind, name, names)


def _cell(parameters: Mapping[str, Parameter], name: str, wanted: Any) -> Any:
    """What a column holds for a value that is asked for. Raises UnknownName."""
    _require_parameter(name, parameters)
    one = parameters[name]
    cell = one.cell(value(wanted) if isinstance(wanted, str) and one.kind != "name" else wanted)
    if cell not in {one.cell(given) for given in one.values}:
        raise UnknownName(f"value of {name}", shown(wanted), map(shown, one.values))
    return cell


def _at(rows: pl.DataFrame, parameters: Sequence[Parameter], where: Mapping[str, Any]) -> pl.DataFrame:
    """The rows at which parameters have given values. Raises UsageError if there is none."""
    known = {one.name: one for one in parameters}
    for name, wanted in where.items():
        rows = rows.filter(pl.col(name) == _cell(known, name, wanted))
    if not rows.height:
        raise UsageError("no point has all of these values")
    return rows


def _of_row(rows: pl.DataFrame, kind: str | None, name: str | None) -> pl.DataFrame:
    if name is None:
        return rows
    if name not in rows["name"]:
        raise UnknownName(kind or "row", name, rows["name"].unique())
    return rows.filter(pl.col("name") == name)


def _curves(view: View, factor: float) -> list[lines.Curve]:
    columns = ["name" if name == _ROWS[view.table] else name for name in view.by]
    points: dict[tuple[Any, ...], list[tuple[float, Estimate]]] = {}
    for row in view.rows.iter_rows(named=True):
        place = points.setdefault(tuple(row[column] for column in columns), [])
        place.append((_x(view, row[view.x.name]), Estimate(row["mean"], row["sd"], row["half_width"], row["n"]).scaled(factor)))
    curves = []
    for key, place in points.items():
        place.sort(key=lambda pair: pair[0])
        curves.append(lines.Curve(_label(view, key), [x for x, _ in place], [estimate for _, estimate in place]))
    return curves


def _palette(curves: Sequence[lines.Curve]) -> Palette:
    """Dashes by position, as colours and markers are: no two of 28 lines look alike without colour."""
    return Palette(dashes={curve.label: style.LINES[position % len(style.LINES)] for position, curve in enumerate(curves)})


def _label(view: View, key: Sequence[Any]) -> str:
    """What a line is called: a name stands for itself, a number with its parameter where there are several."""
    words = ["own" if one is None else shown(one) for one in key]
    if len(words) == 1:
        return words[0]
    return ", ".join(word if isinstance(one, str) else f"{name} {word}" for name, one, word in zip(view.by, key, words, strict=True))


def _x(view: View, cell: Any) -> float:
    if _is_of_words(view):
        return float(_places(view).index(cell))
    return float(cell) * shown_as(view.x.unit)[0]


def _places(view: View) -> list[Any]:
    """The words along the axis, in the order in which they were given."""
    there = set(view.rows[view.x.name])
    return [cell for cell in map(view.x.cell, view.x.values) if cell in there]


def _ticks(view: View) -> Sequence[float]:
    """The values along a log scale, where they span so much that they would crowd on a plain one."""
    if _is_of_words(view):
        return ()
    xs = _xs(view)
    return xs if len(xs) >= _FEWEST_ON_LOG and xs[0] > 0 and xs[-1] / xs[0] >= _SPAN_OF_LOG else ()


def _xs(view: View) -> list[float]:
    """The values along the axis, ascending."""
    return sorted({_x(view, cell) for cell in view.rows[view.x.name]})


def _stand_apart(xs: Sequence[float]) -> bool:
    """Whether there is room for a tick at each value."""
    return all(after - before >= _GAP * (xs[-1] - xs[0]) for before, after in pairwise(xs))


def _words(quantity: str) -> str:
    for ending in ("_bps", "_packets", "_s"):
        quantity = quantity.removesuffix(ending)
    return quantity.replace("_", " ")
