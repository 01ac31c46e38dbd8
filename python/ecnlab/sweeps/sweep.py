"""Results of a sweep: its points, and tables over all runs with the point's parameters as first columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab import accessors
from ecnlab.backends.base import SIMULATOR_NAME
from ecnlab.display import html
from ecnlab.errors import Problem, ResultsError, UnknownName
from ecnlab.scenarios import catalog
from ecnlab.stats.estimates import CONFIDENCE
from ecnlab.sweeps import summary
from ecnlab.sweeps.values import ValueKindAndUnit

if TYPE_CHECKING:
    import polars as pl

    from ecnlab.plot.sweep import SweepPlots
    from ecnlab.storage.results import Result
    from ecnlab.sweeps.folder import StoredSweepTables
    from ecnlab.sweeps.plan import SweepPlan

# Tables of every sweep, if its runs have rows for them.
MEASURE_TABLES = ("total", "groups", "queues", "bands", "impairments", "completions")
# The key in [record] that each optional table requires.
RECORDED_TABLES = {
    "series_queue": "queue",
    "series_band": "queue",
    "series_gauge": "queue",
    "series_rate": "rates",
    "series_window": "window",
    "events": "events",
    "lockouts": "events",
    "distributions": "distributions",
    "transfers": "transfers",
}


def missing_recording_of_table(name: str, plan: SweepPlan) -> str | None:
    """The key in [record] that a table requires, if no point has it."""
    key = RECORDED_TABLES.get(name)
    return key if key and not any(point.scenario.record.get(key) for point in plan.points) else None


@dataclass(frozen=True)
class SweepParameter:
    """A parameter column of every table: the values of an axis.

    Attributes
    ----------
    name : str
        Name of the column.
    keys : tuple of str
        The scenario keys that it sets; empty for an axis of names.
    kind, unit : str
        "flag", "whole", "real" or "name", and the unit of a real ("" if it has none).
    values : tuple
        Its values as given, in order.
    """

    name: str
    keys: tuple[str, ...]
    kind: str
    unit: str
    values: tuple[Any, ...]

    def convert_to_cell(self, value: Any) -> Any:
        """Convert a value to the column's type."""
        return ValueKindAndUnit(self.kind, self.unit).convert_to_cell(value)

    def to_dict(self) -> dict[str, Any]:
        """The parameter as plain values for JSON."""
        return {**vars(self), "keys": list(self.keys), "values": list(self.values)}


@dataclass(frozen=True)
class FailedSweepRun:
    """A run that failed.

    Attributes
    ----------
    point, seed : int
        Point and seed of the run.
    message : str
        Cause and fix.
    """

    point: int
    seed: int
    message: str


class Sweep:
    """Results of a sweep.

    Attributes
    ----------
    about : Mapping
        Content of sweep.json: the scenario, parameters, seeds, engine.
    path : Path or None
        The sweep's folder; None for a sweep in memory.
    """

    def __init__(self, about: Mapping[str, Any], tables: SweepTablesOfRuns | StoredSweepTables, path: Path | None = None) -> None:
        self.about = about
        self.path = path
        self._tables = tables

    def __repr__(self) -> str:
        points, seeds = self.about["points"], len(self.seeds)
        return f"<Sweep {self.name!r}, {points} point{'s' * (points != 1)}, {seeds} seed{'s' * (seeds != 1)}>"

    def _repr_html_(self) -> str:
        """The table of `ecnlab sweep`, for notebooks."""
        notes = [f"warning: {warning.as_text(None)}" for warning in self.warnings]
        notes += [f"{len(self.failures)} runs failed; see failures"] if self.failures else []
        return html.tables_and_notes_to_html(f"{self.name}: {self.about['points']} points", summary.sweep_tables(self), notes)

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.about["name"])

    @property
    def seeds(self) -> list[int]:
        """The requested seeds of each point."""
        return list(self.about["seeds"])

    @property
    def backend(self) -> dict[str, Any]:
        """The backend of its points, as `Result.backend`."""
        return dict(self.about.get("backend", {"name": SIMULATOR_NAME}))

    @property
    def parameters(self) -> list[SweepParameter]:
        """The varied parameters, in the order of the columns."""
        return [
            SweepParameter(**{**entry, "keys": tuple(entry["keys"]), "values": tuple(entry["values"])})
            for entry in self.about["parameters"]
        ]

    @property
    def warnings(self) -> list[Problem]:
        """Warnings about the scenarios and runs, each with a remedy."""
        return [Problem(**entry) for entry in self.about["warnings"]]

    @property
    def failures(self) -> list[FailedSweepRun]:
        """Failed runs, whose rows are missing."""
        return [FailedSweepRun(**entry) for entry in self.about["failures"]]

    def in_force(self, point: int) -> dict[str, Any]:
        """All parameters of a point by path, without recordings."""
        return {**self.about["in_force"], **self.about["in_force_at"][self._require_known_point(point) - 1]}

    def measured_s(self, point: int) -> float:
        """Length of the measured interval of a point, in simulated seconds."""
        return float(self.about["measured_s"][self._require_known_point(point) - 1])

    @property
    def points(self) -> pl.DataFrame:
        """A row for each point: number, parameters, key, number of finished seeds, and whether these are identical."""
        return self._tables.points_table()

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return list(self._tables.table_names)

    @property
    def total(self) -> pl.DataFrame:
        """A row for each point and seed."""
        return self.table("total")

    @property
    def groups(self) -> pl.DataFrame:
        """A row for each point, seed and group of flows."""
        return self.table("groups")

    @property
    def queues(self) -> pl.DataFrame:
        """A row for each point, seed and queue."""
        return self.table("queues")

    @property
    def plot(self) -> SweepPlots:
        """The figures of this sweep."""
        plots: SweepPlots = accessors.import_and_create_accessor("Sweep.plot", self)
        return plots

    def table(self, name: str) -> pl.DataFrame:
        """A table over all points: point, the parameters, seed, then the table's own columns.

        Raises UnknownName for an unknown table, ResultsError if this sweep does not have it.
        """
        if catalog.table(name).name not in self.tables:
            raise ResultsError(
                f"the sweep {self.name} has no table {name!r}; it has {', '.join(self.tables)}; fix: add more with tables=[...]"
            )
        return self._tables.table(name)

    def summary(self, confidence: float = CONFIDENCE) -> pl.DataFrame:
        """All quantities at all points: point, the parameters, table, name, quantity, unit, mean, sd, half_width, n."""
        return self._tables.summary(confidence)

    def result(self, point: int) -> Result:
        """The runs of a point by number. Raises UnknownName, and ResultsError for a sweep read from its folder."""
        return self._tables.result(self._require_known_point(point))

    def _require_known_point(self, point: int) -> int:
        if not 1 <= point <= self.about["points"]:
            raise UnknownName("point", str(point), map(str, range(1, self.about["points"] + 1)))
        return point


