"""Batches: folders with finished runs of any number of scenarios in few files.

    batch-*/TABLE.parquet    one table of all its runs: the columns `key` and `seed`, then the table's own
    batch-*/batch.json       index: runs, their recordings, and the extents of each file
    batch-*/scenarios.json   headers of scenarios that no earlier batch describes

The rows of a file are sorted by key and seed. Each scenario has a row group, which can be read and verified without the rest. A batch
is written to a hidden folder, flushed to the disk and renamed, so it is complete or absent. Several processes, also on several hosts, may
write batches into one folder; runs with the same key and seed are identical.

Many small batches are merged into one. The merged batch exists before its sources are removed, and names them, so that the next process
removes what a killed one left. A process that finds a batch gone looks for its runs in other batches.

A batch with a damaged or missing `batch.json`, or without its `scenarios.json`, is ignored: its runs are repeated.
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
    locked_temporary_path,
    read_regular_file,
    remove_folder,
    rename_with_retries,
    unique_writer_name,
    write_unflushed,
)
from ecnlab.storage.folders import read_json_object, read_verified_part, to_json_bytes, unreadable_file_error
from ecnlab.storage.tables import (
    FinishedRun,
    Recording,
    SeedRunStatistics,
    column_metadata,
    recording_as_json,
    recording_includes,
)

_BATCH_FILE = "batch.json"
_SCENARIOS_FILE = "scenarios.json"
_DIGEST_KEY = "digest"

# The table with one row per seed.
_ROW_PER_SEED_TABLE = "total"

# Batches below this size in bytes are merged when there are this many.
_MERGE_LIMITS = ((1 << 20, 16), (8 << 20, 8))
_MAX_REFRESHES = 100
_MAX_CACHED_FOOTERS = 256

# Part of a file: first byte, length, SHA-256.
_Extent = tuple[int, int, str]


@dataclass(frozen=True)
class TableFileExtents:
    """Extents of a table's file: its row groups and its footer."""

    row_groups: Sequence[_Extent]
    footer: _Extent

    @property
    def size_bytes(self) -> int:
        """Size of the file."""
        return self.footer[0] + self.footer[1]

    def matches_content(self, data: bytes) -> bool:
        """Whether the data has the recorded digests."""
        parts = (*self.row_groups, self.footer)
        return len(data) == self.size_bytes and all(_extent_sha256(data, begin, size) == digest for begin, size, digest in parts)


