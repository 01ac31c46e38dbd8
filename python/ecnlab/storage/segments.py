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
from ecnlab.scenarios.seeds import seeds_as_text
from ecnlab.storage.atomic import (
    fsync_directory,
    fsync_files,
    locked_partial,
    read_regular_file,
    remove_folder,
    unique_writer_name,
    write_unflushed,
)
from ecnlab.storage.folders import read_json_object, read_verified, to_json_bytes, unreadable_file_error
from ecnlab.storage.tables import FinishedRun, SeedRecord, column_metadata, join_tables, recording_as_text, recording_includes

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
class StoredTableFile:
    """What a table's file holds where: its row groups, and the footer behind them."""

    row_groups: Sequence[_Extent]
    footer: _Extent

    @property
    def size_bytes(self) -> int:
        """Its bytes."""
        return self.footer[0] + self.footer[1]

    def matches_content(self, data: bytes) -> bool:
        """Whether these are its bytes."""
        parts = (*self.row_groups, self.footer)
        return len(data) == self.size_bytes and all(_extent_sha256(data, begin, size) == digest for begin, size, digest in parts)


@dataclass(frozen=True)
class StoredSeeds:
    """Some finished seeds of one scenario in a batch, and in which row group of each table's file they are."""

    batch: Path
    key: str
    recording: Mapping[str, Any]
    records: Mapping[int, SeedRecord]
    row_groups: Mapping[str, int]
    files: Mapping[str, StoredTableFile]

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
                f"{self.batch / _BATCH_FILE} is damaged: its seeds are not those of {_ROW_PER_SEED_TABLE}.parquet; "
                f"{self._remedy_for_damage()}"
            )
        return self._read_table(name)

    def has_matching_seeds(self) -> bool:
        """Whether its seeds are those that there are rows of."""
        return self._stored_seeds == sorted(self.records)

    @cached_property
    def _stored_seeds(self) -> list[int]:
        return list(self._read_table(_ROW_PER_SEED_TABLE).column("seed"))

    def _read_table(self, name: str) -> _core.Table:
        path, file, row_group = self.batch / f"{name}.parquet", self.files[name], self.row_groups[name]
        try:
            data = read_verified(path, *file.row_groups[row_group])
            return _read_footer(path, file.footer).table(row_group, data)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise unreadable_file_error(path, error, self._remedy_for_damage()) from None

    def _remedy_for_damage(self) -> str:
        """What to do with this batch, and with all others that are damaged as well."""
        others = [batch.path for batch in BatchFolder(self.batch.parent).batches if not batch.is_whole()]
        return remedy_for_damaged_batches(*sorted({self.batch, *others}))

    def _read_from_other_batch(self, name: str, missing: str) -> _core.Table:
        """The table as another batch has it. Raises ResultsError if none has."""
        batches = _cached_batches(self.batch.parent)
        batches.refresh_from_disk()
        for part in batches.parts_of_scenario(self.key):
            same = (
                part.batch != self.batch and name in part.tables and recording_as_text(part.recording) == recording_as_text(self.recording)
            )
            if same and part.records.keys() >= self.records.keys():
                with suppress(FileNotFoundError):
                    return part.read(name)
        raise ResultsError(f"{missing}: does not exist; {self._remedy_for_damage()}")


@dataclass(frozen=True)
class StoredBatch:
    """What a batch says of itself: its parts, whose scenarios it tells of, its tables' files, and the batches that it stands for."""

    path: Path
    parts: Sequence[StoredSeeds]
    scenarios: frozenset[str]
    files: Mapping[str, StoredTableFile]
    merged: Sequence[str]

    @staticmethod
    def open(path: Path) -> StoredBatch:
        """Read it. Raises ResultsError if it is damaged, FileNotFoundError if it is gone."""
        told = read_json_object(path / _BATCH_FILE, unreadable_batch_message(path))
        digest = told.pop(_DIGEST_KEY, None)
        try:
            if digest is not None and digest != _batch_json_digest(told):
                raise ValueError("not what was stored")
            files = {name: _table_file_from_json(file) for name, file in told["files"].items()}
            parts = list(_parts_from_json(path, told["runs"], files))
            made = StoredBatch(path, parts, frozenset(told["scenarios"]), files, told["merged"])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ResultsError(f"{path / _BATCH_FILE} is damaged; {unreadable_batch_message(path)}") from None
        if made.scenarios and not (path / _SCENARIOS_FILE).exists() and (path / _BATCH_FILE).exists():
            raise ResultsError(f"{path / _SCENARIOS_FILE} does not exist; {unreadable_batch_message(path)}")
        return made

    @property
    def size_bytes(self) -> int:
        """Bytes of its tables."""
        return sum(file.size_bytes for file in self.files.values())

    def is_whole(self) -> bool:
        """Whether its files are there and are those that were stored."""
        try:
            sound = all(
                file.matches_content(read_regular_file(self.path / f"{name}.parquet", file.size_bytes)) for name, file in self.files.items()
            )
            return sound and self.scenarios <= _read_scenarios(self).keys() and all(part.has_matching_seeds() for part in self.parts)
        except (OSError, ResultsError):
            return False


