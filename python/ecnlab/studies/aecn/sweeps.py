"""What the sweeps of chapter 5 share: where they are measured, and how their figures show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ecnlab.networks import GROUPS
from ecnlab.plots.style import Palette
from ecnlab.studies.aecn import schemes
from ecnlab.studies.aecn.schemes import GOODPUT, JAIN, THROUGHPUT
from ecnlab.studies.claims import MBPS, MS, PLAIN, Measured, Of, Over, Shown
from ecnlab.studies.curves import Panel, Scales

DELAY = "delay_mean_s"

FLOWS = (30, 60, 120, 240, 480)
# Within what the thesis calls the unlockout range.
UNLOCKED = (30, 60, 120, 240)
MAX_PS = (0.5, 0.8)

ALL = "all flows"
PLACES: Mapping[str, str | None] = {ALL: None, **{group: group for group in GROUPS}}
OF_PLACES = Palette({ALL: "#000000", **schemes.GROUPS.colours}, {ALL: "D", **schemes.GROUPS.markers}, {ALL: ":", **schemes.GROUPS.dashes})

_WORDS: Mapping[str, tuple[str, Shown]] = {
    GOODPUT: ("goodput", MBPS),
    THROUGHPUT: ("throughput", MBPS),
    DELAY: ("one-way delay", MS),
    JAIN: ("Jain's index", PLAIN),
}


def scales(parameter: str, quantity: str, **ranges: Any) -> Scales:
    """The axes of a figure of this quantity."""
    name, shown = _WORDS[quantity]
    return Scales(parameter, name, shown, **ranges)


def flow_scales(quantity: str, **ranges: Any) -> Scales:
    """The axes against the number of flows; those of Jain's index are the ones that figures 5.29 and 5.30 print."""
    return scales("number of flows", quantity, x_range=(0, 500), y_range=(0.2, 1.0) if quantity == JAIN else None, **ranges)


def by_group(values: Sequence[float], at: Callable[[float, str | None], Of], title: str = "") -> Panel:
    """A curve for each group along the values of a parameter."""
    return Panel(title, {group: {value: at(value, group) for value in values} for group in GROUPS})


def rates(values: Sequence[float], at: Callable[[float, str | None], Of], published: Mapping[float, float] | None = None) -> list[Panel]:
    """A rate of all flows along the values of a parameter, with what the thesis prints of it, and beside it that of each group."""
    total = Panel(ALL, {ALL: {value: at(value, None) for value in values}}, {ALL: published or {}})
    return [total, by_group(values, at, "each group")]


def smallest_over_largest(of_group: Callable[[str], Measured]) -> Over:
    """Fairness between groups, which the thesis judges by eye ("visual max-min"): the least quantity of a group over the greatest."""
    return Over(lambda values: min(values) / max(values), [of_group(group) for group in GROUPS])
