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
        """Name for `--backend`."""
        return SIMULATOR_NAME

    @property
    def default_max_parallel_runs(self) -> int | None:
        """None: one run per core."""
        return None

    @property
    def supports_cluster(self) -> bool:
        """True: a run is identical on every machine."""
        return True

    @property
    def trace_kinds(self) -> Sequence[str]:
        """All trace kinds except cases."""
        return ("ns2", "pcapng", "parquet")

    def identity(self) -> Mapping[str, Any]:
        """Empty: the engine's build and the scenario identify a result."""
        return {}

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """Problems of a scenario that requires a kernel."""
        return list(map(Problem.from_engine, _core.refusals(scenario._core, SIMULATOR_NAME)))

    def run(self, scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None) -> RunOutput:
        """Simulate the scenario."""
        core = scenario._core
        with nullcontext() if tracing is None else tracing.lock_partial_trace_file(seed) as trace:
            run = core.run(seed, watch) if trace is None else core.run(seed, watch, trace)
        return RunOutput(run.fingerprint, run.events, run.packet_hops, run.cpu_s, run.tables, fast_path_share=run.fast_path_share)


SIMULATOR = Simulator()
