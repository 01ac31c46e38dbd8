from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import Outcome

Command = Callable[..., Outcome]


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