class BatchFolder:
    """The batches of one folder, by key and seed."""

    def __init__(self, path: Path) -> None:
        """Look what there is."""
        self.path = path
        self._batches: dict[str, StoredBatch] = {}
        self._unused: dict[str, str] = {}
        self._parts: dict[str, list[StoredSeeds]] = {}
        self.refresh_from_disk()

    def refresh_from_disk(self) -> None:
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
            self._parts = _stored_parts_by_key(self._batches.values())
        raise ResultsError(f"{self.path} keeps changing: another process is writing to it; fix: try again")

    def _open_batch(self, name: str) -> None:
        path = self.path / name
        if path.is_file():
            self._unused[name] = f"{path} is a file, not the folder of a batch; fix: move it elsewhere"
            return
        try:
            self._batches[name] = StoredBatch.open(path)
        except ResultsError as error:
            self._unused[name] = str(error)
        except FileNotFoundError:
            if os.path.lexists(path):
                self._unused[name] = f"{path / _BATCH_FILE} does not exist; {unreadable_batch_message(path)}"

    @property
    def warnings(self) -> list[Problem]:
        """What is called a batch and cannot be used, each with the remedy."""
        return [Problem("", None, told) for _, told in sorted(self._unused.items())]

    @property
    def batches(self) -> list[StoredBatch]:
        """All of them."""
        return list(self._batches.values())

    @property
    def scenario_keys(self) -> list[str]:
        """The keys of all scenarios that there are runs of."""
        return sorted(self._parts)

    def parts_of_scenario(self, key: str) -> list[StoredSeeds]:
        """What there is of a scenario."""
        return self._parts.get(key, [])

    def has_run(self, key: str, seed: int, recording: Mapping[str, Any]) -> bool:
        """Whether there is a run with all that `recording` asks."""
        return any(seed in part.records and recording_includes(part.recording, recording) for part in self.parts_of_scenario(key))

    def scenario_of_key(self, key: str) -> dict[str, Any]:
        """What the batches say of a scenario. Raises ResultsError if they say nothing."""
        for _ in range(_MAX_REFRESHES):
            batch = next((batch for batch in self.batches if key in batch.scenarios), None)
            if batch is None:
                break
            try:
                told: dict[str, Any] = _read_scenarios(batch)[key]
            except FileNotFoundError:
                self.refresh_from_disk()  # if it was merged meanwhile, another one tells
                self._drop_if_scenarios_missing(batch)
            else:
                return told
        if self.parts_of_scenario(key):
            silent = sorted({part.batch for part in self.parts_of_scenario(key)})
            raise ResultsError(f"no batch has the scenario with the key {key}; {remedy_for_damaged_batches(*silent)}")
        raise ResultsError(f"{self.path} has no run of a scenario with the key {key}")

    def _drop_if_scenarios_missing(self, batch: StoredBatch) -> None:
        """Count a batch as none if it is there and its scenarios are not."""
        name = batch.path.name
        if name in self._batches and not (batch.path / _SCENARIOS_FILE).exists():
            del self._batches[name]
            self._open_batch(name)
            self._parts = _stored_parts_by_key(self._batches.values())

    def write_batch(self, runs: Iterable[FinishedRun], scenarios: Mapping[str, Mapping[str, Any]]) -> None:
        """Store finished runs as one batch, whole or not at all, with what `scenarios` says of keys that no batch tells of yet.

        Raises ResultsError if the disk refuses.
        """
        listed = sorted(runs, key=lambda run: (run.key, recording_as_text(run.recording), run.seed))
        if not listed:
            return
        known = {key for batch in self.batches for key in batch.scenarios}
        new = {run.key: scenarios[run.key] for run in listed if run.key in scenarios and run.key not in known}
        grouped = [list(group) for _, group in groupby(listed, lambda run: (run.key, recording_as_text(run.recording)))]
        try:
            self._write_batch([_SeedsToStore(group) for group in grouped], new, [])
        except OSError as error:
            what = f"seed {seeds_as_text([run.seed for run in listed])}" if len({run.key for run in listed}) == 1 else f"{len(listed)} runs"
            why = error.strerror or str(error)
            kept = "earlier runs are stored; the same command continues from there"
            raise ResultsError(f"cannot store {what} in {self.path}: {why}; {kept}") from None
        self.refresh_from_disk()

    def merge_small_batches(self) -> None:
        """Merge small batches if they are many; those that are damaged stay as they are.

        A disk that refuses, or another process that is faster, leaves all as they are.
        """
        self.remove_merged_batches()
        for many in _batches_to_merge(self.batches):
            whole = [batch for batch in many if batch.is_whole()]
            if len(whole) < 2:
                continue
            try:
                self._write_batch(_merge_parts_of_batches(whole), _scenarios_of_batches(whole), [batch.path.name for batch in whole])
            except OSError:
                return
            self.refresh_from_disk()
            self.remove_merged_batches()

    def remove_merged_batches(self) -> None:
        """Remove the batches that others stand for."""
        for name in sorted({name for batch in self.batches for name in batch.merged} & (self._batches.keys() | self._unused.keys())):
            remove_folder(self.path / name)
        self.refresh_from_disk()

    def _write_batch(self, parts: Sequence[_SeedsToStore], scenarios: Mapping[str, Any], merged: Sequence[str]) -> None:
        """Write a batch. Raises OSError, leaving no trace."""
        name = f"batch-{unique_writer_name()}"
        with locked_partial(self.path / f".{name}.partial", folder=True) as partial:
            _write_batch_files(partial, parts, scenarios, merged)
            fsync_files(sorted(partial.iterdir()))
            fsync_directory(partial)
            partial.rename(self.path / name)
            fsync_directory(self.path)


