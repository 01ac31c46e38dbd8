"""The figures of the study: how the queues stand with the number of flows, among unlike round-trip times, and beside other traffic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ecnlab.networks import BOTTLENECK, CHAPTER_4, CHAPTER_5, GROUPS
from ecnlab.studies.claims import COUNT, MBPS, MS, PERCENT, PLAIN, Shown
from ecnlab.studies.panels import Look, Measure, column, item
from ecnlab.studies.today import scenarios
from ecnlab.studies.today.scenarios import CUBIC, CUBIC_ECN, DCTCP, FLOWS, MARKING, QUEUES, RENO_ECN, SCALABLE, need

if TYPE_CHECKING:
    from ecnlab.results import Result

_PER_CLIENT = Shown(1 / scenarios.CLIENTS, "1/s", 2)
_MEASURED_S = 80.0


def _each_second(group: str) -> Measure:
    """Exchanges that each client of a group ends in a second."""
    return Measure(f"exchanges {group}", f"exchanges_{_name(group)}", _rate(group), _PER_CLIENT)


def _rate(group: str) -> object:
    def values(result: Result) -> Sequence[float]:
        span = result.header["duration_s"] - result.header["measure_from_s"]
        return [count / span for count in result.values("transactions", group=group)]

    return values


def _name(group: str) -> str:
    return group.replace(" ", "_").lower()
