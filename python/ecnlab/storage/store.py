"""Where finished runs stay: a results folder, which one scenario has to itself, and a store, which any number of them share.

    DIR/run.json         what was run: format, engine and build, the scenario (text, every parameter in force, key), warnings
    DIR/batch-*/         its finished seeds
    DIR/summary.json     mean, sd and interval of each quantity over all stored seeds
    DIR/figures/         figures, where they were asked for

    STORE/store.json     that it is a store, and its format
    STORE/BUILD/batch-*/ finished runs of that build of the engine

`batches` says what a batch is. Several processes, on several hosts too, may write into one folder or store at the same time; of two
that create a folder at the same time one writes run.json and the other finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.backends import base, simulator
from ecnlab.errors import Problem, ResultsError
from ecnlab.scenarios.load import Scenario
from ecnlab.storage.atomic import (
    locked_partial,
    partial_path,
    read_regular_file,
    remove_abandoned_partials,
    write_atomically,
    write_if_absent,
)
from ecnlab.storage.folders import parse_folder_argument, read_json_object, refuse_foreign_files, require_format, to_json_bytes
from ecnlab.storage.segments import BatchFolder, remedy_for_damaged_batches

_HEADER_FILE = "run.json"
_STORE_FILE = "store.json"
# What folders without _HEADER hold that ecnlab has written, by the file that tells.
_OTHER_KINDS_OF_FOLDER = {
    "sweep.json": "it is a sweep; fix: read it with ecnlab.open_sweep",
    _STORE_FILE: "it is a store with the runs of many scenarios; fix: run a scenario, sweep or study with this store",
    "claims.json": "it is a study's report; fix: open report.html, or read the numbers in figures",
}
_SUMMARY_FILE = "summary.json"
_PRESENCE_FILE = "working"
_BUILD_NAME = re.compile(r"[0-9a-f]{16}")
_ENTRY_OF_BUILD = re.compile(rf"batch-.*|\.(batch-|{_PRESENCE_FILE}\.).*\.partial")
_REQUIRED_HEADER_KEYS = ("hash", "name", "engine", "build", "duration_s", "measure_from_s", "groups", "queues", "warnings", "parameters")


class ResultsFolder:
    """A results folder and the header that says what it holds."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.header = header

    @staticmethod
    def create(path: Path, scenario: Scenario) -> ResultsFolder:
        """Open `path` for runs of `scenario`, making it if needed.

        Raises ResultsError if it cannot be written, holds results of another scenario or engine, or anything else.
        """
        header = run_header_of_scenario(scenario)
        if (path / _HEADER_FILE).exists():
            folder = ResultsFolder.open(path)
            _require_same_header(folder, header)
            remove_abandoned_partials(path)
            return folder
        _create_folder_with_header(path, _HEADER_FILE, header, "results folder")
        folder = ResultsFolder.open(path)
        _require_same_header(folder, header)
        return folder

    @staticmethod
    def open(path: Path) -> ResultsFolder:
        """Open an existing folder. Raises ResultsError if it is none of ours or of another format."""
        header = _read_run_header(path)
        require_format(path, "results folder", header.get("format"), _core.FORMAT, "run the scenario into another folder")
        if not header.keys() >= set(_REQUIRED_HEADER_KEYS):
            raise ResultsError(f"{path / _HEADER_FILE} is damaged; fix: delete the folder {path}, or run the scenario into another folder")
        return ResultsFolder(path, header)

    def open_batches(self) -> BatchFolder:
        """Its batches. Raises ResultsError if one belongs to another scenario or engine."""
        found = BatchFolder(self.path)
        for batch in found.batches:
            for part in batch.parts:
                if part.key != self.header.get("hash"):
                    raise ResultsError(
                        f"{batch.path} belongs to another scenario or engine (key {part.key}); {remedy_for_damaged_batches(batch.path)}"
                    )
        return found

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Store the summary, whole or not at all, unless it is there already. Raises ResultsError if the disk refuses."""
        path, data = self.path / _SUMMARY_FILE, to_json_bytes(summary)
        try:
            if not _file_has_content(path, data):
                write_atomically(path, data)
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror or error}") from None


class Store:
    """A folder of runs that scenarios, sweeps, studies and validation share.

    Attributes
    ----------
    path : Path
        The folder.
    batches : Batches
        The runs of this build of the engine.
    """

    def __init__(self, path: str | Path) -> None:
        """Open it, making it if needed.

        Raises UsageError if it is no path, and ResultsError if it cannot be written, holds anything else, or is damaged.
        """
        self.path = parse_folder_argument("store", path)
        self._mended = _require_store_file(self.path)
        own = self.path / _core.BUILD
        try:
            own.mkdir(exist_ok=True)
        except OSError as error:
            raise ResultsError(f"cannot write to {self.path}: {error.strerror or error}") from None
        remove_abandoned_partials(own)
        self.batches = BatchFolder(own)

    @property
    def warnings(self) -> list[Problem]:
        """What is damaged in it, and that it holds runs which no engine of this build can use; each with the remedy."""
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
        """Show other processes that this one adds to the store; gives how many do so already.

        Raises ResultsError if it cannot be written.
        """
        with ExitStack() as stack:
            try:
                mark = stack.enter_context(locked_partial(partial_path(self.batches.path / _PRESENCE_FILE)))
            except OSError as error:
                raise ResultsError(f"cannot write to {self.path}: {error.strerror or error}") from None
            yield self._count_earlier_writers(mark)

    def _count_earlier_writers(self, mark: Path) -> int:
        began = {}
        for other in self.batches.path.glob(f".{_PRESENCE_FILE}.*.partial"):
            with suppress(OSError):
                began[other] = (other.stat().st_mtime_ns, other.name)
        return sum(1 for other in began if mark in began and began[other] < began[mark])


def _file_has_content(path: Path, data: bytes) -> bool:
    try:
        return read_regular_file(path) == data
    except OSError:
        return False


def run_header_of_scenario(scenario: Scenario) -> dict[str, Any]:
    """What run.json says of a scenario: format, engine, key, warnings, text, every parameter in force, and on what it runs."""
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


def _require_store_file(path: Path) -> bool:
    """See that a folder is a store and says so, making it if needed; whether it is one that did not say so.

    Raises ResultsError if it cannot be written, holds anything else, or is of another format.
    """
    mark, told = path / _STORE_FILE, {"format": _core.FORMAT}
    try:
        lost = _stored_format_version(mark) is None and _looks_like_store(path)
        if lost:
            write_atomically(mark, to_json_bytes(told))
    except OSError as error:
        raise ResultsError(f"cannot use {path} as a store: {error.strerror or error}") from None
    if not mark.exists():
        _create_folder_with_header(path, _STORE_FILE, told, "store")
    theirs = read_json_object(mark, "fix: choose another folder").get("format")
    require_format(path, "store", theirs, _core.FORMAT, "choose another folder")
    return lost


def _stored_format_version(mark: Path) -> int | None:
    """The format that a store's file says, if it is sound. Raises OSError."""
    try:
        told = read_json_object(mark, "").get("format")
    except (FileNotFoundError, ResultsError):
        return None
    return told if isinstance(told, int) else None


