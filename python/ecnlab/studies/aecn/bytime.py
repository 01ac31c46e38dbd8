"""Figures 5.5 and 5.28: goodput of each group, and AECN's queue, against time."""

from __future__ import annotations

from ecnlab.plots import series, style
from ecnlab.studies.aecn import network
from ecnlab.studies.model import Drawing, Item, Need, Results

_SCHEMES = ("ECN", "RED")


def _draw_goodput(results: Results) -> Drawing:
    figure, axes = style.panels(2, 1, height=5.4, sharex=True, sharey=True)
    for axis, name in zip(axes, _SCHEMES, strict=True):
        series.draw_rates(axis, results[name,].series.rate, "goodput_first_bps", list(network.GROUPS))
        axis.set_title(name, loc="left")
    style.legend_above(axes[0])
    return Drawing(figure)


def _draw_queue(results: Results) -> Drawing:
    result = results["AECN",]
    figure, (axes,) = style.panels()
    series.draw_queue(axes, result.only(result.seeds[0]).series.queue)
    for threshold in (10, 30):
        axes.axhline(threshold, color="black", linewidth=0.6, linestyle="--")
    style.legend_above(axes)
    return Drawing(figure)


GOODPUT = Item(
    number="5.5",
    title="Goodput of each group against time, ECN and RED",
    caption="60 flows, max_p 0.5, chapter 5 network; 1 s bins, mean over seeds with its 95 % interval as a band.",
    needs={(name,): Need(network.scheme(name, 60, record={"rates": True})) for name in _SCHEMES},
    draw=_draw_goodput,
)
QUEUE = Item(
    number="5.28",
    title="AECN's queue against time",
    caption="120 flows, base max_p 0.5, chapter 5 network; every 10 ms of the first seed, min_th and max_th dashed.",
    needs={("AECN",): Need(network.scheme("AECN", 120, record={"queue": "10 ms"}), every_seed=False)},
    draw=_draw_queue,
)
