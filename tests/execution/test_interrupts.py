"""Ctrl-C where a hook of a user's AQM never returns: the first requests the end, the second ends the process."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ecnlab

pytestmark = pytest.mark.real_time

STUCK_AQM = """\
import sys
from pathlib import Path
from threading import Thread, current_thread
from time import sleep

import ecnlab as lab


def watch(worker, marker):
    \"\"\"Leaves a mark once the engine, and no compiler, has had the thread for a while.\"\"\"
    often = 0
    while often < 25:
        sleep(0.02)
        frame = sys._current_frames()[worker]
        names = []
        while frame is not None:
            names.append(frame.f_code.co_filename)
            frame = frame.f_back
        often = 0 if any("numba" in name for name in names) else often + 1
    Path(marker).touch()


class Stuck(lab.Aqm{compiled}):
    def on_start(self):
        self.count = 0
        if not Path("begun").exists():
            Path("begun").touch()
            Thread(target=watch, args=(current_thread().ident, "stuck"), daemon=True).start()

    def on_arrival(self, arrival):
        self.count = 1
        while arrival.now_s >= {since} and self.count > 0:
            self.count += 1
        return lab.PASS
"""
# The command, with little patience.
INTERRUPTIBLE_COMMAND = "from ecnlab.execution import interrupts; interrupts.HOOK_TIMEOUT_S = {}; from ecnlab.cli import main; main()"


def _start_command(folder: Path, *words: str, patience_s: float = 0.3) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": str(Path(ecnlab.__file__).parent.parent)}
    command = [sys.executable, "-c", INTERRUPTIBLE_COMMAND.format(patience_s), *words]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _wait_until_stuck(folder: Path, process: "subprocess.Popen[str]") -> None:
    while not (folder / "stuck").exists():
        assert process.poll() is None, process.communicate()


@pytest.mark.parametrize(("compiled", "hook"), [("", r"on_arrival \(stuck_aqm\.py:(?:31|32)\)"), (", compiled=True", "a compiled hook")])
def test_a_run_whose_hook_never_returns_ends_with_the_second_ctrl_c_and_keeps_what_had_finished(
    small_file: Path, tmp_path: Path, compiled: str, hook: str
) -> None:
    (tmp_path / "stuck_aqm.py").write_text(STUCK_AQM.format(compiled=compiled, since=5))
    queue = 'link.bottleneck.queue={ aqm = "Stuck", limit = 60 }'
    words = ("run", str(small_file), "--aqm", "stuck_aqm.py:Stuck", "--set", queue, "--out", "r", "--seed", "7")
    with _start_command(tmp_path, *words, "--trace", "run.tr") as process:
        _wait_until_stuck(tmp_path, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.readline()
        while "has not returned" not in said:
            said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate()
    assert process.returncode == 130
    time_s = re.fullmatch(
        rf"{hook} has not returned for 0\.3 s: seed 7, (?:after|at) t = (\S+) s; press Ctrl-C again to end the process\n", said
    )
    assert time_s, said
    if compiled:
        assert float(time_s[1]) <= 5.1
    else:  # the time of the hook's packet
        assert 5 <= float(time_s[1]) < 5.1
    assert "interrupted: 0 of 1 runs had finished" in rest
    assert "Traceback" not in rest
    assert out == ""
    assert not (tmp_path / "run.tr").exists()
    assert json.loads((tmp_path / "r" / "run.json").read_text())["name"] == "small"
    assert {path.name for path in (tmp_path / "r").iterdir()} == {"run.json"}


def test_a_check_whose_compiled_hook_never_returns_ends_with_the_second_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "stuck_aqm.py").write_text(STUCK_AQM.format(compiled=", compiled=True", since=0))
    with _start_command(tmp_path, "test-aqm", "stuck_aqm.py:Stuck") as process:
        _wait_until_stuck(tmp_path, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline() == "a compiled hook has not returned for 0.3 s; press Ctrl-C again to end the process\n"
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate()
    assert (process.returncode, out, rest) == (130, "", "interrupted\n")


def test_ctrl_c_in_a_checked_hook_is_not_an_error_of_the_aqm(tmp_path: Path) -> None:
    (tmp_path / "stuck_aqm.py").write_text(STUCK_AQM.format(compiled="", since=0))
    with _start_command(tmp_path, "test-aqm", "stuck_aqm.py:Stuck", patience_s=600) as process:
        _wait_until_stuck(tmp_path, process)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate()
    assert (process.returncode, out, said) == (130, "", "interrupted\n")


_RESUMED_SCRIPT = """\
import atexit
import signal
import sys
from threading import Event, Thread, Timer
from time import sleep

from ecnlab.execution import interrupts

stop = Event()
atexit.register(lambda: print("the script's handler has run", flush=True))
thread = Thread(target=stop.wait, daemon=True)
thread.start()
Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
assert not interrupts.join_threads_interruptibly([thread], lambda: ["on_arrival"])
{end}
sys.exit(3)
"""


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [("stop.set()\nwhile thread.ident in sys._current_frames():\n    sleep(0.01)", 3, "the script's handler has run\n"), ("", 130, "")],
    ids=["thread has ended", "thread is alive"],
)
def test_a_script_that_goes_on_after_ctrl_c_ends_by_force_only_while_a_thread_is_in_the_engine(end: str, code: int, said: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(ecnlab.__file__).parent.parent)}
    words = [sys.executable, "-c", _RESUMED_SCRIPT.format(end=end)]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, said, "")