def _looks_like_store(path: Path) -> bool:
    """Whether there is what a store consists of, builds with their batches, and nothing else. Raises OSError."""
    if not path.is_dir():
        return False
    builds = [entry for entry in path.iterdir() if entry.name != _STORE_FILE and not entry.name.startswith(f".{_STORE_FILE}.")]
    sound = all(_BUILD_NAME.fullmatch(build.name) and build.is_dir() for build in builds)
    return bool(builds) and sound and all(_ENTRY_OF_BUILD.fullmatch(entry.name) for build in builds for entry in build.iterdir())


def _require_same_header(folder: ResultsFolder, header: Mapping[str, Any]) -> None:
    if folder.header.get("hash") == header["hash"]:
        return
    engines = [(told.get("engine"), told.get("build")) for told in (folder.header, header)]
    what = "another scenario" if engines[0] == engines[1] else "another build of the engine"
    if engines[0] == engines[1] and (changed := _names_of_changed_aqms(folder.header, header)):
        what = f"another version of the AQM {', '.join(changed)}, which has changed since, or something that it reads"
    ran = [told.get("backend", base.backend_to_dict(simulator.SIMULATOR)) for told in (folder.header, header)]
    if ran[0] != ran[1]:
        what = f"another backend, {base.backend_identity_text(ran[0])} instead of {base.backend_identity_text(ran[1])}"
    raise ResultsError(
        f"{folder.path} holds results of {what} (key {folder.header.get('hash')}); fix: choose another folder, or delete this one"
    )


def _names_of_changed_aqms(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The user's AQMs by which alone two headers differ."""
    in_force = [
        {key: value for key, value in told.get("parameters", {}).items() if key not in ("name", "record")} for told in (before, now)
    ]
    digests = [told.get("aqms", {}) for told in (before, now)]
    same = in_force[0] == in_force[1] and digests[0].keys() == digests[1].keys()
    return sorted(name for name in digests[1] if digests[0][name] != digests[1][name]) if same else []


def _create_folder_with_header(path: Path, name: str, told: Mapping[str, Any], what: str) -> None:
    """Make a folder whose file `name` says what it is. Raises ResultsError if it cannot be written or holds anything else."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        _require_empty_folder(path, name, what)
        write_if_absent(path / name, to_json_bytes(told))
    except OSError as error:
        raise ResultsError(f"cannot write to {path}: {error.strerror or error}") from None


def _require_empty_folder(path: Path, name: str, what: str) -> None:
    """Nothing may be there but the file that another process is writing at this moment."""
    strange = [entry.name for entry in path.iterdir() if not entry.name.startswith(f".{name}.")]
    refuse_foreign_files(path, [] if (path / name).exists() else strange, what)


def _describe_foreign_folder(path: Path) -> str:
    """What a folder is in place of a run's, and what to do with it."""
    for name, told in _OTHER_KINDS_OF_FOLDER.items():
        if (path / name).is_file():
            return told
    return f"{_HEADER_FILE} is missing; fix: name a folder that a run has written"


def _read_run_header(path: Path) -> dict[str, Any]:
    if not (path / _HEADER_FILE).exists():
        raise ResultsError(f"{path} is not a results folder: {_describe_foreign_folder(path)}")
    return read_json_object(path / _HEADER_FILE, "fix: run the scenario into another folder")
