"""The examples in the docstrings of the main names run, and print the shown output."""

import doctest
from pathlib import Path

import pytest

import ecnlab

MAIN_NAMES = ("load", "scenario", "run", "Result", "open_result", "sweep", "compare", "Aqm", "trace", "replay")


@pytest.mark.parametrize("name", MAIN_NAMES)
def test_the_example_of_a_main_name_prints_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = doctest.DocTestFinder(recurse=False).find(getattr(ecnlab, name), name, globs={})
    assert example.examples, "no example"
    report: list[str] = []
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=report.append).failed == 0, "".join(report)
