"""Finished seeds and their tables, as polars frames, and as plain columns where the import of polars takes too long."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from ecnlab import _core
from ecnlab.scenarios import catalog

if TYPE_CHECKING:
    import polars as pl

    from ecnlab.storage.segments import StoredSeeds

# Finished seeds of one scenario with the same recording.
FinishedSeeds: TypeAlias = "SeedTablesInMemory | StoredSeeds"

KEY_COLUMN = "key"

# The optional recordings of a run: the options of [record].
Recording = Mapping[str, Any]

_NUMPY_TYPES = {"real": "<f8", "count": "<u8", "index": "<u4", "name": "<u4"}


@dataclass(frozen=True)
class SeedRunStatistics:
    """Fingerprint and cost of a finished seed, and the record of a backend with real hosts."""

    seed: int
    fingerprint: str
    events: int
    packet_hops: int
    cpu_s: float
    about: Mapping[str, Any] | None = None
    fast_path_share: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """All fields that have a value, except the seed, which is the key in the file."""
        return {name: value for name, value in asdict(self).items() if name != "seed" and value is not None}


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: its scenario's key, optional recordings, record, and tables by name."""

    key: str
    recording: Recording
    record: SeedRunStatistics
    tables: Mapping[str, _core.Table]

    @property
    def seed(self) -> int:
        """Its seed."""
        return self.record.seed

    @property
    def tables_size_bytes(self) -> int:
        """Size of its tables."""
        return sum(table.size for table in self.tables.values())


class SeedTablesInMemory:
    """Finished seeds of one scenario with the same recording, in memory."""

    def __init__(self, runs: Iterable[FinishedRun]) -> None:
        """Store at least one run; all have the same scenario and recording."""
        self._runs = sorted(runs, key=lambda run: run.seed)
        self.recording = self._runs[0].recording
        self.seed_run_statistics = {run.seed: run.record for run in self._runs}
        self.table_names = frozenset(self._runs[0].tables)

    def table(self, name: str, columns: Sequence[str] | None = None) -> _core.Table:
        """A table of all seeds, sorted by seed, with the first columns `key` and `seed`.

        With `columns`, it has at least `seed` and these; others need not be read. In memory it has all columns.
        """
        return _core.join(self._runs[0].key, [(run.seed, run.tables[name]) for run in self._runs])

    def tables_of_seeds(self, seeds: Sequence[int], name: str, columns: Sequence[str] | None = None) -> list[tuple[int, _core.Table]]:
        """Each of these seeds and its table."""
        by_seed = {run.seed: run for run in self._runs}
        return [(seed, by_seed[seed].tables[name]) for seed in seeds]


def column_metadata(table: str) -> list[tuple[str, str]]:
    """Parquet metadata of a table: units and descriptions of columns, each as JSON."""
    declared = catalog.table(table).columns
    units = {column.name: column.unit for column in declared}
    return [("units", json.dumps(units)), ("meanings", json.dumps({column.name: column.doc for column in declared}))]


def recording_includes(recording: Recording, wanted: Recording) -> bool:
    """Whether a recording has everything in `wanted`."""
    without_effect = {"plot"} if wanted.get("rates") else {"plot", "rates_interval"}
    return all(recording.get(key) == value for key, value in wanted.items() if value not in (False, "off") and key not in without_effect)


def recording_as_json(recording: Recording) -> str:
    """A recording as text, without options of figures."""
    return json.dumps({key: value for key, value in recording.items() if key != "plot"}, sort_keys=True)


def choose_part_for_each_seed(parts: Iterable[FinishedSeeds], wanted: Recording) -> dict[int, FinishedSeeds]:
    """Choose the stored part to read each seed from, among those with at least the recording `wanted`.

    Prefers parts with most tables, then the recording that most seeds have, so that series of seeds have the same sample times.
    """
    asked = [part for part in parts if recording_includes(part.recording, wanted)]
    if len(asked) == 1:
        return dict.fromkeys(asked[0].seed_run_statistics, asked[0])
    seeds: dict[str, set[int]] = {}
    for part in asked:
        seeds.setdefault(recording_as_json(part.recording), set()).update(part.seed_run_statistics)
    best: dict[int, FinishedSeeds] = {}
    for part in sorted(asked, key=lambda part: (len(part.table_names), len(seeds[recording_as_json(part.recording)])), reverse=True):
        for seed in part.seed_run_statistics:
            best.setdefault(seed, part)
    return best


class ColumnsOverSeeds:
    """A table over seeds as plain lists, sorted by seed."""

    def __init__(self, parts: Sequence[tuple[FinishedSeeds, Sequence[int]]], table: str) -> None:
        """Join the `table` of each part, restricted to the given seeds."""
        self._tables = [part.table(table) for part, _ in parts]
        self._known: dict[str, list[Any]] = {}
        self._pieces: list[tuple[int, int, slice]] = []
        for at, (found, (_, seeds)) in enumerate(zip(self._tables, parts, strict=True)):
            wanted = set(seeds)
            self._pieces += [(seed, at, rows) for seed, rows in _row_slice_of_each_seed(found) if seed in wanted]
        self._pieces.sort(key=lambda piece: piece[:2])

    @cached_property
    def column_names(self) -> list[str]:
        """Names of the columns, `seed` first."""
        return [name for name in self._tables[0].columns if name != KEY_COLUMN]

    def __getitem__(self, name: str) -> list[Any]:
        """A column's values."""
        if name not in self._known:
            columns = [table.column(name) for table in self._tables]
            self._known[name] = [value for _, at, rows in self._pieces for value in columns[at][rows]]
        return self._known[name]


def _row_slice_of_each_seed(table: _core.Table) -> Iterable[tuple[int, slice]]:
    """Each seed and the slice of its consecutive rows."""
    begin = 0
    for seed, rows in groupby(table.column("seed")):
        end = begin + sum(1 for _ in rows)
        yield seed, slice(begin, end)
        begin = end


def join_as_polars_frame(parts: Sequence[tuple[FinishedSeeds, Sequence[int]]], table: str) -> pl.DataFrame:
    """A table over seeds as a polars frame, sorted by seed."""
    import polars as pl

    frames = [
        whole if len(seeds) == len(part.seed_run_statistics) else whole.filter(pl.col("seed").is_in(seeds))
        for part, seeds in parts
        for whole in [_table_to_polars(part.table(table))]
    ]
    return frames[0] if len(frames) == 1 else pl.concat(frames).sort("seed", maintain_order=True)


def _table_to_polars(table: _core.Table) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    def polars_series(name: str, kind: str, values: bytes, names: Sequence[str]) -> pl.Series:
        numbers = np.frombuffer(values, _NUMPY_TYPES[kind])
        if kind != "name":
            return pl.Series(name, numbers)
        return pl.Series(name, names, pl.String).gather(numbers)

    return pl.DataFrame([polars_series(*column) for column in table.plain if column[0] != KEY_COLUMN])
