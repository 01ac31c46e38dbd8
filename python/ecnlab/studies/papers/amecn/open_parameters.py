"""Open parameters of the paper with the values that its text admits, and alternatives with evidence against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ecnlab.scenarios.networks import Tree
from ecnlab.studies.framework.model import InadmissibleSetup, OpenParameter, ScenarioRewriting
from ecnlab.studies.framework.rewritings import leave_scenario_unchanged, rewriting_of_each, with_settings

_MECN_AQMS = ("mecn", "amecn")


def queue_settings_rewriting(aqms: tuple[str, ...], **parts: Any) -> ScenarioRewriting:
    """Set parameters of every queue that has one of these AQMs; None removes a parameter."""

    def set_queue_parameters(part: Any) -> Any:
        if isinstance(part, Mapping):
            found = {key: set_queue_parameters(value) for key, value in part.items()}
            if part.get("aqm") in aqms:
                found = {key: value for key, value in (found | parts).items() if value is not None}
            return found
        return [set_queue_parameters(each) for each in part] if isinstance(part, list) else part

    return set_queue_parameters


def changed_groups_rewriting(change: Callable[[Tree], Tree], *, of: str) -> ScenarioRewriting:
    """Rewrite every group of flows in scenarios with a group named `of`; other scenarios are unchanged."""

    of_all = rewriting_of_each("flows", change)
    return lambda tree: of_all(tree) if any(group["name"] == of for group in tree["flows"]) else tree


def _long_flow_window_rewriting(packets: int) -> ScenarioRewriting:
    """Limit the windows of the long flows of Figures 5 to 8, the only scenarios with a group "more"."""

    return changed_groups_rewriting(
        lambda group: with_settings(group, "tcp", {"max_rwnd": packets}) if group["name"] in ("long", "back") else group, of="more"
    )


def _reverse_flow_count_rewriting(count: int) -> ScenarioRewriting:
    """Set the number of reverse flows in Figures 9 and 10, the only scenarios with a group "web"."""
    return changed_groups_rewriting(lambda group: {**group, "count": count} if group["name"] == "back" else group, of="web")


def _source_delay_rewriting(delay: str) -> ScenarioRewriting:
    """Set the delay of the sources in Figures 5 to 8."""
    ends = {"long": "access", "more": "access", "back": "exit"}
    return changed_groups_rewriting(lambda group: with_settings(group, ends[group["name"]], {"delay": delay}), of="more")


SPACING = OpenParameter(
    name="spacing of MECN's and AMECN's marks",
    paper=(
        "“marked as 10 with a maximum probability of P1max” (section 2.1); the probability is that of equation (1), without a count of "
        "packets since the last mark. Nothing on spacing."
    ),
    reason=(
        "The three ways to draw at one probability p that the paper's sources have. ns-2 2.35 waits for 1/p packets first. Equation (1) "
        "by the letter is an independent draw. Floyd and Jacobson 1993 have uniform gaps from 1 to 1/p. In this order the share of "
        "marked packets is about 2p/3, p and 2p. The code was the authors' own, so ns-2's wait is not implied."
    ),
    values={
        "ns-2's wait": queue_settings_rewriting(_MECN_AQMS, wait=True),
        "independent draws": queue_settings_rewriting(_MECN_AQMS, wait=None, gaps="geometric"),
        "uniform gaps": leave_scenario_unchanged,
    },
    main="uniform gaps",
)
ARED_SPACING = OpenParameter(
    name="spacing of ARED's marks",
    paper="“Adaptive RED Floyd et al. (2001)” (section 4.3.1). Nothing on spacing.",
    reason=(
        "ARED is part of ns-2, which the paper used, and ns-2 2.35 has wait on by default. Its option `wait_` turns that off, as in "
        "Floyd and Jacobson 1993."
    ),
    values={"ns-2's wait": leave_scenario_unchanged, "uniform gaps": queue_settings_rewriting(("ared",), wait=False)},
    main="ns-2's wait",
)
SECOND_RAMP = OpenParameter(
    name="P2max, at first",
    paper="“marked as 11 with a maximum probability P2max” (section 2.1). No value, and none of P1max.",
    reason=(
        "P1max is ns-2's 0.1. Moderate congestion is not marked less often than incipient congestion, so P2max is not below P1max. AMECN "
        "moves both together and P1max up to 0.5 (section 3.2), so more than twice P1max would exceed a probability of 1."
    ),
    values={"P1max": leave_scenario_unchanged, "twice P1max": queue_settings_rewriting(_MECN_AQMS, mid_max_p=0.2)},
    main="P1max",
)
LONG_WINDOWS = OpenParameter(
    name="windows of the long flows (Figures 5 to 8)",
    paper="“20 new flows start, one every 0.1 seconds, each with a maximum window of 25 packets” (section 4.2). Nothing on the others.",
    reason=(
        "ns-2's own test of Adaptive RED with this load limits them to 15 packets (test-suite-adaptive-red.tcl, red2). ns-2's default is "
        "20. The paper names a limit of the other flows only, which admits none."
    ),
    values={
        "15 packets": _long_flow_window_rewriting(15),
        "20 packets": leave_scenario_unchanged,
        "no limit": _long_flow_window_rewriting(1000),
    },
    main="20 packets",
)
FLOWS_BACK = OpenParameter(
    name="reverse traffic (Figures 9 and 10)",
    paper="“the simulations include web traffic and reverse path traffic” (section 4.3.1). No amount.",
    reason="Figures 5 to 8 have one flow back beside two forward. By number that is one flow, by ratio 50 beside 100.",
    values={
        "1 flow": _reverse_flow_count_rewriting(1),
        "10 flows": leave_scenario_unchanged,
        "50 flows": _reverse_flow_count_rewriting(50),
    },
    main="10 flows",
)
OPEN_PARAMETERS = (SPACING, ARED_SPACING, SECOND_RAMP, LONG_WINDOWS, FLOWS_BACK)

ALTERNATIVES = (
    InadmissibleSetup(
        "AMECN not gentle",
        (
            "For: “If the average queue is above the max_th all packets are dropped” (section 2.1). Against: section 3.3.1 justifies the "
            "upper bound of P_max by “when operating under the gentle mode”, and speaks of AMECN."
        ),
        queue_settings_rewriting(("amecn",), gentle=False),
    ),
    InadmissibleSetup(
        "equation (4) for AMECN's increase",
        (
            "For: “Thus formula we use to adapt α is” equation (4), which has 0.25 × 0.17 (section 3.3.2). Against: Figure 3 has 0.25, "
            "twice. The text lets α reach 0.25 P_max, which equation (4) does not, and calls 24.5 s from 0.01 to 0.5 too long. With "
            "equation (4) and an average of twice the target it takes 47 s."
        ),
        queue_settings_rewriting(("amecn",), increase=0.0425),
    ),
    InadmissibleSetup(
        "AMECN's last step not limited to 0.5",
        (
            "For: Figure 3 tests P_max before the step and does not limit the result. Against: “P_max is constrained to remain with the "
            "range of [0.01, 0.5]” (section 3.2)."
        ),
        queue_settings_rewriting(("amecn",), overshoot=True),
    ),
    InadmissibleSetup(
        "P_max up to 1, a test of a cause",
        "Not a reading of the paper: section 3.2 has the upper bound 0.5. It shows which claims fail because AMECN is at that bound.",
        queue_settings_rewriting(("amecn",), top=1),
    ),
    InadmissibleSetup(
        "sources' delays differ by up to a packet time (Figures 5 to 8)",
        (
            "A test of phase effects (Floyd and Jacobson 1992). For: hosts are not in step with each other. Against: the sources have one "
            "delay d (section 4.1). Figures 9 to 12 have round-trip times that differ."
        ),
        changed_groups_rewriting(lambda group: with_settings(group, "access", {"spread": "5.333 ms"}), of="more"),
    ),
    InadmissibleSetup(
        "sources 31 ms away (Figures 5 to 8)",
        (
            "For: the delay d is not given (section 4.1), and 31 ms make a round-trip time of 150 ms, the longest of section 4.3.1. "
            "Against: ns-2's tests, which Figure 5 follows, have sources 2 and 3 ms away."
        ),
        _source_delay_rewriting("31 ms"),
    ),
)
