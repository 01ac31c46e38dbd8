"""Reads and checks the files of folders that ecnlab has written: results, stores, batches and sweeps.

A file is damaged where its size or its digest differs, or where it is not a JSON object. Each error names the file and the fix.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ecnlab.errors import ResultsError, UsageError
from ecnlab.storage.atomic import open_regular_file, read_regular_file


def parse_folder_argument(argument: str, value: object) -> Path:
    """The path of a folder that an argument gives. Raises UsageError naming the argument."""
    if not isinstance(value, (str, Path)) or "\0" in str(value):
        what = "a path with a null byte" if isinstance(value, (str, Path)) else type(value).__name__
        raise UsageError(f"{argument}: must be the path of a folder, not {what}")
    return Path(value)


def to_json_bytes(value: Mapping[str, Any], indent: int | None = 2) -> bytes:
    """A mapping as the text of a file."""
    return (json.dumps(value, indent=indent, allow_nan=False) + "\n").encode()


def read_json_object(path: Path, remedy: str) -> dict[str, Any]:
    """A file's JSON object. Raises FileNotFoundError, and ResultsError with the remedy if it cannot be read or is damaged."""
    try:
        value = json.loads(read_regular_file(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror or error}; {remedy}") from None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ResultsError(f"{path} is damaged; {remedy}")
    return value


def read_verified(path: Path, begin: int, size: int, digest: str) -> bytes:
    """Part of a file. Raises OSError, without an errno if the part differs from what was stored."""
    with open_regular_file(path) as file:
        # A size that is damaged may be more than memory has.
        if file.seek(0, os.SEEK_END) < begin + size:
            raise OSError("digest differs")
        file.seek(begin)
        data = file.read(size)
    if len(data) != size or sha256(data).hexdigest() != digest:
        raise OSError("digest differs")
    return data


def unreadable_file_error(path: Path, error: OSError, remedy: str) -> ResultsError:
    """Describes a file that `read_verified` could not read."""
    what = "is damaged: its digest differs" if error.errno is None else f"cannot be read: {error.strerror}"
    return ResultsError(f"{path} {what}; {remedy}")


def require_format(path: Path, what: str, found: object, expected: int, remedy: str) -> None:
    """Raises ResultsError if a folder has another format than this version reads."""
    if found != expected:
        raise ResultsError(f"{path} is a {what} of format {found}, this ecnlab reads format {expected}; fix: {remedy}")


def refuse_foreign_files(path: Path, names: Iterable[str], what: str) -> None:
    """Raises ResultsError if a folder to be written has files that do not belong to it."""
    foreign = sorted(names)
    if foreign:
        raise ResultsError(f"{path} is not empty ({foreign[0]}) and is not a {what}; fix: choose a new or an empty folder")
