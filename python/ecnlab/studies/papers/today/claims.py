"""The papers' questions as our own: each sentence is a paper's finding of 2000 and 2001, asked of today's hosts and queues.

The papers' own names for them (A1, R7, G2) are those of the studies `aecn`, `rfc2884` and `red-ecn`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ecnlab.scenarios.networks import GROUPS
from ecnlab.studies.framework.claims import (
    DIMENSIONLESS,
    MS,
    PERCENT,
    PERCENT_POINTS,
    Claim,
    ClaimStatement,
    RelativeChange,
    claimed_above,
    claimed_at_least,
    claimed_at_most,
    claimed_below,
    descending_order_statements,
)
from ecnlab.studies.framework.panels import PanelMeasure
from ecnlab.studies.papers.today.measures import (
    DELAY,
    GOODPUT,
    GOODPUT_OF_GROUPS,
    JAIN,
    LOCKED_OUT,
    LONG_GOODPUT,
    MEAN_WAIT,
    exchange_rate_measure,
)
from ecnlab.studies.papers.today.scenarios import (
    CUBIC,
    CUBIC_ECN,
    DCTCP,
    FLOW_COUNTS,
    LOSS_RECOVERIES,
    MARKING_QUEUES,
    WITH_ECN,
    WITHOUT_ECN,
    datagram_cross_traffic_scenario,
    exchange_clients_scenario,
    hosts_over_queue_scenario,
)

_SINGLE_QUEUES = [queue for queue in MARKING_QUEUES if queue != "FQ-CoDel"]
# Target delays of the queues that have one, in ms.
_TARGET_QUEUES = {"CoDel": 5, "FQ-CoDel": 5, "PIE": 15, "DualPI2": 15}


def _ecn_gains_over_queues(measure: PanelMeasure, flows: Sequence[int]) -> Iterator[tuple[str, RelativeChange]]:
    """Effect of ECN on a measure, over each queue and at each number of flows."""
    for queue in MARKING_QUEUES:
        for count in flows:
            both = (hosts_over_queue_scenario(host, queue, count) for host in (CUBIC_ECN, CUBIC))
            yield f"{measure.label}, with ECN over without, {queue}, {count} flows", measure.relative_change(*both)


def _goodput_order_of_groups_statements() -> Iterable[ClaimStatement]:
    for queue in _SINGLE_QUEUES:
        need = hosts_over_queue_scenario(CUBIC_ECN, queue)
        for small, large in pairwise(GROUPS):
            change = RelativeChange(*(GOODPUT_OF_GROUPS[group].measure_of_scenario(need) for group in (large, small)))
            yield ClaimStatement(f"goodput over {queue}, {large} over {small} flows", change, claimed_above(0), PERCENT)


def _ecn_gain_with_recovery(recovery: str) -> RelativeChange:
    """ECN's gain with a loss recovery, over RED."""
    return GOODPUT.relative_change(*(hosts_over_queue_scenario(f"{recovery} {word}", "RED") for word in (WITH_ECN, WITHOUT_ECN)))


