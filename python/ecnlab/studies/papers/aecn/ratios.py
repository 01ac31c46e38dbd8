"""Figures 5.16-5.19: AECN against alpha = beta (section 5.6.1)."""

from __future__ import annotations

from ecnlab.studies.framework.claims import ScenarioMeasure
from ecnlab.studies.framework.curves import CurvePanel, curve_figure
from ecnlab.studies.framework.model import StudyItem
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.published import values_of_table_5_1
from ecnlab.studies.papers.aecn.schemes import GOODPUT, JAIN
from ecnlab.studies.papers.aecn.sweeps import axis_scales, rate_item

ALPHAS = (1.0, 1.5, 2.0, 2.5, 2.6, 2.8, 3.0)
_PARAMETER_LABEL = "alpha = beta"
_CAPTION = "{} flows, base max_p 0.5, chapter 5 network."


def aecn_measure_at_alpha(quantity: str, flows: int, alpha: float, group: str | None = None) -> ScenarioMeasure:
    """A quantity of AECN with this alpha and beta."""
    return schemes.scheme_measure(quantity, "AECN", flows, group=group, alpha=alpha, beta=alpha)


def _jain_by_alpha_item(number: str, flows: int) -> StudyItem:
    curve = {alpha: aecn_measure_at_alpha(JAIN, flows, alpha) for alpha in ALPHAS}
    panel = CurvePanel("", {"AECN": curve}, {"AECN": _published_at_alpha_1(JAIN, flows)})
    title = f"AECN's fairness index against alpha = beta, {flows} flows"
    return curve_figure(number, title, _CAPTION.format(flows), [panel], axis_scales(_PARAMETER_LABEL, JAIN), palette=schemes.SCHEME_PALETTE)


def _goodput_by_alpha_item(number: str, flows: int) -> StudyItem:
    return rate_item(
        number,
        f"AECN's goodput against alpha = beta, {flows} flows",
        _CAPTION.format(flows),
        axis_scales(_PARAMETER_LABEL, GOODPUT),
        ALPHAS,
        lambda alpha, group: aecn_measure_at_alpha(GOODPUT, flows, alpha, group),
        _published_at_alpha_1(GOODPUT, flows),
    )


def _published_at_alpha_1(quantity: str, flows: int) -> dict[float, float]:
    """Values of Table 5.1, at alpha 1."""
    return {1.0: values_of_table_5_1(quantity, "AECN, alpha 1")[flows]}


ITEMS = [
    _jain_by_alpha_item("5.16", 60),
    _goodput_by_alpha_item("5.17", 60),
    _jain_by_alpha_item("5.18", 120),
    _goodput_by_alpha_item("5.19", 120),
]
