"""Building a kernel for the box: once, without root, in a folder of its own that goes whatever happens.

What is finished is moved to its place in one step, so the cache holds whole kernels or none, and two builds do not meet.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from time import time

from ecnlab import atomic
from ecnlab.errors import TierError
from ecnlab.tiers.box import kernels, recipe, source
from ecnlab.tiers.box.kernels import Box, Kernel

# What building needs, and Debian's package of each.
TOOLS = {
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "perl": "perl",
    "tar": "tar",
    "xz": "xz-utils",
}
HEADERS = {"/usr/include/stdio.h": "libc6-dev"}

# About as many lines as a build says, of which each stands for a file that is compiled.
_FILES = 1030

_LAST_LINES = 25

# Runs a command whose whole group of processes ends when standard input does, which is when we end, however that is.
_TIED = """
exec 3<&0
"$@" 3<&- < /dev/null & work=$!
(read -r _ <&3; kill -KILL 0) > /dev/null 2>&1 & watch=$!
wait $work; code=$?
kill $watch
exit $code
"""

# Is told how many files of how many are compiled.
Watch = Callable[[float, int], None]


def missing() -> dict[str, str]:
    """What building needs and this machine has not, with Debian's package of each."""
    tools = {tool: package for tool, package in TOOLS.items() if shutil.which(tool) is None}
    return tools | {header: package for header, package in HEADERS.items() if not Path(header).exists()}


def build(kernel: Kernel, from_source: Path | None = None, jobs: int | None = None, watch: Watch | None = None) -> Box:
    """Build a kernel, unless it is there. `from_source` is a package, an archive or a folder of yours. Raises TierError."""
    lacking = missing()
    if lacking:
        packages = " ".join(dict.fromkeys(lacking.values()))
        raise TierError(f"building a kernel needs {', '.join(lacking)}, which this machine has not: `apt-get install {packages}` as root")
    home = kernels.home()
    with ExitStack() as stack:
        try:
            home.parent.mkdir(parents=True, exist_ok=True)
            home.mkdir(mode=0o755, exist_ok=True)
            atomic.sweep(home)
            room = stack.enter_context(atomic.under_way(atomic.partial_path(home / "build"), folder=True))
        except OSError as error:
            raise TierError(f"{home} cannot be written ({error.strerror}): ECNLAB_CACHE names another folder for built kernels") from error
        try:
            return _built(kernel, room, from_source, jobs or len(os.sched_getaffinity(0)), watch)
        except OSError as error:
            raise TierError(f"the kernel could not be built in {room}: {error.strerror or error}") from error


def _built(kernel: Kernel, room: Path, from_source: Path | None, jobs: int, watch: Watch | None) -> Box:
    taken = source.fetched(kernel, room) if from_source is None else source.given(from_source, room)
    release = source.release(taken.tree)
    if not release.startswith(f"{kernel.name}."):
        raise TierError(f"this is the source of kernel {release}, not of {kernel.name}")
    rule = recipe.digest(kernel.name)
    place = kernels.home() / f"{release}-{_short(taken.sha256 + taken.version + rule)}"
    for box in kernels.built():
        if box.folder == place and box.is_whole:
            return box
    recipe.change(taken.tree, kernel.name)
    _configure(taken.tree, kernel.name)
    _make(taken.tree, ["linux"], jobs, watch)
    about = {
        "kernel": kernel.name,
        "release": release,
        "version": taken.version,
        "sha256": taken.sha256,
        "known": kernel.known.get(taken.version) == taken.sha256,
        "recipe": rule,
        "compiler": _compiler(),
        "built_s": time(),
    }
    return _moved(taken.tree, room / "finished", place, about)


def _configure(tree: Path, kernel: str) -> None:
    config = tree / ".config"
    _make(tree, ["tinyconfig"], 1, None)
    with config.open("a") as file:
        file.write("\n".join([*recipe.options(kernel), ""]))
    _make(tree, ["olddefconfig"], 1, None)
    recipe.check(config, kernel)


def _make(tree: Path, targets: list[str], jobs: int, watch: Watch | None) -> None:
    """Run the kernel's make, whose whole group of processes goes when we do. Raises TierError with what it said last."""
    said: deque[str] = deque(maxlen=_LAST_LINES)
    wrong: list[str] = []
    # What a kernel says of its build is to be the same whoever builds it, wherever and when.
    same = {"KBUILD_BUILD_TIMESTAMP": "1970-01-01", "KBUILD_BUILD_USER": "ecnlab", "KBUILD_BUILD_HOST": "box", "LC_ALL": "C"}
    command = ["make", "ARCH=um", f"-j{jobs}", *targets]
    with subprocess.Popen(
        ["/bin/sh", "-c", _TIED, "sh", *command],
        cwd=tree,
        env=os.environ | same,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as make:
        assert make.stdout is not None
        try:
            done = 0
            for line in make.stdout:
                said.append(line.rstrip())
                if "error" in line.lower() and len(wrong) < _LAST_LINES and not line.startswith("  "):
                    wrong.append(line.rstrip())
                done += line.startswith("  CC ")
                if watch is not None:
                    watch(min(done, _FILES), _FILES)
        except BaseException:
            os.killpg(make.pid, signal.SIGKILL)
            raise
    if make.returncode:
        raise TierError("\n".join([f"the kernel could not be built; `{' '.join(command)}` said:", *dict.fromkeys([*wrong, *said])]))


def _moved(tree: Path, finished: Path, place: Path, about: dict[str, object]) -> Box:
    """Put the finished kernel at its place, whole; if another build was faster, take that one's."""
    # A kernel that others may write to is not run.
    finished.mkdir(mode=0o755)
    subprocess.run(["strip", "-o", finished / kernels.PROGRAM, tree / "linux"], check=True, capture_output=True)
    (finished / kernels.PROGRAM).chmod(0o755)
    shutil.copy(tree / ".config", finished / "config")
    shutil.copy(tree / "COPYING", finished / "COPYING")
    about["program"] = sha256((finished / kernels.PROGRAM).read_bytes()).hexdigest()
    (finished / kernels.ABOUT).write_text(json.dumps(about, indent=2) + "\n")
    (finished / kernels.ABOUT).chmod(0o644)
    atomic.flush([finished / name for name in (kernels.PROGRAM, kernels.ABOUT)])
    if not any(box.folder == place and box.is_whole for box in kernels.built()):
        atomic.remove(place)  # what is there, if anything, is damaged
    try:
        finished.rename(place)
    except OSError:
        if not place.is_dir():
            raise
    return Box(place, about)


def _compiler() -> str:
    return subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False).stdout.partition("\n")[0]


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:10]
