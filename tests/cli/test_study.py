import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import ecnlab
from ecnlab.cli import catalog, study
from ecnlab.errors import ENGINE, Failure
from ecnlab.studies.framework import runner
from ecnlab.studies.framework.runner import StudyRunOutcome
from ecnlab.studies.papers.aecn import STUDY
from helpers import Outcome as Done

Command = Callable[..., Done]


@pytest.fixture(autouse=True)
def _in_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default runs are stored below the working directory."""
    monkeypatch.chdir(tmp_path)


def test_study_run_prints_where_the_report_is(command: Command, tmp_path: Path) -> None:
    done = command("study", "run", "aecn", "--quick", "--figure", "5.28", "--out", tmp_path / "s")
    assert done.code == 0, done.err
    assert done.out.endswith(f"report: {tmp_path / 's' / 'report.html'}\n")


def test_study_show_lists_its_figures_what_the_paper_claims_and_how_long_all_takes(command: Command) -> None:
    done = command("study", "show", "aecn")
    assert "Figure 5.29" in done.out
    assert "Table 5.1" in done.out
    assert "A11  Mark-front alone" in done.out
    assert re.search(r"in full: \d+ scenarios, (\d+) runs, about \d+ (s|min) on \d+ cores of ", done.out)
    full, quick = (int(runs) for runs in re.findall(r"scenarios, (\d+) runs", done.out))
    assert full > 10 * quick, "four times as many seeds, and all set-ups"


def test_study_show_says_what_exactly_is_run_for_a_claim(command: Command) -> None:
    done = command("study", "show", "aecn", "--claim", "a11")
    assert "A11: Mark-front alone" in done.out
    assert "60 flows: goodput, AECN with alpha 1 over ECN: about 0.1301: 0.06505 to 0.19515 Mbit/s" in done.out
    rows = re.findall(r"│ (?:AECN|ECN), .* │ \S.* │ [0-9a-f]{16} │ +│ +20 │", done.out)
    assert f"in full: {len(rows)} scenarios, {20 * len(rows)} runs" in done.out
    assert "with --quick: 4 scenarios, 20 runs" in done.out
    assert "the paper: “AECN with marking-front strategy" in done.out


def test_study_show_names_the_set_up_of_each_scenario_of_a_claim(command: Command) -> None:
    cells = [line.split("│")[1:4] for line in command("study", "show", "aecn", "--claim", "A24").out.splitlines() if line.startswith("│")]
    setups = [setup.strip() for _, setup, key in cells if key.strip()]
    assert setups[:2] == ["main", "main"]
    assert "main" not in setups[2:]
    assert {"AECN's count of packets since the last mark: router", "gentle", "measured later"} <= set(setups)
    figure = command("study", "show", "aecn", "--figure", "5.29").out
    assert {line.split("│")[2].strip() for line in figure.splitlines() if line.startswith("│")} == {"main"}


def test_the_verdicts_stand_in_a_table_and_are_counted(command: Command, tmp_path: Path) -> None:
    done = command("study", "run", "aecn", "--seeds", "2", "--main-setup", "--claim", "A7", "--out", tmp_path / "s")
    assert done.code == 0, done.err
    assert re.search(r"│ A7 +│ (✓|✗|\?)\xa0(not\xa0)?(reproduced|undecided) +│ Above 120 flows some", done.out)
    assert "\n1 claim: 1 " in done.out


def test_the_verdicts_are_printed_as_json(command: Command, tmp_path: Path) -> None:
    done = command("study", "run", "aecn", "--seeds", "2", "--main-setup", "--claim", "A7", "--json", "--out", tmp_path / "s")
    told = json.loads(done.out)
    assert told["report"] == str(tmp_path / "s" / "report.html")
    assert told["claims"] == json.loads((tmp_path / "s" / "claims.json").read_text())["claims"]


def test_a_demo_is_some_figures_with_the_claims_that_their_runs_decide(command: Command, tmp_path: Path) -> None:
    assert command("study", "run", "aecn", "--demo", "--claim", "A1", "--out", tmp_path / "s").code == 2
    chosen = runner.select_from_study(STUDY, range(1, 6), STUDY.demo)
    assert 0 < len(chosen.items) < 15
    assert len({claim.id for claim in chosen.claims if not claim.own}) >= 8


def test_a_study_that_names_no_figures_for_a_demo_says_so(command: Command, tmp_path: Path) -> None:
    done = command("study", "run", "red-ecn", "--demo")
    assert (done.code, done.err) == (2, "--demo: the study red-ecn defines no figures for a demo; fix: omit --demo\n")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_failed_is_reported_with_exit_code_1(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = StudyRunOutcome(tmp_path / "report.html", [], [Failure("0" * 64, "a title", 3, ENGINE, "out of luck")], ["Figure 5.29", "A14"])
    monkeypatch.setattr(runner, "run_study", lambda *_, **__: failed)
    done = command("study", "run", "aecn")
    assert done.code == 1
    assert done.err == (
        "failed: a title (key 000000000000), seed 3: out of luck\nomitted, because they depend on failed runs: Figure 5.29, A14\n"
    )


def test_an_interrupted_study_says_how_to_go_on(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_interrupted(*_: object, **__: object) -> None:
        raise ecnlab.Interrupted("interrupted: 3 of 9 runs had finished")

    monkeypatch.setattr(runner, "run_study", raise_interrupted)
    done = command("study", "run", "aecn", "--store", tmp_path / "kept")
    assert done.code == 130
    assert (
        done.err
        == f"interrupted: 3 of 9 runs had finished; finished runs are in {tmp_path / 'kept'}; the same command continues from there\n"
    )


def test_claims_and_figures_are_completed_of_the_study_on_the_line() -> None:
    command = study.run_study.make_context("run", ["amecn"], resilient_parsing=True)
    assert [item.value for item in catalog.complete_claim(command, study.run_study.params[0], "M")] == ["M1", "M2", "M3", "M4", "M5"]
    assert "5.29" not in [item.value for item in catalog.complete_figure(command, study.run_study.params[0], "5")]


@pytest.mark.parametrize("arguments", [["aecm"], ["aecn", "--figure", "99"], ["aecn", "--claim", "B1"]])
def test_an_unknown_study_or_figure_writes_nothing(command: Command, tmp_path: Path, arguments: list[str]) -> None:
    done = command("study", "run", *arguments, "--out", tmp_path / "s")
    assert done.code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = command("study", "run", "aecn", "--figure", "5.28", "--out", tmp_path / "file" / "s")
    assert done.code == 2
    assert "cannot write" in done.err


@pytest.mark.parametrize("arguments", [["--quick", "--seeds", "3"], ["--seed", "1", "--seeds", "2"], ["--seeds", "0"], ["--threads", "0"]])
def test_options_that_exclude_each_other_are_refused(command: Command, tmp_path: Path, arguments: list[str]) -> None:
    assert command("study", "run", "aecn", *arguments, "--out", tmp_path / "s").code == 2
    assert list(tmp_path.iterdir()) == []


def test_figures_and_seeds_of_a_study_are_chosen(command: Command, tmp_path: Path) -> None:
    done = command("study", "run", "aecn", "--seeds", "2", "--figure", "5.28", "--figure", "5.25", "--quiet", "--out", tmp_path / "s")
    assert (done.code, done.out) == (0, "")
    drawn = {path.stem for path in (tmp_path / "s" / "figures").glob("*.svg")}
    assert drawn == {"figure-5.25", "figure-5.28"}


def test_study_join_puts_reports_beside_each_other(command: Command, tmp_path: Path) -> None:
    for number in (1, 2):
        done = command("study", "run", "rfc2884", "--kernel-hosts", "--claim", "R4", "--seed", number, "--out", f"seed-{number}", "--quiet")
        assert done.code == 0, done.err
    done = command("study", "join", "seed-1", "seed-2", "--out", "both.csv", "--json")
    told = json.loads(done.out)
    assert (told["study"], told["header"][4:]) == ("rfc2884", [f"sim with kernels' hosts, seeds {number}" for number in (1, 2)])
    assert (tmp_path / "both.csv").read_text().startswith("claim,statement,holds if,published,")
    assert "max_p 0.5 over max_p 0.02" in command("study", "join", "seed-1").out
    assert (command("study", "join", "nowhere").code, command("study", "join", "seed-1", "--out", "x.txt").code) == (2, 2)


def test_the_hosts_of_kernels_are_refused_where_a_study_has_none(command: Command) -> None:
    done = command("study", "run", "aecn", "--kernel-hosts", "--demo")
    assert (done.code, "has no scenarios for hosts with real kernels" in done.err) == (2, True)
