"""What RFC 2884 claims, R1 to R13, as statements about measured quantities. Pages are those of the RFC."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ecnlab.studies.claims import (
    KBPS,
    PERCENT,
    PLAIN,
    POINTS,
    Claim,
    Gap,
    Measured,
    Of,
    Shown,
    Statement,
    about,
    above,
    at_least,
    below,
    between,
)
from ecnlab.studies.model import Need
from ecnlab.studies.rfc2884 import testbed
from ecnlab.studies.rfc2884.published import (
    BULK_BY_LOAD,
    BULK_BY_MAX_P,
    FAIRNESS,
    RATE_BY_MAX_P,
    SHORT_BY_LOAD,
    SHORT_BY_MAX_P,
)
from ecnlab.studies.rfc2884.testbed import LOADS, RESPONSES_KB, WITH, WITHOUT, bulk, gain, rate, share, total, transactions, user_throughput

if TYPE_CHECKING:
    from ecnlab.results import Result

PER_SECOND = Shown(1, "1/s", 2)
FAST, TIMEOUT = "retransmitted_fast", "retransmitted_timeout"

_ABOUT = "A number of the RFC is read as: from half of it to one and a half; a rise as: the last above the first."
_HIGH = LOADS["high"]
_NAMES: Mapping[float, str] = {count: f"{level} congestion" for level, count in LOADS.items()}


def resent(need: Need, group: str) -> Of:
    """Retransmissions as a share of the packets that a group sent."""
    return share(need, (FAST, TIMEOUT), ("sent",), [{"group": group}])


def resent_by_timeout(need: Need, group: str) -> Of:
    """Retransmissions after a timeout as a share of the packets that a group sent."""
    return share(need, (TIMEOUT,), ("sent",), [{"group": group}])


def by_timeout(need: Need, group: str) -> Of:
    """Retransmissions after a timeout as a share of a group's retransmissions."""
    return share(need, (TIMEOUT,), (FAST, TIMEOUT), [{"group": group}])


def with_retransmissions(need: Need, group: str) -> Of:
    """Whether a group retransmitted anything in a run, 1 or 0: its mean is the share of such runs."""

    def found(result: Result) -> Sequence[float]:
        counts = zip(result.values(FAST, group=group), result.values(TIMEOUT, group=group), strict=True)
        return [float(fast + timeout > 0) for fast, timeout in counts]

    return Of(need, found)


def signals(need: Need, kind: str) -> Of:
    """What RED told the flows of a kind where there are as many of each: marks to those with ECN, drops to the others."""
    return total(need, [_SIGNAL[kind]], testbed.kind(kind))


def bulk_gain(load: int, max_p: float, hosts: str = "Reno") -> Measured:
    """ECN's gain in the throughput of 20 MB."""
    return gain(user_throughput, bulk(load, max_p, hosts))


def short_gain(response_kb: int, load: int, max_p: float, hosts: str = "Reno") -> Measured:
    """ECN's gain in transactions a second."""
    return gain(rate, transactions(response_kb, load, max_p, hosts))


def _by_load(of: Callable[[int], Measured], published: Mapping[float, float]) -> list[Statement]:
    return _ends("max_p 0.1, {}", {_NAMES[load]: of(int(load)) for load in published}, list(published.values()))


def _by_max_p(of: Callable[[float], Measured], published: Mapping[float, float]) -> list[Statement]:
    return _ends("high congestion, {}", {f"max_p {max_p:g}": of(max_p) for max_p in published}, list(published.values()))


def _ends(where: str, gains: Mapping[str, Measured], published: list[float]) -> list[Statement]:
    """That a gain begins and ends about where the RFC has it, and that it rises in between."""
    (first, low), (last, high) = gains.items()
    return [
        *(
            Statement(f"gain, {where.format(name)}", measured, about(value), PERCENT, value)
            for (name, measured), value in zip(gains.items(), published, strict=True)
        ),
        Statement(f"gain, {where.format(f'{last} over {first}')}", Gap(high, low), above(0), POINTS, published[1] - published[0]),
    ]


