"""One table of all queues and questions."""

from __future__ import annotations

from ecnlab.stats.estimates import Estimate
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    NeedKey,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
)
from ecnlab.studies.papers.today import measures, scenarios
from ecnlab.studies.papers.today.measures import EVENNESS, GOODPUT, JAIN, LOCKED_OUT, LONG_GOODPUT, MEAN_WAIT
from ecnlab.studies.papers.today.scenarios import (
    CUBIC,
    CUBIC_ECN,
    MARKING_QUEUES,
    datagram_cross_traffic_scenario,
    exchange_clients_scenario,
    hosts_over_queue_scenario,
)

# Content and decimals of each column.
_OVERVIEW_COLUMNS = {
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


def _overview_scenarios() -> dict[NeedKey, RequiredScenario]:
    found: dict[NeedKey, RequiredScenario] = {}
    for queue in MARKING_QUEUES:
        for host in (CUBIC, CUBIC_ECN):
            found |= {(queue, host, flows): hosts_over_queue_scenario(host, queue, flows) for flows in (60, 240)} | {
                (queue, host, "datagrams"): datagram_cross_traffic_scenario(host, queue)
            }
        found[queue, "exchanges"] = exchange_clients_scenario(queue)
    return found


def _overview_row_of_queue(results: ResultsByKey, queue: str) -> list[Estimate]:
    few, many, beside = ([results[queue, host, case] for host in (CUBIC_ECN, CUBIC)] for case in (60, 240, "datagrams"))
    return [
        measures.percent_change_of_measure(GOODPUT, *few),
        measures.percent_change_of_measure(GOODPUT, *many),
        MEAN_WAIT.estimate(few[0]),
        MEAN_WAIT.estimate(many[0]),
        JAIN.estimate(few[0]),
        EVENNESS.estimate(few[0]),
        LOCKED_OUT.estimate(many[0]),
        measures.ecn_clients_gain(results[queue, "exchanges"]),
        measures.percent_change_of_measure(LONG_GOODPUT, *beside),
    ]


def _overview_table_content(results: ResultsByKey) -> DrawnItemContent:
    rows = {queue: _overview_row_of_queue(results, queue) for queue in MARKING_QUEUES}
    cells = [
        [queue, *(format_with_interval(one, digits) for one, digits in zip(row, _OVERVIEW_COLUMNS.values(), strict=True))]
        for queue, row in rows.items()
    ]
    data = [((queue, column), one) for queue, row in rows.items() for column, one in zip(_OVERVIEW_COLUMNS, row, strict=True)]
    return DrawnItemContent(
        None,
        [ReportTable("Queues and questions", ["queue", *_OVERVIEW_COLUMNS], cells)],
        estimates_frame(["queue", "question"], "value", data),
    )


OVERVIEW_ITEM = StudyItem(
    "1",
    "Queues and questions",
    "CUBIC with ECN over each queue, and what it gains over CUBIC without ECN, paired by seed; wait, fairness and lockout with ECN. "
    f"Chapter 5 network, packets of 1000 bytes, buffers of {scenarios.BUFFER_PACKETS} packets.",
    _overview_scenarios(),
    _overview_table_content,
    kind="Table",
)
