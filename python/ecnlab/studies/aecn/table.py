"""Table 5.1: AECN with alpha 1 (mark-front for each group) beside ECN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ecnlab.studies.aecn import schemes
from ecnlab.studies.aecn.published import TABLE_5_1
from ecnlab.studies.model import Drawing, Item, Need, Results, Table, estimates, with_interval

if TYPE_CHECKING:
    from ecnlab.results import Result

# Jain's index by what it is taken over, and of what.
DEFINITIONS = {
    "jain_1s_throughput": "1 s, throughput",
    "jain_1s_goodput": "1 s, goodput",
    "jain_1s_goodput_first": "1 s, first transmissions",
    "jain_throughput": "80 s, throughput",
    "jain_goodput": "80 s, goodput",
    "jain_goodput_first": "80 s, first transmissions",
}
_GOODPUT = {
    "goodput_first_bps": "first transmissions",
    "goodput_bps": "in order",
    "throughput_bps": "throughput",
}


def _draw(results: Results) -> Drawing:
    jain = [_row(key, TABLE_5_1[key][0], _jain(result)) for key, result in results.items()]
    goodput = [_row(key, TABLE_5_1[key][1], _goodput(result)) for key, result in results.items()]
    tables = [
        Table("Jain's index", ["scheme", "flows", "published", *DEFINITIONS.values()], jain),
        Table("Goodput (Mbit/s)", ["scheme", "flows", "published", *_GOODPUT.values()], goodput),
    ]
    rows = [((*key, name), result.estimate(name)) for key, result in results.items() for name in (*DEFINITIONS, *_GOODPUT)]
    return Drawing(None, tables, estimates(["scheme", "flows", "quantity"], "value", rows))


def _row(key: tuple[object, ...], published: float, cells: Sequence[str]) -> list[str]:
    return [str(key[0]), str(key[1]), f"{published:.4f}", *cells]


def _jain(result: Result) -> list[str]:
    return [with_interval(result.estimate(definition)) for definition in DEFINITIONS]


def _goodput(result: Result) -> list[str]:
    return [with_interval(result.estimate(quantity).scaled(1e-6)) for quantity in _GOODPUT]


TABLE = Item(
    kind="Table",
    number="5.1",
    title="AECN with alpha 1 beside ECN",
    caption="The thesis' numbers beside ours under every definition, base max_p 0.5, chapter 5 network.",
    needs={key: Need(schemes.scheme(*key)) for key in TABLE_5_1},
    draw=_draw,
)
