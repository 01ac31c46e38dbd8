"""Atomic writes of files and folders, and removal of partial files of killed processes.

A partial file is hidden; its name holds that of its target and of its writer: process, random token, number, host.
The writer holds an exclusive lock on it (flock), which the kernel releases when the process ends. A process id would not show whether
the writer lives, since another PID namespace has other numbers. On a file system without locks no partial file is removed.

Windows cannot lock a folder, nor rename an open file. There the process ID in the name identifies the writer; a host has one set of IDs.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Thread
from time import sleep
from typing import BinaryIO

if sys.platform == "win32":
    from ecnlab.storage.windows import is_process_alive
else:
    import fcntl

_PARTIAL_NAME = re.compile(r"\.(?:batch-|.+\.)(\d+)-[0-9a-f]{8}-\d+-([A-Za-z0-9-]+)\.partial")
_PROCESS_TOKEN = os.urandom(4).hex()
_FILE_NUMBERS = count(1)
_MAX_PARALLEL_FLUSHES = 16
# Windows opens files as text by default, which changes line ends; POSIX opens a pipe only when it has a writer.
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_RENAME_ATTEMPTS, _RENAME_INTERVAL_S = 20, 0.05
# A larger JSON file is damaged: that of a merged batch takes a few megabytes.
MAX_STORED_BYTES = 1 << 28


class _HeldFileLock:
    """An open file or folder locked by this process, but not by its forks; without a handle on Windows, which has no forks."""

    def __init__(self, handle: int | None) -> None:
        self._handle = handle
        self.is_ours = True  # this process, not its parent, took the lock
        _HELD_LOCKS.add(self)

    def release(self) -> None:
        """Close the file; the kernel releases the lock when the last process closes it."""
        handle, self._handle, self.is_ours = self._handle, None, False
        _HELD_LOCKS.discard(self)
        if handle is not None:
            os.close(handle)


_HELD_LOCKS: set[_HeldFileLock] = set()


def _release_inherited_locks_after_fork() -> None:
    for lock in list(_HELD_LOCKS):
        lock.release()


# A forked process that outlives this one would keep the lock. The files are close-on-exec, so other programs do not inherit them.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_inherited_locks_after_fork)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically: temporary file, flush to the disk, rename. Raises OSError and leaves no partial file."""
    with locked_temporary_path(partial_path(path)) as partial:
        write_unflushed(partial, data)
        fsync_files([partial])
        rename_with_retries(partial, path)


def write_if_absent(path: Path, data: bytes) -> None:
    """Write a file atomically unless it exists. Raises OSError and leaves no partial file."""
    with locked_temporary_path(partial_path(path)) as partial:
        write_unflushed(partial, data)
        fsync_files([partial])
        try:
            os.link(partial, path)
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            rename_with_retries(partial, path)


def rename_with_retries(path: Path, target: Path) -> None:
    """Rename a file, which replaces the target, or a folder. Raises OSError.

    Windows refuses it while another program has either file open, such as a virus scanner. It is repeated there for up to a second.
    """
    attempts = _RENAME_ATTEMPTS if sys.platform == "win32" else 1
    for left in reversed(range(attempts)):
        try:
            path.replace(target)
        except PermissionError:
            if not left:
                raise
            sleep(_RENAME_INTERVAL_S)
        else:
            return


@contextmanager
def locked_temporary_path(partial: Path, *, folder: bool = False, mode: int = 0o777) -> Iterator[Path]:
    """Create and lock a hidden file or folder; removed at the end of the context unless renamed. Raises OSError."""
    lock = _create_and_lock(partial, folder, mode)
    try:
        yield partial
    finally:
        if lock.is_ours:
            _unlink_partial(partial, folder)
        lock.release()


def unique_writer_name() -> str:
    """A unique name for the next partial file of this process."""
    return f"{os.getpid()}-{_PROCESS_TOKEN}-{next(_FILE_NUMBERS)}-{host_name_for_files()}"


def partial_path(path: Path) -> Path:
    """Path of the partial file for `path`: hidden, in the same folder, with a unique name."""
    return path.with_name(f".{path.name}.{unique_writer_name()}.partial")


