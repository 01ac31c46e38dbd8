"""The simulator as a backend: hosts and network are simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.backends.base import SIMULATOR_NAME, ProgressCallback, RunOutput
from ecnlab.errors import Problem

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario


@dataclass(frozen=True)
class Simulator:
    """Hosts and network are simulated: exact, reproducible, and as fast as the machine."""

    @property
    def name(self) -> str:
        """Its name, as in `--backend`."""
        return SIMULATOR_NAME

    @property
    def max_parallel_runs(self) -> int | None:
        """One on each core."""
        return None

    @property
    def supports_cluster(self) -> bool:
        """A run is the same everywhere."""
        return True

    @property
    def trace_kinds(self) -> Sequence[str]:
        """All kinds that there are."""
        return ("ns2", "pcapng", "parquet")

    def identity(self) -> Mapping[str, Any]:
        """Nothing: the engine's build and the parameters say all."""
        return {}

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """What needs a kernel."""
        return list(map(Problem.from_engine, _core.refusals(scenario._core, SIMULATOR_NAME)))

    def run(self, scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None) -> RunOutput:
        """Simulate it."""
        core = scenario._core
        with nullcontext() if tracing is None else tracing.open_trace_file(seed) as trace:
            run = core.run(seed, watch) if trace is None else core.run(seed, watch, trace)
        return RunOutput(run.fingerprint, run.events, run.packet_hops, run.cpu_s, run.tables)


SIMULATOR = Simulator()
