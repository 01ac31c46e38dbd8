"""A UML process: one process of this machine per job.

The kernel sees no file of this machine; the guest program reads a job from a folder and writes its result there. The process is pinned to
a core and ends with its parent (`PR_SET_PDEATHSIG`). The folder is removed at the end; that of a killed process is removed when the next
UML process starts.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from typing import IO, Any

from ecnlab import _core
from ecnlab.backends.base import ProgressCallback
from ecnlab.backends.uml import console, tmpdir
from ecnlab.backends.uml.kernels import BuiltKernel
from ecnlab.errors import BackendError

# The guest program, compressed, in the folder of this file. Wheels contain it; `make guest` builds it in a source checkout.
GUEST_PROGRAM = Path(__file__).with_name("guest.so.gz")
_SOURCE_CHECKOUT = Path(__file__).parents[4]
# The guest program contains these words, and behind them the builds of engine, router and guest that it was compiled from.
_BUILDS_IN_FILE = re.compile(rb"ecnlab guest of ([0-9a-f]{16})([0-9a-f]{16})([0-9a-f]{16})")

# Files in the folder of a job.
GUEST_FILE = "guest.so"
JOB_FILE, RESULT_FILE, CAPTURE_FILE, CASES_FILE = "job.json", "result.json", "capture.pcapng", "cases.jsonl"

# The kernel's console is a file, not a pipe: a reader of a pipe causes SIGIO at times that depend on this machine. Each one feeds the
# kernel's random generator, and one during power-off ends the process by SIGABRT.
_CONSOLE_FILE = "console"
# Memory of the guest in MiB; this machine provides only the used part.
MEMORY_MB = 192
_PROGRESS_PREFIX = "guest: at "
_MAX_ERROR_LINES = 40

# Interval at which limits and the progress callback are checked while the UML kernel prints nothing.
_WATCH_INTERVAL_S = 1.0

# Signals by which users, the OOM killer or resource limits end a process.
_EXTERNAL_SIGNALS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGXCPU", "SIGXFSZ")

# A UML process reports progress a hundred times per run; one that is silent for this long hangs. Each simulated second adds to the limit.
_SILENCE_TIMEOUT_S, _SILENCE_TIMEOUT_PER_SIMULATED_S = 60.0, 10.0


class UmlStoppedByCallback(Exception):
    """The progress callback has stopped the run."""


class UmlCrashed(Exception):
    """The kernel or the guest program has failed; the text is its last output."""


@dataclass(frozen=True)
class UmlJobResult:
    """Output of a finished job: its result, its processor time, and its folder, which may hold a capture."""

    result: Any
    cpu_s: float
    folder: Path


@dataclass(frozen=True)
class UmlJobRunner:
    """A kernel and the resources of its process.

    Attributes
    ----------
    image : BuiltKernel
        The kernel.
    limit_s : float or None
        Wall-clock limit of a run.
    silence_s : float
        Wall-clock limit without progress.
    """

    image: BuiltKernel
    limit_s: float | None = None
    silence_s: float = _SILENCE_TIMEOUT_S

    @contextmanager
    def run(self, job: Mapping[str, Any], seed: int, watch: ProgressCallback | None = None) -> Iterator[UmlJobResult]:
        """Run a job on a kernel with this seed; its folder ends with the context. Raises UmlInterrupted, UmlCrashed, BackendError."""
        guest = read_guest_program()
        if not is_program_current():
            raise other_program_error()
        with tmpdir.temporary_job_folder() as folder:
            (folder / GUEST_FILE).write_bytes(guest)
            (folder / JOB_FILE).write_text(json.dumps(job))
            with tmpdir.reserve_cpu_core() as core:
                cpu_s, last_lines = self._run_kernel(folder, seed, core, watch)
            try:
                result = json.loads((folder / RESULT_FILE).read_bytes())
            except FileNotFoundError:
                raise UmlCrashed(f"the guest program wrote no result; its last output:\n{last_lines}") from None
            except (ValueError, RecursionError):
                raise UmlCrashed(f"the result of the guest program is not JSON; its last output:\n{last_lines}") from None
            yield UmlJobResult(result, cpu_s, folder)

    def kernel_command_line(self, folder: Path, seed: int) -> list[str]:
        """The command line of the kernel."""
        return [
            str(self.image.kernel_image_path),
            f"mem={MEMORY_MB}M",
            "umid=box",
            "time-travel=inf-cpu",
            "time-travel-start=0",
            f"seed={seed}",
            f"box=./{GUEST_FILE}",
            "rdinit=/root",  # the guest program is init, so no root file system is mounted
            "uml_dir=kernel/",
            "con=null",
            "con0=null,fd:2",
            "ssl=null",
            "quiet",
            "panic=-1",
            "loglevel=4",
        ]

    def _run_kernel(self, folder: Path, seed: int, core: int | None, watch: ProgressCallback | None) -> tuple[float, str]:
        """Run the kernel; returns its processor time and last output. Raises UmlInterrupted, UmlCrashed, BackendError."""
        with (folder / _CONSOLE_FILE).open("wb") as out, self._start_kernel(folder, seed, out) as process:
            assert process.stdout is not None
            try:
                if core is not None:
                    os.sched_setaffinity(process.pid, {core})
                last_output = self._read_and_return_last_lines(process.stdout.fileno(), folder / _CONSOLE_FILE, watch)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            except BaseException:
                process.kill()
                raise
        if -process.returncode in [getattr(signal, name) for name in _EXTERNAL_SIGNALS]:
            raise BackendError(
                f"the UML kernel was killed by {signal.Signals(-process.returncode).name}: by a user, for lack of memory, "
                "or at a limit of your shell (`ulimit -a`); fix: repeat the command, which continues from there"
            )
        if process.returncode:
            by = f"by {signal.Signals(-process.returncode).name}" if process.returncode < 0 else f"with code {process.returncode}"
            raise UmlCrashed(f"the UML kernel ended {by}; its last output:\n{last_output}")
        return usage.ru_utime + usage.ru_stime, last_output

    def _start_kernel(self, folder: Path, seed: int, out: IO[bytes]) -> subprocess.Popen[bytes]:
        environment = {
            "ECNLAB_GUEST_JOB": str(folder),
            "HOME": str(folder),
            "PATH": os.defpath,
            "TMPDIR": str(_folder_for_guest_memory(folder)),
            "LC_ALL": "C",
        }
        command = self.kernel_command_line(folder, seed)
        try:
            return subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out)
        except OSError as error:
            raise BackendError(f"{command[0]}: cannot be started: {error.strerror}; fix: run ecnlab doctor") from None

    def _read_and_return_last_lines(self, descriptor: int, kernels: Path, watch: ProgressCallback | None) -> str:
        """Read the output of the guest program until it ends; returns its last lines and those of the kernel's log.

        Raises UmlInterrupted if `watch` returns true, UmlCrashed at a limit.
        """
        last_lines: deque[str] = deque(maxlen=_MAX_ERROR_LINES)
        begin = progress = monotonic()
        over = 0.0
        for line in console.lines_or_none_on_timeout(descriptor, _WATCH_INTERVAL_S):
            now, simulated_s = monotonic(), None if line is None else _parse_progress_seconds(line)
            if simulated_s is not None:
                over, progress = simulated_s, now
            elif line:
                last_lines.append(line)
            if (line is None or simulated_s is not None) and watch is not None and watch(over):
                raise UmlStoppedByCallback
            stop = ""
            if self.limit_s is not None and now - begin > self.limit_s:
                stop = f", after limit_s = {self.limit_s:g} s"
            elif now - progress > self.silence_s:
                stop = f": no progress for {self.silence_s:g} s"
            if stop:
                output = _last_lines_of_output(last_lines, kernels)
                raise UmlCrashed(f"the UML kernel was stopped at {over:g} s{stop}; its last output:\n{output}")
        return _last_lines_of_output(last_lines, kernels)


def _folder_for_guest_memory(otherwise: Path) -> Path:
    """The folder for the unnamed file of guest memory: a tmpfs with enough free space if there is one."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > (2 * MEMORY_MB) << 20 else otherwise


