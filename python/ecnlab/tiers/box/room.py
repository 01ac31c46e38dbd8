"""Where boxes have their place on this machine: a folder for each job, and a core that no other box of the user's has.

Both are kept in the user's cache folder. What stays of a box there are empty files, one for each core, which boxes lock.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from ecnlab import atomic
from ecnlab.errors import TierError
from ecnlab.tiers.box import kernels

_TURNS = count()


def home() -> Path:
    """The user's folder for jobs: `jobs` beside that of built kernels. Raises TierError if it is not the user's alone."""
    folder = kernels.home().parent / "jobs"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise TierError(f"{folder}: {error.strerror}: the box needs this folder for its jobs; ECNLAB_CACHE names another place") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise TierError(
            f"{folder} is a link, another user's, or one that others may write to, and the box would keep jobs and results in it: "
            "remove it, or name another place with ECNLAB_CACHE"
        )
    return folder


@contextmanager
def core() -> Iterator[int | None]:
    """A core for a box, its own as long as there are enough, whichever process of the user's asks; one that is moved about is slower.

    None where the system cannot pin a process.
    """
    if not hasattr(os, "sched_getaffinity"):
        yield None
        return
    allowed = sorted(os.sched_getaffinity(0))
    with ExitStack() as held:
        for one in allowed:
            lock = held.enter_context((home() / f"core-{atomic.host()}-{one}").open("w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield one
            return
        yield allowed[next(_TURNS) % len(allowed)]


@contextmanager
def folder() -> Iterator[Path]:
    """A folder for a job, which goes with it; those of processes that were killed go as well."""
    place = home()
    atomic.sweep(place)
    with atomic.under_way(atomic.partial_path(place / "job"), folder=True, mode=0o700) as made:
        yield made
