"""Figures 5.20-5.23 and 5.29-5.31: AECN with alpha = beta = 2.5 beside ECN against the number of flows (section 5.6.2)."""

from __future__ import annotations

from collections.abc import Mapping

from ecnlab.networks import GROUPS
from ecnlab.studies.aecn import schemes
from ecnlab.studies.aecn.published import printed
from ecnlab.studies.aecn.schemes import GOODPUT, JAIN, THROUGHPUT
from ecnlab.studies.aecn.sweeps import DELAY, FLOWS, PLACES, flow_scales
from ecnlab.studies.curves import Panel, figure
from ecnlab.studies.model import Item

_SCHEMES = ("AECN", "ECN")


def _panel(title: str, quantity: str, max_p: float, group: str | None) -> Panel:
    curves = {name: {float(flows): schemes.of(quantity, name, flows, max_p, group=group) for flows in FLOWS} for name in _SCHEMES}
    return Panel(title, curves, {"ECN": printed(quantity, "ECN")} if group is None and max_p == 0.5 else {})


def _item(number: str, of: str, quantity: str, max_p: float, places: Mapping[str, str | None]) -> Item:
    """A panel for each of the places, by its title."""
    panels = [_panel(words, quantity, max_p, group) for words, group in places.items()]
    title = f"{of} against the number of flows, AECN and ECN, base max_p {max_p:g}"
    caption = f"AECN with alpha = beta = 2.5 and ECN, base max_p {max_p:g}, chapter 5 network."
    scales = flow_scales(quantity, own_y=len(panels) > 1)
    return figure(number, title, caption, panels, scales, palette=schemes.SCHEMES)


RATES = [
    _item("5.20", "Goodput", GOODPUT, 0.5, PLACES),
    _item("5.21", "Goodput", GOODPUT, 0.8, PLACES),
    _item("5.22", "Throughput", THROUGHPUT, 0.5, PLACES),
    _item("5.23", "Throughput", THROUGHPUT, 0.8, PLACES),
]
FAIRNESS = [
    _item("5.29", "Jain's fairness index", JAIN, 0.5, {"": None}),
    _item("5.30", "Jain's fairness index", JAIN, 0.8, {"": None}),
]
DELAYS = _item("5.31", "One-way delay of each group", DELAY, 0.5, {group: group for group in GROUPS})
