"""The parameters that RFC 2884 leaves open with the values that it admits, and set-ups that it does not admit but that explain a verdict.

Thresholds are admitted by a rule that was written down before any claim was run with them. Less than 1 % of the router's drops are forced
(the average is above `max`) in 20 MB transfers with Reno, at each level of congestion and each max_p in use. Section 4.4 of the RFC has
the average between the thresholds in all its experiments; the bound of 1 % is the study's reading. The main pair holds it with the other
weight and the other delay too. Table 4.4.2 shows the shares of all candidates.
"""

from __future__ import annotations

from collections.abc import Callable

from ecnlab.studies.framework.model import InadmissibleSetup, OpenParameter, ScenarioRewriting, ScenarioTree
from ecnlab.studies.framework.rewritings import rewriting_of_each, with_settings
from ecnlab.studies.papers.rfc2884 import testbed
from ecnlab.studies.papers.rfc2884.router import (
    LIMIT_PACKETS,
    RedThresholds,
    red_queue_with_thresholds_and_weight,
    thresholds_of_red_queue,
    weight_log_of_red_queue,
)

# Pairs with max = 3 min, which tc-red(8) has by default and Floyd recommended in 1997; other ratios of at least 2, below which Floyd and
# Jacobson 1993 do not go; and 5 and 25, which the study had until November 2026. With more than 90 packets the queue alone takes 0.7 s, as
# long as a whole transaction at the RFC's highest rates takes.
CANDIDATE_THRESHOLDS = tuple(
    RedThresholds(most, least)
    for least, most in ((5, 15), (5, 25), (10, 30), (15, 45), (5, 60), (10, 60), (20, 60), (30, 60), (25, 75), (30, 90))
)
MAX_FORCED_SHARE = 0.01


def _red_queue_rewriting(change: ScenarioRewriting) -> ScenarioRewriting:
    """A scenario with another RED at the router."""
    return lambda scenario: with_settings(scenario, "network", {"queue": change(scenario["network"]["queue"])})


def red_thresholds_rewriting(thresholds: RedThresholds) -> ScenarioRewriting:
    """A scenario with other thresholds and its own weight."""
    return _red_queue_rewriting(lambda red: red_queue_with_thresholds_and_weight(red, thresholds, weight_log_of_red_queue(red)))


def red_weight_rewriting(weight: int) -> ScenarioRewriting:
    """A scenario with the weight 2^-weight and its own thresholds."""
    return _red_queue_rewriting(lambda red: red_queue_with_thresholds_and_weight(red, thresholds_of_red_queue(red), weight))


def linux_red_slope_rewriting(slope: str) -> ScenarioRewriting:
    """A scenario with this slope of RED's probability (`linux-red`, parameter `slope`)."""
    return _red_queue_rewriting(lambda red: {**red, "slope": slope})


def router_delay_rewriting(delay: str) -> ScenarioRewriting:
    """A scenario in which router R2 adds this delay in each direction."""
    return lambda scenario: with_settings(scenario, "network", {"delay": delay})


def tcp_parameters_rewriting(changes: ScenarioTree, applies: Callable[[ScenarioTree], bool]) -> ScenarioRewriting:
    """A scenario in which the hosts to which it applies have other TCP parameters."""
    return rewriting_of_each("flows", lambda flow: with_settings(flow, "tcp", changes) if applies(flow["tcp"]) else flow)


def _to_ns2_red_queue(red: ScenarioTree) -> ScenarioTree:
    """ns-2's RED with the same thresholds and weight, counted in packets, and no signal before 1/p_b packets."""
    thresholds = thresholds_of_red_queue(red)
    return {
        "aqm": "ecn",
        "limit": LIMIT_PACKETS,
        "min_th": thresholds.min_packets,
        "max_th": thresholds.max_packets,
        "w_q": 2.0 ** -weight_log_of_red_queue(red),
        "max_p": red["probability"],
    }


ADMITTED_THRESHOLDS = tuple(RedThresholds(most, least) for least, most in ((5, 60), (10, 60), (20, 60), (25, 75), (30, 90)))
WEIGHTS = {"2^-9 (0.002)": 9, "2^-5 (0.031)": 5}
DELAYS = {"10 ms each way": "10 ms", "20 ms each way": "20 ms"}
# Further set-ups in which the rule for thresholds is tried, by their name in Table 4.4.2.
STRICTEST_SETUPS = {
    "weight 2^-5": [red_weight_rewriting(5)],
    "10 ms each way": [router_delay_rewriting("10 ms")],
    "both": [red_weight_rewriting(5), router_delay_rewriting("10 ms")],
}

