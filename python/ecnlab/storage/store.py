"""Folders of finished runs: a results folder belongs to one scenario, a store is shared by any number of scenarios.

    DIR/run.json         header: format, engine and build, the scenario (text, all parameters, key), warnings
    DIR/batch-*/         its finished seeds
    DIR/summary.json     mean, sd and interval of each quantity over all stored seeds
    DIR/figures/         figures, if requested

    STORE/store.json     format version of the store
    STORE/BUILD/batch-*/ finished runs of that build of the engine

`segments` documents batches. Several processes, also on several hosts, may write into one folder or store at the same time; if two
create a folder at the same time, one writes run.json and the other reads it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any

from ecnlab import _core
from ecnlab.backends import base
from ecnlab.errors import Problem, ResultsError
from ecnlab.scenarios.load import Scenario
from ecnlab.storage.atomic import (
    locked_temporary_path,
    partial_path,
    read_regular_file,
    remove_abandoned_partials,
    write_atomically,
    write_if_absent,
)
from ecnlab.storage.folders import parse_folder_argument, read_json_object, refuse_foreign_files, require_results_format, to_json_bytes
from ecnlab.storage.segments import BatchCollection, remedy_for_damaged_batches

_HEADER_FILE = "run.json"
_STORE_FILE = "store.json"
# Other folders written by ecnlab, by the file that identifies them.
_OTHER_KINDS_OF_FOLDER = {
    "sweep.json": "it is a sweep; fix: read it with ecnlab.open_sweep",
    _STORE_FILE: "it is a store with the runs of many scenarios; fix: run a scenario, sweep or study with this store",
    "claims.json": "it is a study's report; fix: open report.html, or read the numbers in figures",
}
_SUMMARY_FILE = "summary.json"
_PRESENCE_FILE = "working"
# Linux takes the times of files from its tick, which is 1 to 10 ms long.
_FILE_TIME_RESOLUTION_S = 0.02
_BUILD_NAME = re.compile(r"[0-9a-f]{16}")
_ENTRY_OF_BUILD = re.compile(rf"batch-.*|\.(batch-|{_PRESENCE_FILE}\.).*\.partial")
# The entries of run.json that a result is read from.
_TYPE_OF_HEADER_KEY: dict[str, type | tuple[type, ...]] = {
    "hash": str,
    "name": str,
    "engine": str,
    "build": str,
    "duration_s": (int, float),
    "measure_from_s": (int, float),
    "groups": list,
    "queues": list,
    "warnings": list,
    "scenario": dict,
    "parameters": dict,
}
_TYPE_OF_OPTIONAL_HEADER_KEY: dict[str, type | tuple[type, ...]] = {"aqms": dict, "backend": dict}
_REQUIRED_SCENARIO_KEYS = {"form", "text", "overrides"}

# Content of run.json, as `run_header_of_scenario` makes it.
RunHeader = Mapping[str, Any]


class ScenarioResultsFolder:
    """A results folder and its header."""

    def __init__(self, path: Path, header: RunHeader) -> None:
        self.path = path
        self.header = header

    @staticmethod
    def open_or_create(path: Path, scenario: Scenario) -> ScenarioResultsFolder:
        """Open `path` for runs of `scenario`; creates it if required.

        Raises ResultsError if it cannot be written, holds results of another scenario or engine, or anything else.
        """
        header = run_header_of_scenario(scenario)
        if not (path / _HEADER_FILE).exists():
            _create_folder_with_header(path, _HEADER_FILE, header, "results folder")
        folder = ScenarioResultsFolder.open(path)
        _require_same_header(folder, header)
        remove_abandoned_partials(path)
        return folder

    @staticmethod
    def open(path: Path) -> ScenarioResultsFolder:
        """Open an existing folder. Raises ResultsError if it is not a results folder or has another format."""
        if not (path / _HEADER_FILE).exists():
            if not path.exists():
                raise ResultsError(f"{path}: there is no such folder; fix: name a folder that a run has written")
            raise ResultsError(f"{path} is not a results folder: {_describe_foreign_folder(path)}")
        header = read_json_object(path / _HEADER_FILE, "fix: run the scenario into another folder")
        require_results_format(path, "results folder", header.get("format"), "run the scenario into another folder")
        if damaged := _damaged_header_keys(header):
            what = f"is damaged: {', '.join(damaged)} missing or of another type"
            raise ResultsError(f"{path / _HEADER_FILE} {what}; fix: delete the folder {path}, or run the scenario into another folder")
        return ScenarioResultsFolder(path, header)

    def prepare_for_new_batches(self) -> None:
        """Check that batches can be written, and write the present format into the header instead of an older one.

        A version of ecnlab that reads only the older format then refuses the folder. Raises ResultsError if the folder cannot be written,
        or has a later format since it was opened.
        """
        if not os.access(self.path, os.W_OK):
            raise ResultsError(f"cannot write to {self.path}; fix: make the folder writable, or choose another one")
        stored = ScenarioResultsFolder.open(self.path)
        _require_same_header(stored, self.header)
        if stored.header["format"] < _core.FORMAT:
            stored.header = {**stored.header, "format": _core.FORMAT}
            _write_header(self.path / _HEADER_FILE, stored.header)
        self.header = stored.header

    def open_batches(self) -> BatchCollection:
        """Open its batches. Raises ResultsError if one belongs to another scenario or engine."""
        found = BatchCollection(self.path)
        for batch in found.batches:
            for part in batch.parts:
                if part.key != self.header.get("hash"):
                    raise ResultsError(
                        f"{batch.path} belongs to another scenario or engine (key {part.key}); {remedy_for_damaged_batches(batch.path)}"
                    )
        return found

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the summary atomically if it has changed. Raises ResultsError if the write fails."""
        path, data = self.path / _SUMMARY_FILE, to_json_bytes(summary)
        try:
            if not _file_has_content(path, data):
                write_atomically(path, data)
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror or error}") from None


