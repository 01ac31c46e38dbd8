"""How late packets left: a link of the engine says when each leaves, and a machine in real time is never exactly then there to send it.

Departures are at the engine's times, so lateness does not add up, but a packet that is late by as much as others take to be sent meets
another queue than the one it should. A run whose lateness is over its budget is therefore refused: its numbers would be the machine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# As the record of a run has them.
LATENESS_KEY, BUDGET_KEY, DEVICE_DROPS_KEY = "lateness_s", "lateness_budget_s", "device_drops"
PERCENTILES = ("p50", "p99", "p99.9", "max")

# What `tcp_ecn` of a host asks for when it opens a connection.
_ECN_REQUEST_NAMES = {0: "without ECN", 1: "with ECN", 3: "with Accurate ECN"}
_BUDGET_PERCENTILE = "p99"
_REAL_TIME_REMEDY = (
    "fix: reduce the machine's load, permit real-time scheduling (see `ecnlab doctor`), raise "
    "--lateness-budget, or use --backend uml, which runs in virtual time"
)
# Time stood still while the machine was busy, so what is late is what happens at once.
_VIRTUAL_REMEDY = "fix: give its slowest link with a measured queue a lower rate or larger packets, or let fewer flows send at once"


class LatenessExceeded(Exception):
    """Packets left later than the budget allows, or were lost on the way to the router because it was late."""


def require_lateness_within_budget(about: Mapping[str, Any]) -> None:
    """See that a run kept to its budget. Raises Late."""
    drops, late, budget = about.get(DEVICE_DROPS_KEY, 0), about.get(LATENESS_KEY), about.get(BUDGET_KEY)
    remedy = _VIRTUAL_REMEDY if about.get("time") == "virtual" else _REAL_TIME_REMEDY
    if drops:
        raise LatenessExceeded(f"the router was so late that the hosts' devices dropped {drops} packets before it; {remedy}")
    if late is not None and budget is not None and late[_BUDGET_PERCENTILE] > budget:
        told = ", ".join(f"{step} {format_milliseconds(late[step])}" for step in PERCENTILES)
        raise LatenessExceeded(
            f"packets left late ({told}), above the budget of {format_milliseconds(budget)} at {_BUDGET_PERCENTILE}; {remedy}"
        )


def worst_lateness(abouts: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The lateness in seconds at each step, of the run that was latest there; empty where no run says it."""
    told = [about[LATENESS_KEY] for about in abouts if LATENESS_KEY in about]
    return {step: max(late[step] for late in told) for step in PERCENTILES} if told else {}


def congestion_controls_in_use(about: Mapping[str, Any]) -> dict[str, str]:
    """Of each group that has connections the congestion control of its hosts, and which ECN they ask for."""
    groups = [group for group in about.get("groups", ()) if group.get("congestion_control")]
    return {group["name"]: f"{group['congestion_control']}, {_ECN_REQUEST_NAMES[group['tcp_ecn'][0]]}" for group in groups}


def format_milliseconds(seconds: float) -> str:
    """A time as text, e.g. "0.079 ms"."""
    return f"{1e3 * seconds:.3g} ms"