def _last_lines_of_output(last_lines: Iterable[str], kernels: Path) -> str:
    """The last output of the guest program and of the kernel's console."""
    return "\n".join([*last_lines, *kernels.read_text(errors="replace").splitlines()[-_MAX_ERROR_LINES:]]) or "nothing"


def silence_timeout_s(duration_s: float) -> float:
    """Wall-clock seconds without progress after which a run of this duration is stopped."""
    return _SILENCE_TIMEOUT_S + _SILENCE_TIMEOUT_PER_SIMULATED_S * duration_s


def read_guest_program() -> bytes:
    """The guest program, a shared library. Raises BackendError if it is missing or damaged."""
    try:
        return gzip.decompress(GUEST_PROGRAM.read_bytes())
    except FileNotFoundError:
        raise missing_program_error() from None
    except (EOFError, OSError, zlib.error) as error:
        message = f"{GUEST_PROGRAM}: the guest program is damaged or cannot be read ({error}); fix: {other_program_remedy(None)}"
        raise BackendError(message) from None


def missing_program_error() -> BackendError:
    """The error for a missing guest program."""
    return BackendError(f"{GUEST_PROGRAM}: the guest program is missing; fix: {missing_program_remedy()}")


def is_program_current() -> bool:
    """Whether the guest program is of the same sources as the engine."""
    return builds_named_in_guest_program() == engine_router_guest_builds()


