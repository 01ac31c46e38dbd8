"""One dot for each marked or dropped packet: time across, flow number up, lockout spells as grey bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ecnlab.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(axes: Axes, events: pl.DataFrame, lockouts: pl.DataFrame, flows: pl.DataFrame, kind: str) -> None:
    """Dots of one `kind` ("mark" or "drop") from one seed's tables `events`, `lockouts` and `flows`."""
    chosen = events.filter(pl.col("kind") == kind)
    axes.hlines(
        lockouts["flow"],
        lockouts["start_s"],
        lockouts["end_s"],
        colors=style.LOCKOUT,
        linewidth=1.6,
        zorder=1,
    )
    colour = style.MARK if kind == "mark" else style.DROP
    axes.scatter(chosen["time_s"], chosen["flow"], s=1.2, color=colour, linewidths=0, rasterized=True, zorder=2)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("flow")
    axes.set_ylim(-1, flows.height)
    axes.grid(False)
    _borders(axes, flows)


def count(events: pl.DataFrame, kind: str) -> int:
    """How many events of a kind there are."""
    return events.filter(pl.col("kind") == kind).height


def _borders(axes: Axes, flows: pl.DataFrame) -> None:
    """A thin line below each group's first flow, its name at the right edge."""
    for name, first, last in (
        flows.group_by("group", maintain_order=True)
        .agg(pl.col("flow").min().alias("first"), pl.col("flow").max().alias("last"))
        .iter_rows()
    ):
        axes.axhline(first - 0.5, color="black", linewidth=0.4)
        axes.text(1.01, (first + last) / 2, name, transform=axes.get_yaxis_transform(), rotation=270, va="center")
