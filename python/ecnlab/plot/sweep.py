"""The figures of a sweep: any quantity against any of its parameters, with intervals, a line for each value of the other parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ecnlab.errors import UnknownName, UsageError, require_known_name, run_all_argument_checks
from ecnlab.plot import lines, style
from ecnlab.plot.result import MAX_CURVES
from ecnlab.plot.style import FigureStyle, Palette
from ecnlab.scenarios.units import column_display_factor_and_unit, display_factor_and_unit
from ecnlab.stats.estimates import Estimate
from ecnlab.storage.filenames import safe_file_name
from ecnlab.storage.folders import parse_folder_argument
from ecnlab.sweeps.estimates import estimates_at_points, row_names_of_table, tables_with_quantity
from ecnlab.sweeps.values import format_axis_value, parse_toml_value_or_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ecnlab.plot.drawn import DrawnFigure
    from ecnlab.sweeps.sweep import Sweep, SweepParameter

# Default quantities.
DEFAULT_QUANTITIES = ("goodput_bps", "jain_goodput", "delay_mean_s", "marks", "drops")

# The measures' tables by the kind of their rows, and the keyword that draws a line for each row.
_ROW_KINDS = {
    "total": None,
    "queues": "queue",
    "groups": "group",
    "bands": "band",
    "impairments": "impairment",
    "completions": "size",
    "flows": "flow",
}
_TABLES_BY_ROW_KIND = {kind: table for table, kind in _ROW_KINDS.items() if kind}
_MIN_VALUES_FOR_LOG, _MIN_SPAN_FOR_LOG = 4, 16.0
_BESIDE_GAP = 0.06  # of the axis, between two ticks
# Panels: how many at most, how narrow, how high for their width (in one column, in several), and the height of a title and ticks.
_MAX_PANELS, _MIN_PANEL_IN, _PANEL_SHAPE, _PANEL_TITLE_IN = 12, 1.5, (0.5, 0.8), 0.3


@dataclass(frozen=True)
class SweepFigureView:
    """Contents of one figure of a sweep: a quantity of a table against `x`, a line for each combination of `by`.

    `panels` names what there is a panel for each of, `log` the axes that are logarithmic, "x" and "y".
    """

    quantity: str
    table: str
    x: SweepParameter
    by: Sequence[str]
    rows: pl.DataFrame
    parameters: Mapping[str, SweepParameter]
    panels: str | None = None
    log: Sequence[str] = ()

    @property
    def file_stem(self) -> str:
        """Base name of the figure's files."""
        names = self.rows["name"].unique()
        row = [names[0]] if self.table != "total" and len(names) == 1 and _ROW_KINDS[self.table] not in (*self.by, self.panels) else []
        return "-".join(safe_file_name(part) for part in (self.quantity, self.x.name, *row))

    @property
    def estimates_frame(self) -> pl.DataFrame:
        """The numbers of the figure: the parameters, the row's name, mean, sd, half_width and n, in the quantity's own unit."""
        row = _ROW_KINDS[self.table]
        named = self.rows.rename({"name": row}) if row else self.rows.drop("name")
        return named.drop("point").sort([*self.by, *([self.panels] if self.panels else []), self.x.name], maintain_order=True)

    @property
    def has_categorical_x(self) -> bool:
        """Whether the axis has named values."""
        return self.x.kind in ("name", "flag")

    @property
    def x_categories(self) -> list[Any]:
        """The named values along the axis, in the order in which they were given."""
        cells_in_rows = set(self.rows[self.x.name])
        return [cell for cell in map(self.x.convert_to_cell, self.x.values) if cell in cells_in_rows]

    @property
    def x_values(self) -> list[float]:
        """The values along the axis, ascending."""
        return sorted({self.x_position(cell) for cell in self.rows[self.x.name]})

    def x_position(self, cell: Any) -> float:
        """The place of a value on the axis."""
        if self.has_categorical_x:
            return float(self.x_categories.index(cell))
        return float(cell) * display_factor_and_unit(self.x.unit)[0]

    def column_of_parameter(self, name: str) -> str:
        """The column of the rows that holds a parameter, or the name of a row."""
        return "name" if name == _ROW_KINDS[self.table] else name

    def format_parameter_value(self, name: str, cell: Any) -> str:
        """A value of a parameter as a figure shows it, in its display unit."""
        if cell is None:
            return "own"
        unit = self.parameters[name].unit if name in self.parameters else ""
        if not unit or isinstance(cell, str):
            return format_axis_value(cell)
        factor, of = display_factor_and_unit(unit)
        return f"{cell * factor:.6g} {of}"


