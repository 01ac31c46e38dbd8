"""Resources of UML processes on this machine: a folder for each job, and a reserved CPU core.

Both are in the user's cache folder, which keeps one empty lock file per core.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from ecnlab.backends.uml import kernels
from ecnlab.errors import BackendError
from ecnlab.storage import atomic

_CORE_TURNS = count()


def uml_jobs_folder() -> Path:
    """The folder for jobs: `jobs` beside that of built kernels. Raises BackendError if other users can write to it."""
    folder = kernels.kernels_folder().parent / "jobs"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise BackendError(f"{folder}: {error.strerror}; fix: set ECNLAB_CACHE to another folder") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise BackendError(
            f"{folder}: is a link, belongs to another user, or others may write to it, so jobs cannot be kept there; "
            "fix: remove it, or set ECNLAB_CACHE to another folder"
        )
    return folder


@contextmanager
def reserve_cpu_core() -> Iterator[int | None]:
    """Reserve a core for a UML process, which migration would slow down; processes share cores if there are too few.

    Yields None if the system cannot pin a process.
    """
    if not hasattr(os, "sched_getaffinity"):
        yield None
        return
    import fcntl

    allowed = sorted(os.sched_getaffinity(0))
    with ExitStack() as held:
        for one in allowed:
            lock = held.enter_context((uml_jobs_folder() / f"core-{atomic.host_name_for_files()}-{one}").open("w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield one
            return
        yield allowed[next(_CORE_TURNS) % len(allowed)]


@contextmanager
def temporary_job_folder() -> Iterator[Path]:
    """Create a folder for a job, removed at the end; removes folders of killed processes as well."""
    place = uml_jobs_folder()
    atomic.remove_abandoned_partials(place)
    with atomic.locked_temporary_path(atomic.partial_path(place / "job"), folder=True, mode=0o700) as made:
        yield made
