"""Fuzz targets of the Python package: what reads bytes that other processes have written.

    targets.py list                    names, and the longest input that is tried
    targets.py NAME [libFuzzer's]      runs a target with atheris, which brings libFuzzer for Python

A target takes any bytes. An error of ecnlab's own is an answer; any other exception fails it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import struct
import sys
from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

LONGEST = {
    "batch_json": 2048,
    "batch_fields": 16,
    "scenarios_json": 1024,
    "uml_result": 1024,
    "uml_fields": 16,
    "uml_console": 256,
    "live_frames": 128,
}


def batch_json(data: bytes) -> None:
    """`batch.json` of a batch whose tables are sound: its runs are read, or the batch is damaged."""
    from ecnlab.errors import ResultsError
    from ecnlab.storage.segments import StoredBatch

    with contextlib.suppress(ResultsError):
        batch = StoredBatch.open(_folder({"batch.json": data}))  # type: ignore[arg-type]
        batch.is_whole()
        for part in batch.parts:
            for name in part.table_names:
                with contextlib.suppress(FileNotFoundError):
                    part.read(name)


def batch_fields(data: bytes) -> None:
    """As `batch_json`, of a sound one in which some values are others."""
    batch_json(_edited(json.loads(_sound_batch()["batch.json"]), data))


def scenarios_json(data: bytes) -> None:
    """`scenarios.json` of a sound batch."""
    from ecnlab.errors import ResultsError
    from ecnlab.storage.segments import StoredBatch, _read_scenarios

    batch = StoredBatch.open(_folder({"scenarios.json": data}))  # type: ignore[arg-type]
    with contextlib.suppress(ResultsError):
        assert isinstance(_read_scenarios(batch), dict)
    batch.is_whole()


def uml_result(data: bytes) -> None:
    """`result.json` as the guest program has written it: a run, or a failure that names the UML kernel."""
    from ecnlab.errors import RemoteRunFailed

    with contextlib.suppress(RemoteRunFailed):
        ran_on_uml(data)


def uml_fields(data: bytes) -> None:
    """As `uml_result`, of a sound one in which some values are others."""
    uml_result(_edited(json.loads(_RESULT), data))


def uml_console(data: bytes) -> None:
    """Bytes that the guest program writes to its console."""
    from ecnlab.backends.uml import console, process

    reader, writer = os.pipe()
    try:
        os.write(writer, data[:4096])
    finally:
        os.close(writer)
    try:
        for line in console.lines_or_none_on_timeout(reader, 1.0):
            assert line is not None
            process._parse_progress_seconds(line)
    finally:
        os.close(reader)


def live_frames(data: bytes) -> None:
    """Lengths before messages of a run's child process. The messages are pickles that our own process writes; none is read here."""
    from ecnlab.backends import live

    pipe = io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]
    loads = live.pickle.loads
    live.pickle.loads = lambda _: None  # type: ignore[assignment]
    try:
        while True:
            live.receive_message(pipe)
    except EOFError:
        pass
    finally:
        live.pickle.loads = loads


_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 4, 1 << 31, 1 << 64, 0.5, -1e308, 1e308, "", "a", "total", "1", "-1", "\ud800", "0" * 64, [], {}, [[]],
    [0, 0], {"1": {}}, {"": 0}, ["total"], ["total", "total"], [1, 2, "x"], [["link", None, "no"]],
)  # fmt: skip


def _edited(sound: Any, data: bytes) -> bytes:
    """The JSON of a value in which each two bytes have put another value at a place, or taken it out."""
    places = _places(sound)
    for which, what in zip(data[::2], data[1::2], strict=False):
        if not places:
            break
        at = which % len(places)
        inside, key = places[at]
        end = at + 1 + len(_places(inside[key]))
        if what % (len(_VALUES) + 1) < len(_VALUES):
            inside[key] = deepcopy(_VALUES[what % (len(_VALUES) + 1)])
            places[at + 1 : end] = _places(inside[key])
            continue
        del inside[key]
        if isinstance(inside, list):
            places = _places(sound)  # the members behind it have other places now
        else:
            del places[at:end]
    return json.dumps(sound).encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """All members of a value, each behind the one that holds it. Lists are three times as fast as generators in generators."""
    places: list[tuple[Any, Any]] = []
    if isinstance(value, (dict, list)):
        _add_places(value, places)
    return places


def _add_places(value: Any, places: list[tuple[Any, Any]]) -> None:
    for key, member in value.items() if isinstance(value, dict) else enumerate(value):
        places.append((value, key))
        if isinstance(member, (dict, list)):
            _add_places(member, places)


