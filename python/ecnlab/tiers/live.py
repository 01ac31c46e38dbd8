"""The tier `live`: hosts are this machine's kernel, in namespaces of their own, and time passes as it does.

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

from ecnlab import _core, interpreter
from ecnlab.errors import EcnlabError, Problem, TierError
from ecnlab.jobs import FailedElsewhere, Failure, Finished, Job
from ecnlab.tiers import Ran, Watch, doctor, require_ip, require_seconds

if TYPE_CHECKING:
    from ecnlab.scenarios import Scenario
    from ecnlab.tracing import Tracing

NAME = "live"

# A message between the two processes: its length, then a pickled value.
_LENGTH = struct.Struct("<Q")
_PART = 1 << 20
_PATIENCE_S = 5.0
_TOLD_LINES = 8


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
        require_ip(self.ip)
        require_seconds("lateness_budget_s", self.lateness_budget_s)

    @property
    def name(self) -> str:
        """As `--on` names it."""
        return NAME

    @property
    def at_once(self) -> int | None:
        """One: runs side by side would make each other's packets late."""
        return 1

    @property
    def travels(self) -> bool:
        """It is this machine that is measured."""
        return False

    @property
    def traces(self) -> Sequence[str]:
        """Captures: its packets are real ones."""
        return ("pcapng",)

    def identity(self) -> Mapping[str, Any]:
        """The kernel's release, the sources of what carries packets, and what was chosen otherwise than usual."""
        chosen = {"ip": self.ip if self.ip != 4 else None, "lateness_budget_s": self.lateness_budget_s}
        return {"kernel": platform.release(), "program": _core.ROUTER, **{key: value for key, value in chosen.items() if value is not None}}

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """What this machine's kernel cannot do of it."""
        asks = any(flow.get("tcp", {}).get("ecn_echo") == "accurate" for flow in scenario.resolved["flows"])
        accurate_ecn = asks and _takes_accurate_ecn()
        return list(map(Problem.of, _core.refusals(scenario._core, NAME, ip=self.ip, accurate_ecn=accurate_ecn)))

    def run(self, scenario: Scenario, seed: int, watch: Watch | None, tracing: Tracing | None) -> Ran:
        """Run it in a process of its own. Raises FailedElsewhere, TierError, and Interrupted if `watch` asks for an end."""
        with _child() as (child, said):
            outcome = _talk(child, Job(scenario, seed), watch, tracing)
            if outcome is None:
                code = child.wait()
                by = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
                raise TierError(f"the process of a run on {NAME} has ended {by}, and said last: {_last(said)}")
        if isinstance(outcome, EcnlabError):
            raise outcome
        if isinstance(outcome, Failure):
            raise FailedElsewhere(outcome)
        if outcome.key != scenario.hash:
            say = "an AQM of your own has other values in the process of its run, which reads its class from the file"
            raise TierError(f"on {self.name}: {say}; fix: set there, and not by the program that runs it, what the class reads")
        record = outcome.record
        return Ran(record.fingerprint, record.events, record.packet_hops, record.cpu_s, outcome.tables, record.about)


@cache
def _takes_accurate_ecn() -> bool:
    """Whether hosts of this machine's kernel can agree on it, which only a namespace tells."""
    return bool(doctor.probed()["settings"].get("accecn"))


def send(to: IO[bytes], value: Any) -> None:
    """Send a value to the other process."""
    data = pickle.dumps(value)
    to.write(_LENGTH.pack(len(data)) + data)
    to.flush()


def received(origin: IO[bytes]) -> Any:
    """The next value of the other process. Raises EOFError if there is no more."""
    head = origin.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = bytearray()
    while len(data) < length:
        # A length that is damaged may be more than memory has; no more is taken than comes.
        part = origin.read(min(length - len(data), _PART))
        if not part:
            raise EOFError
        data += part
    return pickle.loads(data)


@contextmanager
def _child() -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """A process that waits for a job, and what it says on its standard error. It has ended when this has."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            interpreter.command("ecnlab.tiers.child"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=interpreter.environment(),
            process_group=0,  # Ctrl-C is for us to hear
        )
        try:
            yield child, said
        finally:
            _end(child)
            _pass_on(said)


def _talk(
    child: subprocess.Popen[bytes], job: Job, watch: Watch | None, tracing: Tracing | None
) -> Finished | Failure | EcnlabError | None:
    """Give a job and hear of it until it has ended; None if the process has ended before that."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        send(child.stdin, {"path": sys.path, "script": _script(job)})
        send(child.stdin, (job, tracing))
        while True:
            told = received(child.stdout)
            if not isinstance(told, float):
                outcome: Finished | Failure | EcnlabError = told
                return outcome
            if watch is not None and watch(told):
                raise _core.Interrupted("the run was stopped")
    except (EOFError, BrokenPipeError):
        return None


def _end(child: subprocess.Popen[bytes]) -> None:
    """Let a process end by itself, which it does when it hears no more of us; if it does not, end it."""
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(OSError):
        child.stdin.close()
    try:
        child.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    child.stdout.close()


def _script(job: Job) -> str | None:
    """The file of the user's script, if the job names classes of it."""
    own = any(aqm.__module__ == "__main__" and aqm.read_from is None for aqm in job.scenario.aqms)
    return getattr(sys.modules.get("__main__"), "__file__", None) if own else None


def _pass_on(said: IO[bytes]) -> None:
    """What a user's AQM has printed belongs on standard error."""
    said.seek(0)
    text = said.read().decode(errors="replace")
    if text and sys.stderr is not None:
        sys.stderr.write(text)


def _last(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-_TOLD_LINES:]) or "nothing"
