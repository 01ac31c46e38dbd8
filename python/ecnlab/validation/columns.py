"""Names and units of the columns of ns-2's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from ecnlab.packet_traces import ns2
from ecnlab.scenarios.networks import BOTTLENECK, GROUPS
from ecnlab.storage.results import Result

_PER_MILLI = 1e3

_TWO_WAY_QUANTITIES = {
    "utilisation": (("utilisation",), 1.0),
    "queue_delay_mean_ms": (("sojourn_mean_s",), _PER_MILLI),
    "queue_mean_pkts": (("length_mean_packets",), 1.0),
    "queue_empty_frac": (("empty_fraction",), 1.0),
    "drops": (("drops_early", "drops_forced", "drops_overflow"), 1.0),
    "marks": (("marks",), 1.0),
    "arrivals": (("arrivals",), 1.0),
}
_RED_ECN_QUANTITIES = {"drops": _TWO_WAY_QUANTITIES["drops"], "marks": _TWO_WAY_QUANTITIES["marks"]}


@dataclass(frozen=True)
class ComparedColumns:
    """The quantities of a kind of table: compared and further columns, and our values, one per seed, in ns-2's names and units."""

    compared: frozenset[str]
    not_compared: frozenset[str]
    values: Callable[[Result], dict[str, list[float]]]


def values_by_column(result: Result) -> dict[str, list[float]]:
    """Our values of a thesis network, one per seed, with the names and units of ns-2's columns."""
    values = _scaled_columns(result, ns2.TOTAL_COLUMNS) | _scaled_columns(result, ns2.QUEUE_COLUMNS, queue=BOTTLENECK)
    for group in GROUPS:
        columns = {pattern.format(group): column for pattern, column in ns2.GROUP_COLUMNS.items()}
        values |= _scaled_columns(result, columns, group=group)
    return values


def _scaled_columns(result: Result, columns: Mapping[str, tuple[str, float]], **row: str) -> dict[str, list[float]]:
    return {theirs: [value * factor for value in result.values(ours, **row)] for theirs, (ours, factor) in columns.items()}


def _queue_counts_by_column(result: Result, wanted: Mapping[str, tuple[tuple[str, ...], float]]) -> dict[str, list[float]]:
    """The queue's counters, including ACKs; several columns of ours are summed."""
    found = {}
    for column, (ours, factor) in wanted.items():
        parts = (result.values(name, queue=BOTTLENECK) for name in ours)
        found[column] = [factor * sum(values) for values in zip(*parts, strict=True)]
    return found


def _red_ecn_values_by_column(result: Result) -> dict[str, list[float]]:
    """Goodput and shares of the TCP flows only; counters of the queue over all packets."""
    flows = result.flows.filter(pl.col("group") == "bulk").group_by("seed", maintain_order=True)
    rates = [part["goodput_bps"].to_numpy() for _, part in flows]
    bulk = {
        "goodput_kbps": [float(each.mean()) / 1e3 for each in rates],
        "jain": [float(each.sum() ** 2 / (each.size * (each**2).sum())) for each in rates],
        "timeouts": result.values("timeouts", group="bulk"),
    }
    return bulk | _queue_counts_by_column(result, _RED_ECN_QUANTITIES)


THESIS_COLUMNS = ComparedColumns(
    frozenset([*ns2.TOTAL_COLUMNS, *ns2.QUEUE_COLUMNS, *(pattern.format(group) for group in GROUPS for pattern in ns2.GROUP_COLUMNS)]),
    frozenset(["locked_out_flows"]),
    values_by_column,
)
TWO_WAY_COLUMNS = ComparedColumns(
    frozenset(_TWO_WAY_QUANTITIES),
    frozenset(["final_average", "final_max_p"]),
    lambda result: _queue_counts_by_column(result, _TWO_WAY_QUANTITIES),
)
RED_ECN_COLUMNS = ComparedColumns(
    frozenset(["goodput_kbps", "jain", "timeouts", *_RED_ECN_QUANTITIES]), frozenset(), _red_ecn_values_by_column
)
