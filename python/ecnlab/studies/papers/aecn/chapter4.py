"""Chapter 4's figures against the number of flows (4.2, 4.7, 4.10, 4.13) and against max_p (4.5, 4.6, 4.8, 4.9, 4.20)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from ecnlab.plot.style import Palette
from ecnlab.scenarios.networks import CHAPTER_4, GROUPS
from ecnlab.studies.framework.claims import DIMENSIONLESS, MBPS, SECONDS, ScenarioMeasure
from ecnlab.studies.framework.curves import AxisSettings, CurvePanel, curve_figure
from ecnlab.studies.framework.model import RequiredScenario, StudyItem
from ecnlab.studies.papers.aecn import bytime, packets, schemes
from ecnlab.studies.papers.aecn.schemes import GOODPUT, JAIN, THROUGHPUT

FLOW_COUNTS = (15, 30, 60, 120, 240, 480, 600)
MAX_PS = (0.1, 0.5, 0.8)
SWEPT_MAX_PS = (0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0)
THRESHOLD_PAIRS = ((5, 15), (10, 30), (20, 60), (30, 90))

# Title suffix of Figure 4.10's scenarios: its max_p is an open parameter that must not change other figures.
DELAY_FIGURE_MAX_P = "Figure 4.10"

chapter4_measure = partial(schemes.scheme_measure, network=CHAPTER_4)
chapter4_change = partial(schemes.change_between_schemes, network=CHAPTER_4)

_PART = schemes.REPORT_PARTS[CHAPTER_4.title]
_SCHEMES = ("ECN", "RED")
_COMPARED_MAX_PS = "RED and ECN at max_p 0.1, 0.5 and 0.8"
_DASHES = {"ECN": "-", "ECNM": "-.", "RED": "--"}
_FLOWS_AXIS_RANGE, _MAX_P_AXIS_RANGE = (0, 620), (0, 1.02)


def _scheme_and_max_p_label(name: str, max_p: float) -> str:
    return f"{name}, max_p {max_p:g}"


def _curve_palette(names: Mapping[str, tuple[str, str, str]]) -> Palette:
    """The palette of curves, each with its colour, marker and dashes."""
    return Palette(*({name: looks[at] for name, looks in names.items()} for at in range(3)))


_BY_MAX_P = _curve_palette(
    {
        _scheme_and_max_p_label(name, max_p): (schemes.SCHEME_PALETTE.colour(name, 0), marker, _DASHES[name])
        for name in _SCHEMES
        for max_p, marker in zip(MAX_PS, "os^", strict=True)
    }
)
_BY_SCHEME = _curve_palette(
    {name: (schemes.SCHEME_PALETTE.colour(name, 0), schemes.SCHEME_PALETTE.marker_of_name(name, 0), dash) for name, dash in _DASHES.items()}
)
_BY_GROUP = _curve_palette(
    {
        f"{name}, {group}": (schemes.GROUP_PALETTE.colour(group, 0), schemes.GROUP_PALETTE.marker_of_name(group, 0), _DASHES[name])
        for name in _SCHEMES
        for group in GROUPS
    }
)


def _figure_against_flows(number: str, title: str, quantities: Mapping[str, str], scales: AxisSettings) -> StudyItem:
    """ECN and RED at three values of max_p against the number of flows; a panel for each quantity, under its title."""
    panels = [
        CurvePanel(
            words,
            {
                _scheme_and_max_p_label(name, max_p): {n: chapter4_measure(quantity, name, n, max_p) for n in FLOW_COUNTS}
                for name in _SCHEMES
                for max_p in MAX_PS
            },
        )
        for words, quantity in quantities.items()
    ]
    caption = "All flows together, min_th 10 and max_th 30."
    return curve_figure(number, title, caption, panels, scales, part=_PART, palette=_BY_MAX_P)


def _figure_against_max_p(number: str, quantity: str, y: str, flows: int) -> StudyItem:
    """ECN and RED against max_p, a panel for each pair of thresholds."""
    panels = [
        CurvePanel(
            f"min_th {low}, max_th {high}", {name: _measures_by_max_p(quantity, name, flows, min_th=low, max_th=high) for name in _SCHEMES}
        )
        for low, high in THRESHOLD_PAIRS
    ]
    title, caption = f"{y.capitalize()} against max_p, {flows} flows", "All flows together, chapter 4 network."
    return curve_figure(number, title, caption, panels, AxisSettings("max_p", y, MBPS, _MAX_P_AXIS_RANGE), part=_PART, palette=_BY_SCHEME)


def _measures_by_max_p(quantity: str, name: str, flows: int, **thresholds: Any) -> dict[float, ScenarioMeasure]:
    return {max_p: chapter4_measure(quantity, name, flows, max_p, **thresholds) for max_p in SWEPT_MAX_PS}


def one_way_delay_measure(name: str, flows: int, group: str) -> ScenarioMeasure:
    """Mean one-way delay of a group in the runs of Figure 4.10."""
    return replace(chapter4_measure("delay_mean_s", name, flows, group=group), need=_delay_figure_scenario(name, flows))


@cache
def _delay_figure_scenario(name: str, flows: int) -> RequiredScenario:
    tree = schemes.scheme_scenario(name, flows, network=CHAPTER_4)
    return RequiredScenario({**tree, "name": f"{tree['name']}, {DELAY_FIGURE_MAX_P}"})


ITEMS = [
    _figure_against_flows(
        "4.2",
        f"Throughput against the number of flows, {_COMPARED_MAX_PS}",
        {"": THROUGHPUT},
        AxisSettings("number of flows", "throughput", MBPS, _FLOWS_AXIS_RANGE),
    ),
    bytime.queue_over_time_item("4.3", "ECN", 240, 0.5, CHAPTER_4),
    bytime.queue_over_time_item("4.4", "RED", 240, 0.5, CHAPTER_4),
    _figure_against_max_p("4.5", THROUGHPUT, "throughput", 30),
    _figure_against_max_p("4.6", THROUGHPUT, "throughput", 120),
    _figure_against_flows(
        "4.7",
        f"Goodput against the number of flows, {_COMPARED_MAX_PS}",
        {"": GOODPUT},
        AxisSettings("number of flows", "goodput", MBPS, _FLOWS_AXIS_RANGE),
    ),
    _figure_against_max_p("4.8", GOODPUT, "goodput", 30),
    _figure_against_max_p("4.9", GOODPUT, "goodput", 120),
    curve_figure(
        "4.10",
        "One-way delay of each group against the number of flows, RED and ECN",
        "Mean over the packets of a group, max_p 0.5, min_th 10 and max_th 30.",
        [
            CurvePanel(
                "",
                {
                    f"{name}, {group}": {n: one_way_delay_measure(name, n, group) for n in FLOW_COUNTS}
                    for name in _SCHEMES
                    for group in GROUPS
                },
            )
        ],
        AxisSettings("number of flows", "one-way delay", SECONDS, _FLOWS_AXIS_RANGE, (0, 0.2)),
        part=_PART,
        palette=_BY_GROUP,
    ),
    bytime.queue_over_time_item("4.11", "ECN", 60, 0.5, CHAPTER_4),
    bytime.queue_over_time_item("4.12", "RED", 60, 0.5, CHAPTER_4),
    _figure_against_flows(
        "4.13",
        f"Jain's fairness index against the number of flows, {_COMPARED_MAX_PS}",
        {"mean over intervals of 1 s": JAIN, "whole 80 s": "jain_throughput"},
        AxisSettings("number of flows", "Jain's index", DIMENSIONLESS, _FLOWS_AXIS_RANGE, (0, 1)),
    ),
    packets.marks_or_drops_item("4.14", "ECN", "mark", 120, 0.8, CHAPTER_4),
    packets.marks_or_drops_item("4.15", "RED", "drop", 120, 0.8, CHAPTER_4),
    bytime.rates_over_time_item("4.16", 30, 0.2, CHAPTER_4),
    bytime.rates_over_time_item("4.17", 30, 0.5, CHAPTER_4),
    bytime.rates_over_time_item("4.18", 60, 0.5, CHAPTER_4),
    bytime.rates_over_time_item("4.19", 60, 0.5, CHAPTER_4, THROUGHPUT),
    curve_figure(
        "4.20",
        "Goodput of ECN and ECNM against max_p, 120 flows",
        "All flows together, min_th 10 and max_th 30.",
        [CurvePanel("", {name: _measures_by_max_p(GOODPUT, name, 120) for name in ("ECN", "ECNM")})],
        AxisSettings("max_p", "goodput", MBPS, _MAX_P_AXIS_RANGE),
        part=_PART,
        palette=_BY_SCHEME,
    ),
]
