"""Figures 5 and 7 and Tables I and II: the throughput of a source against the delay, without and with competing datagrams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from ecnlab.plot import lines, style
from ecnlab.plot.style import Palette
from ecnlab.scenarios.networks import BOTTLENECK
from ecnlab.stats.estimates import mean_with_interval
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import KBPS, DisplayUnit
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    NeedKey,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
)
from ecnlab.studies.framework.panels import PanelMeasure, estimate_cell, result_column_getter
from ecnlab.studies.papers.red_ecn.network import goodput_per_source, table_row_scenario
from ecnlab.studies.papers.red_ecn.published import DELAYS_MS, PUBLISHED_KBPS, SCHEMES, TableRow, recorded_ns2_throughput_kbps_by_row

# From the smallest to the largest delay of section III.A, including those of the tables.
SWEPT_DELAYS_MS = (25, 50, 100, 175, 250, 375, 500)
_PART = "Throughput against delay"
_PALETTE = Palette(dashes={"RED with ECN": "--"})


_THROUGHPUT = PanelMeasure("throughput of a source", "throughput_kbps", goodput_per_source, KBPS)


def _draw_throughput_by_delay(results: ResultsByKey, experiment: int) -> DrawnItemContent:
    figure, (axes,) = style.figure_with_panels()
    found = {key: _THROUGHPUT.estimate(result) for key, result in results.items()}
    curves = [lines.Curve(scheme, SWEPT_DELAYS_MS, [found[scheme, delay] for delay in SWEPT_DELAYS_MS]) for scheme in SCHEMES]
    x_label = "delay of the link from R1 to R2 (ms)"
    lines.draw_curves(axes, curves, x_label=x_label, y_label=_THROUGHPUT.label_with_unit, palette=_PALETTE)
    lines.draw_reference_points(axes, _reference_curves(PUBLISHED_KBPS, experiment), "published", palette=_PALETTE, half=True)
    lines.draw_reference_points(axes, _reference_curves(recorded_ns2_throughput_kbps_by_row(), experiment), "ns-2", palette=_PALETTE)
    axes.set_xlim(0, SWEPT_DELAYS_MS[-1] + SWEPT_DELAYS_MS[0])
    style.legend_above(axes)
    frame = estimates_frame(["scheme", "delay_ms"], _THROUGHPUT.name, list(found.items()))
    ns2, published = ([table.get((experiment, *key)) for key in found] for table in (recorded_ns2_throughput_kbps_by_row(), PUBLISHED_KBPS))
    return DrawnItemContent(figure, data=frame.with_columns(ns2_mean=pl.Series(ns2), published=pl.Series(published)))


def _reference_curves(table: Mapping[TableRow, float], experiment: int) -> list[lines.Curve]:
    numbers = {scheme: [mean_with_interval([table[experiment, scheme, delay]]) for delay in DELAYS_MS] for scheme in SCHEMES}
    return [lines.Curve(scheme, DELAYS_MS, points) for scheme, points in numbers.items()]


def _duplicate_packets(result: Result) -> list[float]:
    """The share of TCP's packets that arrived more than once."""
    arrived, useful = (result.values(name, group="bulk") for name in ("throughput_bps", "goodput_bps"))
    return [1 - first / all_ for first, all_ in zip(useful, arrived, strict=True)]


_SHARE = DisplayUnit(100, "%", 2)
_EXPLAINING_MEASURES = (
    PanelMeasure("use of the link", "utilisation", result_column_getter("utilisation", queue=BOTTLENECK), _SHARE),
    PanelMeasure("arrived again", "duplicates", _duplicate_packets, _SHARE),
    PanelMeasure("timeouts", "timeouts", result_column_getter("timeouts", group="bulk"), DisplayUnit(1, "", 0)),
)


def _throughput_table_content(results: ResultsByKey, experiment: int) -> DrawnItemContent:
    rows = [
        [
            scheme,
            str(delay),
            f"{PUBLISHED_KBPS[experiment, scheme, delay]:.4f}",
            f"{recorded_ns2_throughput_kbps_by_row()[experiment, scheme, delay]:.1f}",
            *(estimate_cell(measure, result) for measure in (_THROUGHPUT, *_EXPLAINING_MEASURES)),
        ]
        for (scheme, delay), result in results.items()
    ]
    header = ["scheme", "delay (ms)", "published", "ns-2", "ours", *(measure.label_with_unit for measure in _EXPLAINING_MEASURES)]
    table = ReportTable("throughput of a source (kbit/s), and where ECN's gain comes from, in the whole run", header, rows)
    data = [(key, _THROUGHPUT.estimate(result)) for key, result in results.items()]
    return DrawnItemContent(None, [table], estimates_frame(["scheme", "delay_ms"], _THROUGHPUT.name, data))


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
