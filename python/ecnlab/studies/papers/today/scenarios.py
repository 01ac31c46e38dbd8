"""Today's hosts and queues on the thesis' networks: what stays as it was in 2001, and what is of today.

Of the thesis: links, delays, packets of 1000 bytes in all, a buffer of 120 packets before every queue, three equal groups of flows, half
of each starting at 0 s and half at 2 s, 100 s of which the first 20 s are left out. Of today: the hosts (profile `linux`,
which is `linux-6.1`) and the queues, with the defaults of their RFCs; RED and AECN keep the thesis' parameters with max_p 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from ecnlab.plot.style import Palette
from ecnlab.scenarios import networks
from ecnlab.scenarios.networks import CHAPTER_5, ThesisNetworkParameters, Tree
from ecnlab.studies.framework.model import RequiredScenario

BUFFER_PACKETS = 120
FLOW_COUNTS = (15, 60, 240)
# Number of long flows that compete with short exchanges: few enough that connections can be opened at all queues.
LONG_FLOW_COUNT = 30
CLIENT_COUNT = 10
DATAGRAM_LOAD = 0.3

_THESIS_RED = {"limit": BUFFER_PACKETS, "min_th": 10, "max_th": 30, "w_q": 0.002, "max_p": 0.5}
QUEUE_BY_NAME = {
    "DropTail": {"aqm": "droptail", "limit": BUFFER_PACKETS},
    "RED": {"aqm": "ecn", **_THESIS_RED},
    "AECN": {"aqm": "aecn", "alpha": 2.5, "beta": 2.5, **_THESIS_RED},
    "CoDel": {"aqm": "codel", "limit": BUFFER_PACKETS},
    "PIE": {"aqm": "pie", "limit": BUFFER_PACKETS},
    "FQ-CoDel": {"discipline": "fq", "limit": BUFFER_PACKETS, "aqm": {"name": "codel"}},
    "DualPI2": {"discipline": "dualpi2", "limit": BUFFER_PACKETS},
}
# Queues for DCTCP: its step marking, FQ-CoDel with ce_threshold, and DualPI2's low-latency queue.
SCALABLE_QUEUES = {
    "step": {"aqm": "step", "limit": BUFFER_PACKETS, "threshold": 20},
    "FQ-CoDel, CE at 1 ms": {"discipline": "fq", "limit": BUFFER_PACKETS, "aqm": {"name": "codel", "ce_threshold": "1 ms"}},
    "DualPI2": QUEUE_BY_NAME["DualPI2"],
}
MARKING_QUEUES = tuple(name for name in QUEUE_BY_NAME if name != "DropTail")

CUBIC, CUBIC_ECN, DCTCP = "CUBIC", "CUBIC with ECN", "DCTCP"
WITH_ECN, WITHOUT_ECN = "with ECN", "without ECN"
# The same hosts with Reno's window and the loss recovery of 1990, 1999, 2003 and 2021.
LOSS_RECOVERIES = {
    "Reno": {"recovery": "reno"},
    "NewReno": {"recovery": "newreno"},
    "SACK": {"recovery": "sack"},
    "RACK-TLP": {"recovery": "rack"},
}
HOST_TCP: Mapping[str, Tree] = {
    CUBIC: {"ecn": False},
    CUBIC_ECN: {"ecn": True},
    DCTCP: {"variant": "dctcp", "ecn": True},
    **{
        f"{name} {word}": {"congestion_control": "reno", "ecn": word == WITH_ECN, **tcp}
        for name, tcp in LOSS_RECOVERIES.items()
        for word in (WITH_ECN, WITHOUT_ECN)
    },
}

QUEUE_PALETTE = Palette(
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
HOST_PALETTE = Palette(
    {CUBIC: "#D55E00", CUBIC_ECN: "#0072B2", WITHOUT_ECN: "#D55E00", WITH_ECN: "#0072B2", "scalable": "#009E73"},
    {CUBIC: "o", CUBIC_ECN: "s", WITHOUT_ECN: "o", WITH_ECN: "s", "scalable": "^"},
)


def sender_tcp(host: str, queue: str = "") -> Tree:
    """A host's TCP; DCTCP sends ECT(1) to queues that classify scalable traffic by it."""
    scalable = {"ect_codepoint": "ect1"} if host == DCTCP and queue == "DualPI2" else {}
    return {"profile": "linux", "packet_size": 1000, **HOST_TCP[host], **scalable}


