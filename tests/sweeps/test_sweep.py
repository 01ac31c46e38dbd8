"""Sweeps run, stopped, extended and read back; equal sweeps have equal bytes."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import ecnlab
from ecnlab.aqm import Arrival, Verdict
from ecnlab.errors import Interrupted, ResultsError, UnknownName, UsageError
from ecnlab.scenarios import catalog
from ecnlab.storage import atomic
from ecnlab.sweeps import folder as sweep_folder
from ecnlab.sweeps import run, summary
from helpers import SMALL

MAX_P = "link.bottleneck.queue.max_p"
GRID: dict[str, Any] = {MAX_P: [0.1, 0.5], "flows.near.count": [1, 3]}


class FailingAtSeed(ecnlab.Aqm):
    """Fails for a buffer of 61 packets."""

    def on_arrival(self, arrival: Arrival) -> Verdict:
        if arrival.backlog.packets > 2 and self.line.limit_packets == 61:
            raise ValueError("sixty is enough")
        return ecnlab.PASS


def _file_contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def _stored_runs(store: Path) -> int:
    """Number of runs in a store, counted once per batch."""
    told = [json.loads(path.read_text()) for path in store.glob("*/batch-*/batch.json")]
    return sum(len(part["seeds"]) for batch in told for part in batch["runs"])


def test_every_run_of_every_point_is_a_row_with_the_parameters_in_front(swept: ecnlab.Sweep) -> None:
    assert swept.total.columns[:5] == ["point", "scheme", "max_p", "flows", "seed"]
    assert swept.total.columns[5:] == [column.name for column in catalog.table("total").columns]
    assert swept.groups.height == 8 * 3 * 2
    assert swept.groups.columns[5:8] == ["group", "groups.flows", "throughput_bps"]
    assert swept.groups.filter(pl.col("flows") == 6)["groups.flows"].unique().to_list() == [3]
    assert [str(dtype) for dtype in swept.points.dtypes] == ["UInt32", "String", "Float64", "Int64", "String", "UInt32", "Boolean"]
    assert swept.tables == ["total", "groups", "queues"]


def test_the_rows_are_those_of_single_runs(small: ecnlab.Scenario, swept: ecnlab.Sweep) -> None:
    alone = ecnlab.run(small.changed({MAX_P: 0.1, "flows.*.count": 3}), seeds=3)
    rows = swept.groups.filter((pl.col("scheme") == "ECN") & (pl.col("max_p") == 0.1) & (pl.col("flows") == 6))
    shared = ["seed", "group", "throughput_bps", "goodput_bps", "drops", "marks", "delay_p99_s"]
    assert rows.select(shared).equals(alone.groups.select(shared))
    point = rows["point"][0]
    summary = swept.summary().filter(pl.col("point") == point).drop("point", "scheme", "max_p", "flows")
    assert summary.equals(alone.summary())


def test_polars_and_duckdb_read_a_table_as_it_is(swept: ecnlab.Sweep, swept_folder: Path) -> None:
    by_polars = pl.read_parquet(swept_folder / "groups.parquet")
    assert by_polars.equals(swept.groups)
    columns = 'scheme, max_p, flows, "group"'
    asked = f"SELECT {columns}, avg(goodput_bps) FROM '{swept_folder}/groups.parquet' GROUP BY ALL ORDER BY {columns}"
    by_duckdb = duckdb.sql(asked).fetchall()
    names = ["scheme", "max_p", "flows", "group"]
    means = by_polars.group_by(names).agg(pl.col("goodput_bps").mean()).sort(names)
    assert [row[:4] for row in by_duckdb] == means.select(names).rows()
    assert [row[4] for row in by_duckdb] == pytest.approx(means["goodput_bps"].to_list())


def test_each_file_says_the_unit_and_the_meaning_of_every_column(swept: ecnlab.Sweep, swept_folder: Path) -> None:
    for path in swept_folder.glob("*.parquet"):
        metadata = pl.read_parquet_metadata(path)
        units, meanings = json.loads(metadata["units"]), json.loads(metadata["meanings"])
        assert list(units) == list(meanings) == pl.read_parquet(path).columns
        assert all(meanings.values())
    groups = json.loads(pl.read_parquet_metadata(swept_folder / "groups.parquet")["units"])
    assert (groups["goodput_bps"], groups["delay_mean_s"], groups["groups.flows"]) == ("bit/s", "s", "flows")


def test_values_with_units_are_numbers_in_the_units_of_results(small: ecnlab.Scenario, tmp_path: Path) -> None:
    found = ecnlab.sweep(small, {"flows.*.access.delay": "10..30 step 20 ms"}, store=None, out=tmp_path / "out")
    assert found.points["delay"].to_list() == [0.01, 0.03]
    assert json.loads(pl.read_parquet_metadata(tmp_path / "out" / "total.parquet")["units"])["delay"] == "s"
    assert found.parameters[0].values == ("10 ms", "30 ms")


def test_the_same_sweep_has_the_same_bytes_whatever_the_threads_and_the_order(small_file: Path, tmp_path: Path) -> None:
    for name, threads in (("one", 1), ("four", 4)):
        ecnlab.sweep(small_file, GRID, seeds=4, store=tmp_path / name, out=tmp_path / f"{name}-out", threads=threads)
    for seeds in ([4, 2], [3, 1]):  # stored beforehand in another order
        ecnlab.sweep(small_file, {MAX_P: [0.5, 0.1], "flows.near.count": [3, 1]}, seeds=seeds, store=tmp_path / "mixed")
    ecnlab.sweep(small_file, GRID, seeds=4, store=tmp_path / "mixed", out=tmp_path / "mixed-out", threads=2)
    expected = _file_contents(tmp_path / "one-out")
    assert set(expected) >= {"sweep.json", "points.parquet", "total.parquet", "groups.parquet", "queues.parquet", "summary.csv"}
    assert _file_contents(tmp_path / "four-out") == expected
    assert _file_contents(tmp_path / "mixed-out") == expected


@pytest.mark.real_time
def test_a_sweep_killed_in_the_middle_runs_only_what_is_missing(small_file: Path, tmp_path: Path) -> None:
    long = {"duration": ["200 s", "201 s"], MAX_P: [0.1, 0.5]}
    often = "import sys, ecnlab; from ecnlab.execution import runner; runner._FLUSH_INTERVAL_S = 0.02"
    code = f"{often}; ecnlab.sweep(sys.argv[1], {long!r}, seeds=8, store=sys.argv[2], out=sys.argv[3], threads=1)"
    arguments = [sys.executable, "-c", code, str(small_file), str(tmp_path / "store"), str(tmp_path / "out")]
    victim = subprocess.Popen(arguments)
    deadline = time.monotonic() + 60
    while _stored_runs(tmp_path / "store") < 3 and time.monotonic() < deadline and victim.poll() is None:
        time.sleep(0.01)
    assert victim.poll() is None, "it should have been killed while it worked"
    victim.kill()
    victim.wait()
    before = _stored_runs(tmp_path / "store")
    assert 3 <= before < 32
    assert not (tmp_path / "out" / "sweep.json").exists()
    ecnlab.sweep(small_file, long, seeds=8, store=tmp_path / "store", out=tmp_path / "out")
    assert _stored_runs(tmp_path / "store") == 32
    ecnlab.sweep(small_file, long, seeds=8, store=None, out=tmp_path / "fresh")
    assert _file_contents(tmp_path / "out") == _file_contents(tmp_path / "fresh")


def test_a_sweep_that_is_extended_or_overlaps_shares_what_is_stored(small_file: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ecnlab.sweep(small_file, {MAX_P: [0.1, 0.5]}, seeds=2, store=store, out=tmp_path / "out")
    assert _stored_runs(store) == 4
    wider = ecnlab.sweep(small_file, {MAX_P: [0.1, 0.3, 0.5], "alias": {"a": {}, "b": {}}}, seeds=3, store=store, out=tmp_path / "out")
    assert _stored_runs(store) == 9
    assert wider.total.height == 18
    assert {row["alias"] for row in wider.points.iter_rows(named=True)} == {"a", "b"}


def test_tables_besides_the_measures_come_when_they_are_asked_for_and_stay_in_the_folder(small_file: Path, tmp_path: Path) -> None:
    one = {MAX_P: [0.1, 0.5]}
    found = ecnlab.sweep(small_file, one, store=tmp_path / "s", out=tmp_path / "out", tables=["flows", "series_rate", "total"])
    assert found.tables == ["total", "groups", "queues", "flows", "series_rate"]
    assert found.table("series_rate").columns[:5] == ["point", "max_p", "seed", "time_s", "group"]
    assert found.table("flows").height == 2 * 6
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    ecnlab.sweep(small_file, one, store=tmp_path / "s", out=tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    wider = ecnlab.sweep(small_file, {MAX_P: [0.1, 0.5, 0.9]}, seeds=2, store=tmp_path / "s", out=tmp_path / "out", tables=["lockouts"])
    assert wider.tables == ["total", "groups", "queues", "lockouts", "flows", "series_rate"]
    assert ecnlab.open_sweep(tmp_path / "out").table("flows").height == 3 * 2 * 6
    plain = ecnlab.load(small_file, {"record.rates": False})
    with pytest.raises(ResultsError, match=r"it has the table series_rate, for which this one lacks record\.rates; fix: choose another"):
        ecnlab.sweep(plain, {MAX_P: [0.1, 0.5, 0.9]}, seeds=2, store=tmp_path / "s", out=tmp_path / "out")
    with pytest.raises(ResultsError, match=r"has no table 'events'; it has total, groups, queues, lockouts"):
        ecnlab.open_sweep(tmp_path / "out").table("events")
    with pytest.raises(UnknownName, match="did you mean 'flows'"):
        found.table("flow")


def test_what_no_point_records_is_refused_before_anything_runs(small: ecnlab.Scenario, tmp_path: Path) -> None:
    plain = small.changed({"record": "{}"})
    with pytest.raises(UsageError, match=r"series_rate is not recorded; fix: set record\.rates"):
        ecnlab.sweep(plain, GRID, tables=["series_rate"], store=tmp_path / "store", out=tmp_path / "out")
    with pytest.raises(UsageError, match="must be a list of names"):
        ecnlab.sweep(plain, GRID, tables="flows", store=None)
    assert list(tmp_path.glob("[so]*")) == [path for path in tmp_path.glob("[so]*") if path.suffix == ".toml"]


def test_one_point_s_runs_are_a_result_while_the_sweep_is_at_hand(small_file: Path, swept: ecnlab.Sweep) -> None:
    found = ecnlab.sweep(small_file, {MAX_P: [0.1, 0.5]}, seeds=2, store=None)
    assert found.result(2).header["parameters"]["link"][0]["queue"]["max_p"] == 0.5
    assert found.result(2).series.queue.height > 0
    with pytest.raises(UnknownName, match="unknown point '3'"):
        found.result(3)
    with pytest.raises(ResultsError, match="tables of all points but not their runs"):
        swept.result(1)


def test_identical_seeds_are_reported_and_have_no_interval(small_file: Path) -> None:
    still = {"flows.*.start": "0 s", "flows.*.tcp": '{ profile = "rfc" }'}
    scenario = ecnlab.load(small_file, {**still, "link.bottleneck.queue": '{ aqm = "droptail", limit = 20 }'})
    found = ecnlab.sweep(scenario, {"link.bottleneck.queue.limit": [20, 30]}, seeds=3, store=None)
    assert found.points["alike"].to_list() == [True, True]
    assert found.summary()["half_width"].is_nan().all()
    assert [warning.place for warning in found.warnings].count("seeds") == 1


def test_a_run_that_fails_costs_only_itself(small_file: Path, tmp_path: Path) -> None:
    scenario = ecnlab.load(small_file, {"link.bottleneck.queue": '{ aqm = "FailingAtSeed", limit = 60 }'}, aqms=[FailingAtSeed])
    found = ecnlab.sweep(scenario, {"link.bottleneck.queue.limit": [60, 61]}, seeds=2, store=tmp_path / "store", out=tmp_path / "out")
    assert [(failure.point, failure.seed) for failure in found.failures] == [(2, 1), (2, 2)], found.failures
    assert "sixty is enough" in found.failures[0].message
    assert found.total["point"].unique().to_list() == [1]
    assert ecnlab.open_sweep(tmp_path / "out").failures == found.failures
    assert found.points["seeds"].to_list() == [2, 0]


def test_a_folder_that_holds_something_else_is_refused_before_anything_runs(small_file: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("x")
    with pytest.raises(ResultsError, match=r"is not empty \(chapter.tex\) and is not a sweep folder"):
        ecnlab.sweep(small_file, GRID, store=tmp_path / "store", out=tmp_path / "thesis")
    assert not (tmp_path / "store").exists()
    with pytest.raises(ResultsError, match=r"is not a sweep folder: sweep\.json is missing"):
        ecnlab.open_sweep(tmp_path / "thesis")


def test_a_sweep_that_is_removed_while_it_is_opened_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_folder, "is_sweep_folder", lambda path: True)  # as before a concurrent change
    with pytest.raises(ResultsError, match=r"sweep\.json has been removed; fix: run the same sweep again"):
        ecnlab.open_sweep(tmp_path)


@pytest.mark.parametrize(("key", "value"), [("files", None), ("files", []), ("seeds", 5), ("points", "4"), ("name", None)])
def test_a_sweep_json_with_an_entry_of_another_type_is_refused_with_the_remedy(
    small_file: Path, tmp_path: Path, key: str, value: object
) -> None:
    out = tmp_path / "s"
    ecnlab.sweep(small_file, {MAX_P: [0.1, 0.2]}, seeds=1, store=None, out=out)
    about = json.loads((out / "sweep.json").read_text())
    (out / "sweep.json").write_text(json.dumps(about | {key: value}))
    with pytest.raises(ResultsError, match=f"sweep.json is damaged: {key} missing or of another type; fix: run the same sweep again"):
        ecnlab.open_sweep(out)


@pytest.mark.parametrize("damaged", ["groups.parquet", "sweep.json", "missing"])
def test_a_file_that_is_not_what_was_written_is_refused_with_the_remedy(small_file: Path, tmp_path: Path, damaged: str) -> None:
    out = tmp_path / "out"
    ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=tmp_path / "store", out=out)
    if damaged == "missing":
        (out / "groups.parquet").unlink()
    else:
        (out / damaged).write_bytes((out / damaged).read_bytes()[:-9])
    with pytest.raises(ResultsError, match="run the same sweep again"):
        _ = ecnlab.open_sweep(out).groups
    assert ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=tmp_path / "store", out=out).groups.equals(ecnlab.open_sweep(out).groups)


@pytest.mark.parametrize("name", ["total.parquet", "sweep.json"])
def test_a_full_disk_is_reported_with_a_remedy_and_leaves_the_folder_as_it_was(
    small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    whole = atomic.write_unflushed

    def raise_disk_full(path: Path, data: bytes) -> None:
        if path.name.startswith(f".{name}"):
            raise OSError(28, "No space left on device")
        whole(path, data)

    def sweep_into_full_disk(seeds: int) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(atomic, "write_unflushed", raise_disk_full)
            with pytest.raises(ResultsError, match=r"No space left on device; the runs are stored; the same sweep continues from there"):
                ecnlab.sweep(small_file, GRID, seeds=seeds, store=tmp_path / "store", out=tmp_path / "out")

    sweep_into_full_disk(seeds=1)
    assert list((tmp_path / "out").iterdir()) == []
    first = ecnlab.sweep(small_file, GRID, store=tmp_path / "store", out=tmp_path / "out")
    sweep_into_full_disk(seeds=2)
    assert ecnlab.open_sweep(tmp_path / "out").total.equals(first.total)
    assert ecnlab.sweep(small_file, GRID, seeds=2, store=tmp_path / "store", out=tmp_path / "out").total.height == 8


def test_a_disk_that_is_full_in_earnest_leaves_no_sweep_and_the_same_command_goes_on(small_file: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="needs limits of a process")
    ecnlab.sweep(small_file, {MAX_P: [0.1, 0.5]}, store=tmp_path / "store")
    places = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "ecnlab", "sweep", str(small_file), "--vary", f"{MAX_P}=0.1,0.5", *places, "--quiet"]

    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))

    full = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit_file_size, check=False)
    assert full.returncode == 2, full.stderr
    assert full.stderr == f"cannot write to {tmp_path / 'out'}: File too large; the runs are stored; the same sweep continues from there\n"
    assert list((tmp_path / "out").iterdir()) == []
    assert subprocess.run(command, check=False).returncode == 0
    assert ecnlab.open_sweep(tmp_path / "out").total.height == 2


def test_a_folder_that_was_killed_while_it_was_written_is_rewritten(small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = (
        "import os, signal, sys, ecnlab; from ecnlab.storage import atomic; whole = atomic.rename_with_retries\n"
        "def die(partial, path):\n"
        "    path.name == 'queues.parquet' and os.kill(os.getpid(), signal.SIGKILL)\n"
        "    whole(partial, path)\n"
        "atomic.rename_with_retries = die\n"
        f"ecnlab.sweep(sys.argv[1], {GRID!r}, store=sys.argv[2], out=sys.argv[3])"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code, str(small_file), str(tmp_path / "store"), str(out)], check=False)
        assert done.returncode == -9
        named = {path.name for path in out.iterdir() if not path.name.endswith(".partial")}
        assert named == {"sweep.json", "points.parquet", "total.parquet", "groups.parquet"}
        with pytest.raises(ResultsError, match="run the same sweep again"):
            _ = ecnlab.open_sweep(out).queues
    ecnlab.sweep(small_file, GRID, store=tmp_path / "store", out=out)
    ecnlab.sweep(small_file, GRID, store=None, out=tmp_path / "fresh")
    assert _file_contents(out) == _file_contents(tmp_path / "fresh")


@pytest.mark.parametrize(
    ("changes", "grid", "seeds", "lacking"),
    [
        ({}, {MAX_P: [0.1]}, 2, r"its point 2 \(link\.bottleneck\.queue\.max_p = 0\.5\) is not a point of this one"),
        ({}, {MAX_P: [0.1, 0.5]}, 1, "it has seed 2, which this one lacks"),
        ({}, {"flows.far.count": [1]}, 2, r"its point 1 \(flows\.far\.count = 3, .*max_p = 0\.1\) is not a point of this one"),
        ({"duration": "7 s"}, {MAX_P: [0.1, 0.5]}, 2, r"its point 1 \(duration = 6 s\) is not a point of this one"),
    ],
)
def test_a_sweep_that_would_replace_another_one_is_refused_with_the_folder_and_the_fix(
    small_file: Path, tmp_path: Path, changes: dict[str, str], grid: dict[str, list[Any]], seeds: int, lacking: str
) -> None:
    first = ecnlab.sweep(small_file, {MAX_P: [0.1, 0.5]}, seeds=2, name="first", store=tmp_path / "s", out=tmp_path / "out")
    before = _file_contents(tmp_path / "out")
    fix = r"fix: choose another folder with --out \(in Python out=\), or delete this one, whose runs stay in the store"
    with pytest.raises(ResultsError, match=f"^{re.escape(str(tmp_path / 'out'))} has another sweep, 'first': {lacking}; {fix}$"):
        ecnlab.sweep(ecnlab.load(small_file, changes), grid, seeds=seeds, store=tmp_path / "s", out=tmp_path / "out")
    assert _file_contents(tmp_path / "out") == before
    titled = ecnlab.load(small_file, {"name": "another title", "record.rates": False})
    more = ecnlab.sweep(titled, {MAX_P: [0.1, 0.3, 0.5]}, seeds=3, store=tmp_path / "s", out=tmp_path / "out")
    assert more.total.height == 9 > first.total.height


def test_a_sweep_of_another_build_is_rewritten_by_one_with_its_scenario_seeds_and_number_of_points(
    small_file: Path, tmp_path: Path
) -> None:
    def sweep(scenario: Any, max_p: list[float], seeds: int) -> None:
        ecnlab.sweep(scenario, {MAX_P: max_p}, seeds=seeds, store=tmp_path / "s", out=tmp_path / "out")

    sweep(small_file, [0.1, 0.5], 2)
    stored = json.loads((tmp_path / "out" / "sweep.json").read_text())
    (tmp_path / "out" / "sweep.json").write_text(json.dumps(stored | {"build": "0123456789abcdef", "in_force": {"older": 1}}))
    for scenario, max_p, seeds, lacking in [
        (ecnlab.load(small_file, {"duration": "7 s"}), [0.1, 0.5], 2, "its scenario is another one"),
        (small_file, [0.1, 0.5], 1, "it has seed 2, which this one lacks"),
        (small_file, [0.1], 2, "it has 2 points, and this one 1"),
    ]:
        with pytest.raises(ResultsError, match=f"has another sweep, 'small': {lacking}; fix"):
            sweep(scenario, max_p, seeds)
    sweep(small_file, [0.1, 0.5], 2)
    assert ecnlab.open_sweep(tmp_path / "out").about == stored


def test_a_sweep_of_another_backend_is_not_replaced(small_file: Path, tmp_path: Path) -> None:
    ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=tmp_path / "s", out=tmp_path / "out")
    header = tmp_path / "out" / "sweep.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | {"backend": {"name": "live", "kernel": "6.18.5"}}))
    with pytest.raises(ResultsError, match=r"its backend is live \(kernel 6\.18\.5\) instead of sim; fix: choose another folder"):
        ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=tmp_path / "s", out=tmp_path / "out")


def test_a_replaced_sweep_of_an_earlier_format_leaves_no_table_that_is_not_recorded(small_file: Path, tmp_path: Path) -> None:
    def sweep(*tables: str, rates: bool) -> ecnlab.Sweep:
        scenario = ecnlab.load(small_file, {"record.rates": rates})
        return ecnlab.sweep(scenario, {MAX_P: [0.1]}, seeds=1, store=tmp_path / "s", out=tmp_path / "out", tables=tables)

    sweep("flows", "series_rate", rates=True)
    header = tmp_path / "out" / "sweep.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | {"format": 2}))
    for _ in range(2):
        assert sweep(rates=False).tables == ["total", "groups", "queues", "flows"]
    assert not (tmp_path / "out" / "series_rate.parquet").exists()


def test_a_sweep_of_a_later_format_is_not_replaced(small_file: Path, tmp_path: Path) -> None:
    ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=tmp_path / "s", out=tmp_path / "out")
    header = tmp_path / "out" / "sweep.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | {"format": 4}))
    before = _file_contents(tmp_path / "out")
    with pytest.raises(ResultsError, match=r"is a sweep of format 4, this ecnlab reads format 3; fix: upgrade ecnlab, or choose another"):
        ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=tmp_path / "s", out=tmp_path / "out")
    assert _file_contents(tmp_path / "out") == before
    header.write_text("{}")
    with pytest.raises(ResultsError, match=r"the sweep is damaged, as it has no format number; fix: "):
        ecnlab.open_sweep(tmp_path / "out")


@pytest.mark.parametrize(
    "damage",
    [
        {"backend": "sim"},
        {"seeds": "x"},
        {"seeds": 1},
        {"seeds": [[1]]},
        {"in_force": [1]},
        {"in_force_at": 3},
        {"in_force_at": [3]},
        {"build": "0123456789abcdef", "scenario": "x"},
        {"files": [1]},
        {"files": {"../kept.csv": {}, "..": {}, "a\0.csv": {}}},
    ],
)
def test_a_damaged_sweep_json_is_rewritten_by_the_same_sweep(small_file: Path, tmp_path: Path, damage: dict[str, Any]) -> None:
    ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=tmp_path / "s", out=tmp_path / "out")
    before = _file_contents(tmp_path / "out")
    (tmp_path / "kept.csv").write_text("mine")
    (tmp_path / "out" / "sweep.json").write_text(json.dumps(json.loads(before["sweep.json"]) | damage))
    ecnlab.sweep(small_file, {MAX_P: [0.1]}, store=tmp_path / "s", out=tmp_path / "out")
    assert _file_contents(tmp_path / "out") == before
    assert (tmp_path / "kept.csv").exists()


def test_ctrl_c_keeps_finished_runs(small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_interrupted(*_: object, **__: object) -> None:
        raise Interrupted("interrupted: 1 of 4 runs had finished")

    monkeypatch.setattr(run, "run_all", raise_interrupted)
    with pytest.raises(Interrupted):
        ecnlab.sweep(small_file, GRID, store=tmp_path / "store", out=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"base": 3}, "base: must be a scenario, the path of its file, or its dict, not int"),
        ({"seeds": 0}, "seeds: 0 must be from 1 to 1000000"),
        ({"store": 3}, "store: must be the path of a folder"),
        ({"out": 3}, "out: must be the path of a folder"),
        ({"threads": 0}, "threads: 0 must be a whole number"),
    ],
)
def test_an_argument_out_of_range_is_refused(arguments: dict[str, Any], message: str) -> None:
    import tomllib

    given = {"base": tomllib.loads(SMALL), "grid": {MAX_P: [0.1]}, "store": None} | arguments
    with pytest.raises(UsageError) as refused:
        ecnlab.sweep(**given)
    assert message in str(refused.value)


def test_the_table_of_a_sweep_has_the_units_of_its_parameters_in_the_headings(small: ecnlab.Scenario) -> None:
    grid = {"flows.far.access.delay": ["8 ms", "0.0385 s"], "link.bottleneck.rate": ["2 Mbps", "4 Mbit/s"]}
    swept = ecnlab.sweep(small, grid, store=None)
    (table,) = summary.sweep_tables(swept)
    assert table.header[:3] == ["delay (ms)", "rate (Mbit/s)", "goodput (Mbit/s)"]
    assert [row[:2] for row in table.rows] == [["8", "2"], ["8", "4"], ["38.5", "2"], ["38.5", "4"]]
