"""Figures 5.20 and 5.29: goodput and Jain's index against the number of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecnlab import networks
from ecnlab.analysis.stats import Estimate
from ecnlab.plots import lines, style
from ecnlab.studies.aecn import schemes
from ecnlab.studies.model import Drawing, Item, Need, Results, Table, estimates, with_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ecnlab.results import Result

FLOWS = (30, 60, 120, 240)
SCHEMES = ("AECN", "ECN", "ECNM", "RED")
_NEEDS = {(name, flows): Need(schemes.scheme(name, flows)) for name in SCHEMES for flows in FLOWS}
_PLACES = ("aggregate", *networks.GROUPS)
JAIN = "jain_1s_goodput_first"
DEFINITIONS = {
    "jain_1s_goodput_first": "1 s, first transmissions",
    "jain_1s_goodput": "1 s, goodput",
    "jain_1s_throughput": "1 s, throughput",
    "jain_goodput_first": "80 s, first transmissions",
    "jain_goodput": "80 s, goodput",
    "jain_throughput": "80 s, throughput",
}


def _goodput(result: Result, place: str, quantity: str = "goodput_first_bps") -> Estimate:
    return result.estimate(quantity, group=None if place == "aggregate" else place).scaled(1e-6)


def _draw_goodput(results: Results) -> Drawing:
    figure, axes = style.panels(2, 2, shape=0.84, sharex=True)
    for axis, place in zip(axes, _PLACES, strict=True):
        curves = [lines.Curve(s, FLOWS, [_goodput(results[s, n], place) for n in FLOWS]) for s in SCHEMES]
        lines.draw(axis, curves, x_label="number of flows", y_label="goodput (Mbit/s)", ticks=FLOWS, palette=schemes.SCHEMES)
        axis.set_title(place, loc="left")
    for axis in axes[:2]:
        axis.set_xlabel("")
    for axis in axes[1::2]:
        axis.set_ylabel("")
    style.legend_of_panels(figure, axes[0])
    tables = [_goodput_table(results), _goodput_table(results, "goodput_bps", "goodput in order")]
    rows = [((s, n, place), _goodput(results[s, n], place)) for s in SCHEMES for n in FLOWS for place in _PLACES]
    return Drawing(figure, tables, estimates(["scheme", "flows", "group"], "goodput_first_mbps", rows))


def _goodput_table(results: Results, quantity: str = "goodput_first_bps", title: str = "goodput, first transmissions") -> Table:
    rows = [[s, str(n), *(with_interval(_goodput(results[s, n], place, quantity), 3) for place in _PLACES)] for s in SCHEMES for n in FLOWS]
    return Table(f"{title} (Mbit/s)", ["scheme", "flows", *_PLACES], rows)


def _draw_jain(results: Results) -> Drawing:
    figure: Figure
    figure, (axes,) = style.panels()
    curves = [lines.Curve(s, FLOWS, [results[s, n].estimate(JAIN) for n in FLOWS]) for s in SCHEMES]
    lines.draw(axes, curves, x_label="number of flows", y_label="Jain's index (mean over 1 s)", ticks=FLOWS, palette=schemes.SCHEMES)
    axes.set_ylim(0, 1)
    style.legend_above(axes)
    rows = [((s, n), results[s, n].estimate(JAIN)) for s in SCHEMES for n in FLOWS]
    return Drawing(figure, [_jain_table(results)], estimates(["scheme", "flows"], JAIN, rows))


def _jain_table(results: Results) -> Table:
    rows = [[s, str(n), *(with_interval(results[s, n].estimate(d)) for d in DEFINITIONS)] for s in SCHEMES for n in FLOWS]
    return Table(
        "Jain's index by definition: interval, and what is counted",
        ["scheme", "flows", *DEFINITIONS.values()],
        rows,
    )


GOODPUT = Item(
    number="5.20",
    title="Goodput against the number of flows",
    caption="Aggregate and by group, base max_p 0.5, chapter 5 network. AECN with alpha = beta = 2.5.",
    needs=_NEEDS,
    draw=_draw_goodput,
)
JAIN_INDEX = Item(
    number="5.29",
    title="Jain's fairness index against the number of flows",
    caption="Mean over 1-second intervals of the index over all flows, base max_p 0.5, chapter 5 network.",
    needs=_NEEDS,
    draw=_draw_jain,
)
