import json
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import ecnlab
from ecnlab import _core
from ecnlab.execution import runner
from ecnlab.execution.progress import ProgressLine
from ecnlab.execution.runner import Request, run_all
from ecnlab.storage.segments import BatchCollection, StoredBatch
from ecnlab.storage.store import ScenarioResultsFolder
from ecnlab.storage.tables import FinishedRun
from failing import failing
from helpers import EXAMPLES


def test_two_runs_of_one_seed_have_the_same_fingerprint_and_tables(small: ecnlab.Scenario) -> None:
    first, second = ecnlab.run(small, seed=5), ecnlab.run(small, seed=5)
    assert first.fingerprints == second.fingerprints
    assert first.flows.equals(second.flows, null_equal=True)


def test_one_thread_and_many_give_the_same_fingerprints(small: ecnlab.Scenario) -> None:
    one, many = ecnlab.run(small, range(1, 9), threads=1), ecnlab.run(small, range(1, 9), threads=4)
    assert one.fingerprints == many.fingerprints


def test_unlike_seeds_have_unlike_fingerprints(small: ecnlab.Scenario) -> None:
    assert len(set(ecnlab.run(small, range(1, 6)).fingerprints.values())) == 5


def test_a_folder_gives_the_same_result_as_memory(small: ecnlab.Scenario, tmp_path: Path) -> None:
    stored, kept = ecnlab.run(small, [1, 2], out=tmp_path / "r"), ecnlab.run(small, [1, 2])
    assert stored.fingerprints == kept.fingerprints
    assert stored.summary().equals(kept.summary(), null_equal=True)


