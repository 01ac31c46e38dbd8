import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab import _core, store

_KILLED = """
import os, signal, sys
import ecnlab
from ecnlab import store

write = store._write
def dying(path, data):
    if "seed-3" in str(path) and path.name == "meta.json":
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, data)

store._write = dying
ecnlab.run(ecnlab.load(sys.argv[1]), range(1, 6), out=sys.argv[2], threads=1)
"""


def test_a_killed_run_leaves_whole_seeds_and_goes_on_from_them(small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    done = subprocess.run([sys.executable, "-c", _KILLED, str(small_file), str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert ecnlab.open_result(out).seeds == [1, 2]
    assert ecnlab.open_result(out).flows.height == 12
    assert not (out / "summary.json").exists()

    result = ecnlab.run(ecnlab.load(small_file), range(1, 6), out=out)
    assert result.seeds == [1, 2, 3, 4, 5]
    assert not list(out.glob(".*"))


def test_a_full_disk_is_one_clear_error_and_finished_seeds_stay(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = store._write

    def full(path: Path, data: bytes) -> None:
        if "seed-3" in str(path) and path.name.startswith("total"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, data)

    monkeypatch.setattr(store, "_write", full)
    with pytest.raises(ecnlab.ResultsError, match=r"cannot store seed 3.*No space left.*finished are kept"):
        ecnlab.run(small, range(1, 6), out=tmp_path / "r", threads=1)
    assert {1, 2} <= set(ecnlab.open_result(tmp_path / "r").seeds)
    assert 3 not in ecnlab.open_result(tmp_path / "r").seeds
    assert not list((tmp_path / "r").glob(".*"))


def test_a_folder_describes_itself(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    ecnlab.run(small, [4], out=tmp_path / "r")
    header = json.loads((tmp_path / "r" / "run.json").read_text())
    meta = json.loads((tmp_path / "r" / "seed-4" / "meta.json").read_text())
    assert (header["format"], header["engine"], header["hash"]) == (_core.FORMAT, _core.VERSION, small.hash)
    assert header["scenario"]["text"] == small_file.read_text()
    assert header["parameters"] == small.resolved
    assert meta["seed"] == 4
    assert len(meta["fingerprint"]) >= 16


def test_a_parquet_table_carries_its_units(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    units = json.loads(pl.read_parquet_metadata(tmp_path / "r" / "seed-1" / "groups.parquet")["units"])
    assert (units["goodput_bps"], units["delay_mean_s"]) == ("bit/s", "s")


def test_the_results_of_another_scenario_are_not_mixed_in(small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    with pytest.raises(ecnlab.ResultsError, match="holds results of another scenario"):
        ecnlab.run(ecnlab.load(small_file, {"duration": "7 s"}), 1, out=tmp_path / "r")


def test_the_results_of_another_engine_are_not_mixed_in(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    _edit(tmp_path / "r" / "run.json", engine="0.0.0")
    with pytest.raises(ecnlab.ResultsError, match="another engine version"):
        ecnlab.run(small, 2, out=tmp_path / "r")


def test_another_format_is_refused(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    _edit(tmp_path / "r" / "run.json", format=10_000)
    with pytest.raises(ecnlab.ResultsError, match="format 10000"):
        ecnlab.open_result(tmp_path / "r")


def test_a_folder_that_is_none_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ecnlab.ResultsError, match="no results folder"):
        ecnlab.open_result(tmp_path)


def test_a_damaged_table_is_a_clear_error(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, 1, out=tmp_path / "r")
    (tmp_path / "r" / "seed-1" / "flows.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ecnlab.ResultsError, match=r"cannot read .*flows\.parquet"):
        _ = ecnlab.open_result(tmp_path / "r").flows


def test_a_folder_below_a_file_cannot_be_written(small: ecnlab.Scenario, small_file: Path) -> None:
    with pytest.raises(ecnlab.ResultsError, match="cannot write to"):
        ecnlab.run(small, 1, out=small_file / "r")


def test_an_atomic_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.json"
    store.write_atomically(path, b"old")

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(store, "_write", refuse)
    with pytest.raises(OSError, match="full"):
        store.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def _edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