class SweepTablesOfRuns:
    """Tables of a sweep from finished runs."""

    def __init__(self, plan: SweepPlan, parameters: Sequence[SweepParameter], results: Mapping[str, Result], more: Sequence[str]) -> None:
        self._points = list(plan.points)
        self._parameters = parameters
        self._results = results
        self._more = more
        self._frames: dict[str, pl.DataFrame] = {}

    @cached_property
    def table_names(self) -> Sequence[str]:
        """Tables with rows, and additionally requested tables."""
        there = {name for result in self._results.values() for name in result.tables if _all_seeds_have(result, name)}
        full = [name for name in MEASURE_TABLES if name in there and self.table(name).height]
        return [*full, *(name for name in self._more if name in there)]

    def points_table(self) -> pl.DataFrame:
        """A row for each point."""
        import polars as pl

        results = [self._results[point.scenario.hash] for point in self._points]
        return pl.DataFrame(
            {
                "point": pl.Series([point.number for point in self._points], dtype=pl.UInt32),
                **{one.name: self._parameter_column(one) for one in self._parameters},
                "key": [point.scenario.hash for point in self._points],
                "seeds": pl.Series([len(result.seeds) for result in results], dtype=pl.UInt32),
                "alike": [result.alike for result in results],
            }
        )

    def table(self, name: str) -> pl.DataFrame:
        """A table over all points that have it."""
        if name not in self._frames:
            taken = {one.name: f"{name}.{one.name}" for one in self._parameters}
            self._frames[name] = self._join_frames_of_points(
                {key: found.table(name) for key, found in self._results.items() if _all_seeds_have(found, name)}, taken
            )
        return self._frames[name]

    def summary(self, confidence: float) -> pl.DataFrame:
        """Every quantity at every point, over its seeds."""
        return self._join_frames_of_points({key: result.summary(confidence) for key, result in self._results.items() if result.seeds}, {})

    def result(self, point: int) -> Result:
        """The runs of one point."""
        return self._results[self._points[point - 1].scenario.hash]

    def _join_frames_of_points(self, frames: Mapping[str, pl.DataFrame], renamed: Mapping[str, str]) -> pl.DataFrame:
        """Concatenate the frames of all points, with number and parameters of the point as first columns."""
        import numpy as np
        import polars as pl

        there = [at for at, point in enumerate(self._points) if point.scenario.hash in frames]
        if not there:
            return pl.DataFrame()
        of_points = [frames[self._points[at].scenario.hash] for at in there]
        front = self.points_table().select("point", *(one.name for one in self._parameters))
        rows = np.repeat(there, [frame.height for frame in of_points])
        return pl.concat([front[rows], pl.concat(of_points).rename(dict(renamed), strict=False)], how="horizontal")

    def _parameter_column(self, one: SweepParameter) -> pl.Series:
        import polars as pl

        types: dict[str, Any] = {"flag": pl.Boolean, "whole": pl.Int64, "real": pl.Float64}
        return pl.Series([one.convert_to_cell(point.values[one.name]) for point in self._points], dtype=types.get(one.kind, pl.String))


def _all_seeds_have(result: Result, table: str) -> bool:
    """Whether a point has a table. Seeds may have more than the point records, if another request stored them."""
    return bool(result.seeds) and result.seeds_with(table) == result.seeds


def parameters_of_plan(plan: SweepPlan) -> list[SweepParameter]:
    """The parameter columns for the axes of a plan."""
    return [
        SweepParameter(
            axis.name,
            axis.keys or tuple(sorted(axis.overridden_keys)),
            axis.value_kind.name,
            axis.value_kind.unit,
            tuple(axis.values),
        )
        for axis in plan.axes
    ]
