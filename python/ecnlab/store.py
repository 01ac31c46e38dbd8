"""A results folder.

    DIR/run.json         what was run: format, engine and build, the scenario (text, every parameter in force, key), warnings
    DIR/batch-*/         some finished seeds: a Parquet file for each table with `seed` as its first column, and batch.json
    DIR/summary.json     mean, sd and interval of each quantity over all stored seeds
    DIR/figures/         figures, where they were asked for

A batch is written into a hidden folder, flushed to the disk, and renamed: whatever kills the process, it is whole or not there.
batch.json says which scenario it belongs to (the key), what was recorded, what identifies each seed, and the size and digest
of each file, so that a file that was damaged, exchanged or copied from elsewhere is refused. Several processes, on several
hosts too, may write into one folder: each batch has a name of its own, and of two that create the folder at the same time one
writes run.json and the other finds it. A seed that two batches hold is the same in both.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.errors import ResultsError, UsageError
from ecnlab.scenarios import Scenario
from ecnlab.seeds import listed_seeds
from ecnlab.tables import SeedRecord, parquet_of

_HEADER = "run.json"
_BATCH = "batch.json"
_SUMMARY = "summary.json"
_DESCRIBED = ("hash", "name", "engine", "build", "duration_s", "measure_from_s", "groups", "queues", "warnings", "parameters")

# What is half done is called after what it is to be and after its writer: process, a word drawn by it, number, host.
_PARTIAL = re.compile(r"\.(?:batch-|.+\.)(\d+)-([0-9a-f]{8})-\d+-([A-Za-z0-9-]+)\.partial")
_WORD = os.urandom(4).hex()
_NUMBERS = count(1)


@dataclass(frozen=True)
class Batch:
    """Some finished seeds of a folder: `records` by seed, what was recorded of them, and their tables' files."""

    path: Path
    key: str
    record: Mapping[str, Any]
    records: Mapping[int, SeedRecord]
    files: Mapping[str, Mapping[str, Any]]

    @staticmethod
    def open(path: Path) -> Batch:
        """Read what a batch says of itself. Raises ResultsError if it is damaged."""
        told = _read_json(path / _BATCH, _remedy(path))
        try:
            records = {int(seed): SeedRecord(seed=int(seed), **about) for seed, about in told["seeds"].items()}
            return Batch(path, told["key"], told["record"], records, told["files"])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ResultsError(f"{path / _BATCH} is damaged; {_remedy(path)}") from None

    @property
    def tables(self) -> frozenset[str]:
        """The names of its tables."""
        return frozenset(name.removesuffix(".parquet") for name in self.files)

    @property
    def recording(self) -> str:
        """What was recorded, as text."""
        return json.dumps(self.record, sort_keys=True)

    def parquet(self, table: str) -> bytes:
        """One table of all its seeds as Parquet. Raises ResultsError if the file is not the one that was stored."""
        path = self.path / f"{table}.parquet"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ResultsError(f"cannot read {path}: {error.strerror or error}; {_remedy(self.path)}") from None
        if _identity(data) != self.files[path.name]:
            raise ResultsError(f"{path} is damaged: it is not what was stored; {_remedy(self.path)}")
        return data

    def covers(self, record: Mapping[str, Any]) -> bool:
        """Whether all that `record` asks to be recorded was recorded."""
        return all(self.record.get(key) == wanted for key, wanted in record.items() if wanted not in (False, "off") and key != "plot")


