"""The schemes that the thesis compares, each as a queue of its networks, with their styles in figures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ecnlab.plot.style import Palette
from ecnlab.scenarios import networks
from ecnlab.scenarios.networks import CHAPTER_5, ThesisNetworkParameters, Tree
from ecnlab.studies.framework.claims import RelativeChange, ScenarioMeasure
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.framework.reference import THESIS_TABLES, Ns2ReferenceRow, find_ns2_row

QUEUE_OF_SCHEME: Mapping[str, Tree] = {
    "RED": {"aqm": "red"},
    "ECN": {"aqm": "ecn"},
    "ECNM": {"aqm": "ecnm"},
    "AECN": {"aqm": "aecn", "alpha": 2.5, "beta": 2.5},
    "AECN, alpha 1": {"aqm": "aecn", "alpha": 1.0, "beta": 1.0},
    "AECN2": {"aqm": "aecn", "balance": "population"},
}
# The parts of the study, by the network on which they are measured.
REPORT_PARTS = {"chapter 4": "Chapter 4: RED and ECN", "chapter 5": "Chapter 5: AECN"}

# Goodput excludes retransmissions (section 3.1.2). Jain's index is over throughput (section 3.1.3). Table 5.1 prints its mean; of all
# definitions the mean over intervals of 1 s is closest to it.
GOODPUT, THROUGHPUT, JAIN = "goodput_first_bps", "throughput_bps", "jain_1s_throughput"

_SETTINGS_IN_NS2_TABLES = {"min_th", "max_th", "alpha", "beta", "robust_min_th"}
_NS2_NETWORK_NAMES = {"chapter 4": "ch4", "chapter 5": "ch5"}
_THRESHOLDS = {"limit": 120, "min_th": 10, "max_th": 30, "w_q": 0.002}

# Colours of Okabe and Ito's palette, safe for colour-blind readers.
SCHEME_PALETTE = Palette(
    {"RED": "#D55E00", "ECN": "#0072B2", "ECNM": "#56B4E9", "AECN": "#009E73", "AECN, alpha 1": "#CC79A7", "AECN2": "#E69F00"},
    {"RED": "o", "ECN": "s", "ECNM": "D", "AECN": "^", "AECN, alpha 1": "v", "AECN2": "P"},
)
GROUP_PALETTE = Palette(
    {"fragile": "#D55E00", "average": "#0072B2", "robust": "#009E73"},
    {"fragile": "o", "average": "s", "robust": "^"},
    {"fragile": "-", "average": "--", "robust": "-."},
)


def scheme_scenario(
    name: str, flows: int, max_p: float = 0.5, network: ThesisNetworkParameters = CHAPTER_5, record: Tree | None = None, **settings: Any
) -> Tree:
    """A scenario of one of the compared schemes (a key of QUEUE_OF_SCHEME); `settings` override the thesis' parameters of its queue."""
    others = "".join(f", {parameter} {value}" for parameter, value in settings.items())
    title = f"{name}, {network.title}, {flows} flows, max_p {max_p:g}{others}"
    return networks.thesis_network_scenario(
        network, title, flows, _queue_of_scheme(name, max_p, settings), ecn=name != "RED", record=record
    )


def required_scheme_scenario(
    name: str, flows: int, max_p: float = 0.5, network: ThesisNetworkParameters = CHAPTER_5, **settings: Any
) -> RequiredScenario:
    """The scenario as required by an item or a claim over all seeds; cached, so that equal arguments give one object."""
    return _cached_scheme_scenario(name, flows, max_p, network, tuple(sorted(settings.items())))


@cache
def _cached_scheme_scenario(
    name: str, flows: int, max_p: float, network: ThesisNetworkParameters, settings: tuple[tuple[str, Any], ...]
) -> RequiredScenario:
    return RequiredScenario(scheme_scenario(name, flows, max_p, network, **dict(settings)))


def scheme_measure(
    quantity: str,
    name: str,
    flows: int,
    max_p: float = 0.5,
    network: ThesisNetworkParameters = CHAPTER_5,
    *,
    group: str | None = None,
    queue: str | None = None,
    **settings: Any,
) -> ScenarioMeasure:
    """A measured quantity of a scheme, with ns-2's mean if known."""
    row = ns2_row_of_scheme(name, flows, max_p, network, **settings)
    known = row.estimate_of_quantity(quantity, group=group, queue=queue) if row else None
    return ScenarioMeasure(
        required_scheme_scenario(name, flows, max_p, network, **settings), quantity, group, queue, known=known.mean if known else None
    )


def change_between_schemes(quantity: str, one: str, other: str, *setting: Any, **settings: Any) -> RelativeChange:
    """The relative change of a measured quantity from the `other` scheme to this one, in a setting as for `scheme_measure`."""
    return RelativeChange(*(scheme_measure(quantity, name, *setting, **settings) for name in (one, other)))


def ns2_row_of_scheme(name: str, flows: int, max_p: float, network: ThesisNetworkParameters, **settings: Any) -> Ns2ReferenceRow | None:
    """ns-2's row for a scheme, if any; its tables distinguish `_SETTINGS_IN_NS2_TABLES` only, and have no AECN2."""
    queue = _queue_of_scheme(name, max_p, settings)
    if settings.keys() - _SETTINGS_IN_NS2_TABLES or "balance" in queue:
        return None
    if queue["aqm"] == "aecn":
        queue_settings = {column: queue[column] for column in ("alpha", "beta", "max_th")}
        robust = queue.get("robust_min_th", queue["min_th"])
        wanted = queue_settings | {"count": "group", "population": 0, "flows": flows, "base_max_p": max_p, "robust_min_th": robust}
        return find_ns2_row(["thesis-aecn"], wanted) if network is CHAPTER_5 else None
    thresholds = {"minth": queue["min_th"], "maxth": queue["max_th"]}
    wanted = {"network": _NS2_NETWORK_NAMES[network.title], "era": "21b7", "mode": queue["aqm"], "n": flows, "maxp": max_p}
    return find_ns2_row(THESIS_TABLES, wanted | thresholds)


def _queue_of_scheme(name: str, max_p: float, settings: Tree) -> Tree:
    return {**QUEUE_OF_SCHEME[name], **_THRESHOLDS, "max_p": max_p, **settings}