CLAIMS = [
    Claim(
        "T1",
        "ECN raises goodput (A1).",
        ["1", "Table 1"],
        [ClaimStatement(text, gained, claimed_above(0), PERCENT) for text, gained in _ecn_gains_over_queues(GOODPUT, FLOW_COUNTS)],
        why="Hosts of today repair a loss with SACK and RACK-TLP at the cost of the lost packet, and keep the link busy without ECN "
        "(T11): there is hardly any goodput left to gain. PIE gains nothing at all since it marks only up to a probability of 10 "
        "% and drops beyond (RFC 8033, section 5.1), which 60 flows need here. 15 flows lose 4 % over RED. Half of that is the "
        "round trip in which a window that a mark reduces does not grow; the cause of the rest is unknown.",
    ),
    Claim(
        "T2",
        "ECN costs hardly any delay (A5).",
        ["1"],
        [ClaimStatement(text, gained, claimed_below(2), PERCENT) for text, gained in _ecn_gains_over_queues(DELAY, FLOW_COUNTS)],
        reading="hardly any: less than 2 % of the mean one-way delay; A5 reads around 1 %",
        why="A mark leaves the packet in the queue, a drop removes it. Why that lengthens FQ-CoDel's queues with 240 flows so much "
        "more than the others is unknown.",
    ),
    Claim(
        "T3",
        "A shared queue is unfair to long round-trip times (A10): robust flows have more goodput than average flows, and these more than "
        "fragile flows.",
        ["3"],
        list(_goodput_order_of_groups_statements()),
        reading="A10 asks robust flows over each of the two other groups; average over fragile flows is asked here alone",
    ),
    Claim(
        "T4",
        "Of all queues FQ-CoDel shares the link most evenly among heterogeneous RTTs (A14).",
        ["2", "3"],
        [
            ClaimStatement(
                f"{JAIN.label}, FQ-CoDel over {queue}",
                JAIN.difference(hosts_over_queue_scenario(CUBIC_ECN, "FQ-CoDel"), hosts_over_queue_scenario(CUBIC_ECN, queue)),
                claimed_above(0),
                DIMENSIONLESS,
            )
            for queue in _SINGLE_QUEUES
        ],
        reading="the mean of Jain's index over 1-second intervals, 60 flows of CUBIC with ECN",
    ),
    Claim(
        "T5",
        "AECN improves Jain's index by more than 10 % over ECN for hosts of today (A14).",
        ["2", "3"],
        [
            ClaimStatement(
                f"{JAIN.label}, AECN over ECN, {flows} flows",
                JAIN.relative_change(*(hosts_over_queue_scenario(CUBIC_ECN, queue, flows) for queue in ("AECN", "RED"))),
                claimed_above(10),
                PERCENT,
            )
            for flows in FLOW_COUNTS
        ],
        why="A host repeats a lost SYN without ECN (RFC 3168, section 6.1.1.1), and a flow without ECN escapes AECN's marks, "
        "which others take: in 6 of 20 seeds one or two of 60 flows get 0.7 to 1.4 Mbit/s each and the others 0.14. With "
        "ecn_fallback = false Jain's index over the run is 0.95 in each of ten seeds.",
    ),
    Claim(
        "T6",
        "With 240 flows some are locked out for long periods, at every queue, with and without ECN (A26).",
        ["5"],
        [
            ClaimStatement(
                f"{LOCKED_OUT.label}, {host} at {queue}",
                LOCKED_OUT.measure_of_scenario(hosts_over_queue_scenario(host, queue, 240)),
                claimed_above(0),
                PERCENT,
            )
            for host in (CUBIC, CUBIC_ECN)
            for queue in MARKING_QUEUES
        ],
    ),
    Claim(
        "T7",
        "Clients with ECN complete more exchanges of 5 KB than clients without (R7).",
        ["6"],
        [
            ClaimStatement(
                f"exchanges, with ECN over without, {queue}",
                RelativeChange(
                    *(exchange_rate_measure(kind).measure_of_scenario(exchange_clients_scenario(queue)) for kind in (WITH_ECN, WITHOUT_ECN))
                ),
                claimed_above(0),
                PERCENT,
            )
            for queue in MARKING_QUEUES
        ],
        reading="in the same runs, beside each other, as RFC 2884 measured them",
    ),
    Claim(
        "T8",
        "Beside unresponsive datagrams, TCP's goodput with ECN is at least its goodput without ECN (G2).",
        ["7"],
        [
            ClaimStatement(
                f"{LONG_GOODPUT.label}, with ECN over without, {queue}",
                LONG_GOODPUT.relative_change(*(datagram_cross_traffic_scenario(host, queue) for host in (CUBIC_ECN, CUBIC))),
                claimed_at_least(0),
                PERCENT,
            )
            for queue in MARKING_QUEUES
        ],
        why="AECN takes datagrams for an average flow's, as in F4 of the study aecn. In FQ-CoDel a far flow's own queue runs empty after a "
        "mark, as its window does not grow for a round trip.",
    ),
    Claim(
        "T9",
        "Queues with a delay target hold it for every number of flows.",
        ["2"],
        [
            ClaimStatement(
                f"{MEAN_WAIT.label}, {queue}, {flows} flows",
                MEAN_WAIT.measure_of_scenario(hosts_over_queue_scenario(CUBIC_ECN, queue, flows)),
                claimed_at_most(1.1 * target),
                MS,
            )
            for queue, target in _TARGET_QUEUES.items()
            for flows in FLOW_COUNTS
        ],
        reading="a mean wait of at most 1.1 times the target; no paper asks this, but A5 and M4 ask after delays",
        why="CoDel's signals begin at 10 a second and grow with the square root of their number while the wait stays above target; "
        "60 flows need 190 a second. RFC 8289 excepts such overload. PIE and DualPI2 raise a probability until it "
        "suffices, and drop.",
    ),
    Claim(
        "T10",
        "Scalable flows wait less than a millisecond in DualPI2's low-latency queue.",
        ["8"],
        [
            ClaimStatement(
                f"{MEAN_WAIT.label}, {flows} flows",
                MEAN_WAIT.measure_of_scenario(hosts_over_queue_scenario(DCTCP, "DualPI2", flows)),
                claimed_below(1),
                MS,
            )
            for flows in FLOW_COUNTS
        ],
        reading="the mean wait of all packets, which are all of DCTCP; RFC 9332, section 1.4, says below 1 ms for the most part",
        why="A window of Linux' DCTCP is a whole number and at least 2; in real numbers (integer_cwnd = false) the waits are 0.7, 3.0 and "
        "4.8 ms. Why the rest is there is not known. With 240 flows the "
        "queue is in overload and drops; the RFC's promise is made below that.",
    ),
    Claim(
        "T11",
        "The better the loss recovery, the less goodput ECN gains.",
        ["9"],
        descending_order_statements(
            {name: _ecn_gain_with_recovery(name) for name in LOSS_RECOVERIES}, PERCENT_POINTS, setting="gain in goodput"
        ),
        reading="ECN's gain over RED with 60 flows, in percentage points from Reno over NewReno and SACK to RACK-TLP",
    ),
]