OPEN_PARAMETERS = (
    OpenParameter(
        name="thresholds",
        paper="“we monitored the average queue size and the actual queue size in times of low, moderate and high congestion and fine-tuned "
        "the RED parameters such that the average queue zones around the RED region before running the experiment proper” (section 4.4, "
        "page 8)",
        reason="All candidates of Table 4.4.2 that keep forced drops below 1 % at every level and every max_p. The main pair is the least "
        "one with max = 3 min, the default of tc-red(8), that also does so with the other weight and delay.",
        values={pair.name: red_thresholds_rewriting(pair) for pair in ADMITTED_THRESHOLDS},
        main=testbed.TESTBED_THRESHOLDS.name,
    ),
    OpenParameter(
        name="weight of the average",
        paper="nothing",
        reason="2^-9 is nearest to the 0.002 of Floyd and Jacobson 1993, the RFC's reference [9]. 2^-5 is near the weight that tc derives "
        "for these thresholds where no burst is given.",
        values={name: red_weight_rewriting(weight) for name, weight in WEIGHTS.items()},
        main="2^-9 (0.002)",
    ),
    OpenParameter(
        name="slope",
        paper="“As the average queue length varies between minth and maxth, pa increases linearly towards a configured maximum drop "
        "probability, maxp.” (section 2.1.1, page 3)",
        reason="Linux before 3.3 rounds the slope down to a power of two, so that the probability at max is between half of max_p and "
        "max_p; with the main thresholds max_p 0.3 and 0.5 are the same RED. The RFC's words have max_p itself.",
        values={"power of two": linux_red_slope_rewriting("power-of-two"), "exact": linux_red_slope_rewriting("exact")},
        main="power of two",
    ),
    OpenParameter(
        name="delay",
        paper="“Router R2 acts as a path-delay controller. With it we adjust the RTT the clients see. […] The latency of the link for the "
        "experiments was set to be 20 millisecs.” (section 4.1, page 7)",
        reason="The latency of a link is that of one direction, 20 ms each way. As the delay adjusts the RTT, it can also be 20 ms there "
        "and back, 10 ms each way.",
        values={name: router_delay_rewriting(delay) for name, delay in DELAYS.items()},
        main="20 ms each way",
    ),
)

ALTERNATIVES = (
    InadmissibleSetup(
        name="ns-2's RED",
        evidence="The study had it until November 2026: with wait, no packet is signalled before 1/p_b packets have passed, so that it "
        "signals a third as often at the same average. For it: nothing in the RFC. Against it: section 4 has Linux 2.1 for the router, and "
        "Linux's net/sched/sch_red.c draws gaps evenly on 1 .. 1/p_b. Its header credits ECN to J Hadi Salim, the RFC's first author "
        "(August 1998). That the testbed ran this code is an inference.",
        rewriting=_red_queue_rewriting(_to_ns2_red_queue),
    ),
    InadmissibleSetup(
        name="thresholds 10 and 30",
        evidence="For it: a short queue, which the RFC's rates of transactions suggest. Against it: section 4.4 has the average between "
        "the thresholds, and with these most drops are forced at high congestion and max_p 0.02 (Table 4.4.2).",
        rewriting=red_thresholds_rewriting(RedThresholds(max_packets=30, min_packets=10)),
    ),
    InadmissibleSetup(
        name="Linux 2.0 without fast retransmit",
        evidence="For it: a tcp_input.c of Linux 2.0.30 or later counts an acknowledgement as a duplicate only if len != th->doff*4, "
        "that is, if it carries data. By the letter, one-way transfers never retransmit fast. Against it: the comment above that line asks "
        "for the opposite, “The packet was not carrying any data”; a tcp_input.c of Linux 2.1 has the condition as the comment; and "
        "section 5.2 of the RFC counts retransmissions after three duplicates and finds hardly any others. The file has no version, and "
        "2.0.32 itself was not seen.",
        rewriting=tcp_parameters_rewriting({"dupthresh": 1000}, lambda tcp: bool(tcp["profile"] == "linux-2.0")),
    ),
    InadmissibleSetup(
        name="a mark may leave a window of 1",
        evidence="For it: section 4 has hosts that conform to RFC 2481, whose section 6.1.2 halves the window down to one segment. Against "
        "it: sections 3.2 and 5.2 of RFC 2884 say that the response equals fast retransmit, and Linux's keeps a threshold of at least 2.",
        rewriting=tcp_parameters_rewriting({"quirks": {"min_cwnd": 1}}, lambda tcp: bool(tcp["ecn"])),
    ),
)
