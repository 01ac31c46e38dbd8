"""Figures against time: goodput and throughput of each group (4.16-4.19, 5.5), and the queue (4.3, 4.4, 4.11, 4.12, 5.28)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecnlab import networks
from ecnlab.networks import CHAPTER_4, CHAPTER_5, Thesis
from ecnlab.plots import series, style
from ecnlab.studies.aecn import schemes
from ecnlab.studies.model import Drawing, Item, Need, Results

if TYPE_CHECKING:
    import polars as pl

_SCHEMES = ("ECN", "RED")
_END_S = 100.0


def rates(number: str, flows: int, max_p: float, network: Thesis, quantity: str = schemes.GOODPUT) -> Item:
    """The item of a rate of each group against time, under ECN and under RED."""
    word = "Throughput" if quantity == schemes.THROUGHPUT else "Goodput"
    settings = f"{flows} flows, max_p {max_p:g}, {network.title} network"
    return Item(
        number=number,
        title=f"{word} of each group against time, ECN and RED, {settings}",
        caption="1 s bins, mean over seeds with its 95 % interval as a band.",
        needs={(name,): Need(schemes.scheme(name, flows, max_p, network, record={"rates": True})) for name in _SCHEMES},
        draw=lambda results: _draw_rates(results, quantity),
        part=schemes.PARTS[network.title],
    )


def queue(number: str, name: str, flows: int, max_p: float, network: Thesis) -> Item:
    """The item of a scheme's queue against time."""
    settings = f"{flows} flows, max_p {max_p:g}, {network.title} network"
    tree = schemes.scheme(name, flows, max_p, network, record={"queue": "10 ms"})
    return Item(
        number=number,
        title=f"{name}'s queue against time, {flows} flows",
        caption=f"{settings}; every 10 ms of the first seed, the average that {name} keeps, min_th and max_th dashed.",
        needs={(name,): Need(tree, every_seed=False)},
        draw=lambda results: _draw_queue(results, name),
        part=schemes.PARTS[network.title],
    )


def _draw_rates(results: Results, quantity: str) -> Drawing:
    import polars as pl

    figure, axes = style.panels(2, 1, shape=0.95, sharex=True, sharey=True)
    for axis, name in zip(axes, _SCHEMES, strict=True):
        series.draw_rates(axis, results[name,].series.rate, quantity, networks.GROUPS, schemes.GROUPS)
        series.span(axis, _END_S)
        axis.set_title(name, loc="left")
    axes[0].set_xlabel("")
    style.legend_of_panels(figure, axes[0])
    return Drawing(figure, data=pl.concat(_rate_data(results, name, group, quantity) for name in _SCHEMES for group in networks.GROUPS))


def _rate_data(results: Results, name: str, group: str, quantity: str) -> pl.DataFrame:
    import polars as pl

    rates = results[name,].series.rate
    means = series.over_seeds(rates.filter(rates["group"] == group), quantity).rename({"mean": quantity})
    return means.select(pl.lit(name).alias("scheme"), pl.lit(group).alias("group"), pl.all())


def _draw_queue(results: Results, name: str) -> Drawing:
    result = results[name,]
    frame = result.only(result.seeds[0]).series.queue
    figure, (axes,) = style.panels()
    series.draw_queue(axes, frame)
    series.span(axes, _END_S)
    for threshold in (10, 30):
        axes.axhline(threshold, color="black", linewidth=0.6, linestyle="--")
    style.legend_above(axes)
    return Drawing(figure, data=frame)


QUEUE_ECN_240 = queue("4.3", "ECN", 240, 0.5, CHAPTER_4)
QUEUE_RED_240 = queue("4.4", "RED", 240, 0.5, CHAPTER_4)
QUEUE_ECN_60 = queue("4.11", "ECN", 60, 0.5, CHAPTER_4)
QUEUE_RED_60 = queue("4.12", "RED", 60, 0.5, CHAPTER_4)
GOODPUT_30_LOW = rates("4.16", 30, 0.2, CHAPTER_4)
GOODPUT_30 = rates("4.17", 30, 0.5, CHAPTER_4)
GOODPUT_60 = rates("4.18", 60, 0.5, CHAPTER_4)
THROUGHPUT_60 = rates("4.19", 60, 0.5, CHAPTER_4, schemes.THROUGHPUT)
GOODPUT = rates("5.5", 60, 0.5, CHAPTER_5)
QUEUE = queue("5.28", "AECN", 120, 0.5, CHAPTER_5)
