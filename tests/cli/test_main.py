"""The command as a process: its imports, its output to unusual files, and its interruption."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import ecnlab
from ecnlab import _core
from ecnlab.cli.root import COMMANDS
from helpers import EXAMPLES, Outcome

Command = Callable[..., Outcome]
ECNLAB = [sys.executable, "-m", "ecnlab"]
HEAVY_LIBRARIES = {"polars", "numpy", "scipy", "matplotlib", "jinja2"}


def _run_command(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ECNLAB, *map(str, arguments)], capture_output=True, encoding="utf-8", check=False, **options)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["list"], ["show", "red"], ["show", "aecn"], ["study", "list"], ["schema"], ["run", "FILE", "--seed", "2"]],
    ids=" ".join,
)
def test_what_must_answer_at_once_imports_nothing_heavy(arguments: list[str], small_file: Path, tmp_path: Path) -> None:
    code = "import sys, ecnlab.cli\ntry:\n    ecnlab.cli.main()\nfinally:\n    print('modules', *sys.modules, file=sys.stderr)"
    words = [str(small_file) if word == "FILE" else word for word in arguments]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, encoding="utf-8", cwd=tmp_path, check=True)
    modules = done.stderr.splitlines()[-1].split()
    assert "ecnlab.cli" in modules
    assert HEAVY_LIBRARIES & set(modules) == set()


def test_old_commands_are_refused_with_the_new_ones(command: Command) -> None:
    renamed = {
        ("check", "red"): "test-aqm",
        ("box", "list"): "uml",
        ("uml", "build"): "uml build-kernel",
        ("trace", "check", "x"): "trace verify",
    }
    for words, new in renamed.items():
        refused = command(*words)
        assert (refused.code, f"; fix: run ecnlab {new}" in refused.err) == (2, True)
    refused = command("shell", "--enter", "1")
    assert (refused.code, "fix: run ecnlab shell attach PID" in refused.err) == (2, True)


def test_the_version_names_the_build_of_the_engine(command: Command) -> None:
    assert command("--version").out == f"ecnlab {_core.VERSION} (build {_core.BUILD})\n"


def test_the_help_names_every_command_in_one_line(command: Command) -> None:
    lines = command("--help").out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS)
    assert not any(line.endswith("...") for line in lines)


@pytest.mark.parametrize("arguments", [["rum"], ["--versoin"], ["list", "aqm", "tcp"], ["run"], ["run", "x.toml", "--threads", "0"]])
def test_an_invalid_command_is_refused_with_exit_code_2(command: Command, arguments: list[str]) -> None:
    done = command(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "ecnlab" in done.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_asks_ecnlab(command: Command, shell: str) -> None:
    assert "_ECNLAB_COMPLETE" in command("completion", shell).out


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("ecnlab va", {"validate"}),
        ("ecnlab show aec", {"aecn"}),
        ("ecnlab show linux-", {"linux-2.0", "linux-2.2", "linux-6.1", "linux-7.2", "linux-red"}),
        ("ecnlab list a", {"aqm", "app"}),
        ("ecnlab show flows", {"flows", "flows.access", "flows.exit", "flows.udp"}),
        ("ecnlab study run a", {"aecn", "amecn"}),
        ("ecnlab study run aecn --figure 5.4", {"5.4", "5.40", "5.41", "5.42", "5.43", "5.44"}),
        ("ecnlab run x.toml --see", {"--seed", "--seeds"}),
    ],
)
def test_commands_options_and_names_are_completed(line: str, completed: set[str]) -> None:
    asked = {"_ECNLAB_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = _run_command(env=os.environ | asked)
    assert {answer.split(",")[1] for answer in done.stdout.splitlines()} == completed


def test_a_full_disk_is_one_line_and_exit_code_2() -> None:
    for arguments in (["list"], ["--help"], ["schema"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([*ECNLAB, *arguments], stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False)
        assert (done.returncode, done.stderr) == (2, "cannot write to standard output: No space left on device\n")


def test_a_removed_working_directory_is_one_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd '{gone}' && rmdir '{gone}' && exec {shlex.join(ECNLAB)} shell --rate 1Gbps -- true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 2
    assert "standard output" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_closed_output_pipe_causes_no_message() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run([*ECNLAB, "list"], stdout=writes, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    os.close(writes)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_closed_output_takes_everything() -> None:
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(["bash", "-c", f'"$@" {closed}', "-", *ECNLAB, "list"], capture_output=True, encoding="utf-8", check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_an_output_without_the_signs_is_written_in_others(small_file: Path, tmp_path: Path) -> None:
    named = ["--set", "flows.near.name=nähe"]
    done = _run_command("run", small_file, *named, "--seeds", "2", cwd=tmp_path, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "small: 2 seeds, mean +- 95 % interval" in done.stdout
    assert "n\\xe4he" in done.stdout
    assert done.stdout.isascii()


@pytest.mark.parametrize("name", ["[/nope]", "ECN [draft 3]", "a$\\frac$b", "_hidden", "a/b", "网络", "x" * 70])
def test_a_name_is_printed_as_it_is(name: str, small_file: Path, tmp_path: Path) -> None:
    keys = ("name", "flows.near.name", "link.bottleneck.name")
    changes = [part for key in keys for part in ("--set", f"{key}={json.dumps(name, ensure_ascii=False)}")]
    done = _run_command("run", small_file, *changes, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name}: 1 seed\n")
    assert done.stdout.replace("\n", " ").count(name[:8]) >= 3


@pytest.mark.real_time
def test_ctrl_c_ends_a_run_with_exit_code_130_and_says_how_to_go_on(tmp_path: Path) -> None:
    begun = subprocess.Popen(
        [*ECNLAB, "run", EXAMPLES / "ecn.toml", "--set", "duration=10 h", "--seeds", "2", "--out", "r"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    while not (tmp_path / "r" / "run.json").exists():
        assert begun.poll() is None, begun.communicate()
        time.sleep(0.01)
    begun.send_signal(signal.SIGINT)
    out, err = begun.communicate(timeout=30)
    assert (begun.returncode, out) == (130, "")
    assert err == "interrupted: 0 of 2 runs had finished; finished runs are in r; the same command continues from there\n"


@pytest.mark.real_time
def test_ctrl_c_takes_effect_while_a_large_scenario_is_read(large_file: Path, tmp_path: Path) -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    begun = subprocess.Popen([*ECNLAB, "run", "-", "--out", tmp_path / "r"], encoding="utf-8", **pipes)  # type: ignore[call-overload]
    with begun.stdin as scenario:  # closed when nearly all has been taken
        scenario.write(large_file.read_text())
    begun.stdin = None
    begun.send_signal(signal.SIGINT)
    out, err = begun.communicate(timeout=30)
    assert (begun.returncode, out, err) == (130, "", "interrupted\n")
    assert not (tmp_path / "r").exists()


_INTERRUPTED_SCRIPT = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.argv[1] = ""
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from ecnlab.cli import main
main()
"""


@pytest.mark.parametrize("module", ["click", "ecnlab.errors", "ecnlab.cli.root", "ecnlab.cli.table"])
def test_ctrl_c_during_the_import_of_the_command_is_reported_in_one_word(module: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(ecnlab.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", _INTERRUPTED_SCRIPT, module], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_a_second_ctrl_c_finds_no_import_to_interrupt() -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(ecnlab.__file__).parent.parent)}
    script = _INTERRUPTED_SCRIPT.replace("if name == sys.argv[1]:", "if name == sys.argv[1] or not sys.argv[1]:")
    done = subprocess.run([sys.executable, "-c", script, "ecnlab.errors"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_ctrl_c_is_handled_before_any_import() -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(ecnlab.__file__).parent.parent)}
    code = "import sys; before = set(sys.modules); import ecnlab.cli; print(*sorted(set(sys.modules) - before - {'__future__'}))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - set(sys.builtin_module_names) == {"ecnlab", "ecnlab.cli"}
