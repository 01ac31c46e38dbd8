"""Claims R1 to R13 of RFC 2884 as statements about measured quantities. Pages are those of the RFC."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import (
    COUNT,
    DIMENSIONLESS,
    KBPS,
    PER_SECOND,
    PERCENT,
    PERCENT_POINTS,
    Claim,
    ClaimedRange,
    ClaimStatement,
    MeasureDifference,
    MeasuredQuantity,
    ScenarioMeasure,
    claimed_about,
    claimed_above,
    claimed_below,
    claimed_between,
    descending_order_statements,
)
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.rfc2884 import testbed
from ecnlab.studies.papers.rfc2884.published import BULK_BY_LOAD, BULK_BY_MAX_P, FAIRNESS, RATE_BY_MAX_P, SHORT_BY_LOAD, SHORT_BY_MAX_P
from ecnlab.studies.papers.rfc2884.testbed import (
    CONGESTION_LEVELS,
    MAX_PS,
    RESPONSES_KB,
    WITH_ECN,
    WITHOUT_ECN,
    competing_bulk_transfers_scenario,
    competing_transactions_scenario,
    ecn_gain,
    file_throughput_measure,
    share_of_columns,
    sum_of_columns,
    transaction_rate_measure,
)

# RED's signals to the flows with ECN and without.
SIGNAL_OF_KIND = {WITH_ECN: "marks", WITHOUT_ECN: "drops"}
FAST_RETRANSMITS, TIMEOUT_RETRANSMITS = "retransmitted_fast", "retransmitted_timeout"

_NUMBER_READING = "A number of the RFC is read as: from half of it to one and a half"
_ABOUT_READING = _NUMBER_READING + ". A rise is read so too, since otherwise a value that hardly rises could lie in both ranges."
_HIGH_LOAD = CONGESTION_LEVELS["high"]
_LOAD_NAMES: Mapping[float, str] = {count: f"{level} congestion" for level, count in CONGESTION_LEVELS.items()}


def retransmitted_share(need: RequiredScenario, group: str) -> ScenarioMeasure:
    """Retransmissions as a share of the packets that a group sent."""
    return share_of_columns(need, (FAST_RETRANSMITS, TIMEOUT_RETRANSMITS), ("sent",), [{"group": group}])


def timeout_share_of_retransmissions(need: RequiredScenario, group: str) -> ScenarioMeasure:
    """Retransmissions after a timeout as a share of a group's retransmissions."""
    return share_of_columns(need, (TIMEOUT_RETRANSMITS,), (FAST_RETRANSMITS, TIMEOUT_RETRANSMITS), [{"group": group}])


def retransmissions_measure(need: RequiredScenario, group: str) -> ScenarioMeasure:
    """Retransmissions of a group in a run, those of its SYNs included."""
    return sum_of_columns(need, [FAST_RETRANSMITS, TIMEOUT_RETRANSMITS], [{"group": group}])


def runs_with_retransmissions_measure(need: RequiredScenario, group: str) -> ScenarioMeasure:
    """Whether a group retransmitted anything in a run, 1 or 0: its mean is the share of such runs."""

    def has_retransmissions_by_seed(result: Result) -> Sequence[float]:
        counts = zip(result.values(FAST_RETRANSMITS, group=group), result.values(TIMEOUT_RETRANSMITS, group=group), strict=True)
        return [float(fast + timeout > 0) for fast, timeout in counts]

    return ScenarioMeasure(need, has_retransmissions_by_seed)


def congestion_signals_measure(need: RequiredScenario, kind: str) -> ScenarioMeasure:
    """RED's congestion signals to one of two equally large kinds of flows: marks with ECN, drops without."""
    return sum_of_columns(need, [SIGNAL_OF_KIND[kind]], testbed.group_places_of_ecn_kind(kind))


def bulk_throughput_gain(load: int, max_p: float, hosts: str = "Reno") -> MeasuredQuantity:
    """ECN's gain in the throughput of 20 MB."""
    return ecn_gain(file_throughput_measure, competing_bulk_transfers_scenario(load, max_p, hosts))


