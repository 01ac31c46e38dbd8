"""Measures of the study's figures and claims. Goodput counts bytes delivered in order to the application."""

from __future__ import annotations

from collections.abc import Sequence

from ecnlab.scenarios.networks import BOTTLENECK, GROUPS
from ecnlab.stats.estimates import Estimate, mean_with_interval, paired_difference
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import COUNT, DIMENSIONLESS, MBPS, MS, PER_SECOND, PERCENT, ratio_or_nan
from ecnlab.studies.framework.panels import (
    PanelMeasure,
    ValuesOfResult,
    column_summed_over_groups,
    quotient_of_values,
    result_column_getter,
)
from ecnlab.studies.papers.today import scenarios


def _share_of_flows(quantity: str) -> ValuesOfResult:
    """A column of `total` as a share of the flows."""

    def shares_by_seed(result: Result) -> list[float]:
        flows = sum(flow["count"] for flow in result.header["parameters"]["flows"])
        return [found / flows for found in result.values(quantity)]

    return shares_by_seed


def _share_of_sent(quantity: str) -> ValuesOfResult:
    """Drops or marks as a share of the packets sent."""
    return quotient_of_values(result_column_getter(quantity), result_column_getter("sent"))


def _exchanges_per_second_and_client(group: str) -> ValuesOfResult:
    """Completed exchanges per second and client of a group."""

    def rates_by_seed(result: Result) -> list[float]:
        span = result.header["duration_s"] - result.header["measure_from_s"]
        return [found / span / scenarios.CLIENT_COUNT for found in result.values("transactions", group=group)]

    return rates_by_seed


GOODPUT = PanelMeasure("goodput", "goodput", result_column_getter("goodput_bps"), MBPS)
JAIN = PanelMeasure("Jain's index", "jain_1s_goodput", result_column_getter("jain_1s_goodput"), DIMENSIONLESS, top=1)
EVENNESS = PanelMeasure(
    "smallest over largest group", "min_max_goodput_ratio", result_column_getter("min_max_goodput_ratio"), DIMENSIONLESS, top=1
)
MEAN_WAIT = PanelMeasure("mean wait", "wait", result_column_getter("sojourn_mean_s", queue=BOTTLENECK), MS)
P99_WAIT = PanelMeasure("99 % wait", "wait_p99", result_column_getter("sojourn_p99_s", queue=BOTTLENECK), MS)
DELAY = PanelMeasure("mean one-way delay", "delay", result_column_getter("delay_mean_s"), MS)
DROPS = PanelMeasure("packets dropped", "drops_share", _share_of_sent("drops"), PERCENT)
MARKS = PanelMeasure("packets marked", "marks_share", _share_of_sent("marks"), PERCENT)
TIMEOUTS = PanelMeasure("timeouts", "timeouts", result_column_getter("timeouts"), COUNT)
LOCKED_OUT = PanelMeasure("flows locked out", "locked_out", _share_of_flows("locked_out_flows"), PERCENT)
GOODPUT_OF_GROUPS = {
    group: PanelMeasure(group, f"{group}_goodput", result_column_getter("goodput_bps", group=group), MBPS) for group in GROUPS
}
LONG_GOODPUT = PanelMeasure("goodput of TCP", "tcp_goodput", column_summed_over_groups(GROUPS, "goodput_bps"), MBPS)
DATAGRAMS = PanelMeasure("datagrams delivered", "datagrams", result_column_getter("throughput_bps", group="datagrams"), MBPS)


def exchange_rate_measure(group: str) -> PanelMeasure:
    """Exchanges per second and client."""
    return PanelMeasure("exchanges", "exchanges", _exchanges_per_second_and_client(group), PER_SECOND)


def mean_exchange_time(group: str) -> PanelMeasure:
    """Mean completion time of an exchange."""
    return PanelMeasure("mean time", "time", result_column_getter("transaction_mean_s", group=group), MS)


def percent_change_of_measure(measure: PanelMeasure, a: Result, b: Result) -> Estimate:
    """Relative change from `b` to `a` in per cent, paired by seed."""
    return _mean_percent_change(measure.values(a), measure.values(b))


def difference_of_measure(measure: PanelMeasure, a: Result, b: Result) -> Estimate:
    """a - b in the measure's unit, paired by seed."""
    return paired_difference(measure.values(a), measure.values(b)).scaled(measure.shown.factor)


def ecn_clients_gain(result: Result) -> Estimate:
    """Gain in completed exchanges of clients with ECN over those without, in per cent, in the same runs."""
    return _mean_percent_change(*(exchange_rate_measure(group).values(result) for group in (scenarios.WITH_ECN, scenarios.WITHOUT_ECN)))


def _mean_percent_change(a: Sequence[float], b: Sequence[float]) -> Estimate:
    return mean_with_interval([ratio_or_nan(one, other) - 1 for one, other in zip(a, b, strict=True)]).scaled(100)
