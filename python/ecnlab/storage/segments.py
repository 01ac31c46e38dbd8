"""Batches: folders that hold finished runs of any number of scenarios in few files.

    batch-*/TABLE.parquet    one table of all its runs: the columns `key` and `seed`, then the table's own
    batch-*/batch.json       which runs these are, what was recorded of each, and what each file holds where
    batch-*/scenarios.json   what the scenarios are that no earlier batch has told of

The rows of a file are sorted by key and seed, and each scenario has a row group, which is read, and held against its digest,
without the rest. A batch is written into a hidden folder, flushed to the disk, and renamed: whatever kills the process, it is whole
or not there. Several processes, on several hosts too, may write batches into one folder; a run that two of them hold is the same.

Many small batches are merged into one. The merged one is there before those that it stands for are removed, and names them, so that
what a killed process did not remove is removed by the next. Who finds a batch gone looks for its runs again.

A batch that does not say what it holds, because `batch.json` is damaged or lost, or its `scenarios.json` is lost, counts as none: its runs
are run again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.errors import Problem, ResultsError
from ecnlab.scenarios.seeds import listed_seeds
from ecnlab.storage.atomic import (
    flush_directory,
    flush_files,
    locked_partial,
    read_stored,
    remove_folder,
    unique_writer_name,
    write_unflushed,
)
from ecnlab.storage.folders import as_json, read_json, read_verified, unreadable_file_error
from ecnlab.storage.tables import FinishedRun, SeedRecord, column_metadata, join_tables, recording_text, records_at_least

_BATCH_FILE = "batch.json"
_SCENARIOS_FILE = "scenarios.json"
_DIGEST_KEY = "digest"

# The table that has one row for each seed.
_ROW_PER_SEED_TABLE = "total"

# Batches below so many bytes are merged when there are so many of them.
_MERGE_LIMITS = ((1 << 20, 16), (8 << 20, 8))
_MAX_REFRESHES = 100
_MAX_CACHED_FOOTERS = 256

# The first byte of a part of a file, how many there are, and their SHA-256.
_Extent = tuple[int, int, str]


@dataclass(frozen=True)
class TableFile:
    """What a table's file holds where: its row groups, and the footer behind them."""

    row_groups: Sequence[_Extent]
    footer: _Extent

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.footer[0] + self.footer[1]

    def has_bytes(self, data: bytes) -> bool:
        """Whether these are its bytes."""
        parts = (*self.row_groups, self.footer)
        return len(data) == self.size and all(_extent_digest(data, begin, size) == digest for begin, size, digest in parts)


@dataclass(frozen=True)
class StoredPart:
    """Some finished seeds of one scenario in a batch, and in which row group of each table's file they are."""

    batch: Path
    key: str
    recording: Mapping[str, Any]
    records: Mapping[int, SeedRecord]
    row_groups: Mapping[str, int]
    files: Mapping[str, TableFile]

    @property
    def tables(self) -> frozenset[str]:
        """The names of its tables."""
        return frozenset(self.row_groups)

    def table(self, name: str) -> _core.Table:
        """One table of all its seeds. Raises ResultsError if the file is not the one that was stored."""
        try:
            return self.read(name)
        except FileNotFoundError as error:  # merged meanwhile, maybe with more seeds
            return _core.join(self.key, self._read_from_other_batch(name, error.filename).runs(sorted(self.records)))

    def read(self, name: str) -> _core.Table:
        """As `table`; raises FileNotFoundError if the batch is gone."""
        if not self.has_matching_seeds():
            raise ResultsError(
                f"{self.batch / _BATCH_FILE} is damaged: its seeds are not those of {_ROW_PER_SEED_TABLE}.parquet; {self._remedy()}"
            )
        return self._read(name)

    def has_matching_seeds(self) -> bool:
        """Whether its seeds are those that there are rows of."""
        return self._stored_seeds == sorted(self.records)

    @cached_property
    def _stored_seeds(self) -> list[int]:
        return list(self._read(_ROW_PER_SEED_TABLE).column("seed"))

    def _read(self, name: str) -> _core.Table:
        path, file, row_group = self.batch / f"{name}.parquet", self.files[name], self.row_groups[name]
        try:
            data = read_verified(path, *file.row_groups[row_group])
            return _read_footer(path, file.footer).table(row_group, data)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise unreadable_file_error(path, error, self._remedy()) from None

    def _remedy(self) -> str:
        """What to do with this batch, and with all others that are damaged as well."""
        others = [batch.path for batch in Batches(self.batch.parent).batches if not batch.is_whole()]
        return remedy_for_damaged(*sorted({self.batch, *others}))

    def _read_from_other_batch(self, name: str, missing: str) -> _core.Table:
        """The table as another batch has it. Raises ResultsError if none has."""
        batches = _cached_batches(self.batch.parent)
        batches.refresh()
        for part in batches.parts(self.key):
            same = part.batch != self.batch and name in part.tables and recording_text(part.recording) == recording_text(self.recording)
            if same and part.records.keys() >= self.records.keys():
                with suppress(FileNotFoundError):
                    return part.read(name)
        raise ResultsError(f"{missing}: does not exist; {self._remedy()}")


