"""Power, goodput over delay (section 6.2 (5)), and an estimate of the number of flows (6)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import polars as pl

from ecnlab.plot import lines, style
from ecnlab.scenarios.networks import GROUPS
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import MS
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
)
from ecnlab.studies.framework.panels import (
    PanelGridStyle,
    PanelMeasure,
    column_summed_over_groups,
    measures_figure_item,
    quotient_of_values,
    result_column_getter,
)
from ecnlab.studies.papers.aecn.beyond import scenarios
from ecnlab.studies.papers.aecn.beyond.measures import (
    GBPS_A_SECOND,
    GOODPUT,
    JAIN,
    MEAN_WAIT,
    REPORT_PART,
    scenario_on_changed_network,
)

FLOW_COUNTS = (30, 60, 120, 240, 480)
ESTIMATED_FLOW_COUNTS = (15, 30, 60, 120, 240, 480)
SCHEMES = ("RED", "ECN", "AECN")


def _power_of_group(group: str) -> PanelMeasure:
    """Power of a group: its goodput over its mean one-way delay."""
    values = quotient_of_values(column_summed_over_groups([group], "goodput_first_bps"), result_column_getter("delay_mean_s", group=group))
    return PanelMeasure(f"power, {group}", f"power_{group}", values, GBPS_A_SECOND)


POWER = PanelMeasure(
    "power, all flows",
    "power",
    quotient_of_values(result_column_getter("goodput_first_bps"), result_column_getter("delay_mean_s")),
    GBPS_A_SECOND,
)
POWER_OF_GROUPS = {group: _power_of_group(group) for group in GROUPS}
_DELAY = PanelMeasure("mean delay", "delay_mean", result_column_getter("delay_mean_s"), MS)

POWER_ITEM = measures_figure_item(
    "B7",
    "Power against the number of flows",
    "Goodput over mean one-way delay, of all flows and of each group, base max_p 0.5, chapter 5 network.",
    {(scheme, flows): scenario_on_changed_network(scheme, flows=flows) for scheme in SCHEMES for flows in FLOW_COUNTS},
    [POWER, *POWER_OF_GROUPS.values()],
    PanelGridStyle("number of flows", scenarios.SCHEME_PALETTE, ticks=FLOW_COUNTS),
    also=[GOODPUT, _DELAY, MEAN_WAIT, JAIN],
    part=REPORT_PART,
)

# SRED's gauges, sampled once a second.
FLOW_ESTIMATE_NEEDS = {
    flows: RequiredScenario(scenarios.thesis_network("SRED", flows, {"queue": "1 s"})) for flows in ESTIMATED_FLOW_COUNTS
}


def sred_flow_count_estimate(result: Result) -> Sequence[float]:
    """SRED's estimate of the number of flows from 20 s on, one per seed: 1 over the mean hit ratio."""
    hits = result.series.gauge.filter((pl.col("gauge") == "hits") & (pl.col("time_s") >= result.header["measure_from_s"]))
    by_seed = dict(hits.group_by("seed").agg(pl.col("value")).iter_rows())
    return [1 / fmean(by_seed[seed]) for seed in result.seeds]


def equivalent_equal_flows(result: Result) -> Sequence[float]:
    """Number of equal-rate flows with the same hit ratio: the inverse of the sum of the flows' squared shares, from Jain's index."""
    flows = sum(result.header["parameters"]["flows"][at]["count"] for at in range(len(GROUPS)))
    return [flows * jain for jain in result.values("jain_throughput")]


def _draw_flow_count_estimates(results: ResultsByKey) -> DrawnItemContent:
    figure, (axes,) = style.figure_with_panels()
    found = {flows: results[flows,] for flows in ESTIMATED_FLOW_COUNTS}
    rows = [
        (flows, result.estimate_of(sred_flow_count_estimate(result)), result.estimate_of(equivalent_equal_flows(result)))
        for flows, result in found.items()
    ]
    curves = [
        lines.Curve("SRED's estimate", ESTIMATED_FLOW_COUNTS, [row[1] for row in rows]),
        lines.Curve("flows x Jain's index", ESTIMATED_FLOW_COUNTS, [row[2] for row in rows]),
    ]
    lines.draw_curves(axes, curves, x_label="number of flows", y_label="estimated flows", ticks=ESTIMATED_FLOW_COUNTS)
    axes.plot(ESTIMATED_FLOW_COUNTS, ESTIMATED_FLOW_COUNTS, color="black", linestyle="--", linewidth=0.8, label="the number itself")
    axes.set_yscale("log")
    style.legend_above(axes)
    table = ReportTable(
        "estimates",
        ["flows", "SRED", "flows x Jain's index"],
        [[str(n), format_with_interval(a, 1), format_with_interval(b, 1)] for n, a, b in rows],
    )
    return DrawnItemContent(figure, [table], estimates_frame(["flows"], "estimate", [((n,), a) for n, a, _ in rows]))


FLOW_ESTIMATE_ITEM = StudyItem(
    "B8",
    "An estimate of the number of flows",
    "SRED, the one queue here that estimates how many flows there are, on the chapter 5 network with the thesis' buffer of 120 "
    "packets, from 20 s on. A packet hits a remembered one of its own flow as often as the squares of the flows' shares of the "
    "arrivals add up to, so that flows that send little do not count.",
    {(flows,): need for flows, need in FLOW_ESTIMATE_NEEDS.items()},
    _draw_flow_count_estimates,
    part=REPORT_PART,
)
ITEMS = [POWER_ITEM, FLOW_ESTIMATE_ITEM]
