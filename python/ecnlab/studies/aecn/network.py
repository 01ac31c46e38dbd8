"""The thesis' two networks as scenarios: three equal groups of flows share a 10 Mbit/s link.

| | chapter 4 | chapter 5 |
|---|---|---|
| access capacity of all sources together, split evenly | 300 Mbps | 90 Mbps |
| one-way access delay, fragile / average / robust | 145 / 45 / 5 ms | 95 / 45 / 20 ms |

Packets of 1000 bytes, windows of at most 64, TCP Reno without delayed ACKs, endless sources, half of each group starting at 0 s
and half at 2 s; 100 s simulated, the first 20 s left out. Packet times of these networks share a grid, so packets of different flows
arrive at the very same time; ns-2 settles such ties by the rounding of its floating-point clock. Each access delay is lengthened by a draw
of up to 1 ns, which stands for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Tree = dict[str, Any]

GROUPS = ("fragile", "average", "robust")
PROFILE = "ns2-2001"


@dataclass(frozen=True)
class Network:
    """What the two chapters set differently."""

    title: str
    access_mbps: float
    delays_ms: Mapping[str, int]


CHAPTER_4 = Network("chapter 4", 300, {"fragile": 145, "average": 45, "robust": 5})
CHAPTER_5 = Network("chapter 5", 90, {"fragile": 95, "average": 45, "robust": 20})

SCHEMES: Mapping[str, Tree] = {
    "RED": {"aqm": "red"},
    "ECN": {"aqm": "ecn"},
    "ECNM": {"aqm": "ecnm"},
    "AECN": {"aqm": "aecn", "alpha": 2.5, "beta": 2.5},
    "AECN, alpha 1": {"aqm": "aecn", "alpha": 1.0, "beta": 1.0},
}
_THRESHOLDS = {"limit": 120, "min_th": 10, "max_th": 30, "w_q": 0.002}


def scheme(name: str, flows: int, max_p: float = 0.5, network: Network = CHAPTER_5, record: Tree | None = None) -> Tree:
    """A scenario of one of the compared schemes (a key of SCHEMES)."""
    title = f"{name}, {network.title}, {flows} flows, max_p {max_p:g}"
    return build(
        network,
        title,
        flows,
        {**SCHEMES[name], **_THRESHOLDS, "max_p": max_p},
        ecn=name != "RED",
        record=record,
    )


def build(
    network: Network,
    title: str,
    flows: int,
    queue: Tree,
    *,
    ecn: bool,
    tcp: Tree | None = None,
    record: Tree | None = None,
) -> Tree:
    """A scenario with any queue; `flows` is the number in all (a multiple of 3), `tcp` overrides the thesis-era sender."""
    sender = {"profile": PROFILE, "variant": "reno", "ecn": ecn, "max_window": 64, **(tcp or {})}
    tree: Tree = {
        "name": title,
        "duration": "100 s",
        "measure_from": "20 s",
        "link": [_bottleneck(queue)],
        "flows": [_group(network, name, flows, sender) for name in GROUPS],
    }
    return tree | ({"record": record} if record else {})


def _bottleneck(queue: Tree) -> Tree:
    return {
        "name": "bottleneck",
        "from": "router",
        "to": "sink",
        "rate": "10 Mbps",
        "delay": "5 ms",
        "queue": queue,
    }


def _group(network: Network, name: str, flows: int, sender: Tree) -> Tree:
    access = {
        "to": "router",
        "rate": f"{network.access_mbps / flows!r} Mbps",
        "delay": f"{network.delays_ms[name]} ms",
        "spread": "1 ns",
    }
    return {
        "name": name,
        "count": flows // len(GROUPS),
        "to": "sink",
        "access": access,
        "tcp": sender,
        "app": "bulk",
        "start": ["0 s", "2 s"],
    }