class _SeedsToStore:
    """Some finished seeds of one scenario that are to be stored."""

    def __init__(self, runs: Sequence[FinishedRun]) -> None:
        self._runs = runs
        self.key = runs[0].key
        self.recording = runs[0].recording
        self.records = [run.record for run in runs]
        self.tables = list(runs[0].tables)

    def table(self, name: str) -> _core.Table:
        return join_tables(self._runs, name)


class _MergedSeeds(_SeedsToStore):
    """Parts of several batches that are one scenario's with the same recording; what two of them hold is taken once."""

    def __init__(self, parts: Sequence[StoredSeeds]) -> None:
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


def _merge_parts_of_batches(batches: Sequence[StoredBatch]) -> list[_SeedsToStore]:
    """The parts of a batch that holds what several hold."""
    found: dict[tuple[str, str], list[StoredSeeds]] = {}
    for batch in batches:
        for part in batch.parts:
            found.setdefault((part.key, recording_as_text(part.recording)), []).append(part)
    return [_MergedSeeds(found[which]) for which in sorted(found)]


def _batches_to_merge(batches: Sequence[StoredBatch]) -> list[list[StoredBatch]]:
    """Batches of about one size that are too many."""
    found, floor = [], 0
    for ceiling, most in _MERGE_LIMITS:
        alike = sorted((batch for batch in batches if floor <= batch.size_bytes < ceiling), key=lambda batch: batch.path.name)
        if len(alike) >= most:
            found.append(alike)
        floor = ceiling
    return found


def _write_batch_files(partial: Path, parts: Sequence[_SeedsToStore], scenarios: Mapping[str, Any], merged: Sequence[str]) -> None:
    files = {}
    for table in sorted({table for part in parts for table in part.tables}):
        data, extents = _core.write_parquet(
            [part.table(table) for part in parts if table in part.tables], [*column_metadata(table), *_ENGINE_METADATA]
        )
        write_unflushed(partial / f"{table}.parquet", data)
        files[table] = _describe_table_file(data, extents)
    if scenarios:
        write_unflushed(partial / _SCENARIOS_FILE, to_json_bytes(scenarios))
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
    write_unflushed(partial / _BATCH_FILE, to_json_bytes(told | {_DIGEST_KEY: _batch_json_digest(told)}, indent=None))


