"""The process of a UML process, with a program of ours in the kernel's place."""

import gzip
import os
import re
import threading
from pathlib import Path
from time import monotonic

import pytest

import ecnlab
from ecnlab import _core
from ecnlab.backends.uml import console, kernels, process, tmpdir
from ecnlab.backends.uml.backend import Uml
from ecnlab.errors import BackendError, RemoteRunFailed, UsageError

pytestmark = pytest.mark.real_time


PROGRAM = f"ecnlab guest of {_core.BUILD}{_core.EMULATOR}{_core.GUEST}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECNLAB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "guest.so.gz").write_bytes(gzip.compress(PROGRAM.encode()))
    monkeypatch.setattr(process, "GUEST_PROGRAM", tmp_path / "guest.so.gz")
    monkeypatch.setattr(process, "_WATCH_INTERVAL_S", 0.05)
    return tmp_path / "cache" / "jobs"


def program(folder: Path, text: str) -> kernels.BuiltKernel:
    """A UML process whose kernel is this script."""
    made = folder / "kernel" / kernels.KERNEL_FILE
    made.parent.mkdir()
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return kernels.BuiltKernel(made.parent, {"kernel": "6.1", "built_s": 0})


HANGING_PROGRAM = "echo it stands still; echo 'guest: at 1.5'; exec sleep 600"


def test_a_process_that_hangs_is_stopped_at_either_limit_with_its_last_output(home: Path, tmp_path: Path) -> None:
    image = program(tmp_path, HANGING_PROGRAM)
    began = monotonic()
    with (
        pytest.raises(process.UmlCrashed, match=r"was stopped at 1.5 s, after limit_s = 0.4 s; its last output:\nit stands still"),
        process.UmlJobRunner(image, limit_s=0.4).run({}, 1),
    ):
        pass
    with (
        pytest.raises(process.UmlCrashed, match=r"was stopped at 1.5 s: no progress for 0.4 s"),
        process.UmlJobRunner(image, silence_s=0.4).run({}, 1),
    ):
        pass
    assert monotonic() - began < 30
    assert not list(home.glob(".job*"))


def test_a_process_that_hangs_is_stopped_by_its_watch(home: Path, tmp_path: Path) -> None:
    told: list[float] = []

    def watch(over: float) -> bool:
        told.append(over)
        return len(told) > 4

    with pytest.raises(process.UmlStoppedByCallback), process.UmlJobRunner(program(tmp_path, HANGING_PROGRAM)).run({}, 1, watch):
        pass
    assert told == sorted(told)
    assert told[-1] == 1.5


def test_a_process_with_progress_is_not_stopped(home: Path, tmp_path: Path) -> None:
    works = "for at in 1 2 3 4 5 6; do echo guest: at $at; sleep 0.1; done; echo '[7]' > result.json"
    with process.UmlJobRunner(program(tmp_path, works), silence_s=5).run({}, 1) as done:
        assert done.result == [7]
    assert process.silence_timeout_s(2.0) == 80


def test_a_kill_from_outside_is_not_an_engine_fault(home: Path, tmp_path: Path) -> None:
    image = program(tmp_path, "kill -KILL $$")
    with pytest.raises(BackendError, match=r"was killed by SIGKILL: .*memory"), process.UmlJobRunner(image).run({}, 1):
        pass
    image.kernel_image_path.write_text("#!/bin/sh\nkill -SEGV $$\n")
    with pytest.raises(process.UmlCrashed, match="ended by SIGSEGV"), process.UmlJobRunner(image).run({}, 1):
        pass
    image.kernel_image_path.write_bytes(b"")
    with pytest.raises(BackendError, match=r"linux: cannot be started: .*; fix: run ecnlab doctor"), process.UmlJobRunner(image).run({}, 1):
        pass


def test_the_program_of_the_package_is_unpacked_into_the_folder_of_the_job(home: Path, tmp_path: Path) -> None:
    image = program(tmp_path, f'test "$(cat guest.so)" = "{PROGRAM}" && echo "[\\"$*\\"]" > result.json')
    with process.UmlJobRunner(image).run({}, 1) as done:
        assert "box=./guest.so" in done.result[0].split()


