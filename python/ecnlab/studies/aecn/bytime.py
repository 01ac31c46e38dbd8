"""Figures 5.5 and 5.28: goodput of each group, and AECN's queue, against time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecnlab import networks
from ecnlab.plots import series, style
from ecnlab.studies.aecn import schemes
from ecnlab.studies.model import Drawing, Item, Need, Results

if TYPE_CHECKING:
    import polars as pl

_SCHEMES = ("ECN", "RED")
_QUANTITY = "goodput_first_bps"
_END_S = 100.0


def _draw_goodput(results: Results) -> Drawing:
    import polars as pl

    figure, axes = style.panels(2, 1, shape=0.95, sharex=True, sharey=True)
    for axis, name in zip(axes, _SCHEMES, strict=True):
        series.draw_rates(axis, results[name,].series.rate, _QUANTITY, networks.GROUPS, schemes.GROUPS)
        series.span(axis, _END_S)
        axis.set_title(name, loc="left")
    axes[0].set_xlabel("")
    style.legend_of_panels(figure, axes[0])
    return Drawing(figure, data=pl.concat(_goodput_data(results, name, group) for name in _SCHEMES for group in networks.GROUPS))


def _goodput_data(results: Results, name: str, group: str) -> pl.DataFrame:
    import polars as pl

    rates = results[name,].series.rate
    means = series.over_seeds(rates.filter(rates["group"] == group), _QUANTITY).rename({"mean": _QUANTITY})
    return means.select(pl.lit(name).alias("scheme"), pl.lit(group).alias("group"), pl.all())


def _draw_queue(results: Results) -> Drawing:
    result = results["AECN",]
    frame = result.only(result.seeds[0]).series.queue
    figure, (axes,) = style.panels()
    series.draw_queue(axes, frame)
    series.span(axes, _END_S)
    for threshold in (10, 30):
        axes.axhline(threshold, color="black", linewidth=0.6, linestyle="--")
    style.legend_above(axes)
    return Drawing(figure, data=frame)


GOODPUT = Item(
    number="5.5",
    title="Goodput of each group against time, ECN and RED",
    caption="60 flows, max_p 0.5, chapter 5 network; 1 s bins, mean over seeds with its 95 % interval as a band.",
    needs={(name,): Need(schemes.scheme(name, 60, record={"rates": True})) for name in _SCHEMES},
    draw=_draw_goodput,
)
QUEUE = Item(
    number="5.28",
    title="AECN's queue against time",
    caption="120 flows, base max_p 0.5, chapter 5 network; every 10 ms of the first seed, min_th and max_th dashed.",
    needs={("AECN",): Need(schemes.scheme("AECN", 120, record={"queue": "10 ms"}), every_seed=False)},
    draw=_draw_queue,
)