@dataclass(frozen=True)
class Batch:
    """What a batch says of itself: its parts, whose scenarios it tells of, its tables' files, and the batches that it stands for."""

    path: Path
    parts: Sequence[StoredPart]
    scenarios: frozenset[str]
    files: Mapping[str, TableFile]
    merged: Sequence[str]

    @staticmethod
    def open(path: Path) -> Batch:
        """Read it. Raises ResultsError if it is damaged, FileNotFoundError if it is gone."""
        told = read_json(path / _BATCH_FILE, unused_batch_text(path))
        digest = told.pop(_DIGEST_KEY, None)
        try:
            if digest is not None and digest != _journal_digest(told):
                raise ValueError("not what was stored")
            files = {name: _table_file_from_json(file) for name, file in told["files"].items()}
            parts = list(_parts_from_json(path, told["runs"], files))
            made = Batch(path, parts, frozenset(told["scenarios"]), files, told["merged"])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ResultsError(f"{path / _BATCH_FILE} is damaged; {unused_batch_text(path)}") from None
        if made.scenarios and not (path / _SCENARIOS_FILE).exists() and (path / _BATCH_FILE).exists():
            raise ResultsError(f"{path / _SCENARIOS_FILE} does not exist; {unused_batch_text(path)}")
        return made

    @property
    def size(self) -> int:
        """Bytes of its tables."""
        return sum(file.size for file in self.files.values())

    def is_whole(self) -> bool:
        """Whether its files are there and are those that were stored."""
        try:
            sound = all(file.has_bytes(read_stored(self.path / f"{name}.parquet", file.size)) for name, file in self.files.items())
            return sound and self.scenarios <= _read_scenarios(self).keys() and all(part.has_matching_seeds() for part in self.parts)
        except (OSError, ResultsError):
            return False


