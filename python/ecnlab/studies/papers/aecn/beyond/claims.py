"""The thesis' open questions as questions of this study: its findings carried over to what section 6.2 asks for.

The sentences are findings (A13, A14) and expectations of the thesis. Their use for these networks, and the numbers in them, are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ecnlab.studies.framework.claims import (
    COUNT,
    PERCENT,
    PERCENT_POINTS,
    Claim,
    ClaimStatement,
    MeasureDifference,
    ScenarioMeasure,
    claimed_above,
    claimed_between,
)
from ecnlab.studies.framework.model import ScenarioRewriting
from ecnlab.studies.framework.panels import PanelMeasure
from ecnlab.studies.papers.aecn.beyond import power, targets, traffic
from ecnlab.studies.papers.aecn.beyond.groups import DELAY_SPREAD_CHANGES, GROUP_SIZE_CHANGES, UNEQUAL_SIZES
from ecnlab.studies.papers.aecn.beyond.measures import EVENNESS, GOODPUT, JAIN, scenario_on_changed_network, scenario_on_several_routers
from ecnlab.studies.papers.aecn.beyond.routers import LONG_FLOW_SHARE, SEVERAL_ROUTERS

_UNEQUAL_GROUP_CHANGES = {f"groups {name}": GROUP_SIZE_CHANGES[name] for name in UNEQUAL_SIZES}
_SPREAD_DELAY_CHANGES = {f"spread {share:g} %": change for share, change in DELAY_SPREAD_CHANGES.items() if share}
_DATAGRAM_CHANGES = {
    f"{load:g} % {word}": change
    for kind, word in (("cbr", "constant"), ("pareto", "in bursts"))
    for load, change in traffic.DATAGRAM_GOODPUT[kind].items()
    if load
}
_PARTIAL_ECN_CHANGES = {f"{share:g} % with ECN": change for share, change in traffic.PARTIAL_ECN_CHANGES.items() if 0 < share < 100}


def _gain_over_scheme_statements(
    measure: PanelMeasure, changes: Mapping[str, ScenarioRewriting], at: float = 0, scheme: str = "AECN", against: str = "ECN"
) -> list[ClaimStatement]:
    """The statements that a scheme's measure is more than `at` per cent above another's on each network."""
    return [
        ClaimStatement(
            f"{measure.label}, {scheme} over {against}, {name}",
            measure.relative_change(scenario_on_changed_network(scheme, change), scenario_on_changed_network(against, change)),
            claimed_above(at),
            PERCENT,
        )
        for name, change in changes.items()
    ]


def _target_delay_met_statements(scheme: str) -> Iterable[ClaimStatement]:
    """The statements that a scheme's mean queueing delay is within 10 % of its target."""
    for network in [*targets.NETWORKS, SEVERAL_ROUTERS]:
        wait = targets.MEAN_WAIT
        assert wait.target is not None
        yield ClaimStatement(
            f"{wait.label}, {scheme}, {network}",
            wait.measure_of_scenario(targets.scheme_scenario_on_network(scheme, network)),
            claimed_between(0.9 * wait.target, 1.1 * wait.target),
            wait.shown,
        )


def _power_aecn_over_ecn_statements(power_measure: PanelMeasure) -> list[ClaimStatement]:
    return [
        ClaimStatement(
            f"{power_measure.label}, AECN over ECN, {flows} flows",
            power_measure.relative_change(*(scenario_on_changed_network(scheme, flows=flows) for scheme in ("AECN", "ECN"))),
            claimed_above(0),
            PERCENT,
        )
        for flows in power.FLOW_COUNTS
    ]


_TENTH_READING = "A14's measure: more than 10 % above ECN, by the mean of Jain's index over 1-second intervals"

