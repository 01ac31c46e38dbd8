"""A results folder.

    DIR/run.json         what was run: format and engine version, the scenario (text, every parameter in force, hash), units
    DIR/seed-N/          one finished seed: a Parquet file for each table, and meta.json with its fingerprint
    DIR/summary.json     mean, sd and interval of each quantity over the seeds
    DIR/figures/         figures (SVG and PNG)

A seed is written into a hidden folder, flushed to the disk, and renamed: whatever kills the process, DIR/seed-N is whole or not there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.errors import ResultsError
from ecnlab.scenarios import Scenario
from ecnlab.units import unit_of

if TYPE_CHECKING:
    import polars as pl

_HEADER = "run.json"
_META = "meta.json"
_SUMMARY = "summary.json"


class Folder:
    """A results folder and the header that says what it holds."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.header = header

    @staticmethod
    def create(path: Path, scenario: Scenario) -> Folder:
        """Open `path` for runs of `scenario`, making it if needed.

        Raises ResultsError if it cannot be written, or holds results of another scenario or engine.
        """
        header = header_of(scenario)
        if (path / _HEADER).exists():
            folder = Folder.open(path)
            _require_same(folder, header)
            _sweep(path)
            return folder
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_atomically(path / _HEADER, _json(header))
        except OSError as error:
            raise ResultsError(f"cannot write to {path}: {error.strerror or error}") from None
        return Folder(path, header)

    @staticmethod
    def open(path: Path) -> Folder:
        """Open an existing folder. Raises ResultsError if it is none of ours or of another format."""
        header = _read_json(path / _HEADER)
        if header.get("format") != _core.FORMAT:
            raise ResultsError(f"{path} has results of format {header.get('format')}; this ecnlab reads {_core.FORMAT}")
        return Folder(path, header)

    def seeds(self) -> list[int]:
        """The finished seeds, ascending."""
        names = (entry.name.removeprefix("seed-") for entry in self.path.glob("seed-*"))
        return sorted(int(name) for name in names if name.isdecimal())

    def write_seed(self, seed: int, frames: Mapping[str, pl.DataFrame], meta: Mapping[str, Any]) -> None:
        """Store one finished seed, whole or not at all. Raises ResultsError if the disk refuses."""
        partial = self.path / f".seed-{seed}.{os.getpid()}.{get_ident()}.partial"
        try:
            partial.mkdir()
            for name, frame in frames.items():
                _write(partial / f"{name}.parquet", _parquet(frame))
            _write(partial / _META, _json(meta))
            _flush(partial)
            _rename(partial, self._seed(seed))
            _flush(self.path)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            why = error.strerror or str(error)
            raise ResultsError(f"cannot store seed {seed} in {self.path}: {why}; seeds that had finished are kept") from None

    def read_meta(self, seed: int) -> dict[str, Any]:
        """A seed's meta data. Raises ResultsError if it is damaged."""
        return _read_json(self._seed(seed) / _META)

    def tables(self, seed: int) -> list[str]:
        """The names of a seed's tables."""
        return sorted(path.stem for path in self._seed(seed).glob("*.parquet"))

    def read_table(self, seed: int, table: str) -> pl.DataFrame:
        """One table of one seed. Raises ResultsError if it is damaged."""
        import polars as pl

        path = self._seed(seed) / f"{table}.parquet"
        try:
            return pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise ResultsError(f"cannot read {path}: {error}") from None

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Store the summary, whole or not at all. Raises ResultsError if the disk refuses."""
        try:
            write_atomically(self.path / _SUMMARY, _json(summary))
        except OSError as error:
            raise ResultsError(f"cannot write {self.path / _SUMMARY}: {error.strerror or error}") from None

    def _seed(self, seed: int) -> Path:
        return self.path / f"seed-{seed}"


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole: temporary file, flush to the disk, rename. Raises OSError, leaving no trace."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        _write(partial, data)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def header_of(scenario: Scenario) -> dict[str, Any]:
    """What run.json says of a scenario: format, engine, hash, text and every parameter in force."""
    return {
        "format": _core.FORMAT,
        "engine": _core.VERSION,
        "name": scenario.name,
        "hash": scenario.hash,
        "duration_s": scenario.duration_s,
        "measure_from_s": scenario.measure_from_s,
        "groups": scenario.groups,
        "queues": scenario.queues,
        "scenario": {"source": scenario.source, "text": scenario.text, "overrides": scenario.overrides},
        "parameters": scenario.resolved,
    }


def _require_same(folder: Folder, header: Mapping[str, Any]) -> None:
    for key, what in (("hash", "another scenario"), ("engine", "another engine version")):
        if folder.header.get(key) != header[key]:
            raise ResultsError(f"{folder.path} holds results of {what} ({key} {folder.header.get(key)}); choose another folder")


def _sweep(path: Path) -> None:
    """Remove what killed processes left half done."""
    for entry in path.glob(".seed-*.partial"):
        if not _alive(entry.name.split(".")[2]):
            shutil.rmtree(entry, ignore_errors=True)


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True


def _rename(partial: Path, final: Path) -> None:
    if final.exists():  # another process ran the same seed: by determinism it holds the same bytes
        shutil.rmtree(partial)
    else:
        partial.rename(final)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    frame.write_parquet(buffer, compression="zstd", metadata={"units": json.dumps({c: unit_of(c) for c in frame.columns})})
    return buffer.getvalue()


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except OSError:
        raise ResultsError(f"{path.parent} is no results folder: {path.name} cannot be read") from None
    except ValueError:
        raise ResultsError(f"{path} is damaged") from None
    if not isinstance(value, dict):
        raise ResultsError(f"{path} is damaged")
    return value


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