@dataclass(frozen=True)
class StoredSeeds:
    """Finished seeds of one scenario in a batch, with their row group in each table's file."""

    batch: Path
    key: str
    recording: Recording
    seed_run_statistics: Mapping[int, SeedRunStatistics]
    row_groups: Mapping[str, int]
    files: Mapping[str, TableFileExtents]

    @property
    def table_names(self) -> frozenset[str]:
        """The names of its tables."""
        return frozenset(self.row_groups)

    def table(self, name: str, columns: Sequence[str] | None = None) -> _core.Table:
        """A table of all these seeds. Raises ResultsError if the file is damaged."""
        try:
            return self.read(name, columns)
        except FileNotFoundError as error:  # merged by another process, perhaps with more seeds
            return _core.join(self.key, self._read_from_other_batch(name, error.filename).split_by_seed(sorted(self.seed_run_statistics)))

    def tables_of_seeds(self, seeds: Sequence[int], name: str, columns: Sequence[str] | None = None) -> list[tuple[int, _core.Table]]:
        """Each of these seeds and its table, all columns or at least these. Raises ResultsError if the file is damaged."""
        return self.table(name, columns).split_by_seed(seeds)

    def read(self, name: str, columns: Sequence[str] | None = None) -> _core.Table:
        """As `table`, but raises FileNotFoundError if the batch is gone."""
        if not self.has_same_seeds_as_tables():
            raise ResultsError(
                f"{self.batch / _BATCH_FILE} is damaged: its seeds are not those of {_ROW_PER_SEED_TABLE}.parquet; "
                f"{self._remedy_for_damage()}"
            )
        return self._read_table(name, None if columns is None else ["seed", *columns])

    def has_same_seeds_as_tables(self) -> bool:
        """Whether the recorded seeds match the rows of the tables."""
        return self._seeds_in_table_file == sorted(self.seed_run_statistics)

    @cached_property
    def _seeds_in_table_file(self) -> list[int]:
        return list(self._read_table(_ROW_PER_SEED_TABLE, ["seed"]).column("seed"))

    def _read_table(self, name: str, columns: Sequence[str] | None = None) -> _core.Table:
        path, file, row_group = self.batch / f"{name}.parquet", self.files[name], self.row_groups[name]
        try:
            data = read_verified_part(path, *file.row_groups[row_group])
            return _read_footer(path, file.footer).table(row_group, data, columns)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise unreadable_file_error(path, error, self._remedy_for_damage()) from None

    def _remedy_for_damage(self) -> str:
        """The remedy for this batch and all other damaged ones."""
        others = [batch.path for batch in BatchCollection(self.batch.parent).batches if not batch.is_whole()]
        return remedy_for_damaged_batches(*sorted({self.batch, *others}))

    def _read_from_other_batch(self, name: str, missing: str) -> _core.Table:
        """Read the table from another batch with these runs. Raises ResultsError if there is none."""
        batches = _cached_batches(self.batch.parent)
        batches.refresh_from_disk()
        for part in batches.parts_of_scenario(self.key):
            same = (
                part.batch != self.batch
                and name in part.table_names
                and recording_as_json(part.recording) == recording_as_json(self.recording)
            )
            if same and part.seed_run_statistics.keys() >= self.seed_run_statistics.keys():
                with suppress(FileNotFoundError):
                    return part.read(name)
        raise ResultsError(f"{missing}: does not exist; {self._remedy_for_damage()}")


@dataclass(frozen=True)
class StoredBatch:
    """Index of a batch: its parts, the scenarios that it describes, its table files, and the batches merged into it."""

    path: Path
    parts: Sequence[StoredSeeds]
    scenarios: frozenset[str]
    files: Mapping[str, TableFileExtents]
    merged: Sequence[str]

    @staticmethod
    def open(path: Path) -> StoredBatch:
        """Read a batch's index. Raises ResultsError if it is damaged, FileNotFoundError if it is gone."""
        index = read_json_object(path / _BATCH_FILE, unreadable_batch_message(path))
        digest = index.pop(_DIGEST_KEY, None)
        try:
            if index["format"] > _core.FORMAT:
                raise _newer_batch_error(path, index["format"])
            if digest is not None and digest != _batch_json_digest(index):
                raise ValueError("not what was stored")
            files = {name: _table_file_extents_from_json(file) for name, file in index["files"].items()}
            parts = list(_stored_seeds_from_json(path, index["runs"], files))
            batch = StoredBatch(path, parts, frozenset(index["scenarios"]), files, index["merged"])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ResultsError(f"{path / _BATCH_FILE} is damaged; {unreadable_batch_message(path)}") from None
        if batch.scenarios and not (path / _SCENARIOS_FILE).exists() and (path / _BATCH_FILE).exists():
            raise ResultsError(f"{path / _SCENARIOS_FILE} does not exist; {unreadable_batch_message(path)}")
        return batch

    @property
    def size_bytes(self) -> int:
        """Size of its tables."""
        return sum(file.size_bytes for file in self.files.values())

    def is_whole(self) -> bool:
        """Whether all its files exist and are undamaged."""
        try:
            sound = all(
                file.matches_content(read_regular_file(self.path / f"{name}.parquet", file.size_bytes)) for name, file in self.files.items()
            )
            return sound and self.scenarios <= _read_scenarios(self).keys() and all(part.has_same_seeds_as_tables() for part in self.parts)
        except (OSError, ResultsError):
            return False


