"""A store that many scenarios share: stored runs are never repeated, also when the process that stored them was killed."""

import errno
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab import _core
from ecnlab.execution import runner
from ecnlab.execution.jobs import Job
from ecnlab.storage import atomic, segments
from ecnlab.storage.results import Result
from ecnlab.storage.segments import BatchCollection, StoredBatch
from ecnlab.storage.tables import choose_part_for_each_seed
from failing import failing

# Prints each run to standard output, and may be killed after a number of stored runs.
_RUN_SCRIPT = """
import os, signal, sys
import ecnlab
from ecnlab.execution import runner
from ecnlab.storage import segments
from ecnlab.execution.jobs import Job

file, store, points, seeds, die_at = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
runner._FLUSH_INTERVAL_S = 0.0 if die_at > 0 else 0.05
run, put = Job.run, segments.write_unflushed
ran, stored = [], [0]

def counted(self, *args):
    ran.append((self.scenario_key, self.seed))
    return run(self, *args)

def dying(path, data):
    stored[0] += path.name == "batch.json"
    if stored[0] == die_at:
        os.kill(os.getpid(), signal.SIGKILL)
    put(path, data)

Job.run, segments.write_unflushed = counted, dying
scenarios = [ecnlab.load(file, {"link.bottleneck.queue.max_p": (at + 1) / 100, "duration": "60 s"}) for at in range(points)]
ecnlab.run_all([ecnlab.Request(one, range(1, seeds + 1)) for one in scenarios], store=store, threads=1)
print(len(ran), len(set(ran)))
"""


def _result_from_store(store: ecnlab.Store, key: str) -> Result:
    """All finished seeds that a store has for a scenario's key. Raises ResultsError if there are none."""
    header = store.batches.scenario_header_of_key(key)
    return Result(header, choose_part_for_each_seed(store.batches.parts_of_scenario(key), {}))


