import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab.storage import atomic

NS2_EVENT_SIGNS = {"+", "-", "d", "r"}


def traced(small: ecnlab.Scenario, path: Path, **options: Any) -> ecnlab.Result:
    return ecnlab.run(small, seed=1, trace=ecnlab.TraceTo(path, **options))


def test_a_run_with_a_trace_gives_the_results_of_one_without(small: ecnlab.Scenario, tmp_path: Path) -> None:
    plain = ecnlab.run(small, seed=1)
    for name in ("run.tr", "run.pcapng.zst", "run.parquet"):
        result = traced(small, tmp_path / name)
        assert result.fingerprints == plain.fingerprints
        assert result.flows.equals(plain.flows, null_equal=True)
        assert result.series.queue.equals(plain.series.queue, null_equal=True)


def test_lines_rows_and_packets_are_of_the_same_events(small: ecnlab.Scenario, tmp_path: Path) -> None:
    for name in ("run.tr", "run.tr.gz", "run.parquet"):
        traced(small, tmp_path / name)
    lines = (tmp_path / "run.tr").read_text().splitlines()
    rows = pl.read_parquet(tmp_path / "run.parquet")
    assert {line.split(" ")[0] for line in lines} == NS2_EVENT_SIGNS
    assert gzip.decompress((tmp_path / "run.tr.gz").read_bytes()).decode().splitlines() == lines
    assert rows.height == len(lines)
    assert rows["event"].to_list() == [{"+": "enqueued", "-": "dequeued", "d": "dropped", "r": "received"}[line[0]] for line in lines]


def test_a_trace_shows_the_links_that_were_named(small: ecnlab.Scenario, tmp_path: Path) -> None:
    traced(small, tmp_path / "run.parquet", links=["bottleneck", "far.access"])
    shown = set(pl.read_parquet(tmp_path / "run.parquet")["link"])
    assert "bottleneck" in shown
    assert {name.rsplit(".", 1)[0] for name in shown - {"bottleneck"}} == {"far.access"}


def test_marks_and_drops_in_a_table_are_those_of_the_queue(small: ecnlab.Scenario, tmp_path: Path) -> None:
    measured_from = ecnlab.scenario(small.resolved, {"measure_from": "0 s"})
    result = ecnlab.run(measured_from, seed=1, trace=tmp_path / "run.parquet")
    rows = pl.read_parquet(tmp_path / "run.parquet").filter(link="bottleneck")
    queue = result.queues.row(0, named=True)
    counts = {event: rows.filter(event=event).height for event in ("enqueued", "dequeued", "dropped")}
    assert counts == {"enqueued": queue["arrivals"], "dequeued": queue["departures"], "dropped": queue["drops"]}


def test_each_of_several_seeds_has_a_file_and_stored_seeds_are_run_for_theirs(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, [1, 2], out=tmp_path / "r")
    before = sorted((tmp_path / "r").glob("batch-*"))
    ecnlab.run(small, [1, 2], out=tmp_path / "r", trace=tmp_path / "run.tr.zst")
    assert sorted(path.name for path in tmp_path.glob("run*")) == ["run-seed1.tr.zst", "run-seed2.tr.zst"]
    assert sorted((tmp_path / "r").glob("batch-*")) == before


def test_a_name_of_no_kind_is_refused(small: ecnlab.Scenario, tmp_path: Path) -> None:
    for name, said in (
        ("run.pcap", "has an unknown extension"),
        ("run", "has an unknown extension"),
        ("run.gz", "has an unknown extension"),
        ("run.parquet.gz", "compressed already"),
    ):
        with pytest.raises(ecnlab.UsageError, match=said):
            traced(small, tmp_path / name)
    assert list(tmp_path.glob("run*")) == []


