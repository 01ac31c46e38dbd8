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

from ecnlab.backends import interpreter

_INIT_MODULE = "ecnlab.netshell.init"
EXIT_NOT_RUN, EXIT_SIGNALLED = 126, 128


@dataclass(frozen=True)
class ShellPrograms:
    """Programs of a shell.

    Attributes
    ----------
    command : sequence of str
        The command that runs on the client.
    servers : sequence of sequence of str
        Commands that run on the server, started before the command.
    inside, outside : mapping
        Environment of the programs on the client and the server.
    hosts : str
        Content of /etc/hosts.
    """

    command: Sequence[str]
    servers: Sequence[Sequence[str]]
    inside: Mapping[str, str]
    outside: Mapping[str, str]
    hosts: str


@dataclass(frozen=True)
class InitJob:
    """The programs, and the descriptors that the first process inherits.

    Attributes
    ----------
    programs : ShellPrograms
        The programs to run.
    inside, outside : int
        Network namespaces of client and server.
    error_pipe : int
        Receives a start-up error; closed when the command has started.
    parent : int
        The process that forwards packets (pidfd_open(2)).
    """

    programs: ShellPrograms
    inside: int
    outside: int
    error_pipe: int
    parent: int


# Blocked until the first process has handlers: an interpreter that is starting would print a traceback at Ctrl-C.
_BLOCKED_SIGNALS = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP")


def signals_to_block() -> list[signal.Signals]:
    """The blocked signals. Windows, which has no shells, lacks some of them."""
    return [signal.Signals[name] for name in _BLOCKED_SIGNALS]


def start_init_process(networks: tuple[int, int], programs: ShellPrograms, error_pipe: int) -> Popen[bytes]:
    """Start the first process from the calling thread, which must live as long as the process. Raises OSError."""
    parent, job = os.pidfd_open(os.getpid()), os.memfd_create("job")
    try:
        with os.fdopen(job, "wb", closefd=False) as file:
            file.write(json.dumps(asdict(InitJob(programs, *networks, error_pipe, parent))).encode())
        signal.pthread_sigmask(signal.SIG_BLOCK, signals_to_block())
        # The command inherits the descriptors that the user's shell has opened for it, as in `ecnlab shell -- COMMAND 3>FILE`.
        passed = {*_list_inheritable_descriptors(), *networks, error_pipe, parent, job}
        return Popen(interpreter.module_command(_INIT_MODULE, str(job)), env=interpreter.child_environment(), pass_fds=sorted(passed))
    finally:
        os.close(parent)
        os.close(job)


def _list_inheritable_descriptors() -> list[int]:
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor of the listing itself
            if os.get_inheritable(int(entry.name)):
                found.append(int(entry.name))
    return found
