"""Parameters that the thesis leaves open, with the values that its text admits, and set-ups that its text does not admit.

The values were written down before the claims were run with seeds 101 to 120; STUDY.md says what was known then.
"""

from __future__ import annotations

from ecnlab.scenarios.networks import CHAPTER_4, CHAPTER_5, Tree
from ecnlab.studies.framework.model import InadmissibleSetup, OpenParameter, ScenarioRewriting
from ecnlab.studies.framework.rewritings import leave_scenario_unchanged, rewriting_of_each, with_settings
from ecnlab.studies.papers.aecn import schemes
from ecnlab.studies.papers.aecn.beyond.measures import scenario_on_several_routers
from ecnlab.studies.papers.aecn.chapter4 import DELAY_FIGURE_MAX_P


def _queue_settings_rewriting(settings: Tree, key: str = "aqm", values: tuple[str, ...] = ("aecn",)) -> ScenarioRewriting:
    """Set these parameters in every queue whose parameter `key` has one of these values."""
    return rewriting_of_each("link", lambda link: with_settings(link, "queue", settings) if link["queue"].get(key) in values else link)


def _tcp_settings_rewriting(settings: Tree) -> ScenarioRewriting:
    """Set these parameters in every TCP sender."""
    return rewriting_of_each("flows", lambda flow: with_settings(flow, "tcp", settings) if "tcp" in flow else flow)


def _aecn_reported_rtt_rewriting(rtt: str) -> ScenarioRewriting:
    """Set another round-trip time in the packets that an AECN queue reads."""
    of_all = _tcp_settings_rewriting({"quirks": {"rtt_report": rtt}})
    return lambda tree: of_all(tree) if any(link["queue"].get("aqm") == "aecn" for link in tree["link"]) else tree


def _delay_figure_max_p_rewriting(max_p: float) -> ScenarioRewriting:
    """Set another max_p in the runs of Figure 4.10 only."""
    of_all = _queue_settings_rewriting({"max_p": max_p}, values=("red", "ecn"))
    return lambda tree: of_all(tree) if tree["name"].endswith(DELAY_FIGURE_MAX_P) else tree


OPEN_PARAMETERS = (
    OpenParameter(
        name="max_p of Figure 4.10",
        paper="nothing: the caption of Figure 4.10 names min_th and max_th alone (section 4.4.3, page 34)",
        reason="The three values of Figure 4.7, to which the sentence compares Figure 4.10.",
        values={"0.1": _delay_figure_max_p_rewriting(0.1), "0.5": leave_scenario_unchanged, "0.8": _delay_figure_max_p_rewriting(0.8)},
        main="0.5",
    ),
    OpenParameter(
        name="AECN's count of packets since the last mark",
        paper="“edv_.v_prob = modify_p(edv_.v_probl, edv_.count, edv_.count_bytes, …)” (appendix B); section 5.2.4 does not name a count",
        reason=(
            "Appendix B prints one count for the router. One for each group is admitted because section 5.7 (page 67) says that the robust "
            "group has “a little higher share of the aggregate goodput than the other two groups” at alpha = beta = 2.5, and one count "
            "gives the fragile group the most. Appendix B is not what was run to the letter: it compares the draw with max_p, not with "
            "the probability that it has just computed."
        ),
        values={"router": _queue_settings_rewriting({"count": "router"}), "group": leave_scenario_unchanged},
        main="group",
    ),
    OpenParameter(
        name="round-trip time in a packet",
        paper=(
            "“the round-trip time of the last ACKed outgoing packet of this flow is added into the TCP header of this new packet” "
            "(section 5.2.3.1, page 45); “tcph->r_rtt() = v_baseRTT_” (appendix A)"
        ),
        reason="The text names the last one. The printed code sends the base time, which a round of one packet sets anew.",
        values={"last": _aecn_reported_rtt_rewriting("last"), "base": leave_scenario_unchanged},
        main="base",
    ),
    OpenParameter(
        name="AECN2's ratios",
        paper=(
            "“α = avg_fq_len / the length of the fragile flow queue” (Algorithm 5.2, page 68); "
            "“belta=2.5; //rob_fq.length() / avg_fq_len” (appendix B)"
        ),
        reason="The algorithm divides and does not mention whole numbers. The comment in appendix B divides two integers of C.",
        values={"whole": _queue_settings_rewriting({"ratios": "whole"}, "balance", ("population",)), "real": leave_scenario_unchanged},
        main="real",
    ),
)

ALTERNATIVES = (
    InadmissibleSetup(
        name="gentle",
        evidence=(
            "For: the thesis uses “the n2-s default values” (section 4.3, page 27) of a version that it does not name, and ns-2's own "
            "ns-default.tcl says that gentle_ “was changed from false to true on Apr 23, 2001”. Against: that is nine days before the "
            "thesis' date, 2 May 2001, and “If the average queue size exceeds max_th, all incoming packets will be dropped” (footnote, "
            "page 3; likewise section 5.2.1, page 43), which gentle does not do."
        ),
        rewriting=_queue_settings_rewriting({"gentle": True}, values=("red", "ecn", "aecn")),
    ),
    InadmissibleSetup(
        name="senders of ns-2 2.35",
        evidence=(
            "For: only that the thesis does not name its version. Against: the defaults of 2.35 came between May 2001 and 2007, and the "
            "thesis is of May 2001."
        ),
        rewriting=_tcp_settings_rewriting({"profile": "ns2", "quirks": {"rtt_report": "base"}}),
    ),
    InadmissibleSetup(
        name="robust flows below 90 ms",
        evidence=(
            "For: the thesis' robust flows have 50 ms without queues, and at 60 flows more than 75 ms at times with them, so that the "
            "router takes some for average ones. Against: section 5.4 (page 50) and appendix B both print 75 ms."
        ),
        rewriting=_queue_settings_rewriting({"average_rtt": "90 ms"}),
    ),
    InadmissibleSetup(
        name="smallest round-trip time in a packet",
        evidence=(
            "For: the variable of appendix A is TCP Vegas' base time, which Vegas' own paper defines as the smallest. Against: the lines "
            "of appendix A set it anew after a round of one packet."
        ),
        rewriting=_aecn_reported_rtt_rewriting("min"),
    ),
)

NETWORKS = {
    "Figure 4.1, the network of chapter 4": schemes.required_scheme_scenario("ECN", 60, network=CHAPTER_4),
    "Figure 5.2, the network of chapter 5, with AECN as its queue": schemes.required_scheme_scenario("AECN", 60, network=CHAPTER_5),
    "Figure B6, several congested routers": scenario_on_several_routers("AECN"),
}
