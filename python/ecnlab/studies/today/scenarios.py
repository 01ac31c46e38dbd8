"""Today's hosts and queues on the thesis' networks: what stays as it was in 2001, and what is of today.

Of the thesis: links, delays, packets of 1000 bytes in all, a buffer of 120 packets before every queue, three equal groups of flows, half
of each starting at 0 s and half at 2 s, 100 s of which the first 20 s are left out. Of today: the hosts (profile `linux`, as this version
has it) and the queues, with the defaults of their RFCs; RED and AECN keep the thesis' parameters with max_p 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ecnlab import networks
from ecnlab.networks import CHAPTER_4, CHAPTER_5, Thesis, Tree
from ecnlab.plots.style import Palette
from ecnlab.studies.model import Need

LIMIT = 120
FLOWS = (15, 60, 240)
# Long flows beside which short exchanges are looked at: few enough that a connection can be opened at all queues.
LONG_FLOWS = 30
CLIENTS = 10
DATAGRAM_LOAD = 0.3

_THESIS: Tree = {"limit": LIMIT, "min_th": 10, "max_th": 30, "w_q": 0.002, "max_p": 0.5}
QUEUES: Mapping[str, Tree] = {
    "DropTail": {"aqm": "droptail", "limit": LIMIT},
    "RED": {"aqm": "ecn", **_THESIS},
    "AECN": {"aqm": "aecn", "alpha": 2.5, "beta": 2.5, **_THESIS},
    "CoDel": {"aqm": "codel", "limit": LIMIT},
    "PIE": {"aqm": "pie", "limit": LIMIT},
    "FQ-CoDel": {"discipline": "fq", "limit": LIMIT, "aqm": {"name": "codel"}},
    "DualPI2": {"discipline": "dualpi2", "limit": LIMIT},
}
# Queues that are made for DCTCP: its own step, FQ-CoDel with a second, low threshold for marks, and DualPI2's low-latency queue.
SCALABLE: Mapping[str, Tree] = {
    "step": {"aqm": "step", "limit": LIMIT, "threshold": 20},
    "FQ-CoDel, CE at 1 ms": {"discipline": "fq", "limit": LIMIT, "aqm": {"name": "codel", "ce_threshold": "1 ms"}},
    "DualPI2": QUEUES["DualPI2"],
}
MARKING = tuple(name for name in QUEUES if name != "DropTail")

CUBIC, CUBIC_ECN, RENO, RENO_ECN, DCTCP = "CUBIC", "CUBIC with ECN", "Reno", "Reno with ECN", "DCTCP"
HOSTS: Mapping[str, Tree] = {
    CUBIC: {"ecn": False},
    CUBIC_ECN: {"ecn": True},
    RENO: {"congestion": "reno", "ecn": False},
    RENO_ECN: {"congestion": "reno", "ecn": True},
    DCTCP: {"variant": "dctcp", "ecn": True},
}

OF_QUEUES = Palette(
    {
        "DropTail": "#000000",
        "RED": "#D55E00",
        "AECN": "#009E73",
        "CoDel": "#CC79A7",
        "PIE": "#E69F00",
        "FQ-CoDel": "#0072B2",
        "DualPI2": "#56B4E9",
        "step": "#D55E00",
        "FQ-CoDel, CE at 1 ms": "#0072B2",
    },
    {"DropTail": "X", "RED": "o", "AECN": "^", "CoDel": "v", "PIE": "P", "FQ-CoDel": "s", "DualPI2": "D"},
    {"DropTail": ":", "RED": "--", "AECN": "-.", "CoDel": "--"},
)
OF_HOSTS = Palette(
    {CUBIC: "#D55E00", CUBIC_ECN: "#0072B2", RENO: "#E69F00", RENO_ECN: "#56B4E9", DCTCP: "#009E73"},
    {CUBIC: "o", CUBIC_ECN: "s", RENO: "v", RENO_ECN: "D", DCTCP: "^"},
)


def sender(host: str, queue: str = "") -> Tree:
    """A host's TCP; DCTCP says that it is scalable, by ECT(1), to the queue that asks for it."""
    scalable = {"codepoint": "ect1"} if host == DCTCP and queue == "DualPI2" else {}
    return {"profile": "linux", "packet_size": 1000, **HOSTS[host], **scalable}


@cache
def need(host: str, queue: str, flows: int = 60, network: Thesis = CHAPTER_5) -> Need:
    """Hosts of one kind over a queue, over all seeds; one object for all that ask for it."""
    return Need(_hosts(host, queue, flows, network))


@cache
def exchanges(queue: str) -> Need:
    """Clients that fetch 5 KB again and again, some with ECN and some without, beside long flows with ECN.

    They are RFC 2884's transactions over today's hosts. DualPI2 has scalable clients too.
    """
    kinds = {"with ECN": CUBIC_ECN, "without ECN": CUBIC} | ({"scalable": DCTCP} if queue == "DualPI2" else {})
    return _beside(queue, CUBIC_ECN, [_clients(name, sender(host, queue)) for name, host in kinds.items()], LONG_FLOWS, "5 KB exchanges")


@cache
def datagrams(host: str, queue: str) -> Need:
    """60 flows beside ten sources of datagrams, on and off for 2.5 s in the mean, that offer 30 % of the link and answer to nothing."""
    rate = f"{2 * DATAGRAM_LOAD * 10 / CLIENTS:g} Mbps"
    app = {"kind": "onoff", "rate": rate, "on": "exponential 2.5 s", "off": "exponential 2.5 s"}
    flow = {"name": "datagrams", "count": CLIENTS, "to": "sink", "access": _access("20 ms"), "udp": {"packet_size": 1000, "header": 0}, "app": app}
    return _beside(queue, host, [flow], 60, "datagrams")


def _beside(queue: str, host: str, others: list[Tree], flows: int, what: str) -> Need:
    tree = _hosts(host, queue, flows, CHAPTER_5)
    return Need({**tree, "name": f"{tree['name']}, {what}", "flows": [*tree["flows"], *others]})


def _hosts(host: str, queue: str, flows: int, network: Thesis) -> Tree:
    title = f"{host} over {queue}, {network.title}, {flows} flows"
    tree = networks.thesis(network, title, flows, (SCALABLE if host == DCTCP else QUEUES)[queue], ecn=True)
    return {**tree, "flows": [{**flow, "tcp": sender(host, queue)} for flow in tree["flows"]]}


def _clients(name: str, tcp: Tree) -> Tree:
    app = {"kind": "exchange", "response": "5 KB"}
    return {"name": name, "count": CLIENTS, "to": "sink", "access": _access("45 ms"), "tcp": tcp, "app": app}


def _access(delay: str) -> Tree:
    return {"to": "router", "rate": "10 Mbps", "delay": delay, "spread": "1 ms"}


THESIS_NETWORKS = {"chapter 5": CHAPTER_5, "chapter 4": CHAPTER_4}
