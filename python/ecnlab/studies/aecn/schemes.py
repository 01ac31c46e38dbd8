"""The schemes that the thesis compares, each as a queue of its networks, and how figures tell them apart."""

from __future__ import annotations

from collections.abc import Mapping

from ecnlab import networks
from ecnlab.networks import CHAPTER_5, Thesis, Tree
from ecnlab.plots.style import Palette

QUEUES: Mapping[str, Tree] = {
    "RED": {"aqm": "red"},
    "ECN": {"aqm": "ecn"},
    "ECNM": {"aqm": "ecnm"},
    "AECN": {"aqm": "aecn", "alpha": 2.5, "beta": 2.5},
    "AECN, alpha 1": {"aqm": "aecn", "alpha": 1.0, "beta": 1.0},
}
_THRESHOLDS = {"limit": 120, "min_th": 10, "max_th": 30, "w_q": 0.002}

# Colours of Okabe and Ito's palette: told apart without colour vision.
SCHEMES = Palette(
    {"RED": "#D55E00", "ECN": "#0072B2", "ECNM": "#56B4E9", "AECN": "#009E73", "AECN, alpha 1": "#CC79A7"},
    {"RED": "o", "ECN": "s", "ECNM": "D", "AECN": "^", "AECN, alpha 1": "v"},
)
GROUPS = Palette({"fragile": "#D55E00", "average": "#0072B2", "robust": "#009E73"})


def scheme(name: str, flows: int, max_p: float = 0.5, network: Thesis = CHAPTER_5, record: Tree | None = None) -> Tree:
    """A scenario of one of the compared schemes (a key of QUEUES)."""
    title = f"{name}, {network.title}, {flows} flows, max_p {max_p:g}"
    queue = {**QUEUES[name], **_THRESHOLDS, "max_p": max_p}
    return networks.thesis(network, title, flows, queue, ecn=name != "RED", record=record)