def engine_router_guest_builds() -> str:
    """The builds of the engine, of its router and of the guest program that belongs to them."""
    return f"{_core.BUILD}-{_core.EMULATOR}-{_core.GUEST}"


def builds_named_in_guest_program() -> str | None:
    """The builds of engine, router and guest in the guest program; None if it names none."""
    about = GUEST_PROGRAM.stat()
    return _builds_in_file(GUEST_PROGRAM, about.st_mtime_ns, about.st_size)


@cache
def _builds_in_file(path: Path, _changed_ns: int, _size: int) -> str | None:
    try:
        found = _BUILDS_IN_FILE.search(gzip.decompress(path.read_bytes()))
    except (EOFError, OSError, zlib.error):
        return None
    return None if found is None else "-".join(digits.decode() for digits in found.groups())


def other_program_error() -> BackendError:
    """The error for a guest program that was built from other sources than the engine."""
    built = builds_named_in_guest_program()
    return BackendError(
        f"{GUEST_PROGRAM}: the guest program is of build {built or 'unknown'}, and the engine of {engine_router_guest_builds()}; "
        f"fix: {other_program_remedy(built)}"
    )


def other_program_remedy(built: str | None) -> str:
    """How to replace a guest program of other builds than the engine's; None if it is damaged or names none."""
    remedy = _program_remedy("make setup guest")
    # make compares times, so it keeps a damaged file that is newer than the sources.
    return remedy if built else f"delete it, then {remedy}"


def missing_program_remedy() -> str:
    """How to get the guest program: by a build in a source checkout, otherwise by another installation."""
    return _program_remedy("make guest")


def _program_remedy(command: str) -> str:
    checkout = source_checkout()
    if checkout is None or (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return "install a wheel of ecnlab for Linux on x86-64"
    return f"run `{command}` in {checkout}"


def source_checkout() -> Path | None:
    """The folder of the source checkout that this package runs from, if it does."""
    return _SOURCE_CHECKOUT if (_SOURCE_CHECKOUT / "crates" / "uml_guest" / "Cargo.toml").is_file() else None


def _parse_progress_seconds(line: str) -> float | None:
    """The simulated seconds in a progress line; None for other lines."""
    if not line.startswith(_PROGRESS_PREFIX):
        return None
    try:
        return float(line.removeprefix(_PROGRESS_PREFIX))
    except ValueError:
        return None
