"""The paper's network, the parameters that the paper omits, and the measures of its sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from ecnlab.scenarios import networks
from ecnlab.scenarios.networks import Tree
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import ScenarioMeasure
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.red_ecn.published import TableRow, recorded_ns2_throughput_kbps_by_row

SOURCE_COUNT = 10
# min_th, max_th and the buffer are the paper's, the rest ns-2's defaults; RED is not gentle, as in the paper's figure 2.
_RED_QUEUE = {"limit": 25, "min_th": 6, "max_th": 18, "w_q": 0.002, "max_p": 0.1, "gentle": False, "mean_packet": "500 B"}
_AQM_OF_SCHEME = {"RED": "red", "RED with ECN": "ecn"}


@dataclass(frozen=True)
class OpenParameterChoice:
    """Values that the paper omits: the bottleneck's rate, the datagram sources, the duration, and parameters of TCP and RED."""

    name: str = "as chosen"
    rate: str = "1.5 Mbps"
    bursts: int = 8
    duration: str = "100 s"
    tcp: Tree = field(default_factory=dict, hash=False)
    queue: Tree = field(default_factory=dict, hash=False)


CHOSEN_CHOICE = OpenParameterChoice()


@cache
def table_row_scenario(row: TableRow, choice: OpenParameterChoice = CHOSEN_CHOICE) -> RequiredScenario:
    """The scenario of a row: experiment, scheme and delay."""
    experiment, scheme, delay = row
    title = f"{scheme}, experiment {experiment}, {delay} ms, {choice.name}"
    bursts = choice.bursts if experiment == 2 else 0
    queue = {"aqm": _AQM_OF_SCHEME[scheme], **_RED_QUEUE, **choice.queue}
    ecn = scheme != "RED"
    tree = networks.red_ecn_scenario(
        title, queue, delay, ecn=ecn, bursts=bursts, tcp=choice.tcp, rate=choice.rate, duration=choice.duration
    )
    return RequiredScenario(tree)


def goodput_per_source(result: Result) -> list[float]:
    """Mean goodput of a TCP source without retransmissions, in bit/s, one value per seed."""
    return [value / SOURCE_COUNT for value in result.values("goodput_bps", group="bulk")]


def goodput_of_table_row(row: TableRow) -> ScenarioMeasure:
    """Goodput of a source in a row's scenario, with ns-2's number if known."""
    known = recorded_ns2_throughput_kbps_by_row().get(row)
    return ScenarioMeasure(table_row_scenario(row), goodput_per_source, known=None if known is None else known * 1e3)
