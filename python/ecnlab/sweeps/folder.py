"""A sweep's folder: its definition, its points, and one Parquet file for each table over all points.

DIR/sweep.json         definition, and the digest of each other file
DIR/points.parquet     a row for each point
DIR/TABLE.parquet      total, groups, queues, ...: point, the parameters, seed, the table's own columns
DIR/summary.parquet    all quantities at all points with intervals; summary.csv has the same

Files are written atomically after the runs. The same sweep gives the same bytes, independent of the order in which runs finish.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from io import BytesIO
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.backends.base import backend_to_dict, pair_of_distinct_identity_texts
from ecnlab.errors import ResultsError
from ecnlab.scenarios import catalog
from ecnlab.scenarios.seeds import seeds_as_text
from ecnlab.stats.estimates import CONFIDENCE
from ecnlab.storage import atomic
from ecnlab.storage.atomic import open_regular_file
from ecnlab.storage.folders import (
    parse_folder_argument,
    read_json_object,
    read_verified_part,
    refuse_foreign_files,
    require_format,
    to_json_bytes,
    unreadable_file_error,
)
from ecnlab.sweeps.plan import SweepPlan, parameters_in_force
from ecnlab.sweeps.sweep import MEASURE_TABLES, Sweep, SweepParameter, missing_recording_of_table

if TYPE_CHECKING:
    import polars as pl

    from ecnlab.storage.results import Result

SWEEP_FORMAT = 3
SWEEP_FILE = "sweep.json"
_REMEDY = "fix: run the same sweep again, which rewrites the folder"

_TABLE_FILE_NAME = re.compile(r"\w+\.(parquet|csv)")
_MAX_SHOWN_DIFFERENCES = 2

_POINTS_FILE = {
    "point": "Number of the point, from 1.",
    "key": "Key of the point's scenario: equal key and seed give equal results.",
    "seeds": "How many of the seeds have finished.",
    "alike": "Whether there are several seeds and all are one and the same run, because nothing in the scenario is random.",
}
_SUMMARY_FILE = {
    "point": "Number of the point, from 1.",
    "table": "Table that the quantity belongs to: total, groups, queues or bands.",
    "name": "Group, queue, or QUEUE.BAND; nothing where the table is total.",
    "quantity": "Name of the quantity, a column of the table.",
    "unit": "Unit of mean, sd and half_width.",
    "mean": "Mean over the seeds.",
    "sd": "Standard deviation over the seeds.",
    "half_width": f"Half width of the {100 * CONFIDENCE:g} % interval of the mean; NaN without an interval.",
    "n": "How many seeds there are.",
}


def prepare_sweep_folder(path: Path, plan: SweepPlan, seeds: Sequence[int]) -> Path:
    """Create a sweep's folder if required, and remove partial files of killed processes.

    Raises ResultsError if it cannot be created, has foreign files, or has a sweep of a later format or with points, seeds or tables that
    this one lacks.
    """
    _require_continuation_of_stored_sweep(path, plan, seeds)
    try:
        path.mkdir(parents=True, exist_ok=True)
        atomic.remove_abandoned_partials(path)
        there = [] if is_sweep_folder(path) else sorted(entry.name for entry in path.iterdir())
        strange = [name for name in there if not name.endswith(".partial")]
    except OSError as error:
        raise ResultsError(f"cannot write to {path}: {error.strerror or error}") from None
    refuse_foreign_files(path, strange, "sweep folder")
    return path


def _require_continuation_of_stored_sweep(path: Path, plan: SweepPlan, seeds: Sequence[int]) -> None:
    """Check that a sweep has everything of the one in its folder, which it replaces. Raises ResultsError.

    A sweep that is damaged or of an earlier format may be replaced by any.
    """
    try:
        about = _read_sweep_header(path)
    except (FileNotFoundError, NotADirectoryError, ResultsError):
        return
    found, fix = about.get("format"), "choose another folder with --out (in Python out=)"
    if isinstance(found, int) and found > SWEEP_FORMAT:
        require_format(path, "sweep", found, [SWEEP_FORMAT], fix)
    if found != SWEEP_FORMAT:
        return
    try:
        lacking = _part_of_stored_sweep_that_plan_lacks(about, plan, seeds)
    except (AttributeError, KeyError, TypeError, ValueError):  # sweep.json is damaged
        return
    if lacking:
        raise ResultsError(
            f"{path} has another sweep, {about.get('name')!r}: {lacking}; fix: {fix}, or delete this one, whose runs stay in the store"
        )


def _part_of_stored_sweep_that_plan_lacks(about: Mapping[str, Any], plan: SweepPlan, seeds: Sequence[int]) -> str:
    """What a stored sweep has and a plan lacks, for a message; "" if the plan has all of it.

    Another build may have other parameters, so its points are compared by number.
    """
    if about["backend"] != backend_to_dict(plan.base.backend):
        return "its backend is {} instead of {}".format(
            *pair_of_distinct_identity_texts(about["backend"], backend_to_dict(plan.base.backend))
        )
    if missing := sorted(set(map(index, about["seeds"])) - set(seeds)):
        return f"it has {'seed' if len(missing) == 1 else 'the seeds'} {seeds_as_text(missing)}, which this one lacks"
    for name in _additional_tables_in(about["files"]):
        if key := missing_recording_of_table(name, plan):
            return f"it has the table {name}, for which this one lacks record.{key}"
    if about["build"] != _core.BUILD:
        source, own = about["scenario"], plan.to_dict()["scenario"]
        if any(source[key] != own[key] for key in ("form", "text", "overrides")):
            return "its scenario is another one"
        stored_points = len(about["in_force_at"])
        return f"it has {stored_points} points, and this one {len(plan.points)}" if stored_points > len(plan.points) else ""
    points = [parameters_in_force(point) for point in plan.points]
    known = {_parameters_as_comparison_key(point) for point in points}
    for number, differing in enumerate(about["in_force_at"], 1):
        stored = {**about["in_force"], **differing}
        if _parameters_as_comparison_key(stored) not in known:
            alone = [key for key, value in stored.items() if key != "name" and all(point.get(key) != value for point in points)]
            values = ", ".join(f"{key} = {stored[key]}" for key in alone[:_MAX_SHOWN_DIFFERENCES])
            return f"its point {number}{f' ({values})' if values else ''} is not a point of this one"
    return ""


def _parameters_as_comparison_key(parameters: Mapping[str, Any]) -> str:
    """The parameters of a point without the title, to compare them."""
    return json.dumps({key: value for key, value in parameters.items() if key != "name"}, sort_keys=True)


def write_sweep(sweep: Sweep, path: Path) -> Sweep:
    """Write a sweep's files; returns the sweep with its folder.

    All are complete on the disk before the first one gets its name, so a full disk leaves the folder as it was. sweep.json is renamed
    first: after a kill in between, its digests show which tables are missing. Raises ResultsError if a write fails.
    """
    digests: dict[str, dict[str, Any]] = {}
    try:
        with ExitStack() as stack:
            partials: dict[str, Path] = {}
            for name, data in _contents_of_sweep_files(sweep):
                digests[name] = {"size": len(data), "sha256": sha256(data).hexdigest()}
                partials[name] = _write_partial_file(stack, path / name, data)
            about = {**sweep.about, "files": digests}
            partials = {SWEEP_FILE: _write_partial_file(stack, path / SWEEP_FILE, to_json_bytes(about)), **partials}
            atomic.fsync_files(list(partials.values()))
            earlier = _files_of_earlier_sweep(path)
            for name, partial in partials.items():
                atomic.rename_with_retries(partial, path / name)
        for name in set(earlier) - set(digests):
            (path / name).unlink(missing_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise ResultsError(f"cannot write to {path}: {why}; the runs are stored; the same sweep continues from there") from None
    return Sweep(about, sweep._tables, path)


def _write_partial_file(stack: ExitStack, path: Path, data: bytes) -> Path:
    """Write the partial file for `path`, which is removed at the end of the context unless renamed. Raises OSError."""
    partial = stack.enter_context(atomic.locked_temporary_path(atomic.partial_path(path)))
    atomic.write_unflushed(partial, data)
    return partial


# The entries of sweep.json that a sweep is read from.
_TYPE_OF_HEADER_KEY = {
    "name": str,
    "points": int,
    "seeds": list,
    "parameters": list,
    "in_force": dict,
    "in_force_at": list,
    "measured_s": list,
    "warnings": list,
    "failures": list,
    "files": dict,
}


def open_sweep(path: str | Path) -> Sweep:
    """Read a sweep's folder.

    Parameters
    ----------
    path : str or Path
        The folder.

    Raises
    ------
    ResultsError
        The folder is not a sweep, has another format, or is damaged.
    UsageError
        The argument is not a path.
    """
    folder = parse_folder_argument("path", path)
    if not is_sweep_folder(folder):
        raise ResultsError(f"{folder} is not a sweep folder: {SWEEP_FILE} is missing; fix: name a folder that a sweep has written")
    try:
        about = _read_sweep_header(folder)
    except FileNotFoundError:  # another process has removed it since
        raise ResultsError(f"{folder / SWEEP_FILE} has been removed; {_REMEDY}") from None
    require_format(folder, "sweep", about.get("format"), [SWEEP_FORMAT], "run the sweep again")
    if damaged := [key for key, kind in _TYPE_OF_HEADER_KEY.items() if not isinstance(about.get(key), kind)]:
        raise ResultsError(f"{folder / SWEEP_FILE} is damaged: {', '.join(damaged)} missing or of another type; {_REMEDY}")
    return Sweep(about, StoredSweepTables(folder, about), folder)


def is_sweep_folder(path: Path) -> bool:
    """Whether a folder is a sweep."""
    return (path / SWEEP_FILE).is_file()


class StoredSweepTables:
    """The tables of a sweep's folder."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self._path = path
        self._files: Mapping[str, Any] = about["files"]

    @property
    def table_names(self) -> list[str]:
        """Names of its tables, in the order in which they were written."""
        known = {f"{table.name}.parquet": table.name for table in catalog.tables()}
        return [known[file] for file in self._files if file in known]

    def points_table(self) -> pl.DataFrame:
        """A row for each point."""
        return self.table("points")

    def table(self, name: str) -> pl.DataFrame:
        """A table over all points."""
        import polars as pl

        return pl.read_parquet(BytesIO(self._read_verified_table_file(f"{name}.parquet")))

    def summary(self, confidence: float) -> pl.DataFrame:
        """All quantities at all points. Raises ResultsError for a confidence level other than the folder's."""
        if confidence != CONFIDENCE:
            raise ResultsError(f"{self._path} has intervals of {100 * CONFIDENCE:g} %; fix: for others run the sweep in Python")
        return self.table("summary")

    def result(self, point: int) -> Result:
        """Raises ResultsError: the folder has tables, not runs."""
        raise ResultsError(
            f"{self._path} has the tables of all points but not their runs; fix: call ecnlab.sweep(...) with the same arguments"
        )

    def _read_verified_table_file(self, name: str) -> bytes:
        """Read and verify a file. Raises ResultsError if it is damaged."""
        known, path = self._files.get(name, {}), self._path / name
        try:
            with open_regular_file(path) as file:
                size = os.fstat(file.fileno()).st_size
            if known.keys() != {"size", "sha256"} or known["size"] != size:
                raise OSError("size differs")
            return read_verified_part(path, 0, size, known["sha256"])
        except OSError as error:
            raise unreadable_file_error(path, error, _REMEDY) from None