@pytest.mark.parametrize(
    ("builds", "found"),
    [
        ("0" * 48, "-".join(["0" * 16] * 3)),
        (f"{_core.BUILD}{_core.EMULATOR}{'0' * 16}", f"{_core.BUILD}-{_core.EMULATOR}-{'0' * 16}"),
        (f"{_core.BUILD}{_core.EMULATOR}", "unknown"),
    ],
    ids=["of another engine", "of other sources of its own", "of an earlier version"],
)
def test_a_guest_program_of_another_build_is_refused_before_the_kernel_starts(home: Path, tmp_path: Path, builds: str, found: str) -> None:
    (tmp_path / "guest.so.gz").write_bytes(gzip.compress(f"ELF ecnlab guest of {builds}.".encode()))
    started = tmp_path / "started"
    image = program(tmp_path, f"touch {started}")
    with (
        pytest.raises(BackendError, match=rf"is of build {found}, and the engine of \w+-\w+-\w+; fix: "),
        process.UmlJobRunner(image).run({}, 1),
    ):
        pass
    assert not started.exists()


@pytest.mark.parametrize("damage", ["truncated", "not gzip", "other bytes", "empty", "a folder"])
def test_a_damaged_guest_program_is_one_error_with_its_fix(home: Path, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "guest.so.gz"
    whole = file.read_bytes()
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    else:
        middle = len(whole) // 2
        other = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
        file.write_bytes({"truncated": whole[:-9], "not gzip": b"ELF", "other bytes": other, "empty": b""}[damage])
    with (
        pytest.raises(
            BackendError, match=rf"^{re.escape(str(file))}: the guest program .*; fix: delete it, then run `make setup guest` in "
        ),
        process.UmlJobRunner(program(tmp_path, "exit 1")).run({}, 1),
    ):
        pass
    assert process.builds_named_in_guest_program() is None


@pytest.mark.parametrize("result", ["{", "[" * 5000, "\\377"])
def test_a_result_that_is_not_json_is_a_crash_with_the_last_output(home: Path, tmp_path: Path, result: str) -> None:
    image = program(tmp_path, f"printf '{result}' > \"$ECNLAB_GUEST_JOB/result.json\"; echo it has ended")
    with pytest.raises(process.UmlCrashed, match=r"is not JSON; its last output:\nit has ended"), process.UmlJobRunner(image).run({}, 1):
        pass


@pytest.mark.parametrize(
    "result",
    [
        "{}",
        "[]",
        '{"refused": 3}',
        '{"refused": [["link", null]]}',
        '{"refused": [[1, null, "no"]]}',
        '{"fingerprint": "0", "events": 1, "packet_hops": 1, "tables": {"total": [["x", "count", "0", []]]}, "about": {}}',
        '{"fingerprint": "0", "events": "1", "packet_hops": 1, "tables": {}, "about": {}}',
    ],
)
def test_a_result_that_is_neither_a_run_nor_a_refusal_is_a_failure_of_the_run(home: Path, tmp_path: Path, result: str) -> None:
    class Backend(Uml):
        _chosen_kernel = program(tmp_path, f"printf '%s' '{result}' > \"$ECNLAB_GUEST_JOB/result.json\"")  # type: ignore[assignment]

    scenario = ecnlab.load(Path(__file__).parents[3] / "examples" / "codel.toml")
    with pytest.raises(RemoteRunFailed, match="neither a run nor a refusal"):
        Backend().run(scenario, 1, None, None)


def test_console_yields_whole_lines_and_none_after_a_timeout() -> None:
    origin, to = os.pipe()

    def write() -> None:
        os.write(to, b"one\ntwo \nthr")
        os.write(to, b"ee")
        os.close(to)

    threading.Timer(0.2, write).start()
    told = list(console.lines_or_none_on_timeout(origin, 0.05))
    os.close(origin)
    assert told[0] is None
    assert [line for line in told if line is not None] == ["one", "two", "three"]


def test_a_folder_for_jobs_that_is_not_the_users_alone_is_refused(home: Path, tmp_path: Path) -> None:
    assert tmpdir.uml_jobs_folder() == home
    assert home.stat().st_mode & 0o777 == 0o700
    home.chmod(0o777)
    with pytest.raises(BackendError, match="others may write to"):
        tmpdir.uml_jobs_folder()
    home.rmdir()
    (tmp_path / "elsewhere").mkdir()
    home.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BackendError, match="is a link"):
        tmpdir.uml_jobs_folder()
    home.unlink()
    home.write_text("")
    with pytest.raises(BackendError, match="set ECNLAB_CACHE to another folder"):
        tmpdir.uml_jobs_folder()


@pytest.mark.parametrize("given", [0, -1.0, float("inf"), float("nan"), 1e9, True, "1"])
def test_times_of_a_backend_are_finite_and_above_0(given: object) -> None:
    with pytest.raises(UsageError, match="limit_s"):
        ecnlab.Uml(limit_s=given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="lateness_budget_s"):
        ecnlab.Live(lateness_budget_s=given)  # type: ignore[arg-type]
