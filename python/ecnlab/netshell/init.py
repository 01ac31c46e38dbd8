"""The first process of a shell's PID namespace: it starts servers outside and the command inside.

When it ends, the kernel kills all remaining processes of the namespace. The process that carries packets starts it as `python -m
ecnlab.netshell.init N`,
where N is the descriptor of its job. It is killed when that process ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen, SubprocessError
from types import FrameType
from typing import NoReturn

from ecnlab import _core
from ecnlab.netshell.process import EXIT_NOT_RUN, EXIT_SIGNALLED, InitJob, ShellPrograms, signals_to_block

_SERVER_START_TIMEOUT_S = 5.0
_MAX_ERROR_BYTES = 4000
_TCP_STATE_LISTEN = "0A"  # in /proc/net/tcp


def read_and_run_init_job(descriptor: int) -> NoReturn:
    """Read and run a job, and exit with the command's exit code. A start-up error is written to the job's `error_pipe`."""
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        fields = json.load(file)
    job = InitJob(**fields | {"programs": ShellPrograms(**fields["programs"])})
    for own in (job.inside, job.outside, job.error_pipe, job.parent):
        os.set_inheritable(own, False)
    code = EXIT_NOT_RUN
    try:
        code = _run_init_job(job)
    except InitStartupError as error:
        os.write(job.error_pipe, str(error).encode())
    except OSError as error:
        os.write(job.error_pipe, f"the shell's first process failed: {error}".encode())
    finally:
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


class InitStartupError(Exception):
    """The shell cannot start."""


def _run_init_job(job: InitJob) -> int:
    programs = job.programs
    _core.die_with_parent()
    if select.select([job.parent], [], [], 0)[0]:  # the parent ended before the parent-death signal was set
        return EXIT_NOT_RUN
    # The kernel does not deliver terminal signals to an init process without a handler.
    for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGTTOU):
        signal.signal(one, signal.SIG_DFL)
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, lambda number, _frame: os._exit(EXIT_SIGNALLED + number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals_to_block())
    _core.enter_network(job.outside)
    for failed in _core.setup_private_mounts(programs.hosts):
        sys.stderr.write(f"warning: the shell has the machine's own {failed}\n")
    sys.stderr.flush()
    for server in programs.servers:
        _start_server(server, programs.outside)
    command = _start_program(job)
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, _make_forwarding_signal_handler(command.pid))
    os.close(job.error_pipe)
    while True:
        pid, status = os.wait()
        if pid == command.pid:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else EXIT_SIGNALLED + os.WTERMSIG(status)


def _start_program(job: InitJob) -> Popen[bytes]:
    name = job.programs.command[0]

    def enter_namespace() -> None:
        _core.enter_network(job.inside)
        with suppress(OSError):  # a missing permission was reported for the outer namespace
            _core.remount_sysfs()

    try:
        return Popen(job.programs.command, env=dict(job.programs.inside), close_fds=False, preexec_fn=enter_namespace)
    except OSError as error:
        raise InitStartupError(f"cannot run {name!r}: {error.strerror}") from None
    except SubprocessError:  # Python has no details of an error between fork and exec
        raise InitStartupError(f"cannot run {name!r}: its process cannot enter the client's network namespace (setns)") from None


def _make_forwarding_signal_handler(pid: int) -> Callable[[int, FrameType | None], None]:
    def send_to_program(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    return send_to_program


def _start_server(server: Sequence[str], environment: Mapping[str, str]) -> None:
    """Start a server and wait until it listens."""
    before = _count_listening_sockets()
    output = os.memfd_create("server")
    try:
        started = Popen(server, env=dict(environment), stdin=DEVNULL, stdout=output, stderr=STDOUT, start_new_session=True)
    except OSError as error:
        raise InitStartupError(f"cannot run the server {server[0]!r}: {error.strerror}") from None
    until = time.monotonic() + _SERVER_START_TIMEOUT_S
    while time.monotonic() < until and _count_listening_sockets() <= before:
        if started.poll() is not None:
            said = os.pread(output, _MAX_ERROR_BYTES, 0).decode(errors="replace").strip()
            raise InitStartupError(
                "\n".join([f"the server {' '.join(server)!r} ended with exit code {started.returncode} before it listened", said])
            )
        time.sleep(0.01)
    if _count_listening_sockets() <= before:
        sys.stderr.write(
            f"warning: the server {' '.join(server)!r} does not listen after {_SERVER_START_TIMEOUT_S:g} s; the command starts anyway\n"
        )
        sys.stderr.flush()
    os.close(output)


def _count_listening_sockets() -> int:
    """The number of listening TCP and bound UDP sockets in this network namespace."""
    count = 0
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError):
            rows = [line.split() for line in Path(f"/proc/self/net/{kind}").read_text().splitlines()[1:]]
            count += sum(kind.startswith("udp") or row[3] == _TCP_STATE_LISTEN for row in rows)
    return count


if __name__ == "__main__":
    read_and_run_init_job(int(sys.argv[1]))