class BatchCollection:
    """The batches of one folder, by key and seed."""

    def __init__(self, path: Path) -> None:
        """Read the indexes of all batches."""
        self.path = path
        self._batches: dict[str, StoredBatch] = {}
        self._unused: dict[str, str] = {}
        self._parts: dict[str, list[StoredSeeds]] = {}
        self.refresh_from_disk()

    def refresh_from_disk(self) -> None:
        """Read changes by other processes. Raises ResultsError if the folder keeps changing."""
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
                self._add_batch_from_disk(name)
            self._parts = _stored_seeds_by_key(self._batches.values())
        raise ResultsError(f"{self.path} keeps changing: another process is writing to it; fix: try again")

    def _add_batch_from_disk(self, name: str) -> None:
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
        """Unusable batches, each with a remedy."""
        return [Problem("", None, message) for _, message in sorted(self._unused.items())]

    @property
    def batches(self) -> list[StoredBatch]:
        """All usable batches."""
        return list(self._batches.values())

    @property
    def scenario_keys(self) -> list[str]:
        """Keys of all scenarios with runs."""
        return sorted(self._parts)

    def parts_of_scenario(self, key: str) -> list[StoredSeeds]:
        """Stored parts of a scenario."""
        return self._parts.get(key, [])

    def has_run(self, key: str, seed: int, recording: Recording) -> bool:
        """Whether a run with at least this recording is stored."""
        return any(
            seed in part.seed_run_statistics and recording_includes(part.recording, recording) for part in self.parts_of_scenario(key)
        )

    def scenario_header_of_key(self, key: str) -> dict[str, Any]:
        """The stored header of a scenario. Raises ResultsError if no batch describes it."""
        for _ in range(_MAX_REFRESHES):
            batch = next((batch for batch in self.batches if key in batch.scenarios), None)
            if batch is None:
                break
            try:
                header: dict[str, Any] = _read_scenarios(batch)[key]
            except FileNotFoundError:
                self.refresh_from_disk()  # if it was merged meanwhile, the new batch describes it
                self._drop_if_scenarios_missing(batch)
            else:
                return header
        if self.parts_of_scenario(key):
            silent = sorted({part.batch for part in self.parts_of_scenario(key)})
            raise ResultsError(f"no batch has the scenario with the key {key}; {remedy_for_damaged_batches(*silent)}")
        raise ResultsError(f"{self.path} has no run of a scenario with the key {key}")

    def _drop_if_scenarios_missing(self, batch: StoredBatch) -> None:
        """Ignore a batch that exists without its scenarios."""
        name = batch.path.name
        if name in self._batches and not (batch.path / _SCENARIOS_FILE).exists():
            del self._batches[name]
            self._add_batch_from_disk(name)
            self._parts = _stored_seeds_by_key(self._batches.values())

    def write_batch(self, runs: Iterable[FinishedRun], scenarios: Mapping[str, Mapping[str, Any]]) -> None:
        """Store finished runs atomically as one batch, with the headers in `scenarios` of keys that no batch describes yet.

        Raises ResultsError if a write fails.
        """
        listed = sorted(runs, key=lambda run: (run.key, recording_as_json(run.recording), run.seed))
        if not listed:
            return
        known = {key for batch in self.batches for key in batch.scenarios}
        new = {run.key: scenarios[run.key] for run in listed if run.key in scenarios and run.key not in known}
        grouped = [list(group) for _, group in groupby(listed, lambda run: (run.key, recording_as_json(run.recording)))]
        try:
            self._write_batch([_SeedsToStore(group) for group in grouped], new, [])
        except OSError as error:
            what = f"seed {seeds_as_text([run.seed for run in listed])}" if len({run.key for run in listed}) == 1 else f"{len(listed)} runs"
            why = error.strerror or str(error)
            kept = "earlier runs are stored; the same command continues from there"
            raise ResultsError(f"cannot store {what} in {self.path}: {why}; {kept}") from None
        self.refresh_from_disk()

    def merge_small_batches(self) -> None:
        """Merge small batches if there are many; damaged ones are left unchanged.

        A failed write, or a faster process, leaves all batches unchanged.
        """
        self.remove_merged_batches()
        for many in _batches_to_merge(self.batches):
            whole = [batch for batch in many if batch.is_whole()]
            if len(whole) < 2:
                continue
            try:
                self._write_batch(_merge_parts_of_batches(whole), _scenario_headers_of_batches(whole), [batch.path.name for batch in whole])
            except OSError:
                return
            self.refresh_from_disk()
            self.remove_merged_batches()

    def remove_merged_batches(self) -> None:
        """Remove batches that have been merged into others."""
        for name in sorted({name for batch in self.batches for name in batch.merged} & (self._batches.keys() | self._unused.keys())):
            remove_folder(self.path / name)
        self.refresh_from_disk()

    def _write_batch(self, parts: Sequence[_SeedsToStore], scenarios: Mapping[str, Any], merged: Sequence[str]) -> None:
        """Write a batch. Raises OSError and leaves no partial folder."""
        name = f"batch-{unique_writer_name()}"
        with locked_temporary_path(self.path / f".{name}.partial", folder=True) as partial:
            _write_batch_files(partial, parts, scenarios, merged)
            fsync_files(sorted(partial.iterdir()))
            fsync_directory(partial)
            rename_with_retries(partial, self.path / name)
            fsync_directory(self.path)


