"""Figures of internal variables of AQMs and queueing disciplines, such as a marking probability, against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from ecnlab.plot import series, style
from ecnlab.plot.style import PALETTE_BY_POSITION
from ecnlab.scenarios import catalog
from ecnlab.scenarios.catalog import Gauge

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SingleGaugePanel:
    """One panel of a figure of gauges: the gauge with its unit and its symbol, if it has one, and the queues that show it."""

    gauge: str
    unit: str
    queues: Sequence[str]
    symbol: str = ""

    @property
    def axis_label(self) -> str:
        """Axis label, such as "probability p_b" or "average (packets)"."""
        named = f"{self.gauge} {self.symbol}".strip()
        return named if self.unit in ("", "1") else f"{named} ({self.unit})"


def panel_for_each_gauge(frame: pl.DataFrame, declared: Mapping[str, Mapping[str, Gauge]]) -> list[SingleGaugePanel]:
    """A panel for each gauge of the series `gauge`; for each unit of it, where queues show it in several.

    `declared` are each queue's gauges, by queue and gauge. A symbol is shown if all queues of the panel have the same one.
    """
    queues: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for queue, name in frame.select("queue", "gauge").unique(maintain_order=True).rows():
        gauge = declared.get(queue, {}).get(name) or Gauge(name, "", "")
        queues.setdefault((name, gauge.unit), []).append((queue, gauge.symbol))
    return [
        SingleGaugePanel(name, unit, [queue for queue, _ in shown], shown[0][1] if len({symbol for _, symbol in shown}) == 1 else "")
        for (name, unit), shown in queues.items()
    ]


def draw_gauges(axes: Axes, frame: pl.DataFrame, panel: SingleGaugePanel, queues: Sequence[str]) -> None:
    """A panel from one seed of the series `gauge`; a queue's colour follows its index in `queues`."""
    for queue in panel.queues:
        one = frame.filter((frame["queue"] == queue) & (frame["gauge"] == panel.gauge))
        colour = PALETTE_BY_POSITION.colour("", list(queues).index(queue))
        series.draw_time_series(
            axes, one["time_s"], one["value"], color=colour, linewidth=0.9, label=style.escape_and_wrap_label(axes, queue)
        )
    axes.set_ylabel(style.escape_and_wrap_to_letters(panel.axis_label, 24))


def declared_gauges_of_queue(queue: Mapping[str, Any]) -> dict[str, Gauge]:
    """The gauges that a queue may show, by name; `queue` is its table among the parameters in force."""
    aqm = queue.get("aqm", {})
    shown = _declared_gauges_of_entry("discipline", queue.get("discipline", ""))
    shown |= _declared_gauges_of_entry("aqm", aqm["name"] if isinstance(aqm, Mapping) and aqm else aqm or "")
    return shown | (declared_gauges_of_queue(queue["queue"]) if "queue" in queue else {})


def _declared_gauges_of_entry(kind: str, name: str) -> dict[str, Gauge]:
    return {gauge.name: gauge for entry in catalog.entries(kind) if entry.name == name for gauge in entry.gauges}
