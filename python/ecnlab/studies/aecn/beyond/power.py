"""Power, goodput over delay (section 6.2 (5)), and an estimate of the number of flows (6)."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from ecnlab.analysis.stats import Estimate
from ecnlab.networks import GROUPS
from ecnlab.plots import lines, style
from ecnlab.studies.aecn.beyond import scenarios
from ecnlab.studies.aecn.beyond.measures import GBPS_A_SECOND, GOODPUT, JAIN, PART, WAIT, need, over, total
from ecnlab.studies.claims import MS
from ecnlab.studies.model import Drawing, Item, Need, Results, Table, estimates, with_interval
from ecnlab.studies.panels import Look, Measure, column, item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ecnlab.results import Result

FLOWS = (30, 60, 120, 240, 480)
ESTIMATED = (15, 30, 60, 120, 240, 480)
SCHEMES = ("RED", "ECN", "AECN")


def _power(group: str) -> Measure:
    """Power of a group: its goodput over its mean one-way delay."""
    values = over(total([group]), column("delay_mean_s", group=group))
    return Measure(f"power, {group}", f"power_{group}", values, GBPS_A_SECOND)


POWER = Measure("power, all flows", "power", over(column("goodput_first_bps"), column("delay_mean_s")), GBPS_A_SECOND)
OF_GROUPS = {group: _power(group) for group in GROUPS}
_DELAY = Measure("mean delay", "delay_mean", column("delay_mean_s"), MS)

POWERS = item(
    "B7",
    "Power against the number of flows",
    "Goodput over mean one-way delay, of all flows and of each group, base max_p 0.5, chapter 5 network.",
    {(scheme, flows): need(scheme, flows=flows) for scheme in SCHEMES for flows in FLOWS},
    [POWER, *OF_GROUPS.values()],
    Look("number of flows", scenarios.LOOKS, ticks=FLOWS),
    also=[GOODPUT, _DELAY, WAIT, JAIN],
    part=PART,
)

# What SRED shows of itself once a second.
_SAMPLED = {flows: Need(scenarios.alike("SRED", flows, {"queue": "1 s"})) for flows in ESTIMATED}


def estimated(result: Result) -> Sequence[float]:
    """How many flows SRED reckons with from 20 s on, one number a seed: 1 over the mean share of packets that hit."""
    import polars as pl

    hits = result.series.gauge.filter((pl.col("gauge") == "hits") & (pl.col("time_s") >= result.header["measure_from_s"]))
    by_seed = dict(hits.group_by("seed").agg(pl.col("value")).iter_rows())
    return [1 / fmean(by_seed[seed]) for seed in result.seeds]


def equal_flows(result: Result) -> Sequence[float]:
    """As many flows of equal rates as would hit as often: the inverse of the sum of the flows' squared shares, by Jain's index."""
    flows = sum(result.header["parameters"]["flows"][at]["count"] for at in range(len(GROUPS)))
    return [flows * jain for jain in result.values("jain_throughput")]


def _draw_estimate(results: Results) -> Drawing:
    figure, (axes,) = style.panels()
    found = {flows: results[flows,] for flows in ESTIMATED}
    rows = [(flows, result.estimate_of(estimated(result)), result.estimate_of(equal_flows(result))) for flows, result in found.items()]
    curves = [
        lines.Curve("SRED's estimate", ESTIMATED, [row[1] for row in rows]),
        lines.Curve("flows x Jain's index", ESTIMATED, [row[2] for row in rows]),
    ]
    lines.draw(axes, curves, x_label="number of flows", y_label="estimated flows", ticks=ESTIMATED)
    axes.plot(ESTIMATED, ESTIMATED, color="black", linestyle="--", linewidth=0.8, label="the number itself")
    axes.set_yscale("log")
    style.legend_above(axes)
    table = Table("estimates", ["flows", "SRED", "flows x Jain's index"], [[str(n), _text(a), _text(b)] for n, a, b in rows])
    return Drawing(figure, [table], estimates(["flows"], "estimate", [((n,), a) for n, a, _ in rows]))


def _text(found: Estimate) -> str:
    return with_interval(found, 1)


NUMBER = Item(
    "B8",
    "An estimate of the number of flows",
    "SRED, the one queue here that estimates how many flows there are, on the chapter 5 network with the thesis' buffer of 120 "
    "packets, from 20 s on. A packet hits a remembered one of its own flow as often as the squares of the flows' shares of the "
    "arrivals add up to, so that flows that send little do not count.",
    {(flows,): need for flows, need in _SAMPLED.items()},
    _draw_estimate,
    part=PART,
)


def estimate_of(flows: int) -> Need:
    """The scenario in which so many flows are estimated."""
    return _SAMPLED[flows]
