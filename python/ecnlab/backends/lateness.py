"""Lateness: the delay between the departure time that the engine computes for a packet and the time when the machine sends it.

The engine schedules departures by its own clock, so lateness does not add up from packet to packet. A packet that is late by a
transmission time meets a different queue, though. A run that exceeds its lateness budget is therefore refused: its results would
describe the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# Keys in the record of a run.
LATENESS_KEY, BUDGET_KEY, DEVICE_DROPS_KEY = "lateness_s", "lateness_budget_s", "device_drops"
PERCENTILES = ("p50", "p99", "p99.9", "max")

# The ECN variant that a host requests as client, by its value of `net.ipv4.tcp_ecn`.
_ECN_REQUEST_NAMES = {0: "without ECN", 1: "with ECN", 3: "with Accurate ECN"}
_BUDGET_PERCENTILE = "p99"
_REAL_TIME_REMEDY = (
    "fix: reduce the machine's load, permit real-time scheduling (see `ecnlab doctor`), raise "
    "--lateness-budget, or use --backend uml, which runs in virtual time"
)
# Virtual time stands still while the machine computes, so only simultaneous events can make packets late.
_VIRTUAL_REMEDY = "fix: give its slowest link with a measured queue a lower rate or larger packets, or let fewer flows send at once"


class LatenessExceeded(Exception):
    """Packets left later than the budget allows, or were lost on the way to the router because it was late."""


def require_lateness_within_budget(about: Mapping[str, Any]) -> None:
    """Check the lateness of a run against its budget. Raises LatenessExceeded."""
    drops, late, budget = about.get(DEVICE_DROPS_KEY, 0), about.get(LATENESS_KEY), about.get(BUDGET_KEY)
    remedy = _VIRTUAL_REMEDY if about.get("time") == "virtual" else _REAL_TIME_REMEDY
    if drops:
        raise LatenessExceeded(f"the router was so late that the hosts' devices dropped {drops} packets before it; {remedy}")
    if late is not None and budget is not None and late[_BUDGET_PERCENTILE] > budget:
        percentiles = ", ".join(f"{step} {seconds_to_milliseconds_text(late[step])}" for step in PERCENTILES)
        raise LatenessExceeded(
            f"packets left late ({percentiles}), above the budget of {seconds_to_milliseconds_text(budget)} "
            f"at {_BUDGET_PERCENTILE}; {remedy}"
        )


def worst_lateness_by_percentile(abouts: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The largest lateness over runs at each percentile, in seconds; empty if no run reports it."""
    reports = [about[LATENESS_KEY] for about in abouts if LATENESS_KEY in about]
    return {step: max(late[step] for late in reports) for step in PERCENTILES} if reports else {}


def congestion_control_and_ecn_by_group(about: Mapping[str, Any]) -> dict[str, str]:
    """Congestion control and requested ECN variant of the hosts, for each group with TCP connections."""
    groups = [group for group in about.get("groups", ()) if group.get("congestion_control")]
    return {group["name"]: f"{group['congestion_control']}, {_ECN_REQUEST_NAMES[group['tcp_ecn'][0]]}" for group in groups}


def seconds_to_milliseconds_text(seconds: float) -> str:
    """A time in seconds as text in milliseconds, e.g. "0.079 ms"."""
    return f"{1e3 * seconds:.3g} ms"
