"""Figures 5.32-5.44: AECN2, AECN3 and AECN4 (section 5.7)."""

from __future__ import annotations

from ecnlab.studies.aecn import schemes
from ecnlab.studies.aecn.schemes import GOODPUT, JAIN, THROUGHPUT
from ecnlab.studies.aecn.sweeps import DELAY, OF_PLACES, by_group, rates, scales
from ecnlab.studies.claims import Of
from ecnlab.studies.curves import Panel, figure
from ecnlab.studies.model import Item

# AECN2's base max_p; the thesis does not say which values it tried.
BASES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
ROBUST_MIN_THS = tuple(range(1, 11))
MAX_THS = (30, 40, 50, 60, 70)
# AECN4's min_th of the robust group, by the number of flows.
CHOSEN_MIN_TH = {60: 9, 120: 3}

_BASE, _MIN_TH, _MAX_TH = "base max_p", "min_th of robust flows (packets)", "max_th (packets)"


def aecn2(quantity: str, base: float, group: str | None = None) -> Of:
    """A quantity of AECN2 at 60 flows."""
    return schemes.of(quantity, "AECN2", 60, base, group=group)


def aecn3(quantity: str, flows: int, robust_min_th: int, group: str | None = None) -> Of:
    """A quantity of AECN3."""
    return schemes.of(quantity, "AECN", flows, group=group, robust_min_th=robust_min_th)


def aecn4(quantity: str, flows: int, max_th: int, group: str | None = None) -> Of:
    """A quantity of AECN4."""
    return schemes.of(quantity, "AECN", flows, group=group, robust_min_th=CHOSEN_MIN_TH[flows], max_th=max_th)


def _aecn2_goodput() -> Item:
    panels = rates(BASES, lambda base, group: aecn2(GOODPUT, base, group))
    drawn = scales(_BASE, GOODPUT, own_y=True)
    return figure("5.32", "AECN2's goodput against the base max_p, 60 flows", "Chapter 5 network.", panels, drawn, palette=OF_PLACES)


def _aecn2_jain() -> Item:
    panel = Panel("", {"AECN2": {base: aecn2(JAIN, base) for base in BASES}, "AECN": {0.5: schemes.of(JAIN, "AECN", 60)}})
    caption = "Beside it AECN with alpha = beta = 2.5 and base max_p 0.5; chapter 5 network."
    title = "AECN2's fairness index against the base max_p, 60 flows"
    return figure("5.33", title, caption, [panel], scales(_BASE, JAIN), palette=schemes.SCHEMES)


def _aecn3_jain(number: str, flows: int) -> Item:
    panel = Panel("", {"AECN3": {value: aecn3(JAIN, flows, value) for value in ROBUST_MIN_THS}})
    title = f"AECN3's fairness index against the robust group's min_th, {flows} flows"
    return figure(number, title, _AECN3, [panel], scales(_MIN_TH, JAIN))


def _aecn3_rate(number: str, quantity: str, flows: int) -> Item:
    panels = rates(ROBUST_MIN_THS, lambda value, group: aecn3(quantity, flows, int(value), group))
    drawn = scales(_MIN_TH, quantity, own_y=True)
    title = f"AECN3's {drawn.y} against the robust group's min_th, {flows} flows"
    return figure(number, title, _AECN3, panels, drawn, palette=OF_PLACES)


def _aecn4_jain() -> Item:
    panel = Panel("", {f"{flows} flows": {value: aecn4(JAIN, flows, value) for value in MAX_THS} for flows in CHOSEN_MIN_TH})
    caption = "Base max_p 0.5, min_th of robust flows 9 at 60 flows and 3 at 120; chapter 5 network."
    return figure("5.41", "AECN4's fairness index against max_th", caption, [panel], scales(_MAX_TH, JAIN))


def _aecn4_goodput(number: str, flows: int) -> Item:
    panels = rates(MAX_THS, lambda value, group: aecn4(GOODPUT, flows, int(value), group))
    drawn = scales(_MAX_TH, GOODPUT, own_y=True)
    return figure(number, f"AECN4's goodput against max_th, {flows} flows", _aecn4(flows), panels, drawn, palette=OF_PLACES)


def _aecn4_delay() -> Item:
    panel = by_group(MAX_THS, lambda value, group: aecn4(DELAY, 120, int(value), group))
    title = "AECN4's one-way delay of each group against max_th, 120 flows"
    return figure("5.44", title, _aecn4(120), [panel], scales(_MAX_TH, DELAY), palette=OF_PLACES)


_AECN3 = "Base max_p 0.5, min_th 10 of the other groups, alpha = beta = 2.5, chapter 5 network."


def _aecn4(flows: int) -> str:
    return f"Base max_p 0.5, min_th of robust flows {CHOSEN_MIN_TH[flows]}, alpha = beta = 2.5, chapter 5 network."


AECN2 = [_aecn2_goodput(), _aecn2_jain()]
AECN3 = [
    _aecn3_jain("5.35", 60),
    _aecn3_rate("5.36", GOODPUT, 60),
    _aecn3_jain("5.37", 120),
    _aecn3_rate("5.38", GOODPUT, 120),
    _aecn3_rate("5.39", THROUGHPUT, 60),
    _aecn3_rate("5.40", THROUGHPUT, 120),
]
AECN4 = [_aecn4_jain(), _aecn4_goodput("5.42", 60), _aecn4_goodput("5.43", 120), _aecn4_delay()]
