"""The way into a shell from another terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from ecnlab import _core
from ecnlab.errors import UsageError
from ecnlab.shell.process import SIGNALLED

_PASSED = "ECNLAB_"


def enter(process: int, side: str, command: Sequence[str]) -> int:
    """Run a command inside or outside of the shell that a process keeps; its exit code. Raises UsageError."""
    first, member = _processes(process)
    folder = Path.cwd()
    environment = os.environ | _environment(member)
    try:
        _core.join_process(first if side == "outside" else member)
    except OSError as error:
        raise UsageError(f"cannot enter the shell of process {process}: {error}; whoever has started it can, and root") from None
    os.chdir(folder)
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
    """What a program is told of its shell."""
    told = {}
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
            name, _, value = entry.decode(errors="surrogateescape").partition("=")
            if name.startswith(_PASSED):
                told[name] = value
    return told