def _advantage(load: int) -> Gap:
    need = bulk(load, 0.1)
    return Gap(user_throughput(need, WITH), user_throughput(need, WITHOUT))


_SIGNAL = {WITH: "marks", WITHOUT: "drops"}
_JAIN = "jain_goodput"
_FAIRNESS_MAX_PS = (0.02, 0.05, 0.1, 0.2)
# Of the RFC's table: its smallest index, and its largest difference between the two kinds of background (at max_p 0.05).
_LEAST_INDEX = min(FAIRNESS.values())
_LARGEST_BIAS = round(max(abs(FAIRNESS[True, max_p] - FAIRNESS[False, max_p]) for max_p in _FAIRNESS_MAX_PS), 6)
# "Hardly any": one bound for all shares of what is sent.
_HARDLY_ANY = below(1.0)
_MINORITY = below(50.0)
_NOT_NOTICED = below(5.0)


def _index(max_p: float, *, background_ecn: bool) -> Of:
    return Of(testbed.fairness(max_p, background_ecn=background_ecn), _JAIN)


def _of_background(background_ecn: bool) -> str:
    return f"background {WITH if background_ecn else WITHOUT}"


R1 = Claim(
    "R1",
    "Jain's index stays high and does not depend on the kind of the background flows.",
    ["5.1"],
    [
        *(
            Statement(
                f"Jain's index, {_of_background(background_ecn)}, max_p {max_p:g}",
                _index(max_p, background_ecn=background_ecn),
                at_least(_LEAST_INDEX),
                PLAIN,
                index,
            )
            for (background_ecn, max_p), index in FAIRNESS.items()
        ),
        *(
            Statement(
                f"index, background with ECN over background without, max_p {max_p:g}",
                Gap(_index(max_p, background_ecn=True), _index(max_p, background_ecn=False)),
                between(-_LARGEST_BIAS, _LARGEST_BIAS),
                PLAIN,
                FAIRNESS[True, max_p] - FAIRNESS[False, max_p],
            )
            for max_p in _FAIRNESS_MAX_PS
        ),
    ],
    quote="“The fairness index was fairly constant in both the cases when the background flows were ECN and NON ECN indicating that there "
    "was no bias when the background flows were either ECN or NON ECN.” (section 5.1, page 9; its table has 0.996888 to 0.979368 and "
    "0.991946 to 0.983342 for max_p 0.02 to 0.2)",
    reading="Fairly constant: no index is below the smallest of the RFC's table. No bias: the two kinds differ by no more than the largest "
    "difference in the table.",
    why="The indices and the bias are those of the RFC in nearly all set-ups.",
)
R2 = Claim(
    "R2",
    "With as many flows of each kind, ECN flows get as many marks as the others lose packets.",
    ["5.1.1", "5.1.2"],
    [
        Statement(
            f"marks over drops, max_p {max_p:g}",
            testbed.gain(signals, testbed.halves(max_p)),
            between(-10, 10),
            PERCENT,
            0.0,
        )
        for max_p in _FAIRNESS_MAX_PS
    ],
    quote="“(when there were equal number of ECN and NON ECN flows) that the number of packets dropped for the NON ECN flows was equal to "
    "the number of packets marked for the ECN flows, showing thereby that the RED algorithm was fair to both kind of flows.” "
    "(section 5.1, page 9)",
    reading="Equal: within 10 %, the study's own bound. The RFC names no max_p: those of its table of fairness are taken.",
    why="RED signals the same share of both kinds' packets (Figure 5.1.1). Flows with ECN send more packets in the same time, so that "
    "they get more marks. The difference grows with max_p, and with min_th 5 it passes 10 % at max_p 0.2. Without fast retransmit "
    "(the alternative) the others send still fewer packets, and marks exceed drops at every max_p.",
)
R3 = Claim(
    "R3",
    "20 MB, Reno, max_p 0.1: ECN's gain rises from 23 % at low to 50 % at high congestion while its absolute advantage falls.",
    ["5.2.1", "5.2.2"],
    [
        *_by_load(lambda load: bulk_gain(load, 0.1), BULK_BY_LOAD["Reno"]),
        Statement("advantage, low over high congestion", Gap(_advantage(LOADS["low"]), _advantage(_HIGH)), above(0), KBPS),
    ],
    quote="“As the congestion level increases, the relative advantage for ECN increases but the absolute advantage decreases […] at "
    "maximum drop probability of 0.1, for example, the relative advantage of ECN increases from 23% to 50% as the congestion level "
    "increases from low to high.” (section 5.2, page 10)",
    reading=_ABOUT,
    why="At low congestion windows are about nine packets, and nine of ten losses are repaired by fast retransmit, which costs little "
    "more than a mark. Without fast retransmit (the alternative) all four statements hold. At high congestion the gain is in the "
    "range with min_th 5 and below it with 25 and 30 (see R4).",
)
R4 = Claim(
    "R4",
    "20 MB, Reno, high congestion: ECN's gain rises from 10 % to 60 % as max_p goes from 0.02 to 0.5.",
    ["5.2.3"],
    _by_max_p(lambda max_p: bulk_gain(_HIGH, max_p), BULK_BY_MAX_P["Reno"]),
    quote="“for the case of high congestion as we vary the drop probability from 0.02 to 0.5 the relative advantage of ECN increases from "
    "10% to 60%.” (section 5.2, page 10)",
    reading=_ABOUT,
    why="The gain at max_p 0.5 follows the thresholds: above or within the range with min_th 5, within it with 10, below it with 25 and "
    "30. RED cannot hold the queue below min_th. A longer queue means larger windows, so that fewer losses wait for a timeout.",
)
R5 = Claim(
    "R5",
    "20 MB, Reno: flows with ECN retransmit hardly anything, and those without it hardly anything after a timeout.",
    ["5.2.5", "5.2.6", "5.2.7"],
    [
        *(
            Statement(f"sent again with ECN, max_p {max_p:g}, {_NAMES[load]}", resent(bulk(load, max_p), WITH), _HARDLY_ANY, PERCENT)
            for load, max_p in ((LOADS["low"], 0.1), (LOADS["moderate"], 0.1), *((_HIGH, max_p) for max_p in testbed.MAX_PS))
        ),
        Statement(
            "runs in which ECN's flow retransmits, max_p 0.02, high congestion",
            with_retransmissions(bulk(_HIGH, 0.02), WITH),
            _MINORITY,
            PERCENT,
        ),
        *(
            Statement(
                f"sent again after timeouts without ECN, max_p 0.1, {_NAMES[load]}",
                resent_by_timeout(bulk(load, 0.1), WITHOUT),
                _HARDLY_ANY,
                PERCENT,
            )
            for load in LOADS.values()
        ),
    ],
    quote="“There were hardly any retransmissions for ECN flows (except the occasional packet drop in a minority of the tests for the case "
    "of high congestion and low maximum drop probability).” “We analyzed tcpdump traces for NON ECN with the help of tcptrace and observed "
    "that there were hardly any retransmits due to timeouts.” (section 5.2, page 10)",
    reading="Hardly any: below 1 % of the packets that the flow sent, the study's own bound, for both sentences. A minority of the tests: "
    "fewer than half of the runs. Low maximum drop probability: 0.02, as section 4.3 defines it.",
    why="Both sentences hold by their size, but at high congestion. Without ECN a flow has a window of about four packets there, and more "
    "than a third of what it sends again follows a timeout. With ns-2's RED (the alternative), which signals less often, it is less than "
    "1 % of what is sent. With ECN and max_p 0.02 a packet or two are sent again in about half of the runs.",
)
R6 = Claim(
    "R6",
    "20 MB, SACK: ECN's gain rises from 5 % to 15 % with congestion at max_p 0.1, and from 10 % to 40 % with max_p at high congestion.",
    ["5.2.2", "5.2.3"],
    [
        *_by_load(lambda load: bulk_gain(load, 0.1, "SACK"), BULK_BY_LOAD["SACK"]),
        *_by_max_p(lambda max_p: bulk_gain(_HIGH, max_p, "SACK"), BULK_BY_MAX_P["SACK"]),
    ],
    quote="“ECN-SACK improves performance from about 5% at low congestion to about 15% at high congestion. In the scenario where high "
    "congestion is maintained and the maximum drop probability is moved from 0.02 to 0.5, the relative advantage of ECN-SACK improves "
    "from 10% to 40%.” (section 5.2, page 11)",
    reading=_ABOUT,
    why="The gains follow the thresholds as for R4. With min_th 5 they are too large at high congestion; with 25 and 30 most of them are "
    "in the ranges or near them. SACK gains nearly as much as Reno in every set-up, where the RFC has about half. Its tests of SACK "
    "ran on other machines.",
)


