import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path

from ecnlab.packet_traces import analyze
from helpers import Outcome

Command = Callable[..., Outcome]

TRACES = Path(__file__).parents[1] / "traces"
EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = TRACES / "small.tr.gz"
# A short run of an example.
RUN_OPTIONS = ("--set", 'duration="4 s"', "--set", 'measure_from="1 s"')


def test_a_trace_is_summarized_in_tables(command: Command) -> None:
    done = command("trace", SMALL, "--from", 0, "--to", 5)
    assert (done.code, done.err) == (0, "")
    assert "ns-2, 7215 events, 2 flows; measured from 0 s to 5 s" in done.out
    for text in ("throughput", "retransmitted fast", "fairness over all flows", "1 > 2"):
        assert text in done.out


def test_a_file_may_be_named_after_its_command(command: Command) -> None:
    assert command("trace", "read", SMALL).out == command("trace", SMALL).out


def test_json_has_every_flow_and_link(command: Command) -> None:
    told = json.loads(command("trace", SMALL, "--json").out)
    assert (told["about"]["format"], len(told["flows"]), len(told["links"])) == ("ns-2", 2, 4)
    assert told["flows"][1]["rtt_mean_s"] is None


def test_several_files_are_summarized_one_after_another(command: Command) -> None:
    told = json.loads(command("trace", SMALL, TRACES / "two-drops.pcapng.gz", "--json").out)
    assert [one["about"]["format"] for one in told] == ["ns-2", "pcapng"]


def test_tables_and_figures_go_into_folders(command: Command, tmp_path: Path) -> None:
    done = command("trace", SMALL, "--out", tmp_path / "tables", "--figures", tmp_path / "figures")
    assert (done.code, done.err) == (0, "")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{stem}.svg" for stem in ("sequence-0", "marks", "drops", "throughput", "goodput")
    }
    assert (tmp_path / "tables" / "flows.parquet").is_file()


