"""The claims of chapter 5 on RED, ECN and AECN: A10 to A19 and A23 to A28."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean, linear_regression

from ecnlab.scenarios.networks import BOTTLENECK, GROUPS
from ecnlab.studies.framework.claims import (
    COUNT,
    DIMENSIONLESS,
    MBPS,
    PERCENT,
    SECONDS,
    Claim,
    ClaimedRange,
    ClaimStatement,
    CombinedMeasure,
    DisplayUnit,
    MeasureDifference,
    MeasuredQuantity,
    RelativeChange,
    ScenarioMeasure,
    claimed_about,
    claimed_above,
    claimed_at_least,
    claimed_at_most,
    claimed_below,
    claimed_between,
    descending_order_statements,
    largest_level_statements,
)
from ecnlab.studies.papers.aecn.claims4 import UNFAIR_STATEMENTS
from ecnlab.studies.papers.aecn.drop_periods import ECN_60_FLOWS, PAUSE_S, longest_drop_period_s, number_of_drop_periods
from ecnlab.studies.papers.aecn.extremes import MeasureAtExtremeSetting
from ecnlab.studies.papers.aecn.published import MAX_TH_30_TO_50, values_of_table_5_1
from ecnlab.studies.papers.aecn.ratios import ALPHAS, aecn_measure_at_alpha
from ecnlab.studies.papers.aecn.refinements import BASE_MAX_PS, MAX_THS, ROBUST_MIN_THS, aecn2_measure, aecn3_measure, aecn4_measure
from ecnlab.studies.papers.aecn.schemes import GOODPUT, JAIN, THROUGHPUT, change_between_schemes, required_scheme_scenario, scheme_measure
from ecnlab.studies.papers.aecn.sweeps import DELAY, FLOW_COUNTS, FLOW_COUNTS_WITHOUT_LOCKOUT, MAX_PS, smallest_over_largest_group

_JAIN_UNIT, _GROUP_NAMES = "Jain's index", "smallest over largest group"


def _robust_above_fragile_statements(name: str) -> ClaimStatement:
    """That the robust group's goodput is far above the fragile group's (Figure 5.5)."""
    change = RelativeChange(*(scheme_measure(GOODPUT, name, 60, group=group) for group in ("robust", "fragile")))
    return ClaimStatement(f"goodput, chapter 5, {name}, 60 flows, max_p 0.5: robust over fragile", change, claimed_at_least(50), PERCENT)


A10 = Claim(
    "A10",
    "RED and ECN are unfair to fragile and average flows: robust flows have clearly more goodput. On chapter 5's network the gap between "
    "robust and fragile flows is obvious.",
    ["4.16", "4.17", "4.18", "5.5"],
    [*UNFAIR_STATEMENTS, *(_robust_above_fragile_statements(name) for name in ("ECN", "RED"))],
    quote=(
        "“In the simulations studied, neither RED nor ECN mechanism is fairer to fragile and average flows.” (section 4.5, page 41); “the "
        "visual max-min fairness observed from this figure for both algorithms is relatively low since the gap between the goodput of "
        "robust flow group and fragile flow group is so obvious” (section 5.5, page 51)"
    ),
    reading=(
        "The groups' goodput over the whole measured time, in the settings of these figures. “Fairer” of the first sentence is “fair” "
        "where section 6.1 repeats it. Unfair is by 5 % or more, since less is a slight difference of goodput. The second sentence is on "
        "the robust and the fragile group alone. Its gap is “so obvious” that fairness is low: that is by half or more, as in A26, whose "
        "sentence is “It's obvious that the lockout phenomenon become much heavier”."
    ),
)


def _aecn_alpha_1_over_ecn_statement(flows: int, quantity: str, words: str, shown: DisplayUnit) -> ClaimStatement:
    """AECN with alpha 1 over ECN, with Table 5.1's difference as the published value."""
    published = round(values_of_table_5_1(quantity, "AECN, alpha 1")[flows] - values_of_table_5_1(quantity, "ECN")[flows], 6)
    measured = MeasureDifference(scheme_measure(quantity, "AECN, alpha 1", flows), scheme_measure(quantity, "ECN", flows))
    return ClaimStatement(f"{flows} flows: {words}, AECN with alpha 1 over ECN", measured, claimed_about(published), shown, published)


