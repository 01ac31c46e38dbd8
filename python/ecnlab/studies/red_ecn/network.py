"""The paper's network with what it leaves out, and what is measured of its sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from ecnlab import networks
from ecnlab.networks import Tree
from ecnlab.studies.claims import Of
from ecnlab.studies.model import Need
from ecnlab.studies.red_ecn.published import Row, ns2_kbps

if TYPE_CHECKING:
    from ecnlab.results import Result

SOURCES = 10
# min_th, max_th and the buffer are the paper's; all else is ns-2's default, RED as the paper's figure 2 has it, which is not gentle.
_QUEUE: Tree = {"limit": 25, "min_th": 6, "max_th": 18, "w_q": 0.002, "max_p": 0.1, "gentle": False, "mean_packet": "500 B"}
_AQMS = {"RED": "red", "RED with ECN": "ecn"}


@dataclass(frozen=True)
class Choice:
    """A choice of what the paper leaves out: the bottleneck's rate, the datagram sources, the duration, and parameters of TCP and RED."""

    name: str = "as chosen"
    rate: str = "1.5 Mbps"
    bursts: int = 8
    duration: str = "100 s"
    tcp: Tree = field(default_factory=dict, hash=False)
    queue: Tree = field(default_factory=dict, hash=False)


CHOSEN = Choice()


@cache
def need(row: Row, choice: Choice = CHOSEN) -> Need:
    """The scenario of a row: experiment, scheme and delay."""
    experiment, scheme, delay = row
    title = f"{scheme}, experiment {experiment}, {delay} ms, {choice.name}"
    bursts = choice.bursts if experiment == 2 else 0
    queue = {"aqm": _AQMS[scheme], **_QUEUE, **choice.queue}
    ecn = scheme != "RED"
    tree = networks.red_ecn(title, queue, delay, ecn=ecn, bursts=bursts, tcp=choice.tcp, rate=choice.rate, duration=choice.duration)
    return Need(tree)


def per_source(result: Result) -> list[float]:
    """What a TCP source got in the mean, retransmissions left out, in bit/s, one value a seed."""
    return [value / SOURCES for value in result.values("goodput_bps", group="bulk")]


def measured(row: Row) -> Of:
    """What a source got in a row's scenario, with ns-2's number where there is one."""
    known = ns2_kbps().get(row)
    return Of(need(row), per_source, known=None if known is None else known * 1e3)
