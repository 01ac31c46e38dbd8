import csv
import gzip
import shutil
import subprocess
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

import pytest

import ecnlab as lab
from ecnlab.packet_traces import analyze
from ecnlab.storage import atomic

TRACES = Path(__file__).parents[1] / "traces"
THESIS = Path(__file__).parents[2] / "benches" / "ns2" / "thesis.tcl"

# Counters of the kernel for each capture: sent, fast, timeout, needless, timeouts, drops, marks, reduced.
COUNT_COLUMNS = ("sent", "retransmitted_fast", "retransmitted_timeout", "spurious_retransmits", "timeouts", "drops", "marks", "cwr_packets")
LINUX_TRACES = {
    "one-mark.pcapng.gz": (300, 0, 0, 0, 0, 0, 1, 1),
    "two-drops.pcapng.gz": (302, 2, 0, 0, 0, 2, 0, 0),
    "window-lost.pcap.gz": (200, 0, 80, 0, 10, 0, 0, 0),
    "spurious-timeout.pcapng.gz": (151, 0, 1, 1, 1, 0, 0, 0),
    "reordering.pcap.gz": (301, 1, 0, 1, 0, 0, 0, 0),
}


def count_by_rule(path: Path) -> dict[str, float]:
    """Rates, counts and the mean delay of the TCP flow, computed from the lines without the package."""
    sent: set[int] = set()
    got: set[int] = set()
    again: set[int] = set()
    begun: dict[int, float] = {}
    entered: dict[int, str] = {}
    found: dict[str, float] = defaultdict(float)
    delays = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        what, time, start, end, kind, size, flags, _, source, sink, seq, uid = line.split()
        number, packet = int(seq), int(uid)
        if kind != "tcp":
            continue
        at_sink = end == sink.split(".")[0]
        if what == "+" and start == source.split(".")[0]:
            found["sent"] += 1
            begun[packet] = float(time)
            again |= {packet} if number in sent else set()
            sent.add(number)
        if what == "+":
            entered[packet] = flags
        found["marks"] += what == "-" and "E" in flags and "E" not in entered[packet]
        found["drops"] += what == "d"
        if what == "r" and at_sink:
            payload = 0 if number == 0 and size == "40" else int(size)
            found["bytes"] += int(size)
            found["new"] += payload if number not in got else 0
            found["first"] += payload if packet not in again else 0
            got.add(number)
            delays.append(float(time) - begun[packet])
    found["again"] = len(again)
    return found | {"delay": sum(delays) / len(delays)}


def test_an_ns_2_trace_gives_what_is_counted_from_its_lines() -> None:
    path = TRACES / "small.tr.gz"
    expected, trace = count_by_rule(path), lab.trace(path, from_s=0, to_s=5)
    flow = trace.flows.row(0, named=True)
    assert expected["drops"] > 10
    assert expected["marks"] > 10
    for column, what in (("throughput_bps", "bytes"), ("goodput_bps", "new"), ("goodput_first_bps", "first")):
        assert flow[column] == pytest.approx(expected[what] * 8 / 5, rel=1e-12), column
    for column in ("sent", "marks", "drops"):
        assert flow[column] == expected[column], column
    assert flow["retransmitted_fast"] + flow["retransmitted_timeout"] == expected["again"]
    assert flow["delay_mean_s"] == pytest.approx(expected["delay"], abs=1e-7)


def test_an_ns_2_trace_shows_its_bottleneck_first_and_both_flows() -> None:
    trace = lab.trace(TRACES / "small.tr.gz")
    assert trace.links["link"][0] == "1 > 2"
    assert trace.flows.select("source", "destination", "kind", "fid").rows() == [
        ("0.0", "2.0", "tcp", 7.0),
        ("0.1", "2.1", "datagrams", 0.0),
    ]
    assert trace.warnings == []


@pytest.mark.parametrize("name", LINUX_TRACES)
def test_a_capture_of_linux_gives_the_events_of_the_kernel(name: str) -> None:
    total = lab.trace(TRACES / name).total
    assert tuple(total[column] for column in COUNT_COLUMNS) == LINUX_TRACES[name]


def test_a_capture_at_both_hosts_has_one_way_delay_and_a_reaction_of_a_round_trip() -> None:
    trace = lab.trace(TRACES / "one-mark.pcapng.gz")
    reaction = trace.reactions.row(0, named=True)
    # 20 ms of propagation and 1.2 ms of transmission each way at least; the response uses the path of the ACKs.
    assert trace.flows["delay_mean_s"][0] > 0.0212
    assert reaction["latency_s"] == pytest.approx(0.020, abs=0.0005)
    assert trace.links["link"].to_list() == ["host a > host b", "host b > host a"]