def hosts_over_queue_scenario(host: str, queue: str, flows: int = 60, network: ThesisNetworkParameters = CHAPTER_5) -> RequiredScenario:
    """Hosts of one kind over a queue, over all seeds; cached, so that equal arguments give one object."""
    return _cached_hosts_over_queue_scenario(host, queue, flows, network)


@cache
def exchange_clients_scenario(queue: str) -> RequiredScenario:
    """Clients that fetch 5 KB again and again, some with ECN and some without, beside long flows with ECN; at DropTail all are without.

    They are RFC 2884's transactions over today's hosts. DualPI2 has scalable clients too.
    """
    hosts = {WITH_ECN: CUBIC_ECN, WITHOUT_ECN: CUBIC, "scalable": DCTCP}
    clients = [_client_group(kind, sender_tcp(hosts[kind], queue)) for kind in client_kinds_over(queue)]
    return _hosts_beside_other_traffic_scenario(
        queue, CUBIC if queue == "DropTail" else CUBIC_ECN, clients, LONG_FLOW_COUNT, "5 KB exchanges"
    )


def client_kinds_over(queue: str) -> Sequence[str]:
    """The kinds of clients that are run over a queue."""
    return {"DropTail": (WITHOUT_ECN,), "DualPI2": (WITH_ECN, WITHOUT_ECN, "scalable")}.get(queue, (WITH_ECN, WITHOUT_ECN))


@cache
def datagram_cross_traffic_scenario(host: str, queue: str) -> RequiredScenario:
    """60 flows and ten unresponsive datagram sources with an offered load of 30 %, on and off for 2.5 s in the mean."""
    rate = f"{2 * DATAGRAM_LOAD * 10 / CLIENT_COUNT:g} Mbps"
    app = {"kind": "onoff", "rate": rate, "on": "exponential 2.5 s", "off": "exponential 2.5 s"}
    flow = {
        "name": "datagrams",
        "count": CLIENT_COUNT,
        "to": "sink",
        "access": _access_link("20 ms"),
        "udp": {"packet_size": 1000, "header": 0},
        "app": app,
    }
    return _hosts_beside_other_traffic_scenario(queue, host, [flow], 60, "datagrams")


@cache
def _cached_hosts_over_queue_scenario(host: str, queue: str, flows: int, network: ThesisNetworkParameters) -> RequiredScenario:
    return RequiredScenario(_hosts_over_queue_tree(host, queue, flows, network))


def _hosts_beside_other_traffic_scenario(queue: str, host: str, others: list[Tree], flows: int, what: str) -> RequiredScenario:
    tree = _hosts_over_queue_tree(host, queue, flows, CHAPTER_5)
    return RequiredScenario({**tree, "name": f"{tree['name']}, {what}", "flows": [*tree["flows"], *others]})


def _hosts_over_queue_tree(host: str, queue: str, flows: int, network: ThesisNetworkParameters) -> Tree:
    title = f"{host} over {queue}, {network.title}, {flows} flows"
    tree = networks.thesis_network_scenario(network, title, flows, (SCALABLE_QUEUES if host == DCTCP else QUEUE_BY_NAME)[queue], ecn=True)
    return {**tree, "flows": [{**flow, "tcp": sender_tcp(host, queue)} for flow in tree["flows"]]}


def _client_group(name: str, tcp: Tree) -> Tree:
    app = {"kind": "exchange", "response": "5 KB"}
    return {"name": name, "count": CLIENT_COUNT, "to": "sink", "access": _access_link("45 ms"), "tcp": tcp, "app": app}


def _access_link(delay: str) -> Tree:
    return {"to": "router", "rate": "10 Mbps", "delay": delay, "spread": "1 ms"}