class _File:
    """A path to files in memory, as far as batches use paths. Two paths to the same bytes are equal, so the package reads a footer once."""

    def __init__(self, files: dict[str, bytes], name: str = "") -> None:
        self._files, self.name = files, name

    def __truediv__(self, name: str) -> _File:
        return _File(self._files, name)

    def __str__(self) -> str:
        return f"batch-1/{self.name}"

    def __hash__(self) -> int:
        return hash((self.name, id(self._files.get(self.name))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _File) and self.name == other.name and self._files.get(self.name) is other._files.get(self.name)

    @property
    def parent(self) -> Path:
        return Path("nowhere")

    def exists(self) -> bool:
        return self.name in self._files

    def read_bytes(self) -> bytes:
        if self.name not in self._files:
            raise FileNotFoundError(2, "No such file", str(self))
        return self._files[self.name]

    def write_text(self, text: str) -> None:
        pass

    def write_bytes(self, data: bytes) -> None:
        pass

    def open(self, mode: str) -> io.BytesIO:
        assert mode == "rb"
        return io.BytesIO(self.read_bytes())


@cache
def _have_memory_read() -> None:
    """Have the package open a `_File` as it opens a stored file on disk."""
    from ecnlab.storage import atomic, folders

    on_disk = atomic.open_regular_file

    def open_regular_file(path: Any) -> Any:
        return path.open("rb") if isinstance(path, _File) else on_disk(path)

    atomic.open_regular_file = folders.open_regular_file = open_regular_file


def _folder(files: dict[str, bytes]) -> _File:
    _have_memory_read()
    return _File(_sound_batch() | files)


@cache
def _sound_batch() -> dict[str, bytes]:
    """The files of a batch of one scenario with two seeds."""
    from ecnlab import _core
    from ecnlab.storage import segments

    runs = [(seed, _core.Table([("x", "real", struct.pack("<d", seed), [])])) for seed in (1, 2)]
    data, extents = _core.write_parquet([("k", runs)], [])
    seed = {"fingerprint": "0", "events": 1, "packet_hops": 1, "cpu_s": 0.5}
    runs = [{"key": "k", "record": {}, "tables": ["total"], "seeds": {"1": seed, "2": seed}}]
    files = {"total": segments._describe_table_file(data, extents)}
    journal = {"format": 1, "build": "b", "merged": [], "scenarios": ["k"], "runs": runs, "files": files}
    return {"batch.json": json.dumps(journal).encode(), "scenarios.json": b'{"k": {"name": "n"}}', "total.parquet": data}


def ran_on_uml(result: bytes) -> Any:
    """A run whose UML process ends at once and has written this result."""
    from ecnlab.backends.uml import process

    backend, scenario = _uml()
    tmpdir = SimpleNamespace(temporary_job_folder=lambda: nullcontext(_File({process.RESULT_FILE: result})), reserve_cpu_core=nullcontext)
    before = process.read_guest_program, process.is_program_current, process.tmpdir, process.UmlJobRunner._run_kernel
    process.read_guest_program, process.is_program_current, process.tmpdir = bytes, lambda: True, tmpdir  # type: ignore[assignment]
    process.UmlJobRunner._run_kernel = lambda *_: (0.0, "nothing")  # type: ignore[method-assign]
    try:
        return backend.run(scenario, 1, None, None)
    finally:
        process.read_guest_program, process.is_program_current, process.tmpdir, process.UmlJobRunner._run_kernel = before  # type: ignore[method-assign]


@cache
def _uml() -> tuple[Any, Any]:
    """A backend on a UML process, and what it asks of a scenario. Nothing here reads the job, and its text takes time, so it is empty."""
    from ecnlab.backends.uml import kernels
    from ecnlab.backends.uml.backend import Uml
    from ecnlab.scenarios.load import scenario_from_toml_text

    class Written(Uml):
        _chosen_kernel = kernels.BuiltKernel(Path("6.1"), {"kernel": "6.1"})  # type: ignore[assignment]

    scenario = scenario_from_toml_text(_SCENARIO)
    return Written(), SimpleNamespace(
        resolved={"flows": []}, name=scenario.name, hash=scenario.hash, source=scenario.source, duration_s=scenario.duration_s
    )


_RESULT = """
{"fingerprint": "0", "events": 1, "packet_hops": 1, "about": {}, "tables":
 {"total": [["x", "count", "0100000000000000", []], ["q", "name", "00000000", ["a"]]], "queues": []}, "refused": []}
"""

_SCENARIO = """
name = "one"
duration = "1 s"
[[link]]
name = "slow"
from = "a"
to = "b"
rate = "1 Mbps"
delay = "5 ms"
[[flows]]
name = "tcp"
from = "a"
to = "b"
tcp = { profile = "linux" }
"""

TARGETS: dict[str, Callable[[bytes], None]] = {
    "batch_json": batch_json,
    "batch_fields": batch_fields,
    "scenarios_json": scenarios_json,
    "uml_result": uml_result,
    "uml_fields": uml_fields,
    "uml_console": uml_console,
    "live_frames": live_frames,
}


def main() -> None:
    """List targets, or fuzz one."""
    if sys.argv[1:] == ["list"]:
        print("\n".join(f"{name} {longest}" for name, longest in LONGEST.items()))
        return
    import atheris

    target = TARGETS[sys.argv.pop(1)]
    # Modules are instrumented while they are imported, which the first execution does.
    with atheris.instrument_imports(include=["ecnlab", "json"]):
        target(b"")
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