CLAIMS = [
    Claim(
        "F1",
        "AECN improves Jain's index by more than 10 % over ECN when the groups are of unequal size.",
        ["B1"],
        _gain_over_scheme_statements(JAIN, _UNEQUAL_GROUP_CHANGES, 10),
        reading=_TENTH_READING,
        why=(
            "With one count for the router the fragile group gets the most, and the index falls below ECN's where it is not "
            "small. With the last round-trip time in the packets 40 robust flows of 60 gain less than 10 % (seeds 1 to 6)."
        ),
    ),
    Claim(
        "F2",
        "AECN improves Jain's index by more than 10 % over ECN when round-trip times differ inside the groups.",
        ["B2"],
        _gain_over_scheme_statements(JAIN, _SPREAD_DELAY_CHANGES, 10),
        reading=_TENTH_READING,
        why="It holds with one count for each group. With one for the router the fragile group gets the most, as in A14.",
    ),
    Claim(
        "F3",
        "Ratios that follow the population (AECN2) are fairer than fixed ones when the groups are of unequal size.",
        ["B1"],
        _gain_over_scheme_statements(EVENNESS, _UNEQUAL_GROUP_CHANGES, scheme="AECN2", against="AECN"),
        reading="fairer between groups: the smallest over the largest of their mean goodput of a flow",
        why="A group's share of the queue grows with its number of flows, so the ratio of two lengths says how many flows there are "
        "and not how aggressive each is. With 40 fragile flows alpha comes out small, and they are marked as much as the average "
        "ones.",
    ),
    Claim(
        "F4",
        "AECN's goodput of TCP is above ECN's beside unresponsive datagrams.",
        ["B3", "B4"],
        _gain_over_scheme_statements(traffic.TCP_GOODPUT, _DATAGRAM_CHANGES),
        why="AECN takes datagrams for an average flow's. They take the average group's marks and drops, and need not answer; under "
        "ECN every arriving packet is judged by one count. So more datagrams come through, and TCP gets less. With one count for the "
        "router more datagrams are dropped, and the two schemes are near each other.",
    ),
    Claim(
        "F5",
        "AECN keeps the groups of TCP flows more even than ECN beside unresponsive datagrams.",
        ["B3", "B4"],
        _gain_over_scheme_statements(EVENNESS, _DATAGRAM_CHANGES),
        why="The average group is marked together with the datagrams, of which there is no end, and starves: at half the link it is the "
        "smallest group under AECN, and the fragile one gets the most.",
    ),
    Claim(
        "F6",
        "AECN's goodput is above ECN's when only some flows use ECN.",
        ["B5"],
        _gain_over_scheme_statements(GOODPUT, _PARTIAL_ECN_CHANGES),
        why="AECN's signals miss those who send most (F7), and the average goes beyond max_th, where every packet is dropped: with "
        "half the flows capable AECN drops 1218 packets so and ECN none (seeds 1 to 3).",
    ),
    Claim(
        "F7",
        "A flow with ECN gets more than one without it, at AECN as at ECN.",
        ["B5"],
        [
            ClaimStatement(
                f"goodput at {scheme}, a flow with ECN over one without, {name}",
                MeasureDifference(
                    traffic.GOODPUT_PER_ECN_FLOW.measure_of_scenario(scenario_on_changed_network(scheme, change)),
                    traffic.GOODPUT_PER_PLAIN_FLOW.measure_of_scenario(scenario_on_changed_network(scheme, change)),
                ),
                claimed_above(0),
                traffic.GOODPUT_PER_ECN_FLOW.shown,
            )
            for scheme in ("ECN", "AECN")
            for name, change in _PARTIAL_ECN_CHANGES.items()
        ],
        why="A signal of AECN marks the first capable packet of the group in place of the one that arrives, so flows without ECN "
        "make signals that those with ECN take. With half of them capable, 26 % of what an average flow with ECN sends is marked "
        "or dropped and 5 % of what one without sends; under ECN it is 10 % of both (seeds 1 to 3).",
    ),
    Claim(
        "F8",
        "Over several congested routers AECN leaves long flows a larger share than ECN.",
        ["B6"],
        [
            ClaimStatement(
                "share of a long flow, AECN over ECN",
                LONG_FLOW_SHARE.relative_change(scenario_on_several_routers("AECN"), scenario_on_several_routers("ECN")),
                claimed_above(0),
                PERCENT,
            )
        ],
        reading="the mean goodput of a long flow over that of a cross flow",
    ),
    Claim(
        "F9",
        "AECN has more power than ECN.",
        ["B7"],
        _power_aecn_over_ecn_statements(power.POWER),
        reading="goodput over the mean one-way delay of all flows' packets",
        why="Power counts AECN's fairness against it: more of the goodput goes to the fragile group, whose packets travel 75 ms "
        "longer than the robust group's whatever the queue does (F10).",
    ),
    Claim(
        "F10",
        "AECN has more power than ECN for the fragile group.",
        ["B7"],
        _power_aecn_over_ecn_statements(power.POWER_OF_GROUPS["fragile"]),
        why="It holds but with the last round-trip time in the packets and 480 flows, where the gain is as small as its interval.",
    ),
    Claim(
        "F11",
        "A queue can estimate the number of flows to within a quarter from what arrives.",
        ["B8"],
        [
            ClaimStatement(
                f"estimate of {flows} flows",
                ScenarioMeasure(need, power.sred_flow_count_estimate),
                claimed_between(0.75 * flows, 1.25 * flows),
                COUNT,
            )
            for flows, need in power.FLOW_ESTIMATE_NEEDS.items()
        ],
        reading="SRED's estimate, the inverse of the share of packets that hit one of their own flow, from 20 s on",
        why="It counts flows as if they were equal: it is near the number of flows times Jain's index. What locks flows out hides them.",
    ),
    Claim(
        "F12",
        "AMECN and Adaptive RED hold the target delay on these networks.",
        ["B9"],
        [*_target_delay_met_statements("ARED"), *_target_delay_met_statements("AMECN")],
        reading="a mean wait within a tenth of 16 ms",
        why="AMECN's max_p stands at its upper bound of 0.5 with 60 flows: a mark of the lighter level cuts less than a loss does, "
        "so more of them are needed than the law may send. With top = 1 the mean wait with equal groups is 16.5 ms in place of "
        "19.0 (seeds 1 to 3).",
    ),
    Claim(
        "F13",
        "AMECN uses the link better than Adaptive RED on these networks.",
        ["B9"],
        [
            ClaimStatement(
                f"{targets.LINK_UTILISATION.label}, AMECN over ARED, {network}",
                targets.LINK_UTILISATION.difference(*(targets.scheme_scenario_on_network(scheme, network) for scheme in ("AMECN", "ARED"))),
                claimed_above(0),
                PERCENT_POINTS,
            )
            for network in [*targets.NETWORKS, SEVERAL_ROUTERS]
        ],
        reading="M5's measure, for one target",
        why="With max_p at its bound (F12) AMECN's average swings further: nothing waits 3.9 % of the time with equal groups, under "
        "Adaptive RED 0.7 %. With top = 1 it is 1.3 % (seeds 1 to 3).",
    ),
]
