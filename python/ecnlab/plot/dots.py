"""One dot for each marked or dropped packet: time across, flow number up, lockout spells as grey bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ecnlab.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOCKOUT_LABEL = "locked out: nothing delivered for max(1 s, 10 RTT)"

# A group's name needs about this share of the axes' height.
_MIN_NAMED_GROUP_HEIGHT = 0.05
# Areas of dots in square points: in a figure 1 inch wide, and in the legend, where they are larger to be visible.
_DOT_SIZE, _LEGEND_DOT_SIZE = 0.19, 12.0


def draw_mark_or_drop_dots(axes: Axes, events: pl.DataFrame, lockouts: pl.DataFrame, flows: pl.DataFrame, kind: str) -> None:
    """Dots of one `kind` ("mark" or "drop") from one seed's tables `events`, `lockouts` and `flows`; ACKs are excluded."""
    packets = _data_events_of_kind(events, kind)
    spells = (lockouts["flow"], lockouts["start_s"], lockouts["end_s"])
    if lockouts.height:
        axes.hlines(*spells, colors=style.LOCKOUT_COLOUR, linewidth=1.6, zorder=1, label=style.escape_and_wrap_label(axes, LOCKOUT_LABEL))
    colour = style.MARK_COLOUR if kind == "mark" else style.DROP_COLOUR
    word = "marked packet" if kind == "mark" else "dropped packet"
    axes.scatter(
        packets["time_s"],
        packets["flow"],
        s=_DOT_SIZE * style.figure_of(axes).get_figwidth(),
        color=colour,
        linewidths=0,
        rasterized=True,
        zorder=2,
    )
    axes.scatter([], [], s=_LEGEND_DOT_SIZE, color=colour, linewidths=0, label=word)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("flow")
    axes.set_ylim(-0.5, flows.height - 0.5)
    axes.locator_params(axis="y", integer=True)
    axes.grid(False)
    _draw_group_borders(axes, flows)


def count_data_events_of_kind(events: pl.DataFrame, kind: str) -> int:
    """Number of events of a kind, ACKs excluded."""
    return _data_events_of_kind(events, kind).height


def _data_events_of_kind(events: pl.DataFrame, kind: str) -> pl.DataFrame:
    events_of_kind = events.filter(events["kind"] == kind)
    return events_of_kind.filter(events_of_kind["packet"] == "data") if "packet" in events_of_kind.columns else events_of_kind


def _draw_group_borders(axes: Axes, flows: pl.DataFrame) -> None:
    """A thin line below each group's first flow, its name at the right edge where it fits."""
    extent = flows.group_by("group", maintain_order=True).agg(pl.col("flow").min().alias("first"), pl.col("flow").max().alias("last"))
    for name, first, last in extent.iter_rows():
        if first > 0:
            axes.axhline(first - 0.5, color="black", linewidth=0.4)
        if last - first + 1 >= _MIN_NAMED_GROUP_HEIGHT * flows.height:
            place = axes.get_yaxis_transform()
            axes.text(1.01, (first + last) / 2, style.escape_and_wrap_to_letters(name, 24), transform=place, rotation=270, va="center")
