"""Common parts of the sweeps of chapter 5: measured points and style of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ecnlab.plot.style import Palette
from ecnlab.scenarios.networks import GROUPS
from ecnlab.studies.framework.claims import DIMENSIONLESS, MBPS, MS, CombinedMeasure, MeasuredQuantity, ScenarioMeasure
from ecnlab.studies.framework.curves import AxisSettings, CurvePanel, curve_figure
from ecnlab.studies.framework.model import StudyItem
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.schemes import GOODPUT, JAIN, THROUGHPUT

DELAY = "delay_mean_s"

FLOW_COUNTS = (30, 60, 120, 240, 480)
# Within the thesis' "unlockout range".
FLOW_COUNTS_WITHOUT_LOCKOUT = (30, 60, 120, 240)
MAX_PS = (0.5, 0.8)

ALL_FLOWS = "all flows"
GROUP_OF_CURVE = {ALL_FLOWS: None, **{group: group for group in GROUPS}}
CURVE_PALETTE = Palette(
    {ALL_FLOWS: "#000000", **schemes.GROUP_PALETTE.colours},
    {ALL_FLOWS: "D", **schemes.GROUP_PALETTE.markers},
    {ALL_FLOWS: ":", **schemes.GROUP_PALETTE.dashes},
)

_QUANTITY_LABELS = {
    GOODPUT: ("goodput", MBPS),
    THROUGHPUT: ("throughput", MBPS),
    DELAY: ("one-way delay", MS),
    JAIN: ("Jain's index", DIMENSIONLESS),
}


def axis_scales(parameter: str, quantity: str, **ranges: Any) -> AxisSettings:
    """The axes of a figure of this quantity."""
    name, shown = _QUANTITY_LABELS[quantity]
    return AxisSettings(parameter, name, shown, **ranges)


def flow_axis_scales(quantity: str, **ranges: Any) -> AxisSettings:
    """The axes against the number of flows; the range of Jain's index is that of figures 5.29 and 5.30."""
    return axis_scales("number of flows", quantity, x_range=(0, 500), y_range=(0.2, 1.0) if quantity == JAIN else None, **ranges)


def group_curves_panel(values: Sequence[float], at: Callable[[float, str | None], ScenarioMeasure], title: str = "") -> CurvePanel:
    """A curve for each group against a parameter."""
    return CurvePanel(title, {group: {value: at(value, group) for value in values} for group in GROUPS})


def rate_item(
    number: str,
    title: str,
    caption: str,
    scales: AxisSettings,
    values: Sequence[float],
    at: Callable[[float, str | None], ScenarioMeasure],
    published: Mapping[float, float] | None = None,
) -> StudyItem:
    """A rate against a parameter in two panels: of all flows, with the thesis' values, and of each group."""
    total = CurvePanel(ALL_FLOWS, {ALL_FLOWS: {value: at(value, None) for value in values}}, {ALL_FLOWS: published or {}})
    panels = [total, group_curves_panel(values, at, "each group")]
    return curve_figure(number, title, caption, panels, replace(scales, own_y=True), palette=CURVE_PALETTE)


def smallest_over_largest_group(of_group: Callable[[str], MeasuredQuantity]) -> CombinedMeasure:
    """Fairness between groups, read by eye in the thesis ("visual max-min"): a quantity's minimum over groups divided by its maximum."""
    return CombinedMeasure(lambda values: min(values) / max(values), [of_group(group) for group in GROUPS])
