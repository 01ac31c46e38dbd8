"""What a run gives back: tables over seeds, their summary with intervals, and plots."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ecnlab.analysis.stats import CONFIDENCE, Estimate, estimate
from ecnlab.errors import ResultsError, UnknownName
from ecnlab.store import Folder
from ecnlab.units import unit_of

if TYPE_CHECKING:
    from ecnlab.plots.result import Plots

_SERIES = {
    "queue": "series_queue",
    "rate": "series_rate",
    "window": "series_window",
    "events": "events",
    "lockouts": "lockouts",
    "distributions": "distributions",
}
_ASKED_BY = {
    "queue": 'record.queue = "10 ms"',
    "rate": "record.rates = true",
    "window": 'record.window = "100 ms"',
    "events": "record.events = true",
    "lockouts": "record.events = true",
    "distributions": "record.distributions = true",
}
_SUMMARISED = {"total": None, "groups": "group", "queues": "queue"}


@dataclass(frozen=True)
class SeedRecord:
    """One finished seed. `table(name)` gives a frame; `tables` lists the names there are."""

    seed: int
    fingerprint: str
    events: int
    packet_hops: int
    cpu_s: float
    tables: frozenset[str]
    table: Callable[[str], pl.DataFrame] = field(repr=False, compare=False)


class Series:
    """The time series that the scenario's [record] asked for, each a frame with a seed column.

    queue (time_s, queue, length_packets, average_packets), rate (time_s, group, ...), window (time_s, flow, ...),
    events (time_s, queue, flow, kind, cause), lockouts (flow, start_s, end_s). Raises ResultsError for one not recorded.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    def __getattr__(self, name: str) -> pl.DataFrame:
        if name not in _SERIES:
            raise AttributeError(f"there is no series {name!r}; there are {', '.join(_SERIES)}")
        if name not in self:
            raise ResultsError(f"this run did not record the series {name!r}; ask for it with {_ASKED_BY[name]}")
        return self._result.table(_SERIES[name])

    def __contains__(self, name: str) -> bool:
        return self._result.has(_SERIES[name])


