"""The figures of a trace: `trace.plot.sequence()` and the other kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ecnlab.errors import TraceError, UnknownName, require_known_name
from ecnlab.plot import dots, sequence, series, style
from ecnlab.plot.result import MAX_CURVES, RATE_QUANTITIES
from ecnlab.plot.style import FigureStyle
from ecnlab.scenarios.units import column_display_factor_and_unit
from ecnlab.storage.filenames import safe_file_name
from ecnlab.storage.folders import parse_folder_argument

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ecnlab.packet_traces.analyze import Trace
    from ecnlab.plot.drawn import DrawnFigure

DrawFunction = Callable[[], "DrawnFigure"]


class TracePlots:
    """Figures of a trace, each a figure of matplotlib that a notebook shows as it is."""

    def __init__(self, trace: Trace, chosen: FigureStyle | None = None) -> None:
        self._trace = trace
        self._style = chosen or FigureStyle()

    def sequence(self, flow: int | None = None) -> DrawnFigure:
        """The time-sequence graph of a flow, as tcptrace draws it; the first selected flow unless named. Raises TraceError."""
        points = self._trace.sequence
        known = sorted(points["flow"].unique())
        if not known:
            raise TraceError(
                f"{self._trace.source}: the trace was read without a time-sequence graph; "
                "fix: read it with sequence=[0] (--flow 0 --figures DIR)"
            )
        flow_to_draw = known[0] if flow is None else flow
        if flow_to_draw not in known:
            raise UnknownName("flow with a time-sequence graph", str(flow_to_draw), map(str, known))
        row = self._trace.flows.row(by_predicate=pl.col("flow") == flow_to_draw, named=True)
        unit = "packets" if self._trace.about["format"] == "ns-2" else "bytes"
        with self._new_figure(f"flow {flow_to_draw}, {row['source']} > {row['destination']}", 0.72, whole_span=False) as (figure, axes):
            sequence.draw_sequence(axes, points.filter(pl.col("flow") == flow_to_draw), unit)
            style.legend_above(axes)
        return figure

    def events(self, kind: str = "mark") -> DrawnFigure:
        """A dot for each marked (`kind` "mark") or dropped ("drop") packet by time and flow, lockouts as grey bars."""
        require_known_name("kind of dots", kind, ("mark", "drop"))
        with self._new_figure(f"{kind}s", 0.72) as (figure, axes):
            known = self._trace.flows["flow"]
            rows = pl.DataFrame({"flow": known, "row": range(known.len())}, schema={"flow": pl.UInt32, "row": pl.UInt32})
            events, lockouts = (_replace_flows_by_figure_rows(table, rows) for table in (self._trace.events, self._trace.lockouts))
            dots.draw_mark_or_drop_dots(axes, events, lockouts, rows.select(flow="row", group=pl.lit("")), kind)
            if not known.equals(rows["row"]):  # a selection of flows: rows are labelled with flow numbers
                axes.set_yticks(rows["row"].to_list(), [str(flow) for flow in known])
            style.legend_above(axes)
        return figure

    def rates(self, quantity: str = "goodput_bps", flows: Sequence[int] | None = None) -> DrawnFigure:
        """A rate against time: of all flows together, and of single flows; the ten with the most bytes unless named.

        `quantity`: throughput_bps, goodput_bps or goodput_first_bps.
        """
        require_known_name("rate", quantity, RATE_QUANTITIES)
        factor, unit = column_display_factor_and_unit(quantity)
        name = quantity.removesuffix("_bps").replace("_", " ")
        flows_to_draw = sorted(self._trace.flows.top_k(MAX_CURVES, by=quantity)["flow"]) if flows is None else list(flows)
        with self._new_figure(name) as (figure, axes):
            bins, each = self._trace.bins, self._trace.flow_bins
            if self._trace.flows.height > 1:
                axes.plot(bins["time_s"], bins[quantity] * factor, color="black", label="all flows")
            for position, flow in enumerate(flows_to_draw):
                one = bins.select("time_s").join(each.filter(pl.col("flow") == flow), on="time_s", how="left").fill_null(0.0)
                colour = style.COLOURS[position % (len(style.COLOURS) - 1)]
                axes.plot(one["time_s"], one[quantity] * factor, color=colour, linewidth=0.9, label=f"flow {flow}")
            series.label_time_axes(axes, f"{name} ({unit})")
            style.legend_above(axes)
        return figure

    def save_all(self, folder: str | Path, *, formats: Sequence[str] = ("svg",)) -> list[str]:
        """Write all figures that the trace allows into a folder; returns their names.

        Raises ResultsError if a file cannot be written, and UsageError if the argument is no folder.
        """
        into = parse_folder_argument("folder", folder)
        drawings = self._draw_functions_by_file_stem()
        for stem, draw in drawings.items():
            draw().save(into / stem, formats)
        return list(drawings)

    def _draw_functions_by_file_stem(self) -> dict[str, DrawFunction]:
        found: dict[str, DrawFunction] = {}
        for flow in sorted(self._trace.sequence["flow"].unique()):
            found[safe_file_name(f"sequence-{flow}")] = partial(self.sequence, flow)
        for kind in ("mark", "drop"):
            if self._trace.total[f"{kind}s"]:
                found[f"{kind}s"] = partial(self.events, kind)
        if self._trace.bins.height > 1:
            found |= {"throughput": partial(self.rates, "throughput_bps"), "goodput": partial(self.rates, "goodput_bps")}
        return found

    def _new_figure(self, about: str, shape: float = 0.61, *, whole_span: bool = True) -> AbstractContextManager[tuple[DrawnFigure, Axes]]:
        span_s = (self._trace.about["from_s"], self._trace.about["to_s"]) if whole_span else None
        return style.new_titled_figure(self._style, f"{Path(self._trace.source).name}: {about}", shape, span_s)


def _replace_flows_by_figure_rows(table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """A table of data packets in which each flow number is replaced by the flow's row in the figure."""
    return table.join(rows, on="flow").with_columns(flow="row", packet=pl.lit("data"))
