"""Figures 5.3, 5.4 and 5.12-5.15: RED and ECN on the network of chapter 5 against the number of flows (section 5.5)."""

from __future__ import annotations

from ecnlab.plot.style import Palette
from ecnlab.scenarios.networks import GROUPS
from ecnlab.studies.framework.curves import CurvePanel, curve_figure
from ecnlab.studies.framework.model import StudyItem
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.published import values_of_table_5_1
from ecnlab.studies.papers.aecn.schemes import GOODPUT, JAIN, THROUGHPUT
from ecnlab.studies.papers.aecn.sweeps import DELAY, FLOW_COUNTS, MAX_PS, flow_axis_scales

_PRELIMINARY_CURVES = {f"{name}, max_p {max_p:g}": (name, max_p) for name in ("ECN", "RED") for max_p in MAX_PS}
_PALETTE = Palette(
    {label: schemes.SCHEME_PALETTE.colours[name] for label, (name, _) in _PRELIMINARY_CURVES.items()},
    {"ECN, max_p 0.5": "s", "ECN, max_p 0.8": "D", "RED, max_p 0.5": "o", "RED, max_p 0.8": "v"},
    {label: "--" for label, (_, max_p) in _PRELIMINARY_CURVES.items() if max_p == 0.8},
)


def _red_and_ecn_item_against_flows(number: str, title: str, quantity: str, group: str | None = None) -> StudyItem:
    curves = {
        label: {float(flows): schemes.scheme_measure(quantity, name, flows, max_p, group=group) for flows in FLOW_COUNTS}
        for label, (name, max_p) in _PRELIMINARY_CURVES.items()
    }
    panel = CurvePanel("", curves, {"ECN, max_p 0.5": values_of_table_5_1(quantity, "ECN")})
    caption = "RED and ECN, max_p 0.5 and 0.8, chapter 5 network."
    return curve_figure(number, title, caption, [panel], flow_axis_scales(quantity), palette=_PALETTE)


JAIN_INDEX_ITEM = _red_and_ecn_item_against_flows("5.3", "Jain's fairness index against the number of flows, RED and ECN", JAIN)
AGGREGATE_GOODPUT = _red_and_ecn_item_against_flows("5.4", "Goodput against the number of flows, RED and ECN", GOODPUT)
AGGREGATE_THROUGHPUT = _red_and_ecn_item_against_flows("5.12", "Throughput against the number of flows, RED and ECN", THROUGHPUT)
DELAYS_ITEM = [
    _red_and_ecn_item_against_flows(number, f"One-way delay of {group} flows against the number of flows, RED and ECN", DELAY, group)
    for number, group in zip(("5.13", "5.14", "5.15"), GROUPS, strict=True)
]
