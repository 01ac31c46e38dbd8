"""Runs that do not fit into the memory of the machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ecnlab
from ecnlab.execution import memory
from ecnlab.scenarios.load import Scenario

MEGABYTE = 1_000_000


def _scenario(flows: int = 10_000) -> Scenario:
    return ecnlab.example("ecn").changed({"duration": "1 s", "measure_from": "0 s", "flows.fragile.count": flows})


def test_a_run_that_does_not_fit_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory_bytes", lambda: 10 * MEGABYTE)
    with pytest.raises(ecnlab.UsageError, match=r"a run takes at least \d+\.\d MB .* this machine has 10\.0 MB; fix: give fewer flows"):
        ecnlab.run(_scenario(), seed=1)


def test_a_refusal_leaves_no_results_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "machine_memory_bytes", lambda: MEGABYTE)
    with pytest.raises(ecnlab.UsageError, match="of memory"):
        ecnlab.run(_scenario(), seeds=2, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
def test_the_address_space_of_the_process_counts() -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); from ecnlab.execution import memory; "
    done = subprocess.run([sys.executable, "-c", f"{code}print(memory.machine_memory_bytes())"], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 3 << 30


def test_runs_that_fit_one_after_the_other_are_refused_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    least, _ = _scenario(100).estimated_memory_bytes
    monkeypatch.setattr(memory, "machine_memory_bytes", lambda: 2 * least - 1)
    with pytest.raises(ecnlab.UsageError, match=r"2 runs at a time take .* fix: give --threads 1 or fewer flows"):
        ecnlab.run(_scenario(100), seeds=2, threads=2)
    assert list(ecnlab.run(_scenario(100), seeds=2, threads=1).seeds) == [1, 2]


def test_stored_runs_need_no_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ecnlab.run(_scenario(100), seed=1, out=tmp_path / "out")
    monkeypatch.setattr(memory, "machine_memory_bytes", lambda: 1)
    assert list(ecnlab.run(_scenario(100), seed=1, out=tmp_path / "out").seeds) == [1]


def test_the_estimate_follows_the_number_of_flows() -> None:
    few, many = (_scenario(flows).estimated_memory_bytes for flows in (960, 9_960))
    assert [10 * number for number in few] == list(many)
    assert few[0] < few[1]


def test_the_limit_of_a_container_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_CGROUP_LIMIT_FILE", limit)
    machine = memory.machine_memory_bytes()
    limit.write_text("4096\n")
    assert memory.machine_memory_bytes() == 4096
    limit.write_text("max\n")
    assert memory.machine_memory_bytes() == machine
