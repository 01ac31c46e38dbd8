"""Figures 5 and 7 and Tables I and II: the throughput of a source against the delay, without and with competing datagrams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from ecnlab.plot import lines, style
from ecnlab.plot.style import Palette
from ecnlab.scenarios.networks import BOTTLENECK
from ecnlab.stats.estimates import Estimate, mean_with_interval
from ecnlab.storage.results import Result
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    NeedKey,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
)
from ecnlab.studies.papers.red_ecn.network import goodput_per_source, table_row_scenario
from ecnlab.studies.papers.red_ecn.published import DELAYS_MS, PUBLISHED_KBPS, SCHEMES, TableRow, ns2_throughput_kbps_by_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# From the smallest to the largest delay of section III.A, including those of the tables.
SWEPT_DELAYS_MS = (25, 50, 100, 175, 250, 375, 500)
_PART = "Throughput against delay"
_PALETTE = Palette(dashes={"RED with ECN": "--"})


def _estimate_kbps(results: ResultsByKey, key: NeedKey) -> Estimate:
    return results[key].estimate_of(goodput_per_source(results[key])).scaled(1e-3)


def _draw_throughput_by_delay(results: ResultsByKey, experiment: int) -> DrawnItemContent:
    figure, (axes,) = style.figure_with_panels()
    curves = [
        lines.Curve(scheme, SWEPT_DELAYS_MS, [_estimate_kbps(results, (scheme, delay)) for delay in SWEPT_DELAYS_MS]) for scheme in SCHEMES
    ]
    x_label, y_label = "delay of the link from R1 to R2 (ms)", "throughput of a source (kbit/s)"
    lines.draw_curves(axes, curves, x_label=x_label, y_label=y_label, palette=_PALETTE)
    _draw_published_and_ns2_points(axes, experiment)
    axes.set_xlim(0, SWEPT_DELAYS_MS[-1] + SWEPT_DELAYS_MS[0])
    style.legend_above(axes)
    rows = [((scheme, delay), _estimate_kbps(results, (scheme, delay))) for scheme in SCHEMES for delay in SWEPT_DELAYS_MS]
    frame = estimates_frame(["scheme", "delay_ms"], "throughput_kbps", rows)
    places = [(experiment, scheme, delay) for (scheme, delay), _ in rows]
    ns2, published = ([table.get(place) for place in places] for table in (ns2_throughput_kbps_by_row(), PUBLISHED_KBPS))
    return DrawnItemContent(figure, data=frame.with_columns(ns2_mean=pl.Series(ns2), published=pl.Series(published)))


def _draw_published_and_ns2_points(axes: Axes, experiment: int) -> None:
    """The paper's own numbers, and ns-2's."""
    lines.draw_reference_points(axes, _reference_curves(PUBLISHED_KBPS, experiment), "published", palette=_PALETTE, half=True)
    lines.draw_reference_points(axes, _reference_curves(ns2_throughput_kbps_by_row(), experiment), "ns-2", palette=_PALETTE)


def _reference_curves(table: Mapping[TableRow, float], experiment: int) -> list[lines.Curve]:
    numbers = {scheme: [mean_with_interval([table[experiment, scheme, delay]]) for delay in DELAYS_MS] for scheme in SCHEMES}
    return [lines.Curve(scheme, DELAYS_MS, points) for scheme, points in numbers.items()]


def _link_utilisation_percent(result: Result) -> list[float]:
    return [100 * used for used in result.values("utilisation", queue=BOTTLENECK)]


def _duplicate_packets_percent(result: Result) -> list[float]:
    """The share of TCP's packets that arrived more than once, in per cent."""
    arrived, useful = (result.values(name, group="bulk") for name in ("throughput_bps", "goodput_bps"))
    return [100 * (1 - first / all_) for first, all_ in zip(useful, arrived, strict=True)]


_EXPLAINING_COLUMNS: Mapping[str, tuple[Callable[[Result], list[float]], int]] = {
    "use of the link (%)": (_link_utilisation_percent, 2),
    "arrived again (%)": (_duplicate_packets_percent, 2),
    "timeouts": (lambda result: result.values("timeouts", group="bulk"), 0),
}


def _throughput_table_content(results: ResultsByKey, experiment: int) -> DrawnItemContent:
    rows = [
        [
            scheme,
            str(delay),
            f"{PUBLISHED_KBPS[experiment, scheme, delay]:.4f}",
            f"{ns2_throughput_kbps_by_row()[experiment, scheme, delay]:.1f}",
            format_with_interval(_estimate_kbps(results, (scheme, delay)), 1),
            *(
                format_with_interval(results[scheme, delay].estimate_of(measure(results[scheme, delay])), digits)
                for measure, digits in _EXPLAINING_COLUMNS.values()
            ),
        ]
        for scheme in SCHEMES
        for delay in DELAYS_MS
    ]
    header = ["scheme", "delay (ms)", "published", "ns-2", "ours", *_EXPLAINING_COLUMNS]
    table = ReportTable("throughput of a source (kbit/s), and where ECN's gain comes from, in the whole run", header, rows)
    places = [(scheme, delay) for scheme in SCHEMES for delay in DELAYS_MS]
    return DrawnItemContent(
        None, [table], estimates_frame(["scheme", "delay_ms"], "throughput_kbps", [(key, _estimate_kbps(results, key)) for key in places])
    )


def _throughput_scenarios(experiment: int, delays_ms: Sequence[int]) -> dict[NeedKey, RequiredScenario]:
    return {(scheme, delay): table_row_scenario((experiment, scheme, delay)) for scheme in SCHEMES for delay in delays_ms}


def _throughput_figure(number: str, experiment: int, title: str, caption: str) -> StudyItem:
    draw = partial(_draw_throughput_by_delay, experiment=experiment)
    return StudyItem(
        number=number, title=title, caption=caption, needs=_throughput_scenarios(experiment, SWEPT_DELAYS_MS), draw=draw, part=_PART
    )


def _throughput_table(number: str, experiment: int, title: str) -> StudyItem:
    draw = partial(_throughput_table_content, experiment=experiment)
    caption = (
        "The paper's numbers, ns-2's from our script with the same choices, and ours, in the mean over ten TCP sources. ECN's gain has two "
        "parts: the bottleneck idles less, and fewer packets arrive twice, which a source without SACK sends again after a timeout."
    )
    return StudyItem(
        kind="Table", number=number, title=title, caption=caption, needs=_throughput_scenarios(experiment, DELAYS_MS), draw=draw, part=_PART
    )


ITEMS = (
    _throughput_figure(
        "5",
        1,
        "Throughput of a source without datagrams",
        "Mean over ten TCP sources of what reached the application. Lines with bars are ours, half-filled markers Table I, open ones ns-2.",
    ),
    _throughput_table("I", 1, "Throughput statistics for experiment 1, without datagrams"),
    _throughput_figure(
        "7",
        2,
        "Throughput of a source beside datagrams",
        "The same with 8 sources of datagrams, 100 kbit/s in bursts of 2.5 s in the mean with pauses of as much, and Table II.",
    ),
    _throughput_table("II", 2, "Throughput statistics for experiment 2, beside datagrams"),
)