def test_ctrl_c_during_the_last_write_loses_no_finished_run(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, writes = BatchCollection.write_batch, count(1)

    def write_or_interrupt(batches: BatchCollection, runs: Iterable[FinishedRun], scenarios: Mapping[str, Any]) -> None:
        if next(writes) == 1:
            raise KeyboardInterrupt
        write(batches, runs, scenarios)

    monkeypatch.setattr(BatchCollection, "write_batch", write_or_interrupt)
    monkeypatch.setattr(runner, "_FLUSH_INTERVAL_S", 1e9)
    with pytest.raises(ecnlab.errors.Interrupted, match="interrupted: 3 of 3 runs had finished"):
        ecnlab.run(small, 3, out=tmp_path / "r", threads=1)
    assert ecnlab.open_result(tmp_path / "r").seeds == [1, 2, 3]


def test_observed_seeds_that_an_interrupt_kept_from_the_folder_are_not_in_its_summary(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, writes = BatchCollection.write_batch, count(1)

    def write_once(batches: BatchCollection, runs: Iterable[FinishedRun], scenarios: Mapping[str, Any]) -> None:
        runs = list(runs)
        if runs and next(writes) > 1:
            raise KeyboardInterrupt
        write(batches, runs, scenarios)

    monkeypatch.setattr(BatchCollection, "write_batch", write_once)
    monkeypatch.setattr(runner, "_FLUSH_INTERVAL_S", 0.0)
    with pytest.raises(ecnlab.errors.Interrupted) as info:
        ecnlab.run(small, 5, out=tmp_path / "r", observe=True, threads=1)
    stored = ecnlab.open_result(tmp_path / "r").seeds
    assert 0 < len(stored) < 5
    assert info.value.result is not None
    assert info.value.result.seeds == json.loads((tmp_path / "r/summary.json").read_text())["seeds"] == stored


def test_seeds_that_the_folder_has_are_not_run_again(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, [1, 2], out=tmp_path / "r")
    before = list((tmp_path / "r").glob("batch-*"))
    result = ecnlab.run(small, [1, 2, 3], out=tmp_path / "r")
    assert result.seeds == [1, 2, 3]
    new = set((tmp_path / "r").glob("batch-*")) - set(before)
    assert [[list(part.seed_run_statistics) for part in StoredBatch.open(path).parts] for path in new] == [[[3]]]


def test_a_result_holds_only_the_seeds_that_were_asked_for(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, [1, 2, 3], out=tmp_path / "r")
    assert ecnlab.run(small, seed=2, out=tmp_path / "r").seeds == [2]


def test_ctrl_c_leaves_the_finished_seeds_usable(small: ecnlab.Scenario, tmp_path: Path, interrupted: None) -> None:
    with pytest.raises(ecnlab.Interrupted, match=r"of 500 runs had finished") as raised:
        ecnlab.run(small, 500, out=tmp_path / "r", threads=1)
    result = raised.value.result
    assert isinstance(result, ecnlab.Result)
    assert 1 <= len(result.seeds) < 500
    assert ecnlab.open_result(tmp_path / "r").fingerprints == result.fingerprints


def test_ctrl_c_leaves_the_seeds_that_until_has_run_so_far(small: ecnlab.Scenario, tmp_path: Path, interrupted: None) -> None:
    with pytest.raises(ecnlab.Interrupted, match=r"of \d+ runs had finished") as raised:
        ecnlab.run(small, until="0.0001%", of="marks", out=tmp_path / "r", threads=1)
    assert isinstance(raised.value.result, ecnlab.Result)
    assert ecnlab.open_result(tmp_path / "r").fingerprints == raised.value.result.fingerprints


def test_ctrl_c_among_several_scenarios_gives_the_result_of_each(small: ecnlab.Scenario, interrupted: None) -> None:
    with pytest.raises(ecnlab.Interrupted, match="of 250 runs had finished") as raised:  # both ask for the same runs
        run_all([Request(small, range(250)), Request(small, range(250))], threads=1)
    assert isinstance(raised.value.result, ecnlab.Outcome)
    first, second = raised.value.result.results
    assert first.seeds
    assert len(second.seeds) < 250


def test_no_thread_is_left_after_ctrl_c(small: ecnlab.Scenario, interrupted: None) -> None:
    before = threading.active_count()
    with pytest.raises(ecnlab.Interrupted):
        ecnlab.run(small, 500, threads=3)
    assert threading.active_count() == before


def test_ctrl_c_before_all_folders_are_open_is_reported_too(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ecnlab.run(small, 2, out=tmp_path / "first")
    create = ScenarioResultsFolder.open_or_create

    def interrupted_at_the_second(path: Path, scenario: ecnlab.Scenario) -> ScenarioResultsFolder:
        if path.name == "second":
            raise KeyboardInterrupt
        return create(path, scenario)

    monkeypatch.setattr(ScenarioResultsFolder, "open_or_create", interrupted_at_the_second)
    with pytest.raises(ecnlab.Interrupted, match="interrupted: 2 of 4 runs had finished") as raised:
        run_all([Request(small, [1, 2], tmp_path / "first"), Request(small, [1, 2], tmp_path / "second")])
    assert raised.value.result is None


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C as soon as a run has finished."""

    def show(self: ProgressLine, done: float) -> None:
        if done >= 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "show_done_count", show)


def test_the_engine_stops_if_the_progress_callback_returns_true() -> None:
    with pytest.raises(_core.Interrupted):
        _long_scenario()._core.run(1, lambda _: True)


def test_a_run_reports_its_progress() -> None:
    heard: list[float] = []

    def watch(simulated_s: float) -> bool:
        heard.append(simulated_s)
        return len(heard) == 3

    with pytest.raises(_core.Interrupted):
        _long_scenario()._core.run(1, watch)
    assert 0 < heard[0] < heard[1] < heard[2] < 100_000


def test_what_the_watch_raises_comes_out_of_the_run() -> None:
    def watch(_: float) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _long_scenario()._core.run(1, watch)


def test_progress_grows_within_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []

    def show(self: ProgressLine, done: float) -> None:
        told.append(done)
        if len(set(told)) == 4 or len(told) == 1000:  # a busy machine may show the same progress again
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "show_done_count", show)
    with pytest.raises(ecnlab.Interrupted):
        ecnlab.run(_long_scenario())
    assert told == sorted(told)
    assert len(set(told)) == 4
    assert told[-1] < 1


def _faulty_run(scenario: ecnlab.Scenario, seed: int) -> _core.EngineFault:
    fault = _core.EngineFault("panicked at queue.rs: packets were lost")
    fault.hash, fault.seed = scenario.hash, seed
    return fault


def test_a_fault_of_the_engine_names_the_run_and_costs_no_other(small: ecnlab.Scenario, tmp_path: Path) -> None:
    expected = ecnlab.run(small, [1, 3, 4])
    faulty = failing(small, {seed: _faulty_run(small, seed) for seed in (2, 5)})
    with pytest.raises(ecnlab.EngineFault, match=rf"scenario {small.hash}, seed 2: the engine failed: panicked at queue\.rs") as raised:
        ecnlab.run(faulty, 5, out=tmp_path / "r")
    assert sorted(raised.value.runs) == [(small.hash, 2), (small.hash, 5)]
    assert isinstance(raised.value.result, ecnlab.Result)
    assert raised.value.result.fingerprints == expected.fingerprints
    assert ecnlab.open_result(tmp_path / "r").seeds == [1, 3, 4]


def test_a_recording_that_is_too_large_is_reported_and_other_seeds_finish(small: ecnlab.Scenario, tmp_path: Path) -> None:
    failure = _core.ScenarioError()
    failure.problems = [("record", None, "takes more than 1 GiB: record less")]
    with pytest.raises(ecnlab.ScenarioError, match=r"small\.toml: record: takes more than 1 GiB: record less"):
        ecnlab.run(failing(small, {3: failure}), 5, out=tmp_path / "r", threads=1)
    assert {1, 2} <= set(ecnlab.open_result(tmp_path / "r").seeds)


def _long_scenario() -> ecnlab.Scenario:
    return ecnlab.load(EXAMPLES / "ecn.toml", {"duration": "100000 s", "record.rates": False, "record.queue": "1000 s"})


def test_results_come_in_the_order_of_the_requests(small: ecnlab.Scenario, small_file: Path) -> None:
    other = ecnlab.load(small_file, {"name": "other"})
    names = [result.name for result in run_all([Request(other, [1]), Request(small, [1, 2])]).results]
    assert names == ["other", "small"]


@pytest.mark.parametrize("seeds", [[], -1, 2**63, [1, -5], 1.5, "1..3"])
def test_seeds_out_of_range_are_refused(small: ecnlab.Scenario, seeds: object, tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError):
        ecnlab.run(small, seeds, out=tmp_path / "r")  # type: ignore[arg-type]
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("threads", [0, -1, "a", 10**9, 1.5, True])
def test_threads_out_of_range_are_refused(small: ecnlab.Scenario, threads: Any) -> None:
    with pytest.raises(ecnlab.UsageError, match=r"threads: .* must be a whole number from 1"):
        ecnlab.run(small, threads=threads)


def test_threads_are_one_kind_of_workers(small: ecnlab.Scenario) -> None:
    assert ecnlab.run(small, 2, workers=ecnlab.Threads(1)).fingerprints == ecnlab.run(small, 2, threads=1).fingerprints
    with pytest.raises(ecnlab.UsageError, match="threads: excludes workers"):
        ecnlab.run(small, workers=ecnlab.Threads(2), threads=2)


def test_a_side_that_is_neither_scenario_nor_folder_is_refused(small: ecnlab.Scenario) -> None:
    with pytest.raises(ecnlab.UsageError, match=r"scenario: must be made by load.*; fix: give ecnlab\.load\(FILE\)"):
        ecnlab.run("small.toml")  # type: ignore[arg-type]
    with pytest.raises(ecnlab.UsageError, match="out: must be the path"):
        ecnlab.run(small, out=7)  # type: ignore[arg-type]
    with pytest.raises(ecnlab.UsageError, match="out: must be the path of a folder, not a path with a null byte"):
        ecnlab.run(small, out="a\0b")


def test_flows_take_the_memory_that_their_warning_says() -> None:
    code = """
import sys, ecnlab
link = {"name": "b", "from": "r", "to": "s", "rate": "100 Mbps", "delay": "5 ms", "queue": {"aqm": "red", "limit": 120}}
access = {"to": "r", "rate": "100 Mbps", "delay": "5 ms"}
flows = {"name": "f", "count": int(sys.argv[1]), "to": "s", "access": access, "tcp": {"profile": sys.argv[2]}}
ecnlab.run(ecnlab.scenario({"name": "m", "duration": "1 s", "link": [link], "flows": [flows]}), 1, threads=1)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""

    def peak(flows: int, profile: str) -> int:
        done = subprocess.run([sys.executable, "-c", code, str(flows), profile], capture_output=True, text=True, check=True)
        return 1024 * int(done.stdout)

    for profile in ("ns2", "linux"):
        each = (peak(30_000, profile) - peak(10_000, profile)) / 20_000
        assert 1_500 <= each <= 6_000, profile
