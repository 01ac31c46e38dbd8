"""Figures 5.32-5.44: AECN2, AECN3 and AECN4 (section 5.7)."""

from __future__ import annotations

from ecnlab.studies.framework.claims import ScenarioMeasure
from ecnlab.studies.framework.curves import CurvePanel, curve_figure
from ecnlab.studies.framework.model import StudyItem
from ecnlab.studies.papers.aecn.schemes import GOODPUT, JAIN, SCHEME_PALETTE, THROUGHPUT, scheme_measure
from ecnlab.studies.papers.aecn.sweeps import CURVE_PALETTE, DELAY, axis_scales, group_curves_panel, rate_item

# AECN2's base max_p; the thesis does not name the values that it tried.
BASE_MAX_PS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
ROBUST_MIN_THS = tuple(range(1, 11))
MAX_THS = (30, 40, 50, 60, 70)
# AECN4's min_th of the robust group, by the number of flows.
CHOSEN_MIN_TH = {60: 9, 120: 3}

_BASE_LABEL, _MIN_TH_LABEL, _MAX_TH_LABEL = "base max_p", "min_th of robust flows (packets)", "max_th (packets)"


def aecn2_measure(quantity: str, base: float, group: str | None = None) -> ScenarioMeasure:
    """A quantity of AECN2 at 60 flows."""
    return scheme_measure(quantity, "AECN2", 60, base, group=group)


def aecn3_measure(quantity: str, flows: int, robust_min_th: int, group: str | None = None) -> ScenarioMeasure:
    """A quantity of AECN3."""
    return scheme_measure(quantity, "AECN", flows, group=group, robust_min_th=robust_min_th)


def aecn4_measure(quantity: str, flows: int, max_th: int, group: str | None = None) -> ScenarioMeasure:
    """A quantity of AECN4."""
    return scheme_measure(quantity, "AECN", flows, group=group, robust_min_th=CHOSEN_MIN_TH[flows], max_th=max_th)


def _aecn3_jain_item(number: str, flows: int) -> StudyItem:
    panel = CurvePanel("", {"AECN3": {value: aecn3_measure(JAIN, flows, value) for value in ROBUST_MIN_THS}})
    title = f"AECN3's fairness index against the robust group's min_th, {flows} flows"
    return curve_figure(number, title, _AECN3_CAPTION, [panel], axis_scales(_MIN_TH_LABEL, JAIN))


def _aecn3_rate_item(number: str, quantity: str, flows: int) -> StudyItem:
    scales = axis_scales(_MIN_TH_LABEL, quantity)
    title = f"AECN3's {scales.y} against the robust group's min_th, {flows} flows"
    return rate_item(
        number, title, _AECN3_CAPTION, scales, ROBUST_MIN_THS, lambda value, group: aecn3_measure(quantity, flows, int(value), group)
    )


def _aecn4_goodput_item(number: str, flows: int) -> StudyItem:
    return rate_item(
        number,
        f"AECN4's goodput against max_th, {flows} flows",
        _aecn4_caption(flows),
        axis_scales(_MAX_TH_LABEL, GOODPUT),
        MAX_THS,
        lambda value, group: aecn4_measure(GOODPUT, flows, int(value), group),
    )


_AECN3_CAPTION = "Base max_p 0.5, min_th 10 of the other groups, alpha = beta = 2.5, chapter 5 network."


def _aecn4_caption(flows: int) -> str:
    return f"Base max_p 0.5, min_th of robust flows {CHOSEN_MIN_TH[flows]}, alpha = beta = 2.5, chapter 5 network."


ITEMS = [
    rate_item(
        "5.32",
        "AECN2's goodput against the base max_p, 60 flows",
        "Chapter 5 network.",
        axis_scales(_BASE_LABEL, GOODPUT),
        BASE_MAX_PS,
        lambda base, group: aecn2_measure(GOODPUT, base, group),
    ),
    curve_figure(
        "5.33",
        "AECN2's fairness index against the base max_p, 60 flows",
        "Beside it AECN with alpha = beta = 2.5 and base max_p 0.5; chapter 5 network.",
        [
            CurvePanel(
                "", {"AECN2": {base: aecn2_measure(JAIN, base) for base in BASE_MAX_PS}, "AECN": {0.5: scheme_measure(JAIN, "AECN", 60)}}
            )
        ],
        axis_scales(_BASE_LABEL, JAIN),
        palette=SCHEME_PALETTE,
    ),
    _aecn3_jain_item("5.35", 60),
    _aecn3_rate_item("5.36", GOODPUT, 60),
    _aecn3_jain_item("5.37", 120),
    _aecn3_rate_item("5.38", GOODPUT, 120),
    _aecn3_rate_item("5.39", THROUGHPUT, 60),
    _aecn3_rate_item("5.40", THROUGHPUT, 120),
    curve_figure(
        "5.41",
        "AECN4's fairness index against max_th",
        "Base max_p 0.5, min_th of robust flows 9 at 60 flows and 3 at 120; chapter 5 network.",
        [CurvePanel("", {f"{flows} flows": {value: aecn4_measure(JAIN, flows, value) for value in MAX_THS} for flows in CHOSEN_MIN_TH})],
        axis_scales(_MAX_TH_LABEL, JAIN),
    ),
    _aecn4_goodput_item("5.42", 60),
    _aecn4_goodput_item("5.43", 120),
    curve_figure(
        "5.44",
        "AECN4's one-way delay of each group against max_th, 120 flows",
        _aecn4_caption(120),
        [group_curves_panel(MAX_THS, lambda value, group: aecn4_measure(DELAY, 120, int(value), group))],
        axis_scales(_MAX_TH_LABEL, DELAY),
        palette=CURVE_PALETTE,
    ),
]
