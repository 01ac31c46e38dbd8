"""ns-2's reference tables, and the columns of those of the thesis' networks: ecnlab's column and the factor to ns-2's unit."""

from __future__ import annotations

import csv
from pathlib import Path

REFERENCE = Path(__file__).parents[1] / "reference" / "ns2"

_PER_MEGA, _PER_MILLI = 1e-6, 1e3

# Columns over all flows.
TOTAL_COLUMNS = {
    "throughput_mbps": ("throughput_bps", _PER_MEGA),
    "goodput_mbps": ("goodput_bps", _PER_MEGA),
    "goodput_noretx_mbps": ("goodput_first_bps", _PER_MEGA),
    "jain_goodput": ("jain_goodput", 1.0),
    "jain_throughput": ("jain_throughput", 1.0),
    "jain_1s_throughput": ("jain_1s_throughput", 1.0),
    "jain_1s_goodput": ("jain_1s_goodput", 1.0),
    "jain_1s_goodput_noretx": ("jain_1s_goodput_first", 1.0),
    "delay_mean_ms": ("delay_mean_s", _PER_MILLI),
    "marks": ("marks", 1.0),
    "drops": ("drops", 1.0),
    "timeouts_0_100s": ("timeouts_run", 1.0),
    "retransmitted_pkts_0_100s": ("retransmitted_run", 1.0),
}
# Columns of the bottleneck's queue.
QUEUE_COLUMNS = {
    "drops_overflow": ("drops_overflow", 1.0),
    "queue_mean_pkts": ("length_mean_packets", 1.0),
    "queue_mean_at_arrival": ("length_at_arrival_packets", 1.0),
    "queue_empty_frac": ("empty_fraction", 1.0),
    "utilisation": ("utilisation", 1.0),
}
# Columns of a group of flows; the braces stand for its name.
GROUP_COLUMNS = {
    "throughput_{}_mbps": ("throughput_bps", _PER_MEGA),
    "goodput_{}_mbps": ("goodput_bps", _PER_MEGA),
    "goodput_noretx_{}_mbps": ("goodput_first_bps", _PER_MEGA),
    "delay_{}_ms": ("delay_mean_s", _PER_MILLI),
    "marks_{}": ("marks", 1.0),
    "drops_{}": ("drops", 1.0),
}


def reference_rows(table: str) -> list[dict[str, str]]:
    """The rows of a table of reference/ns2."""
    with (REFERENCE / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