def test_a_compressed_trace_gives_the_same_measures(tmp_path: Path) -> None:
    packed = TRACES / "window-lost.pcap.gz"
    file = tmp_path / "trace"
    file.write_bytes(gzip.decompress(packed.read_bytes()))
    assert lab.trace(file).total == pytest.approx(lab.trace(packed).total, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "violations", "departures"),
    [
        ("one-mark.pcapng.gz", {}, set()),
        ("all-marked.pcap.gz", {}, set()),
        ("two-drops.pcapng.gz", {}, set()),
        ("spurious-timeout.pcapng.gz", {}, set()),
        ("window-lost.pcap.gz", {}, set()),
        ("ce-on-syn.pcapng.gz", {"mark-on-not-ect": 1}, set()),
        ("dctcp.pcap.gz", {}, {"ect-on-syn", "ect-on-syn-ack", "ect-on-ack", "echo-stopped"}),
        ("small.tr.gz", {}, {"offer-in-data", "ect-on-retransmission", "cwr-on-retransmission"}),
    ],
)
def test_a_check_distinguishes_violations_from_known_departures(name: str, violations: dict[str, int], departures: set[str]) -> None:
    verdict = analyze.verify_trace(TRACES / name)
    assert {rule.name: rule.violations for rule in verdict.rules if rule.violations} == violations
    assert {rule.name for rule in verdict.rules if rule.departures} == departures


def test_a_finding_says_where_it_is_and_which_section_is_broken() -> None:
    (finding,) = analyze.verify_trace(TRACES / "ce-on-syn.pcapng.gz").findings
    assert (finding.rule, finding.section, finding.is_departure) == ("mark-on-not-ect", "5", False)
    assert finding.record == 2  # as Wireshark counts: blocks that describe interfaces are no packets
    assert finding.source == "10.0.0.1:40000"
    assert finding.found == "it had Not-ECT before and has CE now"


ACCURATE_ECN = {
    "name": "marks that Accurate ECN reports",
    "duration": "3 s",
    "link": [
        {"name": "link", "from": "a", "to": "b", "rate": "10 Mbps", "delay": "10 ms"}
        | {"queue": {"aqm": "step", "limit": 200, "threshold": 5}, "impair": [{"kind": "loss", "rate": 0.01}]}
    ],
    "flows": [
        {"name": "prague", "from": "a", "to": "b", "tcp": {"profile": "linux-7.2", "variant": "prague"}},
        {"name": "cubic", "from": "a", "to": "b", "tcp": {"profile": "linux-7.2", "ecn": True, "ecn_echo": "accurate"}},
    ],
}


def _accurate_violations(file: Path) -> dict[str, int]:
    verdict = analyze.verify_trace(file)
    return {rule.name: rule.violations for rule in verdict.rules if rule.name.startswith("accecn-") and rule.violations}