A11 = Claim(
    "A11",
    "Mark-front alone, which is AECN with alpha = beta = 1, has a little higher goodput and Jain's index than ECN at 60 and 120 flows: by "
    "about as much as Table 5.1 prints.",
    ["Table 5.1"],
    [
        _aecn_alpha_1_over_ecn_statement(flows, *of)
        for flows in (60, 120)
        for of in ((JAIN, "Jain's index", DIMENSIONLESS), (GOODPUT, "goodput", MBPS))
    ],
    quote=(
        "“AECN with marking-front strategy has a little higher goodput and Jain's fairness index (See the statistics in table 5.1) than "
        "standard ECN, which uses marking-tail strategy.” (section 5.6.1, page 60)"
    ),
    reading=(
        "Jain's index over throughput (section 3.1.3), mean of intervals of 1 s. How much a little is, the table says, to which the "
        "sentence points: each of its gains is read as about that."
    ),
    why=(
        "In goodput, and at 120 flows, gains are of the printed size in every set-up. At 60 flows the index gains about half of the "
        "printed 0.0105, in ns-2 0.006: that is at the lower limit, and single runs differ by as much. Where the packets carry the "
        "last round-trip time, with one count for each group, the index falls."
    ),
)


def _regression_slope_over_parameter(at: Callable[[float], MeasuredQuantity], xs: Sequence[float]) -> CombinedMeasure:
    """The slope of the straight line through a quantity at several values of a parameter."""
    return CombinedMeasure(lambda ys: linear_regression(xs, ys).slope, [at(x) for x in xs])


def _best_alpha_statements(best: float, words: str, at: Callable[[float], MeasuredQuantity], setting: str) -> list[ClaimStatement]:
    """That a quantity is larger at this alpha than at each of the others."""
    return largest_level_statements(f"alpha {best:g}", {f"alpha {alpha:g}": at(alpha) for alpha in ALPHAS}, setting=f"{setting}, {words}")


def _falls_above_alpha_2_5_statement(
    words: str, at: Callable[[float], MeasuredQuantity], setting: str, shown: DisplayUnit = DIMENSIONLESS
) -> ClaimStatement:
    """That a quantity tends to decrease where alpha is above 2.5."""
    alphas = [alpha for alpha in ALPHAS if alpha >= 2.5]
    return ClaimStatement(
        f"{setting}, {words}: slope of the line from alpha 2.5 to 3", _regression_slope_over_parameter(at, alphas), claimed_below(0), shown
    )


def _jain_peak_at_alpha_2_5_statements(flows: int) -> list[ClaimStatement]:
    at = partial(aecn_measure_at_alpha, JAIN, flows)
    return [
        *_best_alpha_statements(2.5, _JAIN_UNIT, at, f"{flows} flows"),
        _falls_above_alpha_2_5_statement(_JAIN_UNIT, at, f"{flows} flows"),
    ]


A12 = Claim(
    "A12",
    "AECN's Jain index is highest at alpha = beta = 2.5 and tends to decrease beyond, for 60 and for 120 flows. For 120 flows goodput "
    "tends to decrease beyond, too.",
    ["5.16", "5.18", "5.19"],
    [
        *_jain_peak_at_alpha_2_5_statements(60),
        *_jain_peak_at_alpha_2_5_statements(120),
        _falls_above_alpha_2_5_statement("goodput", partial(aecn_measure_at_alpha, GOODPUT, 120), "120 flows", MBPS),
    ],
    quote=(
        "“AECN has the highest Jain's fairness index at the point of α of 2.5 and tends to decrease after this point” (60 flows; section "
        "5.6.1, page 57); “When α is equal to 2.5, AECN still gets the highest Jain's fairness index, and when α is above 2.5, the goodput "
        "and Jain's fairness index of AECN tends to decrease.” (120 flows; page 58)"
    ),
    reading=(
        "Highest is above each of the six other values of alpha. That a quantity tends to decrease beyond 2.5 is read of the straight line "
        "through its values at 2.5, 2.6, 2.8 and 3: its slope is negative."
    ),
    why=(
        "The index rises up to 2, at 60 flows by 0.007 more up to 2.5, and is level from there to 3: differences are within 0.003, "
        "and their intervals contain 0. From beta = 2 on the robust group's max_p, the smaller of 0.5 beta and 1, is 1: runs with "
        "beta 2 and 2.5 are identical. Beyond 2 alpha alone acts, and hardly moves the index. With one count for the router the "
        "index is best below 2.5. With one for each group and the last round-trip time it is highest at 2.8 at 60 flows, by 0.004."
    ),
)


