"""Temporary files belong to the process that writes them until it ends: no process of any PID namespace removes them before."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import ecnlab
from ecnlab.storage import atomic

PYTHON = {**os.environ, "PYTHONPATH": str(Path(ecnlab.__file__).parent.parent)}

# Holds a temporary file and a folder, prints that, and waits for its end.
HOLDING_SCRIPT = """
import os, signal, sys
from pathlib import Path
from ecnlab.storage import atomic

place = Path(sys.argv[1])
file = atomic.locked_temporary_path(atomic.partial_path(place / "summary.json"))
folder = atomic.locked_temporary_path(atomic.partial_path(place / "build"), folder=True)
file.__enter__().write_text("half")
(folder.__enter__() / "half").write_text("half")
if sys.argv[2] == "fork" and os.fork() == 0:
    os.write(1, f"{os.getpid()}\\n".encode())
else:
    os.write(1, b"ready\\n")
signal.pause()
"""
CLEANUP_SCRIPT = (
    "import sys; from pathlib import Path; from ecnlab.storage import atomic; atomic.remove_abandoned_partials(Path(sys.argv[1]))"
)


@contextmanager
def _start_holder(place: Path, how: str = "") -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """A process that holds a temporary file and a folder, and its output."""
    command = [sys.executable, "-c", HOLDING_SCRIPT, str(place), how]
    with subprocess.Popen(command, env=PYTHON, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, [process.stdout.readline().strip() for _ in range(2 if how == "fork" else 1)]
        finally:
            process.kill()


def _in_pid_namespace() -> list[str]:
    """A command that runs another one in a PID namespace. Skips where the system permits none."""
    for command in (["unshare", "-Urpf", "--mount-proc"], ["unshare", "-pf", "--mount-proc"]):
        try:
            if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
                return command
        except FileNotFoundError:
            pytest.skip("there is no unshare, which makes PID namespaces")
    pytest.skip("the system permits no PID namespaces")


def _entry_names(place: Path) -> list[str]:
    return sorted(entry.name.split(".")[1] for entry in place.iterdir())


def test_work_of_another_pid_namespace_stays_while_it_lives_and_goes_when_it_was_killed(tmp_path: Path) -> None:
    remove_abandoned = [*_in_pid_namespace(), sys.executable, "-c", CLEANUP_SCRIPT, str(tmp_path)]
    with _start_holder(tmp_path) as (process, _):
        subprocess.run(remove_abandoned, env=PYTHON, check=True)
        assert _entry_names(tmp_path) == ["build", "summary"]
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert _entry_names(tmp_path) == ["build", "summary"]
        subprocess.run(remove_abandoned, env=PYTHON, check=True)
        assert _entry_names(tmp_path) == []


def test_a_forked_process_that_outlives_the_writer_does_not_keep_its_work(tmp_path: Path) -> None:
    with _start_holder(tmp_path, "fork") as (process, said):
        process.send_signal(signal.SIGKILL)
        process.wait()
        (child,) = (int(word) for word in said if word != "ready")
        try:
            os.kill(child, 0)
            atomic.remove_abandoned_partials(tmp_path)
            assert _entry_names(tmp_path) == []
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_forked_process_does_not_remove_its_parents_work(tmp_path: Path) -> None:
    with atomic.locked_temporary_path(atomic.partial_path(tmp_path / "x"), folder=True) as partial:
        child = os.fork()
        if child == 0:
            try:
                atomic.remove_abandoned_partials(tmp_path)
            finally:
                os._exit(len(atomic._HELD_LOCKS))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert partial.exists()


def test_work_of_another_thread_stays_and_goes_at_its_end(tmp_path: Path) -> None:
    made, may_end = Event(), Event()

    def work() -> None:
        with atomic.locked_temporary_path(atomic.partial_path(tmp_path / "x")):
            made.set()
            may_end.wait()

    thread = Thread(target=work)
    thread.start()
    made.wait()
    atomic.remove_abandoned_partials(tmp_path)
    assert _entry_names(tmp_path) == ["x"]
    may_end.set()
    thread.join()
    assert _entry_names(tmp_path) == []


@pytest.mark.parametrize("folder", [False, True])
def test_a_partial_file_removed_before_it_is_locked_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool) -> None:
    fcntl = pytest.importorskip("fcntl", reason="needs locks of files")
    flock, removed = fcntl.flock, []

    def late(handle: int, how: int) -> None:
        if how == fcntl.LOCK_EX and len(removed) < 3:  # another process cleans up between creation and lock
            monkeypatch.setattr(fcntl, "flock", flock)
            atomic.remove_abandoned_partials(tmp_path)
            monkeypatch.setattr(fcntl, "flock", late)
            removed.append(_entry_names(tmp_path) == [])
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with atomic.locked_temporary_path(atomic.partial_path(tmp_path / "x"), folder=folder) as partial:
        assert removed == [True] * 3
        assert partial.is_dir() == folder
        assert partial.exists()
        atomic.remove_abandoned_partials(tmp_path)
        assert partial.exists()


def test_without_locks_files_are_written_and_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl", reason="needs locks of files")

    def raise_os_error(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", raise_os_error)
    atomic.write_atomically(tmp_path / "x", b"whole")
    left = tmp_path / f".y.{atomic.unique_writer_name()}.partial"
    left.write_text("half")
    atomic.remove_abandoned_partials(tmp_path)
    assert (tmp_path / "x").read_bytes() == b"whole"
    assert left.exists()


def test_what_has_been_renamed_stays(tmp_path: Path) -> None:
    with atomic.locked_temporary_path(atomic.partial_path(tmp_path / "x"), folder=True) as partial:
        (partial / "a").write_text("a")
        partial.rename(tmp_path / "x")
    assert (tmp_path / "x" / "a").read_text() == "a"
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]
    assert not atomic._HELD_LOCKS
