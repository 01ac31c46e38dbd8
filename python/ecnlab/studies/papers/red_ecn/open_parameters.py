"""Open parameters of the paper with the values that its text admits, and alternatives with evidence against them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ecnlab.scenarios.networks import BOTTLENECK, Tree
from ecnlab.studies.framework.model import InadmissibleSetup, OpenParameter, ScenarioRewriting
from ecnlab.studies.framework.rewritings import leave_scenario_unchanged, rewriting_of_each, with_settings


def _rewriting_of_named(section: str, name: str, change: Callable[[Tree], Tree]) -> ScenarioRewriting:
    """Change the links or groups of flows of this name."""
    return rewriting_of_each(section, lambda part: change(part) if part["name"] == name else part)


def _queue_parameters_rewriting(**parts: Any) -> ScenarioRewriting:
    return _rewriting_of_named("link", BOTTLENECK, lambda link: with_settings(link, "queue", parts))


def _tcp_parameters_rewriting(**parts: Any) -> ScenarioRewriting:
    return _rewriting_of_named("flows", "bulk", lambda group: with_settings(group, "tcp", parts))


def _datagram_source_count_rewriting(count: int) -> ScenarioRewriting:
    return _rewriting_of_named("flows", "bursts", lambda group: {**group, "count": count})


def _duration_rewriting(duration: str) -> ScenarioRewriting:
    return lambda tree: {**tree, "duration": duration}


RATE = OpenParameter(
    name="rate of the bottleneck",
    paper="Nothing. Section III.A has the rates of all other links.",
    reason=(
        "Ten sources got 145.68 kbit/s each at 50 ms (Table I), so the rate is above 1.457 Mbit/s. The two usual rates just above are 1.5 "
        "Mbit/s and a T1's 1.544. At 1.6 and 2 Mbit/s our sources get far more than Table I has (Table F)."
    ),
    values={
        "1.5 Mbit/s": leave_scenario_unchanged,
        "1.544 Mbit/s": _rewriting_of_named("link", BOTTLENECK, lambda link: {**link, "rate": "1.544 Mbps"}),
    },
    main="1.5 Mbit/s",
)
TCP = OpenParameter(
    name="TCP",
    paper=(
        "“The bulk traffic sources uses TCP” (section III.A). Section II.A describes fast recovery until “a non-duplicate ACK is received” "
        "and calls Reno, NewReno, SACK and Vegas modifications. No limit of the window."
    ),
    reason=(
        "The description is Reno's. In ns-2 the agent called plainly TCP is Tahoe, of which the other versions are modifications. ns-2 "
        "limits windows to 20 packets unless a script sets another limit."
    ),
    values={
        "Tahoe": _tcp_parameters_rewriting(variant="tahoe"),
        "Reno, at most 20 packets": _tcp_parameters_rewriting(max_rwnd=20),
        "Reno": leave_scenario_unchanged,
    },
    main="Reno",
)
DURATION = OpenParameter(
    name="duration",
    paper="“send data continuously throughout the simulation” (section III.A). No duration.",
    reason="100 s is usual in such studies, as in the three others here. Half and twice of it bound the effect of slow start.",
    values={"50 s": _duration_rewriting("50 s"), "100 s": leave_scenario_unchanged, "200 s": _duration_rewriting("200 s")},
    main="100 s",
)
BURSTS = OpenParameter(
    name="sources of datagrams",
    paper="“The cross traffic sources uses UDP” (section III.A). No number.",
    reason=(
        "Ten TCP sources get 257 to 379 kbit/s less in Table II than in Table I, where its row out of line is left out. A source of "
        "datagrams sends 50 kbit/s in the mean, so that is 5 to 8 sources; more are possible, since datagrams are dropped too. 10 would be "
        "as many as there are TCP sources."
    ),
    values={"6": _datagram_source_count_rewriting(6), "8": leave_scenario_unchanged, "10": _datagram_source_count_rewriting(10)},
    main="8",
)
OPEN_PARAMETERS = (RATE, TCP, DURATION, BURSTS)

ALTERNATIVES = (
    InadmissibleSetup(
        "max_p of 1",
        (
            "For: Figure 2 prints p_b without max_p. Against: it cites Floyd and Jacobson 1993, whose p_b has it, ns-2's default is 0.1, "
            "and the tables are further away (Table F)."
        ),
        _queue_parameters_rewriting(max_p=1),
    ),
    InadmissibleSetup(
        "gentle RED",
        "For: ns-2's default since 2001. Against: Figure 2 drops every packet from max_th on.",
        _queue_parameters_rewriting(gentle=True),
    ),
    InadmissibleSetup(
        "NewReno",
        (
            "For: usual in 2010. Against: section II.A has fast recovery end with the first ACK that is not a duplicate, which is Reno's, "
            "and the tables are further away (Table F)."
        ),
        _tcp_parameters_rewriting(variant="newreno"),
    ),
    InadmissibleSetup(
        "SACK",
        (
            "For: “modern TCP implementations” (section IV). Against: section II.A counts SACK among modifications, and does not describe "
            "it. The tables are further away (Table F)."
        ),
        _tcp_parameters_rewriting(variant="sack1"),
    ),
    InadmissibleSetup(
        "sources' delays differ by up to a packet time",
        (
            "A test of phase effects (Floyd and Jacobson 1992). For: hosts are not in step with each other. Against: “All links from bulk "
            "traffic sources to R1 have a delay of 10ms” (section III.A)."
        ),
        _rewriting_of_named("flows", "bulk", lambda group: with_settings(group, "access", {"spread": "5.333 ms"})),
    ),
)