def _difference_aecn_over_ecn(quantity: str, flows: int, max_p: float = 0.5) -> MeasureDifference:
    """AECN over ECN, as a relative change."""
    return MeasureDifference(scheme_measure(quantity, "AECN", flows, max_p), scheme_measure(quantity, "ECN", flows, max_p))


def _rate_aecn_over_ecn_statements(quantity: str, name: str) -> list[ClaimStatement]:
    return [
        ClaimStatement(
            f"{flows} flows, base max_p {max_p:g}: {name}, AECN over ECN",
            _difference_aecn_over_ecn(quantity, flows, max_p),
            claimed_above(0),
            MBPS,
        )
        for max_p in MAX_PS
        for flows in FLOW_COUNTS_WITHOUT_LOCKOUT
    ]


A13 = Claim(
    "A13",
    "AECN keeps a higher goodput and throughput than ECN as the number of flows grows, up to 240.",
    ["5.20", "5.21", "5.22", "5.23"],
    [*_rate_aecn_over_ecn_statements(GOODPUT, "goodput"), *_rate_aecn_over_ecn_statements(THROUGHPUT, "throughput")],
    quote=(
        "“AECN keeps getting higher goodput than ECN when the number of flows increases.” (section 5.6.2.1, page 60); “AECN can also keep "
        "getting higher throughput than standard ECN.” (section 5.6.2.2, page 63)"
    ),
    reading=(
        "Within the unlockout range, which section 5.5 (page 55) sets at 240 flows and below. Neither sentence names it, but section "
        "5.2.2.3 (page 44) limits all such comparisons to it: “it doesn't make sense to compare the performance of AECN and ECN, and RED, "
        "beyond the unlockout range”."
    ),
    why=(
        "From 120 flows on it holds, and with base max_p 0.8 and one count for each group for fewer too. With base max_p 0.5 and 30 "
        "flows the robust group's max_p is 1, and the queue is empty more often than ECN's. With beta = 1 AECN is ahead of ECN "
        "there (9.68 and 9.62 Mbit/s; 9.51 with beta = 2.5; seeds 1 to 10). With 60 flows both nearly fill the link and are level. "
        "With one count for the router the fragile group gets the most (A14), and AECN is behind at 60 flows."
    ),
)

A14 = Claim(
    "A14",
    "AECN's fairness index is more than 10 % above ECN's up to 240 flows.",
    ["5.29", "5.30"],
    [
        ClaimStatement(
            f"{flows} flows, base max_p {max_p:g}: Jain's index, AECN over ECN",
            change_between_schemes(JAIN, "AECN", "ECN", flows, max_p),
            claimed_above(10),
            PERCENT,
        )
        for max_p in MAX_PS
        for flows in FLOW_COUNTS_WITHOUT_LOCKOUT
    ],
    quote=(
        "“As shown in both figures, within the unlockout range, AECN has higher than 10% improvement on Jain's fairness index.” "
        "(section 5.6.2.3, page 65)"
    ),
    reading="The unlockout range is 240 flows and below (section 5.5, page 55).",
    why=(
        "With one count for the router, as appendix B prints it, the fragile group gets the most, and the index is below ECN's "
        "at 30 and 60 flows. With one count for each group all gains are above 10 %, the smallest at 30 flows with base max_p "
        "0.8; there the last round-trip time in the packets gives 7 % (seeds 1 to 6)."
    ),
)


# Section 5.5 names three periods with drops in Figure 5.7, around second 50, 67 and 78: two of them are 11 s apart.
_NAMED_PERIODS = 3