@pytest.fixture
def scenarios(small_file: Path) -> list[ecnlab.Scenario]:
    return [ecnlab.load(small_file, {"link.bottleneck.queue.max_p": (at + 1) / 100}) for at in range(4)]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The runs that are not taken from the store."""
    done: list[tuple[str, int]] = []
    run = Job.run

    def counted(self: Job, *args: Any) -> Any:
        done.append((self.scenario_key, self.seed))
        return run(self, *args)

    monkeypatch.setattr(Job, "run", counted)
    return done


def _requests_of(scenarios: Sequence[ecnlab.Scenario], seeds: Sequence[int] = range(1, 4)) -> list[ecnlab.Request]:
    return [ecnlab.Request(scenario, seeds) for scenario in scenarios]


def _run_script(small_file: Path, store: Path, points: int, seeds: int, die_at: int = -1) -> subprocess.Popen[str]:
    arguments = map(str, (small_file, store, points, seeds, die_at))
    return subprocess.Popen([sys.executable, "-c", _RUN_SCRIPT, *arguments], stdout=subprocess.PIPE, text=True)


def test_scenarios_in_a_store_are_what_they_are_alone(scenarios: list[ecnlab.Scenario], tmp_path: Path) -> None:
    outcome = ecnlab.run_all(_requests_of(scenarios), store=tmp_path / "s")
    assert outcome.failures == []
    for scenario, result in zip(scenarios, outcome.results, strict=True):
        alone = ecnlab.run(scenario, 3)
        assert result.summary_json() == alone.summary_json()
        assert all(result.table(name).equals(alone.table(name), null_equal=True) for name in alone.tables)


def test_what_is_stored_is_not_run_again(scenarios: list[ecnlab.Scenario], tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    ecnlab.run_all(_requests_of(scenarios[:3]), store=tmp_path / "s")
    ran.clear()
    outcome = ecnlab.run_all(_requests_of(scenarios, range(2, 6)), store=tmp_path / "s")
    missing = [(scenario.hash, seed) for scenario in scenarios for seed in range(2, 6) if scenario is scenarios[3] or seed > 3]
    assert sorted(ran) == sorted(missing)
    assert [result.seeds for result in outcome.results] == [[2, 3, 4, 5]] * 4


def test_a_run_that_several_requests_ask_for_is_done_once(small_file: Path, tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    more, less = ecnlab.load(small_file, {"name": "more"}), ecnlab.load(small_file, {"record.events": False, "record.queue": "off"})
    finer = ecnlab.load(small_file, {"record.queue": "5 ms"})
    for store in (None, tmp_path / "s"):
        ran.clear()
        asked = [ecnlab.Request(less, [1, 2]), ecnlab.Request(more, [1]), ecnlab.Request(more, [1, 2]), ecnlab.Request(finer, [2])]
        results = ecnlab.run_all(asked, store=store).results
        assert sorted(seed for _, seed in ran) == [1, 2, 2], "seed 2 is wanted at two intervals"
        assert [result.name for result in results] == ["small", "more", "more", "small"]
        assert [result.seeds for result in results] == [[1, 2], [1], [1, 2], [2]]
        assert results[1].series.queue["time_s"][1] == 0.01
        assert results[3].series.queue["time_s"][1] == 0.005


def test_a_store_that_was_killed_runs_only_what_is_missing(small_file: Path, tmp_path: Path) -> None:
    killed = _run_script(small_file, tmp_path / "s", 5, 8, die_at=25)
    assert killed.wait() == -signal.SIGKILL
    kept = BatchCollection(tmp_path / "s" / _core.BUILD)
    stored = {(part.key, seed) for key in kept.scenario_keys for part in kept.parts_of_scenario(key) for seed in part.seed_run_statistics}
    assert 16 <= len(stored) < 25, "24 batches of one run each and one that merges 16 of them were begun before"
    again = _run_script(small_file, tmp_path / "s", 5, 8)
    told, _ = again.communicate()
    assert told.split() == [str(40 - len(stored))] * 2
    scenario = ecnlab.load(small_file, {"link.bottleneck.queue.max_p": 0.01, "duration": "60 s"})
    assert ecnlab.run_all([ecnlab.Request(scenario, range(1, 9))], store=tmp_path / "s").results[0].fingerprints == (
        ecnlab.run(scenario, 8).fingerprints
    )
    assert not list((tmp_path / "s" / _core.BUILD).glob(".*"))


def test_two_processes_at_one_time_share_the_work(small_file: Path, tmp_path: Path) -> None:
    both = [_run_script(small_file, tmp_path / "s", 10, 12) for _ in range(2)]
    counts = [[int(word) for word in process.communicate()[0].split()] for process in both]
    assert all(ran == alone for ran, alone in counts), "no process runs anything twice"
    assert 120 <= sum(ran for ran, _ in counts) < 180
    found = ecnlab.Store(tmp_path / "s").batches
    assert sorted(
        {(key, seed) for key in found.scenario_keys for part in found.parts_of_scenario(key) for seed in part.seed_run_statistics}
    ) == ([(key, seed) for key in found.scenario_keys for seed in range(1, 13)])


def test_who_comes_second_begins_at_the_end_and_others_anywhere(scenarios: list[ecnlab.Scenario], tmp_path: Path) -> None:
    store = ecnlab.Store(tmp_path / "s")
    with store.announce_writer() as first, ecnlab.Store(tmp_path / "s").announce_writer() as second, store.announce_writer() as third:
        assert (first, second, third) == (0, 1, 2)
    assert not list(store.batches.path.glob(".*"))
    tasks = runner._pending_tasks(_requests_of(scenarios), [runner._InMemoryRunStore()] * 4)
    assert runner._order_tasks_for_concurrent_writers(list(tasks), 1) == tasks[::-1]
    shuffled = runner._order_tasks_for_concurrent_writers(list(tasks), 2)
    assert shuffled != tasks
    assert sorted(map(id, shuffled)) == sorted(map(id, tasks))


def test_of_two_writers_that_come_at_the_same_time_only_one_is_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = ecnlab.Store(tmp_path / "s")

    def another_comes(_: float) -> None:
        (own,) = shared.batches.path.glob(".*.partial")
        other = own.with_name(own.name.replace(str(os.getpid()), "0", 1))
        other.touch()
        for file in (own, other):
            os.utime(file, ns=(1_000_000_000, 1_000_000_000))

    monkeypatch.setattr("ecnlab.storage.store.sleep", another_comes)
    with shared.announce_writer() as earlier:
        assert earlier == 1, "the other one's name comes first, and it counts none"


def test_what_another_process_stores_meanwhile_is_not_run_again(
    scenarios: list[ecnlab.Scenario], tmp_path: Path, ran: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_FLUSH_INTERVAL_S", 0.0)
    flush = runner._OnDiskRunStore.flush_and_refresh_runs
    others = ecnlab.run_all(_requests_of(scenarios[3:], range(1, 13)))

    def write_by_another_process_first(self: runner._OnDiskRunStore) -> None:
        monkeypatch.setattr(runner._OnDiskRunStore, "flush_and_refresh_runs", flush)
        elsewhere = BatchCollection(self.batches.path)
        (kept,) = {id(part): part for part in others.results[0]._part_by_seed.values()}.values()
        elsewhere.write_batch(kept._runs, {})  # type: ignore[attr-defined]
        flush(self)

    ran.clear()
    monkeypatch.setattr(runner._OnDiskRunStore, "flush_and_refresh_runs", write_by_another_process_first)
    outcome = ecnlab.run_all(_requests_of(scenarios[2:], range(1, 13)), store=tmp_path / "s", threads=1)
    assert [len(result.seeds) for result in outcome.results] == [12, 12]
    assert len(ran) <= 12 + 5


def test_many_batches_become_few_and_merged_ones_are_the_same(
    scenarios: list[ecnlab.Scenario], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_FLUSH_INTERVAL_S", 0.0)
    outcome = ecnlab.run_all(_requests_of(scenarios, range(1, 11)), store=tmp_path / "s", threads=1)
    found = list((tmp_path / "s" / _core.BUILD).glob("batch-*"))
    assert len(found) < 16
    alone = ecnlab.run(scenarios[2], 10)
    assert outcome.results[2].summary_json() == alone.summary_json()
    assert all(outcome.results[2].table(name).equals(alone.table(name), null_equal=True) for name in alone.tables)
    largest = max(map(StoredBatch.open, found), key=lambda batch: len(batch.parts))
    read = pl.read_parquet(largest.path / "groups.parquet")
    assert read.select("key", "seed").equals(read.select("key", "seed").sort("key", "seed"))
    assert pl.read_parquet_metadata(largest.path / "groups.parquet")["build"] == _core.BUILD


def _write_many_batches(store: Path, scenario: ecnlab.Scenario, monkeypatch: pytest.MonkeyPatch, count: int = 20) -> None:
    """A store with a batch for each seed."""
    with monkeypatch.context() as patched:
        patched.setattr(BatchCollection, "merge_small_batches", lambda self: None)
        for seed in range(1, count + 1):
            ecnlab.run_all([ecnlab.Request(scenario, [seed])], store=store)


def test_a_result_whose_batches_are_merged_is_read_all_the_same(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_many_batches(tmp_path / "s", small, monkeypatch)
    store = ecnlab.Store(tmp_path / "s")
    result = ecnlab.run_all([ecnlab.Request(small, range(1, 21))], store=store).results[0]
    early = _result_from_store(ecnlab.Store(tmp_path / "s"), small.hash)
    BatchCollection(store.batches.path).merge_small_batches()
    assert len(list(store.batches.path.glob("batch-*"))) == 1
    alone = ecnlab.run(small, 20)
    for one in (result, early):
        assert one.summary_json() == alone.summary_json()
        assert one.series.events.equals(alone.series.events)
    assert _result_from_store(store, small.hash).header["parameters"] == small.resolved


@pytest.mark.parametrize("at", ["before it is there", "before the others go"])
def test_a_merge_that_is_interrupted_loses_nothing(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    _write_many_batches(tmp_path / "s", small, monkeypatch)
    folder = tmp_path / "s" / _core.BUILD
    before = {path.name for path in folder.glob("batch-*")}

    def raise_keyboard_interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(
            *((segments, "fsync_files") if at == "before it is there" else (segments, "remove_folder")), raise_keyboard_interrupt
        )
        with pytest.raises(KeyboardInterrupt):
            BatchCollection(folder).merge_small_batches()
    assert before <= {path.name for path in folder.glob("batch-*")}
    result = ecnlab.run_all([ecnlab.Request(small, range(1, 22))], store=tmp_path / "s").results[0]
    assert result.fingerprints == ecnlab.run(small, 21).fingerprints
    assert len(list(folder.glob("batch-*"))) <= 2
    assert sorted(seed for part in BatchCollection(folder).parts_of_scenario(small.hash) for seed in part.seed_run_statistics) == list(
        range(1, 22)
    )


def test_two_processes_may_merge_at_one_time(small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_many_batches(tmp_path / "s", small, monkeypatch)
    folder = tmp_path / "s" / _core.BUILD
    put = BatchCollection._write_batch

    def write_by_another_process_first(self: BatchCollection, *given: Any) -> None:
        monkeypatch.setattr(BatchCollection, "_write_batch", put)
        BatchCollection(folder).merge_small_batches()
        put(self, *given)

    slow = BatchCollection(folder)
    monkeypatch.setattr(BatchCollection, "_write_batch", write_by_another_process_first)
    slow.merge_small_batches()
    assert _result_from_store(ecnlab.Store(tmp_path / "s"), small.hash).fingerprints == ecnlab.run(small, 20).fingerprints


def test_a_disk_that_is_full_keeps_what_was_stored_and_the_same_command_goes_on(
    scenarios: list[ecnlab.Scenario], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, int]]
) -> None:
    monkeypatch.setattr(runner, "_FLUSH_INTERVAL_S", 0.0)
    put, left = segments.write_unflushed, [120_000]

    def raise_when_disk_full(path: Path, data: bytes) -> None:
        left[0] -= len(data)
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(path, data)

    bare = [ecnlab.scenario(_scenarios_without_record(scenario)) for scenario in scenarios]
    with monkeypatch.context() as patched:
        patched.setattr(segments, "write_unflushed", raise_when_disk_full)
        with pytest.raises(ecnlab.ResultsError, match=r"cannot store .*: No space left on device; .*stored; the same command continues"):
            ecnlab.run_all(_requests_of(bare), store=tmp_path / "s", threads=1)
    kept = BatchCollection(tmp_path / "s" / _core.BUILD)
    stored = sum(len(part.seed_run_statistics) for key in kept.scenario_keys for part in kept.parts_of_scenario(key))
    assert 0 < stored < 12
    ran.clear()
    assert [result.seeds for result in ecnlab.run_all(_requests_of(bare), store=tmp_path / "s").results] == [[1, 2, 3]] * 4
    assert len(ran) == 12 - stored


def _scenarios_without_record(scenario: ecnlab.Scenario) -> dict[str, Any]:
    import tomllib

    tree = tomllib.loads(scenario.text)
    tree["link"][0]["queue"]["max_p"] = float(scenario.overrides["link.bottleneck.queue.max_p"])
    return {key: value for key, value in tree.items() if key != "record"}


def test_damage_is_reported_for_the_runs_concerned_only(scenarios: list[ecnlab.Scenario], tmp_path: Path) -> None:
    ecnlab.run_all(_requests_of(scenarios), store=tmp_path / "s")
    (batch,) = (tmp_path / "s" / _core.BUILD).glob("batch-*")
    told = json.loads((batch / "batch.json").read_text())
    begin, size, _ = told["files"]["total"]["row_groups"][1]
    data = bytearray((batch / "total.parquet").read_bytes())
    data[begin + size // 2] ^= 1
    (batch / "total.parquet").write_bytes(data)
    results = {result.hash: result for result in ecnlab.run_all(_requests_of(scenarios), store=tmp_path / "s").results}
    ordered = [results[key] for key in sorted(results)]
    assert [result.estimate("goodput_bps").n for result in (ordered[0], *ordered[2:])] == [3, 3, 3]
    with pytest.raises(ecnlab.ResultsError, match=r"total\.parquet is damaged: its digest differs; fix: delete the folder .*batch-"):
        ordered[1].estimate("goodput_bps")
    shutil.rmtree(batch)
    assert ecnlab.run_all(_requests_of(scenarios), store=tmp_path / "s").results[1].seeds == [1, 2, 3]


def test_a_missing_table_file_is_reported_with_the_remedy(small: ecnlab.Scenario, tmp_path: Path) -> None:
    result = ecnlab.run_all([ecnlab.Request(small, [1])], store=tmp_path / "s").results[0]
    (batch,) = (tmp_path / "s" / _core.BUILD).glob("batch-*")
    (batch / "total.parquet").unlink()
    with pytest.raises(ecnlab.ResultsError, match=r"total\.parquet: does not exist; fix: delete the folder"):
        result.estimate("goodput_bps")


def test_runs_of_other_builds_are_ignored_and_reported(small: ecnlab.Scenario, tmp_path: Path) -> None:
    other = tmp_path / "s" / "0123456789abcdef"
    ecnlab.Store(tmp_path / "s")
    (other / "batch-1").mkdir(parents=True)
    (other / "batch-1" / "flows.parquet").write_bytes(bytes(3_000_000))
    store = ecnlab.Store(tmp_path / "s")
    ecnlab.run_all([ecnlab.Request(small, [1])], store=store)
    (warning,) = store.warnings
    assert warning.message == f"the store {tmp_path / 's'} holds 3 MB of runs of other builds; fix: to free them, delete {other}"
    assert (other / "batch-1" / "flows.parquet").stat().st_size == 3_000_000


@pytest.mark.parametrize("path", [7, "a\0b"])
def test_an_argument_that_is_not_a_path_is_refused_as_store(path: Any) -> None:
    with pytest.raises(ecnlab.UsageError, match="store: must be the path of a folder"):
        ecnlab.Store(path)


def test_a_folder_with_foreign_files_is_not_a_store(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, out=tmp_path / "r")
    with pytest.raises(ecnlab.ResultsError, match=r"is not empty \(batch-.*\) and is not a store; fix: choose a new or an empty folder"):
        ecnlab.Store(tmp_path / "r")
    ecnlab.Store(tmp_path / "s")
    (tmp_path / "s" / "store.json").write_text('{"format": 1}')
    with pytest.raises(ecnlab.ResultsError, match=r"is a store of format 1, this ecnlab reads formats 6 and 7; fix: choose another folder"):
        ecnlab.Store(tmp_path / "s")
    with pytest.raises(ecnlab.ResultsError, match="cannot write to"):
        ecnlab.Store(tmp_path / "s" / "store.json" / "below")


def test_a_store_of_format_6_is_reused_and_has_the_present_format_when_runs_are_added(
    small: ecnlab.Scenario, tmp_path: Path, ran: list[tuple[str, int]]
) -> None:
    header = tmp_path / "s" / "store.json"
    ecnlab.run_all([ecnlab.Request(small, [1])], store=tmp_path / "s")
    header.write_text('{"format": 6}')
    ran.clear()
    ecnlab.run_all([ecnlab.Request(small, [1])], store=tmp_path / "s")
    assert (ran, json.loads(header.read_text())) == ([], {"format": 6})
    ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=tmp_path / "s")
    assert (ran, json.loads(header.read_text())) == ([(small.hash, 2)], {"format": _core.FORMAT})


def test_a_later_format_is_not_lowered_in_a_store_that_was_opened_before(small: ecnlab.Scenario, tmp_path: Path) -> None:
    store, header = ecnlab.Store(tmp_path / "s"), tmp_path / "s" / "store.json"
    header.write_text('{"format": 8}')
    with pytest.raises(ecnlab.ResultsError, match=r"is a store of format 8, this ecnlab reads formats 6 and 7; fix: upgrade ecnlab, or"):
        ecnlab.run_all([ecnlab.Request(small, [1])], store=store)
    assert header.read_text() == '{"format": 8}'


def test_a_store_json_that_cannot_be_read_is_neither_replaced_nor_a_traceback(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, header = ecnlab.Store(tmp_path / "s"), tmp_path / "s" / "store.json"
    before = header.stat()

    def raise_io_error(path: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr("ecnlab.storage.store.read_regular_file", raise_io_error)
    for use in (lambda: ecnlab.run_all([ecnlab.Request(small, [1])], store=store), lambda: ecnlab.Store(tmp_path / "s")):
        with pytest.raises(ecnlab.ResultsError, match=r"cannot use .* as a store: Input/output error"):
            use()
    assert header.stat() == before


def test_a_store_that_can_only_be_read_gives_what_it_has(small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=tmp_path / "s").results[0]

    def raise_read_only(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    refusing = (
        (segments, "write_unflushed"),
        (atomic, "write_unflushed"),
        (Path, "touch"),
        (Path, "unlink"),
        (Path, "rename"),
        (Path, "rmdir"),
    )
    for owner, name in refusing:
        monkeypatch.setattr(owner, name, raise_read_only)
    assert ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=tmp_path / "s").results[0].summary_json() == first.summary_json()


def test_a_run_that_a_store_lacks_and_cannot_take_is_refused_before_it_is_run(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, int]]
) -> None:
    ecnlab.Store(tmp_path / "s")

    def raise_read_only(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("ecnlab.storage.store.locked_temporary_path", raise_read_only)
    with pytest.raises(ecnlab.ResultsError, match=r"cannot write to .*: Read-only file system"):
        ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=tmp_path / "s")
    assert ran == []


def test_batches_with_unreadable_indexes_lose_their_own_runs_only_and_are_reported_together(
    scenarios: list[ecnlab.Scenario], tmp_path: Path, ran: list[tuple[str, int]]
) -> None:
    folder = tmp_path / "s" / _core.BUILD
    made = []
    for scenario in scenarios:
        ecnlab.run_all([ecnlab.Request(scenario, [1, 2])], store=tmp_path / "s")
        made += [path for path in folder.glob("batch-*") if path not in made]
    (made[0] / "batch.json").write_text("{")
    (made[1] / "batch.json").unlink()
    (folder / "batch-stray").write_text("mine")
    ran.clear()
    store = ecnlab.Store(tmp_path / "s")
    results = ecnlab.run_all(_requests_of(scenarios, [1, 2]), store=store).results
    assert sorted(ran) == sorted((scenario.hash, seed) for scenario in scenarios[:2] for seed in (1, 2))
    assert [result.summary_json() for result in results] == [ecnlab.run(scenario, 2).summary_json() for scenario in scenarios]
    again = "its runs are not used, and are run again when needed; fix: delete the folder"
    assert sorted(warning.message for warning in store.warnings) == sorted(
        [
            f"{made[0] / 'batch.json'} is damaged; {again} {made[0]}",
            f"{made[1] / 'batch.json'} does not exist; {again} {made[1]}",
            f"{folder / 'batch-stray'} is a file, not the folder of a batch; fix: move it elsewhere",
        ]
    )


@pytest.mark.parametrize("digest", [True, False])
def test_a_batch_index_with_a_seed_without_rows_is_not_trusted(small: ecnlab.Scenario, tmp_path: Path, digest: bool) -> None:
    ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=tmp_path / "s")
    (path,) = (tmp_path / "s" / _core.BUILD).glob("batch-*/batch.json")
    told = json.loads(path.read_text())
    seeds = told["runs"][0]["seeds"]
    seeds["99"] = seeds["2"]
    if not digest:
        del told["digest"]
    path.write_text(json.dumps(told))
    if digest:
        result = ecnlab.run_all([ecnlab.Request(small, [99])], store=tmp_path / "s").results[0]
        assert result.summary_json() == ecnlab.run(small, seed=99).summary_json()
        return
    for table in ("flows", "total"):
        result = ecnlab.run_all([ecnlab.Request(small, [99])], store=tmp_path / "s").results[0]
        with pytest.raises(ecnlab.ResultsError, match=r"batch\.json is damaged: its seeds are not those of total\.parquet; fix: delete"):
            result.table(table)


def test_all_batches_with_a_damaged_table_are_reported_together_and_none_is_merged(
    small: ecnlab.Scenario, small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_many_batches(tmp_path / "s", small, monkeypatch)
    folder = tmp_path / "s" / _core.BUILD
    damaged = sorted(folder.glob("batch-*"))[3:5]
    for batch in damaged:
        (batch / "groups.parquet").write_bytes(b"PAR1 no more")
    other = ecnlab.load(small_file, {"duration": "7 s"})
    assert ecnlab.run_all([ecnlab.Request(other, [1])], store=tmp_path / "s").results[0].seeds == [1]
    assert len(list(folder.glob("batch-*"))) == 3, "the two that are damaged and what the others were merged into"
    result = ecnlab.run_all([ecnlab.Request(small, range(1, 21))], store=tmp_path / "s").results[0]
    with pytest.raises(ecnlab.ResultsError, match=f"digest differs; fix: delete the folders {damaged[0]} {damaged[1]}; the same"):
        _ = result.groups
    for batch in damaged:
        shutil.rmtree(batch)
    whole = ecnlab.run_all([ecnlab.Request(small, range(1, 21))], store=tmp_path / "s").results[0]
    assert whole.summary_json() == ecnlab.run(small, 20).summary_json()


@pytest.mark.parametrize("text", [None, "", "{}", '{"format": null}'])
def test_a_store_whose_own_file_is_lost_or_damaged_is_one_all_the_same(
    small: ecnlab.Scenario, tmp_path: Path, ran: list[tuple[str, int]], text: str | None
) -> None:
    ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=tmp_path / "s")
    mark = tmp_path / "s" / "store.json"
    mark.unlink()
    if text is not None:
        mark.write_text(text)
    ran.clear()
    store = ecnlab.Store(tmp_path / "s")
    assert [warning.message for warning in store.warnings] == [f"{mark} was missing or damaged, and was rewritten"]
    assert ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=store).results[0].seeds == [1, 2]
    assert ran == []
    assert ecnlab.Store(tmp_path / "s").warnings == []
    mark.unlink()
    (tmp_path / "s" / "notes.txt").write_text("mine")
    with pytest.raises(ecnlab.ResultsError, match=r"is not empty .* and is not a store"):
        ecnlab.Store(tmp_path / "s")


def test_a_partial_of_another_host_is_left_alone(small: ecnlab.Scenario, tmp_path: Path) -> None:
    store = ecnlab.Store(tmp_path / "s")
    other = store.batches.path / ".batch-1-01234567-1-another-host.partial"
    other.mkdir()
    ecnlab.run_all([ecnlab.Request(small, [1])], store=tmp_path / "s")
    assert other.is_dir()


def test_a_result_goes_to_another_process(small: ecnlab.Scenario, tmp_path: Path) -> None:
    for store in (None, tmp_path / "s"):
        outcome = ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=store)
        sent = pickle.loads(pickle.dumps(outcome)).results[0]
        assert sent.summary_json() == outcome.results[0].summary_json()
        assert sent.series.events.equals(outcome.results[0].series.events)


def test_a_job_gives_the_same_here_and_in_another_process(small: ecnlab.Scenario, tmp_path: Path) -> None:
    (tmp_path / "job").write_bytes(pickle.dumps(Job(small, 3)))
    code = "import pickle, sys; p = sys.argv[1]; d = pickle.load(open(p, 'rb')).run(); open(p, 'wb').write(pickle.dumps(d))"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "job")], check=True, cwd=tmp_path)
    there, here = pickle.loads((tmp_path / "job").read_bytes()), Job(small, 3).run()
    assert (there.key, there.seed, there.record.fingerprint) == (here.key, 3, here.record.fingerprint)
    assert {name: table.plain for name, table in there.tables.items()} == {name: table.plain for name, table in here.tables.items()}


def test_files_that_a_scenario_names_are_found_from_another_folder(
    small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small_file.parent)
    sent = pickle.dumps(ecnlab.load(small_file.name))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(sent)._folder == small_file.parent


def test_failures_are_reported_and_other_runs_finish(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    full = _core.ScenarioError()
    full.problems = [("record", None, "takes more than 1 GiB: record less")]
    fault = _core.EngineFault("panicked at queue.rs: packets were lost")
    fault.hash, fault.seed = small.hash, 2
    other = ecnlab.load(small_file, {"name": "other", "duration": "7 s"})
    faulty = failing(ecnlab.load(small_file), {2: fault, 3: full})
    outcome = ecnlab.run_all([ecnlab.Request(faulty, range(1, 6)), ecnlab.Request(other, [1, 2])], store=tmp_path / "s", threads=1)
    assert [result.seeds for result in outcome.results] == [[1, 4, 5], [1, 2]]
    assert [(failure.key, failure.title, failure.seed, failure.kind) for failure in outcome.failures] == [
        (small.hash, "small", 2, "engine"),
        (small.hash, "small", 3, "recording"),
    ]
    assert "packets were lost" in outcome.failures[0].message
    with pytest.raises(
        ecnlab.RunsFailed, match=r"2 runs failed:\nsmall \(key \w{12}\), seed 2: panicked at queue\.rs(?s:.*)1 GiB"
    ) as raised:
        outcome.results_or_raise()
    assert raised.value.failures == outcome.failures
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


@pytest.mark.parametrize("damage", ["a row group too many", "a row group too few", "no extent", "a table without a file"])
def test_a_batch_index_that_does_not_match_its_files_is_ignored_and_reported(small: ecnlab.Scenario, tmp_path: Path, damage: str) -> None:
    ecnlab.run_all([ecnlab.Request(small, [1])], store=tmp_path / "s")
    (path,) = (tmp_path / "s" / _core.BUILD).glob("batch-*/batch.json")
    told = json.loads(path.read_text())
    total = told["files"]["total"]
    if damage == "a row group too many":
        total["row_groups"] *= 2
    elif damage == "a row group too few":
        total["row_groups"] = []
    elif damage == "no extent":
        total["footer"] = ["0", 1, "x"]
    else:
        del told["files"]["total"]
    told.pop("digest")
    path.write_text(json.dumps(told))
    store = ecnlab.Store(tmp_path / "s")
    assert [warning.message for warning in store.warnings] == [
        f"{path} is damaged; its runs are not used, and are run again when needed; fix: delete the folder {path.parent}"
    ]
    assert store.batches.scenario_keys == []


def test_a_batch_that_has_lost_its_scenarios_counts_as_none_and_its_runs_are_repeated(
    scenarios: list[ecnlab.Scenario], tmp_path: Path, ran: list[tuple[str, int]]
) -> None:
    small = scenarios[0]
    ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=tmp_path / "s")
    (lost,) = (tmp_path / "s").glob("*/batch-*/scenarios.json")
    opened = ecnlab.Store(tmp_path / "s")
    lost.unlink()
    with pytest.raises(ecnlab.ResultsError, match="has no run of a scenario with the key"):
        _result_from_store(opened, small.hash)
    for store in (opened, ecnlab.Store(tmp_path / "s")):
        assert [str(lost) in warning.message for warning in store.batches.warnings] == [True]
        assert "does not exist; its runs are not used" in store.batches.warnings[0].message
        assert not store.batches.has_run(small.hash, 1, {})
    ecnlab.run_all([ecnlab.Request(small, [1, 2])], store=tmp_path / "s")
    assert ran == [(small.hash, 1), (small.hash, 2)] * 2
    assert _result_from_store(ecnlab.Store(tmp_path / "s"), small.hash).seeds == [1, 2]


def test_a_scenario_of_a_batch_that_is_merged_while_it_is_asked_for_is_found(scenarios: list[ecnlab.Scenario], tmp_path: Path) -> None:
    for seed in (1, 2):
        ecnlab.run_all([ecnlab.Request(scenarios[0], [seed])], store=tmp_path / "s")
    reading = ecnlab.Store(tmp_path / "s").batches
    merging = ecnlab.Store(tmp_path / "s").batches
    whole = merging.batches
    merging._write_batch(
        segments._merge_parts_of_batches(whole), segments._scenario_headers_of_batches(whole), [batch.path.name for batch in whole]
    )
    merging.refresh_from_disk()
    merging.remove_merged_batches()
    for batch in whole:
        shutil.rmtree(batch.path, ignore_errors=True)
    assert reading.scenario_header_of_key(scenarios[0].hash)["hash"] == scenarios[0].hash


def test_a_scenario_that_no_batch_describes_is_reported_with_the_folder_to_delete(scenarios: list[ecnlab.Scenario], tmp_path: Path) -> None:
    small = scenarios[0]
    for seed in (1, 2):
        ecnlab.run_all([ecnlab.Request(small, [seed])], store=tmp_path / "s")
    (lost,) = (tmp_path / "s").glob("*/batch-*/scenarios.json")
    (other,) = (path for path in lost.parent.parent.glob("batch-*") if path != lost.parent)
    lost.unlink()
    with pytest.raises(ecnlab.ResultsError) as raised:
        _result_from_store(ecnlab.Store(tmp_path / "s"), small.hash)
    assert f"no batch has the scenario with the key {small.hash}; fix: delete the folder {other}" in str(raised.value)
