"""A box at work: one process of this machine for one job, which goes with it.

The kernel sees no file of this machine; the program in it reads the job in a folder and writes there what came of it. Its process is pinned
to a core of its own, and ends with ours however that ends (`PR_SET_PDEATHSIG`, which the kernel asks for itself). The folder goes with it;
that of a process that was killed goes when the next box starts.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, Any

from ecnlab.errors import TierError
from ecnlab.tiers.box import console, room
from ecnlab.tiers.box.kernels import Box

# The program in the box, which stands beside this file.
PROGRAM = Path(__file__).with_name("guest.so")

JOB, RESULT, CAPTURE, CASES = "job.json", "result.json", "capture.pcapng", "cases.jsonl"

# What the kernel itself says goes into a file. Whoever reads its console over a pipe sends it a signal each time (SIGIO), whenever this
# machine gets to it: each one stirs the kernel's randomness, and one that comes as it powers off ends the process by SIGABRT.
_CONSOLE = "console"
MEMORY_MB = 192
_PROGRESS = "box: at "
_LINES = 40

# How often limits and whoever watches are looked at while the box says nothing.
_LOOK_EVERY_S = 1.0

# Signals by which others end a process: users, the system where memory runs short, and limits that were set for it.
_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGXCPU, signal.SIGXFSZ}

# A box tells its progress a hundred times in a run. One that tells none for so long, and so much for each second of the scenario, hangs.
_SILENCE_S, _SILENCE_FOR_EACH_S = 60.0, 10.0

# Is told the seconds of the scenario that are over, and answers whether to stop.
Watch = Callable[[float], bool]


class Stopped(Exception):
    """The one who watches has asked for an end."""


class Crashed(Exception):
    """The kernel or the program in the box has failed; the text is what it said last."""


@dataclass(frozen=True)
class Done:
    """A job that is done: what it wrote, the processor time that it took, and its folder, which holds its capture if it made one."""

    result: Any
    cpu_s: float
    folder: Path


@dataclass(frozen=True)
class Machine:
    """A kernel, and what it is given.

    Attributes
    ----------
    box : Box
        The kernel.
    memory_mb : int
        What it takes as its memory, in MiB; it is this machine's memory only as far as it is used.
    limit_s : float or None
        After how much time of this machine it is stopped.
    silence_s : float
        After how much time of this machine without progress it is stopped.
    """

    box: Box
    memory_mb: int = MEMORY_MB
    limit_s: float | None = None
    silence_s: float = _SILENCE_S

    @contextmanager
    def run(self, job: Mapping[str, Any], seed: int, watch: Watch | None = None) -> Iterator[Done]:
        """Do a job; its folder goes at the end of the context. `seed` is what the kernel draws from. Raises Stopped, Crashed, TierError."""
        if not PROGRAM.is_file():
            raise no_program()
        with room.folder() as folder:
            (folder / JOB).write_text(json.dumps(job))
            with room.core() as core:
                cpu_s, said = self._boot(folder, seed, core, watch)
            try:
                result = json.loads((folder / RESULT).read_bytes())
            except FileNotFoundError:
                raise Crashed(f"the program in the box has written no result; it said last:\n{said}") from None
            except (ValueError, RecursionError):
                raise Crashed(f"the result of the program in the box is not JSON; it said last:\n{said}") from None
            yield Done(result, cpu_s, folder)

    def command(self, folder: Path, seed: int) -> list[str]:
        """The kernel with its arguments."""
        return [
            str(self.box.program),
            f"mem={self.memory_mb}M",
            "umid=box",
            "time-travel=inf-cpu",
            "time-travel-start=0",
            f"seed={seed}",
            f"box={PROGRAM}",
            "rdinit=/root",  # the first process is the program, and there is no root to be mounted for another one
            "uml_dir=kernel/",
            "con=null",
            "con0=null,fd:2",
            "ssl=null",
            "quiet",
            "panic=-1",
            "loglevel=4",
        ]

    def _memory_folder(self, otherwise: Path) -> Path:
        """Where the kernel's memory is put, as a file without a name: in memory, if the machine has such a folder with enough room."""
        shared = Path("/dev/shm")
        room = self.memory_mb << 20
        return shared if os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 2 * room else otherwise

    def _boot(self, folder: Path, seed: int, core: int | None, watch: Watch | None) -> tuple[float, str]:
        """Start the kernel and stay until it has ended; its processor time and what it said last. Raises Stopped, Crashed, TierError."""
        with (folder / _CONSOLE).open("wb") as out, self._started(folder, seed, out) as process:
            assert process.stdout is not None
            try:
                if core is not None:
                    os.sched_setaffinity(process.pid, {core})
                told = self._listen(process.stdout.fileno(), folder / _CONSOLE, watch)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            except BaseException:
                process.kill()
                raise
        if -process.returncode in _FROM_OUTSIDE:
            raise TierError(
                f"the box was ended from outside, by {signal.Signals(-process.returncode).name}: by somebody, for want of memory, "
                "or by a limit that your shell has set (`ulimit -a`); the same command goes on from there"
            )
        if process.returncode:
            by = f"by {signal.Signals(-process.returncode).name}" if process.returncode < 0 else f"with code {process.returncode}"
            raise Crashed(f"the kernel in the box has ended {by}; it said last:\n{told}")
        return usage.ru_utime + usage.ru_stime, told

    def _started(self, folder: Path, seed: int, out: IO[bytes]) -> subprocess.Popen[bytes]:
        environment = {
            "ECNLAB_BOX_JOB": str(folder),
            "HOME": str(folder),
            "PATH": os.defpath,
            "TMPDIR": str(self._memory_folder(folder)),
            "LC_ALL": "C",
        }
        command = self.command(folder, seed)
        try:
            return subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out)
        except OSError as error:
            raise TierError(f"{command[0]} cannot be started: {error.strerror}; `ecnlab doctor` says what would do") from None

    def _listen(self, descriptor: int, kernels: Path, watch: Watch | None) -> str:
        """Hear what the program says until it ends, and give the last of it and of what the kernel has said to its file.

        Raises Stopped if who watches asks, Crashed at a limit.
        """
        said: deque[str] = deque(maxlen=_LINES)
        begin = progress = monotonic()
        over = 0.0
        for line in console.lines(descriptor, _LOOK_EVERY_S):
            now, told = monotonic(), None if line is None else _seconds(line)
            if told is not None:
                over, progress = told, now
            elif line:
                said.append(line)
            if (line is None or told is not None) and watch is not None and watch(over):
                raise Stopped
            if self.limit_s is not None and now - begin > self.limit_s:
                raise Crashed(
                    f"the box has taken more than {self.limit_s:g} s and was stopped at {over:g} s; it said last:\n{_last(said, kernels)}"
                )
            if now - progress > self.silence_s:
                raise Crashed(
                    f"the box has not gone on for {self.silence_s:g} s and was stopped at {over:g} s; it said last:\n{_last(said, kernels)}"
                )
        return _last(said, kernels)


def _last(said: Iterable[str], kernels: Path) -> str:
    """What the program has said, and the last lines of the kernel's file."""
    return "\n".join([*said, *kernels.read_text(errors="replace").splitlines()[-_LINES:]]) or "nothing"


def silence(duration_s: float) -> float:
    """How long a box may say nothing in a run of this duration, in seconds of this machine."""
    return _SILENCE_S + _SILENCE_FOR_EACH_S * duration_s


def no_program() -> TierError:
    """The error that the program in the box is not there."""
    return TierError(f"{PROGRAM} is missing, the program in the box: `make setup` builds it, on Linux on x86-64")


def _seconds(line: str) -> float | None:
    """What a line of the box's says of its progress, if it does."""
    if not line.startswith(_PROGRESS):
        return None
    try:
        return float(line.removeprefix(_PROGRESS))
    except ValueError:
        return None
