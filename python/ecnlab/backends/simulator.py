"""The simulator as a backend: hosts and network are simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ecnlab import _core
from ecnlab.backends.base import SIMULATOR_NAME, ProgressCallback, RunOutput
from ecnlab.errors import Problem

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario


@dataclass(frozen=True)
class Simulator:
    """Hosts and network are simulated: exact, reproducible, and as fast as the machine."""

    name: ClassVar[str] = SIMULATOR_NAME
    """Name for `--backend`."""
    default_max_parallel_runs: ClassVar[int | None] = None
    """None: one run per core."""
    supports_cluster: ClassVar[bool] = True
    """True: a run is identical on every machine."""
    trace_kinds: ClassVar[Sequence[str]] = ("ns2", "pcapng", "parquet")
    """All trace kinds except cases."""

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