class Result:
    """All seeds of one scenario. Rates are in bit/s, times in s; every frame begins with the column `seed`.

    Attributes
    ----------
    name, hash: the scenario's title and digest
    groups_order, queues_order: names of the flow groups and of the links, in the scenario's order
    seeds: the seeds, ascending; fingerprints: digest of the event stream for each seed
    flows (a row per flow), groups (a row per flow group), queues (a row per link), total (one row): polars frames
    series: time series, where recorded; plot: figures
    path: the results folder, or None if the result lives in memory only
    """

    def __init__(self, header: Mapping[str, Any], records: Iterable[SeedRecord], path: Path | None = None) -> None:
        self.header = header
        self.records = sorted(records, key=lambda record: record.seed)
        self.path = path
        self.name: str = header["name"]
        self.hash: str = header["hash"]
        self.groups_order: list[str] = header["groups"]
        self.queues_order: list[str] = header["queues"]

    @property
    def seeds(self) -> list[int]:
        """The finished seeds, ascending."""
        return [record.seed for record in self.records]

    @property
    def fingerprints(self) -> dict[int, str]:
        """Digest of the event stream for each seed."""
        return {record.seed: record.fingerprint for record in self.records}

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row per seed and flow."""
        return self.table("flows")

    @cached_property
    def groups(self) -> pl.DataFrame:
        """A row per seed and flow group."""
        return self.table("groups")

    @cached_property
    def queues(self) -> pl.DataFrame:
        """A row per seed and link."""
        return self.table("queues")

    @cached_property
    def total(self) -> pl.DataFrame:
        """A row per seed."""
        return self.table("total")

    @property
    def series(self) -> Series:
        """The recorded time series."""
        return Series(self)

    @property
    def plot(self) -> Plots:
        """Figures: plot.queue(), plot.rates(), plot.marks()."""
        from ecnlab.plots.result import Plots

        return Plots(self)

    def only(self, seed: int) -> Result:
        """The result of one of the seeds. Raises UnknownName if it is none of them."""
        chosen = [record for record in self.records if record.seed == seed]
        if not chosen:
            raise UnknownName("seed", str(seed), map(str, self.seeds))
        return Result(self.header, chosen, self.path)

    def has(self, table: str) -> bool:
        """Whether every seed has this table (and there is a seed)."""
        return bool(self.records) and all(table in record.tables for record in self.records)

    def table(self, name: str) -> pl.DataFrame:
        """One table over all seeds. Raises ResultsError if no seed finished or the run has no such table."""
        if not self.has(name):
            raise ResultsError(f"{self.name}: no finished seed has a table {name!r}")
        return pl.concat([record.table(name) for record in self.records])

    def estimate(self, quantity: str, *, group: str | None = None, queue: str | None = None) -> Estimate:
        """Mean and 95 % interval over seeds of a column of `total`, or of `groups` or `queues` for the name given.

        Raises ResultsError for a column, UnknownName for a group or queue that is not there.
        """
        return estimate(self.values(quantity, group=group, queue=queue))

    def values(self, quantity: str, *, group: str | None = None, queue: str | None = None) -> list[float]:
        """The values of a quantity, one a seed in the order of `seeds`; arguments as for `estimate`."""
        frame, key, name = self._choose(group, queue)
        if quantity not in frame.columns:
            raise ResultsError(f"there is no quantity {quantity!r}; there are {', '.join(frame.columns)}")
        rows = frame if key is None else frame.filter(pl.col(key) == name)
        return [float(value) for value in rows[quantity]]

    def summary(self, confidence: float = CONFIDENCE) -> pl.DataFrame:
        """Every quantity over the seeds: table, name, quantity, unit, mean, sd, half_width of the interval, n."""
        rows = [row for table, key in _SUMMARISED.items() for row in _rows(self, table, key, confidence)]
        return pl.DataFrame(rows, infer_schema_length=None)

    def summary_json(self, confidence: float = CONFIDENCE) -> dict[str, Any]:
        """The summary as nested dicts of plain values, NaN as None; what summary.json and `--json` hold."""
        tree: dict[str, Any] = {
            "format": self.header["format"],
            "engine": self.header["engine"],
            "name": self.name,
            "hash": self.hash,
            "duration_s": self.header["duration_s"],
            "measure_from_s": self.header["measure_from_s"],
            "seeds": self.seeds,
            "fingerprints": {str(seed): fingerprint for seed, fingerprint in self.fingerprints.items()},
            "confidence": confidence,
        }
        return tree | _nested(self.summary(confidence)) if self.records else tree

    def _choose(self, group: str | None, queue: str | None) -> tuple[pl.DataFrame, str | None, str | None]:
        if group is not None:
            return self.groups, "group", _known("group", group, self.groups_order)
        if queue is not None:
            return self.queues, "queue", _known("link", queue, self.queues_order)
        return self.total, None, None

    def __repr__(self) -> str:
        return f"<Result {self.name!r}, {len(self.records)} seeds>"


def open_result(path: str | Path) -> Result:
    """Read a results folder back; only its finished seeds are there.

    Raises ResultsError if the folder is none of ours, of another format, or damaged.
    """
    folder = Folder.open(Path(path))
    return from_folder(folder, folder.seeds())


def from_folder(folder: Folder, seeds: Iterable[int]) -> Result:
    """The result of the given finished seeds of a folder."""
    return Result(folder.header, [_stored(folder, seed) for seed in seeds], folder.path)


def _stored(folder: Folder, seed: int) -> SeedRecord:
    meta = folder.read_meta(seed)
    try:
        return SeedRecord(
            seed=meta["seed"],
            fingerprint=meta["fingerprint"],
            events=meta["events"],
            packet_hops=meta["packet_hops"],
            cpu_s=meta["cpu_s"],
            tables=frozenset(folder.tables(seed)),
            table=lambda table: folder.read_table(seed, table),
        )
    except KeyError as error:
        raise ResultsError(f"{folder.path}, seed {seed}: meta.json lacks {error}") from None


def _known(kind: str, name: str, known: list[str]) -> str:
    if name not in known:
        raise UnknownName(kind, name, known)
    return name


def _rows(result: Result, table: str, key: str | None, confidence: float) -> Iterable[dict[str, Any]]:
    frame = result.table(table)
    names = frame[key].unique(maintain_order=True).to_list() if key else [""]
    for name in names:
        part = frame.filter(pl.col(key) == name) if key else frame
        for quantity in (column for column in frame.columns if column not in ("seed", key)):
            found = estimate(part[quantity].to_list(), confidence)
            yield {
                "table": table,
                "name": name,
                "quantity": quantity,
                "unit": unit_of(quantity),
                "mean": found.mean,
                "sd": found.sd,
                "half_width": found.half_width,
                "n": found.n,
            }


def _nested(summary: pl.DataFrame) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for row in summary.iter_rows(named=True):
        home = tree.setdefault(row["table"], {})
        home = home.setdefault(row["name"], {}) if row["name"] else home
        home[row["quantity"]] = {key: _plain(row[key]) for key in ("mean", "sd", "half_width", "n", "unit")}
    return tree


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
