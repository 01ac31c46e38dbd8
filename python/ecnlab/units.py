"""The unit of every column that a result carries, told by its name."""

from __future__ import annotations

_BY_ENDING = {"_bps": "bit/s", "_s": "s", "_packets": "packets"}
_COUNTS = {
    "arrivals": "packets",
    "departures": "packets",
    "drops": "packets",
    "drops_early": "packets",
    "drops_ecn": "packets",
    "drops_forced": "packets",
    "drops_lost": "packets",
    "drops_overflow": "packets",
    "ecn_reactions": "reactions",
    "flow": "index",
    "flows": "flows",
    "locked_out_flows": "flows",
    "lockouts": "spells",
    "marks": "packets",
    "power": "bit/s^2",
    "retransmitted_fast": "packets",
    "retransmitted_run": "packets",
    "retransmitted_timeout": "packets",
    "sent": "packets",
    "timeouts": "timeouts",
    "timeouts_run": "timeouts",
    "transactions": "transactions",
}
_NAMES = {"group", "queue", "kind", "cause", "seed"}

_SHOWN = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms")}


def unit_of(column: str) -> str:
    """The unit of a column: "bit/s", "s", "packets", ..., "1" for a ratio and "" for a name or seed."""
    if column in _NAMES:
        return ""
    if column in _COUNTS:
        return _COUNTS[column]
    return next((unit for ending, unit in _BY_ENDING.items() if column.endswith(ending)), "1")


def shown(column: str, value: float) -> tuple[float, str]:
    """A value of `column` in the unit that people read: Mbit/s and ms."""
    factor, unit = shown_unit(column)
    return value * factor, unit


def shown_unit(column: str) -> tuple[float, str]:
    """The factor to, and the name of, the unit in which `column` is shown."""
    return _SHOWN.get(unit_of(column), (1.0, unit_of(column)))
