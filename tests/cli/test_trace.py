import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from helpers import Outcome

Command = Callable[..., Outcome]

TRACES = Path(__file__).parents[1] / "traces"
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


def test_files_of_one_name_go_into_folders_of_their_own(command: Command, tmp_path: Path) -> None:
    paths = [tmp_path / folder / "run.tr.gz" for folder in ("one", "other")]
    for path in paths:
        path.parent.mkdir()
        shutil.copy(SMALL, path)
    other = TRACES / "two-drops.pcapng.gz"
    done = command("trace", *paths, other, "--out", tmp_path / "tables", "--json")
    assert (done.code, done.err) == (0, "")
    told = [json.loads((folder / "summary.json").read_text())["source"] for folder in (tmp_path / "tables").iterdir()]
    assert sorted(told) == sorted(map(str, [*paths, other]))


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
    assert done.out.count("known departure of ect-on-ack") == 2  # one of each end


def test_a_check_lists_every_departure_when_it_is_asked_to(command: Command) -> None:
    assert command("trace", "check", TRACES / "dctcp.pcap.gz", "--all").out.count("known departure of") == 546


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
