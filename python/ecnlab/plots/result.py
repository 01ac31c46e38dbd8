"""The figures of one result: `result.plot.queue()` and its siblings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ecnlab.errors import UnknownName
from ecnlab.plots import dots, series, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ecnlab.results import Result


class Plots:
    """Figures of a result. Each raises ResultsError if the scenario did not record what it needs."""

    def __init__(self, result: Result) -> None:
        self._result = result

    @style.styled
    def queue(self, name: str | None = None, seed: int | None = None) -> Figure:
        """Queue length and the AQM's average against time; the first link and first seed unless named."""
        link, chosen = _chosen("link", name, self._result.queue_names), self._one(seed)
        frame = chosen.series.queue.filter(pl.col("queue") == link)
        figure, (axes,) = style.panels()
        series.draw_queue(axes, frame)
        axes.set_title(f"{self._result.name}: {link}, seed {chosen.seeds[0]}", loc="left")
        style.legend_above(axes)
        return figure

    @style.styled
    def rates(self, quantity: str = "goodput_bps") -> Figure:
        """A rate of each group in 1 s bins: mean over seeds and its 95 % interval.

        `quantity`: throughput_bps, goodput_bps or goodput_first_bps.
        """
        figure, (axes,) = style.panels()
        series.draw_rates(axes, self._result.series.rate, quantity, self._result.group_names)
        axes.set_title(f"{self._result.name}: {len(self._result.seeds)} seeds", loc="left")
        style.legend_above(axes)
        return figure

    @style.styled
    def marks(self, kind: str = "mark", seed: int | None = None) -> Figure:
        """A dot for each marked (`kind` "mark") or dropped ("drop") packet of one seed, lockout spells as grey bars."""
        chosen = self._one(seed)
        figure, (axes,) = style.panels()
        dots.draw(axes, chosen.series.events, chosen.series.lockouts, chosen.flows, kind)
        axes.set_title(f"{self._result.name}: {kind}s, seed {chosen.seeds[0]}", loc="left")
        return figure

    def save_all(self, folder: Path) -> list[str]:
        """Write every figure that the recorded series allow into `folder`; returns their names."""
        figures = self._possible()
        for name, figure in figures.items():
            style.save(figure, folder / name)
        return list(figures)

    def _possible(self) -> dict[str, Figure]:
        figures: dict[str, Figure] = {}
        recorded = self._result.series
        if "queue" in recorded:
            figures |= {f"queue-{link}": self.queue(link) for link in self._result.queue_names}
        if "rate" in recorded:
            figures |= {f"{q}-time": self.rates(f"{q}_bps") for q in ("throughput", "goodput")}
        if "events" in recorded:
            figures |= {f"{kind}s": self.marks(kind) for kind in ("mark", "drop")}
        return figures

    def _one(self, seed: int | None) -> Result:
        return self._result.only(self._result.seeds[0] if seed is None else seed)


def _chosen(kind: str, name: str | None, known: list[str]) -> str:
    if name is not None and name not in known:
        raise UnknownName(kind, name, known)
    return known[0] if name is None else name
