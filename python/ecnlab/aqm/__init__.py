"""AQMs of the user: what a class in Python subclasses, sees and answers; plug-ins, fingerprints and compiled classes behind it."""

from __future__ import annotations

from ecnlab.aqm.api import (
    PASS,
    Aqm,
    Arrival,
    Backlog,
    Departure,
    Expiry,
    Gauge,
    Idling,
    Line,
    Packet,
    Param,
    Verdict,
    drop,
    exp,
    gauge,
    ln,
    mark,
    param,
    powi,
)

__all__ = [
    "PASS",
    "Aqm",
    "Arrival",
    "Backlog",
    "Departure",
    "Expiry",
    "Gauge",
    "Idling",
    "Line",
    "Packet",
    "Param",
    "Verdict",
    "drop",
    "exp",
    "gauge",
    "ln",
    "mark",
    "param",
    "powi",
]
