"""Figures 9, 10 and 12: how AMECN and ARED meet a target delay, on one congested link and on three."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from ecnlab.plot import lines, style
from ecnlab.plot.style import Palette
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import DisplayUnit
from ecnlab.studies.framework.model import DrawnItemContent, ReportTable, ResultsByKey, StudyItem, estimates_frame, format_with_interval
from ecnlab.studies.framework.panels import PanelMeasure, estimate_cell
from ecnlab.studies.papers.amecn import measures
from ecnlab.studies.papers.amecn.networks import COMPARED_SCHEMES, PACKET_BITS, RATE_BPS, parking_lot_scenario, single_link_scenario

TARGETS_MS = (10, 20, 30, 40, 60, 80, 100, 120)
PARKING_TARGETS_MS = (10, 20, 40, 60, 80)
# ARED's minimum min_th of 5 packets is half of the target delay's packets at 11.4 ms, so smaller targets are not possible.
REACHABLE_TARGETS_MS = tuple(target for target in TARGETS_MS if target > 11.4)
REACHABLE_PARKING_TARGETS_MS = tuple(target for target in PARKING_TARGETS_MS if target > 11.4)
# ARED's targets beyond those of the figures, so that its curve covers each delay of AMECN.
ARED_TARGETS_MS = (*TARGETS_MS, 160, 200)
ARED_PARKING_TARGETS_MS = (*PARKING_TARGETS_MS, 120)
_PALETTE = Palette(dashes={"ARED": "--"})
_WAIT_PACKETS = PanelMeasure(
    "mean queueing delay (packets at 7 Mbit/s)", "delay_s", measures.mean_bottleneck_wait, DisplayUnit(RATE_BPS / PACKET_BITS, "packets", 1)
)
_EFFICIENCY = replace(measures.UTILISATION, label="link efficiency (%)")
_TOTAL_WAIT = PanelMeasure(
    "sum of the mean queueing delays of three links (ms)",
    "total_delay_s",
    measures.total_wait_of_three_links,
    measures.WAIT_MS.shown,
)
_TOTAL_THROUGHPUT = PanelMeasure(
    "total throughput (Mbit/s)", "total_throughput_bps", measures.total_throughput, DisplayUnit(1e-6, "Mbit/s", 2)
)


def _draw_scheme_curves(results: ResultsByKey, x: PanelMeasure, y: PanelMeasure, table: ReportTable) -> DrawnItemContent:
    """A measure against another one, a curve for each scheme, with the intervals of both."""
    figure, (axes,) = style.figure_with_panels()
    curves = []
    for scheme in COMPARED_SCHEMES:
        of_scheme = [result for (name, _), result in results.items() if name == scheme]
        xs = [x.estimate(result) for result in of_scheme]
        curves.append(
            lines.Curve(scheme, [at.mean for at in xs], [y.estimate(result) for result in of_scheme], across=[at.half_width for at in xs])
        )
    lines.draw_curves(axes, curves, x_label=x.label, y_label=y.label, palette=_PALETTE)
    style.legend_above(axes)
    return DrawnItemContent(figure, [table], _estimates_frame(results, x, y))


def _draw_efficiency_against_delay(results: ResultsByKey) -> DrawnItemContent:
    rows = [
        [
            *map(str, key),
            *(estimate_cell(measure, result) for measure in (measures.WAIT_MS, _WAIT_PACKETS, _EFFICIENCY, measures.DROP_RATE)),
            _throughput_cell(result, "back"),
        ]
        for key, result in results.items()
    ]
    header = [
        "scheme",
        "target (ms)",
        "delay (ms)",
        "delay (packets)",
        "link efficiency (%)",
        "drops of arrivals (%)",
        "10 flows back (Mbit/s)",
    ]
    return _draw_scheme_curves(results, _WAIT_PACKETS, _EFFICIENCY, ReportTable("second half of each run", header, rows))


def _throughput_cell(result: Result, group: str) -> str:
    return format_with_interval(result.estimate("throughput_bps", group=group).scaled(1e-6), 2)


def _draw_delay_against_target(results: ResultsByKey) -> DrawnItemContent:
    figure, (axes,) = style.figure_with_panels()
    axes.plot([0, TARGETS_MS[-1]], [0, TARGETS_MS[-1]], color="black", linewidth=0.6, linestyle=":", label="target")
    curves = [
        lines.Curve(scheme, TARGETS_MS, [measures.WAIT_MS.estimate(results[scheme, target]) for target in TARGETS_MS])
        for scheme in COMPARED_SCHEMES
    ]
    lines.draw_curves(axes, curves, x_label="target delay (ms)", y_label="measured delay (ms)", palette=_PALETTE)
    style.legend_above(axes)
    return DrawnItemContent(figure, data=_estimates_frame(results, measures.WAIT_MS))


def _draw_parking_lot_throughput(results: ResultsByKey) -> DrawnItemContent:
    groups = ("three hops", "two hops")
    rows = [
        [
            *map(str, key),
            *(estimate_cell(measure, result) for measure in (_TOTAL_WAIT, _TOTAL_THROUGHPUT)),
            *(_throughput_cell(result, group) for group in groups),
        ]
        for key, result in results.items()
    ]
    header = ["scheme", "target (ms)", "sum of delays (ms)", "total (Mbit/s)", *(f"20 flows over {group} (Mbit/s)" for group in groups)]
    return _draw_scheme_curves(results, _TOTAL_WAIT, _TOTAL_THROUGHPUT, ReportTable("second half of each run", header, rows))


def _estimates_frame(results: ResultsByKey, *quantities: PanelMeasure) -> pl.DataFrame:
    """Every quantity of every scenario, in its own unit."""
    rows = [((*key, measure.name), result.estimate_of(measure.values(result))) for key, result in results.items() for measure in quantities]
    return estimates_frame(["scheme", "target_ms", "quantity"], "mean", rows)


_SINGLE_LINK_NEEDS = {(scheme, target): single_link_scenario(scheme, target) for scheme in COMPARED_SCHEMES for target in TARGETS_MS}
_PARKING_LOT_NEEDS = {
    (scheme, target): parking_lot_scenario(scheme, target) for scheme in COMPARED_SCHEMES for target in PARKING_TARGETS_MS
}
_ONE_LINK_PART, _SEVERAL_LINKS_PART = "One congested link", "Several congested links"

EFFICIENCY_ITEM = StudyItem(
    number="9",
    title="Link efficiency against mean queueing delay, AMECN and ARED",
    caption=(
        "100 long flows with round-trip times of 100 to 150 ms, 20 sources of web pages and 10 flows back over a link of 7 Mbit/s; a "
        "point for each target delay from 10 to 120 ms, with the intervals of both quantities."
    ),
    needs=_SINGLE_LINK_NEEDS,
    draw=_draw_efficiency_against_delay,
    part=_ONE_LINK_PART,
)
TARGETS_ITEM = StudyItem(
    number="10",
    title="Measured delay against target delay, AMECN and ARED",
    caption="Mean wait at the congested link in the second half of the same runs.",
    needs=_SINGLE_LINK_NEEDS,
    draw=_draw_delay_against_target,
    part=_ONE_LINK_PART,
)
PARKING_LOT_ITEM = StudyItem(
    number="12",
    title="Total throughput against the sum of the queueing delays, AMECN and ARED",
    caption=(
        "The network of Figure 11: 20 flows from R0 to R3, 20 from R1 to R3, and 20 on each of R0-R1, R1-R2 and R2-R3; the same target on "
        "all three links, 10 to 80 ms."
    ),
    needs=_PARKING_LOT_NEEDS,
    draw=_draw_parking_lot_throughput,
    part=_SEVERAL_LINKS_PART,
)
