"""The process of a box, with a program of ours in the kernel's place."""

import os
import threading
from pathlib import Path
from time import monotonic

import pytest

import ecnlab
from ecnlab.errors import TierError, UsageError
from ecnlab.jobs import FailedElsewhere
from ecnlab.tiers.box import console, kernels, machine, room
from ecnlab.tiers.boxed import Boxed


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(machine, "PROGRAM", Path(__file__))
    monkeypatch.setattr(machine, "_LOOK_EVERY_S", 0.05)
    return tmp_path / "cache" / "jobs"


def program(folder: Path, text: str) -> kernels.Box:
    """A box whose kernel is this script."""
    made = folder / "kernel" / kernels.PROGRAM
    made.parent.mkdir()
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return kernels.Box(made.parent, {"kernel": "6.1", "built_s": 0})


HANGS = "echo it stands still; echo 'box: at 1.5'; exec sleep 600"


def test_a_box_that_hangs_is_stopped_at_either_limit_and_says_what_it_said_last(home: Path, tmp_path: Path) -> None:
    box = program(tmp_path, HANGS)
    began = monotonic()
    with (
        pytest.raises(machine.Crashed, match=r"has taken more than 0.4 s and was stopped at 1.5 s; it said last:\nit stands still"),
        machine.Machine(box, limit_s=0.4).run({}, 1),
    ):
        pass
    with (
        pytest.raises(machine.Crashed, match=r"has not gone on for 0.4 s and was stopped at 1.5 s"),
        machine.Machine(box, silence_s=0.4).run({}, 1),
    ):
        pass
    assert monotonic() - began < 30
    assert not list(home.glob(".job*"))


def test_a_box_that_hangs_is_stopped_by_who_watches(home: Path, tmp_path: Path) -> None:
    told: list[float] = []

    def watch(over: float) -> bool:
        told.append(over)
        return len(told) > 4

    with pytest.raises(machine.Stopped), machine.Machine(program(tmp_path, HANGS)).run({}, 1, watch):
        pass
    assert told == sorted(told)
    assert told[-1] == 1.5


def test_a_box_that_goes_on_is_let_be(home: Path, tmp_path: Path) -> None:
    works = "for at in 1 2 3 4 5 6; do echo box: at $at; sleep 0.1; done; echo '[7]' > result.json"
    with machine.Machine(program(tmp_path, works), silence_s=5).run({}, 1) as done:
        assert done.result == [7]
    assert machine.silence(2.0) == 80


def test_who_ends_a_box_from_outside_is_not_taken_for_a_fault_of_ours(home: Path, tmp_path: Path) -> None:
    box = program(tmp_path, "kill -KILL $$")
    with pytest.raises(TierError, match=r"ended from outside, by SIGKILL: .*memory"), machine.Machine(box).run({}, 1):
        pass
    box.program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    with pytest.raises(machine.Crashed, match="has ended by SIGSEGV"), machine.Machine(box).run({}, 1):
        pass
    box.program.write_bytes(b"")
    with pytest.raises(TierError, match=r"linux cannot be started: .* `ecnlab doctor`"), machine.Machine(box).run({}, 1):
        pass


@pytest.mark.parametrize("result", ["{", "[" * 5000, "\\377"])
def test_a_result_that_is_no_json_is_a_crash_with_what_was_said(home: Path, tmp_path: Path, result: str) -> None:
    box = program(tmp_path, f"printf '{result}' > \"$ECNLAB_BOX_JOB/result.json\"; echo it has ended")
    with pytest.raises(machine.Crashed, match=r"is not JSON; it said last:\nit has ended"), machine.Machine(box).run({}, 1):
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
    class Tier(Boxed):
        _box = program(tmp_path, f"printf '%s' '{result}' > \"$ECNLAB_BOX_JOB/result.json\"")  # type: ignore[assignment]

    scenario = ecnlab.load(Path(__file__).parents[2] / "examples" / "codel.toml")
    with pytest.raises(FailedElsewhere, match="neither a run nor a refusal"):
        Tier().run(scenario, 1, None, None)


def test_a_console_gives_lines_whole_and_tells_of_silence() -> None:
    origin, to = os.pipe()

    def write() -> None:
        os.write(to, b"one\ntwo \nthr")
        os.write(to, b"ee")
        os.close(to)

    threading.Timer(0.2, write).start()
    told = list(console.lines(origin, 0.05))
    os.close(origin)
    assert told[0] is None
    assert [line for line in told if line is not None] == ["one", "two", "three"]


def test_a_folder_for_jobs_that_is_not_the_users_alone_is_refused(home: Path, tmp_path: Path) -> None:
    assert room.home() == home
    assert home.stat().st_mode & 0o777 == 0o700
    home.chmod(0o777)
    with pytest.raises(TierError, match="others may write to"):
        room.home()
    home.rmdir()
    (tmp_path / "elsewhere").mkdir()
    home.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TierError, match="is a link"):
        room.home()
    home.unlink()
    home.write_text("")
    with pytest.raises(TierError, match="ECNLAB_CACHE names another place"):
        room.home()


@pytest.mark.parametrize("given", [0, -1.0, float("inf"), float("nan"), 1e9, True, "1"])
def test_times_of_a_tier_are_finite_and_above_0(given: object) -> None:
    with pytest.raises(UsageError, match="limit_s"):
        ecnlab.Boxed(limit_s=given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="lateness_budget_s"):
        ecnlab.Live(lateness_budget_s=given)  # type: ignore[arg-type]
