"""A result as tables: rates, delays and counts by group; fairness; each queue, and its bands where it has several.

The command prints them, and a notebook shows them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ecnlab.backends import base, lateness
from ecnlab.display.cells import TextTable
from ecnlab.scenarios.units import display_unit_for_values

if TYPE_CHECKING:
    from ecnlab.stats.estimates import Estimate
    from ecnlab.storage.results import Result

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
# Jain's indices that can be computed over the flows of some groups, and the columns of the flows that they are of.
_FLOW_COLUMN_OF_INDEX = {"jain_goodput": "goodput_bps", "jain_goodput_first": "goodput_first_bps"}
_BULK_APP = "bulk"
_PATH_DROP_QUANTITIES = ("drops_lost", "drops_ecn")
_TEXT_COLUMNS = ("quantity", "unit")


# Of a group, as the table of queues has rows of the same columns that count acknowledgements and datagrams too.
_DATA_PACKET_NAMES = {"marks": "data packets marked", "drops": "data packets dropped"}


def result_tables(result: Result) -> list[TextTable]:
    """The tables of a result."""
    whole, groups = result.estimate, [_group_estimates(result, name) for name in result.group_names]
    queues = [_queue_estimates(result, name) for name in result.queue_names]
    by_group = _GROUP_QUANTITIES + (_TRANSACTION_QUANTITIES if math.isfinite(whole("transaction_mean_s").mean) else ())
    lost = [quantity for quantity in _PATH_DROP_QUANTITIES if any(of(quantity).mean > 0 for of in queues)]
    shown = [
        TextTable(
            result_title(result),
            [*_TEXT_COLUMNS, _total_column_name(result), *result.group_names],
            [_estimates_row(q, [whole, *groups], _DATA_PACKET_NAMES.get(q)) for q in by_group],
            _TEXT_COLUMNS,
        ),
        _fairness_table(result),
        TextTable(
            "queues", [*_TEXT_COLUMNS, *result.queue_names], [_estimates_row(q, queues) for q in (*_QUEUE_QUANTITIES, *lost)], _TEXT_COLUMNS
        ),
    ]
    if result.about:
        shown.append(_host_lateness_table(result))
    if not result.band_names:
        return shown
    bands = [_band_estimates(result, queue, band) for queue, band in result.band_names]
    return [
        *shown,
        TextTable(
            "bands",
            [*_TEXT_COLUMNS, *map(".".join, result.band_names)],
            [_estimates_row(q, bands) for q in _BAND_QUANTITIES],
            _TEXT_COLUMNS,
        ),
    ]


def _host_lateness_table(result: Result) -> TextTable:
    """What only a backend with real hosts knows: on what they ran, and how late packets were given to them in the worst seed."""
    every = list(result.about.values())
    late = [[f"lateness {step}, worst seed", lateness.format_milliseconds(value)] for step, value in lateness.worst_lateness(every).items()]
    control = [[f"{name}: congestion control", told] for name, told in lateness.congestion_controls_in_use(every[0]).items()]
    rows = [["ran on", base.backend_identity_text(result.backend)], *control, *late]
    return TextTable("hosts", ["what", "value"], rows, ["what", "value"])


def result_title(result: Result) -> str:
    """The scenario's title, how many seeds, and what the numbers mean."""
    n = len(result.seeds)
    if n == 1:
        return f"{result.name}: 1 seed"
    return f"{result.name}: {n} seeds, " + ("all identical: no interval" if result.alike else "mean ± 95 % interval")


def format_estimate(value: Estimate, factor: float = 1.0, *, is_signed: bool = False) -> str:
    """A mean with its interval, to the digits that the interval leaves meaning to; what is whole in itself stands as it is.

    No measure is negative. Where Student's interval reaches below 0 its ends are given, the lower one as 0, unless the value `is_signed`.
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


def _group_estimates(result: Result, name: str) -> Callable[[str], Estimate]:
    return lambda quantity: result.estimate(quantity, group=name)


def _queue_estimates(result: Result, name: str) -> Callable[[str], Estimate]:
    return lambda quantity: result.estimate(quantity, queue=name)


def _band_estimates(result: Result, queue: str, band: str) -> Callable[[str], Estimate]:
    return lambda quantity: result.estimate(quantity, queue=queue, band=band)


def _total_column_name(result: Result) -> str:
    """What the column of all flows is called: not as a group is."""
    return "all" if "all" not in result.group_names else "all flows"


def _estimates_row(quantity: str, estimates: Iterable[Callable[[str], Estimate]], name: str | None = None) -> list[str]:
    found = [of(quantity) for of in estimates]
    factor, unit = display_unit_for_values(quantity, [one.mean for one in found])
    return [name or quantity_name(quantity), unit, *(format_estimate(one, factor) for one in found)]


def _fairness_table(result: Result) -> TextTable:
    """Jain's index of the flows of each group; over all flows only where all of them have data at all times.

    Flows of applications that pause or end have goodputs that say how much they were asked to send, so an index over them and bulk flows
    says nothing of how a queue shares. Bulk flows of several groups are then put beside each other instead.
    """
    kinds = {group["name"]: group["app"]["kind"] for group in result.header["parameters"]["flows"]}
    bulk = [name for name in result.group_names if kinds[name] == _BULK_APP]
    columns: dict[str, Callable[[str], str]] = {}
    if len(result.group_names) > 1:
        columns |= {name: partial(_jain_cell, result, [name]) for name in result.group_names}
    if len(bulk) == len(result.group_names):
        columns = {_total_column_name(result): lambda quantity: format_estimate(result.estimate(quantity))} | columns
    elif len(bulk) > 1:
        columns["all bulk flows"] = partial(_jain_cell, result, bulk)
    if not columns:
        columns = {result.group_names[0]: partial(_jain_cell, result, result.group_names)}
    rows = [[q, *(of(q) for of in columns.values())] for q in _FAIRNESS_QUANTITIES]
    return TextTable("fairness between flows", ["quantity", *columns], [row for row in rows if any(cell != "-" for cell in row[1:])])


def _jain_cell(result: Result, groups: Sequence[str], quantity: str) -> str:
    """Jain's index over the flows of some groups; "-" of a quantity that is not known of single flows."""
    column = _FLOW_COLUMN_OF_INDEX.get(quantity)
    return "-" if column is None else format_estimate(result.estimate_of(result.jain(column, groups)))


def quantity_name(quantity: str) -> str:
    """A quantity as people read it: without its unit, with blanks."""
    for ending in ("_bps", "_packets", "_s"):
        quantity = quantity.removesuffix(ending)
    return quantity.replace("_", " ")