A15 = Claim(
    "A15",
    "AECN drops fewer packets than ECN and marks more. At 60 flows AECN has no drop after 20 s, and ECN has drops in several short "
    "periods.",
    ["5.6", "5.7", "5.9", "5.10", "5.24", "5.25", "5.26", "5.27"],
    [
        *(
            ClaimStatement(f"{flows} flows: {signals}, AECN over ECN", _difference_aecn_over_ecn(signals, flows), wanted, COUNT)
            for signals, wanted in (("drops", claimed_below(0)), ("marks", claimed_above(0)))
            for flows in (60, 120)
        ),
        ClaimStatement(
            "60 flows: runs of AECN without a drop",
            ScenarioMeasure(required_scheme_scenario("AECN", 60), lambda result: [float(drops == 0) for drops in result.values("drops")]),
            claimed_at_least(50),
            PERCENT,
        ),
        ClaimStatement(
            "60 flows: number of periods with drops in a run of ECN",
            ScenarioMeasure(ECN_60_FLOWS, number_of_drop_periods),
            claimed_between(_NAMED_PERIODS - 0.5, 1.5 * _NAMED_PERIODS),
            COUNT,
            published=_NAMED_PERIODS,
        ),
        ClaimStatement(
            "60 flows: length of the longest period with drops in a run of ECN",
            ScenarioMeasure(ECN_60_FLOWS, longest_drop_period_s),
            claimed_below(PAUSE_S),
            SECONDS,
        ),
    ],
    quote=(
        "“AECN has fewer packet-drops than ECN, but more packet-marks than ECN. As shown in Figure 5.25, when the number of flows is 60, "
        "AECN has no drop after the 20th second, while ECN has drop occurrence in several short periods (See Figure 5.7).” (section "
        "5.6.2.2, page 63); “Figure 5.7 shows that there are packet drops around at second 50, 67 and 78.” (section 5.5, page 52)"
    ),
    reading=(
        "Packets from 20 s to 100 s: the thesis discards what was collected in the first 20 s (section 3.3). It shows one run of each: "
        "that AECN's has no drop is read of at least half of our runs. Drops are of one period if less than 5.5 s lie between them, half "
        "of the smallest pause that the thesis names. Several is about the three periods that section 5.5 names, and more than two: a "
        "mean that rounds to three or more, at most one and a half of three. Short is shorter than the pauses: below 5.5 s."
    ),
    why=(
        "At 60 flows AECN marks fewer packets than ECN, in ns-2 too. Marking at the front has that effect: with alpha = beta = 1 "
        "AECN marks as few (12 900; ECN 13 600; seeds 1 to 10), since senders answer sooner and the queue is shorter. In the main "
        "set-up 45 % of the runs have no drop, and the thesis shows one run. With one count for the router AECN drops more than ECN "
        "at 60 flows. Its average still reaches max_th at times (A25)."
    ),
)


_QUEUE_DELAY_CHANGES = [
    change_between_schemes("sojourn_mean_s", "AECN", "ECN", flows, queue=BOTTLENECK) for flows in FLOW_COUNTS if flows > 120
]

A16 = Claim(
    "A16",
    "AECN's one-way delay is below ECN's when flows are fewer than 60. When they are many, its queue delay may be slightly above ECN's.",
    ["5.31"],
    [
        *(
            ClaimStatement(
                f"30 flows: delay of {group} flows, AECN over ECN",
                change_between_schemes(DELAY, "AECN", "ECN", 30, group=group),
                claimed_below(0),
                PERCENT,
            )
            for group in GROUPS
        ),
        ClaimStatement(
            "queue delay, AECN over ECN, with 240 or 480 flows, whichever is more",
            MeasureAtExtremeSetting(max, _QUEUE_DELAY_CHANGES),
            ClaimedRange(0, 5, "above 0 and below 5", open=True),
            PERCENT,
        ),
    ],
    quote=(
        "“when the number of flows is low, like below 60 flows, AECN has lower delay than standard ECN since AECN uses mark-front "
        "strategy. But when the number of flows is really high and the congestion is heavy, AECN may have slightly higher queue delay.” "
        "(section 5.6.2.4, pages 66 and 67)"
    ),
    reading=(
        "Below 60 flows are the 30 of the figure. Many are its 240 and 480. That the queue delay may be higher there is read of the one of "
        "the two with the larger change; the mean of all other runs chooses it for a run. Queue delay is the mean wait of packets in the "
        "router. Slightly is by less than 5 %, a bound of ours."
    ),
    why=(
        "With 240 or 480 flows AECN's queue delay is above ECN's in every set-up, but by 11 to 18 %, not slightly. Cause unknown. "
        "Ruled out: the open parameters, robust flows below 90 ms (17 %) and gentle (10 %). The senders of ns-2 2.35 and the "
        "smallest round-trip time in the packets come nearest, with 5 to 6 %. With 30 flows and one count for the router, as "
        "appendix B prints it, the fragile group gets the most, and the queue is longer than ECN's: robust flows wait by 3 % more "
        "in all. With one count for each group their delay is below ECN's, whichever round-trip time the packets carry."
    ),
)

