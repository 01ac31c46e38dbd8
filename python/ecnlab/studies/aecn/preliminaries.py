"""Figures 5.3, 5.4 and 5.12-5.15: RED and ECN on the network of chapter 5 against the number of flows (section 5.5)."""

from __future__ import annotations

from ecnlab.networks import GROUPS
from ecnlab.plots.style import Palette
from ecnlab.studies.aecn import schemes
from ecnlab.studies.aecn.published import printed
from ecnlab.studies.aecn.schemes import GOODPUT, JAIN, THROUGHPUT
from ecnlab.studies.aecn.sweeps import DELAY, FLOWS, MAX_PS, flow_scales
from ecnlab.studies.curves import Panel, figure
from ecnlab.studies.model import Item

_CURVES = {f"{name}, max_p {max_p:g}": (name, max_p) for name in ("ECN", "RED") for max_p in MAX_PS}
_PALETTE = Palette(
    {label: schemes.SCHEMES.colours[name] for label, (name, _) in _CURVES.items()},
    {"ECN, max_p 0.5": "s", "ECN, max_p 0.8": "D", "RED, max_p 0.5": "o", "RED, max_p 0.8": "v"},
    {label: "--" for label, (_, max_p) in _CURVES.items() if max_p == 0.8},
)


def _item(number: str, title: str, quantity: str, group: str | None = None) -> Item:
    curves = {
        label: {float(flows): schemes.of(quantity, name, flows, max_p, group=group) for flows in FLOWS}
        for label, (name, max_p) in _CURVES.items()
    }
    panel = Panel("", curves, {"ECN, max_p 0.5": printed(quantity, "ECN")})
    caption = "RED and ECN, max_p 0.5 and 0.8, chapter 5 network."
    return figure(number, title, caption, [panel], flow_scales(quantity), palette=_PALETTE)


JAIN_INDEX = _item("5.3", "Jain's fairness index against the number of flows, RED and ECN", JAIN)
AGGREGATE_GOODPUT = _item("5.4", "Goodput against the number of flows, RED and ECN", GOODPUT)
AGGREGATE_THROUGHPUT = _item("5.12", "Throughput against the number of flows, RED and ECN", THROUGHPUT)
DELAYS = [
    _item(number, f"One-way delay of {group} flows against the number of flows, RED and ECN", DELAY, group)
    for number, group in zip(("5.13", "5.14", "5.15"), GROUPS, strict=True)
]
