"""The experiments of RFC 2884 as scenarios: congesting flows from 0 s, and from 20 s on one competing flow with ECN and one without.

RED's settings in the main set-up are chosen here. `choices.py` has the other values that the RFC admits, and the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ecnlab.networks import Tree
from ecnlab.plots.style import Palette
from ecnlab.studies.claims import Change, Measured, Of
from ecnlab.studies.model import Need
from ecnlab.studies.rfc2884.router import Thresholds, linux_red

if TYPE_CHECKING:
    from ecnlab.results import Result

# What the testbed's hosts run, by how the RFC calls it (section 4).
HOSTS: Mapping[str, Tree] = {
    "Reno": {"profile": "linux-2.0"},
    "SACK": {"profile": "linux-2.2"},
    "NewReno": {"profile": "linux-2.2", "variant": "newreno"},
}
# Congesting flows by level of congestion, and the maximum drop probabilities (section 4.3).
LOADS: Mapping[str, int] = {"low": 2, "moderate": 5, "high": 10}
MAX_PS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
RESPONSES_KB = (5, 10, 20)

WITH, WITHOUT, CONGESTING = "with ECN", "without ECN", "congesting"
BACKGROUND = {WITH: "background with ECN", WITHOUT: "background without ECN"}
SHAPER = "bottleneck"

# Whose row of a result: {"group": NAME} or {"queue": NAME}.
Place = Mapping[str, str]

# Curves of one figure, as they follow each other; names by position have the palette's colours and markers.
_CURVES = ((WITH, WITHOUT), tuple(HOSTS), tuple(f"{level} congestion" for level in LOADS), tuple(f"{kb} KB" for kb in RESPONSES_KB))
PALETTE = Palette(dashes={name: dash for names in _CURVES for name, dash in zip(names, ("-", "--", "-."), strict=False)})

FILE_MB = 20
START_S = 20
FAIRNESS_S = 200
_TRANSACTIONS_S = 180
# By congesting flows: until when the slowest of 20 MB is through.
BULK_S: Mapping[int, int] = {2: 600, 5: 1000, 10: 2000}


@cache
def bulk(load: int, max_p: float, hosts: str = "Reno") -> Need:
    """20 MB with ECN and 20 MB without it beside `load` congesting flows (section 5.2)."""
    app = {"kind": "file", "bytes": f"{FILE_MB} MB"}
    return Need(_tree(f"20 MB, {hosts}, {load} congesting flows, max_p {max_p:g}", load, max_p, HOSTS[hosts], app, BULK_S[load]))


@cache
def transactions(response_kb: int, load: int, max_p: float, hosts: str = "Reno") -> Need:
    """Requests and responses, one connection each, with ECN and without it beside `load` congesting flows (section 5.3)."""
    app = {"kind": "exchange", "request": "1 KB", "response": f"{response_kb} KB"}
    title = f"{response_kb} KB, {hosts}, {load} congesting flows, max_p {max_p:g}"
    return Need(_tree(title, load, max_p, HOSTS[hosts], app, START_S + _TRANSACTIONS_S))


@cache
def fairness(max_p: float, *, background_ecn: bool) -> Need:
    """Endless transfers: two in the background, all with ECN or all without it, and the two competing ones (section 5.1)."""
    title = f"fairness, background {WITH if background_ecn else WITHOUT}, max_p {max_p:g}"
    return Need(_tree(title, LOADS["low"], max_p, HOSTS["Reno"], "bulk", START_S + FAIRNESS_S, background_ecn=background_ecn))


@cache
def halves(max_p: float) -> Need:
    """As many endless transfers with ECN as without it, one of each in the background and one of each from 20 s on (section 5.1)."""
    background = [_group(BACKGROUND[name], "c", HOSTS["Reno"], "bulk", ecn=ecn) for name, _, ecn in _COMPETING]
    competing = [_group(name, to, HOSTS["Reno"], "bulk", ecn=ecn, start=f"{START_S} s") for name, to, ecn in _COMPETING]
    return Need(_scenario(f"two flows of each kind, max_p {max_p:g}", max_p, [*background, *competing], START_S + FAIRNESS_S))


def kind(name: str) -> list[Place]:
    """The groups of a kind where there are as many of each."""
    return [{"group": name}, {"group": BACKGROUND[name]}]


def user_throughput(need: Need, group: str) -> Of:
    """The bulk metric: the file's size by the time that its transfer took, in bit/s."""
    return Of(need, _ThroughputOf(group))