A17 = Claim(
    "A17",
    "At 60 flows AECN2's fairness index is below AECN's, whatever its base max_p.",
    ["5.33", "5.29"],
    [
        ClaimStatement(
            f"base max_p {base:g}: Jain's index, AECN2 over AECN",
            MeasureDifference(aecn2_measure(JAIN, base), scheme_measure(JAIN, "AECN", 60)),
            claimed_below(0),
        )
        for base in BASE_MAX_PS
    ],
    quote=(
        "“Compared these results with that in Figure 5.29, Jain's fairness index in Figure 5.32 is always lower than that at 60 flows in "
        "Figure 5.29.” (section 5.7.1, page 68)"
    ),
    reading="The figure of Jain's index is 5.33 by its caption. AECN has alpha = beta = 2.5 and base max_p 0.5, as in Figure 5.29.",
    why=(
        "With one count for the router, as appendix B prints it, the fragile group gets the most under AECN, whose index falls "
        "by so much that AECN2, whose ratios follow the queue, is fairer. With one count for each group it holds with real and "
        "with whole ratios."
    ),
)


def _group_fairness_at_min_th(flows: int, *min_ths: float) -> MeasuredQuantity:
    """Fairness between groups at a robust min_th; at several of them, from the mean goodput that each group has there."""
    return smallest_over_largest_group(
        lambda group: CombinedMeasure(fmean, [aecn3_measure(GOODPUT, flows, int(at), group) for at in min_ths])
    )


def _fairness_trend_with_min_th_statement(
    flows: int, fairness: Callable[[int, float], MeasuredQuantity], words: str, wanted: ClaimedRange
) -> ClaimStatement:
    """Slope of fairness against the robust group's min_th."""
    text = f"{flows} flows, {words}: slope of the line over min_th 1 to 10"
    return ClaimStatement(text, _regression_slope_over_parameter(partial(fairness, flows), ROBUST_MIN_THS), wanted)


def _group_fairness_peak_at_min_th_statements(flows: int, best: Sequence[int], name: str) -> list[ClaimStatement]:
    """Statements that the groups are closest at the best min_th, or between the best two."""
    levels = {f"min_th {at}": _group_fairness_at_min_th(flows, at) for at in ROBUST_MIN_THS if at not in best}
    return largest_level_statements(
        name, {name: _group_fairness_at_min_th(flows, *best), **levels}, setting=f"{flows} flows, {_GROUP_NAMES}"
    )


A18 = Claim(
    "A18",
    "AECN3: with the robust group's min_th fairness tends to rise at 60 flows, and Jain's index to fall at 120. The groups are closest at "
    "min_th 9 with 60 flows, and between 2 and 3 with 120.",
    ["5.35", "5.36", "5.37", "5.38"],
    [
        _fairness_trend_with_min_th_statement(60, partial(aecn3_measure, JAIN), _JAIN_UNIT, claimed_above(0)),
        _fairness_trend_with_min_th_statement(120, partial(aecn3_measure, JAIN), _JAIN_UNIT, claimed_below(0)),
        _fairness_trend_with_min_th_statement(60, _group_fairness_at_min_th, _GROUP_NAMES, claimed_above(0)),
        *_group_fairness_peak_at_min_th_statements(60, [9], "min_th 9"),
        *_group_fairness_peak_at_min_th_statements(120, [2, 3], "between min_th 2 and 3"),
    ],
    reading=(
        "That fairness tends to rise or fall is read of the straight line through its values at min_th 1 to 10. How close the groups are, "
        "by eye in the thesis, is the goodput of the smallest group over that of the largest. At min_th 9 they are closer than at each "
        "other value. Between 2 and 3 is the middle of the lines that the figure draws from one to the other; there they are closer than "
        "at each value outside."
    ),
    quote=(
        "“Jain's fairness index for AECN3 with 60 flows tends to increase when min_th increases, while Jain's fairness index for AECN3 "
        "with 120 flows tends to decrease when min_th increases … In Figure 5.36, increasing min_th makes the goodput distribution among "
        "the three flow groups come closer, especially at point of min_th=9 packets, where the visual max-min fairness is also the best "
        "for 60 flows” (section 5.7.2, page 70); “The visual max-min fairness is the best when min_th lies between points of 2 packets and "
        "3 packets.” (120 flows; page 71)"
    ),
    why=(
        "At 60 flows the groups come closest at a min_th of 6 to 8, in ns-2 too: from 8 on robust flows are ahead. Robust flows "
        "whose round-trip time exceeds 75 ms with the queue are marked as average ones. With the border at 90 ms the groups are "
        "closest at 9 (0.93; 0.78 at 6, 0.90 at 10; seeds 1 to 6). With 75 ms both kinds of fairness fall with min_th at 120 flows, the "
        "second by little from 1 to 4."
    ),
)


