"""Findings of the sources as questions, and questions of our own. Each range was written before the runs with the seeds of a full run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ecnlab.studies.framework.claims import (
    DIMENSIONLESS,
    PERCENT,
    Claim,
    ClaimedRange,
    ClaimStatement,
    MeasureDifference,
    RelativeChange,
    claimed_about,
    claimed_above,
    claimed_at_least,
    claimed_below,
    claimed_between,
)
from ecnlab.studies.papers.l4s.network import (
    CUBIC,
    LINUX_7_2,
    OF_2020,
    PRAGUE,
    PRAGUE_2020,
    SCENARIO_1,
    SCENARIO_6,
    TwoFlows,
    jain_of_two,
    relative_difference_from_reference,
    two_flows,
)
from ecnlab.studies.papers.l4s.published import ReferenceRow, Sender, published_rates_of_pair, read_reference_rows
from ecnlab.studies.papers.l4s.step import RATES_ABOVE_MBPS, RATES_BELOW_MBPS, RATIO, RTTS_MS, STEPS, prague_and_cubic_flows
from ecnlab.studies.papers.l4s.tables import (
    DUALPI2_ROWS,
    LINUX_RUN,
    STEP_ROWS,
    WITHIN_TOLERANCE,
    linux_rows,
    simulated_flows_of_linux_row,
    simulated_flows_of_published_row,
)

_RATES_MBPS = (10, 50)
_EQUAL_RTTS_MS = (10, 20, 80)
_UNEQUAL_RTTS_MS = ((20, 10), (80, 20), (160, 10))
_PUBLISHED_QUEUE = {OF_2020: LINUX_7_2}


def _published_rates_of_senders(queue: str, rate: int, one: Sender, other: Sender) -> tuple[float, float]:
    """The published rates of two senders over a simulated queue."""
    return published_rates_of_pair(
        _PUBLISHED_QUEUE.get(queue, queue),
        rate,
        one.with_control_instead_of(PRAGUE_2020, PRAGUE),
        other.with_control_instead_of(PRAGUE_2020, PRAGUE),
    )


def _two_flows_in_scenario_1(queue: str, rate: int, one: Sender, other: Sender) -> TwoFlows:
    return two_flows(queue, rate, (one, other), SCENARIO_1)


def _share_beside_prague_2020_statements(wanted: ClaimedRange | None) -> Iterator[ClaimStatement]:
    """The share of the flow beside the Prague of 2020 in each row of the shared queues; about the published one without a range."""
    for row in read_reference_rows("shared-queue"):
        published = _reference_share_of_second_percent(row)
        yield ClaimStatement(
            f"share of {row.senders[1].control} beside Prague, {row.queue}",
            simulated_flows_of_published_row(row, PRAGUE_2020, SCENARIO_6).share_of_second(),
            wanted or claimed_about(published),
            PERCENT,
            published=published,
        )


def _reference_share_of_second_percent(row: ReferenceRow) -> float:
    return round(100 * row.rates_mbps[1] / sum(row.rates_mbps), 2)


def _share_beside_prague_0_7_statements() -> Iterator[ClaimStatement]:
    """The share of the flow beside Prague 0.7 in the shared queues of which there is a row of Linux 7.2 hosts."""
    for row in linux_rows("fq_codel(1q)", "pie"):
        yield ClaimStatement(
            f"share of {row.senders[1].control} beside Prague, {row.queue}; "
            f"Linux 7.2 hosts have {_reference_share_of_second_percent(row):g} %",
            simulated_flows_of_linux_row(row).share_of_second(),
            claimed_below(10),
            PERCENT,
        )


def _goodput_over_other_control_statements(queue: str, one: str, other: str) -> Iterator[ClaimStatement]:
    """The goodput of a control over another's at each equal RTT and rate."""
    for rate in _RATES_MBPS:
        for rtt in _EQUAL_RTTS_MS:
            senders = Sender(one, rtt), Sender(other, rtt)
            first, second = _published_rates_of_senders(queue, rate, *senders)
            yield ClaimStatement(
                f"{one} over {other}, {rtt} ms, {rate} Mbit/s",
                RelativeChange(*_two_flows_in_scenario_1(queue, rate, *senders).goodput_measures()),
                claimed_above(0),
                PERCENT,
                published=round(100 * (first / second - 1), 1),
            )


