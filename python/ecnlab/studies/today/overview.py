"""One table of all queues and questions."""

from __future__ import annotations

from ecnlab.analysis.stats import Estimate
from ecnlab.studies.model import Drawing, Item, Key, Need, Results, Table, estimates, with_interval
from ecnlab.studies.today import measures, scenarios
from ecnlab.studies.today.measures import EVENNESS, GOODPUT, JAIN, LOCKED_OUT, LONG_GOODPUT, WAIT
from ecnlab.studies.today.scenarios import CUBIC, CUBIC_ECN, MARKING, datagrams, exchanges, need

# What each column says, and how many decimals it has.
_COLUMNS = {
    "ECN's goodput, 60 flows (%)": 2,
    "ECN's goodput, 240 flows (%)": 2,
    "mean wait, 60 flows (ms)": 1,
    "mean wait, 240 flows (ms)": 1,
    "Jain's index, 60 flows": 3,
    "smallest over largest group, 60 flows": 3,
    "locked out, 240 flows (%)": 1,
    "ECN's 5 KB exchanges (%)": 1,
    "ECN's goodput beside datagrams (%)": 2,
}


def _needs() -> dict[Key, Need]:
    found: dict[Key, Need] = {}
    for queue in MARKING:
        for host in (CUBIC, CUBIC_ECN):
            found |= {(queue, host, flows): need(host, queue, flows) for flows in (60, 240)} | {
                (queue, host, "datagrams"): datagrams(host, queue)
            }
        found[queue, "exchanges"] = exchanges(queue)
    return found


def _row(results: Results, queue: str) -> list[Estimate]:
    few, many, beside = ([results[queue, host, case] for host in (CUBIC_ECN, CUBIC)] for case in (60, 240, "datagrams"))
    return [
        measures.change(GOODPUT, *few),
        measures.change(GOODPUT, *many),
        WAIT.estimate(few[0]),
        WAIT.estimate(many[0]),
        JAIN.estimate(few[0]),
        EVENNESS.estimate(few[0]),
        LOCKED_OUT.estimate(many[0]),
        measures.within(results[queue, "exchanges"]),
        measures.change(LONG_GOODPUT, *beside),
    ]


def _draw(results: Results) -> Drawing:
    rows = {queue: _row(results, queue) for queue in MARKING}
    cells = [
        [queue, *(with_interval(one, digits) for one, digits in zip(row, _COLUMNS.values(), strict=True))] for queue, row in rows.items()
    ]
    data = [((queue, column), one) for queue, row in rows.items() for column, one in zip(_COLUMNS, row, strict=True)]
    return Drawing(None, [Table("Queues and questions", ["queue", *_COLUMNS], cells)], estimates(["queue", "question"], "value", data))


OVERVIEW = Item(
    "1",
    "Queues and questions",
    "CUBIC with ECN over each queue, and what it gains over CUBIC without ECN, paired by seed; wait, fairness and lockout with ECN. "
    f"Chapter 5 network, packets of 1000 bytes, buffers of {scenarios.LIMIT} packets.",
    _needs(),
    _draw,
    kind="Table",
)