def _change_with_max_th_statement(quantity: str, words: str, group: str | None = None) -> ClaimStatement:
    published = MAX_TH_30_TO_50[words]
    change = RelativeChange(aecn4_measure(quantity, 120, 50, group), aecn4_measure(quantity, 120, 30, group))
    return ClaimStatement(f"{words}, max_th 50 over 30", change, claimed_about(published), PERCENT, published)


A19 = Claim(
    "A19",
    "AECN4: raising max_th from 30 to 50 packets at 120 flows gains about 7 % of goodput and of Jain's index and costs about 17 / 8 / 7 % "
    "of one-way delay for robust / average / fragile flows.",
    ["5.41", "5.43", "5.44"],
    [
        _change_with_max_th_statement(GOODPUT, "goodput"),
        _change_with_max_th_statement(JAIN, "Jain's index"),
        *(_change_with_max_th_statement(DELAY, f"delay of {group} flows", group) for group in reversed(GROUPS)),
    ],
    quote=(
        "“for 120 flows, when max_th increases from 30 packets to 50 packets, the goodput and Jain's fairness index both increase about "
        "7%, while the one-way delays of robust, average and fragile flows increase about 17%, 8% and 7%” (section 5.7.3, pages 74 and 75)"
    ),
    reading="The robust group's min_th is 3 packets, as the text sets it for 120 flows.",
    why=(
        "The gains are of that size. The delays grow by half as much again and more, in ns-2 too: the average queue follows "
        "max_th packet for packet, from 22.8 to 42.7, which is 16 ms for every group. The thesis' delays are near those of "
        "max_th 40 here. Cause unknown; with the smallest round-trip time in the packets the delays are as printed, but the "
        "gains are not (the alternative)."
    ),
)


def _relative_changes_ecn_over_red(quantity: str) -> list[RelativeChange]:
    """ECN over RED with max_p 0.8, at each number of flows."""
    return [change_between_schemes(quantity, "ECN", "RED", flows, 0.8) for flows in FLOW_COUNTS]


_THROUGHPUT_GAINS, _GOODPUT_GAINS = _relative_changes_ecn_over_red(THROUGHPUT), _relative_changes_ecn_over_red(GOODPUT)

A23 = Claim(
    "A23",
    "With max_p 0.8 ECN has less throughput than RED in some range of the number of flows, and still more goodput in this range.",
    ["5.12", "5.4"],
    [
        ClaimStatement(
            "max_p 0.8: throughput, ECN over RED, where ECN's throughput is least beside RED's",
            MeasureAtExtremeSetting(min, _THROUGHPUT_GAINS),
            claimed_below(0),
            PERCENT,
        ),
        ClaimStatement(
            "max_p 0.8: the least goodput, ECN over RED, of all numbers of flows where ECN's throughput is below RED's",
            MeasureAtExtremeSetting(min, _GOODPUT_GAINS, below_zero=_THROUGHPUT_GAINS),
            claimed_above(0),
            PERCENT,
        ),
    ],
    quote=(
        "“when max_p is equal to 0.8, ECN may get less aggregate throughput than RED in some range of the number of flows. Nevertheless, "
        "ECN still has better goodput than RED in this range.” (section 5.5, page 55)"
    ),
    reading=(
        "The range is not named. It is read as all numbers of flows, of the five of Figure 5.12, at which ECN's throughput is below RED's: "
        "there is one if the least throughput is below RED's, and goodput has to be above RED's at each of them. The mean of all other "
        "runs chooses the number for a run, since the least value within one run is also small by chance."
    ),
    why=(
        "There is such a range from 120 flows on. With 120 and 240 flows goodput is above RED's by 13 and 4 %. With 480 the gain of "
        "0.6 % is smaller than its interval of 0.9 %, so that 20 runs do not decide. In this range the average reaches max_th, "
        "where ECN drops every packet as RED does. The test: with gentle (alternative), which spares such drops, ECN's throughput "
        "is below RED's at no number of flows."
    ),
)