class _SeedsToStore:
    """Finished seeds of one scenario to be stored."""

    def __init__(self, runs: Sequence[FinishedRun]) -> None:
        self._runs = runs
        self.key = runs[0].key
        self.recording = runs[0].recording
        self.records = [run.record for run in runs]
        self.tables = list(runs[0].tables)

    def run_tables(self, name: str) -> list[tuple[int, _core.Table]]:
        """Each seed and its table, seeds ascending."""
        return [(run.seed, run.tables[name]) for run in self._runs]


class _MergedSeeds(_SeedsToStore):
    """Parts of several batches with the same scenario and recording; duplicate seeds are read once."""

    def __init__(self, parts: Sequence[StoredSeeds]) -> None:
        self._parts = parts
        self._part_index_by_seed = {seed: at for at, part in enumerate(parts) for seed in part.seed_run_statistics}
        self.key = parts[0].key
        self.recording = parts[0].recording
        self.records = [parts[at].seed_run_statistics[seed] for seed, at in sorted(self._part_index_by_seed.items())]
        self.tables = sorted(parts[0].table_names)

    def run_tables(self, name: str) -> list[tuple[int, _core.Table]]:
        runs: list[tuple[int, _core.Table]] = []
        for at in sorted(set(self._part_index_by_seed.values())):
            runs += self._parts[at].read(name).split_by_seed([seed for seed, of in self._part_index_by_seed.items() if of == at])
        return sorted(runs, key=lambda run: run[0])


def _merge_parts_of_batches(batches: Sequence[StoredBatch]) -> list[_SeedsToStore]:
    """Parts of the batch that replaces several."""
    found: dict[tuple[str, str], list[StoredSeeds]] = {}
    for batch in batches:
        for part in batch.parts:
            found.setdefault((part.key, recording_as_json(part.recording)), []).append(part)
    return [_MergedSeeds(found[which]) for which in sorted(found)]


def _batches_to_merge(batches: Sequence[StoredBatch]) -> list[list[StoredBatch]]:
    """Groups of batches of similar size that are to be merged."""
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
            [(part.key, part.run_tables(table)) for part in parts if table in part.tables],
            [*column_metadata(table), *_ENGINE_METADATA],
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
    index = {"format": _core.FORMAT, "build": _core.BUILD, "merged": merged, "scenarios": sorted(scenarios), "runs": runs, "files": files}
    write_unflushed(partial / _BATCH_FILE, to_json_bytes(index | {_DIGEST_KEY: _batch_json_digest(index)}, indent=None))


_ENGINE_METADATA = [("format", str(_core.FORMAT)), ("engine", _core.VERSION), ("build", _core.BUILD)]


