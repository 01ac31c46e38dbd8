"""Figures 9, 10 and 12: what AMECN and ARED make of a target delay, on one congested link and on three."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecnlab.analysis.stats import Estimate
from ecnlab.plots import lines, style
from ecnlab.plots.style import Palette
from ecnlab.studies.amecn import measures
from ecnlab.studies.amecn.networks import PACKET_BITS, RATE_BPS, RIVALS, parking_lot, single
from ecnlab.studies.model import Drawing, Item, Results, Table, with_interval

if TYPE_CHECKING:
    import polars as pl

TARGETS_MS = (10, 20, 30, 40, 60, 80, 100, 120)
PARKING_TARGETS_MS = (10, 20, 40, 60, 80)
# ARED's smallest min_th of 5 packets is half of what the link sends in 11.4 ms, so that it has no smaller target.
MET_MS = tuple(target for target in TARGETS_MS if target > 11.4)
PARKING_MET_MS = tuple(target for target in PARKING_TARGETS_MS if target > 11.4)
# ARED's points beyond those of the figures, so that it has one beyond each delay of AMECN.
ARED_TARGETS_MS = (*TARGETS_MS, 160, 200)
ARED_PARKING_TARGETS_MS = (*PARKING_TARGETS_MS, 120)
_PALETTE = Palette(dashes={"ARED": "--"})
_PACKETS_PER_S = RATE_BPS / PACKET_BITS


def _of(results: Results, scheme: str, target: int, measure: measures.BySeeds, factor: float = 1.0) -> Estimate:
    result = results[scheme, target]
    return result.estimate_of(measure(result)).scaled(factor)


def _against_delay(scheme: str, delays: list[Estimate], values: list[Estimate]) -> lines.Curve:
    return lines.Curve(scheme, [delay.mean for delay in delays], values, across=[delay.half_width for delay in delays])


def _draw_efficiency(results: Results) -> Drawing:
    figure, (axes,) = style.panels()
    curves = [
        _against_delay(
            scheme,
            [_of(results, scheme, target, measures.delay, _PACKETS_PER_S) for target in TARGETS_MS],
            [_of(results, scheme, target, measures.utilisation, 100) for target in TARGETS_MS],
        )
        for scheme in RIVALS
    ]
    lines.draw(axes, curves, x_label="mean queueing delay (packets at 7 Mbit/s)", y_label="link efficiency (%)", palette=_PALETTE)
    style.legend_above(axes)
    return Drawing(figure, [_single_table(results)], _data(results, {"delay_s": measures.delay, "efficiency": measures.utilisation}))


def _single_table(results: Results) -> Table:
    rows = [
        [
            scheme,
            str(target),
            with_interval(_of(results, scheme, target, measures.delay, 1e3), 1),
            with_interval(_of(results, scheme, target, measures.delay, _PACKETS_PER_S), 1),
            with_interval(_of(results, scheme, target, measures.utilisation, 100), 2),
            with_interval(_of(results, scheme, target, measures.drop_rate, 100), 1),
            with_interval(results[scheme, target].estimate("throughput_bps", group="back").scaled(1e-6), 2),
        ]
        for scheme in RIVALS
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
    return Table("second half of each run", header, rows)


def _draw_targets(results: Results) -> Drawing:
    figure, (axes,) = style.panels()
    axes.plot([0, TARGETS_MS[-1]], [0, TARGETS_MS[-1]], color="black", linewidth=0.6, linestyle=":", label="target")
    curves = [
        lines.Curve(scheme, TARGETS_MS, [_of(results, scheme, target, measures.delay, 1e3) for target in TARGETS_MS]) for scheme in RIVALS
    ]
    lines.draw(axes, curves, x_label="target delay (ms)", y_label="measured delay (ms)", palette=_PALETTE)
    style.legend_above(axes)
    return Drawing(figure, data=_data(results, {"delay_s": measures.delay}))


def _draw_parking_lot(results: Results) -> Drawing:
    figure, (axes,) = style.panels()
    curves = [
        _against_delay(
            scheme,
            [_of(results, scheme, target, measures.total_delay, 1e3) for target in PARKING_TARGETS_MS],
            [_of(results, scheme, target, measures.total_throughput, 1e-6) for target in PARKING_TARGETS_MS],
        )
        for scheme in RIVALS
    ]
    x_label, y_label = "sum of the mean queueing delays of three links (ms)", "total throughput (Mbit/s)"
    lines.draw(axes, curves, x_label=x_label, y_label=y_label, palette=_PALETTE)
    style.legend_above(axes)
    data = _data(results, {"total_delay_s": measures.total_delay, "total_throughput_bps": measures.total_throughput})
    return Drawing(figure, [_parking_table(results)], data)


def _parking_table(results: Results) -> Table:
    groups = ("three hops", "two hops")
    rows = [
        [
            scheme,
            str(target),
            with_interval(_of(results, scheme, target, measures.total_delay, 1e3), 1),
            with_interval(_of(results, scheme, target, measures.total_throughput, 1e-6), 2),
            *(with_interval(results[scheme, target].estimate("throughput_bps", group=group).scaled(1e-6), 2) for group in groups),
        ]
        for scheme in RIVALS
        for target in PARKING_TARGETS_MS
    ]
    header = ["scheme", "target (ms)", "sum of delays (ms)", "total (Mbit/s)", *(f"20 flows over {group} (Mbit/s)" for group in groups)]
    return Table("second half of each run", header, rows)


def _data(results: Results, quantities: dict[str, measures.BySeeds]) -> pl.DataFrame:
    """Every quantity of every scenario: scheme, target, quantity, mean, sd, half width, number of seeds."""
    import polars as pl

    found = {(*key, name): result.estimate_of(measure(result)) for key, result in results.items() for name, measure in quantities.items()}
    rows = [(*key, value.mean, value.sd, value.half_width, value.n) for key, value in found.items()]
    return pl.DataFrame(rows, schema=["scheme", "target_ms", "quantity", "mean", "sd", "half_width", "n"], orient="row")


_SINGLE = {(scheme, target): single(scheme, target) for scheme in RIVALS for target in TARGETS_MS}
_LOT = {(scheme, target): parking_lot(scheme, target) for scheme in RIVALS for target in PARKING_TARGETS_MS}
_ONE, _SEVERAL = "One congested link", "Several congested links"

EFFICIENCY = Item(
    number="9",
    title="Link efficiency against mean queueing delay, AMECN and ARED",
    caption=(
        "100 long flows with round-trip times of 100 to 150 ms, 20 sources of web pages and 10 flows back over a link of 7 Mbit/s; a "
        "point for each target delay from 10 to 120 ms, with the intervals of both quantities."
    ),
    needs=_SINGLE,
    draw=_draw_efficiency,
    part=_ONE,
)
TARGETS = Item(
    number="10",
    title="Measured delay against target delay, AMECN and ARED",
    caption="Mean wait at the congested link in the second half of the same runs.",
    needs=_SINGLE,
    draw=_draw_targets,
    part=_ONE,
)
PARKING_LOT = Item(
    number="12",
    title="Total throughput against the sum of the queueing delays, AMECN and ARED",
    caption=(
        "The network of Figure 11: 20 flows from R0 to R3, 20 from R1 to R3, and 20 on each of R0-R1, R1-R2 and R2-R3; the same target on "
        "all three links, 10 to 80 ms."
    ),
    needs=_LOT,
    draw=_draw_parking_lot,
    part=_SEVERAL,
)
