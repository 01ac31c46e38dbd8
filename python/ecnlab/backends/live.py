"""The backend `live`: hosts are this machine's kernel, in namespaces of their own, and time passes as it does.

Each run is a process of its own (`child`), because what it does to itself, that is to become root of a user namespace and to go before all
others on its processor, is not to happen to the process of the user. It ends with us, whatever ends us, and with it go its namespaces,
devices and sockets, of which none has a name: nothing is left behind.
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
from typing import IO, TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.backends import doctor, interpreter
from ecnlab.backends.base import ProgressCallback, RunOutput, require_duration, require_ip_version
from ecnlab.errors import BackendError, EcnlabError, Failure, Problem, RemoteRunFailed

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario
    from ecnlab.storage.tables import FinishedRun

LIVE_NAME = "live"

# A message between the two processes: its length, then a pickled value.
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
        A run whose departures are later than this, in seconds, at the 99th percentile is refused; unless given a quarter of the time that
        a full packet takes on the slowest link with a measured queue, and at least 100 microseconds.
    ip : int
        The version of IP that the hosts speak, 4 or 6.
    """

    lateness_budget_s: float | None = None
    ip: int = 4

    def __post_init__(self) -> None:
        require_ip_version(self.ip)
        require_duration("lateness_budget_s", self.lateness_budget_s)

    @property
    def name(self) -> str:
        """As `--backend` names it."""
        return LIVE_NAME

    @property
    def max_parallel_runs(self) -> int | None:
        """One: runs side by side would make each other's packets late."""
        return 1

    @property
    def supports_cluster(self) -> bool:
        """It is this machine that is measured."""
        return False

    @property
    def trace_kinds(self) -> Sequence[str]:
        """Captures: its packets are real ones."""
        return ("pcapng",)

    def identity(self) -> Mapping[str, Any]:
        """The kernel's release, the sources of what carries packets, and what was chosen otherwise than usual."""
        chosen = {"ip": self.ip if self.ip != 4 else None, "lateness_budget_s": self.lateness_budget_s}
        return {
            "kernel": platform.release(),
            "program": _core.EMULATOR,
            **{key: value for key, value in chosen.items() if value is not None},
        }

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """What this machine's kernel cannot do of it."""
        asks = any(flow.get("tcp", {}).get("ecn_echo") == "accurate" for flow in scenario.resolved["flows"])
        accurate_ecn = asks and _supports_accurate_ecn()
        return list(map(Problem.from_engine, _core.refusals(scenario._core, LIVE_NAME, ip=self.ip, accurate_ecn=accurate_ecn)))

    def run(self, scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None) -> RunOutput:
        """Run it in a process of its own. Raises RemoteRunFailed, BackendError, and Interrupted if `watch` asks for an end."""
        with _start_child_process() as (child, said):
            outcome = _send_job_and_receive_outcome(child, scenario, seed, watch, tracing)
            if outcome is None:
                code = child.wait()
                by = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
                raise BackendError(f"the process of a run on {LIVE_NAME} ended {by}; its last output: {_last_lines_of_child_stderr(said)}")
        if isinstance(outcome, EcnlabError):
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
    """Whether hosts of this machine's kernel can agree on it, which only a namespace tells."""
    return bool(doctor.probe_machine()["settings"].get("accecn"))


def send_message(to: IO[bytes], value: Any) -> None:
    """Send a value to the other process."""
    data = pickle.dumps(value)
    to.write(_MESSAGE_LENGTH.pack(len(data)) + data)
    to.flush()


def receive_message(origin: IO[bytes]) -> Any:
    """The next value of the other process. Raises EOFError if there is no more."""
    head = origin.read(_MESSAGE_LENGTH.size)
    if len(head) < _MESSAGE_LENGTH.size:
        raise EOFError
    (length,) = _MESSAGE_LENGTH.unpack(head)
    data = bytearray()
    while len(data) < length:
        # A length that is damaged may be more than memory has; no more is taken than comes.
        part = origin.read(min(length - len(data), _READ_CHUNK_BYTES))
        if not part:
            raise EOFError
        data += part
    return pickle.loads(data)


@contextmanager
def _start_child_process() -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """A process that waits for a job, and what it says on its standard error. It has ended when this has."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            interpreter.module_command("ecnlab.execution.live_child"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=interpreter.child_environment(),
            process_group=0,  # Ctrl-C is for us to hear
        )
        try:
            yield child, said
        finally:
            _stop_child_process(child)
            _copy_child_stderr(said)


def _send_job_and_receive_outcome(
    child: subprocess.Popen[bytes], scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None
) -> FinishedRun | Failure | EcnlabError | None:
    """Give a job and hear of it until it has ended; None if the process has ended before that."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        send_message(child.stdin, {"path": sys.path, "script": _script_that_defines_aqms(scenario)})
        send_message(child.stdin, (scenario, seed, tracing))
        while True:
            told = receive_message(child.stdout)
            if not isinstance(told, float):
                outcome: FinishedRun | Failure | EcnlabError = told
                return outcome
            if watch is not None and watch(told):
                raise _core.Interrupted("the run was stopped")
    except (EOFError, BrokenPipeError):
        return None


def _stop_child_process(child: subprocess.Popen[bytes]) -> None:
    """Let a process end by itself, which it does when it hears no more of us; if it does not, end it."""
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
    """The file of the user's script, if the scenario names classes of it."""
    own = any(aqm.__module__ == "__main__" and aqm.read_from is None for aqm in scenario.aqms)
    return getattr(sys.modules.get("__main__"), "__file__", None) if own else None


def _copy_child_stderr(said: IO[bytes]) -> None:
    """What a user's AQM has printed belongs on standard error."""
    said.seek(0)
    text = said.read().decode(errors="replace")
    if text and sys.stderr is not None:
        sys.stderr.write(text)


def _last_lines_of_child_stderr(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-_MAX_STDERR_LINES:]) or "nothing"
