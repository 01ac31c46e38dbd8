"""A result as tables: rates, delays and counts by group; fairness; each queue, and its bands where it has several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ecnlab.cli.table import Table
from ecnlab.units import shown_unit

if TYPE_CHECKING:
    from ecnlab.analysis.stats import Estimate
    from ecnlab.results import Result

_BY_GROUP = (
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
_TRANSACTIONS = ("transactions", "transaction_mean_s", "transaction_p95_s")
_WHOLE = ("jain_goodput", "jain_goodput_first", "jain_1s_goodput", "jain_1s_goodput_first", "max_min_gap")
_QUEUE = (
    "utilisation",
    "length_mean_packets",
    "length_max_packets",
    "sojourn_mean_s",
    "marks",
    "drops_early",
    "drops_forced",
    "drops_overflow",
)
_BAND = (
    "arrivals",
    "departures",
    "sojourn_mean_s",
    "sojourn_p95_s",
    "marks",
    "drops_early",
    "drops_forced",
    "drops_overflow",
)
_PATH = ("drops_lost", "drops_ecn")
_WORDS = ("quantity", "unit")


def tables(result: Result) -> list[Table]:
    """The tables of a result."""
    whole, groups = result.estimate, [_of_group(result, name) for name in result.group_names]
    queues = [_of_queue(result, name) for name in result.queue_names]
    by_group = _BY_GROUP + (_TRANSACTIONS if math.isfinite(whole("transaction_mean_s").mean) else ())
    lost = [quantity for quantity in _PATH if any(of(quantity).mean > 0 for of in queues)]
    shown = [
        Table(title(result), [*_WORDS, _total(result), *result.group_names], [_row(q, [whole, *groups]) for q in by_group], _WORDS),
        Table("fairness over all flows", ["quantity", "value"], [[q, number(whole(q))] for q in _WHOLE]),
        Table("queues", [*_WORDS, *result.queue_names], [_row(q, queues) for q in (*_QUEUE, *lost)], _WORDS),
    ]
    if result.about:
        shown.append(_hosts(result))
    if not result.band_names:
        return shown
    bands = [_of_band(result, queue, band) for queue, band in result.band_names]
    return [*shown, Table("bands", [*_WORDS, *map(".".join, result.band_names)], [_row(q, bands) for q in _BAND], _WORDS)]


def _hosts(result: Result) -> Table:
    """What only a tier with real hosts knows: on what they ran, and how late packets were given to them in the worst seed."""
    from ecnlab import tiers
    from ecnlab.tiers import lateness

    every = list(result.about.values())
    late = [[f"lateness {step}, worst seed", lateness.milliseconds(value)] for step, value in lateness.worst(every).items()]
    control = [[f"{name}: congestion control", told] for name, told in lateness.controls(every[0]).items()]
    rows = [["ran on", tiers.titled(result.tier)], *control, *late]
    return Table("hosts", ["what", "value"], rows, ["what", "value"])


def title(result: Result) -> str:
    """The scenario's title, how many seeds, and what the numbers mean."""
    n = len(result.seeds)
    if n == 1:
        return f"{result.name}: 1 seed"
    return f"{result.name}: {n} seeds, " + ("all alike: no interval" if result.alike else "mean ± 95 % interval")


def number(value: Estimate, factor: float = 1.0) -> str:
    """A mean with its interval, to the digits that the interval leaves meaning to; what is whole in itself stands as it is."""
    scaled = value.scaled(factor)
    if not math.isfinite(scaled.mean):
        return "-"
    if math.isnan(scaled.half_width):
        return f"{scaled.mean:.{_digits(abs(scaled.mean) / 1000)}f}" if factor != 1 or value.mean % 1 else f"{value.mean:.0f}"
    digits = _digits(scaled.half_width or abs(scaled.mean) / 1000)
    return f"{scaled.mean:.{digits}f} ± {scaled.half_width:.{digits}f}"


def _digits(scale: float) -> int:
    return 0 if not scale > 0 else min(6, max(0, 1 - math.floor(math.log10(scale))))


def _of_group(result: Result, name: str) -> Callable[[str], Estimate]:
    return lambda quantity: result.estimate(quantity, group=name)


def _of_queue(result: Result, name: str) -> Callable[[str], Estimate]:
    return lambda quantity: result.estimate(quantity, queue=name)


def _of_band(result: Result, queue: str, band: str) -> Callable[[str], Estimate]:
    return lambda quantity: result.estimate(quantity, queue=queue, band=band)


def _total(result: Result) -> str:
    """What the column of all flows is called: not as a group is."""
    return "all" if "all" not in result.group_names else "all flows"


def _row(quantity: str, estimates: Iterable[Callable[[str], Estimate]]) -> list[str]:
    factor, unit = shown_unit(quantity)
    return [name_of(quantity), unit, *(number(of(quantity), factor) for of in estimates)]


def name_of(quantity: str) -> str:
    """A quantity as people read it: without its unit, with blanks."""
    for ending in ("_bps", "_packets", "_s"):
        quantity = quantity.removesuffix(ending)
    return quantity.replace("_", " ")
