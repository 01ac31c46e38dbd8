"""Reading and verification of files in folders written by ecnlab: results, stores, batches and sweeps.

A file is damaged if its size or digest differs, or if it is not a JSON object. Each error names the file and the fix.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.errors import ResultsError, UsageError, require_nonempty_path
from ecnlab.storage.atomic import open_regular_file, read_regular_file

# Format 7 has another encoding of real numbers in large tables; the tables are those of format 6.
OLDEST_READABLE_FORMAT = 6


def parse_folder_argument(argument: str, value: object) -> Path:
    """Convert an argument to the path of a folder. Raises UsageError that names the argument."""
    require_nonempty_path(argument, value)
    if not isinstance(value, (str, Path)) or "\0" in str(value):
        what = "a path with a null byte" if isinstance(value, (str, Path)) else type(value).__name__
        raise UsageError(f"{argument}: must be the path of a folder, not {what}")
    return Path(value)


def to_json_bytes(value: Mapping[str, Any], indent: int | None = 2) -> bytes:
    """A mapping as the bytes of a JSON file."""
    return (json.dumps(value, indent=indent, allow_nan=False) + "\n").encode()


def read_json_object(path: Path, remedy: str) -> dict[str, Any]:
    """Read a JSON object. Raises FileNotFoundError, and ResultsError with the remedy if it is unreadable or damaged."""
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


def read_verified_part(path: Path, begin: int, size: int, digest: str) -> bytes:
    """Read part of a file. Raises OSError, without an errno if the digest differs."""
    with open_regular_file(path) as file:
        # A damaged size may exceed the memory.
        if file.seek(0, os.SEEK_END) < begin + size:
            raise OSError("digest differs")
        file.seek(begin)
        data = file.read(size)
    if len(data) != size or sha256(data).hexdigest() != digest:
        raise OSError("digest differs")
    return data


def unreadable_file_error(path: Path, error: OSError, remedy: str) -> ResultsError:
    """The error for a file that `read_verified_part` cannot read."""
    what = "is damaged: its digest differs" if error.errno is None else f"cannot be read: {error.strerror}"
    return ResultsError(f"{path} {what}; {remedy}")


def require_format(path: Path, what: str, found: object, readable: Sequence[int], remedy: str) -> None:
    """Check the format version of a folder. Raises ResultsError if it is not among the `readable` ones, the last of which is written."""
    if found in readable:
        return
    if not isinstance(found, int):
        raise ResultsError(f"{path}: the {what} is damaged, as it has no format number; fix: {remedy}")
    numbers = f"format{'s' if len(readable) > 1 else ''} {' and '.join(map(str, readable))}"
    fix = f"upgrade ecnlab, or {remedy}" if found > readable[-1] else remedy
    raise ResultsError(f"{path} is a {what} of format {found}, this ecnlab reads {numbers}; fix: {fix}")


def require_results_format(path: Path, what: str, found: object, remedy: str) -> None:
    """Check the format version of results. Raises ResultsError if this version does not read it."""
    require_format(path, what, found, range(OLDEST_READABLE_FORMAT, _core.FORMAT + 1), remedy)


def refuse_foreign_files(path: Path, names: Iterable[str], what: str) -> None:
    """Check that an output folder has no foreign files. Raises ResultsError."""
    foreign = sorted(names)
    if foreign:
        raise ResultsError(f"{path} is not empty ({foreign[0]}) and is not a {what}; fix: choose a new or an empty folder")
