"""Figures 5.32-5.44: AECN2, AECN3 and AECN4 (section 5.7)."""

from __future__ import annotations

from ecnlab.studies.framework.claims import ScenarioMeasure
from ecnlab.studies.framework.curves import CurvePanel, curve_figure
from ecnlab.studies.framework.model import StudyItem
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.schemes import GOODPUT, JAIN, THROUGHPUT
from ecnlab.studies.papers.aecn.sweeps import CURVE_PALETTE, DELAY, axis_scales, group_curves_panel, total_and_group_rate_panels

# AECN2's base max_p; the thesis does not name the values that it tried.
BASE_MAX_PS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
ROBUST_MIN_THS = tuple(range(1, 11))
MAX_THS = (30, 40, 50, 60, 70)
# AECN4's min_th of the robust group, by the number of flows.
CHOSEN_MIN_TH = {60: 9, 120: 3}

_BASE_LABEL, _MIN_TH_LABEL, _MAX_TH_LABEL = "base max_p", "min_th of robust flows (packets)", "max_th (packets)"


def aecn2_measure(quantity: str, base: float, group: str | None = None) -> ScenarioMeasure:
    """A quantity of AECN2 at 60 flows."""
    return schemes.scheme_measure(quantity, "AECN2", 60, base, group=group)


def aecn3_measure(quantity: str, flows: int, robust_min_th: int, group: str | None = None) -> ScenarioMeasure:
    """A quantity of AECN3."""
    return schemes.scheme_measure(quantity, "AECN", flows, group=group, robust_min_th=robust_min_th)


def aecn4_measure(quantity: str, flows: int, max_th: int, group: str | None = None) -> ScenarioMeasure:
    """A quantity of AECN4."""
    return schemes.scheme_measure(quantity, "AECN", flows, group=group, robust_min_th=CHOSEN_MIN_TH[flows], max_th=max_th)


def _aecn2_goodput_item() -> StudyItem:
    panels = total_and_group_rate_panels(BASE_MAX_PS, lambda base, group: aecn2_measure(GOODPUT, base, group))
    drawn = axis_scales(_BASE_LABEL, GOODPUT, own_y=True)
    return curve_figure(
        "5.32", "AECN2's goodput against the base max_p, 60 flows", "Chapter 5 network.", panels, drawn, palette=CURVE_PALETTE
    )


def _aecn2_jain_item() -> StudyItem:
    panel = CurvePanel(
        "", {"AECN2": {base: aecn2_measure(JAIN, base) for base in BASE_MAX_PS}, "AECN": {0.5: schemes.scheme_measure(JAIN, "AECN", 60)}}
    )
    caption = "Beside it AECN with alpha = beta = 2.5 and base max_p 0.5; chapter 5 network."
    title = "AECN2's fairness index against the base max_p, 60 flows"
    return curve_figure("5.33", title, caption, [panel], axis_scales(_BASE_LABEL, JAIN), palette=schemes.SCHEME_PALETTE)


def _aecn3_jain_item(number: str, flows: int) -> StudyItem:
    panel = CurvePanel("", {"AECN3": {value: aecn3_measure(JAIN, flows, value) for value in ROBUST_MIN_THS}})
    title = f"AECN3's fairness index against the robust group's min_th, {flows} flows"
    return curve_figure(number, title, _AECN3_CAPTION, [panel], axis_scales(_MIN_TH_LABEL, JAIN))


def _aecn3_rate_item(number: str, quantity: str, flows: int) -> StudyItem:
    panels = total_and_group_rate_panels(ROBUST_MIN_THS, lambda value, group: aecn3_measure(quantity, flows, int(value), group))
    drawn = axis_scales(_MIN_TH_LABEL, quantity, own_y=True)
    title = f"AECN3's {drawn.y} against the robust group's min_th, {flows} flows"
    return curve_figure(number, title, _AECN3_CAPTION, panels, drawn, palette=CURVE_PALETTE)


def _aecn4_jain_figure() -> StudyItem:
    panel = CurvePanel("", {f"{flows} flows": {value: aecn4_measure(JAIN, flows, value) for value in MAX_THS} for flows in CHOSEN_MIN_TH})
    caption = "Base max_p 0.5, min_th of robust flows 9 at 60 flows and 3 at 120; chapter 5 network."
    return curve_figure("5.41", "AECN4's fairness index against max_th", caption, [panel], axis_scales(_MAX_TH_LABEL, JAIN))


def _aecn4_goodput_item(number: str, flows: int) -> StudyItem:
    panels = total_and_group_rate_panels(MAX_THS, lambda value, group: aecn4_measure(GOODPUT, flows, int(value), group))
    drawn = axis_scales(_MAX_TH_LABEL, GOODPUT, own_y=True)
    return curve_figure(
        number, f"AECN4's goodput against max_th, {flows} flows", _aecn4_goodput_caption(flows), panels, drawn, palette=CURVE_PALETTE
    )


def _aecn4_delay_item() -> StudyItem:
    panel = group_curves_panel(MAX_THS, lambda value, group: aecn4_measure(DELAY, 120, int(value), group))
    title = "AECN4's one-way delay of each group against max_th, 120 flows"
    return curve_figure("5.44", title, _aecn4_goodput_caption(120), [panel], axis_scales(_MAX_TH_LABEL, DELAY), palette=CURVE_PALETTE)


_AECN3_CAPTION = "Base max_p 0.5, min_th 10 of the other groups, alpha = beta = 2.5, chapter 5 network."


def _aecn4_goodput_caption(flows: int) -> str:
    return f"Base max_p 0.5, min_th of robust flows {CHOSEN_MIN_TH[flows]}, alpha = beta = 2.5, chapter 5 network."


AECN2_ITEMS = [_aecn2_goodput_item(), _aecn2_jain_item()]
AECN3_ITEMS = [
    _aecn3_jain_item("5.35", 60),
    _aecn3_rate_item("5.36", GOODPUT, 60),
    _aecn3_jain_item("5.37", 120),
    _aecn3_rate_item("5.38", GOODPUT, 120),
    _aecn3_rate_item("5.39", THROUGHPUT, 60),
    _aecn3_rate_item("5.40", THROUGHPUT, 120),
]
AECN4_ITEMS = [_aecn4_jain_figure(), _aecn4_goodput_item("5.42", 60), _aecn4_goodput_item("5.43", 120), _aecn4_delay_item()]