def _equal_share_statements() -> Iterator[ClaimStatement]:
    for rate in _RATES_MBPS:
        for rtt in _EQUAL_RTTS_MS:
            senders = Sender(PRAGUE_2020, rtt), Sender(CUBIC, rtt)
            yield ClaimStatement(
                f"Jain's index, prague-2020 and cubic, {rtt} ms, {rate} Mbit/s",
                _two_flows_in_scenario_1("fq_codel", rate, *senders).jain(),
                claimed_at_least(0.95),
                DIMENSIONLESS,
                published=round(jain_of_two(*_published_rates_of_senders("fq_codel", rate, *senders)), 4),
            )


def _short_over_long_statement(queue: str, rate: int, long: Sender, short: Sender, wanted: ClaimedRange) -> ClaimStatement:
    slow, fast = _published_rates_of_senders(queue, rate, long, short)
    return ClaimStatement(
        f"{short.label} over {long.label}, {rate} Mbit/s",
        _two_flows_in_scenario_1(queue, rate, short, long).ratio(),
        wanted,
        RATIO,
        published=round(fast / slow, 2),
    )


def _less_equal_statements() -> Iterator[ClaimStatement]:
    for rate in _RATES_MBPS:
        for long, short in _UNEQUAL_RTTS_MS:
            pragues, cubics = ((Sender(control, long), Sender(control, short)) for control in (PRAGUE_2020, CUBIC))
            published = [
                jain_of_two(*_published_rates_of_senders(queue, rate, *pair)) for queue, pair in (("pfifo", cubics), (OF_2020, pragues))
            ]
            yield ClaimStatement(
                f"Jain's index, cubic over drop-tail minus prague-2020 over DualPI2, {long} and {short} ms, {rate} Mbit/s",
                MeasureDifference(
                    _two_flows_in_scenario_1("pfifo", rate, *cubics).jain(), _two_flows_in_scenario_1(OF_2020, rate, *pragues).jain()
                ),
                claimed_above(0),
                DIMENSIONLESS,
                published=round(published[0] - published[1], 4),
            )


def _linux_host_statements() -> Iterator[ClaimStatement]:
    """The difference of each simulated flow from its Linux 7.2 host."""
    for row in [*DUALPI2_ROWS, *STEP_ROWS]:
        if row.source != LINUX_RUN:
            continue
        names = [sender.label for sender in row.reference.senders]
        setting = f"{row.reference.queue}, {row.reference.rate_mbps} Mbit/s"
        for at, (goodput, rate) in enumerate(zip(row.flows.goodput_measures(), row.reference.rates_mbps, strict=True)):
            yield ClaimStatement(
                f"{names[at]} beside {names[1 - at]}, {setting}",
                relative_difference_from_reference(goodput, rate * 1e6),
                WITHIN_TOLERANCE,
                PERCENT,
            )


def _prague_over_cubic_at_step_statements(step: str, rates: Sequence[int], wanted: ClaimedRange) -> Iterator[ClaimStatement]:
    for rtt in RTTS_MS:
        for rate in rates:
            yield ClaimStatement(
                f"Prague over CUBIC, {step}, {rtt} ms, {rate} Mbit/s", prague_and_cubic_flows(STEPS[step], rate, rtt).ratio(), wanted, RATIO
            )


_DEFAULT_STEP, _ONE_PACKET, _LONGER_STEP = STEPS

