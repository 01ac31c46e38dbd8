"""Files of recorded cases: JSON, which may be compressed by gzip."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from ecnlab.errors import UsageError

Outcome = TypeVar("Outcome")

#: Bytes of the largest case that is read, unpacked: some hundred times the largest of the package.
MAX_CASE_BYTES = 256 << 20


def case_files(folder: Path) -> list[Path]:
    """The files of all cases of a folder, sorted by name. Raises UsageError if there is none."""
    paths = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])
    if not paths:
        raise UsageError(f"{folder}: contains no *.json case" if folder.is_dir() else f"{folder}: is not a folder")
    return paths


def outcomes_of_cases(paths: Iterable[Path], compare: Callable[[Path], Outcome]) -> list[Outcome]:
    """The outcome of each case. Raises UsageError that names all files that are no case."""
    outcomes: list[Outcome] = []
    problems: list[str] = []
    for path in paths:
        try:
            outcomes.append(compare(path))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return outcomes


def case_stem(path: Path) -> str:
    """The name of a case's file without its endings."""
    return path.name.removesuffix(".gz").removesuffix(".json")


def read_case_text(path: Path) -> str:
    """The JSON text of a case. Raises OSError, EOFError, zlib.error, and ValueError if it is too large or not UTF-8."""
    # A small compressed file may decompress to more than the memory holds.
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        data = file.read(MAX_CASE_BYTES + 1)
    if len(data) > MAX_CASE_BYTES:
        raise ValueError(f"it is larger than {MAX_CASE_BYTES >> 20} MiB")
    return data.decode("utf-8")