class Folder:
    """A results folder and the header that says what it holds."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.header = header

    @staticmethod
    def create(path: Path, scenario: Scenario) -> Folder:
        """Open `path` for runs of `scenario`, making it if needed.

        Raises ResultsError if it cannot be written, holds results of another scenario or engine, or anything else.
        """
        header = header_of(scenario)
        if (path / _HEADER).exists():
            folder = Folder.open(path)
            _require_same(folder, header)
            sweep(path)
            return folder
        try:
            path.mkdir(parents=True, exist_ok=True)
            _require_empty(path)
            _write_first(path / _HEADER, _json(header))
        except OSError as error:
            raise ResultsError(f"cannot write to {path}: {error.strerror or error}") from None
        folder = Folder.open(path)
        _require_same(folder, header)
        return folder

    @staticmethod
    def open(path: Path) -> Folder:
        """Open an existing folder. Raises ResultsError if it is none of ours or of another format."""
        header = _read_header(path)
        if header.get("format") != _core.FORMAT:
            theirs, remedy = header.get("format"), "run the scenario into another folder"
            raise ResultsError(f"{path} has results of format {theirs}, this ecnlab reads {_core.FORMAT}; {remedy}")
        if not header.keys() >= set(_DESCRIBED):
            raise ResultsError(f"{path / _HEADER} is damaged; delete the folder {path}, or run the scenario into another folder")
        return Folder(path, header)

    def batches(self) -> list[Batch]:
        """Its batches. Raises ResultsError if one is damaged or belongs to another scenario or engine."""
        found = [Batch.open(path) for path in sorted(self.path.glob("batch-*"))]
        for batch in found:
            if batch.key != self.header.get("hash"):
                raise ResultsError(f"{batch.path} belongs to another scenario or engine (key {batch.key}); {_remedy(batch.path)}")
        return found

    def write(self, runs: Sequence[_core.RunResult], record: Mapping[str, Any]) -> None:
        """Store finished seeds as one batch, whole or not at all. Raises ResultsError if the disk refuses."""
        name = f"batch-{_writer()}"
        partial = self.path / f".{name}.partial"
        try:
            partial.mkdir()
            self._fill(partial, sorted(runs, key=lambda run: run.seed), record)
            partial.rename(self.path / name)
            _flush(self.path)
        except OSError as error:
            why = error.strerror or str(error)
            seeds = listed_seeds([run.seed for run in runs])
            raise ResultsError(f"cannot store seed {seeds} in {self.path}: {why}; seeds that were stored before are kept") from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _fill(self, partial: Path, runs: Sequence[_core.RunResult], record: Mapping[str, Any]) -> None:
        files = {}
        for table in runs[0].tables:
            data = parquet_of(runs, table, {"format": str(_core.FORMAT), "key": self.header["hash"]})
            files[f"{table}.parquet"] = _identity(data)
            _write(partial / f"{table}.parquet", data)
        told = {
            "format": _core.FORMAT,
            "key": self.header["hash"],
            "record": record,
            "seeds": {str(run.seed): SeedRecord.of(run).told() for run in runs},
            "files": files,
        }
        _write(partial / _BATCH, _json(told))
        _flush(partial)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Store the summary, whole or not at all, unless it is there already. Raises ResultsError if the disk refuses."""
        path, data = self.path / _SUMMARY, _json(summary)
        try:
            if not (path.exists() and path.read_bytes() == data):
                write_atomically(path, data)
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror or error}") from None


def chosen(batches: Iterable[Batch], record: Mapping[str, Any]) -> dict[int, Batch]:
    """For each seed the batch to take it from, of those that recorded what `record` asks.

    It is one with most tables, and of these one whose recording most seeds have: series of seeds that were sampled at the same
    times can be compared.
    """
    asked = [batch for batch in batches if batch.covers(record)]
    seeds: dict[str, set[int]] = {}
    for batch in asked:
        seeds.setdefault(batch.recording, set()).update(batch.records)
    best: dict[int, Batch] = {}
    for batch in sorted(asked, key=lambda batch: (len(batch.files), len(seeds[batch.recording])), reverse=True):
        for seed in batch.records:
            best.setdefault(seed, batch)
    return best


