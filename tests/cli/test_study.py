from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import Outcome

Command = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are kept below the working directory unless said otherwise."""
    monkeypatch.chdir(tmp_path)


def test_study_show_lists_its_figures(command: Command) -> None:
    done = command("study", "show", "aecn")
    assert "Figure 5.29" in done.out
    assert "Table 5.1" in done.out


def test_study_run_prints_where_the_report_is(command: Command, tmp_path: Path) -> None:
    done = command("study", "run", "aecn", "--quick", "--figure", "5.28", "--out", tmp_path / "s")
    assert done.code == 0, done.err
    assert done.out == f"report: {tmp_path / 's' / 'report.html'}\n"


@pytest.mark.parametrize("arguments", [["aecm"], ["aecn", "--figure", "99"]])
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
