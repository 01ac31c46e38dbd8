import json
from pathlib import Path

import pytest

import ecnlab
from ecnlab.validation import packets


@pytest.mark.parametrize("path", sorted(packets.CASES_FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_case_of_ns_2_is_met_to_the_packet(path: Path) -> None:
    outcome = packets.check_case(path)
    assert outcome.ok, outcome.difference
    assert outcome.events > 0


def test_a_changed_case_is_noticed_and_the_difference_named(tmp_path: Path) -> None:
    case = json.loads((packets.CASES_FOLDER / "reno-1drop.json").read_text())
    case["events"][40][0] += 0.001
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(case))
    outcome = packets.check_case(path)
    assert not outcome.ok
    assert outcome.difference


def test_a_file_that_is_no_case_is_refused(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / f"{name}.json").write_text("{}")
    with pytest.raises(ecnlab.UsageError, match=r"x\.json is not a packet-exact case: .*\n.*y\.json is not a packet-exact case"):
        packets.check_folder(tmp_path)


def test_a_folder_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError, match="holds no"):
        packets.check_folder(tmp_path)