def folder_path(argument: str, value: object) -> Path:
    """The path of a folder that an argument gives. Raises UsageError naming the argument."""
    if not isinstance(value, (str, Path)) or "\0" in str(value):
        what = "one that holds a null byte" if isinstance(value, (str, Path)) else type(value).__name__
        raise UsageError(f"{argument}: must be the path of a folder, not {what}")
    return Path(value)


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole: temporary file, flush to the disk, rename. Raises OSError, leaving no trace."""
    partial = partial_path(path)
    try:
        _write(partial, data)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def header_of(scenario: Scenario) -> dict[str, Any]:
    """What run.json says of a scenario: format, engine, key, warnings, text and every parameter in force."""
    return {
        "format": _core.FORMAT,
        "engine": _core.VERSION,
        "build": _core.BUILD,
        "name": scenario.name,
        "hash": scenario.hash,
        "duration_s": scenario.duration_s,
        "measure_from_s": scenario.measure_from_s,
        "groups": scenario.group_names,
        "queues": scenario.queue_names,
        "warnings": [vars(warning) for warning in scenario.warnings],
        "scenario": {"source": scenario.source, "form": scenario.form, "text": scenario.text, "overrides": scenario.overrides},
        "aqms": scenario.aqm_digests,
        "parameters": scenario.resolved,
    }


def _require_same(folder: Folder, header: Mapping[str, Any]) -> None:
    if folder.header.get("hash") == header["hash"]:
        return
    engines = [(told.get("engine"), told.get("build")) for told in (folder.header, header)]
    what = "another scenario" if engines[0] == engines[1] else "another build of the engine"
    raise ResultsError(
        f"{folder.path} holds results of {what} (key {folder.header.get('hash')}); choose another folder, or delete this one"
    )


def _require_empty(path: Path) -> None:
    """Nothing may be there but the header that another process is writing at this moment."""
    strange = [entry.name for entry in path.iterdir() if not entry.name.startswith(f".{_HEADER}.")]
    if strange and not (path / _HEADER).exists():
        raise ResultsError(f"{path} is not empty ({sorted(strange)[0]}) and is no results folder; choose a new or an empty one")


def sweep(path: Path, name: str = "*") -> None:
    """Remove what killed processes of this host left half done; another host's cannot be asked whether they live.

    `name` is a pattern of the files that were under way.
    """
    for entry in path.glob(f".{name}.partial"):
        match = _PARTIAL.fullmatch(entry.name)
        if match is None or match[3] != _host() or _alive(int(match[1]), match[2]):
            continue
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with suppress(OSError):
                entry.unlink()


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


def _writer() -> str:
    """A name for what this process writes next, which nothing else is called."""
    return f"{os.getpid()}-{_WORD}-{next(_NUMBERS)}-{_host()}"


def partial_path(path: Path) -> Path:
    """Where a file is written before it is whole: beside its place, hidden, under a name of this process's own."""
    return path.with_name(f".{path.name}.{_writer()}.partial")


def _write_first(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole, unless another process has put something there. Raises OSError, leaving no trace."""
    partial = partial_path(path)
    try:
        _write(partial, data)
        try:
            os.link(partial, path)
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", os.uname().nodename)


def _remedy(batch: Path) -> str:
    return f"delete the folder {batch}, and the same run computes its seeds again"


def _identity(data: bytes) -> dict[str, Any]:
    return {"size": len(data), "sha256": sha256(data).hexdigest()}


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()


def _read_json(path: Path, remedy: str) -> dict[str, Any]:
    """A file's JSON object. Raises ResultsError with the remedy if it cannot be read or is damaged."""
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror or error}; {remedy}") from None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ResultsError(f"{path} is damaged; {remedy}")
    return value


def _read_header(path: Path) -> dict[str, Any]:
    if not (path / _HEADER).exists():
        raise ResultsError(f"{path} is no results folder: it has no {_HEADER}; give a folder that a run has written")
    return _read_json(path / _HEADER, "run the scenario into another folder")


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    with suppress(OSError):  # some file systems cannot flush a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
