"""Measures of the figures beyond the thesis: goodput of first transmissions, and Jain's index of throughput over 1 s, as the thesis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ecnlab.scenarios.networks import BOTTLENECK, GROUPS
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import COUNT, DIMENSIONLESS, MBPS, MS, PERCENT, DisplayUnit, ratio_or_nan
from ecnlab.studies.framework.model import RequiredScenario, ScenarioRewriting
from ecnlab.studies.framework.panels import (
    PanelMeasure,
    ValuesOfResult,
    column_summed_over_groups,
    quotient_of_values,
    result_column_getter,
)
from ecnlab.studies.framework.rewritings import leave_scenario_unchanged
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.beyond import scenarios

REPORT_PART = "Beyond the thesis"
KBPS_A_FLOW = DisplayUnit(1e-3, "kbit/s", 1)
GBPS_A_SECOND = DisplayUnit(1e-9, "Gbit/s²", 4)


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


def mean_goodput_per_flow(groups: Sequence[str], *, skip_missing: bool = False) -> ValuesOfResult:
    """Mean goodput per flow of these groups; missing ones as for `column_summed_over_groups`."""
    goodput, flows = (column_summed_over_groups(groups, column, skip_missing=skip_missing) for column in (schemes.GOODPUT, "flows"))
    return quotient_of_values(goodput, flows)


def smallest_over_largest_group_goodput(*parts: Sequence[str], skip_missing: bool = False) -> ValuesOfResult:
    """Minimum over maximum of the parts' mean goodput per flow; 1 is equal.

    A part is a set of groups; missing ones as for `column_summed_over_groups`.
    """

    def quotients_of_result(result: Result) -> list[float]:
        found = [mean_goodput_per_flow(groups, skip_missing=skip_missing)(result) for groups in parts]
        return [ratio_or_nan(min(each), max(each)) for each in zip(*found, strict=True)]

    return quotients_of_result


JAIN = PanelMeasure("Jain's index", schemes.JAIN, result_column_getter(schemes.JAIN), DIMENSIONLESS, top=1)
GOODPUT = PanelMeasure("goodput", "goodput_first", result_column_getter(schemes.GOODPUT), MBPS)
EVENNESS = PanelMeasure(
    "smallest over largest group", "evenness", smallest_over_largest_group_goodput(*([group] for group in GROUPS)), DIMENSIONLESS, top=1
)
MEAN_WAIT = PanelMeasure("mean wait", "wait", result_column_getter("sojourn_mean_s", queue=BOTTLENECK), MS)
LINK_UTILISATION = PanelMeasure("link used", "utilisation", result_column_getter("utilisation", queue=BOTTLENECK), PERCENT)
DROPS = PanelMeasure("drops", "drops", result_column_getter("drops"), COUNT)
MARKS = PanelMeasure("marks", "marks", result_column_getter("marks"), COUNT)