def _short(hosts: str) -> list[Statement]:
    return [
        *_by_load(lambda load: short_gain(5, load, 0.1, hosts), SHORT_BY_LOAD[hosts]),
        *_by_max_p(lambda max_p: short_gain(5, _HIGH, max_p, hosts), SHORT_BY_MAX_P[hosts]),
    ]


R7 = Claim(
    "R7",
    "5 KB transactions, Reno: ECN's gain rises from 42 % at moderate to 62 % at high congestion with max_p 0.1, and at high congestion "
    "from 20 % to 140 % (0.8 to 2.2 transactions per second) as max_p goes from 0.02 to 0.5.",
    ["5.3.2", "5.3.3", "5.3.4"],
    [
        *_short("Reno"),
        *(
            Statement(
                f"rate with ECN, high congestion, max_p {max_p:g}",
                rate(transactions(5, _HIGH, max_p), WITH),
                about(value),
                PER_SECOND,
                value,
            )
            for max_p, value in RATE_BY_MAX_P.items()
        ),
        Statement(
            "rate with ECN, high congestion, max_p 0.5 over max_p 0.02",
            Gap(rate(transactions(5, _HIGH, 0.5), WITH), rate(transactions(5, _HIGH, 0.02), WITH)),
            above(0),
            PER_SECOND,
            round(RATE_BY_MAX_P[0.5] - RATE_BY_MAX_P[0.02], 1),
        ),
    ],
    quote="“as we increase the congestion from medium congestion (5 congesting flows) to high congestion (10 congesting flows) for a "
    "maximum drop probability of 0.1 the relative gain for ECN increases from 42% to 62%.” “From the case of high congestion for the "
    "5KB flow we observe that the number of transactions per second increases from 0.8 to 2.2 which corresponds to an increase in relative "
    "gain for ECN of 20% to 140%.” (section 5.3, pages 12 and 13)",
    reading=_ABOUT + " The rates are taken for the flow with ECN, which the RFC does not say.",
    why="Gains and rates follow the thresholds. With min_th 5 no statement is contradicted; with 25 and 30 all gains but that at max_p "
    "0.02 are too small. A transaction takes three round trips through a queue of at least min_th packets, and in such a queue losses "
    "are rarer. With 10 and 30 (the alternative), which the rule excludes, hardly any transaction is completed at max_p 0.02.",
)
R8 = Claim(
    "R8",
    "5 KB transactions, SACK: ECN's gain rises from 47 % to 80 % with congestion at max_p 0.1, and from 15 % to 120 % with max_p.",
    ["5.3.3", "5.3.4"],
    _short("SACK"),
    quote="“maintaining the maximum drop probability to 0.1 and increasing the congestion level for the 5KB transaction we noticed that "
    "the relative gain for the ECN enabled flows increases from 47-80%. If we maintain the congestion level for the 5KB transactions and "
    "increase the maximum drop probabilities instead, we notice that SACKs performance increases from 15%-120%.” (section 5.3, page 13)",
    reading=_ABOUT + " The levels of congestion are those of R7, and the constant level is the high one, as the RFC has them for Reno.",
    why="As for R7: with min_th 5 no statement is contradicted, with 25 and 30 the gains are too small.",
)