A24 = Claim(
    "A24",
    "At 120 flows AECN locks flows out for less time than ECN.",
    ["5.9", "5.10", "5.26", "5.27"],
    [
        ClaimStatement(
            "120 flows: time locked out, AECN over ECN",
            change_between_schemes("lockout_s", "AECN", "ECN", 120),
            claimed_below(0),
            PERCENT,
        )
    ],
    quote=(
        "“This results shows that AECN can, to some extent, further alleviate the occurrence of lockout phenomenon” (of 120 flows; section "
        "5.6.2.2, page 63)"
    ),
    reading="A flow is locked out while it delivers nothing for 10 round-trip times and at least 1 s; the times of all flows are added.",
    why="It holds but with one count for the router and the last round-trip time in the packets, where the two schemes are level.",
)

A25 = Claim(
    "A25",
    "AECN4's goodput is almost 10 Mbit/s at 60 flows with max_th above 40 packets, and at 120 flows with max_th above 50.",
    ["5.42", "5.43"],
    [
        ClaimStatement(f"{flows} flows, max_th {max_th}: goodput", aecn4_measure(GOODPUT, flows, max_th), claimed_at_least(9.9), MBPS)
        for flows, least in ((60, 40), (120, 50))
        for max_th in MAX_THS
        if max_th > least
    ],
    quote=(
        "“AECN4 with 60 flows gets the goodput almost close to 10 Mbps while max_th is above 40 packets. In Figure 5.43, AECN4 with 120 "
        "flows gets almost perfect goodput when max_th is above 50 packets.” (section 5.7.3, page 74)"
    ),
    reading=(
        "Almost is 9.9 Mbit/s and more, a bound of ours that was fixed before the claim was run. 9.8 is too little: Table 5.1 has 9.82 "
        "Mbit/s for plain ECN at 60 flows with max_th 30, and AECN4's larger max_th is to give more than that."
    ),
    why=(
        "With one count for each group goodput at 120 flows is just below the bound: 9.88 Mbit/s with max_th 60 and 9.89 with 70; "
        "where the packets carry the last round-trip time, 9.85 with 60. With one count for the router it is 9.6 to 9.8 Mbit/s, and "
        "with 60 flows and max_th 50 9.85 to 9.88: the average still reaches max_th at times, where every packet is dropped."
    ),
)


def _lockout_per_flow(name: str, flows: int) -> CombinedMeasure:
    return CombinedMeasure(lambda values: values[0] / flows, [scheme_measure("lockout_s", name, flows)])


def _marks_and_drops(name: str, flows: int) -> CombinedMeasure:
    return CombinedMeasure(sum, [scheme_measure(column, name, flows) for column in ("marks", "drops")])


def _lockouts_and_signals_heavier_statements(name: str) -> list[ClaimStatement]:
    """That lockouts and signals are heavier with 120 flows than with 60."""
    lockouts = RelativeChange(_lockout_per_flow(name, 120), _lockout_per_flow(name, 60))
    signals = MeasureDifference(_marks_and_drops(name, 120), _marks_and_drops(name, 60))
    return [
        ClaimStatement(f"{name}: time that a flow is locked out, 120 over 60 flows", lockouts, claimed_at_least(50), PERCENT),
        ClaimStatement(f"{name}: packets marked or dropped, 120 over 60 flows", signals, claimed_above(0), COUNT),
    ]


A26 = Claim(
    "A26",
    "Lockouts are much heavier with 120 flows than with 60, and more packets are dropped or marked, under ECN and under RED.",
    ["5.6", "5.7", "5.8", "5.9", "5.10", "5.11"],
    [statement for name in ("ECN", "RED") for statement in _lockouts_and_signals_heavier_statements(name)],
    quote=(
        "“It's obvious that the lockout phenomenon become much heavier for 120 flows than that for 60 flows, and more packets get dropped "
        "or marked.” (section 5.5, page 52)"
    ),
    reading=(
        "A flow is locked out while it delivers nothing for 10 round-trip times and at least 1 s; the time is taken for each flow. Much "
        "heavier is by half and more, a bound of ours."
    ),
)


