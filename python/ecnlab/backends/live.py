"""The backend `live`: hosts are this machine's kernel in separate network namespaces, in real time.

Each run is a child process (`execution.live_child`), because a run enters a user namespace and takes real-time priority, which must not
affect the user's process. The child ends with its parent. Its namespaces, devices and sockets have no names, so they end with it.
"""

from __future__ import annotations

import pickle
import platform
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import IO, TYPE_CHECKING, Any, ClassVar

from ecnlab import _core
from ecnlab.backends import doctor, interpreter
from ecnlab.backends.base import (
    LIVE_NAME,
    ProgressCallback,
    RunOutput,
    require_linux,
    require_positive_seconds_or_none,
    require_valid_ip_version,
)
from ecnlab.errors import BackendError, EcnlabError, Failure, Problem, RemoteRunFailed

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario
    from ecnlab.storage.tables import FinishedRun

# Header of a message between parent and child: the length of the pickled value that follows.
_MESSAGE_LENGTH = struct.Struct("<Q")
_READ_CHUNK_BYTES = 1 << 20
_EXIT_TIMEOUT_S = 5.0
_MAX_STDERR_LINES = 8


@dataclass(frozen=True)
class Live:
    """Hosts are this machine's kernel, in real time.

    Attributes
    ----------
    lateness_budget_s : float or None
        A run is refused if the 99th percentile of its lateness exceeds this, in seconds. Default: a quarter of the transmission time of a
        full packet on the slowest link with a measured queue, and at least 100 µs.
    ip : int
        IP version of the hosts, 4 or 6.
    """

    lateness_budget_s: float | None = None
    ip: int = 4

    name: ClassVar[str] = LIVE_NAME
    """Name for `--backend`."""
    default_max_parallel_runs: ClassVar[int | None] = 1
    """One: parallel runs would delay each other's packets."""
    supports_cluster: ClassVar[bool] = False
    """False: a run measures this machine."""
    trace_kinds: ClassVar[Sequence[str]] = ("pcapng",)
    """Captures of real packets only."""

    def __post_init__(self) -> None:
        require_valid_ip_version(self.ip)
        require_positive_seconds_or_none("lateness_budget_s", self.lateness_budget_s)

    def identity(self) -> Mapping[str, Any]:
        """The kernel's release, a digest of the router's sources, and parameters that differ from the defaults. Raises BackendError."""
        require_linux(f"backend: {LIVE_NAME}")
        chosen = {"ip": self.ip if self.ip != 4 else None, "lateness_budget_s": self.lateness_budget_s}
        return {
            "kernel": platform.release(),
            "program": _core.EMULATOR,
            **{key: value for key, value in chosen.items() if value is not None},
        }

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """Problems of a scenario that this machine's kernel cannot run. Raises BackendError."""
        require_linux(f"backend: {LIVE_NAME}")
        asks = any(flow.get("tcp", {}).get("ecn_echo") == "accurate" for flow in scenario.resolved["flows"])
        accurate_ecn = asks and _supports_accurate_ecn()
        return list(map(Problem.from_engine, _core.refusals(scenario._core, LIVE_NAME, ip=self.ip, accurate_ecn=accurate_ecn)))

    def run(self, scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None) -> RunOutput:
        """Run a scenario in a child process. Raises RemoteRunFailed, BackendError, and Interrupted if `watch` returns true."""
        with _running_child_process() as (child, stderr_file):
            outcome = _send_job_and_receive_outcome(child, scenario, seed, watch, tracing)
            if outcome is None:
                code = child.wait()
                by = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
                raise BackendError(
                    f"the process of a run on {LIVE_NAME} ended {by}; its last output: {_last_lines_of_child_stderr(stderr_file)}"
                )
        if isinstance(outcome, (EcnlabError, KeyboardInterrupt)):
            raise outcome
        if isinstance(outcome, Failure):
            raise RemoteRunFailed(outcome)
        if outcome.key != scenario.hash:
            say = "an AQM has other values in the process of its run, which imports its class from the file"
            raise BackendError(
                f"on {self.name}: {say}; fix: set what the class reads in that file, and not in the program that starts the run"
            )
        record = outcome.record
        return RunOutput(record.fingerprint, record.events, record.packet_hops, record.cpu_s, outcome.tables, record.about)


