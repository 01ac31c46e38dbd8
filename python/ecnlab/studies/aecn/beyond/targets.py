"""AMECN against Adaptive RED on the same networks: both hold a target delay, the one by marks of two levels, the other by marks of one."""

from __future__ import annotations

from ecnlab.studies.aecn.beyond import scenarios
from ecnlab.studies.aecn.beyond.groups import SIZES, SPREADS
from ecnlab.studies.aecn.beyond.measures import DROPS, GOODPUT, JAIN, MARKS, PART, need, routers
from ecnlab.studies.aecn.beyond.routers import CASE
from ecnlab.studies.aecn.beyond.traffic import DATAGRAMS, MIXED
from ecnlab.studies.claims import MS, PERCENT
from ecnlab.studies.model import Need
from ecnlab.studies.panels import Look, Measure, Values, item

SCHEMES = ("ARED", "AMECN")
NETWORKS = {
    "equal groups": SIZES["20/20/20"],
    "40/10/10": SIZES["40/10/10"],
    "10/10/40": SIZES["10/10/40"],
    "spread 50 %": SPREADS[50.0],
    "30 % constant": DATAGRAMS["cbr"][30.0],
    "30 % bursts": DATAGRAMS["pareto"][30.0],
    "half with ECN": MIXED[50.0],
}


def scenario(scheme: str, network: str) -> Need:
    """A scheme on one of the networks."""
    return routers(scheme) if network == CASE else need(scheme, NETWORKS[network])


def _first_queue(quantity: str) -> Values:
    """A column of the first queue, which is the only one but with several routers."""
    return lambda result: result.values(quantity, queue=result.queue_names[0])


WAIT = Measure("mean wait", "wait", _first_queue("sojourn_mean_s"), MS, target=float(scenarios.TARGET.split()[0]))
USE = Measure("link used", "utilisation", _first_queue("utilisation"), PERCENT)
_TAIL = Measure("99 % wait", "wait_p99", _first_queue("sojourn_p99_s"), MS)

TARGETS = item(
    "B9",
    "AMECN and Adaptive RED on these networks",
    "Both with a target of 16 ms (dashed), for which their rules give the thesis' thresholds of 10 and 30 packets, and with 60 "
    "flows. The senders of AMECN answer to marks of two levels; flows without ECN are Reno under both.",
    {(scheme, network): scenario(scheme, network) for scheme in SCHEMES for network in [*NETWORKS, CASE]},
    [WAIT, USE, JAIN],
    Look("network", scenarios.LOOKS, columns=1),
    also=[GOODPUT, _TAIL, DROPS, MARKS],
    part=PART,
)
