"""What the figures beyond the thesis measure: goodput of first transmissions, and Jain's index of throughput over 1 s, as the thesis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from ecnlab.scenarios.networks import BOTTLENECK, GROUPS
from ecnlab.studies.framework.claims import COUNT, DIMENSIONLESS, MBPS, MS, PERCENT, DisplayUnit, ratio
from ecnlab.studies.framework.model import Need
from ecnlab.studies.framework.panels import PanelMeasure, ValuesOfResult, result_column
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.beyond import scenarios
from ecnlab.studies.papers.aecn.beyond.scenarios import Change

if TYPE_CHECKING:
    from ecnlab.storage.results import Result

REPORT_PART = "Beyond the thesis"
KBPS_A_FLOW = DisplayUnit(1e-3, "kbit/s", 1)
GBPS_A_SECOND = DisplayUnit(1e-9, "Gbit/s²", 4)

_FIRST_QUEUE = schemes.GOODPUT


def need_of_change(scheme: str, change: Change = scenarios.unchanged, flows: int = scenarios.FLOW_COUNT) -> Need:
    """A scheme on the changed network, over all seeds; one object for all that ask for it."""
    return _cached_need(scheme, change, flows)


@cache
def need_of_several_routers(scheme: str) -> Need:
    """A scheme on the network of several routers."""
    return Need(scenarios.several_routers(scheme))


@cache
def _cached_need(scheme: str, change: Change, flows: int) -> Need:
    return Need(change(scenarios.thesis_network(scheme, flows)))


def sum_over_groups(groups: Sequence[str], quantity: str = _FIRST_QUEUE) -> ValuesOfResult:
    """A quantity summed over those of these groups that there are."""

    def sums(result: Result) -> list[float]:
        found = [result.values(quantity, group=group) for group in groups if group in result.group_names]
        return [sum(each) for each in zip(*found, strict=True)]

    return sums


def goodput_per_flow(groups: Sequence[str]) -> ValuesOfResult:
    """Mean goodput of a flow of these groups."""

    def goodputs(result: Result) -> list[float]:
        flows = sum_over_groups(groups, "flows")(result)
        return [ratio(rate, count) for rate, count in zip(sum_over_groups(groups)(result), flows, strict=True)]

    return goodputs


def smallest_over_largest_goodput(*parts: Sequence[str]) -> ValuesOfResult:
    """The smallest over the largest of the parts' mean goodput of a flow; 1 is equal. A part is some groups together."""

    def quotients(result: Result) -> list[float]:
        found = [goodput_per_flow(groups)(result) for groups in parts]
        return [ratio(min(each), max(each)) for each in zip(*found, strict=True)]

    return quotients


def quotient(above: ValuesOfResult, below: ValuesOfResult) -> ValuesOfResult:
    """One quantity over another, seed by seed."""
    return lambda result: [ratio(a, b) for a, b in zip(above(result), below(result), strict=True)]


JAIN = PanelMeasure("Jain's index", schemes.JAIN, result_column(schemes.JAIN), DIMENSIONLESS, top=1)
GOODPUT = PanelMeasure("goodput", "goodput_first", result_column(_FIRST_QUEUE), MBPS)
EVENNESS = PanelMeasure(
    "smallest over largest group", "evenness", smallest_over_largest_goodput(*([group] for group in GROUPS)), DIMENSIONLESS, top=1
)
MEAN_WAIT = PanelMeasure("mean wait", "wait", result_column("sojourn_mean_s", queue=BOTTLENECK), MS)
LINK_UTILISATION = PanelMeasure("link used", "utilisation", result_column("utilisation", queue=BOTTLENECK), PERCENT)
DROPS = PanelMeasure("drops", "drops", result_column("drops"), COUNT)
MARKS = PanelMeasure("marks", "marks", result_column("marks"), COUNT)