def _describe_table_file(data: bytes, extents: Sequence[tuple[int, int]]) -> dict[str, Any]:
    end = max(begin + size for begin, size in extents)
    parts = [*extents, (end, len(data) - end)]
    *row_groups, footer = ([begin, size, _extent_sha256(data, begin, size)] for begin, size in parts)
    return {"row_groups": row_groups, "footer": footer}


def _batch_json_digest(index: Mapping[str, Any]) -> str:
    """The digest of `batch.json`, over all other entries."""
    return sha256(to_json_bytes(index, indent=None)).hexdigest()


def _extent_sha256(data: bytes, begin: int, size: int) -> str:
    return sha256(memoryview(data)[begin : begin + size]).hexdigest()


def _table_file_extents_from_json(entry: Mapping[str, Any]) -> TableFileExtents:
    return TableFileExtents([_extent_from_json(*extent) for extent in entry["row_groups"]], _extent_from_json(*entry["footer"]))


def _extent_from_json(begin: Any, size: Any, digest: Any) -> _Extent:
    """Check and build an extent. Raises ValueError."""
    if not (isinstance(begin, int) and isinstance(size, int) and isinstance(digest, str) and begin >= 0 and size >= 0):
        raise ValueError("no extent")
    return begin, size, digest


def _stored_seeds_from_json(path: Path, runs: Iterable[Mapping[str, Any]], files: Mapping[str, TableFileExtents]) -> Iterable[StoredSeeds]:
    """The stored seeds of a batch, by run; each has the next row group of every file that contains it."""
    next_one = dict.fromkeys(files, 0)
    for entry in runs:
        records = {int(seed): SeedRunStatistics(seed=int(seed), **about) for seed, about in entry["seeds"].items()}
        row_groups = {table: next_one[table] for table in entry["tables"]}
        next_one.update({table: at + 1 for table, at in row_groups.items()})
        if _ROW_PER_SEED_TABLE not in row_groups:
            raise ValueError("the table of seeds is missing")
        yield StoredSeeds(path, entry["key"], entry["record"], records, row_groups, files)
    if any(next_one[table] != len(file.row_groups) for table, file in files.items()):
        raise ValueError("a row group without a run")


def _stored_seeds_by_key(batches: Iterable[StoredBatch]) -> dict[str, list[StoredSeeds]]:
    found: dict[str, list[StoredSeeds]] = {}
    for batch in sorted(batches, key=lambda batch: batch.path.name):
        for part in batch.parts:
            found.setdefault(part.key, []).append(part)
    return found


def _scenario_headers_of_batches(batches: Iterable[StoredBatch]) -> dict[str, Any]:
    return {key: header for batch in batches for key, header in _read_scenarios(batch).items()}


def _read_scenarios(batch: StoredBatch) -> dict[str, Any]:
    """Headers of the scenarios that a batch describes. Raises ResultsError if damaged, FileNotFoundError if it is gone."""
    return read_json_object(batch.path / _SCENARIOS_FILE, remedy_for_damaged_batches(batch.path)) if batch.scenarios else {}


@lru_cache(16)
def _cached_batches(path: Path) -> BatchCollection:
    return BatchCollection(path)


@lru_cache(_MAX_CACHED_FOOTERS)
def _read_footer(path: Path, extent: _Extent) -> _core.Footer:
    return _core.Footer(read_verified_part(path, *extent))


def remedy_for_damaged_batches(*batches: Path) -> str:
    """The remedy for damaged batches."""
    what, whose = ("folder", "its") if len(batches) == 1 else ("folders", "their")
    return f"fix: delete the {what} {' '.join(map(str, batches))}; the same command then runs {whose} seeds again"


def _newer_batch_error(batch: Path, version: int) -> ResultsError:
    """The error for a batch that a later version has written."""
    what = f"{batch} is a batch of format {version}, this ecnlab reads formats up to {_core.FORMAT}"
    return ResultsError(f"{what}; its runs are not used, and are run again when needed; fix: upgrade ecnlab")


def unreadable_batch_message(batch: Path) -> str:
    """The warning about a batch with an unreadable index, with the remedy."""
    return f"its runs are not used, and are run again when needed; fix: delete the folder {batch}"