def transaction_rate_gain(response_kb: int, load: int, max_p: float, hosts: str = "Reno") -> MeasuredQuantity:
    """ECN's gain in transactions per second."""
    return ecn_gain(transaction_rate_measure, competing_transactions_scenario(response_kb, load, max_p, hosts))


def _gain_by_load_statements(of: Callable[[int], MeasuredQuantity], published: Mapping[float, float]) -> list[ClaimStatement]:
    return _gain_and_rise_near_published_statements(
        "max_p 0.1, {}", {_LOAD_NAMES[load]: of(int(load)) for load in published}, list(published.values())
    )


def _gain_by_max_p_statements(of: Callable[[float], MeasuredQuantity], published: Mapping[float, float]) -> list[ClaimStatement]:
    return _gain_and_rise_near_published_statements(
        "high congestion, {}", {f"max_p {max_p:g}": of(max_p) for max_p in published}, list(published.values())
    )


def _gain_and_rise_near_published_statements(
    where: str, gains: Mapping[str, MeasuredQuantity], published: list[float]
) -> list[ClaimStatement]:
    """Statements that a gain's first and last values and its rise are about those of the RFC."""
    (first, low), (last, high) = gains.items()
    printed = published[1] - published[0]
    return [
        *(
            ClaimStatement(f"gain, {where.format(name)}", measured, claimed_about(value), PERCENT, value)
            for (name, measured), value in zip(gains.items(), published, strict=True)
        ),
        ClaimStatement(
            f"gain, {where.format(f'{last} over {first}')}", MeasureDifference(high, low), claimed_about(printed), PERCENT_POINTS, printed
        ),
    ]


def _ecn_throughput_difference(load: int, max_p: float) -> MeasureDifference:
    need = competing_bulk_transfers_scenario(load, max_p)
    return MeasureDifference(*(file_throughput_measure(need, group) for group in (WITH_ECN, WITHOUT_ECN)))


def _measures_by_congestion_level(
    of: Callable[[int, float], MeasuredQuantity], max_p: float, levels: Sequence[str]
) -> dict[str, MeasuredQuantity]:
    return {f"{level} congestion": of(CONGESTION_LEVELS[level], max_p) for level in levels}


_JAIN = "jain_goodput"
_FAIRNESS_MAX_PS = (0.02, 0.05, 0.1, 0.2)
_MAX_P_PAIRS = tuple(combinations(_FAIRNESS_MAX_PS, 2))


def _published_index_change_by_max_p(background_ecn: bool, low: float, high: float) -> float:
    """Difference of the RFC's index between two values of max_p."""
    return round(FAIRNESS[background_ecn, low] - FAIRNESS[background_ecn, high], 6)


def _published_index_change_by_background_ecn(max_p: float) -> float:
    """Difference of the RFC's index between background flows with and without ECN."""
    return round(FAIRNESS[True, max_p] - FAIRNESS[False, max_p], 6)


# The largest differences in the RFC's table: between two max_p with one kind of background, and between the kinds at one max_p.
_LARGEST_CHANGE = max(abs(_published_index_change_by_max_p(ecn, *pair)) for ecn in (True, False) for pair in _MAX_P_PAIRS)
_LARGEST_BIAS = max(abs(_published_index_change_by_background_ecn(max_p)) for max_p in _FAIRNESS_MAX_PS)
# A share: almost all is nine of ten, hardly any the rest.
_FEW_PERCENT = claimed_below(10.0)
_MINORITY_PERCENT = claimed_below(50.0)
# A mean over runs that rounds to 0.
_ALMOST_NONE_PERCENT = claimed_below(0.5)
_OCCASIONAL_PERCENT = claimed_below(1.0)


def _claimed_within_1_5_times(difference: float) -> ClaimedRange:
    """Range of plus or minus 1.5 times a printed difference."""
    limit = round(1.5 * abs(difference), 5)
    return claimed_between(-limit, limit)


def _fairness_index(max_p: float, *, background_ecn: bool) -> ScenarioMeasure:
    return ScenarioMeasure(testbed.fairness_scenario(max_p, background_ecn=background_ecn), _JAIN)


