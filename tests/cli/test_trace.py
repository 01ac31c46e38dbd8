import gzip
import json
from collections.abc import Callable
from pathlib import Path

from helpers import Outcome

Command = Callable[..., Outcome]

TRACES = Path(__file__).parents[1] / "traces"
EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = TRACES / "small.tr.gz"


def test_a_trace_is_told_in_tables(command: Command) -> None:
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


def test_several_files_are_told_one_after_another(command: Command) -> None:
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


def test_what_is_no_trace_exits_with_2(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<html>")
    done = command("trace", file)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"{file}: this is neither an ns-2 trace nor pcap nor pcapng\n"


def test_a_damaged_trace_is_told_as_far_as_it_goes(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "cut.pcap"
    file.write_bytes(gzip.decompress((TRACES / "window-lost.pcap.gz").read_bytes())[:5000])
    done = command("trace", file)
    assert done.code == 0
    assert "the file ends in the middle of it; what is before it was read" in done.err


def test_a_check_without_a_violation_exits_with_0(command: Command) -> None:
    done = command("trace", "check", TRACES / "dctcp.pcap.gz")
    assert (done.code, done.err) == (0, "")
    assert "1 TCP connection, no violations, 546 known departures" in done.out


def test_a_check_names_each_known_departure_once_with_its_count(command: Command) -> None:
    lines = command("trace", "check", TRACES / "dctcp.pcap.gz").out.splitlines()
    known = [line for line in lines if line.startswith("known departure of ")]
    assert [line.split(" from ")[1].split(":")[0] for line in known] == [
        "ect-on-syn (RFC 3168, section 6.1.1)",
        "ect-on-syn-ack (RFC 3168, section 6.1.1)",
        "ect-on-ack (RFC 3168, section 6.1.4)",
        "echo-stopped (RFC 3168, section 6.1.3)",
    ]
    assert known[0].endswith("6.1.1): 1 packet, first in record 1, it has ECT(0)")


def test_a_check_lists_every_departure_when_it_is_asked_to(command: Command) -> None:
    out = command("trace", "check", TRACES / "dctcp.pcap.gz", "--all").out
    assert sum(": known departure of " in line for line in out.splitlines()) == 546


def test_a_run_of_ns_2_s_senders_breaks_no_rule_but_those_that_they_are_known_for(command: Command, tmp_path: Path) -> None:
    """The example that README.md shows, for as long as it takes to retransmit."""
    short = ("--set", 'duration="4 s"', "--set", 'measure_from="1 s"', "--trace", tmp_path / "ecn.pcapng", "--out", tmp_path / "out")
    assert command("run", EXAMPLES / "ecn.toml", *short).code == 0
    done = command("trace", "check", tmp_path / "ecn.pcapng")
    known = [line.split(":")[0] for line in done.out.splitlines() if line.startswith("known departure of ")]
    assert known == [
        "known departure of ns-2's senders from ect-on-retransmission (RFC 3168, section 6.1.5)",
        "known departure of ns-2's senders from cwr-on-retransmission (RFC 3168, section 6.1.2)",
        "known departure of ns-2's senders from offer-in-data (RFC 3168, section 6.1.1)",
    ]
    assert done.code == 0, done.out


def test_a_check_lists_twenty_violations_and_counts_the_rest(command: Command, tmp_path: Path) -> None:
    """Of 74 acknowledgements with ECE of DCTCP's receiver 24 have lost that flag: each is a violation, and no other one is."""
    file = tmp_path / "lost.pcap"
    file.write_bytes(without_ece(gzip.decompress((TRACES / "dctcp.pcap.gz").read_bytes())))
    done = command("trace", "check", file)
    listed = [line for line in done.out.splitlines() if line.startswith("record ")]
    assert done.code == 1
    assert len(listed) == 20
    assert "... and 4 more violations; --all lists every finding" in done.out
    every = command("trace", "check", file, "--all").out.splitlines()
    assert sum(": violation of echo-" in line for line in every) == 24


def without_ece(capture: bytes) -> bytes:
    """A pcap of IPv4 packets in which every third packet with ECE that is no SYN has that flag taken away."""
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
    done = command("trace", "check", TRACES / "ce-on-syn.pcapng.gz")
    assert done.code == 1
    assert "10.0.0.1:40000 > 10.0.0.2:80: violation of mark-on-not-ect (section 5): it had Not-ECT before and has CE now" in done.out


def test_a_check_of_what_is_no_trace_exits_with_2(command: Command, tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\0" * 100)
    assert command("trace", "check", tmp_path / "odd").code == 2


def test_a_check_as_json_has_rules_and_findings(command: Command) -> None:
    told = json.loads(command("trace", "check", TRACES / "ce-on-syn.pcapng.gz", "--json").out)
    assert [rule["name"] for rule in told["rules"]] == ["mark-on-not-ect"]
    assert len(told["findings"]) == 1
