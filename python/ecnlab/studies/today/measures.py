"""What the figures and claims of the study measure. Goodput is what the application could read in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ecnlab.analysis.stats import Estimate, estimate, paired_difference
from ecnlab.networks import BOTTLENECK, GROUPS
from ecnlab.studies.claims import COUNT, MBPS, MS, PERCENT, PLAIN, Shown, ratio
from ecnlab.studies.panels import Measure, Values, column
from ecnlab.studies.today import scenarios

if TYPE_CHECKING:
    from ecnlab.results import Result

PER_SECOND = Shown(1, "1/s", 2)


def _of_long_flows(quantity: str) -> Values:
    """A column summed over the thesis' three groups."""

    def values(result: Result) -> list[float]:
        return [sum(each) for each in zip(*(result.values(quantity, group=group) for group in GROUPS), strict=True)]

    return values


def _per_flow(quantity: str) -> Values:
    """A column of `total` as a share of the flows."""

    def values(result: Result) -> list[float]:
        flows = sum(flow["count"] for flow in result.header["parameters"]["flows"])
        return [found / flows for found in result.values(quantity)]

    return values


def _signals(quantity: str) -> Values:
    """Drops or marks as a share of the packets sent."""

    def values(result: Result) -> list[float]:
        return [ratio(found, sent) for found, sent in zip(result.values(quantity), result.values("sent"), strict=True)]

    return values


def _exchanges(group: str) -> Values:
    """Exchanges that each client of a group ends in a second."""

    def values(result: Result) -> list[float]:
        span = result.header["duration_s"] - result.header["measure_from_s"]
        return [found / span / scenarios.CLIENTS for found in result.values("transactions", group=group)]

    return values


GOODPUT = Measure("goodput", "goodput", column("goodput_bps"), MBPS)
JAIN = Measure("Jain's index", "jain_1s_goodput", column("jain_1s_goodput"), PLAIN, top=1)
EVENNESS = Measure("smallest over largest group", "max_min_gap", column("max_min_gap"), PLAIN, top=1)
WAIT = Measure("mean wait", "wait", column("sojourn_mean_s", queue=BOTTLENECK), MS)
TAIL = Measure("99 % wait", "wait_p99", column("sojourn_p99_s", queue=BOTTLENECK), MS)
DELAY = Measure("mean one-way delay", "delay", column("delay_mean_s"), MS)
DROPS = Measure("packets dropped", "drops_share", _signals("drops"), PERCENT)
MARKS = Measure("packets marked", "marks_share", _signals("marks"), PERCENT)
TIMEOUTS = Measure("timeouts", "timeouts", column("timeouts"), COUNT)
LOCKED_OUT = Measure("flows locked out", "locked_out", _per_flow("locked_out_flows"), PERCENT)
OF_GROUPS = {group: Measure(group, f"{group}_goodput", column("goodput_bps", group=group), MBPS) for group in GROUPS}
LONG_GOODPUT = Measure("goodput of TCP", "tcp_goodput", _of_long_flows("goodput_bps"), MBPS)
DATAGRAMS = Measure("datagrams delivered", "datagrams", column("throughput_bps", group="datagrams"), MBPS)


def exchanges(group: str) -> Measure:
    """Exchanges a second and client."""
    return Measure("exchanges", "exchanges", _exchanges(group), PER_SECOND)


def mean_time(group: str) -> Measure:
    """Mean time that an exchange takes."""
    return Measure("mean time", "time", column("transaction_mean_s", group=group), MS)


def change(measure: Measure, a: Result, b: Result) -> Estimate:
    """How far `a` lies above `b` in per cent, paired by seed."""
    return _change(measure.values(a), measure.values(b))


def gap(measure: Measure, a: Result, b: Result) -> Estimate:
    """How far `a` lies above `b` in the measure's unit, paired by seed."""
    return paired_difference(measure.values(a), measure.values(b)).scaled(measure.shown.factor)


def within(result: Result) -> Estimate:
    """By how many per cent clients with ECN end more exchanges than those without, in the same runs."""
    return _change(*(exchanges(group).values(result) for group in (scenarios.WITH_ECN, scenarios.WITHOUT_ECN)))


def _change(a: Sequence[float], b: Sequence[float]) -> Estimate:
    return estimate([ratio(one, other) - 1 for one, other in zip(a, b, strict=True)]).scaled(100)