def _index_change_by_max_p_statement(background_ecn: bool, low: float, high: float, wanted: ClaimedRange) -> ClaimStatement:
    indices = (_fairness_index(max_p, background_ecn=background_ecn) for max_p in (low, high))
    return ClaimStatement(
        f"index, background {WITH_ECN if background_ecn else WITHOUT_ECN}, max_p {low:g} over max_p {high:g}",
        MeasureDifference(*indices),
        wanted,
        DIMENSIONLESS,
        _published_index_change_by_max_p(background_ecn, low, high),
    )


R1 = Claim(
    "R1",
    "Jain's index is fairly constant over max_p with both kinds of background flows, and does not depend on their kind.",
    ["5.1"],
    [
        *(
            _index_change_by_max_p_statement(ecn, *pair, _claimed_within_1_5_times(_LARGEST_CHANGE))
            for ecn in (True, False)
            for pair in _MAX_P_PAIRS
        ),
        *(
            ClaimStatement(
                f"index, background with ECN over background without, max_p {max_p:g}",
                MeasureDifference(_fairness_index(max_p, background_ecn=True), _fairness_index(max_p, background_ecn=False)),
                _claimed_within_1_5_times(_LARGEST_BIAS),
                DIMENSIONLESS,
                _published_index_change_by_background_ecn(max_p),
            )
            for max_p in _FAIRNESS_MAX_PS
        ),
    ],
    quote="“The fairness index was fairly constant in both the cases when the background flows were ECN and NON ECN indicating that there "
    "was no bias when the background flows were either ECN or NON ECN.” (section 5.1, page 9; its table has 0.996888 to 0.979368 and "
    "0.991946 to 0.983342 for max_p 0.02 to 0.2)",
    reading="The sentence names no height of the index, so none is asked. Its table shows what it calls fairly constant and no bias: "
    "within a column indices differ by at most 0.01752, and between the columns by at most 0.007701. Each difference may be one and a "
    "half of that, as with every number of the RFC.",
    why="The range holds in every set-up. Indices at two max_p differ by at most 0.012, and those with and without ECN in the "
    "background by at most 0.005.",
)
R2 = Claim(
    "R2",
    "With as many flows of each kind, ECN flows get as many marks as the others lose packets.",
    ["5.1.1", "5.1.2"],
    [
        ClaimStatement(
            f"marks over drops, max_p {max_p:g}",
            testbed.ecn_gain(congestion_signals_measure, testbed.half_ecn_flows_scenario(max_p)),
            claimed_between(-10, 10),
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
    "20 MB, Reno: ECN's gain rises with congestion while its absolute advantage falls; with max_p 0.1 it rises from 23 % at low to 50 % "
    "at high congestion.",
    ["5.2.1", "5.2.2", "5.2.4"],
    [
        *_gain_by_load_statements(lambda load: bulk_throughput_gain(load, 0.1), BULK_BY_LOAD["Reno"]),
        *(
            statement
            for max_p in MAX_PS
            for statement in (
                *descending_order_statements(
                    _measures_by_congestion_level(bulk_throughput_gain, max_p, ("high", "moderate", "low")),
                    PERCENT_POINTS,
                    f"gain, max_p {max_p:g}",
                ),
                *descending_order_statements(
                    _measures_by_congestion_level(_ecn_throughput_difference, max_p, ("low", "moderate", "high")),
                    KBPS,
                    f"advantage, max_p {max_p:g}",
                ),
                ClaimStatement(
                    f"gain, max_p {max_p:g}, high congestion", bulk_throughput_gain(_HIGH_LOAD, max_p), claimed_above(0), PERCENT
                ),
            )
        ),
    ],
    quote="“As the congestion level increases, the relative advantage for ECN increases but the absolute advantage decreases (expected, "
    "since there are more flows competing for the same link resource). ECN still does better than NON ECN even under high congestion. "
    "Infering a sample from the collected results: at maximum drop probability of 0.1, for example, the relative advantage of ECN "
    "increases from 23% to 50% as the congestion level increases from low to high.” (section 5.2, page 10)",
    reading=_NUMBER_READING + ". The rise of 27 points is read so too, since otherwise a "
    "gain that hardly rises could lie in both ranges. The first two sentences name no max_p: they are asked at each one of section 4.3, "
    "and between each level of congestion and the next.",
    why="At low congestion windows are about nine packets, and nine of ten losses are repaired by fast retransmit, which costs "
    "little more than a mark. So the gain is 1 to 13 % there, below the RFC's in nearly all set-ups. Up to high congestion "
    "it grows sixfold in the main set-up, while a flow's throughput falls to a third: at max_p 0.1 the absolute advantage "
    "rises from 10 to 22 kbit/s. Without fast retransmit (the alternative) both gains are in their ranges and the "
    "advantage falls at every max_p, but then the gain rises by 5 points only. At high congestion the gain is in the range "
    "with min_th 5 and 10 and below it with 20, 25 and 30 (see R4).",
)
R4 = Claim(
    "R4",
    "20 MB, Reno, high congestion: ECN's gain rises from 10 % to 60 % as max_p goes from 0.02 to 0.5.",
    ["5.2.3"],
    _gain_by_max_p_statements(lambda max_p: bulk_throughput_gain(_HIGH_LOAD, max_p), BULK_BY_MAX_P["Reno"]),
    quote="“for the case of high congestion as we vary the drop probability from 0.02 to 0.5 the relative advantage of ECN increases from "
    "10% to 60%.” (section 5.2, page 10)",
    reading=_ABOUT_READING,
    why="The gain at max_p 0.5 follows the thresholds: above or within the range with min_th 5, within it with 10 and 20, "
    "below it or at its lower limit with 25 and 30. The rise follows it. RED cannot hold the queue below min_th. A longer "
    "queue means larger windows, so that fewer losses wait for a timeout.",
)
_BULK_NEEDS = {
    f"{_LOAD_NAMES[load]}, max_p {max_p:g}": competing_bulk_transfers_scenario(load, max_p)
    for load in CONGESTION_LEVELS.values()
    for max_p in MAX_PS
}
_EXCEPTED_RUN_NAME = f"{_LOAD_NAMES[_HIGH_LOAD]}, max_p 0.02"
_EXCEPTED_RUN = _BULK_NEEDS[_EXCEPTED_RUN_NAME]
R5 = Claim(
    "R5",
    "20 MB, Reno: flows with ECN retransmit hardly anything, and those without it hardly anything after a timeout.",
    ["5.2.5", "5.2.6", "5.2.7", "5.2.9"],
    [
        *(
            ClaimStatement(
                f"packets sent again with ECN in a transfer, {name}", retransmissions_measure(need, WITH_ECN), _ALMOST_NONE_PERCENT, COUNT
            )
            for name, need in _BULK_NEEDS.items()
            if need is not _EXCEPTED_RUN
        ),
        ClaimStatement(
            f"runs in which ECN's flow retransmits, {_EXCEPTED_RUN_NAME}",
            runs_with_retransmissions_measure(_EXCEPTED_RUN, WITH_ECN),
            _MINORITY_PERCENT,
            PERCENT,
        ),
        ClaimStatement(
            f"packets dropped with ECN in a transfer, {_EXCEPTED_RUN_NAME}",
            sum_of_columns(_EXCEPTED_RUN, ["drops"], [{"group": WITH_ECN}]),
            _OCCASIONAL_PERCENT,
            COUNT,
        ),
        *(
            ClaimStatement(
                f"retransmissions without ECN that follow a timeout, {name}",
                timeout_share_of_retransmissions(need, WITHOUT_ECN),
                _FEW_PERCENT,
                PERCENT,
            )
            for name, need in _BULK_NEEDS.items()
        ),
    ],
    quote="“There were hardly any retransmissions for ECN flows (except the occasional packet drop in a minority of the tests for the case "
    "of high congestion and low maximum drop probability).” “We analyzed tcpdump traces for NON ECN with the help of tcptrace and observed "
    "that there were hardly any retransmits due to timeouts. (Retransmit due to timeouts are inferred by counting the number of 3 DUPACKS "
    "retransmit and subtracting them from the total recorded number of retransmits).” (section 5.2, page 10)",
    reading="Both sentences are asked at each level of congestion and each max_p. With ECN the RFC excepts even an occasional drop in a "
    "minority of the tests. So elsewhere the mean over transfers rounds to no packet: it is below 0.5, and fewer than half of the tests "
    "have any. SYNs count. The exception is high congestion with max_p 0.02, which section 4.3 calls low. There fewer than half of the "
    "tests have retransmissions; occasional is fewer than one drop a test. Without ECN the RFC counts timeouts among all retransmissions. "
    "Hardly any is less than one in ten, so that almost all (nine of ten) are fast.",
    why="With ECN no statement is contradicted at low and moderate congestion, and none with 30 and 90 packets. A "
    "packet of such a flow is dropped only while the average is above max_th. With max_th 60 at high congestion that "
    "brings up to 4 packets sent again in a transfer. Without ECN the sentence holds at low congestion and small max_p "
    "alone. Windows are about nine packets there and four at high congestion, which bring three duplicates too seldom: in "
    "every set-up more than one in ten retransmissions follow a timeout at moderate congestion from max_p 0.05 on, and at "
    "high congestion, up to 81 %. With ns-2's RED (the alternative), which signals less often, this part holds at low "
    "congestion at every max_p. Why the RFC saw hardly any timeouts at high congestion is unknown. Ruled out are the open "
    "parameters and the alternatives.",
)
R6 = Claim(
    "R6",
    "20 MB, SACK: ECN's gain rises from 5 % to 15 % with congestion at max_p 0.1, and from 10 % to 40 % with max_p at high congestion.",
    ["5.2.2", "5.2.3"],
    [
        *_gain_by_load_statements(lambda load: bulk_throughput_gain(load, 0.1, "SACK"), BULK_BY_LOAD["SACK"]),
        *_gain_by_max_p_statements(lambda max_p: bulk_throughput_gain(_HIGH_LOAD, max_p, "SACK"), BULK_BY_MAX_P["SACK"]),
    ],
    quote="“ECN-SACK improves performance from about 5% at low congestion to about 15% at high congestion. In the scenario where high "
    "congestion is maintained and the maximum drop probability is moved from 0.02 to 0.5, the relative advantage of ECN-SACK improves "
    "from 10% to 40%.” (section 5.2, page 11)",
    reading=_ABOUT_READING,
    why="The gains follow the thresholds as for R4. With min_th 5 and 10 they are too large at high congestion; with 25 and 30 "
    "most of them are in the ranges or near them. At low congestion the gain is near 0 with 20 and more packets. SACK "
    "gains nearly as much as Reno in every set-up, where the RFC has about half. Its tests of SACK ran on other machines.",
)


def _transaction_gain_statements(hosts: str) -> list[ClaimStatement]:
    return [
        *_gain_by_load_statements(lambda load: transaction_rate_gain(5, load, 0.1, hosts), SHORT_BY_LOAD[hosts]),
        *_gain_by_max_p_statements(lambda max_p: transaction_rate_gain(5, _HIGH_LOAD, max_p, hosts), SHORT_BY_MAX_P[hosts]),
    ]


def _rate_with_ecn(max_p: float) -> ScenarioMeasure:
    return transaction_rate_measure(competing_transactions_scenario(5, _HIGH_LOAD, max_p), WITH_ECN)


_PUBLISHED_RATE_RISE = round(RATE_BY_MAX_P[0.5] - RATE_BY_MAX_P[0.02], 1)

R7 = Claim(
    "R7",
    "5 KB transactions, Reno: ECN's gain rises from 42 % at moderate to 62 % at high congestion with max_p 0.1, and at high congestion "
    "from 20 % to 140 % (0.8 to 2.2 transactions per second) as max_p goes from 0.02 to 0.5.",
    ["5.3.2", "5.3.3", "5.3.4"],
    [
        *_transaction_gain_statements("Reno"),
        *(
            ClaimStatement(
                f"rate with ECN, high congestion, max_p {max_p:g}",
                _rate_with_ecn(max_p),
                claimed_about(value),
                PER_SECOND,
                value,
            )
            for max_p, value in RATE_BY_MAX_P.items()
        ),
        ClaimStatement(
            "rate with ECN, high congestion, max_p 0.5 over max_p 0.02",
            MeasureDifference(_rate_with_ecn(0.5), _rate_with_ecn(0.02)),
            claimed_about(_PUBLISHED_RATE_RISE),
            PER_SECOND,
            _PUBLISHED_RATE_RISE,
        ),
    ],
    quote="“as we increase the congestion from medium congestion (5 congesting flows) to high congestion (10 congesting flows) for a "
    "maximum drop probability of 0.1 the relative gain for ECN increases from 42% to 62%.” “From the case of high congestion for the "
    "5KB flow we observe that the number of transactions per second increases from 0.8 to 2.2 which corresponds to an increase in relative "
    "gain for ECN of 20% to 140%.” (section 5.3, pages 12 and 13)",
    reading=_ABOUT_READING
    + " The rates are taken for the flow with ECN, which the RFC does not say. Section 5.3 does not name the ends of "
    "max_p either: 0.02 and 0.5 are those of the same observation in section 5.2.",
    why="Gains and rates follow the thresholds. With min_th 5 and 10 no statement is contradicted. With 25 and 30 the gains at "
    "max_p 0.5 and at moderate congestion are too small, and the rate rises by 0.5 at most. With 20 the gains at max_p 0.1 "
    "and 0.5 are too small. A transaction takes three round trips through a queue of at least min_th packets, and in such "
    "a queue losses are rarer. With 10 and 30 (the alternative), which the rule excludes, hardly any transaction is "
    "completed at max_p 0.02.",
)
R8 = Claim(
    "R8",
    "5 KB transactions, SACK: ECN's gain rises from 47 % to 80 % with congestion at max_p 0.1, and from 15 % to 120 % with max_p.",
    ["5.3.3", "5.3.4"],
    _transaction_gain_statements("SACK"),
    quote="“maintaining the maximum drop probability to 0.1 and increasing the congestion level for the 5KB transaction we noticed that "
    "the relative gain for the ECN enabled flows increases from 47-80%. If we maintain the congestion level for the 5KB transactions and "
    "increase the maximum drop probabilities instead, we notice that SACKs performance increases from 15%-120%.” (section 5.3, page 13)",
    reading=_ABOUT_READING
    + " The levels of congestion are those of R7, and the constant level is the high one, as the RFC has them for Reno.",
    why="As for R7: with min_th 5 and 10 no statement is contradicted, with 20, 25 and 30 the gains at max_p 0.1 and 0.5 are too small.",
)


def _gain_and_timeouts_of_short_responses_statements(load: int) -> list[ClaimStatement]:
    shortest, longest = RESPONSES_KB[0], RESPONSES_KB[-1]
    gains = MeasureDifference(transaction_rate_gain(shortest, load, 0.1), transaction_rate_gain(longest, load, 0.1))
    timeouts = MeasureDifference(
        *(timeout_share_of_retransmissions(competing_transactions_scenario(kb, load, 0.1), WITHOUT_ECN) for kb in (shortest, longest))
    )
    return [
        ClaimStatement(f"gain, {_LOAD_NAMES[load]}, {shortest} KB over {longest} KB", gains, claimed_above(0), PERCENT_POINTS),
        ClaimStatement(
            f"share of timeouts without ECN, {_LOAD_NAMES[load]}, {shortest} KB over {longest} KB",
            timeouts,
            claimed_above(0),
            PERCENT_POINTS,
        ),
    ]


R9 = Claim(
    "R9",
    "ECN's gain is smaller for longer responses, because flows without ECN then recover by fast retransmit more often.",
    ["5.3.5", "5.3.6"],
    [
        statement
        for level in ("moderate", "high")
        for statement in _gain_and_timeouts_of_short_responses_statements(CONGESTION_LEVELS[level])
    ],
    quote="“As the transactional data size increases, ECN's advantage diminishes because the probability of recovering from a Fast "
    "Retransmit increases for NON ECN.” (section 5.3, page 13)",
    reading="The RFC names no level and no max_p: moderate and high congestion at its example, max_p 0.1, between the smallest and the "
    "largest response, 5 and 20 KB.",
    why="As a share of what is sent again, timeouts are rarer in longer responses, as the RFC says. But a longer response has more "
    "packets that can be lost: from 5 to 20 KB the timeouts of a transaction more than double. Both effects cancel, and the gain "
    "differs clearly in hardly any set-up.",
)


R10 = Claim(
    "R10",
    "20 MB, Reno, without ECN: no window has several drops.",
    ["5.2.8"],
    [
        ClaimStatement(
            f"windows with several drops in a transfer without ECN, {name}",
            testbed.windows_with_several_drops(testbed.with_event_recording(need), WITHOUT_ECN),
            _ALMOST_NONE_PERCENT,
            COUNT,
        )
        for name, need in _BULK_NEEDS.items()
    ],
    quote="“An important observation to make from our results is that we do not notice multiple drops within a single window of data. "
    "Thus, we would expect that our results are not heavily influenced by Reno's performance problems with multiple packets dropped from a "
    "window of data.” (section 5.2, page 11)",
    reading="Drops of a flow belong to one window if less than the flow's mean round-trip time lies between the first and the last. Not "
    "noticed: the mean over transfers of 20 MB rounds to none (below 0.5). The results are all those of section 5.2, at each level of "
    "congestion and each max_p.",
    why="Linux's RED draws gaps from one packet on, so that two signals can follow each other closely. At high congestion more "
    "than one signal falls into a round trip, and one in twelve hits the same flow again. With ns-2's RED (the "
    "alternative), which keeps signals apart, the statement holds at low congestion, at moderate congestion up to max_p "
    "0.05, and fails elsewhere. Why the RFC noticed none at high congestion is unknown. Ruled out are the open parameters "
    "and the alternatives.",
)


def _gain_against_reno_statement(hosts: str, load: int, max_p: float) -> ClaimStatement:
    difference = _PRINTED_GAPS[load, max_p]
    gap = MeasureDifference(transaction_rate_gain(5, load, max_p, hosts), transaction_rate_gain(5, load, max_p))
    where = f"{_LOAD_NAMES[load]}, max_p {max_p:g}"
    return ClaimStatement(
        f"gain, {hosts} over Reno, {where}",
        gap,
        _claimed_within_1_5_times(difference),
        PERCENT_POINTS,
        difference if hosts == "SACK" else None,
    )


def _published_gains_by_setting(
    by_load: Mapping[str, Mapping[float, float]], by_max_p: Mapping[str, Mapping[float, float]], hosts: str
) -> Mapping[tuple[int, float], float]:
    """The RFC's gains for a kind of host, by level of congestion and max_p."""
    at_high = {(_HIGH_LOAD, max_p): value for max_p, value in by_max_p[hosts].items()}
    return {(int(load), 0.1): value for load, value in by_load[hosts].items()} | at_high


_SHORT_GAINS = {hosts: _published_gains_by_setting(SHORT_BY_LOAD, SHORT_BY_MAX_P, hosts) for hosts in ("Reno", "SACK")}
# The RFC's gains with SACK minus those with Reno, in percentage points, by level of congestion and max_p.
_PRINTED_GAPS = {at: _SHORT_GAINS["SACK"][at] - value for at, value in _SHORT_GAINS["Reno"].items()}

R11 = Claim(
    "R11",
    "5 KB transactions: ECN gains hardly more or less with SACK and with New Reno than with Reno.",
    ["5.3.3", "5.3.4"],
    [_gain_against_reno_statement(hosts, load, max_p) for hosts in ("SACK", "NewReno") for load, max_p in _PRINTED_GAPS],
    quote="“We repeated these experiments with the kernels implementing SACK/FACK and New Reno algorithms. Our observation was that there "
    "was hardly any difference with what we saw with Reno. For example in the case of SACK-ECN enabling: […] the relative gain for the "
    "ECN enabled flows increases from 47-80%. If we maintain the congestion level for the 5KB transactions and increase the maximum drop "
    "probabilities instead, we notice that SACKs performance increases from 15%-120%.” (section 5.3, page 13)",
    reading="At the four settings for which the RFC prints gains (R7 and R8 have them). There its own gains with SACK differ from those "
    "with Reno by 5, 18, -5 and -20 points, and it calls that hardly any difference. So at each setting the difference may be one and a "
    "half of the printed one, in either direction. For New Reno the RFC prints no gains: the same ranges.",
    why="No set-up contradicts a statement. With min_th 25 and 30 gains differ by at most 8 points. Where the claim is "
    "undecided there, an interval is wider than the 7.5 points that the RFC's own differences allow at moderate congestion "
    "and at max_p 0.02. With min_th 5 Reno gains most: at max_p 0.5 by up to 39 points more, where the RFC's own numbers "
    "differ by 20. With 20 and 60 packets a run completes no transaction at max_p 0.02, so that it has no gain.",
)


def _larger_gain_for_short_transfers_statements(hosts: str) -> list[ClaimStatement]:
    """Statements that ECN improves each kind of traffic with a printed gain, and the short one more where both are printed."""
    long, short = _published_gains_by_setting(BULK_BY_LOAD, BULK_BY_MAX_P, hosts), _SHORT_GAINS[hosts]

    def place_text(at: tuple[int, float]) -> str:
        return f"{hosts}, {_LOAD_NAMES[at[0]]}, max_p {at[1]:g}"

    return [
        *(
            ClaimStatement(f"gain, 20 MB, {place_text(at)}", bulk_throughput_gain(*at, hosts), claimed_above(0), PERCENT, value)
            for at, value in long.items()
        ),
        *(
            ClaimStatement(f"gain, 5 KB, {place_text(at)}", transaction_rate_gain(5, *at, hosts), claimed_above(0), PERCENT, value)
            for at, value in short.items()
        ),
        *(
            ClaimStatement(
                f"gain, 5 KB over 20 MB, {place_text(at)}",
                MeasureDifference(transaction_rate_gain(5, *at, hosts), bulk_throughput_gain(*at, hosts)),
                claimed_above(0),
                PERCENT_POINTS,
                value - long[at],
            )
            for at, value in short.items()
            if at in long
        ),
    ]


R12 = Claim(
    "R12",
    "ECN gains for bulk transfers and for short transactions, and more for short transactions.",
    ["5.2.2", "5.2.3", "5.3.3", "5.3.4"],
    [statement for hosts in ("Reno", "SACK") for statement in _larger_gain_for_short_transfers_statements(hosts)],
    quote="“ECN enhancements improve on both bulk and transactional TCP traffic. The improvement is more obvious in short transactional "
    "type of flows (popularly referred to as mice).” (section 6, page 13)",
    reading="Improve: a gain above zero, at each setting for which the RFC prints a gain, with Reno and with SACK. More obvious: a larger "
    "gain, at the three settings for which it prints both.",
    why="No statement is contradicted but with min_th 5 and 10 ms. There bulk transfers gain about 90 % and more at max_p 0.5 (see "
    "R4), and with SACK more than transactions do. Elsewhere no difference is clearly below 0. The gain of transactions "
    "varies so much between runs of three minutes that intervals contain 0, at max_p 0.02 above all. So does the gain of "
    "SACK at low congestion (see R6). Without fast retransmit (the alternative) bulk transfers gain more.",
)

R13 = Claim(
    "R13",
    "Jain's index falls as max_p grows from 0.02 to 0.2: by 0.0175 with ECN in the background and by 0.0086 without it.",
    ["5.1"],
    [
        _index_change_by_max_p_statement(ecn, 0.02, 0.2, claimed_about(_published_index_change_by_max_p(ecn, 0.02, 0.2)))
        for ecn in (True, False)
    ],
    quote="“Max Drop Prob 0.02 … 0.996888 … 0.991946; 0.2 … 0.979368 … 0.983342” (the table of section 5.1, page 9)",
    reading="The table's own numbers, which no sentence repeats: the two falls are the differences between its rows. "
    + _NUMBER_READING
    + ".",
    why="With ECN in the background the index falls with min_th 5 alone, by 0.003 to 0.010, where the RFC has 0.0175. There a "
    "large max_p shortens the queue and with it the windows. With 25 and 30 the queue stays long, and the index changes by "
    "at most 0.005 either way. The fall without ECN is in its range in two set-ups with min_th 5. Why the RFC's falls are "
    "larger is unknown: they are so in no open parameter and no alternative.",
)

CLAIMS = (R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11, R12, R13)
