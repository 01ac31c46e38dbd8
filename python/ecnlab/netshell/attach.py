"""Attaches to a running shell from another terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from subprocess import Popen

from ecnlab import _core
from ecnlab.backends.base import require_linux
from ecnlab.errors import UsageError
from ecnlab.netshell.process import EXIT_SIGNALLED

_MAX_COMMAND_LENGTH = 200
_OTHER_DIRECTORY_TEXT = "fix: change to a directory that exists"


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_decimal_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


def _is_subnet_text(text: str) -> bool:
    return re.fullmatch(r"[0-9A-Za-z.:/]+", text) is not None


_ADDRESS_VARIABLES = tuple(f"ECNLAB_{end}{version}" for end in ("CLIENT", "SERVER", "INSIDE", "OUTSIDE") for version in ("", "6"))
# Environment variables that a shell sets for its programs, with a check of valid values. Nothing else of the environment of another
# process is taken: it may belong to another user, who could name a folder of kernels, or of AQMs, to a shell of root's.
_OWN_SHELL_TEXT: Mapping[str, Callable[[str], bool]] = {
    **dict.fromkeys(_ADDRESS_VARIABLES, _is_address),
    "ECNLAB_LEVEL": _is_decimal_number,
    "ECNLAB_NETWORK": _is_decimal_number,
    "ECNLAB_PLACE": _is_subnet_text,
    "ECNLAB_LINK": str.isprintable,
}


def run_in_running_shell(process: int, side: str, command: Sequence[str]) -> int:
    """Run a command at the client or the server of a running shell; returns its exit code. Raises UsageError, BackendError."""
    require_linux("shell attach")
    first, member = _processes_on_server_and_client(process)
    _refuse_root_unless_shell_owner(process, first)
    folder = _read_working_directory()
    environment = os.environ | _shell_variables_of_process(member)
    try:
        _core.join_namespaces(first if side == "server" else member)
    except OSError as error:
        raise UsageError(
            f"cannot attach to the shell of process {process}: {error}; fix: run it as the user that started the shell"
        ) from None
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(
            f"cannot change to {str(folder)!r} in the shell of process {process}: {error.strerror}; {_OTHER_DIRECTORY_TEXT}"
        ) from None
    if side == "server":
        # Programs on the server are not behind the links.
        for name in ("ECNLAB_PLACE", "ECNLAB_NETWORK"):
            environment.pop(name, None)
    try:
        with Popen(command, env=environment) as program:
            while True:
                with suppress(KeyboardInterrupt):
                    code = program.wait()
                    break
    except OSError as error:
        raise UsageError(f"cannot run {command[0]!r}: {error.strerror}") from None
    return code if code >= 0 else EXIT_SIGNALLED - code


def _read_working_directory() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"cannot read the working directory: {error.strerror}; {_OTHER_DIRECTORY_TEXT}") from None


def _refuse_root_unless_shell_owner(process: int, first: int) -> None:
    """Refuse root the shell of another user, since that user's mounts decide which programs run there. Raises UsageError."""
    if os.geteuid() != 0:
        return
    owner = _process_owner(process) or _process_owner(first)
    if owner != 0:
        raise UsageError(
            f"the shell of process {process} belongs to {_format_user_with_id(owner)}, and its mounts and programs would run as root; "
            f"fix: sudo -u '#{owner}' ecnlab shell attach {process} -- ..."
        )


def _process_owner(process: int) -> int:
    """The user ID of a process. The folder in /proc does not serve: it belongs to root if the process cannot be dumped."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError as error:
        raise UsageError(
            f"PID: cannot read process {process}: {error.strerror}; fix: give the number that `pgrep -f 'ecnlab shell'` prints"
        ) from None
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("Uid:"))


def _format_user_with_id(owner: int) -> str:
    from pwd import getpwuid

    try:
        return f"{getpwuid(owner).pw_name} (user ID {owner})"
    except KeyError:
        return f"user ID {owner}"


def _processes_on_server_and_client(process: int) -> tuple[int, int]:
    """The first process of a shell, in the server's namespace, and a process in the client's."""
    try:
        for first in _child_processes(process):
            if _namespace_link(first, "pid") != _namespace_link(process, "pid"):
                inside = [child for child in _child_processes(first) if _namespace_link(child, "net") != _namespace_link(first, "net")]
                if inside:
                    return first, inside[0]
    except OSError as error:
        raise UsageError(
            f"PID: cannot read process {process}: {error.strerror}; fix: give the number that `pgrep -f 'ecnlab shell'` prints"
        ) from None
    raise UsageError(f"PID: process {process} is not an ecnlab shell; fix: give the number that `pgrep -f 'ecnlab shell'` prints")


def _child_processes(process: int) -> list[int]:
    found = []
    Path(f"/proc/{process}").stat()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == process:
                found.append(int(folder.name))
    return sorted(found)


def _namespace_link(process: int, kind: str) -> str:
    return str(Path(f"/proc/{process}/ns/{kind}").readlink())


def _shell_variables_of_process(process: int) -> dict[str, str]:
    """The variables that a shell has set for one of its programs."""
    told = {}
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
            name, _, value = entry.decode(errors="surrogateescape").partition("=")
            if name in _OWN_SHELL_TEXT and len(value) <= _MAX_COMMAND_LENGTH and _OWN_SHELL_TEXT[name](value):
                told[name] = value
    return told
