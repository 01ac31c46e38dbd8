"""The job of a shell's first process (`init`), and its start by the process that carries packets."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import Popen

from ecnlab import interpreter

_INIT = "ecnlab.shell.init"
NOT_RUN, SIGNALLED = 126, 128


@dataclass(frozen=True)
class Programs:
    """What is to run.

    Attributes
    ----------
    command : sequence of str
        Runs inside.
    servers : sequence of sequence of str
        Run outside, before the command is started.
    inside, outside : mapping
        The environment of each.
    hosts : str
        What stands in /etc/hosts there.
    """

    command: Sequence[str]
    servers: Sequence[Sequence[str]]
    inside: Mapping[str, str]
    outside: Mapping[str, str]
    hosts: str


@dataclass(frozen=True)
class Job:
    """The programs, and the descriptors that the first process inherits.

    Attributes
    ----------
    programs : Programs
        What is to run.
    inside, outside : int
        Network namespaces.
    tell : int
        Takes an error of the start; it is closed when the command has been started.
    parent : int
        The process that carries packets (pidfd_open(2)).
    """

    programs: Programs
    inside: int
    outside: int
    tell: int
    parent: int


# Blocked until the first process has handlers: an interpreter that is starting would print a traceback at Ctrl-C.
HELD = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def start(networks: tuple[int, int], programs: Programs, tell: int) -> Popen[bytes]:
    """Start the first process from the calling thread, which ends when it does. Raises OSError."""
    parent, job = os.pidfd_open(os.getpid()), os.memfd_create("job")
    try:
        with os.fdopen(job, "wb", closefd=False) as file:
            file.write(json.dumps(asdict(Job(programs, *networks, tell, parent))).encode())
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
        # The command inherits the descriptors that the user's shell has opened for it, as in `ecnlab shell -- COMMAND 3>FILE`.
        passed = {*_inheritable(), *networks, tell, parent, job}
        return Popen(interpreter.command(_INIT, str(job)), env=interpreter.environment(), pass_fds=sorted(passed))
    finally:
        os.close(parent)
        os.close(job)


def _inheritable() -> list[int]:
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor of the listing itself
            if os.get_inheritable(int(entry.name)):
                found.append(int(entry.name))
    return found
