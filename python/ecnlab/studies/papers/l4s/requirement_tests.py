"""The Prague requirements of RFC 9331 as tests with a condition each, for Prague, DCTCP and CUBIC: a table, and claims for Prague.

Where the RFC has no number the condition is that of the test, which was written before the runs with the seeds of a full run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ecnlab.studies.framework.claims import (
    COUNT,
    MS,
    PERCENT,
    Claim,
    ClaimDecision,
    ClaimedRange,
    ClaimStatement,
    ClaimVerdict,
    DisplayUnit,
    StatementStatus,
    claimed_at_least,
    claimed_at_most,
    claimed_between,
    decide_claims,
)
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    ReportTable,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
    numbered_needs,
)
from ecnlab.studies.framework.verdicts import deciding_statement, published_and_measured_texts
from ecnlab.studies.papers.l4s import requirements
from ecnlab.studies.papers.l4s.network import PRAGUE
from ecnlab.studies.papers.l4s.requirements import DCTCP, TESTED, TESTED_NAMES, Quantities
from ecnlab.studies.papers.l4s.step import RATIO

_EXPONENT = DisplayUnit(1, "", 2)
_SHOWN_VERDICTS = {ClaimVerdict.HOLDS: "pass", ClaimVerdict.DOES_NOT_HOLD: "fail", ClaimVerdict.UNDECIDED: "undecided"}


@dataclass(frozen=True)
class RequirementTest:
    """A test of a requirement: the quantities of a control by setting, and the range in which they must be.

    `claim` is the name of the claim that Prague meets it, and `tested` are the controls to which it applies.
    """

    claim: str
    place: str
    requirement: str
    test: str
    quantities: Callable[[str], Quantities]
    condition: ClaimedRange
    shown: DisplayUnit
    sentence: str
    reading: str = ""
    why: str = ""
    tested: Sequence[str] = TESTED

    def claim_for_control(self, control: str) -> Claim:
        """The claim that a control meets the requirement in this test."""
        statements = [
            ClaimStatement(f"{self.test}, {setting}" if setting else self.test, measured, self.condition, self.shown)
            for setting, measured in self.quantities(control).items()
        ]
        id_ = self.claim if control == PRAGUE else f"{self.claim} {control}"
        return Claim(id_, self.sentence, ["Table 8"], statements, reading=self.reading, why=self.why)


_NO_INCREASE = claimed_at_least(-0.1)
_RENO_RATIO = claimed_between(0.5, 2)

TESTS = [
    RequirementTest(
        "L26",
        "4.1",
        "ECT(1) asks for L4S treatment",
        "data packets with ECT(1)",
        requirements.share_of_ect1,
        claimed_at_least(100),
        PERCENT,
        "Prague 0.7 sends all data packets with ECT(1).",
        reading="RFC 9331, section 4.1; CUBIC does not ask for L4S treatment.",
        tested=(PRAGUE, DCTCP),
    ),
    RequirementTest(
        "L27",
        "4.2",
        "accurate feedback is a prerequisite of ECT(1)",
        "data packets with ECT(1), peer with classic ECN",
        requirements.share_of_ect1_without_feedback,
        claimed_at_most(0),
        PERCENT,
        "Prague 0.7 sends no data packet with ECT(1) to a peer without Accurate ECN.",
        reading="RFC 9331, section 4.2",
    ),
    RequirementTest(
        "L28",
        "4.3, item 1",
        "can be replaced by a classic control, without ECT(1)",
        "data packets with ECT(1) after replacement by CUBIC",
        requirements.share_of_ect1_after_switch_to_cubic,
        claimed_at_most(0),
        PERCENT,
        "A host whose Prague 0.7 is replaced by CUBIC sends no data packet with ECT(1).",
        reading="RFC 9331, section 4.3, item 1: another congestion control in the same scenario",
    ),
    RequirementTest(
        "L29",
        "4.3",
        "time between marks does not grow with the rate",
        "exponent of marks in a time over the rate",
        requirements.slope_of_marks,
        _NO_INCREASE,
        _EXPONENT,
        "With Prague 0.7 the average time between marks does not grow with the rate.",
        reading=(
            "does not grow: marks in a time grow with an exponent of the rate of -0.1 or more. One flow of 20 ms over links of 20, 100 and "
            "400 Mbit/s that mark above a wait of 1 ms, and one flow of 25 ms with 10, 3 and 1 % of random marks."
        ),
    ),
    RequirementTest(
        "L30",
        "4.3, example",
        "half a round trip between marks",
        "marks in a round trip, step of 1 ms",
        requirements.marks_per_round_trip,
        claimed_between(1.5, 2.5),
        _EXPONENT,
        "Prague 0.7 has about two marks in a reference round trip, at any rate.",
        reading="RFC 9331, section 4.3, calls this the recovery time of DCTCP and Prague; it demands no number. About two: 1.5 to 2.5.",
        why=(
            "A step marks every packet above it until a reduction takes effect, a round trip later. So marks come in runs, longer at "
            "higher rates: 5.8, 14 and 31 in a reference RTT. Behind random "
            "marks, whose share grows with the wait from 1 to 21 ms, there are 2.9, 3.2 and 3.3."
        ),
    ),
    RequirementTest(
        "L31",
        "4.3, item 2",
        "coexists with Reno where packets are lost",
        "goodput over that of Reno",
        requirements.ratio_to_reno_at_dropping_queues,
        _RENO_RATIO,
        RATIO,
        "Prague 0.7 shares within a factor of two with Reno at queues that drop.",
        reading="20 Mbit/s, drop-tail of 133 packets and PIE without ECN, 20 and 80 ms; the RFC has no number",
    ),
    RequirementTest(
        "L32",
        "4.3, item 3",
        "detects an ECN queue without L4S and coexists with Reno there",
        "goodput over that of Reno, fq_codel(1q)",
        requirements.ratio_to_reno_in_classic_queue,
        claimed_at_most(2),
        RATIO,
        "Prague 0.7 has at most twice the goodput of a Reno flow with ECN in a shared queue of RFC 3168.",
        reading="one CoDel queue of 50 Mbit/s, 20 ms; the RFC has no number",
        why="tcp_prague 0.7 has no detection of such a queue.",
    ),
    RequirementTest(
        "L33",
        "4.3, item 4",
        "a rate as independent of the RTT as possible",
        "goodput over that of a flow of 25 ms",
        requirements.ratio_to_longer_rtt,
        claimed_between(0.8, 1.25),
        RATIO,
        "A flow of Prague 0.7 with an RTT of 0.5 to 20 ms shares within a factor of 1.25 with one of 25 ms.",
        reading="two flows over 50 Mbit/s and the dualpi2 of Linux 7.2; the RFC has no number",
        why=(
            "A phase effect but for 1 ms. There the flow has 0.59 of the goodput of that of 25 ms, and 0.67 with a random processing time, "
            "with which all other RTTs are inside the range."
        ),
    ),
    RequirementTest(
        "L34",
        "4.3, item 4",
        "the same, by the law of Prague",
        "throughput over 1/p - 1 Mbit/s",
        requirements.difference_from_rate_law,
        claimed_between(-10, 10),
        PERCENT,
        "With a share p of random marks, Prague 0.7 has 1/p - 1 Mbit/s up to 25 ms, and 25 ms / RTT of it above, within 10 %.",
        reading="RTTs of 10, 25 and 50 ms; the law follows from two marks in a reference RTT, and is no requirement.",
        why=(
            "The law assumes two marks in a reference RTT. After a reduction Prague waits a window, and then for the next mark. With "
            "independent marks that makes 2.7 marks, and a rate 31 % above the law. Below 25 ms a mark within 25 ms of the last "
            "reduction begins a window without a reduction."
        ),
        tested=(PRAGUE,),
    ),
    RequirementTest(
        "L35",
        "4.3, item 5",
        "responsive at small RTTs, also below a window of one segment",
        "99th percentile of the wait, 64 flows",
        requirements.p99_wait_at_small_shares,
        claimed_at_most(2),
        MS,
        "In 99 % of cases packets of 64 flows of Prague 0.7 with 100 to 1000 kbit/s each wait at most 2 ms.",
        reading="dualpi2 of Linux 7.2, RTTs of 0.5 and 5 ms; the RFC has no number",
        why=(
            "Prague's least rate is 100 kbit/s of data in packets of 202 bytes, 135 kbit/s on the link. So the link is overloaded at a "
            "share of 100 kbit/s: a few flows take most of it, and the others have timeouts. At 1 Mbit/s the percentile is at "
            "most 1.4 ms without delayed ACKs. With an initial window of two packets besides, it is 9.6 ms at 0.5 ms, of unknown cause. "
            "At 250 kbit/s it is 1.7 ms without delayed ACKs and with packets of 400 bytes."
        ),
    ),
    RequirementTest(
        "L36",
        "4.3, item 5",
        "the same, without timeouts",
        "timeouts of 64 flows in 20 s",
        requirements.timeouts_at_small_shares,
        claimed_at_most(0),
        COUNT,
        "64 flows of Prague 0.7 with 100 to 1000 kbit/s each have no timeout.",
        reading="as L35; the RFC prefers a smaller window to the timeouts of RFC 3168.",
        why=(
            "Prague's least rate is 100 kbit/s of data in packets of 202 bytes, 135 kbit/s on the link. So the link is overloaded at a "
            "share of 100 kbit/s: a few flows take most of it, and the others have timeouts. At 250 kbit/s the timeouts follow from "
            "packets of 1500 bytes; with 400 bytes there are none."
        ),
    ),
    RequirementTest(
        "L37",
        "4.3, item 6",
        "loss detection that tolerates reordering in time",
        "spurious retransmissions in 20 s",
        requirements.spurious_retransmissions_under_reordering,
        claimed_at_most(0),
        COUNT,
        "Prague 0.7 retransmits no more packets than are dropped if one in a hundred is late by up to a quarter of the RTT, at 10 to 400 "
        "Mbit/s.",
        reading="spurious: retransmissions minus packets dropped, from 10 s on; 20 ms",
    ),
    RequirementTest(
        "L38",
        "4.3, item 7",
        "bursts of at most 250 us at the flow's rate",
        "wait behind a burst, 20 ms",
        requirements.largest_wait_of_bursts,
        claimed_at_most(0.25),
        MS,
        "Packets that Prague 0.7 sends back to back would wait at most 250 us at a link of its own rate.",
        reading="hosts send packet by packet, so bursts of offload are not in it; from 10 s on",
    ),
]
REQUIREMENT_CLAIMS = [test.claim_for_control(PRAGUE) for test in TESTS]
# Every tested control, as claims that the table decides and the study does not list, except Prague's.
_TABLE_CLAIMS = {(test.claim, control): test.claim_for_control(control) for test in TESTS for control in test.tested}
_NEEDS = numbered_needs(need for claim in _TABLE_CLAIMS.values() for need in claim.required_scenarios())


def _draw_requirements(results: ResultsByKey) -> DrawnItemContent:
    runs = {need: results[key] for key, need in _NEEDS.items()}
    decided = dict(zip(_TABLE_CLAIMS, decide_claims(list(_TABLE_CLAIMS.values()), runs.__getitem__), strict=True))
    columns = [TESTED_NAMES[control] for control in TESTED]
    verdicts = [
        [test.place, test.requirement, f"{test.test}: {test.condition.words} {test.shown.unit}".rstrip()]
        + [_verdict_cell(decided[test.claim, control]) if control in test.tested else "" for control in TESTED]
        for test in TESTS
    ]
    numbers = [
        [
            test.place,
            test.test,
            setting,
            *(_number_cell(decided[test.claim, control], at) if control in test.tested else "" for control in TESTED),
        ]
        for test in TESTS
        for at, setting in enumerate(test.quantities(PRAGUE))
    ]
    data = [
        ((test.claim, test.place, control, weighed.statement.text, str(weighed.status)), weighed.ours)
        for test in TESTS
        for control in test.tested
        for weighed in decided[test.claim, control].estimates
    ]
    tables = [
        ReportTable("Verdicts", ["RFC 9331", "requirement", "test and condition", *columns], verdicts),
        ReportTable("Numbers", ["RFC 9331", "test", "setting", *columns], numbers),
    ]
    return DrawnItemContent(None, tables, estimates_frame(["claim", "place", "control", "statement", "status"], "value", data))


def _verdict_cell(decision: ClaimDecision) -> str:
    """The verdict, of several settings how many pass, and the number that decides."""
    decisive = deciding_statement(decision)
    passed = sum(weighed.status == StatementStatus.SUPPORTED for weighed in decision.estimates)
    count = f", {passed} of {len(decision.estimates)}" if len(decision.estimates) > 1 else ""
    return f"{_SHOWN_VERDICTS[decision.verdict]}{count}: {published_and_measured_texts(decisive)[1]}"


def _number_cell(decision: ClaimDecision, at: int) -> str:
    weighed = decision.estimates[at]
    shown = weighed.statement.shown
    return f"{format_with_interval(weighed.ours, shown.digits)} {shown.unit}".rstrip()


REQUIREMENTS_ITEM = StudyItem(
    "8",
    "The Prague requirements of RFC 9331",
    "Each requirement of sections 4.1 to 4.3 as a test of Prague 0.7, of DCTCP with Accurate ECN and ECT(1), and of CUBIC with Accurate "
    "ECN, a classic control. A cell has the verdict of all settings and the number that decides it: the first that fails, or else the "
    "first. The RFC states few numbers; the other conditions are those of the tests. Not measured: monitoring of live traffic (item 3), "
    "and bursts of segmentation offload (item 7), which these hosts do not have. A number without an interval is equal in all seeds and "
    "decides nothing. Verdicts are adjusted for the statements of this table; those of the claims L26 to L38 for all claims.",
    _NEEDS,
    _draw_requirements,
    kind="Table",
    part="Prague requirements",
)
