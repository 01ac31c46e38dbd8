"""Scenarios of the thesis' future work (section 6.2): changes of its chapter 5 network, and a network with several congested routers.

Each change takes a scenario and gives another one, so that every scheme meets the same: `with_group_sizes`,
`with_spread_access_delays`, `with_datagram_sources` and `with_share_of_ecn_flows`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecnlab.plot.style import Palette
from ecnlab.scenarios import networks
from ecnlab.scenarios.networks import CHAPTER_5, Tree
from ecnlab.studies.framework.model import ScenarioRewriting
from ecnlab.studies.framework.rewritings import leave_scenario_unchanged, rewriting_of_each, with_settings
from ecnlab.studies.papers.aecn import schemes

FLOW_COUNT = 60
_DATAGRAM_SOURCES = 10
_FLOWS_OF_GROUP, _HOPS = 20, range(1, 4)
LONG_GROUP, CROSS_GROUP = "long", "cross"
# The target delay for which Adaptive RED's and AMECN's automatic thresholds are the thesis' 10 and 30 packets.
TARGET_DELAY = "16 ms"

# AQMs that are not in the thesis; they compute their thresholds, SRED has none.
_QUEUE_OF_SCHEME: Mapping[str, Tree] = {
    "ARED": {"aqm": "ared", "limit": 120, "target_delay": TARGET_DELAY},
    "AMECN": {"aqm": "amecn", "limit": 120, "target_delay": TARGET_DELAY},
    "SRED": {"aqm": "sred", "limit": 120},
}
_MECN_SENDER = {"AMECN": {"ecn_response": "mecn", "ecn_echo": "mecn"}}

SCHEME_PALETTE = Palette(
    {**schemes.SCHEME_PALETTE.colours, "ARED": "#56B4E9", "AMECN": "#CC79A7", "SRED": "#000000"},
    {**schemes.SCHEME_PALETTE.markers, "ARED": "D", "AMECN": "X", "SRED": "v"},
    {"AECN2": "-.", "RED": "--", "SRED": ":"},
)


def queue_of_scheme(scheme: str) -> Tree:
    """The queue of a scheme; the thesis' schemes have base max_p 0.5 and its usual thresholds."""
    return _QUEUE_OF_SCHEME.get(scheme) or dict(schemes.scheme_scenario(scheme, FLOW_COUNT)["link"][0]["queue"])


def sender_of_scheme(scheme: str) -> Tree:
    """The senders' parameters that differ from thesis-era Reno: ECN, and MECN's response to its marks."""
    return {"ecn": scheme != "RED", **_MECN_SENDER.get(scheme, {})}


def thesis_network(scheme: str, flows: int = FLOW_COUNT, record: Tree | None = None) -> Tree:
    """The thesis' network, the base of all others: three equal groups, base max_p 0.5."""
    title = f"{scheme}, {flows} flows"
    return networks.thesis_network_scenario(
        CHAPTER_5, title, flows, queue_of_scheme(scheme), ecn=scheme != "RED", tcp=sender_of_scheme(scheme), record=record
    )


def group_sizes_change(counts: Mapping[str, int]) -> ScenarioRewriting:
    """Groups of these sizes instead of equal ones, with the same total access capacity."""
    rate = f"{CHAPTER_5.access_mbps / sum(counts.values())!r} Mbps"

    return rewriting_of_each("flows", lambda flow: {**with_settings(flow, "access", {"rate": rate}), "count": counts[flow["name"]]})


def spread_access_delays_change(share: float) -> ScenarioRewriting:
    """Access delays drawn uniformly from the group's delay plus or minus this `share` of it."""

    def uniform_delay_text(group: str) -> str:
        middle = CHAPTER_5.delays_ms[group]
        return f"uniform {middle * (1 - share):g} ms to {middle * (1 + share):g} ms"

    if not share:
        return leave_scenario_unchanged
    return rewriting_of_each("flows", lambda flow: with_settings(flow, "access", {"delay": uniform_delay_text(flow["name"])}))


def datagram_sources_change(kind: str, load: float) -> ScenarioRewriting:
    """Sources of datagrams beside the TCP flows that offer this share of the bottleneck together and answer to nothing.

    `kind` is "cbr", a constant rate, or "pareto", bursts and pauses of 0.5 s in the mean, both with a heavy tail (shape 1.5).
    """
    mbps = 10 * load / _DATAGRAM_SOURCES
    rate: Tree = {"cbr": {"rate": f"{mbps:g} Mbps", "noise": True}, "pareto": {"rate": f"{2 * mbps:g} Mbps", **_HEAVY_TAILED_BURSTS}}[kind]
    access = {"to": "router", "rate": "10 Mbps", "delay": "20 ms", "spread": "1 ms"}
    app = {"kind": "cbr" if kind == "cbr" else "onoff", **rate}
    flow = {
        "name": "datagrams",
        "count": _DATAGRAM_SOURCES,
        "to": "sink",
        "access": access,
        "udp": {"packet_size": 1000, "header": 0},
        "app": app,
    }
    return lambda tree: {**tree, "flows": [*tree["flows"], flow]} if load else tree


def share_of_ecn_flows_change(share: float) -> ScenarioRewriting:
    """Only this share of each group uses ECN; the other flows form a group with the suffix ` plain`."""

    def split_group_by_ecn(flow: Tree) -> list[Tree]:
        capable = round(flow["count"] * share)
        plain = {key: value for key, value in flow["tcp"].items() if key not in ("ecn_response", "ecn_echo")} | {"ecn": False}
        parts = [{**flow, "count": capable}, {**flow, "name": f"{flow['name']} plain", "count": flow["count"] - capable, "tcp": plain}]
        return [part for part in parts if part["count"]]

    return lambda tree: {**tree, "flows": [part for flow in tree["flows"] for part in split_group_by_ecn(flow)]}


def several_routers_network(scheme: str) -> Tree:
    """A parking lot of the thesis' bottlenecks: long flows over all of them, and as many cross flows over each.

    The long flows' empty round trip is 130 ms, an average flow's by AECN's bounds, the cross flows' 50 ms, a robust one's.
    """
    tcp = {"profile": networks.PROFILE, "variant": "reno", "max_rwnd": 64, **sender_of_scheme(scheme)}
    links = [
        {**networks.bottleneck_link("10 Mbps", "5 ms", queue_of_scheme(scheme)), "name": f"hop {at}", "from": f"r{at - 1}", "to": f"r{at}"}
        for at in _HOPS
    ]
    groups = [_group_over_links(LONG_GROUP, "r0", "r3", "50 ms", tcp)]
    groups += [_group_over_links(f"{CROSS_GROUP} {at}", f"r{at - 1}", f"r{at}", "20 ms", tcp) for at in _HOPS]
    return {"name": f"{scheme}, {len(_HOPS)} routers", "duration": "100 s", "measure_from": "20 s", "link": links, "flows": groups}


def cross_group_names() -> Sequence[str]:
    """The names of the cross traffic's groups."""
    return [f"{CROSS_GROUP} {at}" for at in _HOPS]


_HEAVY_TAILED_BURSTS: Tree = {"on": "pareto 0.5 s, shape 1.5", "off": "pareto 0.5 s, shape 1.5"}


def _group_over_links(name: str, first: str, last: str, delay: str, tcp: Tree) -> Tree:
    access = {"to": first, "rate": "1.5 Mbps", "delay": delay, "spread": "1 ns"}
    return {"name": name, "count": _FLOWS_OF_GROUP, "to": last, "access": access, "tcp": tcp, "start": ["0 s", "2 s"]}
