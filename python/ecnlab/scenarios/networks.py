"""Scenarios (nested dicts) shared by studies and validation: dumbbells, two-way traffic, and congestion collapse (RFC 2914).

A dumbbell is one link with a queue, from `router` to `sink`, and groups of flows that each reach the router over an access link:

    dumbbell("two groups", bottleneck("10 Mbps", "5 ms", queue), [group("near", 10, access, tcp), group("far", 10, access, tcp)],
             duration="100 s", measure_from="20 s")

The thesis' networks are dumbbells on which three equal groups of flows share a link of 10 Mbit/s:

| | chapter 4 | chapter 5 |
|---|---|---|
| access capacity of all sources together, split evenly | 300 Mbps | 90 Mbps |
| one-way access delay, fragile / average / robust | 145 / 45 / 5 ms | 95 / 45 / 20 ms |

Packets have 1000 bytes, windows are at most 64 packets, TCP is Reno without delayed ACKs, and sources are endless. Half of each group
starts at 0 s and half at 2 s; of 100 s simulated, the first 20 s are excluded. Packets of different flows arrive at identical times in
these networks, and ns-2 breaks such ties by rounding of its floating-point clock. A random extra access delay of up to 1 ns replaces that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Tree = dict[str, Any]

BOTTLENECK = "bottleneck"
GROUPS = ("fragile", "average", "robust")
PROFILE = "ns2-2001"


def dumbbell_scenario(
    title: str, link: Tree, flows: Sequence[Tree], *, duration: str, measure_from: str = "0 s", record: Tree | None = None
) -> Tree:
    """A scenario of one link (see `bottleneck`) and groups of flows (see `group`)."""
    tree: Tree = {"name": title, "duration": duration, "measure_from": measure_from, "link": [link], "flows": list(flows)}
    return tree | ({"record": record} if record else {})


def bottleneck_link(rate: str, delay: str, queue: Tree, **rest: Any) -> Tree:
    """The bottleneck of a dumbbell; `rest` are other keys of a [[link]]."""
    return {"name": BOTTLENECK, "from": "router", "to": "sink", "rate": rate, "delay": delay, "queue": queue} | rest


def flow_group(name: str, count: int, access: Tree, tcp: Tree, **rest: Any) -> Tree:
    """A group of `count` flows, each with an access link; `rest` are other keys of a [[flows]]."""
    return {"name": name, "count": count, "to": "sink", "access": {"to": "router"} | access, "tcp": tcp} | rest


@dataclass(frozen=True)
class ThesisNetworkParameters:
    """Parameters in which the two networks of the thesis differ."""

    title: str
    access_mbps: float
    delays_ms: Mapping[str, int] = field(hash=False)


CHAPTER_4 = ThesisNetworkParameters("chapter 4", 300, {"fragile": 145, "average": 45, "robust": 5})
CHAPTER_5 = ThesisNetworkParameters("chapter 5", 90, {"fragile": 95, "average": 45, "robust": 20})


def thesis_network_scenario(
    network: ThesisNetworkParameters,
    title: str,
    flows: int,
    queue: Tree,
    *,
    ecn: bool,
    tcp: Tree | None = None,
    record: Tree | None = None,
) -> Tree:
    """A thesis network with any queue; `flows` is the total number, `tcp` overrides the thesis-era sender.

    Raises ValueError if the flows cannot be split into equal groups.
    """
    if flows <= 0 or flows % len(GROUPS):
        raise ValueError(f"{flows} flows are not {len(GROUPS)} equal groups: take a multiple of {len(GROUPS)}")
    sender = {"profile": PROFILE, "variant": "reno", "ecn": ecn, "max_rwnd": 64, **(tcp or {})}
    groups = [_thesis_group(network, name, flows, sender) for name in GROUPS]
    link = bottleneck_link("10 Mbps", "5 ms", queue)
    return dumbbell_scenario(title, link, groups, duration="100 s", measure_from="20 s", record=record)


def _thesis_group(network: ThesisNetworkParameters, name: str, flows: int, sender: Tree) -> Tree:
    rate, delay = f"{network.access_mbps / flows!r} Mbps", f"{network.delays_ms[name]} ms"
    access = {"rate": rate, "delay": delay, "spread": "1 ns"}
    return flow_group(name, flows // len(GROUPS), access, sender, app="bulk", start=["0 s", "2 s"])


def two_way_traffic_scenario(title: str, queue: Tree, tcp: Tree) -> Tree:
    """Two long flows forward and one backward, with the same queue in both directions; from 25 s 20 more start, one every 0.1 s.

    The workload of Figure 5 of the AMECN paper (Durresi et al. 2007). The paper does not give the delay of the sources and the windows of
    the long flows: 1 ms and no limit, as in the ns-2 reference table.
    """
    left, right = (_node_and_access_link(node, delay) for node, delay in (("r1", "1 ms"), ("r2", "4 ms")))
    link = {"name": BOTTLENECK, "from": "r1", "to": "r2", "rate": "1.5 Mbps", "delay": "40 ms", "queue": queue, "reverse": {"queue": queue}}
    starts = [f"{25 + at / 10:.1f} s" for at in range(20)]
    groups = [
        {"name": "long", "count": 2, **_access_and_exit_keys(left, right), "tcp": {**tcp, "max_rwnd": 1000}},
        {"name": "back", "count": 1, **_access_and_exit_keys(right, left), "tcp": {**tcp, "max_rwnd": 1000}},
        {"name": "more", "count": 20, **_access_and_exit_keys(left, right), "tcp": {**tcp, "max_rwnd": 25}, "start": starts},
    ]
    return {"name": title, "duration": "100 s", "link": [link], "flows": groups}


def _access_and_exit_keys(source: tuple[str, Tree], sink: tuple[str, Tree]) -> Tree:
    return {"access": {"to": source[0]} | source[1], "exit": {"from": sink[0]} | sink[1]}


def _node_and_access_link(node: str, delay: str) -> tuple[str, Tree]:
    return node, {"rate": "10 Mbps", "delay": delay, "spread": "1 ns"}


def red_ecn_scenario(
    title: str,
    queue: Tree,
    delay_ms: float,
    *,
    ecn: bool,
    bursts: int = 0,
    tcp: Tree | None = None,
    rate: str = "1.5 Mbps",
    duration: str = "100 s",
) -> Tree:
    """Ten endless TCP flows over a link with variable delay and the bottleneck, with `bursts` sources of datagrams as cross traffic.

    The networks of Gharegozi's two experiments; the second has 8 sources of datagrams with 100 kbit/s in bursts and pauses of 2.5 s on
    average. The paper does not give the bottleneck's rate, TCP's flavour, the duration and the number of these sources: the defaults are
    those of the ns-2 reference table.
    """
    long = {"name": "long", "from": "r1", "to": "r2", "rate": "10 Mbps", "delay": f"{delay_ms} ms", "limit": 25}
    link = bottleneck_link(rate, "10 ms", queue, reverse={"limit": 25}) | {"from": "r2", "to": "r3"}
    sender = {"profile": "ns2", "variant": "reno", "ecn": ecn, "max_rwnd": 10_000, **(tcp or {})}
    flows = [{"name": "bulk", "count": 10, **_red_ecn_access_and_exit("1 Mbps"), "tcp": sender}]
    if bursts:
        app = {"kind": "onoff", "rate": "100 kbps", "on": "exponential 2.5 s", "off": "exponential 2.5 s"}
        datagrams = {"packet_size": 1000, "header": 0}
        flows.append({"name": "bursts", "count": bursts, **_red_ecn_access_and_exit("10 Mbps"), "udp": datagrams, "app": app})
    return {"name": title, "duration": duration, "link": [long, link], "flows": flows}


def _red_ecn_access_and_exit(rate: str) -> Tree:
    source = {"to": "r1", "rate": rate, "delay": "10 ms", "spread": "1 ns", "limit": 25}
    return {"access": source, "exit": {"from": "r3", "rate": "10 Mbps", "delay": "10 ms"}}


def congestion_collapse_scenario(title: str, datagram_rate: str) -> Tree:
    """Three endless TCP flows, and datagrams that cross the bottleneck and are dropped behind it (RFC 2914, section 5).

    The RFC gives the rates. The rest follows the simulation scripts of Floyd and Fall 1999, the RFC's source: SACK with delayed
    acknowledgements and packets of 1500 bytes from 0 s, datagrams of 100 bytes from 1.4 s, and RED in byte mode. Defaults are those of
    ns-2 in 2001 instead of 1998.
    """
    ways = [
        ("s1", "r1", "10 Mbps", "2 ms"),
        ("s2", "r1", "10 Mbps", "3 ms"),
        ("r2", "s3", "10 Mbps", "10 ms"),
        ("r2", "s4", "128 kbps", "5 ms"),
    ]
    links = [{"name": f"{a} {b}", "from": a, "to": b, "rate": rate, "delay": delay, "limit": 50} for a, b, rate, delay in ways]
    queue = {"aqm": "red", "limit": 100, "min_th": 5, "max_th": 20, "wait": False, "by_size": True, "mean_packet": "1000 B"}
    shared = bottleneck_link("1.5 Mbps", "3 ms", queue, reverse={"limit": 100}) | {"from": "r1", "to": "r2"}
    sender = {"profile": PROFILE, "variant": "sack1", "delayed_ack": True, "packet_size": 1500, "max_rwnd": 100}
    sender |= {"quirks": {"tick": "10 ms"}}
    datagrams = {"packet_size": 100, "header": 0}
    flows = [
        {"name": "tcp", "count": 3, "from": "s1", "to": "s3", "tcp": sender},
        {"name": "udp", "from": "s2", "to": "s4", "start": "1.4 s", "udp": datagrams, "app": {"kind": "cbr", "rate": datagram_rate}},
    ]
    return {"name": title, "duration": "100 s", "link": [shared, *links], "flows": flows}
