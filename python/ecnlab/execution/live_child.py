"""The process of a run on the backend `live`: it hears what is to be done on standard input, and tells on standard output.

It has one thread, so that it can become root of a user namespace, and ends when whoever has started it ends: the kernel is asked to see to
that, and standard input is looked at while the run goes on.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import sys
from contextlib import nullcontext
from typing import IO, Any

from ecnlab import _core
from ecnlab.backends.base import ENV_SCRIPT_IMPORT, ProgressCallback, RunOutput
from ecnlab.backends.live import Live, receive_message, send_message
from ecnlab.errors import BackendError, EcnlabError
from ecnlab.execution.jobs import Job, run_job

# What a user's script is called while its classes are looked up; it is not to run scenarios then.
SCRIPT_MODULE_NAME = "__ecnlab_script__"


def run_job_from_stdin() -> int:
    """Do one job."""
    tell = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a user's AQM prints is not for whoever hears us
    hear = sys.stdin.buffer
    asked = receive_message(hear)
    sys.path[:] = asked["path"]
    try:
        _load_script_classes(asked["script"])
        scenario, seed, tracing = receive_message(hear)
    except EcnlabError as error:
        send_message(tell, error)
        return 0
    inside = Job(scenario.on_backend(backend_in_this_process(scenario.backend)), seed)
    outcome = run_job(inside, _progress_callback_over_pipe(hear, tell), tracing)
    if outcome is not None:
        send_message(tell, outcome)
    return 0


def backend_in_this_process(backend: Any) -> Any:
    """The backend as it runs in this process."""

    class Here(Live):
        def run(self, scenario: Any, seed: int, watch: ProgressCallback | None, tracing: Any) -> RunOutput:
            return run_live_in_this_process(self, scenario, seed, watch, tracing)

    return Here(backend.lateness_budget_s, backend.ip)


def run_live_in_this_process(backend: Any, scenario: Any, seed: int, watch: ProgressCallback | None, tracing: Any) -> RunOutput:
    """Run a scenario in this process, which is never the same again. Raises BackendError, and what the engine raises."""
    try:
        with nullcontext() if tracing is None else tracing.open_trace_file(seed) as trace:
            run, about = _core.run_live(scenario._core, seed, watch, trace, backend.lateness_budget_s, backend.ip)
    except _core.SystemRefusal as refusal:
        raise BackendError(f"live cannot be used here: {refusal}; fix: run ecnlab doctor") from None
    return RunOutput(run.fingerprint, run.events, run.packet_hops, run.cpu_s, run.tables, json.loads(about))


def _progress_callback_over_pipe(hear: IO[bytes], tell: IO[bytes]) -> ProgressCallback:
    def report_progress(over_s: float) -> bool:
        if select.select([hear], [], [], 0)[0]:  # it says no more, so it has ended or wants an end
            return True
        send_message(tell, over_s)
        return False

    return report_progress


def _load_script_classes(file: str | None) -> None:
    """Let the job name what stands in the user's script."""
    if file is None:
        return
    made = sys.modules["__main__"]
    os.environ[ENV_SCRIPT_IMPORT] = file
    for name, value in runpy.run_path(file, run_name=SCRIPT_MODULE_NAME).items():
        if not hasattr(made, name):
            setattr(made, name, value)
    del os.environ[ENV_SCRIPT_IMPORT]


if __name__ == "__main__":
    sys.exit(run_job_from_stdin())
