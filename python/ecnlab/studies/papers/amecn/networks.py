"""The paper's networks with their open parameters: two-way traffic whose load changes, one congested link, and three in a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from ecnlab.scenarios import networks
from ecnlab.scenarios.networks import Tree
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.amecn.published import CHANGE_S

DURATION_S = 100.0
# Section 4.2.
_MECN_THRESHOLDS = {"limit": 40, "min_th": 5, "mid_th": 10, "max_th": 15, "w_q": 0.0027}
# Section 2.1 drops above max_th; section 3.3.1 derives AMECN's bounds from gentle mode.
_GENTLE_BY_SCHEME = {"MECN": False, "AMECN": True}
# The paper does not specify the spacing of marks; open_parameters.py has the other admitted values. ARED is ns-2's.
_MARK_SPACING = {"wait": False}
_MECN_SENDER = {"ecn_response": "mecn", "ecn_echo": "mecn"}
# The paper limits the windows of the 20 flows to 25 packets; the other flows have ns-2's default.
_MAX_WINDOW_PACKETS = 20
_SENDER = {"profile": "ns2", "variant": "reno", "ecn": True, "max_rwnd": _MAX_WINDOW_PACKETS}

# Section 4.3.1 has the link's rate, the round-trip times, the flows and the run's halves.
RATE_BPS = 7e6
PACKET_BITS = 8000
_BUFFER_PACKETS = 500
_WEB_FLOWS, _REVERSE_FLOWS = 20, 10
HOP_NAMES = ("hop1", "hop2", "hop3")
COMPARED_SCHEMES = ("AMECN", "ARED")


@dataclass(frozen=True)
class OpenParameterChoice:
    """Open parameters of Figures 5 and 6; each field overrides the main set-up."""

    name: str = "as chosen"
    queue: Tree = field(default_factory=dict, hash=False)
    tcp: Tree = field(default_factory=dict, hash=False)
    source_delay: str = "1 ms"
    long_window: int = _MAX_WINDOW_PACKETS
    both_ways: bool = True


CHOSEN_CHOICE = OpenParameterChoice()


@dataclass(frozen=True)
class TargetDelayOpenParameters:
    """Open parameters of Figures 9 and 10: parts of the queue, the number of reverse flows, and whether ARED marks."""

    name: str = "as chosen"
    queue: Tree = field(default_factory=dict, hash=False)
    back: int = _REVERSE_FLOWS
    ecn: bool = True


CHOSEN_SETTING = TargetDelayOpenParameters()


@cache
def changing_load_scenario(kind: str, scheme: str, choice: OpenParameterChoice = CHOSEN_CHOICE) -> RequiredScenario:
    """Two long flows forward and one back, under MECN or AMECN; 20 more start at 25 s (`rise`) or end at 25 s (`fall`)."""
    title = f"{scheme}, the load {kind}s, {choice.name}"
    queue = _queue_without_removed_parameters(
        {"aqm": scheme.lower(), "gentle": _GENTLE_BY_SCHEME[scheme], **_MARK_SPACING, **_MECN_THRESHOLDS, **choice.queue}
    )
    tree = networks.two_way_traffic_scenario(title, queue, {**_SENDER, **_MECN_SENDER, **choice.tcp})
    link, groups = tree["link"][0], {group["name"]: group for group in tree["flows"]}
    for name, end in (("long", "access"), ("more", "access"), ("back", "exit")):
        groups[name][end]["delay"] = choice.source_delay
    for name in ("long", "back"):
        groups[name]["tcp"]["max_rwnd"] = choice.long_window
    if not choice.both_ways:
        link["reverse"] = {"limit": _MECN_THRESHOLDS["limit"]}
        groups["back"]["tcp"]["ecn"] = False
    return RequiredScenario(
        tree | (_stop_group_at_load_change(groups["more"], link) if kind == "fall" else {}) | {"record": {"queue": "100 ms"}}
    )


def _stop_group_at_load_change(more: Tree, link: Tree) -> Tree:
    """Have the group send from 0 s until the change: its way in, a link that is too fast to matter, goes down then.

    Packets in flight are still delivered. A source of ns-2 that is stopped sends again what is lost of it; these cannot.
    """
    more["start"] = "0 s"
    more["access"]["to"] = "gate"
    gate = {
        "name": "gate",
        "from": "gate",
        "to": link["from"],
        "rate": "1 Gbps",
        "delay": "0 s",
        "queue": {"aqm": "droptail", "limit": 1000},
    }
    return {"link": [link, gate], "change": [{"at": f"{CHANGE_S:g} s", "link": "gate", "state": "down"}]}


@cache
def single_link_scenario(scheme: str, target_ms: int, setting: TargetDelayOpenParameters = CHOSEN_SETTING) -> RequiredScenario:
    """100 long flows, web traffic and reverse traffic over one congested link with a target delay; the second half is measured."""
    sender, queue = _sender_and_queue(scheme, target_ms)
    queue = _queue_without_removed_parameters(queue | setting.queue | ({} if setting.ecn else {"ecn": False}))
    sender["ecn"] = setting.ecn
    near, far = {"delay": "uniform 6 ms to 31 ms"}, {"delay": "4 ms"}
    groups = [
        _host_group("long", 100, sender, ("r1", near), ("r2", far)),
        _host_group("web", _WEB_FLOWS, sender, ("r1", near), ("r2", far)) | {"app": "web"},
        *([_host_group("back", setting.back, sender, ("r2", far), ("r1", near))] if setting.back else []),
    ]
    link = networks.bottleneck_link("7 Mbps", "40 ms", queue, reverse={"queue": queue}) | {"from": "r1", "to": "r2"}
    return RequiredScenario(
        _tree_measured_in_second_half(f"{scheme}, one link, target {target_ms} ms, {setting.name}") | {"link": [link], "flows": groups}
    )


@cache
def parking_lot_scenario(scheme: str, target_ms: int) -> RequiredScenario:
    """20 flows over all three congested links, 20 over the last two, and 20 across each; the second half is measured."""
    sender, queue = _sender_and_queue(scheme, target_ms)
    topology = {"topology": "parking-lot", "hops": len(HOP_NAMES), "rate": "7 Mbps", "delay": "40 ms", "queue": queue}
    hosts = {"host_rate": "10 Mbps", "host_delay": "uniform 1 ms to 10 ms"}
    cross = {"cross": {"name": "cross", "count": 20, "tcp": sender}}
    ways = {"three hops": ("h0", "h3"), "two hops": ("h1", "h3")}
    groups = [{"name": name, "count": 20, "from": start, "to": end, "tcp": sender} for name, (start, end) in ways.items()]
    return RequiredScenario(
        _tree_measured_in_second_half(f"{scheme}, three links, target {target_ms} ms")
        | {"network": topology | hosts | cross, "flows": groups}
    )


def _tree_measured_in_second_half(title: str) -> Tree:
    return {"name": title, "duration": f"{DURATION_S:g} s", "measure_from": f"{DURATION_S / 2:g} s"}


def _sender_and_queue(scheme: str, target_ms: int) -> tuple[Tree, Tree]:
    """The sender and the queue of a scheme with a target delay."""
    response, spacing = (_MECN_SENDER, _MARK_SPACING) if scheme == "AMECN" else ({}, {})
    queue = {"aqm": scheme.lower(), "limit": _BUFFER_PACKETS, "target_delay": f"{target_ms} ms", **spacing}
    return {**_SENDER, **response}, queue


def _queue_without_removed_parameters(queue: Tree) -> Tree:
    """A queue's parameters without those that a choice removes."""
    return {key: value for key, value in queue.items() if value is not None}


def _host_group(name: str, count: int, sender: Tree, source: tuple[str, Tree], sink: tuple[str, Tree]) -> Tree:
    access = {"to": source[0], "rate": "10 Mbps", **source[1]}
    leave = {"from": sink[0], "rate": "10 Mbps", **sink[1]}
    return {"name": name, "count": count, "access": access, "exit": leave, "tcp": sender}