class SweepPlots:
    """Figures of a sweep, each a figure of matplotlib that a notebook shows as it is.

    `sweep.plot("goodput_bps", x="flows", by="scheme")` is one.
    """

    def __init__(self, sweep: Sweep, chosen: FigureStyle | None = None) -> None:
        self._sweep = sweep
        self._style = chosen or FigureStyle()
        self._parameters = {one.name: one for one in sweep.parameters}

    def __repr__(self) -> str:
        return f"<SweepPlots of {self._sweep.name!r}: plot(QUANTITY, x=PARAMETER, by=PARAMETER), e.g. plot({DEFAULT_QUANTITIES[0]!r})>"

    def styled(self, *, width_in: float | None = None, font_size: float | None = None, titles: bool | None = None) -> SweepPlots:
        """The same figures in another style. Raises UsageError for a width or a size that no figure can have."""
        return SweepPlots(self._sweep, self._style.with_changes(width_in=width_in, font_size=font_size, titles=titles))

    def __call__(
        self,
        y: str,
        x: str | None = None,
        by: str | Sequence[str] | None = None,
        *,
        panels: str | None = None,
        log: str | Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
        **row: str | None,
    ) -> DrawnFigure:
        """A quantity against a parameter: means over the seeds and their 95 % intervals.

        With two parameters in `by` the colour encodes the value of the first, the marker and the dashes that of the second.

        Parameters
        ----------
        y : str
            The quantity, e.g. "goodput_bps": a column of `total`, or of another table of the measures.
        x : str, optional
            The parameter along the axis; the first that is a number unless named.
        by : str or sequence of str, optional
            What there is a line for each of: parameters, and one of "group", "queue", "band" (QUEUE.BAND), "impairment"
            (LINK.PART.KIND), "size" (GROUP.FROM.TO, of transactions) and "flow" (FLOW.GROUP); all other parameters unless named.
        panels : str, optional
            What there is a panel for each value of, all with the same axes: what `by` takes.
        log : str or sequence of str, optional
            The axes that are logarithmic: "x", "y" or both.
        where : Mapping, optional
            Only the points at which parameters have these values.
        row : str, optional
            The one row of the table whose quantity it is, as in group="far" or queue="bottleneck".

        Raises
        ------
        UnknownName
            A quantity, parameter, group, queue, band or value that is not there.
        UsageError
            The selection cannot be drawn in one figure.
        """
        return self.draw_view(self.figure_view(y, x, by, panels=panels, log=log, where=where, **row))

    def figure_view(
        self,
        y: str,
        x: str | None = None,
        by: str | Sequence[str] | None = None,
        *,
        panels: str | None = None,
        log: str | Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
        **row: str | None,
    ) -> SweepFigureView:
        """The contents of such a figure; arguments and errors as for the figure."""
        named = None if by is None else [by] if isinstance(by, str) else list(by)
        split_by = [*(named or ()), *([panels] if panels else [])]
        self._require_known_names(y, x, split_by, where or {}, row)
        table, name = _select_figure_table_and_row(y, row, split_by, tables_with_quantity(self._sweep, y))
        rows = _rows_with_parameter_values(estimates_at_points(self._sweep, table, y), self._parameters, where or {})
        if name is not None:
            if name not in rows["name"]:
                raise UnknownName(_ROW_KINDS[table] or "row", name, rows["name"].unique())
            rows = rows.filter(pl.col("name") == name)
        along, split = self._choose_x_and_line_parameters(rows, x, named, panels, _ROW_KINDS[table])
        kept = rows.filter(pl.col(along.name).is_not_null())
        return _require_log_scale_possible(SweepFigureView(y, table, along, split, kept, self._parameters, panels, list(log)))

    def draw_view(self, view: SweepFigureView) -> DrawnFigure:
        """The figure of a view. Raises UsageError where it would have too many panels."""
        looks = _curve_styles(view)
        n = len(self._sweep.seeds)
        title = f"{self._sweep.name}: {n} seed{'s' * (n != 1)}" if self._style.titles else None
        with self._style.matplotlib_rc_context():
            if view.panels is not None:
                return self._draw_panels(view, looks, title)
            figure, (axes,) = style.figure_with_panels(style=self._style)
            if title:
                style.set_wrapped_title(axes, title)
            _draw_view_curves(axes, view, _curves_of_rows(view, view.rows, looks), looks.palette)
            _end_linear_y_axis_at_zero(axes, view)
            if looks.groups:
                style.legend_of_entry_groups(axes, looks.legend_entries(axes))
            elif len(looks.keys) > 1:
                style.legend_above(axes, looks.note)
        return figure

    def _draw_panels(self, view: SweepFigureView, looks: _CurveStyles, title: str | None) -> DrawnFigure:
        """A panel for each value, all with the same axes, and one legend above them."""
        column = view.column_of_parameter(view.panels or "")
        cells = _parameter_values_in_file_order(view, view.panels or "", view.rows[column])
        if len(cells) > _MAX_PANELS:
            raise UsageError(f"{view.panels}: has {len(cells)} values, and a figure has at most {_MAX_PANELS} panels; fix: choose another")
        width = self._style.width_in
        across = min(len(cells), max(1, int(width / _MIN_PANEL_IN)))
        down = -(-len(cells) // across)
        shape = down * (_PANEL_SHAPE[across > 1] * width / across + _PANEL_TITLE_IN) / width
        figure, every = style.figure_with_panels(down, across, shape=shape, style=self._style, sharex=True, sharey=True)
        for axes, cell in zip(every, cells, strict=False):
            _draw_view_curves(axes, view, _curves_of_rows(view, view.rows.filter(pl.col(column) == cell), looks), looks.palette)
            axes.set_title(
                style.escape_and_wrap_label(axes, f"{view.panels} {view.format_parameter_value(view.panels or '', cell)}", across)
            )
        _end_linear_y_axis_at_zero(every[0], view)
        style.share_labels_remove_unused_panels(figure, every, len(cells), across)
        style.legend_from_first_panel(figure, every[0], looks.legend_entries(every[0]) if looks.groups else None, title, looks.note)
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

        `rows` are `panels`, `log`, `where` and a row, as for a figure. Returns the names of what was written.
        Raises what a figure raises, UsageError if `folder` is no folder, and ResultsError if the disk refuses.
        """
        from ecnlab.plot.drawn import require_known_formats, write_figure_files

        into = parse_folder_argument("folder", folder)
        require_known_formats(formats)
        row = {kind: name for kind, name in rows.items() if kind not in ("where", "panels", "log")}
        split_by = [*(by or ()), *([rows["panels"]] if rows.get("panels") else [])]
        run_all_argument_checks(partial(self._require_known_names, y, x, split_by, rows.get("where") or {}, row) for y in quantities)
        views = [self.figure_view(quantity, x, by, **rows) for quantity in quantities or self._default_quantities(**rows)]
        for done, view in enumerate(views):
            if progress is not None:
                progress(done, len(views))
            write_figure_files(
                into / view.file_stem, {**self.draw_view(view).render(formats), "csv": view.estimates_frame.write_csv().encode()}
            )
        return [view.file_stem for view in views]

    def _require_known_names(
        self, y: str, x: str | None, by: Sequence[str], where: Mapping[str, Any], row: Mapping[str, str | None]
    ) -> None:
        """Raises UnknownName for one unknown name, or UsageError with all of them."""
        parameters = self._parameters
        checks: list[Callable[[], object]] = [partial(tables_with_quantity, self._sweep, y)]
        checks += [partial(require_known_name, "parameter of the sweep", name, parameters) for name in [x] if name is not None]
        checks += [partial(require_known_name, "parameter of the sweep", name, [*parameters, *_TABLES_BY_ROW_KIND]) for name in by]
        checks += [partial(_require_known_row, self._sweep, kind, name) for kind, name in row.items()]
        checks += [partial(_requested_value_to_cell, parameters, name, wanted) for name, wanted in where.items()]
        run_all_argument_checks(checks)

    def _default_quantities(self, **rows: Any) -> Sequence[str]:
        """The default quantities that the chosen table has."""
        tables = [table for table, row in _ROW_KINDS.items() if rows.get(row or "") is not None] or ["total"]
        return [quantity for quantity in DEFAULT_QUANTITIES if set(tables) & set(tables_with_quantity(self._sweep, quantity))]

    def _choose_x_and_line_parameters(
        self, rows: pl.DataFrame, x: str | None, by: Sequence[str] | None, panels: str | None, row: str | None
    ) -> tuple[SweepParameter, Sequence[str]]:
        """The parameter of the x axis, and the parameters whose combinations have a line each."""
        parameters = self._parameters
        varied = [name for name in parameters if rows[name].n_unique() > 1] or list(parameters)
        free = [name for name in varied if name != panels and name not in (by or ())]
        numbers = [name for name in free if parameters[name].kind in ("whole", "real")]
        along = (numbers or free or [name for name in varied if name != panels] or varied)[0] if x is None else x
        rest = [name for name in varied if name != along]
        several = [row] if row and rows["name"].n_unique() > 1 else []
        split = [name for name in (*rest, *several) if name != panels] if by is None else list(by)
        given = [*split, *([panels] if panels else [])]
        for name in (along, *given):
            if name not in parameters and (name != row or name == along):
                raise UnknownName("parameter of the sweep", name, [*parameters, *several])
        if panels is not None and panels in (along, *split):
            raise UsageError(f"{panels}: is used by the axis or the lines; fix: choose another parameter for the panels")
        left = [name for name in (*rest, *several) if name not in given]
        if left:
            names = ", ".join(left)
            raise UsageError(
                f"{names}: has several values at each {along}, which is the axis; "
                "fix: add it to by, choose one value with where, or name another axis with x"
            )
        return parameters[along], split


@dataclass(frozen=True)
class _CurveStyles:
    """Styles of a figure's lines and the entries of its legend: `keys` are the values of `by` with a line, in order.

    `groups` are the headings of the legend with their labels and styles, where the colour encodes one parameter and marker and
    dashes another; empty where each line has its own entry.
    """

    keys: Sequence[tuple[Any, ...]]
    labels: Mapping[tuple[Any, ...], str]
    palette: Palette
    note: str
    groups: Sequence[tuple[str, Sequence[tuple[str, Mapping[str, Any]]]]] = ()

    def legend_entries(self, axes: Axes) -> list[style.LegendGroup]:
        """The legend in its groups."""
        from matplotlib.lines import Line2D

        return [
            style.LegendGroup(
                [(style.escape_and_wrap_label(axes, word), Line2D([], [], **look)) for word, look in words],
                style.escape_and_wrap_label(axes, heading),
            )
            for heading, words in self.groups
        ]


def _curve_styles(view: SweepFigureView) -> _CurveStyles:
    """A single parameter in `by` sets colour, marker and dashes by the index of its value; of several the first sets the colour only."""
    columns = [view.column_of_parameter(name) for name in view.by]
    keys = list(dict.fromkeys(view.rows.select(columns).iter_rows())) if columns else [()]
    labels = {key: _curve_label(view, key) for key in keys}
    if len(view.by) < 2:
        note = f"the first {MAX_CURVES} of {len(keys)} lines" if len(keys) > MAX_CURVES else ", ".join(view.by)
        dashes = {labels[key]: style.LINES[at % len(style.LINES)] for at, key in enumerate(keys)}
        return _CurveStyles(keys[:MAX_CURVES], labels, Palette(dashes=dashes), note)
    firsts = _parameter_values_in_file_order(view, view.by[0], [key[0] for key in keys])
    others = list(dict.fromkeys(key[1:] for key in keys))
    colours = dict(zip(firsts, style.COLOURS, strict=False))
    shapes = {
        other: (marker, style.LINES[at % len(style.LINES)]) for at, (other, marker) in enumerate(zip(others, style.MARKERS, strict=False))
    }
    kept = sorted((key for key in keys if key[0] in colours and key[1:] in shapes), key=lambda key: firsts.index(key[0]))
    palette = Palette(
        {labels[key]: colours[key[0]] for key in kept},
        {labels[key]: shapes[key[1:]][0] for key in kept},
        {labels[key]: shapes[key[1:]][1] for key in kept},
    )
    of_first = [(view.format_parameter_value(view.by[0], first), {"color": colour, "linewidth": 3.0}) for first, colour in colours.items()]
    rest = view.by[1:]
    of_others = [
        (_curve_label(view, other, rest), {"color": "black", "marker": marker, "linestyle": "none" if view.has_categorical_x else dash})
        for other, (marker, dash) in shapes.items()
    ]
    groups = [
        (_legend_group_heading(view.by[0], len(colours), len(firsts)), of_first),
        (_legend_group_heading(", ".join(rest), len(shapes), len(others)), of_others),
    ]
    return _CurveStyles(kept, labels, palette, "", groups)


def _legend_group_heading(name: str, kept: int, there: int) -> str:
    return name if kept == there else f"{name} (the first {kept} of {there})"


def _parameter_values_in_file_order(view: SweepFigureView, name: str, cells: Iterable[Any]) -> list[Any]:
    """The values of a parameter in the order of the sweep file, or the names of rows in table order."""
    cells_in_rows = dict.fromkeys(cells)
    if name not in view.parameters:
        return list(cells_in_rows)
    one = view.parameters[name]
    return list(dict.fromkeys([cell for cell in map(one.convert_to_cell, one.values) if cell in cells_in_rows] + list(cells_in_rows)))


def _draw_view_curves(axes: Axes, view: SweepFigureView, curves: Sequence[lines.Curve], palette: Palette) -> None:
    """Curves against a number; over named values, which have no order, markers without a line."""
    unit = column_display_factor_and_unit(view.quantity)[1]
    y_label = _quantity_label(view.quantity) + (f" ({unit})" if unit != "1" else "")
    x_unit = display_factor_and_unit(view.x.unit)[1]
    x_label = style.escape_and_wrap_label(axes, view.x.name + (f" ({x_unit})" if x_unit else ""))
    if view.has_categorical_x:
        names = [format_axis_value(one) for one in view.x_categories]
        lines.draw_points_over_names(axes, names, curves, y_label=y_label, palette=palette)
        axes.set_xticks(range(len(names)), [style.escape_and_wrap_label(axes, name, len(names)) for name in names])
        axes.set_xlabel(x_label)
    else:
        lines.draw_curves(axes, curves, x_label=x_label, y_label=y_label, ticks=_ticks_if_log_scale(view), palette=palette)
        if _have_room_for_ticks(xs := view.x_values) and axes.get_xscale() == "linear":
            axes.set_xticks(xs, [f"{x:g}" for x in xs])
    if "y" in view.log:
        style.set_log_y_with_plain_ticks(axes)


def _end_linear_y_axis_at_zero(axes: Axes, view: SweepFigureView) -> None:
    """No measure is negative, though the interval of a mean near 0 may be.

    It is called once, when all curves of all panels are drawn: a set limit ends the automatic limits of all axes that share it.
    """
    if "y" not in view.log and axes.get_ylim()[0] < 0:
        axes.set_ylim(bottom=0)


def _require_log_scale_possible(view: SweepFigureView) -> SweepFigureView:
    """The view. Raises UsageError where a logarithmic axis cannot show it."""
    for axis in view.log:
        if axis not in ("x", "y"):
            raise UsageError(f"log: {axis!r} is not an axis; fix: give x, y or both")
    if "x" in view.log and (view.has_categorical_x or view.x_values[0] <= 0):
        raise UsageError(f"log: {view.x.name} is 0 or not a number somewhere, which a logarithmic axis cannot show")
    if "y" in view.log and (low := view.rows["mean"].min()) is not None and float(low) <= 0:  # type: ignore[arg-type]
        raise UsageError(f"log: {view.quantity} is 0 at some point, which a logarithmic axis cannot show; fix: omit points with where")
    return view


def _select_figure_table_and_row(
    quantity: str, asked: Mapping[str, str | None], by: Sequence[str], having: Sequence[str]
) -> tuple[str, str | None]:
    """The table of a figure, and the single requested row, if any."""
    kinds = [kind for kind, name in asked.items() if name is not None] or [kind for kind in _TABLES_BY_ROW_KIND if kind in by]
    if len(kinds) > 1:
        raise UsageError(f"{' and '.join(kinds)} exclude each other; fix: omit one of them")
    if not kinds:
        return having[0], None
    table = _TABLES_BY_ROW_KIND[kinds[0]]
    if table not in having:
        raise UsageError(f"y: {quantity} is a quantity of the table {' and '.join(having)}, not of a {kinds[0]}; fix: omit {kinds[0]}")
    return table, asked.get(kinds[0])


def _require_known_row(sweep: Sweep, kind: str, name: str | None) -> None:
    """Raises UnknownName for an unknown kind of row or an unknown row."""
    require_known_name("kind of row", kind, _TABLES_BY_ROW_KIND)
    table = _TABLES_BY_ROW_KIND[kind]
    if name is not None and table in sweep.tables:
        require_known_name(kind, name, row_names_of_table(sweep, table))


def _requested_value_to_cell(parameters: Mapping[str, SweepParameter], name: str, wanted: Any) -> Any:
    """The cell value of a column for a requested parameter value. Raises UnknownName."""
    require_known_name("parameter of the sweep", name, parameters)
    one = parameters[name]
    cell = one.convert_to_cell(parse_toml_value_or_text(wanted) if isinstance(wanted, str) and one.kind != "name" else wanted)
    if cell not in {one.convert_to_cell(given) for given in one.values}:
        raise UnknownName(f"value of {name}", format_axis_value(wanted), map(format_axis_value, one.values))
    return cell


def _rows_with_parameter_values(rows: pl.DataFrame, parameters: Mapping[str, SweepParameter], where: Mapping[str, Any]) -> pl.DataFrame:
    """The rows at which parameters have given values. Raises UsageError if there is none."""
    for name, wanted in where.items():
        rows = rows.filter(pl.col(name) == _requested_value_to_cell(parameters, name, wanted))
    if not rows.height:
        raise UsageError("no sweep point matches all of these values")
    return rows


def _curves_of_rows(view: SweepFigureView, rows: pl.DataFrame, looks: _CurveStyles) -> list[lines.Curve]:
    """The curves of these rows, in the order of the legend."""
    factor = column_display_factor_and_unit(view.quantity)[0]
    columns = [view.column_of_parameter(name) for name in view.by]
    points: dict[tuple[Any, ...], list[tuple[float, Estimate]]] = {}
    for row in rows.iter_rows(named=True):
        place = points.setdefault(tuple(row[column] for column in columns), [])
        place.append((view.x_position(row[view.x.name]), Estimate(row["mean"], row["sd"], row["half_width"], row["n"]).scaled(factor)))
    curves = []
    for key in looks.keys:
        place = sorted(points.get(key, ()), key=lambda pair: pair[0])
        curves.append(lines.Curve(looks.labels[key], [x for x, _ in place], [estimate for _, estimate in place]))
    return curves


def _curve_label(view: SweepFigureView, key: Sequence[Any], by: Sequence[str] | None = None) -> str:
    """Label of a line: a name as it is, a number with its parameter where `by` has several."""
    named = list(zip(view.by if by is None else by, key, strict=True))
    if len(named) == 1:
        return view.format_parameter_value(*named[0])
    return ", ".join(("" if isinstance(one, str) else f"{name} ") + view.format_parameter_value(name, one) for name, one in named)


def _ticks_if_log_scale(view: SweepFigureView) -> Sequence[float]:
    """Ticks of a log scale, where the values would crowd on a linear one; else empty."""
    if view.has_categorical_x:
        return ()
    xs = view.x_values
    crowded = len(xs) >= _MIN_VALUES_FOR_LOG and xs[0] > 0 and xs[-1] / xs[0] >= _MIN_SPAN_FOR_LOG
    return xs if "x" in view.log or crowded else ()


def _have_room_for_ticks(xs: Sequence[float]) -> bool:
    """Whether there is room for a tick at each value."""
    return all(after - before >= _BESIDE_GAP * (xs[-1] - xs[0]) for before, after in pairwise(xs))


def _quantity_label(quantity: str) -> str:
    for ending in ("_bps", "_packets", "_s"):
        quantity = quantity.removesuffix(ending)
    return quantity.replace("_", " ")
