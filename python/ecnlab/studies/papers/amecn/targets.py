"""Figures 9, 10 and 12: how AMECN and ARED meet a target delay, on one congested link and on three."""

from __future__ import annotations

import polars as pl

from ecnlab.plot import lines, style
from ecnlab.plot.style import Palette
from ecnlab.stats.estimates import Estimate
from ecnlab.studies.framework.model import DrawnItemContent, ReportTable, ResultsByKey, StudyItem, format_with_interval
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
_PACKETS_PER_S = RATE_BPS / PACKET_BITS


def _estimate_of_measure(
    results: ResultsByKey, scheme: str, target: int, measure: measures.ValuesOfResult, factor: float = 1.0
) -> Estimate:
    result = results[scheme, target]
    return result.estimate_of(measure(result)).scaled(factor)


def _curve_against_delay(scheme: str, delays: list[Estimate], values: list[Estimate]) -> lines.Curve:
    return lines.Curve(scheme, [delay.mean for delay in delays], values, across=[delay.half_width for delay in delays])


def _draw_efficiency_against_delay(results: ResultsByKey) -> DrawnItemContent:
    figure, (axes,) = style.figure_with_panels()
    curves = [
        _curve_against_delay(
            scheme,
            [_estimate_of_measure(results, scheme, target, measures.mean_bottleneck_wait, _PACKETS_PER_S) for target in TARGETS_MS],
            [_estimate_of_measure(results, scheme, target, measures.bottleneck_utilisation, 100) for target in TARGETS_MS],
        )
        for scheme in COMPARED_SCHEMES
    ]
    lines.draw_curves(axes, curves, x_label="mean queueing delay (packets at 7 Mbit/s)", y_label="link efficiency (%)", palette=_PALETTE)
    style.legend_above(axes)
    return DrawnItemContent(
        figure,
        [_single_link_table(results)],
        _estimates_frame(results, {"delay_s": measures.mean_bottleneck_wait, "efficiency": measures.bottleneck_utilisation}),
    )


def _single_link_table(results: ResultsByKey) -> ReportTable:
    rows = [
        [
            scheme,
            str(target),
            format_with_interval(_estimate_of_measure(results, scheme, target, measures.mean_bottleneck_wait, 1e3), 1),
            format_with_interval(_estimate_of_measure(results, scheme, target, measures.mean_bottleneck_wait, _PACKETS_PER_S), 1),
            format_with_interval(_estimate_of_measure(results, scheme, target, measures.bottleneck_utilisation, 100), 2),
            format_with_interval(_estimate_of_measure(results, scheme, target, measures.drop_rate, 100), 1),
            format_with_interval(results[scheme, target].estimate("throughput_bps", group="back").scaled(1e-6), 2),
        ]
        for scheme in COMPARED_SCHEMES
        for target in TARGETS_MS
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
    return ReportTable("second half of each run", header, rows)


def _draw_delay_against_target(results: ResultsByKey) -> DrawnItemContent:
    figure, (axes,) = style.figure_with_panels()
    axes.plot([0, TARGETS_MS[-1]], [0, TARGETS_MS[-1]], color="black", linewidth=0.6, linestyle=":", label="target")
    curves = [
        lines.Curve(
            scheme, TARGETS_MS, [_estimate_of_measure(results, scheme, target, measures.mean_bottleneck_wait, 1e3) for target in TARGETS_MS]
        )
        for scheme in COMPARED_SCHEMES
    ]
    lines.draw_curves(axes, curves, x_label="target delay (ms)", y_label="measured delay (ms)", palette=_PALETTE)
    style.legend_above(axes)
    return DrawnItemContent(figure, data=_estimates_frame(results, {"delay_s": measures.mean_bottleneck_wait}))


def _draw_parking_lot_throughput(results: ResultsByKey) -> DrawnItemContent:
    figure, (axes,) = style.figure_with_panels()
    curves = [
        _curve_against_delay(
            scheme,
            [_estimate_of_measure(results, scheme, target, measures.total_wait_of_three_links, 1e3) for target in PARKING_TARGETS_MS],
            [_estimate_of_measure(results, scheme, target, measures.total_throughput, 1e-6) for target in PARKING_TARGETS_MS],
        )
        for scheme in COMPARED_SCHEMES
    ]
    x_label, y_label = "sum of the mean queueing delays of three links (ms)", "total throughput (Mbit/s)"
    lines.draw_curves(axes, curves, x_label=x_label, y_label=y_label, palette=_PALETTE)
    style.legend_above(axes)
    data = _estimates_frame(
        results, {"total_delay_s": measures.total_wait_of_three_links, "total_throughput_bps": measures.total_throughput}
    )
    return DrawnItemContent(figure, [_parking_lot_table(results)], data)


def _parking_lot_table(results: ResultsByKey) -> ReportTable:
    groups = ("three hops", "two hops")
    rows = [
        [
            scheme,
            str(target),
            format_with_interval(_estimate_of_measure(results, scheme, target, measures.total_wait_of_three_links, 1e3), 1),
            format_with_interval(_estimate_of_measure(results, scheme, target, measures.total_throughput, 1e-6), 2),
            *(format_with_interval(results[scheme, target].estimate("throughput_bps", group=group).scaled(1e-6), 2) for group in groups),
        ]
        for scheme in COMPARED_SCHEMES
        for target in PARKING_TARGETS_MS
    ]
    header = ["scheme", "target (ms)", "sum of delays (ms)", "total (Mbit/s)", *(f"20 flows over {group} (Mbit/s)" for group in groups)]
    return ReportTable("second half of each run", header, rows)


def _estimates_frame(results: ResultsByKey, quantities: dict[str, measures.ValuesOfResult]) -> pl.DataFrame:
    """Every quantity of every scenario: scheme, target, quantity, mean, sd, half width, number of seeds."""
    found = {(*key, name): result.estimate_of(measure(result)) for key, result in results.items() for name, measure in quantities.items()}
    rows = [(*key, value.mean, value.sd, value.half_width, value.n) for key, value in found.items()]
    return pl.DataFrame(rows, schema=["scheme", "target_ms", "quantity", "mean", "sd", "half_width", "n"], orient="row")


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
