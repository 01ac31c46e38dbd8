import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ecnlab.validation import formula_checks
from ecnlab.validation.case_files import read_case_text
from ecnlab.validation.kernel import CASES_FOLDER as KERNEL_CASES
from ecnlab.validation.packets import CASES_FOLDER
from helpers import Outcome

Command = Callable[..., Outcome]

pytestmark = pytest.mark.usefixtures("own_folder")

HEADER = "era,mode,n,maxp,seeds,throughput_mbps,throughput_mbps_sd,jain_goodput,jain_goodput_sd"


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def wrong_table(tmp_path: Path) -> Path:
    path = tmp_path / "wrong-ch5.csv"
    path.write_text(f"{HEADER}\n21b7,ecn,30,0.5,5,1.25,0.001,0.9,50.0\n")
    return path


def test_a_disagreement_is_listed_and_the_exit_code_is_1(command: Command, wrong_table: Path) -> None:
    done = command("validate", "tables", wrong_table, "--seeds", "2")
    assert done.code == 1
    assert "throughput_mbps" in done.out
    assert "1.25" in done.out
    assert "open" in done.out
    assert "jain_goodput" not in done.out


def test_runs_are_shared_through_the_store(command: Command, wrong_table: Path, tmp_path: Path) -> None:
    asked = ("validate", "tables", wrong_table, "--seeds", "2", "--store", tmp_path / "s")
    first, before = command(*asked), sorted((tmp_path / "s").rglob("*"))
    assert any(path.name == "batch.json" for path in before)
    assert command(*asked).out == first.out
    assert sorted((tmp_path / "s").rglob("*")) == before


def test_all_lists_what_agrees_as_well(command: Command, wrong_table: Path) -> None:
    assert "jain_goodput" in command("validate", "tables", wrong_table, "--seeds", "2", "--all").out


def test_json_is_all_there_is_on_standard_output(command: Command, wrong_table: Path) -> None:
    done = command("validate", "tables", wrong_table, "--seeds", "2", "--json")
    tree = json.loads(done.out)
    assert tree["totals"]["total"] == {"compared": 2, "agreeing": 1, "explained": 0, "open": 1}
    assert [comparison["verdict"] for comparison in tree["comparisons"]] == ["open", "agrees"]


def test_a_file_that_is_not_there_is_refused(command: Command, tmp_path: Path) -> None:
    done = command("validate", "tables", tmp_path / "none-ch4.csv")
    assert done.code == 2
    assert "cannot read" in done.err


def test_one_seed_is_too_few(command: Command) -> None:
    assert command("validate", "tables", "--seeds", "1").code == 2


def test_packet_exact_prints_a_line_a_case_and_the_totals_last(command: Command, tmp_path: Path) -> None:
    for name in ("reno-1drop", "reno-first"):
        shutil.copy(CASES_FOLDER / f"{name}.json.gz", tmp_path)
    done = command("validate", "packet-exact", tmp_path)
    assert done.code == 0
    assert len(done.out.splitlines()) == 3
    assert done.out.splitlines()[-1] == "2 cases, 2 exact, 0 different"


def test_packet_exact_names_the_first_difference_and_exits_with_1(command: Command, tmp_path: Path) -> None:
    case = json.loads(read_case_text(CASES_FOLDER / "reno-1drop.json.gz"))
    case["events"][30][2] += 1
    (tmp_path / "changed.json").write_text(json.dumps(case))
    done = command("validate", "packet-exact", tmp_path)
    assert done.code == 1
    assert done.out.startswith("FAIL")
    assert done.out.splitlines()[-1] == "1 case, 0 exact, 1 different"


def test_linux_prints_a_line_a_case_and_the_totals_of_each_way_last(command: Command, tmp_path: Path) -> None:
    for name in ("reno-lastack-lost", "reno-first-lost"):
        shutil.copy(KERNEL_CASES / f"{name}.json.gz", tmp_path)
    done = command("validate", "linux", tmp_path)
    assert (done.code, len(done.out.splitlines())) == (0, 6)
    assert done.out.splitlines()[1].split() == ["reno-first-lost", "few-drops", "exact", "exact", "exact"]
    assert done.out.splitlines()[-1] == "closed: 2 cases, 2 exact"
    tree = json.loads(command("validate", "linux", "--way", "sender", "--json", tmp_path).out)
    assert tree["totals"]["sender"]["exact"] == 2
    assert command("validate", "linux", "-q", tmp_path).out == ""


def test_linux_without_a_folder_takes_the_cases_of_the_package(command: Command) -> None:
    done = command("validate", "linux", "--case", "reno-first-lost")
    assert (done.code, done.out.splitlines()[-1]) == (0, "closed: 1 case, 1 exact")


def test_linux_names_the_first_difference_and_exits_with_1(command: Command, tmp_path: Path) -> None:
    case = json.loads(gzip.decompress((KERNEL_CASES / "reno-first-lost.json.gz").read_bytes()))
    case["packets"][8][6] = 1000
    (tmp_path / "changed.json").write_text(json.dumps(case))
    done = command("validate", "linux", tmp_path, "--way", "closed")
    assert done.code == 1
    assert f"packet {case['packets'][8][0]}: len: expected" in done.out
    assert "kernel" not in done.out
    shown = command("validate", "linux", tmp_path, "--way", "closed", "--case", "changed")
    assert (shown.code, "kernel" in shown.out) == (1, True)


def test_validate_linux_refuses_a_file_that_is_not_a_case(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    done = command("validate", "linux", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "x.json is not a case of a real kernel" in done.err


@pytest.fixture
def one_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = next(check for check in formula_checks.formula_checks() if check.formula == "DCTCP's maximum")
    monkeypatch.setattr(formula_checks, "formula_checks", lambda quick=False: [replace(chosen, seeds=2, predicted=41.0 if quick else 4.0)])


@pytest.mark.usefixtures("one_formula")
def test_formulas_are_listed_with_their_verdict_and_a_failure_is_exit_code_1(command: Command) -> None:
    done = command("validate", "formulas", "--quick")
    assert (done.code, done.out.splitlines()[-1]) == (0, "1 check, 1 agree, 0 fail")
    assert "DCTCP's maximum" in done.out
    done = command("validate", "formulas")
    assert (done.code, done.out.splitlines()[-1]) == (1, "1 check, 0 agree, 1 fail")


@pytest.mark.usefixtures("one_formula")
def test_formulas_as_json_and_as_a_page(command: Command, tmp_path: Path) -> None:
    tree = json.loads(command("validate", "formulas", "--json", "--write", tmp_path / "page.md").out)
    assert (tree["failed"], tree["checks"][0]["judge"], tree["checks"][0]["measured"]["seeds"]) == (1, "formula", 2)
    assert "| DCTCP's maximum | N = 1" in (tmp_path / "page.md").read_text()


def test_a_page_of_formulas_needs_all_checks_and_a_folder(command: Command, tmp_path: Path) -> None:
    assert command("validate", "formulas", "--quick", "--write", tmp_path / "page.md").code == 2
    assert command("validate", "formulas", "--write", tmp_path / "none" / "page.md").code == 2