@cache
def _supports_accurate_ecn() -> bool:
    """Whether this machine's kernel can negotiate Accurate ECN, which is tried in a namespace."""
    return bool(doctor.run_probe_module()["settings"].get("accecn"))


def send_message(to: IO[bytes], value: Any) -> None:
    """Send a value to the process at the other end of a pipe."""
    data = pickle.dumps(value)
    to.write(_MESSAGE_LENGTH.pack(len(data)) + data)
    to.flush()


def receive_message(origin: IO[bytes]) -> Any:
    """Read the next value from a pipe. Raises EOFError at its end."""
    head = origin.read(_MESSAGE_LENGTH.size)
    if len(head) < _MESSAGE_LENGTH.size:
        raise EOFError
    (length,) = _MESSAGE_LENGTH.unpack(head)
    data = bytearray()
    while len(data) < length:
        # A damaged length may exceed the memory, so the buffer grows only with the data received.
        part = origin.read(min(length - len(data), _READ_CHUNK_BYTES))
        if not part:
            raise EOFError
        data += part
    return pickle.loads(data)


@contextmanager
def _running_child_process() -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Start a child process that waits for a job; yields it and its standard error. The child has ended when the context ends."""
    with tempfile.TemporaryFile() as stderr_file:
        child = subprocess.Popen(
            interpreter.module_command("ecnlab.execution.live_child"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr_file,
            env=interpreter.child_environment(),
            process_group=0,  # only the parent handles Ctrl-C
        )
        try:
            yield child, stderr_file
        finally:
            _stop_child_process(child)
            _print_stderr_file_of_child(stderr_file)


def _send_job_and_receive_outcome(
    child: subprocess.Popen[bytes], scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None
) -> FinishedRun | Failure | EcnlabError | KeyboardInterrupt | None:
    """Send a job to the child and receive its outcome; None if the child ended without one."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        send_message(child.stdin, {"path": sys.path, "script": _script_that_defines_aqms(scenario)})
        send_message(child.stdin, (scenario, seed, tracing))
        while True:
            message = receive_message(child.stdout)
            if not isinstance(message, float):
                outcome: FinishedRun | Failure | EcnlabError | KeyboardInterrupt = message
                return outcome
            if watch is not None and watch(message):
                raise _core.Interrupted("the run was stopped")
    except (EOFError, BrokenPipeError):
        return None


def _stop_child_process(child: subprocess.Popen[bytes]) -> None:
    """Close the child's input, on which it exits by itself; kill it if it does not."""
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(OSError):
        child.stdin.close()
    try:
        child.wait(_EXIT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    child.stdout.close()


def _script_that_defines_aqms(scenario: Scenario) -> str | None:
    """The path of the user's script, if the scenario uses AQM classes that it defines."""
    own = any(aqm.__module__ == "__main__" and aqm.read_from is None for aqm in scenario.aqms)
    return getattr(sys.modules.get("__main__"), "__file__", None) if own else None


def _print_stderr_file_of_child(stderr_file: IO[bytes]) -> None:
    """Copy output of the child, such as prints of a user's AQM, to standard error."""
    text = _stderr_text_of_child(stderr_file)
    if text and sys.stderr is not None:
        sys.stderr.write(text)


def _last_lines_of_child_stderr(stderr_file: IO[bytes]) -> str:
    return "\n".join(_stderr_text_of_child(stderr_file).splitlines()[-_MAX_STDERR_LINES:]) or "nothing"


def _stderr_text_of_child(stderr_file: IO[bytes]) -> str:
    stderr_file.seek(0)
    return stderr_file.read().decode(errors="replace")
