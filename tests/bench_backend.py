"""A backend for tests: it simulates, and reports the same facts about each run as a backend with real hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from ecnlab.backends.base import ProgressCallback, RunOutput
from ecnlab.backends.simulator import SIMULATOR
from ecnlab.errors import Problem
from ecnlab.packet_traces.write import TraceOutput
from ecnlab.scenarios.load import Scenario

_lock = Lock()
_running: list[int] = []
MOST: list[int] = []


@dataclass(frozen=True)
class Bench:
    """A fake test bench with a kernel of this release and the given lateness in some seeds."""

    kernel: str = "6.1"
    late_s: float = 1e-6
    late_seeds: tuple[int, ...] = ()
    default_max_parallel_runs: int | None = 1
    supports_cluster: bool = False
    lateness_budget_s: float | None = None
    drops: int = 0
    broken: int = 0
    ip: int = 4

    @property
    def name(self) -> str:
        return "bench"

    @property
    def trace_kinds(self) -> list[str]:
        return ["pcapng"]

    def identity(self) -> Mapping[str, Any]:
        return {"kernel": self.kernel}

    def refusals(self, scenario: Scenario) -> list[Problem]:
        limits = [(link["name"], link["queue"]["limit"]) for link in scenario.resolved["link"]]
        return [Problem(f"link.{name}.queue.limit", None, "too long for the bench") for name, limit in limits if limit == "999 packets"]

    def run(self, scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None) -> RunOutput:
        with _lock:
            _running.append(seed)
            MOST.append(len(_running))
        try:
            ran = SIMULATOR.run(scenario, seed, watch, tracing)
        finally:
            with _lock:
                _running.remove(seed)
        return replace(ran, about=self._about(seed))

    def _about(self, seed: int) -> dict[str, Any]:
        late = self.late_s if not self.late_seeds or seed in self.late_seeds else 1e-6
        lateness = {"p50": late / 2, "p99": late, "p99.9": 2 * late, "max": 3 * late}
        budget = 1e-3 if self.lateness_budget_s is None else self.lateness_budget_s
        hosts = {"connections": {"broken": self.broken}}
        return {"kernel": self.kernel, "lateness_s": lateness, "lateness_budget_s": budget, "device_drops": self.drops, **hosts}