def _group_fairness_at_alpha(flows: int, alpha: float) -> MeasuredQuantity:
    return smallest_over_largest_group(lambda group: aecn_measure_at_alpha(GOODPUT, flows, alpha, group))


def _fairness_rises_to_alpha_2_6_statements() -> list[ClaimStatement]:
    """Statements that with 60 flows fairness between groups rises with each step of alpha up to 2.6 and falls beyond."""
    levels = {alpha: (f"alpha {alpha:g}", _group_fairness_at_alpha(60, alpha)) for alpha in ALPHAS}
    upwards = dict(level for alpha, level in reversed(levels.items()) if alpha <= 2.6)
    beyond = dict(level for alpha, level in levels.items() if alpha >= 2.6)
    setting = f"60 flows, {_GROUP_NAMES}"
    return [*descending_order_statements(upwards, setting=setting), *largest_level_statements("alpha 2.6", beyond, setting=setting)]


A27 = Claim(
    "A27",
    "AECN's groups come closer as alpha = beta grows up to 2.6, where they are closest, for 60 flows. For 120 flows they are closest at "
    "2.6, too.",
    ["5.17", "5.19"],
    [
        *_fairness_rises_to_alpha_2_6_statements(),
        *_best_alpha_statements(2.6, _GROUP_NAMES, partial(_group_fairness_at_alpha, 120), "120 flows"),
    ],
    quote=(
        "“when α is below 2.6, AECN comes to behave better on the visual max-min fairness with α increasing, and reaches the best when a "
        "is equal to 2.6” (60 flows; section 5.6.1, page 57); “the visual max-min fairness at the point of 2.6 is the best” (120 flows; "
        "page 58)"
    ),
    reading=(
        "How close the groups are, by eye in the thesis, is the goodput of the smallest group over that of the largest. For 60 flows it "
        "grows with each step of alpha up to 2.6 and is less at 2.8 and at 3. For 120 flows it is larger at 2.6 than at each other value."
    ),
    why=(
        "From alpha = 2 on the robust group's max_p is 1 and stays there (A12), and the fragile group's falls on: the groups "
        "still come closer beyond 2.6. Differences beyond 2.5 are small."
    ),
)


def _fall_with_doubled_flows_statement(quantity: str, words: str, flows: int, max_p: float) -> ClaimStatement:
    """ECN with this many flows over half as many; Table 5.1 has the change from 60 to 120 flows with max_p 0.5."""
    printed = values_of_table_5_1(quantity, "ECN")
    published = 100 * (printed[120] / printed[60] - 1)
    change = RelativeChange(scheme_measure(quantity, "ECN", flows, max_p), scheme_measure(quantity, "ECN", flows // 2, max_p))
    text = f"ECN, max_p {max_p:g}: {words}, {flows} over {flows // 2} flows"
    return ClaimStatement(text, change, claimed_at_most(round(published / 2, 1)), PERCENT, round(published, 1) if max_p == 0.5 else None)


A28 = Claim(
    "A28",
    "ECN's Jain index and goodput fall much from 60 to 120 flows with max_p 0.5, and from 120 to 240 with 0.8.",
    ["5.3", "5.4", "Table 5.1"],
    [
        _fall_with_doubled_flows_statement(quantity, words, flows, max_p)
        for flows, max_p in ((120, 0.5), (240, 0.8))
        for quantity, words in ((JAIN, "Jain's index"), (GOODPUT, "goodput"))
    ],
    quote=(
        "“Figures 5.3 and 5.4 show the Jain's fairness index and goodput of standard ECN goes down dramatically at 120 and 240 flows for "
        "max_p being 0.5 and 0.8 respectively.” (section 5.5, page 51)"
    ),
    reading="Dramatically is half of the fall that Table 5.1 has for max_p 0.5, or more.",
)

CLAIMS = [A10, A11, A12, A13, A14, A15, A16, A17, A18, A19, A23, A24, A25, A26, A27, A28]
