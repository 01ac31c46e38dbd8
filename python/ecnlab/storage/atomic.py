"""Files that are whole or not there, whatever kills the process, and what killed processes left half done.

What is half done is hidden, and called after what it is to be and after its writer: process, a word drawn by it, number, host.
Its writer holds an exclusive lock on it (flock), which the kernel releases when the process ends, however it does. The number of a process
would not tell that it lives: another PID namespace has other numbers. On a file system without such locks nothing half done is removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Thread
from typing import BinaryIO

_PARTIAL_NAME = re.compile(r"\.(?:batch-|.+\.)\d+-[0-9a-f]{8}-\d+-([A-Za-z0-9-]+)\.partial")
_PROCESS_TOKEN = os.urandom(4).hex()
_FILE_NUMBERS = count(1)
_MAX_PARALLEL_FLUSHES = 16
# A file of JSON that is larger is damaged: that of a merged batch takes some megabytes.
MAX_STORED_BYTES = 1 << 28


class _HeldFileLock:
    """An open file or folder that this process has locked, and no process that it forks."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle
        _HELD_LOCKS.add(self)

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that has locked it."""
        return self._handle is not None

    def release(self) -> None:
        """Close it; the lock goes with the last process that has it open."""
        handle, self._handle = self._handle, None
        _HELD_LOCKS.discard(self)
        if handle is not None:
            os.close(handle)


_HELD_LOCKS: set[_HeldFileLock] = set()


def _release_inherited_locks_after_fork() -> None:
    for lock in list(_HELD_LOCKS):
        lock.release()


# A forked process that outlives this one would keep the lock of what nobody writes any more. One that executes a program has it closed.
os.register_at_fork(after_in_child=_release_inherited_locks_after_fork)


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole: temporary file, flush to the disk, rename. Raises OSError, leaving no trace."""
    with locked_partial(partial_path(path)) as partial:
        write_unflushed(partial, data)
        fsync_files([partial])
        partial.replace(path)


def write_if_absent(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole, unless another process has put something there. Raises OSError, leaving no trace."""
    with locked_partial(partial_path(path)) as partial:
        write_unflushed(partial, data)
        fsync_files([partial])
        try:
            os.link(partial, path)
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            partial.replace(path)


@contextmanager
def locked_partial(partial: Path, *, folder: bool = False, mode: int = 0o777) -> Iterator[Path]:
    """Make a hidden file or folder, and lock it while it is written; unless it was renamed, it is removed at the end. Raises OSError."""
    lock = _create_and_lock(partial, folder, mode)
    try:
        yield partial
    finally:
        if lock.is_ours:
            _unlink_partial(partial, folder)
        lock.release()


def unique_writer_name() -> str:
    """A name for what this process writes next, which nothing else is called."""
    return f"{os.getpid()}-{_PROCESS_TOKEN}-{next(_FILE_NUMBERS)}-{host_name_for_files()}"


def partial_path(path: Path) -> Path:
    """Where a file is written before it is whole: beside its place, hidden, under a name of this process's own."""
    return path.with_name(f".{path.name}.{unique_writer_name()}.partial")


def remove_abandoned_partials(path: Path, name: str = "*") -> None:
    """Remove what killed processes of this host left half done; another host's cannot be asked whether they live.

    `name` is a pattern of the files that were under way.
    """
    for entry in path.glob(f".{name}.partial"):
        match = _PARTIAL_NAME.fullmatch(entry.name)
        if match is not None and match[1] == host_name_for_files():
            with suppress(OSError):
                _remove_unless_locked(entry)


def _remove_unless_locked(entry: Path) -> None:
    """Remove what no process holds. Raises OSError if one does, or the file system cannot tell."""
    folder = entry.is_dir() and not entry.is_symlink()
    handle = os.open(entry, (os.O_RDONLY | os.O_DIRECTORY if folder else os.O_RDWR | os.O_NONBLOCK) | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_same_file(handle, entry):
            _unlink_partial(entry, folder)
    finally:
        os.close(handle)


def _create_and_lock(partial: Path, folder: bool, mode: int) -> _HeldFileLock:
    """Make a file or a folder and lock it. One that was removed in between, before it had a lock, is made again. Raises OSError."""
    while True:
        handle = _create_and_open(partial, folder, mode)
        if handle is None:
            continue
        lock = _HeldFileLock(handle)
        try:
            with suppress(OSError):  # the file system has no locks, so nobody removes it either
                fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_same_file(handle, partial):
                return lock
        except BaseException:
            lock.release()
            raise
        lock.release()


def _create_and_open(partial: Path, folder: bool, mode: int) -> int | None:
    """A new file or folder, opened; None if it is gone already. Raises OSError."""
    if not folder:
        return os.open(partial, os.O_RDWR | os.O_CREAT, mode & 0o666)
    partial.mkdir(mode)
    try:
        return os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None


def _is_same_file(handle: int, path: Path) -> bool:
    """Whether what is open is what has this name now."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _unlink_partial(path: Path, folder: bool) -> None:
    if folder:
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder, which is there whole or not at all for everybody who looks; if another has done it, all the better.

    Its files go in a thread of their own, for a busy disk takes its time.
    """
    gone = folder.with_name(f".{folder.name}.{unique_writer_name()}.partial")
    with suppress(OSError):
        folder.rename(gone)
        Thread(target=shutil.rmtree, args=(gone,), kwargs={"ignore_errors": True}).start()


def open_regular_file(path: Path) -> BinaryIO:
    """Open a stored file. Raises OSError if it is not a regular file: a pipe would block, and a device has no end."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def read_regular_file(path: Path, limit: int = MAX_STORED_BYTES) -> bytes:
    """The content of a stored file. Raises OSError if it is not a regular file, or larger than `limit` bytes."""
    with open_regular_file(path) as file:
        if file.seek(0, os.SEEK_END) > limit:
            raise OSError(errno.EFBIG, f"it is larger than {limit} bytes", str(path))
        file.seek(0)
        return file.read()


def write_unflushed(path: Path, data: bytes) -> None:
    """Write a file, which the disk need not have yet."""
    path.write_bytes(data)


def fsync_files(files: Sequence[Path]) -> None:
    """Bring files to the disk, all at once, for a disk takes as long for one as for many. Raises OSError."""
    with ThreadPoolExecutor(min(_MAX_PARALLEL_FLUSHES, max(len(files), 1))) as threads:
        list(threads.map(_fsync_path, files))


def fsync_directory(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    with suppress(OSError):  # some file systems cannot flush a folder
        _fsync_path(folder)


def _fsync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def host_name_for_files() -> str:
    """This host's name, in letters that a file's name may have."""
    return re.sub(r"[^A-Za-z0-9-]", "-", os.uname().nodename)
