"""The figures of a trace: `trace.plot.sequence()` and its siblings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ecnlab.errors import TraceError, UnknownName
from ecnlab.names import file_name
from ecnlab.plots import dots, sequence, style
from ecnlab.plots.style import Style
from ecnlab.units import shown_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ecnlab.plots.drawn import Drawn
    from ecnlab.traces import Trace

RATES = ("throughput_bps", "goodput_bps", "goodput_first_bps")
MOST_CURVES = 10

Drawing = Callable[[], "Drawn"]


class TracePlots:
    """Figures of a trace, each a figure of matplotlib that a notebook shows as it is."""

    def __init__(self, trace: Trace, chosen: Style | None = None) -> None:
        self._trace = trace
        self._style = chosen or Style()

    def sequence(self, flow: int | None = None) -> Drawn:
        """The time-sequence graph of a flow, as tcptrace draws it; the first that was asked for unless named. Raises TraceError."""
        points = self._trace.sequence
        known = sorted(points["flow"].unique())
        if not known:
            raise TraceError(
                f"{self._trace.source}: no time-sequence graph was asked for; read it with sequence=[0] (--flow 0 --figures DIR)"
            )
        chosen = known[0] if flow is None else flow
        if chosen not in known:
            raise UnknownName("flow with a time-sequence graph", str(chosen), map(str, known))
        unit = "packets" if self._trace.about["format"] == "ns-2" else "bytes"
        with self._style.applied():
            figure, axes = self._panel(f"flow {chosen}, {self._ends(chosen)}", shape=0.72)
            sequence.draw(axes, points.filter(pl.col("flow") == chosen), unit)
            style.legend_above(axes)
        return figure

    def events(self, kind: str = "mark") -> Drawn:
        """A dot for each marked (`kind` "mark") or dropped ("drop") packet by time and flow, lockouts as grey bars."""
        if kind not in ("mark", "drop"):
            raise UnknownName("kind of dots", kind, ("mark", "drop"))
        with self._style.applied():
            figure, axes = self._panel(f"{kind}s", shape=0.72)
            known = self._trace.flows["flow"]
            rows = pl.DataFrame({"flow": known, "row": range(known.len())}, schema={"flow": pl.UInt32, "row": pl.UInt32})
            events, lockouts = (_in_rows(table, rows) for table in (self._trace.events, self._trace.lockouts))
            dots.draw(axes, events, lockouts, rows.select(flow="row", group=pl.lit("")), kind)
            if not known.equals(rows["row"]):  # some flows were chosen: their own numbers stand beside the rows
                axes.set_yticks(rows["row"].to_list(), [str(flow) for flow in known])
            self._span(axes)
            style.legend_above(axes)
        return figure

    def rates(self, quantity: str = "goodput_bps", flows: Sequence[int] | None = None) -> Drawn:
        """A rate against time: of all flows together, and of single flows; the ten that carried most unless named.

        `quantity`: throughput_bps, goodput_bps or goodput_first_bps.
        """
        if quantity not in RATES:
            raise UnknownName("rate", quantity, RATES)
        factor, unit = shown_unit(quantity)
        chosen = self._largest(quantity) if flows is None else list(flows)
        with self._style.applied():
            figure, axes = self._panel(quantity.removesuffix("_bps").replace("_", " "))
            bins, each = self._trace.bins, self._trace.flow_bins
            if self._trace.flows.height > 1:
                axes.plot(bins["time_s"], bins[quantity] * factor, color="black", label="all flows")
            for position, flow in enumerate(chosen):
                one = bins.select("time_s").join(each.filter(pl.col("flow") == flow), on="time_s", how="left").fill_null(0.0)
                colour = style.COLOURS[position % (len(style.COLOURS) - 1)]
                axes.plot(one["time_s"], one[quantity] * factor, color=colour, linewidth=0.9, label=f"flow {flow}")
            axes.set_xlabel("time (s)")
            axes.set_ylabel(f"{quantity.removesuffix('_bps').replace('_', ' ')} ({unit})")
            axes.set_ylim(bottom=0)
            self._span(axes)
            style.legend_above(axes)
        return figure

    def save_all(self, folder: str | Path, *, formats: Sequence[str] = ("svg",)) -> list[str]:
        """Write all figures that the trace allows into a folder; returns their names. Raises TraceError if the disk refuses."""
        drawings = self._possible()
        for stem, draw in drawings.items():
            draw().save(Path(folder) / stem, formats)
        return list(drawings)

    def _possible(self) -> dict[str, Drawing]:
        found: dict[str, Drawing] = {}
        for flow in sorted(self._trace.sequence["flow"].unique()):
            found[file_name(f"sequence-{flow}")] = partial(self.sequence, flow)
        for kind in ("mark", "drop"):
            if self._trace.total[f"{kind}s"]:
                found[f"{kind}s"] = partial(self.events, kind)
        if self._trace.bins.height > 1:
            found |= {"throughput": partial(self.rates, "throughput_bps"), "goodput": partial(self.rates, "goodput_bps")}
        return found

    def _largest(self, quantity: str) -> list[int]:
        return sorted(self._trace.flows.top_k(MOST_CURVES, by=quantity)["flow"])

    def _ends(self, flow: int) -> str:
        row = self._trace.flows.row(by_predicate=pl.col("flow") == flow, named=True)
        return f"{row['source']} > {row['destination']}"

    def _span(self, axes: Axes) -> None:
        axes.set_xlim(self._trace.about["from_s"], self._trace.about["to_s"])

    def _panel(self, about: str, shape: float = 0.61) -> tuple[Drawn, Axes]:
        figure, (axes,) = style.panels(shape=shape, style=self._style)
        if self._style.titles:
            style.title(axes, f"{Path(self._trace.source).name}: {about}")
        return figure, axes


def _in_rows(table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """A table of data packets with each flow's row of the figure in place of its number."""
    return table.join(rows, on="flow").with_columns(flow="row", packet=pl.lit("data"))
