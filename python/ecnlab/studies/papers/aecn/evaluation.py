"""Figures 5.20-5.23 and 5.29-5.31: AECN with alpha = beta = 2.5 beside ECN against the number of flows (section 5.6.2)."""

from __future__ import annotations

from collections.abc import Mapping

from ecnlab.scenarios.networks import GROUPS
from ecnlab.studies.framework.curves import CurvePanel, curve_figure
from ecnlab.studies.framework.model import StudyItem
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.published import values_of_table_5_1
from ecnlab.studies.papers.aecn.schemes import GOODPUT, JAIN, THROUGHPUT
from ecnlab.studies.papers.aecn.sweeps import DELAY, FLOW_COUNTS, GROUP_OF_CURVE, flow_axis_scales

_SCHEMES = ("AECN", "ECN")


def _aecn_and_ecn_panel_against_flows(title: str, quantity: str, max_p: float, group: str | None) -> CurvePanel:
    curves = {
        name: {float(flows): schemes.scheme_measure(quantity, name, flows, max_p, group=group) for flows in FLOW_COUNTS}
        for name in _SCHEMES
    }
    return CurvePanel(title, curves, {"ECN": values_of_table_5_1(quantity, "ECN")} if group is None and max_p == 0.5 else {})


def _aecn_and_ecn_item_against_flows(number: str, of: str, quantity: str, max_p: float, places: Mapping[str, str | None]) -> StudyItem:
    """A panel for each of the places, by its title."""
    panels = [_aecn_and_ecn_panel_against_flows(words, quantity, max_p, group) for words, group in places.items()]
    title = f"{of} against the number of flows, AECN and ECN, base max_p {max_p:g}"
    caption = f"AECN with alpha = beta = 2.5 and ECN, base max_p {max_p:g}, chapter 5 network."
    scales = flow_axis_scales(quantity, own_y=len(panels) > 1)
    return curve_figure(number, title, caption, panels, scales, palette=schemes.SCHEME_PALETTE)


RATE_ITEMS = [
    _aecn_and_ecn_item_against_flows("5.20", "Goodput", GOODPUT, 0.5, GROUP_OF_CURVE),
    _aecn_and_ecn_item_against_flows("5.21", "Goodput", GOODPUT, 0.8, GROUP_OF_CURVE),
    _aecn_and_ecn_item_against_flows("5.22", "Throughput", THROUGHPUT, 0.5, GROUP_OF_CURVE),
    _aecn_and_ecn_item_against_flows("5.23", "Throughput", THROUGHPUT, 0.8, GROUP_OF_CURVE),
]
FAIRNESS_ITEMS = [
    _aecn_and_ecn_item_against_flows("5.29", "Jain's fairness index", JAIN, 0.5, {"": None}),
    _aecn_and_ecn_item_against_flows("5.30", "Jain's fairness index", JAIN, 0.8, {"": None}),
]
DELAY_ITEM = _aecn_and_ecn_item_against_flows("5.31", "One-way delay of each group", DELAY, 0.5, {group: group for group in GROUPS})
