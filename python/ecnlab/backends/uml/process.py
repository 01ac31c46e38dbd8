"""A UML process at work: one process of this machine for one job, which goes with it.

The kernel sees no file of this machine; the program in it reads the job in a folder and writes there what came of it. Its process is pinned
to a core of its own, and ends with ours however that ends (`PR_SET_PDEATHSIG`, which the kernel asks for itself). The folder goes with it;
that of a process that was killed goes when the next UML process starts.
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

from ecnlab.backends.uml import console, tmpdir
from ecnlab.backends.uml.kernels import BuiltKernel
from ecnlab.errors import BackendError

# The guest program, which stands beside this file.
GUEST_PROGRAM = Path(__file__).with_name("guest.so")

JOB_FILE, RESULT_FILE, CAPTURE_FILE, CASES_FILE = "job.json", "result.json", "capture.pcapng", "cases.jsonl"

# What the kernel itself says goes into a file. Whoever reads its console over a pipe sends it a signal each time (SIGIO), whenever this
# machine gets to it: each one stirs the kernel's randomness, and one that comes as it powers off ends the process by SIGABRT.
_CONSOLE_FILE = "console"
MEMORY_MB = 192
_PROGRESS_PREFIX = "guest: at "
_MAX_ERROR_LINES = 40

# How often limits and whoever watches are looked at while the UML kernel says nothing.
_WATCH_INTERVAL_S = 1.0

# Signals by which others end a process: users, the system where memory runs short, and limits that were set for it.
_EXTERNAL_SIGNALS = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGXCPU, signal.SIGXFSZ}

# A UML process reports its progress a hundred times in a run. One that reports none for this long hangs; each scenario second adds time.
_SILENCE_TIMEOUT_S, _SILENCE_TIMEOUT_PER_SIMULATED_S = 60.0, 10.0

# Is told the seconds of the scenario that are over, and answers whether to stop.
ProgressCallback = Callable[[float], bool]


class UmlInterrupted(Exception):
    """The watching caller has asked for the end of the run."""


class UmlCrashed(Exception):
    """The kernel or the guest program has failed; the text is what it said last."""


@dataclass(frozen=True)
class UmlOutput:
    """A job that is done: what it wrote, the processor time that it took, and its folder, which holds its capture if it made one."""

    result: Any
    cpu_s: float
    folder: Path


@dataclass(frozen=True)
class UmlProcess:
    """A kernel, and what it is given.

    Attributes
    ----------
    image : BuiltKernel
        The kernel.
    memory_mb : int
        What it takes as its memory, in MiB; it is this machine's memory only as far as it is used.
    limit_s : float or None
        After how much time of this machine it is stopped.
    silence_s : float
        After how much time of this machine without progress it is stopped.
    """

    image: BuiltKernel
    memory_mb: int = MEMORY_MB
    limit_s: float | None = None
    silence_s: float = _SILENCE_TIMEOUT_S

    @contextmanager
    def run(self, job: Mapping[str, Any], seed: int, watch: ProgressCallback | None = None) -> Iterator[UmlOutput]:
        """Do a job, whose folder is removed at the end of the context. `seed` seeds the kernel. Raises Stopped, Crashed, BackendError."""
        if not GUEST_PROGRAM.is_file():
            raise missing_program_error()
        with tmpdir.create_job_folder() as folder:
            (folder / JOB_FILE).write_text(json.dumps(job))
            with tmpdir.reserve_cpu_core() as core:
                cpu_s, said = self._run_kernel(folder, seed, core, watch)
            try:
                result = json.loads((folder / RESULT_FILE).read_bytes())
            except FileNotFoundError:
                raise UmlCrashed(f"the guest program wrote no result; its last output:\n{said}") from None
            except (ValueError, RecursionError):
                raise UmlCrashed(f"the result of the guest program is not JSON; its last output:\n{said}") from None
            yield UmlOutput(result, cpu_s, folder)

    def kernel_command_line(self, folder: Path, seed: int) -> list[str]:
        """The kernel with its arguments."""
        return [
            str(self.image.kernel_image_path),
            f"mem={self.memory_mb}M",
            "umid=box",
            "time-travel=inf-cpu",
            "time-travel-start=0",
            f"seed={seed}",
            f"box={GUEST_PROGRAM}",
            "rdinit=/root",  # the first process is the program, and there is no root to be mounted for another one
            "uml_dir=kernel/",
            "con=null",
            "con0=null,fd:2",
            "ssl=null",
            "quiet",
            "panic=-1",
            "loglevel=4",
        ]

    def _folder_for_guest_memory(self, otherwise: Path) -> Path:
        """Where the kernel's memory is put, as a file without a name: in memory, if the machine has such a folder with enough room."""
        shared = Path("/dev/shm")
        room = self.memory_mb << 20
        return shared if os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 2 * room else otherwise

    def _run_kernel(self, folder: Path, seed: int, core: int | None, watch: ProgressCallback | None) -> tuple[float, str]:
        """Start the kernel and stay until it has ended; its processor time and what it said last. Raises Stopped, Crashed, BackendError."""
        with (folder / _CONSOLE_FILE).open("wb") as out, self._start_kernel(folder, seed, out) as process:
            assert process.stdout is not None
            try:
                if core is not None:
                    os.sched_setaffinity(process.pid, {core})
                told = self._read_output(process.stdout.fileno(), folder / _CONSOLE_FILE, watch)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            except BaseException:
                process.kill()
                raise
        if -process.returncode in _EXTERNAL_SIGNALS:
            raise BackendError(
                f"the UML kernel was killed by {signal.Signals(-process.returncode).name}: by a user, for lack of memory, "
                "or at a limit of your shell (`ulimit -a`); fix: repeat the command, which continues from there"
            )
        if process.returncode:
            by = f"by {signal.Signals(-process.returncode).name}" if process.returncode < 0 else f"with code {process.returncode}"
            raise UmlCrashed(f"the UML kernel ended {by}; its last output:\n{told}")
        return usage.ru_utime + usage.ru_stime, told

    def _start_kernel(self, folder: Path, seed: int, out: IO[bytes]) -> subprocess.Popen[bytes]:
        environment = {
            "ECNLAB_GUEST_JOB": str(folder),
            "HOME": str(folder),
            "PATH": os.defpath,
            "TMPDIR": str(self._folder_for_guest_memory(folder)),
            "LC_ALL": "C",
        }
        command = self.kernel_command_line(folder, seed)
        try:
            return subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out)
        except OSError as error:
            raise BackendError(f"{command[0]}: cannot be started: {error.strerror}; fix: run ecnlab doctor") from None

    def _read_output(self, descriptor: int, kernels: Path, watch: ProgressCallback | None) -> str:
        """Read the program's output until it ends; its last lines and those of the kernel's log.

        Raises Stopped if `watch` asks for it, Crashed at a limit.
        """
        said: deque[str] = deque(maxlen=_MAX_ERROR_LINES)
        begin = progress = monotonic()
        over = 0.0
        for line in console.read_lines_with_timeouts(descriptor, _WATCH_INTERVAL_S):
            now, told = monotonic(), None if line is None else _parse_progress_seconds(line)
            if told is not None:
                over, progress = told, now
            elif line:
                said.append(line)
            if (line is None or told is not None) and watch is not None and watch(over):
                raise UmlInterrupted
            if self.limit_s is not None and now - begin > self.limit_s:
                raise UmlCrashed(
                    f"the UML kernel was stopped at {over:g} s, after limit_s = {self.limit_s:g} s; "
                    f"its last output:\n"
                    f"{_last_lines_of_output(said, kernels)}"
                )
            if now - progress > self.silence_s:
                raise UmlCrashed(
                    f"the UML kernel was stopped at {over:g} s: no progress for {self.silence_s:g} s; "
                    f"its last output:\n"
                    f"{_last_lines_of_output(said, kernels)}"
                )
        return _last_lines_of_output(said, kernels)


def _last_lines_of_output(said: Iterable[str], kernels: Path) -> str:
    """What the program has said, and the last lines of the kernel's file."""
    return "\n".join([*said, *kernels.read_text(errors="replace").splitlines()[-_MAX_ERROR_LINES:]]) or "nothing"


def silence_timeout_s(duration_s: float) -> float:
    """How long a UML process may say nothing in a run of this duration, in seconds of this machine."""
    return _SILENCE_TIMEOUT_S + _SILENCE_TIMEOUT_PER_SIMULATED_S * duration_s


def missing_program_error() -> BackendError:
    """The error for a missing guest program."""
    return BackendError(f"{GUEST_PROGRAM}: the guest program is missing; fix: run `make setup`, on Linux on x86-64")


def _parse_progress_seconds(line: str) -> float | None:
    """The simulated seconds that a line of progress reports; None for another line."""
    if not line.startswith(_PROGRESS_PREFIX):
        return None
    try:
        return float(line.removeprefix(_PROGRESS_PREFIX))
    except ValueError:
        return None
