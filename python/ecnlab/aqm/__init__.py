"""AQMs of the user: what a class in Python subclasses, sees and answers; plug-ins, fingerprints and compiled classes behind it."""

from __future__ import annotations

from typing import Any

from ecnlab._core import Arrival, Backlog, Departure, Idling, Packet, TimerContext, exp, ln, powi
from ecnlab.aqm.api import PASS, Aqm, Gauge, Line, Param, Verdict, drop, gauge, mark, param

__all__ = [
    "PASS",
    "Aqm",
    "Arrival",
    "Backlog",
    "Departure",
    "Gauge",
    "Idling",
    "Line",
    "Packet",
    "Param",
    "TimerContext",
    "Verdict",
    "drop",
    "exp",
    "gauge",
    "ln",
    "mark",
    "param",
    "powi",
]


def __getattr__(name: str) -> Any:
    if name != "Expiry":
        raise AttributeError(f"module 'ecnlab.aqm' has no attribute {name!r}")
    import warnings

    warnings.warn("ecnlab.aqm.Expiry is now TimerContext", DeprecationWarning, stacklevel=2)
    return TimerContext
