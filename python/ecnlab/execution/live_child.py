"""The child process of a run on the backend `live`: receives a job on standard input and sends its outcome on standard output.

It has one thread, so that it can enter a user namespace. It ends with its parent: it sets the parent-death signal, and it polls standard
input during the run.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import sys
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING

from ecnlab import _core
from ecnlab.backends.base import ENV_SCRIPT_IMPORT, ProgressCallback, RunOutput
from ecnlab.backends.live import Live, receive_message, send_message
from ecnlab.errors import BackendError, EcnlabError
from ecnlab.execution.jobs import Job, run_job

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario

# `__name__` of a user's script while it is imported for its classes; it must not run scenarios then.
SCRIPT_MODULE_NAME = "__ecnlab_script__"


def run_job_from_stdin() -> int:
    """Receive one job, run it and send its outcome."""
    to_parent = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of a user's AQM must not mix with messages
    from_parent = sys.stdin.buffer
    imports = receive_message(from_parent)
    sys.path[:] = imports["path"]
    try:
        _load_script_classes(imports["script"])
        scenario, seed, tracing = receive_message(from_parent)
    except EcnlabError as error:
        send_message(to_parent, error)
        return 0
    backend = _LiveInThisProcess(scenario.backend.lateness_budget_s, scenario.backend.ip)
    job = Job(scenario.on_backend(backend), seed)
    outcome = run_job(job, _progress_callback_over_pipe(from_parent, to_parent), tracing)
    if outcome is not None:
        send_message(to_parent, outcome)
    return 0


class _LiveInThisProcess(Live):
    """The same backend, whose runs do not start a child process."""

    def run(self, scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None) -> RunOutput:
        """Run a scenario in this process, which stays in the new namespaces. Raises BackendError and the engine's errors."""
        try:
            with nullcontext() if tracing is None else tracing.lock_partial_trace_file(seed) as trace:
                run, about = _core.run_live(scenario._core, seed, watch, trace, self.lateness_budget_s, self.ip)
        except _core.SystemRefusal as refusal:
            raise BackendError(f"live cannot be used here: {refusal}; fix: run ecnlab doctor") from None
        return RunOutput(run.fingerprint, run.events, run.packet_hops, run.cpu_s, run.tables, json.loads(about))


def _progress_callback_over_pipe(from_parent: IO[bytes], to_parent: IO[bytes]) -> ProgressCallback:
    def report_progress(simulated_s: float) -> bool:
        if select.select([from_parent], [], [], 0)[0]:  # readable only at its end: the parent has exited or stops the run
            return True
        send_message(to_parent, simulated_s)
        return False

    return report_progress


def _load_script_classes(file: str | None) -> None:
    """Import the user's script and add its definitions to `__main__`, where unpickling a job looks for its classes."""
    if file is None:
        return
    main_module = sys.modules["__main__"]
    os.environ[ENV_SCRIPT_IMPORT] = file
    for name, value in runpy.run_path(file, run_name=SCRIPT_MODULE_NAME).items():
        if not hasattr(main_module, name):
            setattr(main_module, name, value)
    del os.environ[ENV_SCRIPT_IMPORT]


if __name__ == "__main__":
    sys.exit(run_job_from_stdin())
