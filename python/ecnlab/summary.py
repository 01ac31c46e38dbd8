"""A result as tables: rates, delays and counts by group; fairness; each queue, and its bands where it has several.

The command prints them, and a notebook shows them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ecnlab.draw import words
from ecnlab.units import shown_in

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
# Jain's indices that can be computed over the flows of some groups, and the columns of the flows that they are of.
_OF_FLOWS = {"jain_goodput": "goodput_bps", "jain_goodput_first": "goodput_first_bps"}
_BULK = "bulk"
_PATH = ("drops_lost", "drops_ecn")
_WORDS = ("quantity", "unit")


# Of a group, as the table of queues has rows of the same columns that count acknowledgements and datagrams too.
_OF_DATA = {"marks": "data packets marked", "drops": "data packets dropped"}


@dataclass(frozen=True)
class Cells:
    """A table: a title, a header and rows; `words` names the columns that hold words, the first alone unless given."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[str] = ()


def tables(result: Result) -> list[Cells]:
    """The tables of a result."""
    whole, groups = result.estimate, [_of_group(result, name) for name in result.group_names]
    queues = [_of_queue(result, name) for name in result.queue_names]
    by_group = _BY_GROUP + (_TRANSACTIONS if math.isfinite(whole("transaction_mean_s").mean) else ())
    lost = [quantity for quantity in _PATH if any(of(quantity).mean > 0 for of in queues)]
    shown = [
        Cells(
            title(result),
            [*_WORDS, _total(result), *result.group_names],
            [_row(q, [whole, *groups], _OF_DATA.get(q)) for q in by_group],
            _WORDS,
        ),
        _fairness(result),
        Cells("queues", [*_WORDS, *result.queue_names], [_row(q, queues) for q in (*_QUEUE, *lost)], _WORDS),
    ]
    if result.about:
        shown.append(_hosts(result))
    if not result.band_names:
        return shown
    bands = [_of_band(result, queue, band) for queue, band in result.band_names]
    return [*shown, Cells("bands", [*_WORDS, *map(".".join, result.band_names)], [_row(q, bands) for q in _BAND], _WORDS)]


def _hosts(result: Result) -> Cells:
    """What only a tier with real hosts knows: on what they ran, and how late packets were given to them in the worst seed."""
    from ecnlab import tiers
    from ecnlab.tiers import lateness

    every = list(result.about.values())
    late = [[f"lateness {step}, worst seed", lateness.milliseconds(value)] for step, value in lateness.worst(every).items()]
    control = [[f"{name}: congestion control", told] for name, told in lateness.controls(every[0]).items()]
    rows = [["ran on", tiers.titled(result.tier)], *control, *late]
    return Cells("hosts", ["what", "value"], rows, ["what", "value"])


def scenario_tables(tree: Mapping[str, Any], duration_s: float, measure_from_s: float) -> list[Cells]:
    """The main parameters in force of a scenario: times, links with their queues, and groups of flows."""
    links = [[link["name"], f"{link['from']} to {link['to']}", words.line(link), words.buffer(link)] for link in tree["link"]]
    groups = [[group["name"], str(group["count"]), words.traffic(group)] for group in tree["flows"]]
    link_words, group_words = ["link", "from, to", "rate, delay", "queue"], ["group", "flows", "transport; application"]
    return [
        Cells("", ["duration", "measured from"], [[f"{duration_s:g} s", f"{measure_from_s:g} s"]]),
        Cells("links", link_words, links, link_words),
        Cells("groups of flows", group_words, groups, [word for word in group_words if word != "flows"]),
    ]


def title(result: Result) -> str:
    """The scenario's title, how many seeds, and what the numbers mean."""
    n = len(result.seeds)
    if n == 1:
        return f"{result.name}: 1 seed"
    return f"{result.name}: {n} seeds, " + ("all alike: no interval" if result.alike else "mean ± 95 % interval")


def number(value: Estimate, factor: float = 1.0, *, is_signed: bool = False) -> str:
    """A mean with its interval, to the digits that the interval leaves meaning to; what is whole in itself stands as it is.

    No measure is negative. Where Student's interval reaches below 0 its ends are given, the lower one as 0, unless the value `is_signed`.
    """
    scaled = value.scaled(factor)
    if not math.isfinite(scaled.mean):
        return "-"
    if math.isnan(scaled.half_width):
        return f"{scaled.mean:.{_digits(abs(scaled.mean) / 1000)}f}" if factor != 1 or value.mean % 1 else f"{value.mean:.0f}"
    digits = _digits(scaled.half_width or abs(scaled.mean) / 1000)
    if scaled.low < 0 <= scaled.mean and not is_signed:
        return f"{scaled.mean:.{digits}f} (0 to {scaled.high:.{digits}f})"
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


def _row(quantity: str, estimates: Iterable[Callable[[str], Estimate]], name: str | None = None) -> list[str]:
    found = [of(quantity) for of in estimates]
    factor, unit = shown_in(quantity, [one.mean for one in found])
    return [name or name_of(quantity), unit, *(number(one, factor) for one in found)]


def _fairness(result: Result) -> Cells:
    """Jain's index of the flows of each group; over all flows only where all of them have data at all times.

    Flows of applications that pause or end have goodputs that say how much they were asked to send, so an index over them and bulk flows
    says nothing of how a queue shares. Bulk flows of several groups are then put beside each other instead.
    """
    kinds = {group["name"]: group["app"]["kind"] for group in result.header["parameters"]["flows"]}
    bulk = [name for name in result.group_names if kinds[name] == _BULK]
    columns: dict[str, Callable[[str], str]] = {}
    if len(result.group_names) > 1:
        columns |= {name: partial(_jain_of, result, [name]) for name in result.group_names}
    if len(bulk) == len(result.group_names):
        columns = {_total(result): lambda quantity: number(result.estimate(quantity))} | columns
    elif len(bulk) > 1:
        columns["all bulk flows"] = partial(_jain_of, result, bulk)
    if not columns:
        columns = {result.group_names[0]: partial(_jain_of, result, result.group_names)}
    rows = [[q, *(of(q) for of in columns.values())] for q in _WHOLE]
    return Cells("fairness between flows", ["quantity", *columns], [row for row in rows if any(cell != "-" for cell in row[1:])])


def _jain_of(result: Result, groups: Sequence[str], quantity: str) -> str:
    """Jain's index over the flows of some groups; "-" of a quantity that is not known of single flows."""
    column = _OF_FLOWS.get(quantity)
    return "-" if column is None else number(result.estimate_of(result.jain(column, groups)))


def name_of(quantity: str) -> str:
    """A quantity as people read it: without its unit, with blanks."""
    for ending in ("_bps", "_packets", "_s"):
        quantity = quantity.removesuffix(ending)
    return quantity.replace("_", " ")
