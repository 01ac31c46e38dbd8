import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ecnlab.backends import registry
from helpers import EXAMPLES, SMALL, Outcome

Command = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def _in_temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def my_file(small_file: Path) -> Path:
    path = small_file.with_name("my.toml")
    path.write_text(SMALL.replace("max_p = 0.5", "max_p = 0.1"))
    return path


def test_two_scenarios_are_run_and_compared_with_what_differs_on_top(command: Command, small_file: Path, my_file: Path) -> None:
    done = command("compare", small_file, my_file, "--seeds", "5")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[:3] == ["small: small", "my: small", "what differs between the scenarios"]
    assert "│ link.bottleneck.queue.max_p │   0.5 │ 0.1 │" in lines
    titles = [line.split(",")[0].split(":")[0] for line in lines if line[0].isalpha()]
    assert titles[3:7] == ["in short", "all flows", "groups", "queues"]
    assert "my - small" in done.out
    assert lines[-1].endswith(" tests); --all shows everything")
    assert "adj. p" in done.out
    assert Path("results/store").is_dir()
    assert command("compare", small_file, my_file, "--seeds", "5").out == done.out


def test_b_may_be_a_with_a_change(command: Command, small_file: Path, my_file: Path) -> None:
    expected = json.loads(command("compare", small_file, my_file, "--seeds", "2", "--json").out)
    found = json.loads(command("compare", small_file, "--set", "link.bottleneck.queue.max_p=0.1", "--seeds", "2", "--json").out)
    assert found["differences"] == expected["differences"]
    of_b = command("compare", small_file, my_file, "--set", "link.bottleneck.rate=3 Mbps", "--seeds", "2")
    assert re.search(r"link\.bottleneck\.rate +│ 2 Mbit/s │ 3 Mbit/s", of_b.out)
    alone = command("compare", small_file)
    assert (alone.code, "B: is missing" in alone.err) == (2, True)
    assert command("run", small_file, "--quiet", "--out", "r").code == 0
    stored = command("compare", small_file, "r", "--set", "duration=3 s")
    assert (stored.code, "r is a finished run" in stored.err) == (2, True)


def test_an_aqm_of_one_s_own_is_compared(command: Command, small_file: Path) -> None:
    user_aqms = ["--aqm", f"{EXAMPLES / 'threshold.py'}:Threshold"]
    done = command("compare", small_file, *user_aqms, "--set", 'link.bottleneck.queue={ aqm = "Threshold", limit = 60 }', "--seeds", "2")
    assert done.code == 0, done.err
    assert "│ link.bottleneck.queue.aqm " in done.out
    assert "no queue with the AQM" not in done.err
    assert "no queue with the AQM Threshold" in command("compare", small_file, *user_aqms, "--set", "duration=3 s", "--seeds", "2").err


def test_ten_seeds_are_run_unless_others_are_named(command: Command, small_file: Path, my_file: Path) -> None:
    told = json.loads(command("compare", small_file, my_file, "--json").out)
    assert {row["n"] for row in told["differences"]} == {10}
    told = json.loads(command("compare", small_file, my_file, "--json", "--seed", "3").out)
    assert {row["n"] for row in told["differences"]} == {1}
    assert told["differences"][0]["change_half_width"] is None
    assert told["notes"] == ["one seed: no intervals, and any difference can be chance"]


def test_a_quantity_is_shown_whether_it_is_apart_or_not(command: Command, small_file: Path, my_file: Path) -> None:
    done = command("compare", small_file, my_file, "--seeds", "2", "--quantity", "goodput_bps", "--quantity", "lockouts")
    rows = [line.split("│") for line in done.out.splitlines() if line.startswith("│") and "max_p" not in line]
    assert sorted(row[-8].strip() for row in rows) == ["goodput"] * 3 + ["lockouts"] * 3
    assert command("compare", small_file, my_file, "--seeds", "2", "--quantity", "goodput").code == 2


