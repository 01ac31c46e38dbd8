"""Figures 5.16-5.19: AECN against alpha = beta (section 5.6.1)."""

from __future__ import annotations

from ecnlab.studies.aecn import schemes
from ecnlab.studies.aecn.published import printed
from ecnlab.studies.aecn.schemes import GOODPUT, JAIN
from ecnlab.studies.aecn.sweeps import OF_PLACES, rates, scales
from ecnlab.studies.claims import Of
from ecnlab.studies.curves import Panel, figure
from ecnlab.studies.model import Item

ALPHAS = (1.0, 1.5, 2.0, 2.5, 2.6, 2.8, 3.0)
_PARAMETER = "alpha = beta"


def aecn(quantity: str, flows: int, alpha: float, group: str | None = None) -> Of:
    """A quantity of AECN with this alpha and beta."""
    return schemes.of(quantity, "AECN", flows, group=group, alpha=alpha, beta=alpha)


def _jain(number: str, flows: int) -> Item:
    panel = Panel("", {"AECN": {alpha: aecn(JAIN, flows, alpha) for alpha in ALPHAS}}, {"AECN": _at_1(JAIN, flows)})
    title = f"AECN's fairness index against alpha = beta, {flows} flows"
    return figure(number, title, _caption(flows), [panel], scales(_PARAMETER, JAIN), palette=schemes.SCHEMES)


def _goodput(number: str, flows: int) -> Item:
    panels = rates(ALPHAS, lambda alpha, group: aecn(GOODPUT, flows, alpha, group), _at_1(GOODPUT, flows))
    title = f"AECN's goodput against alpha = beta, {flows} flows"
    return figure(number, title, _caption(flows), panels, scales(_PARAMETER, GOODPUT, own_y=True), palette=OF_PLACES)


def _at_1(quantity: str, flows: int) -> dict[float, float]:
    """What Table 5.1 prints, at alpha 1."""
    return {1.0: printed(quantity, "AECN, alpha 1")[flows]}


def _caption(flows: int) -> str:
    return f"{flows} flows, base max_p 0.5, chapter 5 network."


ITEMS = [_jain("5.16", 60), _goodput("5.17", 60), _jain("5.18", 120), _goodput("5.19", 120)]