def rate(need: Need, group: str) -> Of:
    """The metric of transactions: how many were completed in a second of the measured interval."""

    def rates(result: Result) -> list[float]:
        measured_s = result.header["duration_s"] - result.header["measure_from_s"]
        return [count / measured_s for count in result.values("transactions", group=group)]

    return Of(need, rates)


def gain(metric: Callable[[Need, str], Measured], need: Need) -> Change:
    """How far ECN's metric lies above that without it, as a share."""
    return Change(metric(need, WITH), metric(need, WITHOUT))


def total(need: Need, names: Sequence[str], places: Sequence[Place]) -> Of:
    """The sum of some columns over some groups or queues."""
    return Of(need, lambda result: _sums(result, names, places))


def share(need: Need, parts: Sequence[str], whole: Sequence[str], places: Sequence[Place]) -> Of:
    """The sum of some columns as a share of the sum of others, 0 where that is nothing."""

    def shares(result: Result) -> list[float]:
        sums = zip(_sums(result, parts, places), _sums(result, whole, places), strict=True)
        return [part / all_of_it if all_of_it else 0.0 for part, all_of_it in sums]

    return Of(need, shares)


@cache
def with_events(need: Need) -> Need:
    """The same scenario with each mark and drop recorded."""
    return Need({**need.scenario, "record": {"events": True}}, need.every_seed)


def repeated_drops(need: Need, group: str) -> Of:
    """Of the windows of a group's flow in which a packet was dropped, the share in which another was.

    A window begins with a drop and lasts for the flow's mean round-trip time.
    """

    def shares(result: Result) -> list[float]:
        import polars as pl

        (flow,) = result.table("flows").filter(pl.col("group") == group)["flow"].unique()
        drops = result.series.events.filter((pl.col("flow") == flow) & (pl.col("kind") == "drop") & (pl.col("packet") == "data"))
        rtts = dict(zip(result.seeds, result.values("rtt_mean_s", group=group), strict=True))
        return [repeated_share(drops.filter(pl.col("seed") == seed)["time_s"].to_list(), rtt) for seed, rtt in rtts.items()]

    return Of(need, shares)


def repeated_share(times: Sequence[float], rtt: float) -> float:
    """Of the windows that begin with one of these drops and last for the round-trip time, the share that have another."""
    windows = repeated = 0
    begin, counted = -math.inf, False
    for time in times:
        if time - begin >= rtt:
            windows, begin, counted = windows + 1, time, False
        elif not counted:
            repeated, counted = repeated + 1, True
    return repeated / windows if windows else 0.0


def _sums(result: Result, names: Sequence[str], places: Sequence[Place]) -> list[float]:
    columns = [result.values(name, **place) for name in names for place in places]
    return [sum(values) for values in zip(*columns, strict=True)]


class _ThroughputOf:
    """A group's throughput as its user sees it, one value a seed."""

    def __init__(self, group: str) -> None:
        self._group = group

    def __call__(self, result: Result) -> list[float]:
        bits = 8 * _file_bytes(result, self._group)
        return [bits / seconds for seconds in result.values("transaction_mean_s", group=self._group)]


def _file_bytes(result: Result, group: str) -> int:
    """How long a group's file is: shorter where hosts are kernels."""
    return next(int(flow["app"]["bytes"]) for flow in result.header["parameters"]["flows"] if flow["name"] == group)


_COMPETING = ((WITH, "on", True), (WITHOUT, "off", False))
# The least admitted pair (`choices.py`) with max = 3 min, and the weight nearest to the 0.002 of Floyd and Jacobson 1993, the RFC's [9].
THRESHOLDS = Thresholds(min_packets=25, max_packets=75)
WEIGHT = 9
DELAY = "20 ms"


def _tree(title: str, load: int, max_p: float, tcp: Tree, app: Tree | str, end_s: int, *, background_ecn: bool = False) -> Tree:
    background = _group(CONGESTING, "c", tcp, "bulk", ecn=background_ecn, count=load)
    competing = [_group(name, to, tcp, app, ecn=ecn, start=f"{START_S} s") for name, to, ecn in _COMPETING]
    return _scenario(title, max_p, [background, *competing], end_s)


def _scenario(title: str, max_p: float, flows: Sequence[Tree], end_s: int) -> Tree:
    network = {"shape": "rfc2884", "delay": DELAY, "queue": linux_red(THRESHOLDS, WEIGHT, max_p)}
    return {"name": title, "duration": f"{end_s} s", "measure_from": f"{START_S} s", "network": network, "flows": list(flows)}


def _group(name: str, to: str, tcp: Tree, app: Tree | str, *, ecn: bool, **rest: Any) -> Tree:
    return {"name": name, "from": "server", "to": to, "tcp": {**tcp, "ecn": ecn}, "app": app, **rest}
