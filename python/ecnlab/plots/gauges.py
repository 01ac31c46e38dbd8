"""What AQMs and disciplines show of themselves, such as a probability, against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ecnlab import catalog
from ecnlab.plots import series, style
from ecnlab.plots.style import BY_POSITION

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Panel:
    """One panel of a figure of gauges: the gauge with its unit, and the queues that show it."""

    gauge: str
    unit: str
    queues: Sequence[str]


def panels(frame: pl.DataFrame, units: Mapping[str, Mapping[str, str]]) -> list[Panel]:
    """A panel for each gauge of the series `gauge`; for each unit of it, where queues show it in several.

    `units` are those of each queue's gauges, by queue and gauge.
    """
    queues: dict[tuple[str, str], list[str]] = {}
    for queue, gauge in frame.select("queue", "gauge").unique(maintain_order=True).rows():
        queues.setdefault((gauge, units.get(queue, {}).get(gauge, "")), []).append(queue)
    return [Panel(gauge, unit, shown) for (gauge, unit), shown in queues.items()]


def draw(axes: Axes, frame: pl.DataFrame, panel: Panel, queues: Sequence[str]) -> None:
    """A panel from one seed of the series `gauge`; a queue's colour is that of its place among `queues`."""
    for queue in panel.queues:
        one = frame.filter((frame["queue"] == queue) & (frame["gauge"] == panel.gauge))
        colour = BY_POSITION.colour("", list(queues).index(queue))
        series.draw_line(axes, one["time_s"], one["value"], color=colour, linewidth=0.9, label=style.label(axes, queue))
    axes.set_ylabel(style.escaped(panel.gauge if panel.unit in ("", "1") else f"{panel.gauge} ({panel.unit})", 24))


def units_of(queue: Mapping[str, Any]) -> dict[str, str]:
    """The unit of each gauge that a queue may show; `queue` is its table among the parameters in force."""
    aqm = queue.get("aqm", {})
    shown = _units("discipline", queue.get("discipline", ""))
    shown |= _units("aqm", aqm["name"] if isinstance(aqm, Mapping) and aqm else aqm or "")
    return shown | (units_of(queue["queue"]) if "queue" in queue else {})


def _units(kind: str, name: str) -> dict[str, str]:
    return {gauge.name: gauge.unit for entry in catalog.entries(kind) if entry.name == name for gauge in entry.gauges}
