from collections.abc import Callable
from pathlib import Path

import pytest

import ecnlab
from ecnlab import studies
from ecnlab.studies.framework import extract, runner
from helpers import Outcome


@pytest.mark.parametrize("name", studies.TITLES)
def test_every_scenario_of_a_study_is_the_same_as_a_file(name: str, tmp_path: Path) -> None:
    planned = [planned.scenario for planned in runner.select_from_study(studies.find_study(name), [1]).plan.planned_scenarios]
    paths = extract.write_scenario_files(planned, tmp_path / "s")
    assert len(set(paths)) == len(planned)
    for path, scenario in list(zip(paths, planned, strict=True))[:: max(1, len(planned) // 20)]:
        read = ecnlab.load(path)
        assert (read.hash, read.name, read.record) == (scenario.hash, scenario.name, scenario.record)


def test_show_writes_the_scenarios_of_a_figure(command: Callable[..., Outcome], tmp_path: Path) -> None:
    done = command("study", "show", "aecn", "--figure", "5.29", "--scenarios", tmp_path / "s")
    assert done.code == 0, done.err
    written = sorted((tmp_path / "s").iterdir())
    assert f"{len(written)} scenarios in {tmp_path / 's'}" in done.out
    changed = command("run", written[0], "--set", "duration=21 s", "--out", tmp_path / "r")
    assert changed.code == 0, changed.err


def test_a_folder_that_cannot_be_written_is_reported(command: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = command("study", "show", "red-ecn", "--claim", "G1", "--scenarios", tmp_path / "file" / "s")
    assert done.code == 2
    assert "cannot write scenarios into" in done.err
