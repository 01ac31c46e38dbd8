"""How late packets left: a link of the engine says when each leaves, and a machine in real time is never exactly then there to send it.

Departures are at the engine's times, so lateness does not add up, but a packet that is late by as much as others take to be sent meets
another queue than the one it should. A run whose lateness is over its budget is therefore refused: its numbers would be the machine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# As the record of a run has them.
LATENESS, BUDGET, DROPS = "lateness_s", "lateness_budget_s", "device_drops"
STEPS = ("p50", "p99", "p99.9", "max")

# What `tcp_ecn` of a host asks for when it opens a connection.
_ASKED = {0: "without ECN", 1: "with ECN", 3: "with Accurate ECN"}
_JUDGED = "p99"
_REMEDY = (
    "let the machine rest, give the process the right to real-time scheduling (`ecnlab doctor` says how), "
    "allow more with --lateness-budget, or run it --on boxed, where time stands still while the machine is busy"
)
# Time stood still while the machine was busy, so what is late is what happens at once.
_VIRTUAL_REMEDY = "give its slowest link with a measured queue a lower rate or larger packets, or let fewer flows send at once"


class Late(Exception):
    """Packets left later than the budget allows, or were lost on the way to the router because it was late."""


def require_in_time(about: Mapping[str, Any]) -> None:
    """See that a run kept to its budget. Raises Late."""
    drops, late, budget = about.get(DROPS, 0), about.get(LATENESS), about.get(BUDGET)
    remedy = _VIRTUAL_REMEDY if about.get("time") == "virtual" else _REMEDY
    if drops:
        raise Late(f"the router was so late that {drops} packets were lost before it, at the hosts' devices: {remedy}")
    if late is not None and budget is not None and late[_JUDGED] > budget:
        told = ", ".join(f"{step} {milliseconds(late[step])}" for step in STEPS)
        raise Late(f"packets left late ({told}), and the budget of {milliseconds(budget)} at {_JUDGED} is passed: {remedy}")


def worst(abouts: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The lateness in seconds at each step, of the run that was latest there; empty where no run says it."""
    told = [about[LATENESS] for about in abouts if LATENESS in about]
    return {step: max(late[step] for late in told) for step in STEPS} if told else {}


def controls(about: Mapping[str, Any]) -> dict[str, str]:
    """Of each group that has connections the congestion control of its hosts, and which ECN they ask for."""
    groups = [group for group in about.get("groups", ()) if group.get("congestion_control")]
    return {group["name"]: f"{group['congestion_control']}, {_ASKED[group['tcp_ecn'][0]]}" for group in groups}


def milliseconds(seconds: float) -> str:
    """A time as text, e.g. "0.079 ms"."""
    return f"{1e3 * seconds:.3g} ms"
