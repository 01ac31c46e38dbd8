"""Chapter 4's figures against the number of flows (4.2, 4.7, 4.10, 4.13) and against max_p (4.5, 4.6, 4.8, 4.9, 4.20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from ecnlab.networks import CHAPTER_4, GROUPS
from ecnlab.plots.style import Palette
from ecnlab.studies.aecn import bytime, packets, schemes
from ecnlab.studies.aecn.schemes import GOODPUT, JAIN, THROUGHPUT
from ecnlab.studies.claims import MBPS, PLAIN, SECONDS, Of
from ecnlab.studies.curves import Panel, Scales, figure
from ecnlab.studies.model import Item, Need

FLOWS = (15, 30, 60, 120, 240, 480, 600)
MAX_PS = (0.1, 0.5, 0.8)
SWEPT_MAX_PS = (0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0)
THRESHOLDS = ((5, 15), (10, 30), (20, 60), (30, 90))

# The end of the titles of Figure 4.10's scenarios: its max_p is open, and no other figure's changes with it.
DELAY_FIGURE = "Figure 4.10"

of = partial(schemes.of, network=CHAPTER_4)

_PART = schemes.PARTS[CHAPTER_4.title]
_SCHEMES = ("ECN", "RED")
_COMPARED = "RED and ECN at max_p 0.1, 0.5 and 0.8"
_DASHES = {"ECN": "-", "ECNM": "-.", "RED": "--"}
_FLOWS_RANGE, _MAX_P_RANGE = (0, 620), (0, 1.02)


def _label(name: str, max_p: float) -> str:
    return f"{name}, max_p {max_p:g}"


def _palette(names: Mapping[str, tuple[str, str, str]]) -> Palette:
    """The palette of curves, each with its colour, marker and dashes."""
    return Palette(*({name: looks[at] for name, looks in names.items()} for at in range(3)))


_BY_MAX_P = _palette(
    {
        _label(name, max_p): (schemes.SCHEMES.colour(name, 0), marker, _DASHES[name])
        for name in _SCHEMES
        for max_p, marker in zip(MAX_PS, "os^", strict=True)
    }
)
_BY_SCHEME = _palette({name: (schemes.SCHEMES.colour(name, 0), schemes.SCHEMES.marker(name, 0), dash) for name, dash in _DASHES.items()})
_BY_GROUP = _palette(
    {
        f"{name}, {group}": (schemes.GROUPS.colour(group, 0), schemes.GROUPS.marker(group, 0), _DASHES[name])
        for name in _SCHEMES
        for group in GROUPS
    }
)


def _against_flows(number: str, title: str, quantities: Mapping[str, str], scales: Scales) -> Item:
    """ECN and RED at three values of max_p against the number of flows; a panel for each quantity, under its title."""
    panels = [
        Panel(words, {_label(name, max_p): {n: of(quantity, name, n, max_p) for n in FLOWS} for name in _SCHEMES for max_p in MAX_PS})
        for words, quantity in quantities.items()
    ]
    caption = "All flows together, min_th 10 and max_th 30."
    return figure(number, title, caption, panels, scales, part=_PART, palette=_BY_MAX_P)


def _against_max_p(number: str, quantity: str, y: str, flows: int) -> Item:
    """ECN and RED against max_p, a panel for each pair of thresholds."""
    panels = [
        Panel(f"min_th {low}, max_th {high}", {name: _swept(quantity, name, flows, min_th=low, max_th=high) for name in _SCHEMES})
        for low, high in THRESHOLDS
    ]
    title, caption = f"{y.capitalize()} against max_p, {flows} flows", "All flows together, chapter 4 network."
    return figure(number, title, caption, panels, Scales("max_p", y, MBPS, _MAX_P_RANGE), part=_PART, palette=_BY_SCHEME)


def _swept(quantity: str, name: str, flows: int, **thresholds: Any) -> dict[float, Of]:
    return {max_p: of(quantity, name, flows, max_p, **thresholds) for max_p in SWEPT_MAX_PS}


def delay(name: str, flows: int, group: str) -> Of:
    """Mean one-way delay of a group in the runs of Figure 4.10."""
    return replace(of("delay_mean_s", name, flows, group=group), need=_need_of_delays(name, flows))


@cache
def _need_of_delays(name: str, flows: int) -> Need:
    tree = schemes.scheme(name, flows, network=CHAPTER_4)
    return Need({**tree, "name": f"{tree['name']}, {DELAY_FIGURE}"})


def _delays(name: str, group: str) -> dict[float, Of]:
    return {n: delay(name, n, group) for n in FLOWS}


THROUGHPUT_BY_FLOWS = _against_flows(
    "4.2",
    f"Throughput against the number of flows, {_COMPARED}",
    {"": THROUGHPUT},
    Scales("number of flows", "throughput", MBPS, _FLOWS_RANGE),
)
GOODPUT_BY_FLOWS = _against_flows(
    "4.7", f"Goodput against the number of flows, {_COMPARED}", {"": GOODPUT}, Scales("number of flows", "goodput", MBPS, _FLOWS_RANGE)
)
JAIN_BY_FLOWS = _against_flows(
    "4.13",
    f"Jain's fairness index against the number of flows, {_COMPARED}",
    {"mean over intervals of 1 s": JAIN, "whole 80 s": "jain_throughput"},
    Scales("number of flows", "Jain's index", PLAIN, _FLOWS_RANGE, (0, 1)),
)
DELAY = figure(
    "4.10",
    "One-way delay of each group against the number of flows, RED and ECN",
    "Mean over the packets of a group, max_p 0.5, min_th 10 and max_th 30.",
    [Panel("", {f"{name}, {group}": _delays(name, group) for name in _SCHEMES for group in GROUPS})],
    Scales("number of flows", "one-way delay", SECONDS, _FLOWS_RANGE, (0, 0.2)),
    part=_PART,
    palette=_BY_GROUP,
)
ECNM = figure(
    "4.20",
    "Goodput of ECN and ECNM against max_p, 120 flows",
    "All flows together, min_th 10 and max_th 30.",
    [Panel("", {name: {max_p: of(GOODPUT, name, 120, max_p) for max_p in SWEPT_MAX_PS} for name in ("ECN", "ECNM")})],
    Scales("max_p", "goodput", MBPS, _MAX_P_RANGE),
    part=_PART,
    palette=_BY_SCHEME,
)

ITEMS: Sequence[Item] = [
    THROUGHPUT_BY_FLOWS,
    bytime.QUEUE_ECN_240,
    bytime.QUEUE_RED_240,
    _against_max_p("4.5", THROUGHPUT, "throughput", 30),
    _against_max_p("4.6", THROUGHPUT, "throughput", 120),
    GOODPUT_BY_FLOWS,
    _against_max_p("4.8", GOODPUT, "goodput", 30),
    _against_max_p("4.9", GOODPUT, "goodput", 120),
    DELAY,
    bytime.QUEUE_ECN_60,
    bytime.QUEUE_RED_60,
    JAIN_BY_FLOWS,
    packets.ECN_MARKS,
    packets.RED_DROPS,
    bytime.GOODPUT_30_LOW,
    bytime.GOODPUT_30,
    bytime.GOODPUT_60,
    bytime.THROUGHPUT_60,
    ECNM,
]