class Store:
    """A folder of runs shared by scenarios, sweeps, studies and validation.

    Attributes
    ----------
    path : Path
        The folder.
    batches : BatchFolder
        Runs of this build of the engine.
    """

    def __init__(self, path: str | Path) -> None:
        """Open a store; creates it if required.

        Raises UsageError if the argument is not a path, ResultsError if the folder cannot be written, has foreign files, or is damaged.
        """
        self.path = parse_folder_argument("store", path)
        self._mended = _check_or_create_store_file(self.path)
        own = self.path / _core.BUILD
        try:
            own.mkdir(exist_ok=True)
        except OSError as error:
            raise ResultsError(f"cannot write to {self.path}: {error.strerror or error}") from None
        remove_abandoned_partials(own)
        self.batches = BatchCollection(own)

    @property
    def warnings(self) -> list[Problem]:
        """Damaged batches, and runs of other builds of the engine; each with a remedy."""
        mended = [Problem("", None, f"{self.path / _STORE_FILE} was missing or damaged, and was rewritten")] if self._mended else []
        return [*mended, *self.batches.warnings, *self._other_builds_warning()]

    def _other_builds_warning(self) -> list[Problem]:
        others = [path for path in sorted(self.path.iterdir()) if path.is_dir() and path.name != _core.BUILD]
        size = sum(file.stat().st_size for other in others for file in other.rglob("*") if file.is_file())
        if not size:
            return []
        listed = " ".join(map(str, others))
        return [
            Problem(
                "", None, f"the store {self.path} holds {size / 1e6:.0f} MB of runs of other builds; fix: to free them, delete {listed}"
            )
        ]

    @contextmanager
    def announce_writer(self) -> Iterator[int]:
        """Announce this process as a writer of the store; yields the number of earlier writers.

        The present format is written into store.json instead of an older one, so that versions that read only the older one refuse the
        store. Raises ResultsError if it cannot be written, or has a later format since it was opened.
        """
        _write_present_format_of_store(self.path)
        with ExitStack() as stack:
            try:
                lock_file = stack.enter_context(locked_temporary_path(partial_path(self.batches.path / _PRESENCE_FILE)))
            except OSError as error:
                raise ResultsError(f"cannot write to {self.path}: {error.strerror or error}") from None
            sleep(_FILE_TIME_RESOLUTION_S)
            yield self._count_earlier_writers(lock_file)

    def _count_earlier_writers(self, lock_file: Path) -> int:
        """The number of writers whose files are earlier, by time and name.

        A file of the same time as this one exists already, as the time has passed on since. So of two writers exactly one is the first.
        """
        began = {}
        for other in self.batches.path.glob(f".{_PRESENCE_FILE}.*.partial"):
            with suppress(OSError):
                began[other] = (other.stat().st_mtime_ns, other.name)
        return sum(1 for other in began if lock_file in began and began[other] < began[lock_file])


def _damaged_header_keys(header: RunHeader) -> list[str]:
    """The entries that a result needs and that are missing or of another type."""
    optional = {key: kind for key, kind in _TYPE_OF_OPTIONAL_HEADER_KEY.items() if key in header}
    damaged = [key for key, kind in (_TYPE_OF_HEADER_KEY | optional).items() if not isinstance(header.get(key), kind)]
    if "scenario" not in damaged:
        damaged += [f"scenario.{key}" for key in sorted(_REQUIRED_SCENARIO_KEYS - header["scenario"].keys())]
    return damaged


def _write_header(path: Path, header: RunHeader) -> None:
    try:
        write_atomically(path, to_json_bytes(header))
    except OSError as error:
        raise ResultsError(f"cannot write to {path.parent}: {error.strerror or error}") from None


def _file_has_content(path: Path, data: bytes) -> bool:
    try:
        return read_regular_file(path) == data
    except OSError:
        return False


