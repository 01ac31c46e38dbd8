"""Finished seeds and their tables: as Parquet for polars, and as plain columns for what must not wait for polars."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from ecnlab import _core, catalog

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class SeedRecord:
    """What identifies one finished seed, and what it took."""

    seed: int
    fingerprint: str
    events: int
    packet_hops: int
    cpu_s: float

    @staticmethod
    def of(run: _core.RunResult) -> SeedRecord:
        """The record of a run."""
        return SeedRecord(run.seed, run.fingerprint, run.events, run.packet_hops, run.cpu_s)

    def told(self) -> dict[str, Any]:
        """All but the seed, for a file in which the seed is the key."""
        return {name: value for name, value in asdict(self).items() if name != "seed"}


class Part(Protocol):
    """Some finished seeds that are kept together."""

    @property
    def records(self) -> Mapping[int, SeedRecord]:
        """What identifies each of its seeds."""

    @property
    def tables(self) -> frozenset[str]:
        """The names of its tables."""

    def parquet(self, table: str) -> bytes:
        """One table of all its seeds as Parquet, with `seed` as the first column."""


class Kept:
    """Finished runs that live in memory only."""

    def __init__(self, runs: Iterable[_core.RunResult]) -> None:
        self._runs = sorted(runs, key=lambda run: run.seed)
        self.records = {run.seed: SeedRecord.of(run) for run in self._runs}
        self.tables = frozenset(self._runs[0].tables if self._runs else ())

    def parquet(self, table: str) -> bytes:
        """One table of all its seeds as Parquet."""
        return parquet_of(self._runs, table)


def parquet_of(runs: Sequence[_core.RunResult], table: str, about: Mapping[str, str] | None = None) -> bytes:
    """One table of several runs as Parquet; the file says its columns' units and meanings, and what `about` says."""
    declared = catalog.table(table).columns
    told = {
        "units": json.dumps({column.name: column.unit for column in declared}),
        "meanings": json.dumps({column.name: column.doc for column in declared}),
    }
    return _core.write_parquet([(run.seed, run.tables[table]) for run in runs], list((told | dict(about or {})).items()))


class Columns:
    """One table over seeds as plain lists, its rows in ascending order of the seeds."""

    def __init__(self, parts: Sequence[tuple[Part, Sequence[int]]], table: str) -> None:
        """Join the `table` of each part, of its given seeds only."""
        self._tables = [_core.read_parquet(part.parquet(table)) for part, _ in parts]
        self._known: dict[str, list[Any]] = {}
        self._pieces: list[tuple[int, int, slice]] = []
        for at, (found, (_, seeds)) in enumerate(zip(self._tables, parts, strict=True)):
            wanted = set(seeds)
            self._pieces += [(seed, at, rows) for seed, rows in _rows_by_seed(found) if seed in wanted]
        self._pieces.sort(key=lambda piece: piece[:2])

    @property
    def names(self) -> list[str]:
        """The columns' names, `seed` first."""
        return self._tables[0].columns

    def __getitem__(self, name: str) -> list[Any]:
        """A column's values."""
        if name not in self._known:
            columns = [table.column(name) for table in self._tables]
            self._known[name] = [value for _, at, rows in self._pieces for value in columns[at][rows]]
        return self._known[name]


def _rows_by_seed(table: _core.Table) -> Iterable[tuple[int, slice]]:
    """Where the rows of each seed stand; they stand together."""
    begin = 0
    for seed, rows in groupby(table.column("seed")):
        end = begin + sum(1 for _ in rows)
        yield seed, slice(begin, end)
        begin = end


def frame(parts: Sequence[tuple[Part, Sequence[int]]], table: str) -> pl.DataFrame:
    """One table over seeds as a polars frame, its rows in ascending order of the seeds."""
    import polars as pl

    frames = [pl.read_parquet(part.parquet(table)).filter(pl.col("seed").is_in(seeds)) for part, seeds in parts]
    return pl.concat(frames).sort("seed", maintain_order=True)