def _by_size(load: int) -> list[Statement]:
    shortest, longest = RESPONSES_KB[0], RESPONSES_KB[-1]
    gains = Gap(short_gain(shortest, load, 0.1), short_gain(longest, load, 0.1))
    timeouts = Gap(*(by_timeout(transactions(kb, load, 0.1), WITHOUT) for kb in (shortest, longest)))
    return [
        Statement(f"gain, {_NAMES[load]}, {shortest} KB over {longest} KB", gains, above(0), POINTS),
        Statement(f"share of timeouts without ECN, {_NAMES[load]}, {shortest} KB over {longest} KB", timeouts, above(0), POINTS),
    ]


R9 = Claim(
    "R9",
    "ECN's gain is smaller for longer responses, because flows without ECN then recover by fast retransmit more often.",
    ["5.3.5", "5.3.6"],
    [statement for level in ("moderate", "high") for statement in _by_size(LOADS[level])],
    quote="“As the transactional data size increases, ECN's advantage diminishes because the probability of recovering from a Fast "
    "Retransmit increases for NON ECN.” (section 5.3, page 13)",
    reading="The RFC names no level and no max_p: moderate and high congestion at its example, max_p 0.1, between the smallest and the "
    "largest response, 5 and 20 KB.",
    why="As a share of what is sent again, timeouts are rarer in longer responses, as the RFC says. But a longer response has more "
    "packets that can be lost: from 5 to 20 KB the timeouts of a transaction more than double. Both effects cancel, and the gain "
    "differs clearly in hardly any set-up.",
)