def test_what_only_a_capture_reads_is_refused_beside_other_kinds(small: ecnlab.Scenario, tmp_path: Path) -> None:
    for name, option, said in (("run.tr", {"keep": 100}, "--trace-bytes"), ("run.parquet", {"ip": 6}, "--trace-ip")):
        with pytest.raises(ecnlab.UsageError, match=said):
            traced(small, tmp_path / name, **option)
    with pytest.raises(ecnlab.UsageError, match="5 is not an IP version"):
        traced(small, tmp_path / "run.pcapng", ip=5)
    assert list(tmp_path.glob("run*")) == []


def test_a_capture_may_be_of_ipv6(small: ecnlab.Scenario, tmp_path: Path) -> None:
    shown = {}
    for ip in (4, 6):
        traced(small, tmp_path / f"run{ip}.pcapng", ip=ip)
        shown[ip] = ecnlab.trace(tmp_path / f"run{ip}.pcapng")
    assert {source.split(":")[0] for source in shown[6].flows["source"]} == {"[2001"}
    for column in ("sent", "drops", "marks"):
        assert shown[4].total[column] == shown[6].total[column]


def test_an_unknown_link_is_refused_with_the_nearest_name(small: ecnlab.Scenario, tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UnknownName, match="bottleneck"):
        traced(small, tmp_path / "run.tr", links=["botleneck"])
    with pytest.raises(ecnlab.UnknownName, match="unknown link 'zzz'; fix: use one of ") as refused:
        traced(small, tmp_path / "run.tr", links=["zzz"])
    assert "far.access, " in str(refused.value)
    assert "far.access.0" not in str(refused.value)


def test_a_place_that_cannot_be_written_is_said_before_anything_runs(small: ecnlab.Scenario, tmp_path: Path) -> None:
    with pytest.raises(ecnlab.ResultsError, match="does not exist"):
        traced(small, tmp_path / "nowhere" / "run.tr")
    (tmp_path / "folder.tr").mkdir()
    with pytest.raises(ecnlab.ResultsError, match="it is a folder"):
        traced(small, tmp_path / "folder.tr")


def test_an_output_path_that_is_not_a_regular_file_is_refused_and_kept(small: ecnlab.Scenario, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tr")
    (tmp_path / "link.tr").symlink_to(tmp_path / "elsewhere.tr")
    os.mkfifo(tmp_path / "run-seed2.tr")
    for name, message in (("pipe.tr", "it is a pipe or a device"), ("link.tr", "it is a symbolic link")):
        with pytest.raises(ecnlab.ResultsError, match=message):
            traced(small, tmp_path / name)
    with pytest.raises(ecnlab.ResultsError, match=r"run-seed2\.tr: it is a pipe"):
        ecnlab.run(small, [1, 2], trace=tmp_path / "run.tr")
    assert {path.name for path in tmp_path.glob("*.tr")} == {"pipe.tr", "link.tr", "run-seed2.tr"}
    assert (tmp_path / "pipe.tr").is_fifo()


def test_a_full_disk_is_said_and_leaves_nothing(small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecnlab.packet_traces.write.partial_path", lambda path: _refusing_path(tmp_path))
    for name in ("run.tr", "run.tr.zst", "run.pcapng", "run.parquet"):
        with pytest.raises(ecnlab.ResultsError, match=f"cannot write the trace .*{name}: .*No space left on device"):
            traced(small, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("run")] == []


def _refusing_path(folder: Path) -> Path:
    link = folder / "full"
    if not link.is_symlink():
        link.symlink_to("/dev/full")
    return link


def test_what_a_killed_run_left_of_a_trace_goes_with_the_next_run_for_it(small: ecnlab.Scenario, tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, others = (f".{name}.{gone.pid}-01234567-1-{atomic.host_name_for_files()}.partial" for name in ("run[1].tr", "run1.tr"))
    for name in (left, others):
        (tmp_path / name).write_text("half")
    traced(small, tmp_path / "run[1].tr")
    assert {entry.name for entry in tmp_path.iterdir()} - {"small.toml"} == {"run[1].tr", others}