def _contents_of_sweep_files(sweep: Sweep) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file except sweep.json."""
    front = {one.name: (one.unit, _parameter_column_description_text(one)) for one in sweep.parameters}
    yield "points.parquet", _frame_to_parquet(sweep, sweep.points, front, {name: ("", text) for name, text in _POINTS_FILE.items()})
    for name in sweep.tables:
        own = {column.name: (column.unit, column.doc) for column in catalog.table(name).columns}
        renamed = {f"{name}.{column}" if column in front else column: about for column, about in own.items()}
        yield f"{name}.parquet", _frame_to_parquet(sweep, sweep.table(name), front, {**renamed, "point": ("", _POINTS_FILE["point"])})
    summary = sweep.summary()
    yield "summary.parquet", _frame_to_parquet(sweep, summary, front, {name: ("", text) for name, text in _SUMMARY_FILE.items()})
    yield "summary.csv", summary.write_csv().encode()


def _parameter_column_description_text(one: SweepParameter) -> str:
    return f"Parameter of the sweep: {', '.join(one.keys)}." if one.keys else "Parameter of the sweep."


def _frame_to_parquet(sweep: Sweep, frame: pl.DataFrame, *columns: Mapping[str, tuple[str, str]]) -> bytes:
    """A frame as Parquet, with units and descriptions of columns as metadata."""
    descriptions = {name: about for known in columns for name, about in known.items()} | {"seed": ("", "Seed of the run.")}
    there = {name: descriptions[name] for name in frame.columns}
    metadata = {
        "format": str(SWEEP_FORMAT),
        "sweep": sweep.name,
        "units": json.dumps({name: unit for name, (unit, _) in there.items()}),
        "meanings": json.dumps({name: meaning for name, (_, meaning) in there.items()}),
    }
    buffer = BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", metadata=metadata)
    return buffer.getvalue()


def additional_tables_to_write_again(path: Path, plan: SweepPlan) -> list[str]:
    """The tables besides those of the measures that an earlier sweep of this folder wrote, in its order.

    Those that no point of the plan records are omitted: they are of a sweep of an earlier format or a damaged one, which may be replaced.
    """
    return [name for name in _additional_tables_in(_files_of_earlier_sweep(path)) if not missing_recording_of_table(name, plan)]


def _additional_tables_in(files: Iterable[str]) -> list[str]:
    known = {f"{table.name}.parquet": table.name for table in catalog.tables() if table.name not in MEASURE_TABLES}
    return [known[file] for file in files if file in known]


def _files_of_earlier_sweep(path: Path) -> list[str]:
    """The files that an earlier sweep of this folder wrote, in its order, as far as sweep.json can be read."""
    try:
        files = _read_sweep_header(path).get("files") if is_sweep_folder(path) else None
    except (FileNotFoundError, ResultsError):
        return []
    return [name for name in files if _TABLE_FILE_NAME.fullmatch(name)] if isinstance(files, dict) else []


def _read_sweep_header(path: Path) -> dict[str, Any]:
    return read_json_object(path / SWEEP_FILE, _REMEDY)
