"""Files that are whole or not there, whatever kills the process, and what killed processes left half done.

What is half done is hidden, and called after what it is to be and after its writer: process, a word drawn by it, number, host.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Thread

_PARTIAL = re.compile(r"\.(?:batch-|.+\.)(\d+)-([0-9a-f]{8})-\d+-([A-Za-z0-9-]+)\.partial")
_WORD = os.urandom(4).hex()
_NUMBERS = count(1)
_AT_ONCE = 16


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole: temporary file, flush to the disk, rename. Raises OSError, leaving no trace."""
    partial = partial_path(path)
    try:
        put(partial, data)
        flush([partial])
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def write_first(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole, unless another process has put something there. Raises OSError, leaving no trace."""
    partial = partial_path(path)
    try:
        put(partial, data)
        flush([partial])
        try:
            os.link(partial, path)
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def writer() -> str:
    """A name for what this process writes next, which nothing else is called."""
    return f"{os.getpid()}-{_WORD}-{next(_NUMBERS)}-{host()}"


def partial_path(path: Path) -> Path:
    """Where a file is written before it is whole: beside its place, hidden, under a name of this process's own."""
    return path.with_name(f".{path.name}.{writer()}.partial")


def sweep(path: Path, name: str = "*") -> None:
    """Remove what killed processes of this host left half done; another host's cannot be asked whether they live.

    `name` is a pattern of the files that were under way.
    """
    for entry in _of_the_dead(path, name):
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with suppress(OSError):
                entry.unlink()


def remove(folder: Path) -> None:
    """Remove a folder, which is there whole or not at all for everybody who looks; if another has done it, all the better.

    Its files go in a thread of their own, for a busy disk takes its time.
    """
    gone = folder.with_name(f".{folder.name}.{writer()}.partial")
    with suppress(OSError):
        folder.rename(gone)
        Thread(target=shutil.rmtree, args=(gone,), kwargs={"ignore_errors": True}).start()


def put(path: Path, data: bytes) -> None:
    """Write a file, which the disk need not have yet."""
    path.write_bytes(data)


def flush(files: Sequence[Path]) -> None:
    """Bring files to the disk, all at once, for a disk takes as long for one as for many. Raises OSError."""
    with ThreadPoolExecutor(min(_AT_ONCE, max(len(files), 1))) as threads:
        list(threads.map(_flush, files))


def flush_names(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    with suppress(OSError):  # some file systems cannot flush a folder
        _flush(folder)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def host() -> str:
    """This host's name, in letters that a file's name may have."""
    return re.sub(r"[^A-Za-z0-9-]", "-", os.uname().nodename)


def _of_the_dead(path: Path, name: str) -> Iterator[Path]:
    for entry in path.glob(f".{name}.partial"):
        match = _PARTIAL.fullmatch(entry.name)
        if match is not None and match[3] == host() and not _alive(int(match[1]), match[2]):
            yield entry


def _alive(pid: int, word: str) -> bool:
    """Whether the process lives that drew this word; in a container an earlier one often had our own number."""
    if pid == os.getpid():
        return word == _WORD
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