_ENGINE_METADATA = [("format", str(_core.FORMAT)), ("engine", _core.VERSION), ("build", _core.BUILD)]


def _describe_table_file(data: bytes, extents: Sequence[tuple[int, int]]) -> dict[str, Any]:
    end = max(begin + size for begin, size in extents)
    footer = (end, len(data) - end)
    row_groups, footer_told = [[*one, _extent_sha256(data, *one)] for one in extents], [*footer, _extent_sha256(data, *footer)]
    return {"row_groups": row_groups, "footer": footer_told}


def _batch_json_digest(told: Mapping[str, Any]) -> str:
    """The digest of what `batch.json` says besides it."""
    return sha256(to_json_bytes(told, indent=None)).hexdigest()


def _extent_sha256(data: bytes, begin: int, size: int) -> str:
    return sha256(memoryview(data)[begin : begin + size]).hexdigest()


def _table_file_from_json(told: Mapping[str, Any]) -> StoredTableFile:
    return StoredTableFile([_extent_from_json(*extent) for extent in told["row_groups"]], _extent_from_json(*told["footer"]))


def _extent_from_json(begin: Any, size: Any, digest: Any) -> _Extent:
    """An extent, if it is one. Raises ValueError."""
    if not (isinstance(begin, int) and isinstance(size, int) and isinstance(digest, str) and begin >= 0 and size >= 0):
        raise ValueError("no extent")
    return begin, size, digest


def _parts_from_json(path: Path, runs: Iterable[Mapping[str, Any]], files: Mapping[str, StoredTableFile]) -> Iterable[StoredSeeds]:
    """The parts of a batch; each has the next row group of every file that it is in."""
    next_one = dict.fromkeys(files, 0)
    for told in runs:
        records = {int(seed): SeedRecord(seed=int(seed), **about) for seed, about in told["seeds"].items()}
        row_groups = {table: next_one[table] for table in told["tables"]}
        next_one.update({table: at + 1 for table, at in row_groups.items()})
        if _ROW_PER_SEED_TABLE not in row_groups:
            raise ValueError("the table of seeds is missing")
        yield StoredSeeds(path, told["key"], told["record"], records, row_groups, files)
    if any(next_one[table] != len(file.row_groups) for table, file in files.items()):
        raise ValueError("a row group without a run")


def _stored_parts_by_key(batches: Iterable[StoredBatch]) -> dict[str, list[StoredSeeds]]:
    found: dict[str, list[StoredSeeds]] = {}
    for batch in sorted(batches, key=lambda batch: batch.path.name):
        for part in batch.parts:
            found.setdefault(part.key, []).append(part)
    return found


def _scenarios_of_batches(batches: Iterable[StoredBatch]) -> dict[str, Any]:
    return {key: told for batch in batches for key, told in _read_scenarios(batch).items()}


def _read_scenarios(batch: StoredBatch) -> dict[str, Any]:
    """What a batch tells of scenarios. Raises ResultsError if it is damaged, FileNotFoundError if it is gone."""
    return read_json_object(batch.path / _SCENARIOS_FILE, remedy_for_damaged_batches(batch.path)) if batch.scenarios else {}


@lru_cache(16)
def _cached_batches(path: Path) -> BatchFolder:
    return BatchFolder(path)


@lru_cache(_MAX_CACHED_FOOTERS)
def _read_footer(path: Path, extent: _Extent) -> _core.Footer:
    return _core.Footer(read_verified(path, *extent))


def remedy_for_damaged_batches(*batches: Path) -> str:
    """What to do with batches that are damaged."""
    what, whose = ("folder", "its") if len(batches) == 1 else ("folders", "their")
    return f"fix: delete the {what} {' '.join(map(str, batches))}; the same command then runs {whose} seeds again"


def unreadable_batch_message(batch: Path) -> str:
    """What becomes of a batch that does not say what it holds, and what to do with it."""
    return f"its runs are not used, and are run again when needed; fix: delete the folder {batch}"