def test_two_files_of_one_name_go_into_folders_of_their_own(command: Command, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a" / "x.tr").write_bytes(gzip.decompress(SMALL.read_bytes()))
    (tmp_path / "b" / "x.tr").write_bytes((TRACES / "two-drops.pcapng.gz").read_bytes())
    command("trace", tmp_path / "a" / "x.tr", tmp_path / "b" / "x.tr", "--out", tmp_path / "out", "--quiet")
    formats = [json.loads(path.read_text())["about"]["format"] for path in (tmp_path / "out").glob("*/summary.json")]
    assert sorted(formats) == ["ns-2", "pcapng"]


def test_a_file_that_is_not_a_trace_exits_with_2(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<html>")
    done = command("trace", file)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"{file}: this is neither an ns-2 trace nor pcap nor pcapng; fix: give a file of one of these formats\n"


def test_the_parquet_trace_of_a_run_is_refused_with_the_formats_that_are_read(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "run.parquet"
    done = command("run", EXAMPLES / "dumbbell.toml", *RUN_OPTIONS, "--trace", file, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    refused = command("trace", file)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(f"{file}: this is a Parquet table, which is not read as a trace; fix: ")


def test_a_damaged_trace_is_reported_as_far_as_it_goes(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "cut.pcap"
    file.write_bytes(gzip.decompress((TRACES / "window-lost.pcap.gz").read_bytes())[:5000])
    done = command("trace", file)
    assert done.code == 0
    assert "the file ends in the middle of it; the records before it were read" in done.err


def test_flows_are_listed_by_their_goodput_and_small_ones_together(command: Command, tmp_path: Path) -> None:
    done = command("run", EXAMPLES / "web.toml", *RUN_OPTIONS, "--trace", tmp_path / "web.pcapng", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    trace = analyze.trace(tmp_path / "web.pcapng")
    competing = trace.flows.filter(trace.flows["competes"] == 1).sort("goodput_bps", descending=True)
    rows = [line.split() for line in command("trace", tmp_path / "web.pcapng").out.splitlines()]
    listed = [int(row[1]) for row in rows if len(row) > 3 and row[1].isdigit() and "10.0.0." in row[3]]
    assert len(competing) > 100
    assert list(dict.fromkeys(listed)) == competing["flow"].to_list()[:100]  # a wide table is split
    assert {int(row[1]) for row in rows if "more" in row} == {len(trace.flows) - len(competing)}


def test_one_download_has_no_fairness(command: Command, tmp_path: Path) -> None:
    """A capture of one connection: 1000 bytes are requested, and 100 segments answer."""
    file = tmp_path / "download.pcap"
    file.write_bytes(download())
    done = command("trace", file)
    assert "fairness" not in done.out
    total = json.loads(command("trace", file, "--json").out)["total"]
    assert (total["flows"], total["competing_flows"], total["jain_goodput"], total["jain_bins_goodput"]) == (2, 1, None, None)


def test_times_that_go_backwards_are_warned_of_and_marked(command: Command, tmp_path: Path) -> None:
    lines = gzip.decompress(SMALL.read_bytes()).splitlines(keepends=True)
    file = tmp_path / "back.tr"
    file.write_bytes(b"".join(reversed(lines)))
    for words in (("trace", file), ("trace", "verify", file)):
        done = command(*words, "--json")
        assert "times go backwards at record " in done.err
        about = json.loads(done.out)["about"]
        assert about["reliable"] is False
        assert about["backwards"]["records"] > 7000
    assert json.loads(command("trace", SMALL, "--json").out)["about"]["reliable"] is True
    assert command("trace", file).code == 0


def download() -> bytes:
    """A pcap of IPv4 packets: a request of 1000 bytes at 0 s and 100 segments of 1000 bytes, each acknowledged, over 1 s."""
    packets = [(0, 1, 1000, 0)]
    for number in range(100):
        packets += [(number * 10_000 + 5000, 2, 1000, 1000 * number), (number * 10_000 + 6000, 1, 0, 1000 * number + 1000)]
    out = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 228))
    for micros, host, length, number in packets:
        seq, ack = (number, 1000) if host == 2 else (0 if length else 1000, number)
        ports = (40000, 80) if host == 1 else (80, 40000)
        ip = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 40 + length, 1, 0, 64, 6, 0, 10, 0, 0, host, 10, 0, 0, 3 - host)
        tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, 0x10, 1000, 0, 0)
        out += struct.pack("<IIII", 0, micros, 40, 40 + length) + ip + tcp
    return bytes(out)


def test_a_check_without_a_violation_exits_with_0(command: Command) -> None:
    done = command("trace", "verify", TRACES / "dctcp.pcap.gz")
    assert (done.code, done.err) == (0, "")
    assert "1 TCP connection, no violations, 546 known departures" in done.out


def test_a_check_names_each_known_departure_once_with_its_count(command: Command) -> None:
    lines = command("trace", "verify", TRACES / "dctcp.pcap.gz").out.splitlines()
    known = [line for line in lines if line.startswith("known departure of ")]
    assert [line.split(" from ")[1].split(":")[0] for line in known] == [
        "ect-on-syn (RFC 3168, section 6.1.1)",
        "ect-on-syn-ack (RFC 3168, section 6.1.1)",
        "ect-on-ack (RFC 3168, section 6.1.4)",
        "echo-stopped (RFC 3168, section 6.1.3)",
    ]
    assert known[0].endswith("6.1.1): 1 packet, first in record 1, it has ECT(0)")


def test_a_check_lists_every_departure_when_it_is_asked_to(command: Command) -> None:
    out = command("trace", "verify", TRACES / "dctcp.pcap.gz", "--all").out
    assert sum(": known departure of " in line for line in out.splitlines()) == 546


def test_a_run_of_ns_2_s_senders_breaks_no_rule_but_those_that_they_are_known_for(command: Command, tmp_path: Path) -> None:
    """The example of README.md, long enough for a retransmission."""
    assert command("run", EXAMPLES / "ecn.toml", *RUN_OPTIONS, "--trace", tmp_path / "ecn.pcapng", "--out", tmp_path / "out").code == 0
    done = command("trace", "verify", tmp_path / "ecn.pcapng")
    known = [line.split(":")[0] for line in done.out.splitlines() if line.startswith("known departure of ")]
    assert known == [
        "known departure of ns-2's senders from ect-on-retransmission (RFC 3168, section 6.1.5)",
        "known departure of ns-2's senders from cwr-on-retransmission (RFC 3168, section 6.1.2)",
        "known departure of ns-2's senders from offer-in-data (RFC 3168, section 6.1.1)",
    ]
    assert done.code == 0, done.out


def test_a_check_lists_twenty_violations_and_counts_the_rest(command: Command, tmp_path: Path) -> None:
    """Of 74 ACKs with ECE from DCTCP's receiver, 24 have lost that flag: each of them is a violation, and no other ACK."""
    file = tmp_path / "lost.pcap"
    file.write_bytes(without_ece(gzip.decompress((TRACES / "dctcp.pcap.gz").read_bytes())))
    done = command("trace", "verify", file)
    listed = [line for line in done.out.splitlines() if line.startswith("record ")]
    assert done.code == 1
    assert len(listed) == 20
    assert "... and 4 more violations; --all lists every finding" in done.out
    every = command("trace", "verify", file, "--all").out.splitlines()
    assert sum(": violation of echo-" in line for line in every) == 24


def without_ece(capture: bytes) -> bytes:
    """A pcap of IPv4 packets in which every third packet with ECE, SYNs excluded, loses that flag."""
    data, at, seen = bytearray(capture), 24, 0
    while at < len(data):
        kept = int.from_bytes(data[at + 8 : at + 12], "little")
        flags = at + 16 + 20 + 13
        if data[flags] & 0x42 == 0x40:
            data[flags] &= ~0x40 if seen % 3 == 2 else 0xFF
            seen += 1
        at += 16 + kept
    return bytes(data)


def test_a_check_with_a_violation_exits_with_1_and_names_record_rule_and_section(command: Command) -> None:
    done = command("trace", "verify", TRACES / "ce-on-syn.pcapng.gz")
    assert done.code == 1
    assert "10.0.0.1:40000 > 10.0.0.2:80: violation of mark-on-not-ect (section 5): it had Not-ECT before and has CE now" in done.out


def test_a_check_of_one_direction_says_what_it_could_not_check(command: Command, small_file: Path, tmp_path: Path) -> None:
    link = "bottleneck"
    assert command("run", small_file, "--trace", tmp_path / "one.pcapng", "--trace-link", link, "--quiet").code == 0
    done = command("trace", "verify", tmp_path / "one.pcapng")
    assert "TCP connections have packets of one direction only, so the rules about replies were not checked" in done.err
    assert command("run", small_file, "--trace", tmp_path / "both.pcapng", "--quiet").code == 0
    assert "one direction" not in command("trace", "verify", tmp_path / "both.pcapng").err


def test_a_check_of_a_file_that_is_not_a_trace_exits_with_2(command: Command, tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\0" * 100)
    assert command("trace", "verify", tmp_path / "odd").code == 2


def test_a_check_as_json_has_rules_and_findings(command: Command) -> None:
    told = json.loads(command("trace", "verify", TRACES / "ce-on-syn.pcapng.gz", "--json").out)
    assert [rule["name"] for rule in told["rules"]] == ["mark-on-not-ect"]
    assert len(told["findings"]) == 1