class Batches:
    """The batches of one folder, by key and seed."""

    def __init__(self, path: Path) -> None:
        """Look what there is."""
        self.path = path
        self._batches: dict[str, Batch] = {}
        self._unused: dict[str, str] = {}
        self._parts: dict[str, list[StoredPart]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Look what other processes have stored or merged meanwhile. Raises ResultsError if they do not come to an end."""
        for _ in range(_MAX_REFRESHES):
            there = {path.name for path in self.path.glob("batch-*")}
            known = self._batches.keys() | self._unused.keys()
            gone, new = known - there, sorted(there - known)
            if not gone and not new:
                return
            for name in gone:
                self._batches.pop(name, None)
                self._unused.pop(name, None)
            for name in new:
                self._open_batch(name)
            self._parts = _parts_by_key(self._batches.values())
        raise ResultsError(f"{self.path} keeps changing: another process is writing to it; fix: try again")

    def _open_batch(self, name: str) -> None:
        path = self.path / name
        if path.is_file():
            self._unused[name] = f"{path} is a file, not the folder of a batch; fix: move it elsewhere"
            return
        try:
            self._batches[name] = Batch.open(path)
        except ResultsError as error:
            self._unused[name] = str(error)
        except FileNotFoundError:
            if os.path.lexists(path):
                self._unused[name] = f"{path / _BATCH_FILE} does not exist; {unused_batch_text(path)}"

    @property
    def warnings(self) -> list[Problem]:
        """What is called a batch and cannot be used, each with the remedy."""
        return [Problem("", None, told) for _, told in sorted(self._unused.items())]

    @property
    def batches(self) -> list[Batch]:
        """All of them."""
        return list(self._batches.values())

    @property
    def keys(self) -> list[str]:
        """The keys of all scenarios that there are runs of."""
        return sorted(self._parts)

    def parts(self, key: str) -> list[StoredPart]:
        """What there is of a scenario."""
        return self._parts.get(key, [])

    def has(self, key: str, seed: int, recording: Mapping[str, Any]) -> bool:
        """Whether there is a run with all that `recording` asks."""
        return any(seed in part.records and records_at_least(part.recording, recording) for part in self.parts(key))

    def scenario(self, key: str) -> dict[str, Any]:
        """What the batches say of a scenario. Raises ResultsError if they say nothing."""
        for _ in range(_MAX_REFRESHES):
            batch = next((batch for batch in self.batches if key in batch.scenarios), None)
            if batch is None:
                break
            try:
                told: dict[str, Any] = _read_scenarios(batch)[key]
            except FileNotFoundError:
                self.refresh()  # if it was merged meanwhile, another one tells
                self._drop_if_scenarios_missing(batch)
            else:
                return told
        if self.parts(key):
            silent = sorted({part.batch for part in self.parts(key)})
            raise ResultsError(f"no batch has the scenario with the key {key}; {remedy_for_damaged(*silent)}")
        raise ResultsError(f"{self.path} has no run of a scenario with the key {key}")

    def _drop_if_scenarios_missing(self, batch: Batch) -> None:
        """Count a batch as none if it is there and its scenarios are not."""
        name = batch.path.name
        if name in self._batches and not (batch.path / _SCENARIOS_FILE).exists():
            del self._batches[name]
            self._open_batch(name)
            self._parts = _parts_by_key(self._batches.values())

    def write(self, runs: Iterable[FinishedRun], scenarios: Mapping[str, Mapping[str, Any]]) -> None:
        """Store finished runs as one batch, whole or not at all, with what `scenarios` says of keys that no batch tells of yet.

        Raises ResultsError if the disk refuses.
        """
        listed = sorted(runs, key=lambda run: (run.key, recording_text(run.recording), run.seed))
        if not listed:
            return
        known = {key for batch in self.batches for key in batch.scenarios}
        new = {run.key: scenarios[run.key] for run in listed if run.key in scenarios and run.key not in known}
        grouped = [list(group) for _, group in groupby(listed, lambda run: (run.key, recording_text(run.recording)))]
        try:
            self._write_batch([_NewPart(group) for group in grouped], new, [])
        except OSError as error:
            what = f"seed {listed_seeds([run.seed for run in listed])}" if len({run.key for run in listed}) == 1 else f"{len(listed)} runs"
            why = error.strerror or str(error)
            kept = "earlier runs are stored; the same command continues from there"
            raise ResultsError(f"cannot store {what} in {self.path}: {why}; {kept}") from None
        self.refresh()

    def merge(self) -> None:
        """Merge small batches if they are many; those that are damaged stay as they are.

        A disk that refuses, or another process that is faster, leaves all as they are.
        """
        self.remove_merged()
        for many in _batches_to_merge(self.batches):
            whole = [batch for batch in many if batch.is_whole()]
            if len(whole) < 2:
                continue
            try:
                self._write_batch(_merged_parts(whole), _all_scenarios(whole), [batch.path.name for batch in whole])
            except OSError:
                return
            self.refresh()
            self.remove_merged()

    def remove_merged(self) -> None:
        """Remove the batches that others stand for."""
        for name in sorted({name for batch in self.batches for name in batch.merged} & (self._batches.keys() | self._unused.keys())):
            remove_folder(self.path / name)
        self.refresh()

    def _write_batch(self, parts: Sequence[_NewPart], scenarios: Mapping[str, Any], merged: Sequence[str]) -> None:
        """Write a batch. Raises OSError, leaving no trace."""
        name = f"batch-{unique_writer_name()}"
        with locked_partial(self.path / f".{name}.partial", folder=True) as partial:
            _write_files(partial, parts, scenarios, merged)
            flush_files(sorted(partial.iterdir()))
            flush_directory(partial)
            partial.rename(self.path / name)
            flush_directory(self.path)


class _NewPart:
    """Some finished seeds of one scenario that are to be stored."""

    def __init__(self, runs: Sequence[FinishedRun]) -> None:
        self._runs = runs
        self.key = runs[0].key
        self.recording = runs[0].recording
        self.records = [run.record for run in runs]
        self.tables = list(runs[0].tables)

    def table(self, name: str) -> _core.Table:
        return join_tables(self._runs, name)


class _MergedPart(_NewPart):
    """Parts of several batches that are one scenario's with the same recording; what two of them hold is taken once."""

    def __init__(self, parts: Sequence[StoredPart]) -> None:
        self._parts = parts
        self._part_index_by_seed = {seed: at for at, part in enumerate(parts) for seed in part.records}
        self.key = parts[0].key
        self.recording = parts[0].recording
        self.records = [parts[at].records[seed] for seed, at in sorted(self._part_index_by_seed.items())]
        self.tables = sorted(parts[0].tables)

    def table(self, name: str) -> _core.Table:
        runs: list[tuple[int, _core.Table]] = []
        for at in sorted(set(self._part_index_by_seed.values())):
            runs += self._parts[at].read(name).runs([seed for seed, of in self._part_index_by_seed.items() if of == at])
        return _core.join(self.key, sorted(runs, key=lambda run: run[0]))


def _merged_parts(batches: Sequence[Batch]) -> list[_NewPart]:
    """The parts of a batch that holds what several hold."""
    found: dict[tuple[str, str], list[StoredPart]] = {}
    for batch in batches:
        for part in batch.parts:
            found.setdefault((part.key, recording_text(part.recording)), []).append(part)
    return [_MergedPart(found[which]) for which in sorted(found)]


def _batches_to_merge(batches: Sequence[Batch]) -> list[list[Batch]]:
    """Batches of about one size that are too many."""
    found, floor = [], 0
    for ceiling, most in _MERGE_LIMITS:
        alike = sorted((batch for batch in batches if floor <= batch.size < ceiling), key=lambda batch: batch.path.name)
        if len(alike) >= most:
            found.append(alike)
        floor = ceiling
    return found


def _write_files(partial: Path, parts: Sequence[_NewPart], scenarios: Mapping[str, Any], merged: Sequence[str]) -> None:
    files = {}
    for table in sorted({table for part in parts for table in part.tables}):
        data, extents = _core.write_parquet(
            [part.table(table) for part in parts if table in part.tables], [*column_metadata(table), *_ENGINE_METADATA]
        )
        write_unflushed(partial / f"{table}.parquet", data)
        files[table] = _describe_table_file(data, extents)
    if scenarios:
        write_unflushed(partial / _SCENARIOS_FILE, as_json(scenarios))
    runs = [
        {
            "key": part.key,
            "record": part.recording,
            "tables": part.tables,
            "seeds": {str(record.seed): record.to_dict() for record in part.records},
        }
        for part in parts
    ]
    told = {"format": _core.FORMAT, "build": _core.BUILD, "merged": merged, "scenarios": sorted(scenarios), "runs": runs, "files": files}
    write_unflushed(partial / _BATCH_FILE, as_json(told | {_DIGEST_KEY: _journal_digest(told)}, indent=None))


_ENGINE_METADATA = [("format", str(_core.FORMAT)), ("engine", _core.VERSION), ("build", _core.BUILD)]


def _describe_table_file(data: bytes, extents: Sequence[tuple[int, int]]) -> dict[str, Any]:
    end = max(begin + size for begin, size in extents)
    footer = (end, len(data) - end)
    row_groups, footer_told = [[*one, _extent_digest(data, *one)] for one in extents], [*footer, _extent_digest(data, *footer)]
    return {"row_groups": row_groups, "footer": footer_told}


def _journal_digest(told: Mapping[str, Any]) -> str:
    """The digest of what `batch.json` says besides it."""
    return sha256(as_json(told, indent=None)).hexdigest()


def _extent_digest(data: bytes, begin: int, size: int) -> str:
    return sha256(memoryview(data)[begin : begin + size]).hexdigest()


def _table_file_from_json(told: Mapping[str, Any]) -> TableFile:
    return TableFile([_extent_from_json(*extent) for extent in told["row_groups"]], _extent_from_json(*told["footer"]))


def _extent_from_json(begin: Any, size: Any, digest: Any) -> _Extent:
    """An extent, if it is one. Raises ValueError."""
    if not (isinstance(begin, int) and isinstance(size, int) and isinstance(digest, str) and begin >= 0 and size >= 0):
        raise ValueError("no extent")
    return begin, size, digest


def _parts_from_json(path: Path, runs: Iterable[Mapping[str, Any]], files: Mapping[str, TableFile]) -> Iterable[StoredPart]:
    """The parts of a batch; each has the next row group of every file that it is in."""
    next_one = dict.fromkeys(files, 0)
    for told in runs:
        records = {int(seed): SeedRecord(seed=int(seed), **about) for seed, about in told["seeds"].items()}
        row_groups = {table: next_one[table] for table in told["tables"]}
        next_one.update({table: at + 1 for table, at in row_groups.items()})
        if _ROW_PER_SEED_TABLE not in row_groups:
            raise ValueError("the table of seeds is missing")
        yield StoredPart(path, told["key"], told["record"], records, row_groups, files)
    if any(next_one[table] != len(file.row_groups) for table, file in files.items()):
        raise ValueError("a row group without a run")


def _parts_by_key(batches: Iterable[Batch]) -> dict[str, list[StoredPart]]:
    found: dict[str, list[StoredPart]] = {}
    for batch in sorted(batches, key=lambda batch: batch.path.name):
        for part in batch.parts:
            found.setdefault(part.key, []).append(part)
    return found


def _all_scenarios(batches: Iterable[Batch]) -> dict[str, Any]:
    return {key: told for batch in batches for key, told in _read_scenarios(batch).items()}


def _read_scenarios(batch: Batch) -> dict[str, Any]:
    """What a batch tells of scenarios. Raises ResultsError if it is damaged, FileNotFoundError if it is gone."""
    return read_json(batch.path / _SCENARIOS_FILE, remedy_for_damaged(batch.path)) if batch.scenarios else {}


@lru_cache(16)
def _cached_batches(path: Path) -> Batches:
    return Batches(path)


@lru_cache(_MAX_CACHED_FOOTERS)
def _read_footer(path: Path, extent: _Extent) -> _core.Footer:
    return _core.Footer(read_verified(path, *extent))


def remedy_for_damaged(*batches: Path) -> str:
    """What to do with batches that are damaged."""
    what, whose = ("folder", "its") if len(batches) == 1 else ("folders", "their")
    return f"fix: delete the {what} {' '.join(map(str, batches))}; the same command then runs {whose} seeds again"


def unused_batch_text(batch: Path) -> str:
    """What becomes of a batch that does not say what it holds, and what to do with it."""
    return f"its runs are not used, and are run again when needed; fix: delete the folder {batch}"