def _repeated_drops(load: int) -> Statement:
    return Statement(
        f"windows with a drop that have another, without ECN, {_NAMES[load]}",
        testbed.repeated_drops(testbed.with_events(bulk(load, 0.1)), WITHOUT),
        _NOT_NOTICED,
        PERCENT,
    )


R10 = Claim(
    "R10",
    "20 MB, Reno, without ECN: no window has several drops.",
    ["5.2.8"],
    [_repeated_drops(load) for load in LOADS.values()],
    quote="“An important observation to make from our results is that we do not notice multiple drops within a single window of data. "
    "Thus, we would expect that our results are not heavily influenced by Reno's performance problems with multiple packets dropped from a "
    "window of data.” (section 5.2, page 11)",
    reading="Drops of a flow belong to one window if less than the flow's mean round-trip time lies between the first and the last. Not "
    "noticed: fewer than one in twenty of the windows with a drop, the study's own bound. At the RFC's example, max_p 0.1.",
    why="Linux's RED draws gaps from one packet on, so that two signals can follow each other closely. At high congestion more than one "
    "signal falls into a round trip, and one in twelve hits the same flow again. With ns-2's RED (the alternative), which keeps "
    "signals apart, the statement holds at low and moderate congestion and fails at high congestion.",
)


def _against_reno(where: str, of: Callable[[str], Measured], published: float) -> Statement:
    return Statement(f"gain, SACK over Reno, {where}", Gap(of("SACK"), of("Reno")), between(-_LARGEST_GAP, _LARGEST_GAP), POINTS, published)


# How far the RFC's own gains of SACK lie above those of Reno, in points.
_GAPS_BY_LOAD = {load: SHORT_BY_LOAD["SACK"][load] - value for load, value in SHORT_BY_LOAD["Reno"].items()}
_GAPS_BY_MAX_P = {max_p: SHORT_BY_MAX_P["SACK"][max_p] - value for max_p, value in SHORT_BY_MAX_P["Reno"].items()}
_LARGEST_GAP = max(map(abs, (*_GAPS_BY_LOAD.values(), *_GAPS_BY_MAX_P.values())))

