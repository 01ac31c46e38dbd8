"""AMECN against Adaptive RED on the same networks: both keep a target delay, AMECN by two mark levels, Adaptive RED by one."""

from __future__ import annotations

from ecnlab.studies.framework.claims import MS, PERCENT
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.framework.panels import PanelGridStyle, PanelMeasure, ValuesOfResult, measures_figure_item
from ecnlab.studies.papers.aecn.beyond import scenarios
from ecnlab.studies.papers.aecn.beyond.groups import DELAY_SPREAD_CHANGES, GROUP_SIZE_CHANGES
from ecnlab.studies.papers.aecn.beyond.measures import (
    DROPS,
    GOODPUT,
    JAIN,
    MARKS,
    REPORT_PART,
    scenario_on_changed_network,
    scenario_on_several_routers,
)
from ecnlab.studies.papers.aecn.beyond.routers import SEVERAL_ROUTERS
from ecnlab.studies.papers.aecn.beyond.traffic import DATAGRAM_GOODPUT, PARTIAL_ECN_CHANGES

SCHEMES = ("ARED", "AMECN")
NETWORKS = {
    "equal groups": GROUP_SIZE_CHANGES["20/20/20"],
    "40/10/10": GROUP_SIZE_CHANGES["40/10/10"],
    "10/10/40": GROUP_SIZE_CHANGES["10/10/40"],
    "spread 50 %": DELAY_SPREAD_CHANGES[50.0],
    "30 % constant": DATAGRAM_GOODPUT["cbr"][30.0],
    "30 % bursts": DATAGRAM_GOODPUT["pareto"][30.0],
    "half with ECN": PARTIAL_ECN_CHANGES[50.0],
}


def scheme_scenario_on_network(scheme: str, network: str) -> RequiredScenario:
    """A scheme on one of the networks."""
    return scenario_on_several_routers(scheme) if network == SEVERAL_ROUTERS else scenario_on_changed_network(scheme, NETWORKS[network])


def _first_queue_column(quantity: str) -> ValuesOfResult:
    """A column of the first queue, the only one except with several routers."""
    return lambda result: result.values(quantity, queue=result.queue_names[0])


MEAN_WAIT = PanelMeasure("mean wait", "wait", _first_queue_column("sojourn_mean_s"), MS, target=float(scenarios.TARGET_DELAY.split()[0]))
LINK_UTILISATION = PanelMeasure("link used", "utilisation", _first_queue_column("utilisation"), PERCENT)
_P99_WAIT = PanelMeasure("99 % wait", "wait_p99", _first_queue_column("sojourn_p99_s"), MS)

ITEMS = [
    measures_figure_item(
        "B9",
        "AMECN and Adaptive RED on these networks",
        "Both with a target of 16 ms (dashed), for which their rules give the thesis' thresholds of 10 and 30 packets, and with 60 "
        "flows. The senders of AMECN answer to marks of two levels; flows without ECN are Reno under both.",
        {(scheme, network): scheme_scenario_on_network(scheme, network) for scheme in SCHEMES for network in [*NETWORKS, SEVERAL_ROUTERS]},
        [MEAN_WAIT, LINK_UTILISATION, JAIN],
        PanelGridStyle("network", scenarios.SCHEME_PALETTE, columns=1),
        also=[GOODPUT, _P99_WAIT, DROPS, MARKS],
        part=REPORT_PART,
    ),
]