def remove_abandoned_partials(path: Path, name: str = "*") -> None:
    """Remove partial files of killed processes of this host; writers on other hosts may be alive.

    `name` is a glob pattern of the target's name.
    """
    for entry in path.glob(f".{name}.partial"):
        match = _PARTIAL_NAME.fullmatch(entry.name)
        if match is not None and match[2] == host_name_for_files():
            with suppress(OSError):
                _remove_if_abandoned(entry, int(match[1]))


def _remove_if_abandoned(entry: Path, writer: int) -> None:
    """Remove a partial file that no process has locked. Raises OSError if one has, or the file system has no locks."""
    folder = entry.is_dir() and not entry.is_symlink()
    if sys.platform == "win32":
        if not is_process_alive(writer):
            _unlink_partial(entry, folder)
        return
    handle = os.open(entry, (os.O_RDONLY | os.O_DIRECTORY if folder else os.O_RDWR | os.O_NONBLOCK) | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_same_file(handle, entry):
            _unlink_partial(entry, folder)
    finally:
        os.close(handle)


def _create_and_lock(partial: Path, folder: bool, mode: int) -> _HeldFileLock:
    """Create and lock a file or folder; repeats if another process removes it before it is locked. Raises OSError."""
    if sys.platform == "win32":
        partial.mkdir(mode) if folder else partial.touch(mode & 0o666)
        return _HeldFileLock(None)
    while True:
        handle = _create_and_open(partial, folder, mode)
        if handle is None:
            continue
        lock = _HeldFileLock(handle)
        try:
            with suppress(OSError):  # a file system without locks, where no process removes partial files
                fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_same_file(handle, partial):
                return lock
        except BaseException:
            lock.release()
            raise
        lock.release()


def _create_and_open(partial: Path, folder: bool, mode: int) -> int | None:
    """Create and open a file or folder; None if another process has removed it. Raises OSError."""
    assert sys.platform != "win32"
    if not folder:
        return os.open(partial, os.O_RDWR | os.O_CREAT, mode & 0o666)
    partial.mkdir(mode)
    try:
        return os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None


def _is_same_file(handle: int, path: Path) -> bool:
    """Whether an open file is the one at this path."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _unlink_partial(path: Path, folder: bool) -> None:
    if not folder:
        with suppress(OSError):
            path.unlink(missing_ok=True)
    elif path.exists():
        import shutil

        shutil.rmtree(path, ignore_errors=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder atomically: rename it to a hidden name first. A missing folder is not an error.

    A background thread deletes the files, since a busy disk is slow.
    """
    import shutil

    gone = partial_path(folder)
    with suppress(OSError):
        rename_with_retries(folder, gone)
        Thread(target=shutil.rmtree, args=(gone,), kwargs={"ignore_errors": True}).start()


def open_regular_file(path: Path) -> BinaryIO:
    """Open a stored file. Raises OSError if it is not a regular file: a pipe would block, and a device has no end."""
    file = os.fdopen(os.open(path, _READ_FLAGS), "rb")
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
    """Write a file without a flush to the disk."""
    path.write_bytes(data)


def fsync_files(files: Sequence[Path]) -> None:
    """Flush files to the disk in parallel, which takes about as long as one flush. Raises OSError."""
    waiting, failures = list(files), []

    def flush_waiting_files() -> None:
        while waiting:
            with suppress(IndexError):  # another thread took the last one
                file = waiting.pop()
                try:
                    _fsync_path(file)
                except OSError as error:
                    failures.append(error)

    threads = [Thread(target=flush_waiting_files) for _ in range(min(_MAX_PARALLEL_FLUSHES, len(files)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def fsync_directory(folder: Path) -> None:
    """Flush the entries of a folder to the disk."""
    with suppress(OSError):  # not every file system can flush a folder
        _fsync_path(folder)


def _fsync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)  # Windows flushes only files open for writing
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def host_name_for_files() -> str:
    """This host's name, with characters valid in file names only."""
    return re.sub(r"[^A-Za-z0-9-]", "-", platform.node()) or "host"