R11 = Claim(
    "R11",
    "5 KB transactions: ECN gains hardly more or less with SACK than with Reno.",
    ["5.3.3", "5.3.4"],
    [
        *(
            _against_reno(f"max_p 0.1, {_NAMES[load]}", lambda hosts, load=load: short_gain(5, int(load), 0.1, hosts), gap)  # type: ignore[misc]
            for load, gap in _GAPS_BY_LOAD.items()
        ),
        *(
            _against_reno(f"high congestion, max_p {max_p:g}", lambda hosts, max_p=max_p: short_gain(5, _HIGH, max_p, hosts), gap)  # type: ignore[misc]
            for max_p, gap in _GAPS_BY_MAX_P.items()
        ),
    ],
    quote="“We repeated these experiments with the kernels implementing SACK/FACK and New Reno algorithms. Our observation was that there "
    "was hardly any difference with what we saw with Reno.” (section 5.3, page 13)",
    reading="Hardly any difference: by no more than the largest difference between the RFC's own numbers for SACK and for Reno, 20 points.",
    why="The gains differ by less than 20 points except at max_p 0.5 with min_th 5, where Reno gains most. There the RFC's own numbers "
    "differ by 20 points.",
)


def _high_bulk_gain(max_p: float) -> Measured:
    return bulk_gain(_HIGH, max_p)


def _high_short_gain(max_p: float) -> Measured:
    return short_gain(5, _HIGH, max_p)


# Where the RFC prints Reno's gain of both kinds of traffic at high congestion: by max_p, how far that of 5 KB is above that of 20 MB.
_BOTH_GAINS: Mapping[float, float] = {
    0.02: SHORT_BY_MAX_P["Reno"][0.02] - BULK_BY_MAX_P["Reno"][0.02],
    0.1: SHORT_BY_LOAD["Reno"][_HIGH] - BULK_BY_LOAD["Reno"][_HIGH],
    0.5: SHORT_BY_MAX_P["Reno"][0.5] - BULK_BY_MAX_P["Reno"][0.5],
}
R12 = Claim(
    "R12",
    "ECN gains more for short transactions than for bulk transfers.",
    ["5.2.3", "5.3.4"],
    [
        *(
            Statement(f"gain, {name}, Reno, high congestion, max_p {max_p:g}", of(max_p), above(0), PERCENT)
            for max_p in _BOTH_GAINS
            for name, of in (("20 MB", _high_bulk_gain), ("5 KB", _high_short_gain))
        ),
        *(
            Statement(
                f"gain, 5 KB over 20 MB, Reno, high congestion, max_p {max_p:g}",
                Gap(short_gain(5, _HIGH, max_p), bulk_gain(_HIGH, max_p)),
                above(0),
                POINTS,
                published,
            )
            for max_p, published in _BOTH_GAINS.items()
        ),
    ],
    quote="“ECN enhancements improve on both bulk and transactional TCP traffic. The improvement is more obvious in short transactional "
    "type of flows (popularly referred to as mice).” (section 6, page 13)",
    reading="At the three settings for which the RFC prints both gains of Reno. Improve: a gain above zero.",
    why="The means have the RFC's sign in most set-ups. But the gain of transactions varies so much between runs of three minutes that "
    "the intervals contain 0, at max_p 0.02 above all. Without fast retransmit (the alternative) bulk transfers gain more.",
)

R13 = Claim(
    "R13",
    "Jain's index falls slightly as max_p grows from 0.02 to 0.2.",
    ["5.1"],
    [
        *(
            Statement(
                f"index, {_of_background(ecn)}, max_p 0.02 over max_p 0.2",
                Gap(_index(0.02, background_ecn=ecn), _index(0.2, background_ecn=ecn)),
                above(0),
                PLAIN,
                FAIRNESS[ecn, 0.02] - FAIRNESS[ecn, 0.2],
            )
            for ecn in (True, False)
        ),
    ],
    quote="“Max Drop Prob 0.02 … 0.996888 … 0.991946; 0.2 … 0.979368 … 0.983342” (the table of section 5.1, page 9)",
    reading="No sentence states it; the table prints it for both kinds of background.",
    why="The fall appears with min_th 5 alone: there a large max_p shortens the queue and with it the windows. With 25 and 30 the queue "
    "stays long, and the index does not change.",
)

CLAIMS = (R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11, R12, R13)
