"""Measures of the figures beyond the thesis: goodput of first transmissions, and Jain's index of throughput over 1 s, as the thesis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ecnlab.scenarios.networks import BOTTLENECK, GROUPS
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import COUNT, DIMENSIONLESS, MBPS, MS, PERCENT, DisplayUnit, ratio_or_nan
from ecnlab.studies.framework.model import RequiredScenario, ScenarioRewriting
from ecnlab.studies.framework.panels import PanelMeasure, ValuesOfResult, result_column_getter
from ecnlab.studies.framework.rewritings import leave_scenario_unchanged
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.beyond import scenarios

REPORT_PART = "Beyond the thesis"
KBPS_A_FLOW = DisplayUnit(1e-3, "kbit/s", 1)
GBPS_A_SECOND = DisplayUnit(1e-9, "Gbit/s²", 4)

_FIRST_QUEUE = schemes.GOODPUT


def scenario_on_changed_network(
    scheme: str, change: ScenarioRewriting = leave_scenario_unchanged, flows: int = scenarios.FLOW_COUNT
) -> RequiredScenario:
    """A scheme on the changed network, over all seeds; cached, so that equal arguments give one object."""
    return _cached_scenario_on_changed_network(scheme, change, flows)


@cache
def scenario_on_several_routers(scheme: str) -> RequiredScenario:
    """A scheme on the network of several routers."""
    return RequiredScenario(scenarios.several_routers_network(scheme))


@cache
def _cached_scenario_on_changed_network(scheme: str, change: ScenarioRewriting, flows: int) -> RequiredScenario:
    return RequiredScenario(change(scenarios.thesis_network(scheme, flows)))


def column_summed_over_groups(groups: Sequence[str], quantity: str = _FIRST_QUEUE) -> ValuesOfResult:
    """A quantity summed over those of these groups that the result has."""

    def sums_of_result(result: Result) -> list[float]:
        found = [result.values(quantity, group=group) for group in groups if group in result.group_names]
        return [sum(each) for each in zip(*found, strict=True)]

    return sums_of_result


def mean_goodput_per_flow(groups: Sequence[str]) -> ValuesOfResult:
    """Mean goodput per flow of these groups."""

    def mean_goodputs_by_seed(result: Result) -> list[float]:
        flows = column_summed_over_groups(groups, "flows")(result)
        return [ratio_or_nan(rate, count) for rate, count in zip(column_summed_over_groups(groups)(result), flows, strict=True)]

    return mean_goodputs_by_seed


def smallest_over_largest_group_goodput(*parts: Sequence[str]) -> ValuesOfResult:
    """Minimum over maximum of the parts' mean goodput per flow; 1 is equal. A part is a set of groups."""

    def quotients_of_result(result: Result) -> list[float]:
        found = [mean_goodput_per_flow(groups)(result) for groups in parts]
        return [ratio_or_nan(min(each), max(each)) for each in zip(*found, strict=True)]

    return quotients_of_result


def quotient_of_values(above: ValuesOfResult, below: ValuesOfResult) -> ValuesOfResult:
    """One quantity over another, seed by seed."""
    return lambda result: [ratio_or_nan(a, b) for a, b in zip(above(result), below(result), strict=True)]


JAIN = PanelMeasure("Jain's index", schemes.JAIN, result_column_getter(schemes.JAIN), DIMENSIONLESS, top=1)
GOODPUT = PanelMeasure("goodput", "goodput_first", result_column_getter(_FIRST_QUEUE), MBPS)
EVENNESS = PanelMeasure(
    "smallest over largest group", "evenness", smallest_over_largest_group_goodput(*([group] for group in GROUPS)), DIMENSIONLESS, top=1
)
MEAN_WAIT = PanelMeasure("mean wait", "wait", result_column_getter("sojourn_mean_s", queue=BOTTLENECK), MS)
LINK_UTILISATION = PanelMeasure("link used", "utilisation", result_column_getter("utilisation", queue=BOTTLENECK), PERCENT)
DROPS = PanelMeasure("drops", "drops", result_column_getter("drops"), COUNT)
MARKS = PanelMeasure("marks", "marks", result_column_getter("marks"), COUNT)
