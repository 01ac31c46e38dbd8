"""A time-sequence graph as tcptrace draws it: time across, sequence numbers up.

Each segment is a vertical line from its first number to its last, a retransmission a square; a step line below them is the
cumulative ACK, one above them the window's right edge. The distance between the lines is the advertised window, the distance from
a segment to the lower line, across, is its round-trip time. SACK blocks, marks, drops and reactions are drawn where they
were seen. Points that overlap an earlier one are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ecnlab.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Raster cells across and up; each draws one point at most. They are finer than print.
_CELLS_ACROSS, _CELLS_UP = 4000, 2400


@dataclass(frozen=True)
class _PointStyle:
    """Style of one kind of points: vertical lines, a step line, or markers."""

    kind: str
    label: str
    colour: str
    shape: str
    above: int


_POINT_STYLES = (
    _PointStyle("window", "receiver's window", "#E69F00", "steps", 1),
    _PointStyle("ack", "acknowledged", "#009E73", "steps", 2),
    _PointStyle("sack", "SACK", "#CC79A7", "lines", 3),
    _PointStyle("data", "segment", "#000000", "lines", 4),
    _PointStyle("retransmission", "retransmission", "#E41A1C", "s", 5),
    _PointStyle("mark", "marked", style.MARK_COLOUR, "D", 6),
    _PointStyle("drop", "dropped", style.DROP_COLOUR, "X", 7),
    _PointStyle("echo", "ECN-Echo", "#56B4E9", "v", 6),
    _PointStyle("cwr", "CWR", "#0072B2", "^", 6),
)


def draw_sequence(axes: Axes, points: pl.DataFrame, unit: str) -> None:
    """Draw the points of one flow; `unit` is the unit of its sequence numbers (bytes or packets)."""
    cells = _raster_cell_size(points)
    for look in _POINT_STYLES:
        drawn_points = _thin_to_one_point_per_cell(points.filter(points["kind"] == look.kind), cells)
        if drawn_points.height:
            _draw_points(axes, drawn_points, look)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"sequence number ({unit})")
    axes.margins(x=0.02, y=0.04)
    _exclude_window_from_scale(axes, points)


def _draw_points(axes: Axes, points: pl.DataFrame, look: _PointStyle) -> None:
    x, low, high = points["time_s"], points["from"], points["to"]
    if look.shape == "steps":
        axes.step(x, high, where="post", color=look.colour, linewidth=0.8, label=look.label, zorder=look.above)
    elif look.shape == "lines":
        axes.vlines(
            x, low, high, colors=look.colour, linewidth=1.0, label=look.label, zorder=look.above, rasterized=points.height > _CELLS_ACROSS
        )
    else:
        axes.scatter(x, high, s=14, marker=look.shape, color=look.colour, linewidths=0, label=look.label, zorder=look.above)


def _exclude_window_from_scale(axes: Axes, points: pl.DataFrame) -> None:
    """End the y axis just above the highest sequence number sent where the advertised window is far above it."""
    sent = points.filter(points["kind"] != "window")["to"].max()
    if isinstance(sent, float) and axes.get_ylim()[1] > 1.4 * sent > 0:
        axes.set_ylim(top=1.2 * sent)


def _raster_cell_size(points: pl.DataFrame) -> tuple[float, float]:
    """Width and height of a raster cell; a step line needs its ends only."""
    time = points["time_s"]
    across = (float(time.max() or 0) - float(time.min() or 0)) / _CELLS_ACROSS  # type: ignore[arg-type]
    up = (float(points["to"].max() or 0) - float(points["from"].min() or 0)) / _CELLS_UP  # type: ignore[arg-type]
    return max(across, 1e-12), max(up, 1e-12)


def _thin_to_one_point_per_cell(points: pl.DataFrame, cells: tuple[float, float]) -> pl.DataFrame:
    """The points, without those in the raster cell of an earlier point."""
    if points.height <= _CELLS_ACROSS:
        return points
    cell = [(pl.col("time_s") / cells[0]).floor().alias("_across"), (pl.col("to") / cells[1]).floor().alias("_up")]
    return points.with_columns(cell).unique(["_across", "_up"], keep="last", maintain_order=True).drop("_across", "_up")
