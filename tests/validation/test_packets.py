import json
from pathlib import Path

import pytest

import ecnlab
from ecnlab.validation import packets
from ecnlab.validation.case_files import case_files, case_stem, read_case_text

CASE_FILE = packets.CASES_FOLDER / "reno-1drop.json.gz"


def test_a_case_of_ns_2_is_met_to_the_packet() -> None:
    """All of them are compared in crates/validation/tests/ns2.rs."""
    outcome = packets.compare_packet_case(CASE_FILE)
    assert outcome.ok, outcome.difference
    assert outcome.events == len(json.loads(read_case_text(CASE_FILE))["events"])


def test_every_case_of_ns_2_has_events_to_compare() -> None:
    cases = {case_stem(path): json.loads(read_case_text(path)) for path in case_files(packets.CASES_FOLDER)}
    assert len(cases) >= 65
    assert [name for name, case in cases.items() if not case["events"]] == []


def test_a_changed_case_is_noticed_and_the_difference_named(tmp_path: Path) -> None:
    case = json.loads(read_case_text(CASE_FILE))
    case["events"][40][0] += 0.001
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(case))
    outcome = packets.compare_packet_case(path)
    assert not outcome.ok
    assert outcome.difference


def test_a_file_that_is_not_a_case_is_refused(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / f"{name}.json").write_text("{}")
    with pytest.raises(ecnlab.UsageError, match=r"x\.json is not a packet-exact case: .*\n.*y\.json is not a packet-exact case"):
        packets.compare_packet_cases_of_folder(tmp_path)


def test_a_folder_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError, match="contains no"):
        packets.compare_packet_cases_of_folder(tmp_path)
