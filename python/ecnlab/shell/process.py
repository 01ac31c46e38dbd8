"""The first process of a shell's own: it starts servers outside and the command inside.

When it ends, the kernel ends all that is left of them. It is a fork of the process that carries packets, and dies with it,
however that ends.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen
from types import FrameType
from typing import NoReturn

from ecnlab import _core

NOT_RUN, SIGNALLED = 126, 128

_LISTENS_WITHIN_S = 5.0
_TOLD_BYTES = 4000
_LISTENING = "0A"  # in /proc/net/tcp


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


def run(shell: _core.Shell, programs: Programs, tell: int) -> NoReturn:
    """Do all of it, and leave with the command's exit code. What hinders a start is written to the descriptor `tell`."""
    code = NOT_RUN
    try:
        code = _run(shell, programs, tell)
    except _Hindered as error:
        os.write(tell, str(error).encode())
    except OSError as error:
        os.write(tell, f"the shell's first process failed: {error}".encode())
    finally:
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


class _Hindered(Exception):
    """Why there is no start."""


def _run(shell: _core.Shell, programs: Programs, tell: int) -> int:
    _core.die_with_parent()
    # The kernel keeps signals of a terminal from a first process that has no handler for them.
    for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGTTOU):
        signal.signal(one, signal.SIG_DFL)
    shell.enter("outside")
    for failed in _core.own_mounts(programs.hosts):
        sys.stderr.write(f"warning: the shell has the machine's own {failed}\n")
    sys.stderr.flush()
    for server in programs.servers:
        _serve(server, programs.outside)
    command = _started(shell, programs)
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, _passes_on(command.pid))
    os.close(tell)
    while True:
        pid, status = os.wait()
        if pid == command.pid:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else SIGNALLED + os.WTERMSIG(status)


def _started(shell: _core.Shell, programs: Programs) -> Popen[bytes]:
    name = programs.command[0]

    def enter() -> None:
        shell.enter("inside")
        with suppress(OSError):  # what is not permitted was told of the room outside
            _core.own_devices()

    try:
        return Popen(programs.command, env=dict(programs.inside), close_fds=False, preexec_fn=enter)
    except OSError as error:
        raise _Hindered(f"cannot run {name!r}: {error.strerror}") from None


def _passes_on(pid: int) -> Callable[[int, FrameType | None], None]:
    def handle(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    return handle


def _serve(server: Sequence[str], environment: Mapping[str, str]) -> None:
    """Start a server and wait until it listens."""
    before = _listening()
    output = os.memfd_create("server")
    try:
        started = Popen(server, env=dict(environment), stdin=DEVNULL, stdout=output, stderr=STDOUT, start_new_session=True)
    except OSError as error:
        raise _Hindered(f"cannot run the server {server[0]!r}: {error.strerror}") from None
    until = time.monotonic() + _LISTENS_WITHIN_S
    while time.monotonic() < until and _listening() <= before:
        if started.poll() is not None:
            said = os.pread(output, _TOLD_BYTES, 0).decode(errors="replace").strip()
            raise _Hindered(
                "\n".join([f"the server {' '.join(server)!r} ended with exit code {started.returncode} before it listened", said])
            )
        time.sleep(0.01)
    if _listening() <= before:
        sys.stderr.write(
            f"warning: the server {' '.join(server)!r} does not listen after {_LISTENS_WITHIN_S:g} s; the command starts all the same\n"
        )
        sys.stderr.flush()
    os.close(output)


def _listening() -> int:
    """How many sockets of this process's network wait for connections or datagrams."""
    count = 0
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError):
            rows = [line.split() for line in Path(f"/proc/self/net/{kind}").read_text().splitlines()[1:]]
            count += sum(kind.startswith("udp") or row[3] == _LISTENING for row in rows)
    return count