def run_header_of_scenario(scenario: Scenario) -> dict[str, Any]:
    """The header of a scenario for run.json: format, engine, key, warnings, text, all parameters, and backend."""
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
        "backend": base.backend_to_dict(scenario.backend),
        "parameters": scenario.resolved,
    }


def _check_or_create_store_file(path: Path) -> bool:
    """Check or create a store's folder and its store.json; returns whether store.json was missing.

    Raises ResultsError if it cannot be written, has foreign files, or has another format.
    """
    store_file, header = path / _STORE_FILE, {"format": _core.FORMAT}
    try:
        lost = _stored_format_version(store_file) is None and _has_only_build_folders(path)
        if lost:
            write_atomically(store_file, to_json_bytes(header))
    except OSError as error:
        raise ResultsError(f"cannot use {path} as a store: {error.strerror or error}") from None
    if not store_file.exists():
        _create_folder_with_header(path, _STORE_FILE, header, "store")
    theirs = read_json_object(store_file, "fix: choose another folder").get("format")
    require_results_format(path, "store", theirs, "choose another folder")
    return lost


def _write_present_format_of_store(path: Path) -> None:
    """Write the present format into store.json if it has an older one, or none.

    Raises ResultsError if it has a later one, or cannot be read or written.
    """
    try:
        version = _stored_format_version(path / _STORE_FILE)
    except OSError as error:
        raise ResultsError(f"cannot use {path} as a store: {error.strerror or error}") from None
    if version is None or version < _core.FORMAT:
        _write_header(path / _STORE_FILE, {"format": _core.FORMAT})
    else:
        require_results_format(path, "store", version, "choose another folder")


def _stored_format_version(store_file: Path) -> int | None:
    """The format version in store.json; None if it is missing or damaged. Raises OSError if it cannot be read."""
    try:
        header = json.loads(read_regular_file(store_file))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    version = header.get("format") if isinstance(header, dict) else None
    return version if isinstance(version, int) else None


def _has_only_build_folders(path: Path) -> bool:
    """Whether a folder contains builds with batches and nothing else. Raises OSError."""
    if not path.is_dir():
        return False
    builds = [entry for entry in path.iterdir() if entry.name != _STORE_FILE and not entry.name.startswith(f".{_STORE_FILE}.")]
    sound = all(_BUILD_NAME.fullmatch(build.name) and build.is_dir() for build in builds)
    return bool(builds) and sound and all(_ENTRY_OF_BUILD.fullmatch(entry.name) for build in builds for entry in build.iterdir())


def _require_same_header(folder: ScenarioResultsFolder, header: RunHeader) -> None:
    if folder.header.get("hash") == header["hash"]:
        return
    engines = [(run_header.get("engine"), run_header.get("build")) for run_header in (folder.header, header)]
    what = "another scenario" if engines[0] == engines[1] else "another build of the engine"
    if engines[0] == engines[1] and (changed := _names_of_changed_aqms(folder.header, header)):
        what = f"another version of the AQM {', '.join(changed)}, which has changed since, or something that it reads"
    ran = [run_header.get("backend", {"name": base.SIMULATOR_NAME}) for run_header in (folder.header, header)]
    if ran[0] != ran[1]:
        what = "another backend, {} instead of {}".format(*base.pair_of_distinct_identity_texts(*ran))
    raise ResultsError(
        f"{folder.path} holds results of {what} (key {folder.header.get('hash')}); fix: choose another folder, or delete this one"
    )


def _names_of_changed_aqms(before: RunHeader, now: RunHeader) -> list[str]:
    """Names of the user's AQMs, if they are the only difference between two headers."""
    in_force = [
        {key: value for key, value in run_header.get("parameters", {}).items() if key not in ("name", "record")}
        for run_header in (before, now)
    ]
    digests = [run_header.get("aqms", {}) for run_header in (before, now)]
    same = in_force[0] == in_force[1] and digests[0].keys() == digests[1].keys()
    return sorted(name for name in digests[1] if digests[0][name] != digests[1][name]) if same else []


def _create_folder_with_header(path: Path, name: str, header: RunHeader, what: str) -> None:
    """Create a folder with the header file `name`. Raises ResultsError if it cannot be written or has foreign files."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        # A partial file of another process is no foreign file.
        strange = [entry.name for entry in path.iterdir() if not entry.name.startswith(f".{name}.")]
        refuse_foreign_files(path, [] if (path / name).exists() else strange, what)
        write_if_absent(path / name, to_json_bytes(header))
    except OSError as error:
        raise ResultsError(f"cannot write to {path}: {error.strerror or error}") from None


def _describe_foreign_folder(path: Path) -> str:
    """Kind and remedy for a folder that is not a results folder."""
    for name, description in _OTHER_KINDS_OF_FOLDER.items():
        if (path / name).is_file():
            return description
    return f"{_HEADER_FILE} is missing; fix: name a folder that a run has written"
