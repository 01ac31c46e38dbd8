"""What the figures beyond the thesis measure: goodput of first transmissions, and Jain's index of throughput over 1 s, as the thesis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from ecnlab.networks import BOTTLENECK, GROUPS
from ecnlab.studies.aecn import schemes
from ecnlab.studies.aecn.beyond import scenarios
from ecnlab.studies.aecn.beyond.scenarios import Change
from ecnlab.studies.claims import COUNT, MBPS, MS, PERCENT, PLAIN, Shown, ratio
from ecnlab.studies.model import Need
from ecnlab.studies.panels import Measure, Values, column

if TYPE_CHECKING:
    from ecnlab.results import Result

PART = "Beyond the thesis"
KBPS_A_FLOW = Shown(1e-3, "kbit/s", 1)
GBPS_A_SECOND = Shown(1e-9, "Gbit/s²", 4)

_FIRST = schemes.GOODPUT


def need(scheme: str, change: Change = scenarios.unchanged, flows: int = scenarios.FLOWS) -> Need:
    """A scheme on the changed network, over all seeds; one object for all that ask for it."""
    return _need(scheme, change, flows)


@cache
def routers(scheme: str) -> Need:
    """A scheme on the network of several routers."""
    return Need(scenarios.several_routers(scheme))


@cache
def _need(scheme: str, change: Change, flows: int) -> Need:
    return Need(change(scenarios.alike(scheme, flows)))


def total(groups: Sequence[str], quantity: str = _FIRST) -> Values:
    """A quantity summed over those of these groups that there are."""

    def values(result: Result) -> list[float]:
        found = [result.values(quantity, group=group) for group in groups if group in result.group_names]
        return [sum(each) for each in zip(*found, strict=True)]

    return values


def a_flow(groups: Sequence[str]) -> Values:
    """Mean goodput of a flow of these groups."""

    def values(result: Result) -> list[float]:
        flows = total(groups, "flows")(result)
        return [ratio(rate, count) for rate, count in zip(total(groups)(result), flows, strict=True)]

    return values


def evenness(*parts: Sequence[str]) -> Values:
    """The smallest over the largest of the parts' mean goodput of a flow; 1 is equal. A part is some groups together."""

    def values(result: Result) -> list[float]:
        found = [a_flow(groups)(result) for groups in parts]
        return [ratio(min(each), max(each)) for each in zip(*found, strict=True)]

    return values


def over(above: Values, below: Values) -> Values:
    """One quantity over another, seed by seed."""
    return lambda result: [ratio(a, b) for a, b in zip(above(result), below(result), strict=True)]


JAIN = Measure("Jain's index", schemes.JAIN, column(schemes.JAIN), PLAIN, top=1)
GOODPUT = Measure("goodput", "goodput_first", column(_FIRST), MBPS)
EVENNESS = Measure("smallest over largest group", "evenness", evenness(*([group] for group in GROUPS)), PLAIN, top=1)
WAIT = Measure("mean wait", "wait", column("sojourn_mean_s", queue=BOTTLENECK), MS)
USE = Measure("link used", "utilisation", column("utilisation", queue=BOTTLENECK), PERCENT)
DROPS = Measure("drops", "drops", column("drops"), COUNT)
MARKS = Measure("marks", "marks", column("marks"), COUNT)
