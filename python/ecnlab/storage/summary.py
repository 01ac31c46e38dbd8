"""Text tables of a result: measures by group, fairness, queues and their bands.

The command prints them, and a notebook shows them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ecnlab.backends import base, lateness
from ecnlab.display.cells import TextTable
from ecnlab.scenarios.units import display_unit_for_values

if TYPE_CHECKING:
    from ecnlab.stats.estimates import Estimate
    from ecnlab.storage.results import Result

    # Maps a column of measures to its mean and interval.
    _EstimateLookup = Callable[[str], Estimate]

_GROUP_QUANTITIES = (
    "throughput_bps",
    "goodput_bps",
    "goodput_first_bps",
    "rtt_mean_s",
    "delay_mean_s",
    "delay_p95_s",
    "marks",
    "drops",
    "timeouts",
    "lockouts",
)
_TRANSACTION_QUANTITIES = ("transactions", "transaction_mean_s", "transaction_p95_s")
_FAIRNESS_QUANTITIES = ("jain_goodput", "jain_goodput_first", "jain_1s_goodput", "jain_1s_goodput_first", "min_max_goodput_ratio")
_QUEUE_QUANTITIES = (
    "utilisation",
    "length_mean_packets",
    "length_max_packets",
    "sojourn_mean_s",
    "marks",
    "drops_early",
    "drops_forced",
    "drops_overflow",
)
_BAND_QUANTITIES = (
    "arrivals",
    "departures",
    "sojourn_mean_s",
    "sojourn_p95_s",
    "marks",
    "drops_early",
    "drops_forced",
    "drops_overflow",
)
# Jain's indices that can be computed over some groups, with their column of the table `flows`.
_FLOW_COLUMN_OF_INDEX = {"jain_goodput": "goodput_bps", "jain_goodput_first": "goodput_first_bps"}
_BULK_APP = "bulk"
_PATH_DROP_QUANTITIES = ("drops_lost", "drops_ecn")
_TEXT_COLUMNS = ("quantity", "unit")


# Row names of the group table; in the queue table these counts include acknowledgements and datagrams.
_DATA_PACKET_NAMES = {"marks": "data packets marked", "drops": "data packets dropped"}


def result_tables(result: Result) -> list[TextTable]:
    """The tables of a result."""
    whole, groups = result.estimate, [partial(result.estimate, group=name) for name in result.group_names]
    queues = [partial(result.estimate, queue=name) for name in result.queue_names]
    by_group = _GROUP_QUANTITIES + (_TRANSACTION_QUANTITIES if math.isfinite(whole("transaction_mean_s").mean) else ())
    lost = [quantity for quantity in _PATH_DROP_QUANTITIES if any(of(quantity).mean > 0 for of in queues)]
    columns = [_all_flows_column_name(result), *result.group_names]
    shown = [
        _table_of_measures(result_title(result), columns, by_group, [whole, *groups], _DATA_PACKET_NAMES),
        _fairness_table(result),
        _table_of_measures("queues", result.queue_names, [*_QUEUE_QUANTITIES, *lost], queues, {}),
    ]
    if result.host_record_by_seed:
        shown.append(_host_lateness_table(result))
    if result.band_names:
        bands = [partial(result.estimate, queue=queue, band=band) for queue, band in result.band_names]
        shown.append(_table_of_measures("bands", map(".".join, result.band_names), _BAND_QUANTITIES, bands, {}))
    return shown


def _host_lateness_table(result: Result) -> TextTable:
    """Table for a backend with real hosts: kernel, congestion control, and lateness of the worst seed."""
    every = list(result.host_record_by_seed.values())
    late = [
        [f"lateness {step}, worst seed", lateness.seconds_to_milliseconds_text(value)]
        for step, value in lateness.worst_lateness_by_percentile(every).items()
    ]
    control = [
        [f"{name}: congestion control", algorithm] for name, algorithm in lateness.congestion_control_and_ecn_by_group(every[0]).items()
    ]
    rows = [["ran on", base.backend_identity_text(result.backend)], *control, *late]
    return TextTable("hosts", ["what", "value"], rows, ["what", "value"])


def result_title(result: Result) -> str:
    """The scenario's title, the number of seeds, and the notation of intervals."""
    n = len(result.seeds)
    if n == 1:
        return f"{result.name}: 1 seed"
    return f"{result.name}: {n} seeds, " + ("all identical: no interval" if result.alike else "mean ± 95 % interval")


