"""The way into a shell from another terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from pwd import getpwuid
from subprocess import Popen

from ecnlab import _core
from ecnlab.errors import UsageError
from ecnlab.shell.process import SIGNALLED

# What a shell sets for the programs in it, and what each may be. Nothing else of the environment of another process is taken: it may belong
# to another user, who could name a folder of kernels, or of AQMs, to a shell of root's.
_LONGEST = 200
_OTHER_DIRECTORY = "fix: change to a directory that exists"


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


def _is_place(text: str) -> bool:
    return re.fullmatch(r"[0-9A-Za-z.:/]+", text) is not None


def _is_title(text: str) -> bool:
    return text.isprintable()


_OWN: Mapping[str, Callable[[str], bool]] = {
    "ECNLAB_INSIDE": _is_address,
    "ECNLAB_INSIDE6": _is_address,
    "ECNLAB_OUTSIDE": _is_address,
    "ECNLAB_OUTSIDE6": _is_address,
    "ECNLAB_LEVEL": _is_number,
    "ECNLAB_NETWORK": _is_number,
    "ECNLAB_PLACE": _is_place,
    "ECNLAB_LINK": _is_title,
}


def enter(process: int, side: str, command: Sequence[str]) -> int:
    """Run a command inside or outside of the shell that a process keeps; its exit code. Raises UsageError."""
    first, member = _processes(process)
    _require_own(process, first)
    folder = _working_directory()
    environment = os.environ | _environment(member)
    try:
        _core.join_process(first if side == "outside" else member)
    except OSError as error:
        raise UsageError(f"cannot enter the shell of process {process}: {error}; whoever has started it can, and root") from None
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(f"cannot enter {str(folder)!r} in the shell of process {process}: {error.strerror}; {_OTHER_DIRECTORY}") from None
    if side == "outside":
        # What is started from there is in no shell's inside.
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
    return code if code >= 0 else SIGNALLED - code


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"cannot read the working directory: {error.strerror}; {_OTHER_DIRECTORY}") from None


def _require_own(process: int, first: int) -> None:
    """Refuse root the shell of another user, whose mounts decide which programs run there. Raises UsageError."""
    if os.geteuid() != 0:
        return
    owner = _owner(process) or _owner(first)
    if owner != 0:
        raise UsageError(
            f"the shell of process {process} belongs to {_user(owner)}, and its mounts and programs would run as root; "
            f"fix: sudo -u '#{owner}' ecnlab shell --enter {process} -- ..."
        )


def _owner(process: int) -> int:
    """The user ID of a process. The folder in /proc does not serve: it belongs to root if the process cannot be dumped."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError as error:
        raise UsageError(f"cannot look at process {process}: {error.strerror}") from None
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("Uid:"))


def _user(owner: int) -> str:
    try:
        return f"{getpwuid(owner).pw_name} (user ID {owner})"
    except KeyError:
        return f"user ID {owner}"


def _processes(process: int) -> tuple[int, int]:
    """The first process of the shell that a process keeps, which is outside, and one that is inside."""
    try:
        for first in _children(process):
            if _room(first, "pid") != _room(process, "pid"):
                inside = [child for child in _children(first) if _room(child, "net") != _room(first, "net")]
                if inside:
                    return first, inside[0]
    except OSError as error:
        raise UsageError(f"cannot look at process {process}: {error.strerror}") from None
    raise UsageError(f"process {process} keeps no shell: give the number that `ecnlab shell` has, as `pgrep -f 'ecnlab shell'` says it")


def _children(process: int) -> list[int]:
    found = []
    Path(f"/proc/{process}").stat()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == process:
                found.append(int(folder.name))
    return sorted(found)


def _room(process: int, kind: str) -> str:
    return str(Path(f"/proc/{process}/ns/{kind}").readlink())


def _environment(process: int) -> dict[str, str]:
    """The variables that a shell has set for one of its programs."""
    told = {}
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
            name, _, value = entry.decode(errors="surrogateescape").partition("=")
            if name in _OWN and len(value) <= _LONGEST and _OWN[name](value):
                told[name] = value
    return told
