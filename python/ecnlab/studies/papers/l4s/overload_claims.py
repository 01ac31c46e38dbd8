"""Claims on overload by unresponsive datagrams."""

from __future__ import annotations

from ecnlab.studies.framework.claims import (
    MS,
    PERCENT_POINTS,
    Claim,
    ClaimStatement,
    DisplayUnit,
    MeasureDifference,
    claimed_about,
    claimed_above,
    claimed_at_most,
)
from ecnlab.studies.papers.l4s import overload

OVERLOAD_CLAIMS = [
    Claim(
        "L19",
        "Over CoDel unresponsive datagrams with ECT take more than 99.9 % of an overloaded link.",
        ["3"],
        [
            ClaimStatement(
                f"share of ECT datagrams, {load} %",
                overload.datagram_share_of_throughput(overload.CODEL, load, overload.WITH_ECT),
                claimed_above(99.9),
                DisplayUnit(100, "%", 2),
            )
            for load in overload.OVERLOADS
        ],
        reading="L4S team, overload results; published for loads from about the capacity on",
        why=(
            "99.86 % at a load of 110 %, 99.92 and 99.97 % at 150 and 200 %. Responsive flows that time out send ever more rarely, so "
            "that the share depends on the duration, which the source does not give."
        ),
    ),
    Claim(
        "L20",
        "Over DualPI2 and PIE unresponsive datagrams gain no share by ECT.",
        ["3"],
        [
            ClaimStatement(
                f"share of the datagrams, ECT minus not-ECT, {queue}, {load} %",
                MeasureDifference(
                    *(overload.datagram_share_of_throughput(queue, load, ect) for ect in (overload.WITH_ECT, overload.WITHOUT_ECT))
                ),
                claimed_at_most(1),
                PERCENT_POINTS,
            )
            for queue in (overload.DUALPI2, overload.PIE)
            for load in overload.LOADS
        ],
        reading="no share: at most one percentage point of the throughput",
        why=(
            "Datagrams without ECT lose packets and those with ECT do not: below the capacity, at 80 %, they have 3 points less over both "
            "queues. At 110 % DualPI2 still marks a part of the ECT datagrams, and they have 2.6 points more. From 150 % on ECT gains "
            "nothing."
        ),
    ),
    Claim(
        "L21",
        "In overload, ECT(1) datagrams wait as long in DualPI2 as its target of 15 ms.",
        ["4"],
        [
            ClaimStatement(
                f"mean wait of ECT datagrams, DualPI2, {load} %",
                overload.mean_datagram_wait(overload.DUALPI2, load, overload.WITH_ECT),
                claimed_about(15),
                MS,
                published=15,
            )
            for load in overload.OVERLOADS
        ],
        reading="about: 7.5 to 22.5 ms; the L4S team's figures show the target of 15 ms",
    ),
]
