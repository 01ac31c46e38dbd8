"""What the thesis hopes for where it stops, as questions of our own: its findings carried over to what section 6.2 asks for.

The sentences are the thesis' findings (A13, A14) and hopes; that they are asked of these networks is ours, and so are the numbers in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ecnlab.studies.aecn.beyond import power, targets, traffic
from ecnlab.studies.aecn.beyond.groups import SIZES, SPREADS, UNEQUAL
from ecnlab.studies.aecn.beyond.measures import EVENNESS, GOODPUT, JAIN, need, routers
from ecnlab.studies.aecn.beyond.routers import CASE, SHARE
from ecnlab.studies.aecn.beyond.scenarios import Change
from ecnlab.studies.claims import COUNT, PERCENT, POINTS, Claim, Gap, Measured, Of, Statement, above, between
from ecnlab.studies.claims import Change as Relative
from ecnlab.studies.panels import Measure

_UNEQUAL = {f"groups {name}": SIZES[name] for name in UNEQUAL}
_SPREAD = {f"spread {share:g} %": change for share, change in SPREADS.items() if share}
_BESIDE = {
    f"{load:g} % {word}": change
    for kind, word in (("cbr", "constant"), ("pareto", "in bursts"))
    for load, change in traffic.DATAGRAMS[kind].items()
    if load
}
_SOME_ECN = {f"{share:g} % with ECN": change for share, change in traffic.MIXED.items() if 0 < share < 100}


def _gains(measure: Measure, changes: Mapping[str, Change], at: float = 0, scheme: str = "AECN", against: str = "ECN") -> list[Statement]:
    """The statements that a scheme's measure is more than `at` per cent above another's on each network."""
    return [
        Statement(
            f"{measure.label}, {scheme} over {against}, {name}",
            Relative(measure.of(need(scheme, change)), measure.of(need(against, change))),
            above(at),
            PERCENT,
        )
        for name, change in changes.items()
    ]


def _met(scheme: str) -> Iterable[Statement]:
    """The statements that a scheme's mean wait is within a tenth of its target."""
    for network in [*targets.NETWORKS, CASE]:
        wait = targets.WAIT
        assert wait.target is not None
        yield Statement(
            f"{wait.label}, {scheme}, {network}",
            wait.of(targets.scenario(scheme, network)),
            between(0.9 * wait.target, 1.1 * wait.target),
            wait.shown,
        )


def _near(flows: int) -> Statement:
    estimated: Measured = Of(power.estimate_of(flows), power.estimated)
    return Statement(f"estimate of {flows} flows", estimated, between(0.75 * flows, 1.25 * flows), COUNT)


def _powers() -> Iterable[Statement]:
    for flows in power.FLOWS:
        a, b = need("AECN", flows=flows), need("ECN", flows=flows)
        yield Statement(
            f"{power.POWER.label}, AECN over ECN, {flows} flows", Relative(power.POWER.of(a), power.POWER.of(b)), above(0), PERCENT
        )


def _fragile_powers() -> Iterable[Statement]:
    fragile = power.OF_GROUPS["fragile"]
    for flows in power.FLOWS:
        a, b = need("AECN", flows=flows), need("ECN", flows=flows)
        yield Statement(f"{fragile.label}, AECN over ECN, {flows} flows", Relative(fragile.of(a), fragile.of(b)), above(0), PERCENT)


_MORE_THAN_A_TENTH = "A14's measure: more than 10 % above ECN, by the mean of Jain's index over 1-second intervals"

