"""Open parameters of the paper with the values that its text admits, and alternatives with evidence against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ecnlab.scenarios.networks import BOTTLENECK, Tree
from ecnlab.studies.framework.model import InadmissibleSetup, OpenParameter, ScenarioRewriting


def keep_scenario_unchanged(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """The scenario of the main set-up."""
    return tree


def _rewrite_tables_named(section: str, name: str, change: Callable[[Tree], Tree]) -> ScenarioRewriting:
    """Rewrite the links or groups of flows of this name."""

    def change_named_tables(tree: Mapping[str, Any]) -> Mapping[str, Any]:
        parts = tree[section]
        if all(part["name"] != name for part in parts):
            return tree
        return {**tree, section: [change(part) if part["name"] == name else part for part in parts]}

    return change_named_tables


def _bottleneck_rate_rewriting(rate: str) -> ScenarioRewriting:
    return _rewrite_tables_named("link", BOTTLENECK, lambda link: {**link, "rate": rate})


def _queue_parameters_rewriting(**parts: Any) -> ScenarioRewriting:
    return _rewrite_tables_named("link", BOTTLENECK, lambda link: {**link, "queue": {**link["queue"], **parts}})


def _tcp_parameters_rewriting(**parts: Any) -> ScenarioRewriting:
    return _rewrite_tables_named("flows", "bulk", lambda group: {**group, "tcp": {**group["tcp"], **parts}})


def _datagram_source_count_rewriting(count: int) -> ScenarioRewriting:
    return _rewrite_tables_named("flows", "bursts", lambda group: {**group, "count": count})


def _duration_rewriting(duration: str) -> ScenarioRewriting:
    return lambda tree: {**tree, "duration": duration}


RATE = OpenParameter(
    name="rate of the bottleneck",
    paper="Nothing. Section III.A has the rates of all other links.",
    reason=(
        "Ten sources got 145.68 kbit/s each at 50 ms (Table I), so the rate is above 1.457 Mbit/s. The two usual rates just above are 1.5 "
        "Mbit/s and a T1's 1.544. At 1.6 and 2 Mbit/s our sources get far more than Table I has (Table F)."
    ),
    values={"1.5 Mbit/s": keep_scenario_unchanged, "1.544 Mbit/s": _bottleneck_rate_rewriting("1.544 Mbps")},
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
        "Reno": keep_scenario_unchanged,
    },
    main="Reno",
)
DURATION = OpenParameter(
    name="duration",
    paper="“send data continuously throughout the simulation” (section III.A). No duration.",
    reason="100 s is usual in such studies, as in the three others here. Half and twice of it bound the effect of slow start.",
    values={"50 s": _duration_rewriting("50 s"), "100 s": keep_scenario_unchanged, "200 s": _duration_rewriting("200 s")},
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
    values={"6": _datagram_source_count_rewriting(6), "8": keep_scenario_unchanged, "10": _datagram_source_count_rewriting(10)},
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
        _rewrite_tables_named("flows", "bulk", lambda group: {**group, "access": {**group["access"], "spread": "5.333 ms"}}),
    ),
)
