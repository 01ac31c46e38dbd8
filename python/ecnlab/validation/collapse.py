"""The checks against RFC 2914's Table 1: congestion collapse from packets that are dropped downstream of the bottleneck."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ecnlab.packet_traces import ns2
from ecnlab.scenarios.networks import congestion_collapse_scenario
from ecnlab.storage.results import Result
from ecnlab.validation.formulas import FormulaCheck
from ecnlab.validation.samples import SampleStatistics, sample_from_row

# Interval between datagrams in ms; then in % of the bottleneck's rate: the arrival rate of UDP, the goodput of UDP and that of TCP.
PAPER_TABLE_1 = (
    (80.0, 0.7, 0.7, 98.5),
    (30.0, 1.8, 1.7, 97.3),
    (20.0, 2.6, 2.6, 96.0),
    (10.0, 5.3, 5.2, 92.7),
    (6.0, 8.8, 8.4, 87.1),
    (5.0, 10.5, 8.4, 84.8),
    (4.0, 13.1, 8.4, 81.4),
    (3.0, 17.5, 8.4, 77.3),
    (2.0, 26.3, 8.4, 64.5),
    (1.0, 52.6, 8.4, 38.1),
    (0.9, 58.4, 8.4, 32.8),
    (0.8, 65.7, 8.4, 28.5),
    (0.7, 75.1, 8.4, 19.7),
    (0.6, 87.6, 8.4, 11.3),
    (0.5, 105.2, 8.4, 3.4),
    (0.4, 131.5, 8.4, 2.4),
)
_BOTTLENECK_BPS = 1.5e6
_DATAGRAM_BITS = 800
# Both in percentage points of the bottleneck's rate; docs/trust/formulas.md has the reason.
_QUICK_POINTS = 5.0
_ROUNDING_SLACK = 0.1
_QUICK_SEEDS = (26.3, 105.2)


def collapse_checks() -> Iterator[FormulaCheck]:
    """Goodput of TCP and of UDP at every rate of the table."""
    known = recorded_ns2_goodput_by_datagram_interval()
    for interval_ms, arrives, udp, tcp in PAPER_TABLE_1:
        rate = f"{_DATAGRAM_BITS / interval_ms:.6f} kbps"
        tree = congestion_collapse_scenario(f"UDP at {arrives} %", rate)
        for group, published, slack in (("tcp", tcp, _QUICK_POINTS), ("udp", udp, _ROUNDING_SLACK)):
            setting = f"{group.upper()} goodput, UDP at {arrives:g} %"
            theirs = known[group, interval_ms]
            yield FormulaCheck(
                "RFC 2914, Table 1",
                setting,
                "%",
                published,
                slack,
                tree,
                _goodput_percent_of_bottleneck(group),
                5,
                theirs,
                arrives in _QUICK_SEEDS,
            )


def recorded_ns2_goodput_by_datagram_interval() -> Mapping[tuple[str, float], SampleStatistics]:
    """ns-2's goodput of TCP and of UDP by the interval between datagrams."""
    rows = ns2.reference_rows("collapse")
    return {(group, float(row["interval_ms"])): sample_from_row(row, group) for row in rows for group in ("tcp", "udp")}


def _goodput_percent_of_bottleneck(group: str) -> Callable[[Result], list[float]]:
    return lambda result: [100 * rate / _BOTTLENECK_BPS for rate in result.values("goodput_bps", group=group)]
