"""Shared parts of tests: a small scenario that runs in milliseconds, and the outcome of a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ecnlab.studies.framework.model import RequiredScenario, Study, StudyItem

EXAMPLES = Path(__file__).parent.parent / "examples"

SMALL = """\
name = "small"
duration = "6 s"
measure_from = "1 s"

[[link]]
name = "bottleneck"
from = "router"
to = "sink"
rate = "2 Mbps"
delay = "5 ms"
queue = { aqm = "ecn", limit = 60, min_th = 5, max_th = 15, max_p = 0.5 }

[[flows]]
name = "far"
count = 3
to = "sink"
access = { to = "router", rate = "1 Mbps", delay = "50 ms" }
tcp = { profile = "ns2-2001", variant = "reno", ecn = true, max_rwnd = 64 }
app = "bulk"
start = ["0 s", "1 s"]

[[flows]]
name = "near"
count = 3
to = "sink"
access = { to = "router", rate = "1 Mbps", delay = "10 ms" }
tcp = { profile = "ns2-2001", variant = "reno", ecn = true, max_rwnd = 64 }
app = "bulk"
start = ["0 s", "1 s"]

[record]
queue = "10 ms"
rates = true
window = "100 ms"
events = true
"""

# Nothing in it is random.
FIXED = {
    "name": "fixed",
    "duration": "4 s",
    "link": [{"name": "l", "from": "a", "to": "b", "rate": "1 Mbps", "delay": "1 ms", "queue": {"aqm": "droptail", "limit": 10}}],
    "flows": [{"name": "f", "from": "a", "to": "b", "tcp": {"profile": "rfc"}}],
}


@dataclass(frozen=True)
class Outcome:
    """Outcome of a command."""

    code: int
    out: str
    err: str


def short_study(items: Sequence[StudyItem], number: str) -> Study:
    """A study of one of these figures, in runs of 4 s that are measured from 1 s on."""
    (item,) = (item for item in items if item.number == number)
    short = {"duration": "4 s", "measure_from": "1 s"}
    needs = {key: RequiredScenario({**need.scenario, **short}, need.every_seed) for key, need in item.needs.items()}
    return Study("short", "t", "s", "u", [replace(item, needs=needs)])