CLAIMS = [
    Claim(
        "L1",
        "In a shared queue of RFC 3168 the Prague of 2020 leaves CUBIC and Reno less than a tenth, with and without ECN.",
        ["Table 4"],
        list(_share_beside_prague_2020_statements(claimed_below(10))),
        reading="l4s-tests, key finding 1: L4S flows dominate. The published shares of the other flow are 1.6 to 4.7 %.",
    ),
    Claim(
        "L2",
        "In a shared queue of RFC 3168 the flow beside the Prague of 2020 gets about the published share.",
        ["Table 4"],
        list(_share_beside_prague_2020_statements(None)),
        reading="about: half of the published share to one and a half of it.",
        why=(
            "CUBIC's shares are about the published ones, Reno's are not: 5.5 to 6.4 % here, 1.6 to 3.9 % published. Linux 7.2 "
            "hosts have 5.9 to 8.2 % (L3). The cause of the published shares is unknown; the source says that Reno is often driven "
            "to its least window."
        ),
    ),
    Claim(
        "L3",
        "Prague 0.7, which has a target RTT, leaves CUBIC and Reno less than a tenth there too.",
        ["Table 4"],
        list(_share_beside_prague_0_7_statements()),
    ),
    Claim(
        "L4",
        "Over DualPI2 the Prague of 2020 has more goodput than CUBIC of the same RTT.",
        ["Table 1"],
        list(_goodput_over_other_control_statements(OF_2020, PRAGUE_2020, CUBIC)),
        reading="l4s-tests, key finding 3, at 10, 20 and 80 ms; the published number is the mean of both orders of the flows.",
        why=(
            "A phase effect. At 10 Mbit/s and 10 ms Prague stays at its least pacing rate, 100 kbit/s, in all seeds, and so it does "
            "beside CUBIC of 20 ms. With a random processing time it has 92 % more than CUBIC; published are 113 %."
        ),
    ),
    Claim(
        "L5",
        "Over drop-tail CUBIC has more goodput than the Prague of 2020 of the same RTT.",
        ["Table 2"],
        list(_goodput_over_other_control_statements("pfifo", CUBIC, PRAGUE_2020)),
        reading="l4s-tests, section Network Bias: without an AQM Prague behaves about as NewReno; at 10, 20 and 80 ms.",
    ),
    Claim(
        "L6",
        "Over FQ-CoDel CUBIC and the Prague of 2020 of the same RTT share nearly equally.",
        ["Table 3"],
        list(_equal_share_statements()),
        reading="nearly equally: Jain's index of 0.95 or more, rates differ by a factor of 1.6 at most; the least published one is 0.98.",
    ),
    Claim(
        "L7",
        "Over DualPI2 a flow of 10 ms has at least twice the goodput of a flow of 160 ms, with Prague or CUBIC on either side.",
        ["Table 1"],
        [
            _short_over_long_statement(OF_2020, rate, Sender(long, 160), Sender(short, 10), claimed_at_least(2))
            for rate in _RATES_MBPS
            for long in (PRAGUE_2020, CUBIC)
            for short in (PRAGUE_2020, CUBIC)
        ],
        reading="l4s-tests, section RTT Unfairness: the shorter RTT has a big advantage in every case; the least published factor is 3.4.",
    ),
    Claim(
        "L8",
        "Over DualPI2 two Pragues of 2020 of 10 and 160 ms differ by more than the ratio of their RTTs.",
        ["Table 1"],
        [
            _short_over_long_statement(OF_2020, rate, Sender(PRAGUE_2020, 160), Sender(PRAGUE_2020, 10), claimed_above(16))
            for rate in _RATES_MBPS
        ],
    ),
    Claim(
        "L9",
        "Two Pragues of 2020 over DualPI2 share less equally than two CUBIC flows of the same RTTs over drop-tail.",
        ["Table 1", "Table 2"],
        list(_less_equal_statements()),
        reading="l4s-tests, key finding 4, for the three pairs of different RTTs.",
        why=(
            "Contradicted at no pair. At 10 Mbit/s with 20 and 10 ms both indices are 0.94; with a random processing time they "
            "differ, and the claim holds."
        ),
    ),
    Claim(
        "L10",
        "Two flows of Prague 0.7 with RTTs below its target of 25 ms share equally over DualPI2, though one RTT is twice the other.",
        ["Table 1"],
        [
            ClaimStatement(
                f"prague 10 ms over prague 20 ms, {queue}, {rate} Mbit/s",
                two_flows(queue, rate, (Sender(PRAGUE, 10), Sender(PRAGUE, 20)), SCENARIO_1).ratio(),
                claimed_between(0.8, 1.25),
                RATIO,
            )
            for rate in _RATES_MBPS
            for queue in (OF_2020,)
        ],
        reading="equally: a ratio of at most 1.25; the Prague of 2020 has 1.9 (50 Mbit/s) and 2.5 (10 Mbit/s), published.",
        why=(
            "A phase effect. At 50 Mbit/s the flow of 20 ms has more, 27.2 and 20.5 Mbit/s; with a random processing time the ratio "
            "is 1.04. Linux 7.2 hosts, which run in virtual time without such randomness either, have 26.3 and 21.5 Mbit/s over "
            "their queue."
        ),
    ),
    Claim(
        "L11",
        "Simulated flows over DualPI2 have the goodput of Linux 7.2 hosts within 10 %.",
        ["Table 1", "Table 5"],
        list(_linux_host_statements()),
        reading="each flow of the 60 rows of Linux 7.2 hosts, which are one run each",
        why=(
            "49 of 60 rows agree. The hosts' rows are single runs. Hosts with the settings of the simulated ones ran again with six seeds: "
            "57 of 60 rows agree with their means, and the single runs agree with them in 51. For Prague beside CUBIC at 50 Mbit/s and "
            "10 ms the cause is the queue: Linux draws marks at random, where the RFC's pseudo-code spaces them evenly. Prague of 160 ms "
            "beside CUBIC of 10 ms at 10 Mbit/s differs by the settings of the single run: a receive window of fixed size opens slowly, "
            "and Linux acknowledges at once each packet that opens it. Hosts with these settings have 0.38 Mbit/s, and others 0.33, as "
            "simulated."
        ),
    ),
    Claim(
        "L12",
        "The dualpi2 of Linux 7.2 with its default step starves Prague below 12 Mbit/s, and not above.",
        ["2"],
        [
            *_prague_over_cubic_at_step_statements(_DEFAULT_STEP, RATES_BELOW_MBPS, claimed_below(0.5)),
            *_prague_over_cubic_at_step_statements(_DEFAULT_STEP, RATES_ABOVE_MBPS, claimed_at_least(0.5)),
        ],
        reading="starves: less than half of the goodput of a CUBIC flow of the same RTT",
        why=(
            "Prague starves below 12 Mbit/s at both RTTs, with 4 to 49 % of CUBIC's goodput. At 80 ms it starves at 13 and 16 Mbit/s too."
        ),
    ),
    Claim(
        "L13",
        "With min_qlen_step 1, Prague and CUBIC share within a factor of two at these rates.",
        ["2"],
        list(_prague_over_cubic_at_step_statements(_ONE_PACKET, (*RATES_BELOW_MBPS, *RATES_ABOVE_MBPS), claimed_between(0.5, 2))),
        why=("Contradicted at no rate. At 20 ms and 30 Mbit/s the ratio is 2.00; with a random processing time it is 1.97."),
    ),
    Claim(
        "L14",
        "With a step of 2 ms Prague starves at 4 Mbit/s, where a packet takes longer than the step, and not from 8 Mbit/s on.",
        ["2"],
        [
            *_prague_over_cubic_at_step_statements(_LONGER_STEP, (4,), claimed_below(0.5)),
            *_prague_over_cubic_at_step_statements(_LONGER_STEP, (8, 10, 11, *RATES_ABOVE_MBPS), claimed_at_least(0.5)),
        ],
        reading="as L12; a packet of 1500 bytes takes 2 ms at 6 Mbit/s",
    ),
]
