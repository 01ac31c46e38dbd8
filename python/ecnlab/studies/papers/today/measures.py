"""What the figures and claims of the study measure. Goodput is what the application could read in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ecnlab.scenarios.networks import BOTTLENECK, GROUPS
from ecnlab.stats.estimates import Estimate, estimate, paired_difference
from ecnlab.studies.framework.claims import COUNT, DIMENSIONLESS, MBPS, MS, PERCENT, DisplayUnit, ratio
from ecnlab.studies.framework.panels import PanelMeasure, ValuesOfResult, result_column
from ecnlab.studies.papers.today import scenarios

if TYPE_CHECKING:
    from ecnlab.storage.results import Result

PER_SECOND = DisplayUnit(1, "1/s", 2)


def _sum_over_long_flows(quantity: str) -> ValuesOfResult:
    """A column summed over the thesis' three groups."""

    def values(result: Result) -> list[float]:
        return [sum(each) for each in zip(*(result.values(quantity, group=group) for group in GROUPS), strict=True)]

    return values


def _share_of_flows(quantity: str) -> ValuesOfResult:
    """A column of `total` as a share of the flows."""

    def values(result: Result) -> list[float]:
        flows = sum(flow["count"] for flow in result.header["parameters"]["flows"])
        return [found / flows for found in result.values(quantity)]

    return values


def _share_of_sent(quantity: str) -> ValuesOfResult:
    """Drops or marks as a share of the packets sent."""

    def values(result: Result) -> list[float]:
        return [ratio(found, sent) for found, sent in zip(result.values(quantity), result.values("sent"), strict=True)]

    return values


def _exchange_rate(group: str) -> ValuesOfResult:
    """Exchanges that each client of a group ends in a second."""

    def values(result: Result) -> list[float]:
        span = result.header["duration_s"] - result.header["measure_from_s"]
        return [found / span / scenarios.CLIENT_COUNT for found in result.values("transactions", group=group)]

    return values


GOODPUT = PanelMeasure("goodput", "goodput", result_column("goodput_bps"), MBPS)
JAIN = PanelMeasure("Jain's index", "jain_1s_goodput", result_column("jain_1s_goodput"), DIMENSIONLESS, top=1)
EVENNESS = PanelMeasure(
    "smallest over largest group", "min_max_goodput_ratio", result_column("min_max_goodput_ratio"), DIMENSIONLESS, top=1
)
MEAN_WAIT = PanelMeasure("mean wait", "wait", result_column("sojourn_mean_s", queue=BOTTLENECK), MS)
P99_WAIT = PanelMeasure("99 % wait", "wait_p99", result_column("sojourn_p99_s", queue=BOTTLENECK), MS)
DELAY = PanelMeasure("mean one-way delay", "delay", result_column("delay_mean_s"), MS)
DROPS = PanelMeasure("packets dropped", "drops_share", _share_of_sent("drops"), PERCENT)
MARKS = PanelMeasure("packets marked", "marks_share", _share_of_sent("marks"), PERCENT)
TIMEOUTS = PanelMeasure("timeouts", "timeouts", result_column("timeouts"), COUNT)
LOCKED_OUT = PanelMeasure("flows locked out", "locked_out", _share_of_flows("locked_out_flows"), PERCENT)
GOODPUT_OF_GROUPS = {group: PanelMeasure(group, f"{group}_goodput", result_column("goodput_bps", group=group), MBPS) for group in GROUPS}
LONG_GOODPUT = PanelMeasure("goodput of TCP", "tcp_goodput", _sum_over_long_flows("goodput_bps"), MBPS)
DATAGRAMS = PanelMeasure("datagrams delivered", "datagrams", result_column("throughput_bps", group="datagrams"), MBPS)


def exchange_rate_measure(group: str) -> PanelMeasure:
    """Exchanges a second and client."""
    return PanelMeasure("exchanges", "exchanges", _exchange_rate(group), PER_SECOND)


def mean_exchange_time(group: str) -> PanelMeasure:
    """Mean time that an exchange takes."""
    return PanelMeasure("mean time", "time", result_column("transaction_mean_s", group=group), MS)


def percent_change_of(measure: PanelMeasure, a: Result, b: Result) -> Estimate:
    """How far `a` lies above `b` in per cent, paired by seed."""
    return _percent_change(measure.values(a), measure.values(b))


def difference_of(measure: PanelMeasure, a: Result, b: Result) -> Estimate:
    """How far `a` lies above `b` in the measure's unit, paired by seed."""
    return paired_difference(measure.values(a), measure.values(b)).scaled(measure.shown.factor)


def ecn_clients_gain(result: Result) -> Estimate:
    """By how many per cent clients with ECN end more exchanges than those without, in the same runs."""
    return _percent_change(*(exchange_rate_measure(group).values(result) for group in (scenarios.WITH_ECN, scenarios.WITHOUT_ECN)))


def _percent_change(a: Sequence[float], b: Sequence[float]) -> Estimate:
    return estimate([ratio(one, other) - 1 for one, other in zip(a, b, strict=True)]).scaled(100)