def test_accurate_ecn_of_a_run_with_marks_and_losses_reports_what_arrived_and_one_flipped_bit_is_found(tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    lab.run(lab.scenario(ACCURATE_ECN), trace=file)
    assert lab.trace(file).total["marks"] > 20
    assert _accurate_violations(file) == {}
    capture = bytearray(file.read_bytes())
    # The first ACK of the second half where it is captured first, near its host: IPv4 and TCP headers without data.
    at = len(capture) // 2
    while True:
        at = capture.index(b"\x45", at + 1)
        length = int.from_bytes(capture[at + 2 : at + 4], "big")
        is_ack = capture[at + 9] == 6 and length < 120 and capture[at + 33] & 0x17 == 0x10
        is_first = capture.find(capture[at : at + length]) == at
        if is_first and is_ack and capture[at + 32] >> 4 == (length - 20) // 4:
            break
    capture[at + 33] ^= 0x80
    file.write_bytes(capture)
    assert _accurate_violations(file) == {"accecn-ace": 1}


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
@pytest.mark.parametrize(("network", "flows"), [(4, 30), (5, 60)])
def test_a_trace_of_the_thesis_network_gives_the_numbers_of_ns_2_s_own_tables(tmp_path: Path, network: int, flows: int) -> None:
    file = tmp_path / "thesis.tr"
    done = subprocess.run(
        ["ns", str(THESIS), f"out={file}", f"net={network}", f"flows={flows}"], capture_output=True, text=True, check=True
    )
    counters = dict(zip(done.stdout.split()[::2], map(int, done.stdout.split()[1::2]), strict=True))
    whole, measured = lab.trace(file).total, lab.trace(file, from_s=20, to_s=100).total
    assert whole["sent"] == counters["sent"]
    assert whole["retransmitted_fast"] + whole["retransmitted_timeout"] == counters["retransmitted"]
    quantities = {
        "throughput_mbps": measured["throughput_bps"] / 1e6,
        "goodput_mbps": measured["goodput_bps"] / 1e6,
        "goodput_noretx_mbps": measured["goodput_first_bps"] / 1e6,
        "jain_1s_goodput_noretx": measured["jain_bins_goodput_first"],
        "delay_mean_ms": measured["delay_mean_s"] * 1e3,
        "marks": measured["marks"],
    }
    row = _ns2_reference(network, flows)
    far = {name: value for name, value in quantities.items() if abs(value - float(row[name])) > 3 * float(row[f"{name}_sd"])}
    assert far == {}, {name: (row[name], row[f"{name}_sd"]) for name in far}


def _ns2_reference(network: int, flows: int) -> dict[str, str]:
    """ns-2's means over seeds for the thesis' setting."""
    text = (files("ecnlab.reference") / "ns2" / f"thesis-ch{network}.csv").read_text()
    wanted = {"era": "21b7", "mode": "ecn", "n": str(flows), "maxp": "0.5"}
    (row,) = [row for row in csv.DictReader(text.splitlines()) if wanted.items() <= row.items()]
    return row


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"no trace at all\n", "neither an ns-2 trace nor pcap nor pcapng"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "ends in the middle"),
        (b"\x1f\x8b\x08\x00garbage", "ends in the middle"),
    ],
)
def test_a_file_that_is_not_a_trace_is_refused_by_name(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "odd"
    file.write_bytes(content)
    with pytest.raises(lab.TraceError, match=message) as refused:
        lab.trace(file)
    assert str(file) in str(refused.value)


def test_a_trace_that_ends_early_is_read_to_there_and_says_so(tmp_path: Path) -> None:
    whole = gzip.decompress((TRACES / "window-lost.pcap.gz").read_bytes())
    file = tmp_path / "cut.pcap"
    file.write_bytes(whole[: len(whole) // 2])
    trace = lab.trace(file)
    assert 0 < trace.about["events"] < lab.trace(TRACES / "window-lost.pcap.gz").about["events"]
    assert [warning.message for warning in trace.warnings if "the records before it were read" in warning.message]


def test_a_damaged_line_is_left_out_and_named(tmp_path: Path) -> None:
    lines = gzip.decompress((TRACES / "small.tr.gz").read_bytes()).splitlines(keepends=True)
    lines[10] = b"+ 0.1 0 one tcp 1000 ------- 0 0.0 2.0 1 1\n"
    file = tmp_path / "damaged.tr"
    file.write_bytes(b"".join(lines))
    (warning,) = lab.trace(file).warnings
    assert warning.message.startswith("record 11 at byte ")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(lab.TraceError, match="No such file"):
        lab.trace(tmp_path / "missing.tr")


def test_all_arguments_out_of_range_are_named_at_once() -> None:
    with pytest.raises(lab.UsageError) as refused:
        lab.trace("x", from_s=5, to_s=2, bin_s=0, flows=[-1], header=-1)
    assert len(str(refused.value).splitlines()) == 4


def test_an_interval_counts_only_what_lies_in_it() -> None:
    path = TRACES / "small.tr.gz"
    first, second, both = (lab.trace(path, from_s=begin, to_s=end).total for begin, end in ((0, 2), (2, 5), (0, 5)))
    assert first["sent"] + second["sent"] == both["sent"]
    assert 2 * first["throughput_bps"] + 3 * second["throughput_bps"] == pytest.approx(5 * both["throughput_bps"])


def test_a_chosen_flow_is_counted_alone() -> None:
    path = TRACES / "small.tr.gz"
    one, all_of_them = lab.trace(path, flows=[1]), lab.trace(path)
    assert one.flows["flow"].to_list() == [1]
    assert one.total["sent"] == all_of_them.flows["sent"][1]


def test_a_chosen_flow_that_the_trace_does_not_have_is_warned_of() -> None:
    path = TRACES / "small.tr.gz"
    assert not [one for one in lab.trace(path, flows=[1]).warnings if one.place == "flow"]
    (missing,) = [one for one in lab.trace(path, flows=[1, 99, 98]).warnings if one.place == "flow"]
    assert missing.message.startswith("the trace has no flow 99, 98 in this interval; fix: ")


def test_a_trace_that_cannot_be_saved_changes_nothing(tmp_path: Path) -> None:
    trace = lab.trace(TRACES / "small.tr.gz", sequence=[0])
    trace.save(tmp_path)
    (tmp_path / "total.parquet").unlink()
    (tmp_path / "total.parquet").mkdir()
    before = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}
    with pytest.raises(lab.TraceError, match="the folder was not changed"):
        trace.save(tmp_path)
    assert {path.name: path.stat().st_ino for path in tmp_path.iterdir()} == before


def test_a_saved_trace_has_every_table_and_a_summary(tmp_path: Path) -> None:
    import polars as pl

    trace = lab.trace(TRACES / "small.tr.gz", sequence=[0])
    written = trace.save(tmp_path / "out")
    assert sorted(written) == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert pl.read_parquet(tmp_path / "out" / "flows.parquet").equals(trace.flows, null_equal=True)


def test_tables_that_a_full_disk_refuses_leave_nothing_under_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "flows.parquet").write_bytes(b"before")
    whole = atomic.partial_path
    monkeypatch.setattr(
        "ecnlab.packet_traces.analyze.partial_path", lambda path: tmp_path / "full" if path.name == "links.parquet" else whole(path)
    )
    with pytest.raises(lab.TraceError, match=r"cannot write to .*out: No space left on device"):
        lab.trace(TRACES / "small.tr.gz").save(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["flows.parquet"]
    assert (tmp_path / "out" / "flows.parquet").read_bytes() == b"before"