def format_estimate(value: Estimate, factor: float = 1.0, *, is_signed: bool = False) -> str:
    """A mean with its interval, rounded to the significant digits; integers without interval are not rounded.

    Measures are not negative: an interval that reaches below 0 is printed as "0 to HIGH", unless the value `is_signed`.
    """
    scaled = value.scaled(factor)
    if not math.isfinite(scaled.mean):
        return "-"
    if math.isnan(scaled.half_width):
        return f"{scaled.mean:.{_decimals_for_scale(abs(scaled.mean) / 1000)}f}" if factor != 1 or value.mean % 1 else f"{value.mean:.0f}"
    digits = _decimals_for_scale(scaled.half_width or abs(scaled.mean) / 1000)
    if scaled.low < 0 <= scaled.mean and not is_signed:
        return f"{scaled.mean:.{digits}f} (0 to {scaled.high:.{digits}f})"
    return f"{scaled.mean:.{digits}f} ± {scaled.half_width:.{digits}f}"


def _decimals_for_scale(scale: float) -> int:
    return 0 if not scale > 0 else min(6, max(0, 1 - math.floor(math.log10(scale))))


def _all_flows_column_name(result: Result) -> str:
    """Name of the column over all flows, distinct from all group names."""
    return "all" if "all" not in result.group_names else "all flows"


def _table_of_measures(
    title: str,
    columns: Iterable[str],
    quantities: Iterable[str],
    estimates: Sequence[_EstimateLookup],
    names: Mapping[str, str],
) -> TextTable:
    """A row for each quantity, called as `names` say, and a column for each lookup of estimates."""
    rows = []
    for quantity in quantities:
        found = [estimate_of(quantity) for estimate_of in estimates]
        factor, unit = display_unit_for_values(quantity, [one.mean for one in found])
        rows.append([names.get(quantity, quantity_name(quantity)), unit, *(format_estimate(one, factor) for one in found)])
    return TextTable(title, [*_TEXT_COLUMNS, *columns], rows, _TEXT_COLUMNS)


def _fairness_table(result: Result) -> TextTable:
    """Jain's index of the flows of each group, and over all flows if all are bulk flows.

    Goodput of an application that pauses or ends depends on its data, so an index over it and bulk flows does not measure how a queue
    shares capacity. Bulk flows of several groups are compared instead.
    """
    kinds = {group["name"]: group["app"]["kind"] for group in result.header["parameters"]["flows"]}
    bulk = [name for name in result.group_names if kinds[name] == _BULK_APP]
    columns: dict[str, Callable[[str], str]] = {}
    if len(result.group_names) > 1:
        columns |= {name: partial(_jain_cell, result, [name]) for name in result.group_names}
    if len(bulk) == len(result.group_names):
        columns = {_all_flows_column_name(result): lambda quantity: format_estimate(result.estimate(quantity))} | columns
    elif len(bulk) > 1:
        columns["all bulk flows"] = partial(_jain_cell, result, bulk)
    if not columns:
        columns = {result.group_names[0]: partial(_jain_cell, result, result.group_names)}
    rows = [[q, *(of(q) for of in columns.values())] for q in _FAIRNESS_QUANTITIES]
    return TextTable("fairness between flows", ["quantity", *columns], [row for row in rows if any(cell != "-" for cell in row[1:])])


def _jain_cell(result: Result, groups: Sequence[str], quantity: str) -> str:
    """Jain's index over the flows of some groups; "-" for a quantity without values per flow."""
    column = _FLOW_COLUMN_OF_INDEX.get(quantity)
    return "-" if column is None else format_estimate(result.estimate_of(result.jain(column, groups)))


def quantity_name(quantity: str) -> str:
    """Display name of a quantity: without unit, with spaces."""
    for ending in ("_bps", "_packets", "_s"):
        quantity = quantity.removesuffix(ending)
    return quantity.replace("_", " ")