def test_everything_is_shown_when_asked_for(command: Command, small_file: Path, my_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    told = json.loads(command("compare", small_file, my_file, "--seeds", "2", "--json").out)
    done = command("compare", small_file, my_file, "--seeds", "2", "--all")
    assert sum(line.startswith("│") for line in done.out.splitlines()) == len(told["differences"]) + 1
    assert re.search(
        r"\d+ of \d+ quantities differ at a false discovery rate of 5 % \(Benjamini and Hochberg, \d+ tests\)$", done.out.splitlines()[-1]
    )


def test_results_folders_and_sweeps_are_compared(command: Command, small_file: Path, my_file: Path) -> None:
    for file, out in ((small_file, "a"), (my_file, "b")):
        assert command("run", file, "--seeds", "3", "--out", out, "--quiet").code == 0
        vary = ["--vary", "flows.far.count=1,2", "--seeds", "3", "--out", f"sweep-{out}", "--quiet"]
        assert command("sweep", file, *vary).code == 0
    done = command("compare", "a", "b")
    assert done.code == 0, done.err
    assert "b - a" in done.out
    done = command("compare", "sweep-a", "sweep-b", "--quantity", "goodput_bps")
    assert re.search(r"link\.bottleneck\.queue\.max_p +│ +0\.5 │ +0\.1 ", done.out)
    rows = [line.split("│")[1].strip() for line in done.out.splitlines() if line.startswith("│") and "max_p" not in line]
    assert sorted(rows) == ["1"] * 3 + ["2"] * 3
    done = command("compare", "a", "sweep-b")
    assert (done.code, done.err) == (2, "compare: one side is a sweep and the other is not; fix: name two sweeps\n")
    assert "fix: omit the seeds" in command("compare", "a", "b", "--seeds", "3").err


def test_quiet_and_what_scenarios_warn_of(command: Command, small_file: Path, my_file: Path) -> None:
    odd = small_file.with_name("odd.toml")
    odd.write_text(SMALL.replace("ecn = true", "ecn = false", 1))
    done = command("compare", small_file, odd, "--seeds", "2", "--quiet")
    assert (done.code, done.out) == (0, "")
    assert all(line.startswith("warning: ") for line in done.err.splitlines())


def test_a_scenario_is_compared_with_itself_on_two_backends(command: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._BACKEND_CLASSES, "bench", "bench_backend:Bench")
    done = command("compare", small_file, "--backend", "sim", "--backend", "bench", "--seeds", "2")
    assert done.code == 0, done.err
    assert done.out.splitlines()[:2] == ["sim: small", "bench: small"]
    assert re.search(r"│ backend +│ sim +│ bench \(kernel 6\.1\) │", done.out)
    assert "bench - sim" in done.out
    alone = command("compare", small_file, "--backend", "bench")
    assert (alone.code, "or name two backends, as in --backend sim --backend uml" in alone.err) == (2, True)
    thrice = command("compare", small_file, *["--backend", "sim"] * 3)
    assert (thrice.code, "--backend: is given 3 times" in thrice.err) == (2, True)


def test_one_scenario_twice_differs_in_nothing(command: Command, small_file: Path) -> None:
    done = command("compare", small_file, small_file, "--seeds", "2")
    assert "note: both sides are the same scenario: all differences are chance" in done.out
    assert "0 of " in done.out.splitlines()[-1]


def test_a_warning_names_the_file_and_stands_once(command: Command, small_file: Path) -> None:
    text = SMALL.replace('aqm = "ecn"', 'aqm = "red"')
    small_file.write_text(text)
    line = 1 + next(at for at, line in enumerate(text.splitlines()) if "ecn = true" in line)
    done = command("compare", small_file, "--set", "link.bottleneck.queue.max_p=0.1", "--seeds", "2")
    warnings = [line for line in done.err.splitlines() if line.startswith("warning:")]
    assert warnings[0].startswith(f"warning: {small_file}:{line}: flows."), warnings
    assert len(warnings) == len(set(warnings))


def test_dctcp_differs_by_its_name(command: Command, small_file: Path) -> None:
    change = ["--set", "flows.far.tcp.variant=dctcp", "--seeds", "2"]
    done = command("compare", small_file, *change)
    rows = [re.split(r"\s*│\s*", line)[1:4] for line in done.out.splitlines() if "tcp." in line]
    assert rows[0] == ["flows.far.tcp.variant", "reno", "dctcp"]
