import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab import _core
from ecnlab.execution import runner
from ecnlab.execution.jobs import Job
from ecnlab.execution.runner import Request, run_all
from ecnlab.storage import atomic, segments, store
from ecnlab.storage.store import ScenarioResultsFolder
from ecnlab.sweeps.file import read_sweep_file

_KILLED_SCRIPT = """
import os, signal, sys
import ecnlab
from ecnlab.execution import runner
from ecnlab.storage import segments

runner._FLUSH_INTERVAL_S = 0.0
put = segments.write_unflushed
def dying(path, data):
    if "batch-" in str(path) and path.name == "batch.json" and b'"3": {' in data:
        os.kill(os.getpid(), signal.SIGKILL)
    put(path, data)

segments.write_unflushed = dying
ecnlab.run(ecnlab.load(sys.argv[1]), range(1, 6), out=sys.argv[2], threads=1)
"""


def test_a_killed_run_leaves_whole_batches_and_goes_on_from_them(small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    done = subprocess.run([sys.executable, "-c", _KILLED_SCRIPT, str(small_file), str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert ecnlab.open_result(out).seeds == [1, 2]
    assert ecnlab.open_result(out).flows.height == 12
    assert not (out / "summary.json").exists()

    result = ecnlab.run(ecnlab.load(small_file), range(1, 6), out=out)
    assert result.seeds == [1, 2, 3, 4, 5]
    assert not list(out.glob(".*"))


def test_a_full_disk_is_one_clear_error_and_stored_seeds_stay(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ecnlab.run(small, [1, 2], out=tmp_path / "r")
    put = segments.write_unflushed

    def raise_disk_full(path: Path, data: bytes) -> None:
        if path.name.startswith("total"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(path, data)

    monkeypatch.setattr(segments, "write_unflushed", raise_disk_full)
    with pytest.raises(
        ecnlab.ResultsError, match=r"cannot store seed 3.*No space left.*earlier runs are stored; the same command continues"
    ):
        ecnlab.run(small, range(1, 6), out=tmp_path / "r", threads=1)
    assert ecnlab.open_result(tmp_path / "r").seeds == [1, 2]
    assert not list((tmp_path / "r").glob(".*"))


def test_a_folder_describes_itself(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    ecnlab.run(small, [4], out=tmp_path / "r")
    header = _read_batch(tmp_path / "r" / "run.json")
    told = _read_batch(_only_batch(tmp_path / "r") / "batch.json")
    assert (header["format"], header["engine"], header["build"]) == (_core.FORMAT, _core.VERSION, _core.BUILD)
    (runs,) = told["runs"]
    assert header["hash"] == runs["key"] == small.hash
    assert header["scenario"]["text"] == small_file.read_text()
    assert header["parameters"] == small.resolved
    assert runs["record"] == small.record
    assert set(runs["seeds"]["4"]) == {"fingerprint", "events", "packet_hops", "cpu_s", "fast_path_share"}
    assert ecnlab.open_result(tmp_path / "r").tables == set(told["files"]) == set(runs["tables"])


def test_many_short_seeds_make_few_files(small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_FLUSH_INTERVAL_S", 3600.0)
    ecnlab.run(small, 30, out=tmp_path / "r")
    assert len(list((tmp_path / "r").glob("batch-*"))) == 1
    assert ecnlab.open_result(tmp_path / "r").seeds == list(range(1, 31))


def test_a_seed_that_took_long_is_kept_at_once(small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_FLUSH_INTERVAL_S", 0.0)
    ecnlab.run(small, 3, out=tmp_path / "r", threads=1)
    assert len(list((tmp_path / "r").glob("batch-*"))) == 3


def test_rows_are_in_the_order_of_the_seeds_whichever_batch_they_are_in(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, [2, 5], out=tmp_path / "r")
    result = ecnlab.run(small, [1, 2, 3, 5, 7], out=tmp_path / "r")
    whole = ecnlab.run(small, [1, 2, 3, 5, 7])
    assert result.flows.equals(whole.flows, null_equal=True)
    assert result.series.events.equals(whole.series.events)
    assert result.summary_json() == whole.summary_json()


def test_a_parquet_table_carries_its_units_its_meanings_and_its_build(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    about = pl.read_parquet_metadata(_only_batch(tmp_path / "r") / "groups.parquet")
    units = json.loads(about["units"])
    assert (units["goodput_bps"], units["delay_mean_s"]) == ("bit/s", "s")
    assert "goodput" in json.loads(about["meanings"])["goodput_bps"].lower()
    assert about["build"] == _core.BUILD


def test_polars_reads_a_whole_folder_as_one_table(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, [1, 2], out=tmp_path / "r")
    ecnlab.run(small, [1, 2, 3], out=tmp_path / "r")
    groups = pl.read_parquet(tmp_path / "r" / "batch-*" / "groups.parquet")
    assert groups.columns[:2] == ["key", "seed"]
    assert groups["key"].unique().to_list() == [small.hash]
    assert dict(groups.schema) | {"seed": pl.UInt64(), "group": pl.String(), "sent": pl.UInt64(), "goodput_bps": pl.Float64()} == dict(
        groups.schema
    )
    assert sorted(groups["seed"].unique()) == [1, 2, 3]


def test_the_results_of_another_scenario_are_not_mixed_in(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    with pytest.raises(ecnlab.ResultsError, match="holds results of another scenario"):
        ecnlab.run(ecnlab.load(small_file, {"duration": "7 s"}), 1, out=tmp_path / "r")


def test_the_results_of_another_build_are_not_mixed_in(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    _edit_batch(tmp_path / "r" / "run.json", build="0123456789abcdef", hash="0" * 32)
    with pytest.raises(ecnlab.ResultsError, match="another build of the engine"):
        ecnlab.run(small, 2, out=tmp_path / "r")


def test_a_batch_of_another_scenario_is_refused_with_the_remedy(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    ecnlab.run(ecnlab.load(small_file, {"duration": "7 s"}), seed=2, out=tmp_path / "other")
    shutil.copytree(_only_batch(tmp_path / "other"), tmp_path / "r" / "batch-copied")
    with pytest.raises(ecnlab.ResultsError, match=r"batch-copied belongs to another scenario.*delete the folder .*batch-copied"):
        ecnlab.open_result(tmp_path / "r")
    with pytest.raises(ecnlab.ResultsError, match="belongs to another scenario"):
        ecnlab.run(small, 2, out=tmp_path / "r")


def test_a_folder_that_lost_its_header_is_not_adopted(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    (tmp_path / "r" / "run.json").unlink()
    with pytest.raises(ecnlab.ResultsError, match=r"not empty .* fix: choose a new or an empty folder"):
        ecnlab.run(ecnlab.load(small_file, {"duration": "7 s"}), 1, out=tmp_path / "r")


def test_a_folder_with_other_things_in_it_is_refused_and_left_as_it_is(small: ecnlab.Scenario, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ecnlab.ResultsError, match=r"is not empty \(.*\) and is not a results folder"):
        ecnlab.run(small, 1, out=tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_another_format_is_refused(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    _edit_batch(tmp_path / "r" / "run.json", format=10_000)
    with pytest.raises(ecnlab.ResultsError, match="format 10000"):
        ecnlab.open_result(tmp_path / "r")


def test_a_later_format_is_refused_with_the_formats_that_are_read(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    _edit_batch(tmp_path / "r" / "run.json", format=_core.FORMAT + 1)
    with pytest.raises(ecnlab.ResultsError, match=r"format 8, this ecnlab reads formats 6 and 7; fix: upgrade ecnlab, or run the scenario"):
        ecnlab.open_result(tmp_path / "r")


def test_results_of_format_6_are_read() -> None:
    queue = ecnlab.open_result(Path(__file__).parent / "format6").series.queue
    assert (queue.height, queue["length_packets"].sum()) == (4201, 30731)
    assert queue["sojourn_mean_s"].drop_nans().sum() == pytest.approx(30.52184)


def test_a_folder_of_format_6_is_reused_and_has_the_present_format_when_seeds_are_added(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    batch = _only_batch(tmp_path / "r")
    _edit_batch(tmp_path / "r" / "run.json", format=6)
    _edit_batch(batch / "batch.json", format=6, digest=None)
    ecnlab.run(small, 1, out=tmp_path / "r")
    assert ([*(tmp_path / "r").glob("batch-*")], _read_batch(tmp_path / "r" / "run.json")["format"]) == ([batch], 6)
    assert ecnlab.run(small, 2, out=tmp_path / "r").seeds == [1, 2]
    (added,) = {*(tmp_path / "r").glob("batch-*")} - {batch}
    assert list(_read_batch(added / "batch.json")["runs"][0]["seeds"]) == ["2"]
    assert _read_batch(tmp_path / "r" / "run.json")["format"] == _core.FORMAT


def test_a_later_format_is_not_lowered_in_a_folder_that_was_opened_before(small: ecnlab.Scenario, tmp_path: Path) -> None:
    folder = ScenarioResultsFolder.open_or_create(tmp_path / "r", small)
    folder.prepare_for_new_batches()
    _edit_batch(tmp_path / "r" / "run.json", format=_core.FORMAT + 1)
    with pytest.raises(ecnlab.ResultsError, match=r"is a results folder of format 8, this ecnlab reads formats 6 and 7; fix: upgrade"):
        folder.prepare_for_new_batches()
    assert _read_batch(tmp_path / "r" / "run.json")["format"] == _core.FORMAT + 1


def test_a_batch_of_a_later_format_is_left_alone_and_reported(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    batch = _only_batch(tmp_path / "r")
    _edit_batch(batch / "batch.json", format=_core.FORMAT + 1)
    again = ecnlab.run(small, 2, out=tmp_path / "r")
    assert again.seeds == [1, 2]
    assert [warning.message for warning in again.warnings] == [
        f"{batch} is a batch of format 8, this ecnlab reads formats up to 7; its runs are not used, and are run again when needed; "
        "fix: upgrade ecnlab"
    ]
    assert batch.exists()


def test_a_folder_that_is_none_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ecnlab.ResultsError, match=r"is not a results folder: run\.json is missing; fix: name a folder that a run has written"
    ):
        ecnlab.open_result(tmp_path)
    with pytest.raises(ecnlab.ResultsError, match=r"nowhere: there is no such folder; fix: name a folder that a run has written"):
        ecnlab.open_result(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sweep.json", "it is a sweep; fix"),
        ("store.json", "it is a store with the runs"),
        ("claims.json", "it is a study's report"),
    ],
)
def test_a_folder_of_another_kind_is_called_by_its_kind(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(ecnlab.ResultsError, match=f"is not a results folder: {told}"):
        ecnlab.open_result(tmp_path)


def test_a_path_with_a_null_byte_is_a_usage_error() -> None:
    with pytest.raises(ecnlab.UsageError, match="path: must be the path of a folder, not a path with a null byte"):
        ecnlab.open_result("a\0b")


def test_a_damaged_table_is_reported_with_the_folder_to_delete(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    (_only_batch(tmp_path / "r") / "flows.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ecnlab.ResultsError, match=r"flows\.parquet is damaged.*delete the folder .*batch-"):
        _ = ecnlab.open_result(tmp_path / "r").flows


def test_a_table_of_another_batch_is_refused_though_it_is_sound(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    ecnlab.run(small, seed=2, out=tmp_path / "other")
    shutil.copy(_only_batch(tmp_path / "other") / "total.parquet", _only_batch(tmp_path / "r") / "total.parquet")
    with pytest.raises(ecnlab.ResultsError, match=r"total\.parquet is damaged: its digest differs"):
        ecnlab.open_result(tmp_path / "r").estimate("goodput_bps")


@pytest.mark.parametrize("extent", [(1 << 64, 10), (4, 1 << 62)])
def test_a_table_that_is_said_to_lie_beyond_its_file_is_damaged(small: ecnlab.Scenario, tmp_path: Path, extent: tuple[int, int]) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    journal = _only_batch(tmp_path / "r") / "batch.json"
    told = json.loads(journal.read_text())
    del told["digest"]
    told["files"]["total"]["row_groups"][0][:2] = extent
    journal.write_text(json.dumps(told))
    with pytest.raises(ecnlab.ResultsError, match=r"total\.parquet is damaged: its digest differs"):
        ecnlab.open_result(tmp_path / "r").estimate("goodput_bps")


@pytest.mark.parametrize("text", ["", "[]", "[" * 5000, '{"runs": []}', '{"runs": [{"seeds": {"one": {}}}], "files": {}, "merged": []}'])
def test_a_damaged_batch_is_ignored_and_reported_with_the_folder_to_delete(small: ecnlab.Scenario, tmp_path: Path, text: str) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    batch = _only_batch(tmp_path / "r")
    (batch / "batch.json").write_text(text)
    ecnlab.run(small, [2], out=tmp_path / "r")
    damaged = ecnlab.open_result(tmp_path / "r")
    assert damaged.seeds == [2]
    assert [warning.message for warning in damaged.warnings] == [
        f"{batch / 'batch.json'} is damaged; its runs are not used, and are run again when needed; fix: delete the folder {batch}"
    ]
    again = ecnlab.run(small, 2, out=tmp_path / "r")
    assert (again.seeds, again.warnings) == ([1, 2], damaged.warnings)
    shutil.rmtree(batch)
    assert ecnlab.run(small, 2, out=tmp_path / "r").summary_json() == ecnlab.run(small, 2).summary_json()


@pytest.fixture
def limited() -> Iterator[None]:
    """Tests that would block or use all memory fail."""
    resource = pytest.importorskip("resource", reason="needs limits of a process")

    def raise_keyboard_interrupt(_number: int, _frame: object) -> None:
        pytest.fail("a stored file was read without end")

    before = signal.signal(signal.SIGALRM, raise_keyboard_interrupt)
    signal.alarm(30)
    _, most = memory = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, most))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, memory)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _replace_by_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _replace_by_sparse_file(path: Path) -> None:
    os.truncate(path, 1 << 40)


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_replace_by_pipe, "it is not a regular file"),
        (_replace_by_device, "it is not a regular file"),
        (_replace_by_sparse_file, "it is larger than"),
    ],
)
def test_a_stored_file_that_has_no_end_is_refused_by_name(
    small: ecnlab.Scenario, small_file: Path, tmp_path: Path, change: Callable[[Path], None], why: str
) -> None:
    grid = {"link.bottleneck.queue.max_p": [0.1]}
    sweep = ecnlab.sweep(small_file, grid, store=tmp_path / "store", out=tmp_path / "sweep")
    [batch] = tmp_path.glob("store/*/batch-*")
    change(batch / "batch.json")
    again = ecnlab.sweep(small_file, grid, store=tmp_path / "store")
    assert again.summary(0.95).equals(sweep.summary(0.95))
    assert f"cannot read {batch / 'batch.json'}: {why}" in "\n".join(store.Store(tmp_path / "store").batches._unused.values())

    change(tmp_path / "sweep" / "groups.parquet")
    with pytest.raises(
        ecnlab.ResultsError, match=rf"groups\.parquet( cannot be read: {why}| is damaged: its digest differs).*run the same sweep again"
    ):
        _ = ecnlab.open_sweep(tmp_path / "sweep").groups

    out = tmp_path / "run"
    ecnlab.run(small, 1, out=out)
    change(_only_batch(out) / "total.parquet")
    if change is not _replace_by_sparse_file:  # data behind the read part is irrelevant
        with pytest.raises(ecnlab.ResultsError, match=rf"total\.parquet cannot be read: {why}"):
            ecnlab.open_result(out).estimate("goodput_bps")
    change(out / "run.json")
    with pytest.raises(ecnlab.ResultsError, match=rf"cannot read .*run\.json: {why}"):
        ecnlab.open_result(out)


@pytest.mark.usefixtures("limited")
def test_a_summary_that_is_a_pipe_is_written_again(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    _replace_by_pipe(tmp_path / "r" / "summary.json")
    summary = ecnlab.run(small, 1, out=tmp_path / "r").summary_json()
    assert _read_batch(tmp_path / "r" / "summary.json") == summary


@pytest.mark.usefixtures("limited")
def test_a_scenario_file_without_an_end_is_refused_and_one_from_a_pipe_is_read(small_file: Path, tmp_path: Path) -> None:
    for read in (ecnlab.load, lambda path: read_sweep_file(Path(path))):
        with pytest.raises(ecnlab.UsageError, match=r"cannot read '/dev/zero': .*it has more than 20000000 characters"):
            read("/dev/zero")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", small_file, pipe]):
        assert ecnlab.load(pipe).hash == ecnlab.load(small_file).hash


def test_a_folder_below_a_file_cannot_be_written(small: ecnlab.Scenario, small_file: Path) -> None:
    with pytest.raises(ecnlab.ResultsError, match="cannot write to"):
        ecnlab.run(small, 1, out=small_file / "r")


def test_the_summary_is_of_all_stored_seeds(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 3, out=tmp_path / "r")
    result = ecnlab.run(small, 1, out=tmp_path / "r")
    assert result.seeds == [1]
    assert _read_batch(tmp_path / "r" / "summary.json") == ecnlab.run(small, 3).summary_json()


def test_the_summary_includes_runs_that_another_process_stores_meanwhile(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = store.ScenarioResultsFolder.write_summary

    def write_by_another_process_first(folder: store.ScenarioResultsFolder, summary: Any) -> None:
        monkeypatch.setattr(store.ScenarioResultsFolder, "write_summary", write)
        ecnlab.run(small, [7, 8], out=tmp_path / "r")
        write(folder, summary)

    monkeypatch.setattr(store.ScenarioResultsFolder, "write_summary", write_by_another_process_first)
    ecnlab.run(small, [1, 2], out=tmp_path / "r")
    assert _read_batch(tmp_path / "r" / "summary.json")["seeds"] == [1, 2, 7, 8]


def test_a_complete_folder_is_shown_again_without_a_write(small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ecnlab.run(small, 3, out=tmp_path / "r")

    def raise_os_error(*_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(segments, "write_unflushed", raise_os_error)
    monkeypatch.setattr(atomic, "write_unflushed", raise_os_error)
    monkeypatch.setattr(Path, "mkdir", raise_os_error)
    assert ecnlab.run(small, 3, out=tmp_path / "r").summary_json() == first.summary_json()


def test_a_seed_without_the_wanted_recording_is_run_again(small_file: Path, small: ecnlab.Scenario, tmp_path: Path) -> None:
    bare = ecnlab.load(small_file, {"record.events": False})
    assert bare.hash == small.hash
    ecnlab.run(bare, 2, out=tmp_path / "r")
    assert "events" not in ecnlab.run(bare, 2, out=tmp_path / "r").series
    result = ecnlab.run(small, 3, out=tmp_path / "r")
    assert result.series.events["seed"].unique().sort().to_list() == [1, 2, 3]
    assert result.fingerprints.keys() == ecnlab.open_result(tmp_path / "r").fingerprints.keys()


def test_a_seed_sampled_at_another_interval_is_run_again(small_file: Path, small: ecnlab.Scenario, tmp_path: Path) -> None:
    finer = ecnlab.load(small_file, {"record.queue": "5 ms"})
    ecnlab.run(small, 1, out=tmp_path / "r")
    assert ecnlab.run(finer, 1, out=tmp_path / "r").series.queue["time_s"][1] == 0.005
    assert ecnlab.run(small, 1, out=tmp_path / "r").series.queue["time_s"][1] == 0.01


def test_a_seed_with_more_than_is_asked_now_is_taken(small_file: Path, small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 2, out=tmp_path / "r")
    ecnlab.run(ecnlab.load(small_file, {"record.events": False}), 2, out=tmp_path / "r")
    assert len(list((tmp_path / "r").glob("batch-*"))) == 1


def test_what_dead_processes_of_this_host_left_is_removed_and_nothing_else(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    dead, other = (
        f".batch-{gone.pid}-01234567-1-{atomic.host_name_for_files()}.partial",
        f".batch-{gone.pid}-01234567-1-another-host.partial",
    )
    of_our_number = f".batch-{os.getpid()}-01234567-1-{atomic.host_name_for_files()}.partial"
    living = f".batch-{atomic.unique_writer_name()}.partial"
    for name in (dead, of_our_number, other):
        (tmp_path / "r" / name).mkdir()
    (tmp_path / "r" / f".summary.json.{gone.pid}-01234567-2-{atomic.host_name_for_files()}.partial").write_text("half")
    (tmp_path / "r" / ".mine.partial").write_text("mine")
    with atomic.locked_temporary_path(tmp_path / "r" / living, folder=True):
        ecnlab.run(small, 1, out=tmp_path / "r")
        assert {entry.name for entry in (tmp_path / "r").glob(".*")} == {other, living, ".mine.partial"}
    assert not (tmp_path / "r" / living).exists()


def test_a_killed_process_of_our_own_number_stops_no_batch(small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_FILE_NUMBERS", iter(range(1, 100)))
    ecnlab.run(small, 1, out=tmp_path / "r")
    for batch in (tmp_path / "r").glob("batch-*"):
        (tmp_path / "r" / f".{batch.name.replace(atomic._PROCESS_TOKEN, '01234567')}.partial").mkdir()
    monkeypatch.setattr(atomic, "_FILE_NUMBERS", iter(range(1, 100)))
    monkeypatch.setattr(atomic, "_PROCESS_TOKEN", "76543210")
    assert ecnlab.run(small, 2, out=tmp_path / "r").seeds == [1, 2]


@pytest.mark.parametrize("has_hard_links", [True, False])
def test_of_two_scenarios_that_create_one_folder_the_second_is_refused(
    small: ecnlab.Scenario, small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_hard_links: bool
) -> None:
    other = ecnlab.load(small_file, {"duration": "7 s"})
    write_first = store.write_if_absent

    def write_by_another_process_first(path: Path, data: bytes) -> None:
        monkeypatch.setattr(store, "write_if_absent", write_first)
        if has_hard_links:
            ecnlab.run(other, 1, out=tmp_path / "r")
        write_first(path, data)
        if not has_hard_links:
            atomic.write_atomically(path, segments.to_json_bytes(store.run_header_of_scenario(other)))

    def raise_os_error(*_: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(store, "write_if_absent", write_by_another_process_first)
    if not has_hard_links:
        monkeypatch.setattr(os, "link", raise_os_error)
    with pytest.raises(ecnlab.ResultsError, match="holds results of another scenario"):
        ecnlab.run(small, 1, out=tmp_path / "r")
    assert ecnlab.run(other, 1, out=tmp_path / "r").seeds == [1]
    assert not list((tmp_path / "r").glob(".*"))


def test_of_processes_with_unlike_scenarios_one_has_the_folder(small_file: Path, tmp_path: Path) -> None:
    code = "import sys, ecnlab; ecnlab.run(ecnlab.load(sys.argv[1], {'duration': sys.argv[3]}), 2, out=sys.argv[2])"
    asked = [[sys.executable, "-c", code, str(small_file), str(tmp_path / "r"), f"{seconds} s"] for seconds in (4, 5, 6, 7)]
    processes = [subprocess.Popen(one, stderr=subprocess.DEVNULL) for one in asked]
    assert sorted(process.wait() for process in processes) == [0, 1, 1, 1]
    assert ecnlab.open_result(tmp_path / "r").seeds == [1, 2]


@pytest.mark.parametrize(("table", "key"), [(None, "hash"), (None, "groups"), (None, "warnings"), (None, "scenario"), ("scenario", "form")])
def test_a_header_that_lacks_something_is_reported_with_the_remedy(
    small: ecnlab.Scenario, tmp_path: Path, table: str | None, key: str
) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    header = _read_batch(tmp_path / "r" / "run.json")
    del (header[table] if table else header)[key]
    (tmp_path / "r" / "run.json").write_text(json.dumps(header))
    entry = f"{table}.{key}" if table else key
    with pytest.raises(ecnlab.ResultsError, match=rf"run\.json is damaged: {entry} missing or of another type; fix: delete the folder"):
        ecnlab.open_result(tmp_path / "r")


@pytest.mark.parametrize(
    ("key", "value"), [("groups", 5), ("duration_s", "x"), ("name", None), ("parameters", []), ("aqms", 1), ("backend", "")]
)
def test_an_entry_of_a_header_of_another_type_is_damage_with_the_remedy(
    small: ecnlab.Scenario, tmp_path: Path, key: str, value: object
) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    path = tmp_path / "r" / "run.json"
    path.write_text(json.dumps(_read_batch(path) | {key: value}))
    for read in (lambda: ecnlab.open_result(tmp_path / "r"), lambda: ecnlab.run(small, 1, out=tmp_path / "r")):
        with pytest.raises(ecnlab.ResultsError, match=rf"run\.json is damaged: {key} missing or of another type; fix: delete the folder"):
            read()


def test_of_seeds_recorded_in_two_ways_those_that_can_be_compared_are_shown(
    small: ecnlab.Scenario, small_file: Path, tmp_path: Path
) -> None:
    finer = ecnlab.load(small_file, {"record.window": "50 ms"})
    ecnlab.run(small, 2, out=tmp_path / "r")
    ecnlab.run(finer, 3, out=tmp_path / "r")
    ecnlab.run(small, 1, out=tmp_path / "r")
    times = ecnlab.open_result(tmp_path / "r").series.window.group_by("seed").agg(pl.col("time_s").unique().sort().get(1))
    assert times["time_s"].unique().to_list() == [0.05]


def test_several_processes_may_fill_one_folder_at_a_time(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    code = "import sys, ecnlab; ecnlab.run(ecnlab.load(sys.argv[1]), range(*map(int, sys.argv[3:])), out=sys.argv[2])"
    ranges = [(1, 7), (4, 10), (8, 13)]
    arguments = [[str(small_file), str(tmp_path / "r"), *map(str, one)] for one in ranges]
    processes = [subprocess.Popen([sys.executable, "-c", code, *given]) for given in arguments]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert _read_batch(tmp_path / "r" / "summary.json") == ecnlab.run(small, 12).summary_json()
    assert not list((tmp_path / "r").glob(".*"))


def test_a_folder_that_refuses_keeps_no_other_from_its_seeds(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = segments.write_unflushed

    def refuse_one(path: Path, data: bytes) -> None:
        if path.parent.parent.name == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(path, data)

    monkeypatch.setattr(segments, "write_unflushed", refuse_one)
    monkeypatch.setattr(runner, "_FLUSH_INTERVAL_S", 3600.0)
    with pytest.raises(ecnlab.ResultsError, match=r"cannot store seed 1,2 in .*full"):
        run_all([Request(small, [1, 2], tmp_path / "full"), Request(small, [3, 4], tmp_path / "sound")])
    assert ecnlab.open_result(tmp_path / "sound").seeds == [3, 4]


def test_two_requests_into_one_folder_do_not_collide(small: ecnlab.Scenario, tmp_path: Path) -> None:
    out = tmp_path / "r"
    run_all([Request(small, [1, 2, 3], out), Request(small, [3, 4], out)])
    assert ecnlab.open_result(out).seeds == [1, 2, 3, 4]


def test_an_atomic_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.json"
    atomic.write_atomically(path, b"old")

    def raise_os_error(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(atomic, "write_unflushed", raise_os_error)
    with pytest.raises(OSError, match="full"):
        atomic.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def _only_batch(folder: Path) -> Path:
    return next(iter(folder.glob("batch-*")))


def _read_batch(path: Path) -> Any:
    return json.loads(path.read_text())


def _edit_batch(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(_read_batch(path) | changes))


def test_a_table_missing_in_all_batches_is_reported_as_lost(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 2, out=tmp_path / "r")
    (batch,) = (tmp_path / "r").glob("batch-*")
    shutil.copytree(batch, batch.with_name("batch-1-01234567-1-there"))
    for path in (tmp_path / "r").glob("batch-*/total.parquet"):
        path.unlink()
    with pytest.raises(ecnlab.ResultsError, match=r"total\.parquet: does not exist; fix: delete the folder"):
        ecnlab.open_result(tmp_path / "r").estimate("goodput_bps")


def test_a_results_folder_that_cannot_be_written_is_refused_before_a_run(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ecnlab.run(small, [1], out=tmp_path / "out")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(Job, "run", lambda *_: pytest.fail("a run was made"))
    assert ecnlab.run(small, [1], out=tmp_path / "out").seeds == [1]
    with pytest.raises(ecnlab.ResultsError, match=r"cannot write to .*out; fix: make the folder writable"):
        ecnlab.run(small, [1, 2], out=tmp_path / "out")