CLAIMS = [
    Claim(
        "F1",
        "AECN improves Jain's index by more than 10 % over ECN when the groups are of unequal size.",
        ["B1"],
        _gains(JAIN, _UNEQUAL, 10),
        reading=_MORE_THAN_A_TENTH,
        why=(
            "With one count for the router the fragile group gets the most, and the index falls below ECN's where it is not "
            "small. With the last round-trip time in the packets 40 robust flows of 60 gain less than 10 % (seeds 1 to 6)."
        ),
        own=True,
    ),
    Claim(
        "F2",
        "AECN improves Jain's index by more than 10 % over ECN when round-trip times differ inside the groups.",
        ["B2"],
        _gains(JAIN, _SPREAD, 10),
        reading=_MORE_THAN_A_TENTH,
        why=("It holds with one count for each group. With one for the router the fragile group gets the most, as in A14."),
        own=True,
    ),
    Claim(
        "F3",
        "Ratios that follow the population (AECN2) are fairer than fixed ones when the groups are of unequal size.",
        ["B1"],
        _gains(EVENNESS, _UNEQUAL, scheme="AECN2", against="AECN"),
        reading="fairer between groups: the smallest over the largest of their mean goodput of a flow",
        why="A group's share of the queue grows with its number of flows, so the ratio of two lengths says how many flows there are "
        "and not how aggressive each is. With 40 fragile flows alpha comes out small, and they are marked as much as the average "
        "ones.",
        own=True,
    ),
    Claim(
        "F4",
        "AECN's goodput of TCP is above ECN's beside unresponsive datagrams.",
        ["B3", "B4"],
        _gains(traffic.TCP, _BESIDE),
        why="AECN takes datagrams for an average flow's. They take the average group's marks and drops, and need not answer; under "
        "ECN every arriving packet is judged by one count. So more datagrams come through, and TCP gets less. With one count for the "
        "router more datagrams are dropped, and the two schemes are near each other.",
        own=True,
    ),
    Claim(
        "F5",
        "AECN keeps the groups of TCP flows more even than ECN beside unresponsive datagrams.",
        ["B3", "B4"],
        _gains(EVENNESS, _BESIDE),
        why="The average group is marked together with the datagrams, of which there is no end, and starves: at half the link it is the "
        "smallest group under AECN, and the fragile one gets the most.",
        own=True,
    ),
    Claim(
        "F6",
        "AECN's goodput is above ECN's when only some flows use ECN.",
        ["B5"],
        _gains(GOODPUT, _SOME_ECN),
        why="AECN's signals miss those who send most (F7), and the average goes beyond max_th, where every packet is dropped: with "
        "half the flows capable AECN drops 1218 packets so and ECN none (seeds 1 to 3).",
        own=True,
    ),
    Claim(
        "F7",
        "A flow with ECN gets more than one without it, at AECN as at ECN.",
        ["B5"],
        [
            Statement(
                f"goodput at {scheme}, a flow with ECN over one without, {name}",
                Gap(traffic.CAPABLE.of(need(scheme, change)), traffic.PLAIN_ONE.of(need(scheme, change))),
                above(0),
                traffic.CAPABLE.shown,
            )
            for scheme in ("ECN", "AECN")
            for name, change in _SOME_ECN.items()
        ],
        why="A signal of AECN marks the first capable packet of the group in place of the one that arrives, so flows without ECN "
        "make signals that those with ECN take. With half of them capable, 26 % of what an average flow with ECN sends is marked "
        "or dropped and 5 % of what one without sends; under ECN it is 10 % of both (seeds 1 to 3).",
        own=True,
    ),
    Claim(
        "F8",
        "Over several congested routers AECN leaves long flows a larger share than ECN.",
        ["B6"],
        [
            Statement(
                "share of a long flow, AECN over ECN", Relative(SHARE.of(routers("AECN")), SHARE.of(routers("ECN"))), above(0), PERCENT
            )
        ],
        reading="the mean goodput of a long flow over that of a cross flow",
        own=True,
    ),
    Claim(
        "F9",
        "AECN has more power than ECN.",
        ["B7"],
        list(_powers()),
        reading="goodput over the mean one-way delay of all flows' packets",
        why="Power counts AECN's fairness against it: more of the goodput goes to the fragile group, whose packets travel 75 ms "
        "longer than the robust group's whatever the queue does (F10).",
        own=True,
    ),
    Claim(
        "F10",
        "AECN has more power than ECN for the fragile group.",
        ["B7"],
        list(_fragile_powers()),
        why="It holds but with the last round-trip time in the packets and 480 flows, where the gain is as small as its interval.",
        own=True,
    ),
    Claim(
        "F11",
        "A queue can estimate the number of flows to within a quarter from what arrives.",
        ["B8"],
        [_near(flows) for flows in power.ESTIMATED],
        reading="SRED's estimate, the inverse of the share of packets that hit one of their own flow, from 20 s on",
        why="It counts flows as if they were equal: it is near the number of flows times Jain's index. What locks flows out hides them.",
        own=True,
    ),
    Claim(
        "F12",
        "AMECN and Adaptive RED hold the target delay on these networks.",
        ["B9"],
        [*_met("ARED"), *_met("AMECN")],
        reading="a mean wait within a tenth of 16 ms",
        why="AMECN's max_p stands at its upper bound of 0.5 with 60 flows: a mark of the lighter level cuts less than a loss does, "
        "so more of them are needed than the law may send. With top = 1 the mean wait with equal groups is 16.5 ms in place of "
        "19.0 (seeds 1 to 3).",
        own=True,
    ),
    Claim(
        "F13",
        "AMECN uses the link better than Adaptive RED on these networks.",
        ["B9"],
        [
            Statement(
                f"{targets.USE.label}, AMECN over ARED, {network}",
                Gap(*(targets.USE.of(targets.scenario(scheme, network)) for scheme in ("AMECN", "ARED"))),
                above(0),
                POINTS,
            )
            for network in [*targets.NETWORKS, CASE]
        ],
        reading="M5's measure, for one target",
        why="With max_p at its bound (F12) AMECN's average swings further: nothing waits 3.9 % of the time with equal groups, under "
        "Adaptive RED 0.7 %. With top = 1 it is 1.3 % (seeds 1 to 3).",
        own=True,
    ),
]
