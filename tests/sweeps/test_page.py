"""The Python code and the sweep file of docs/how-to/sweeps.md and docs/how-to/compare.md run; the file equals the example's."""

import re
import shutil
from pathlib import Path

import duckdb
import pytest

import ecnlab
from helpers import EXAMPLES

DOCS = EXAMPLES.parent / "docs" / "how-to"


def _code_blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(autouse=True)
def _in_examples_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)


def test_the_page_shows_the_example_as_it_is() -> None:
    example = (EXAMPLES / "sweeps" / "schemes.toml").read_text(encoding="utf-8")
    assert example.endswith(_code_blocks("sweeps.md", "toml")[0])


def test_the_queries_and_the_python_of_the_page_of_sweeps_work() -> None:
    by_polars, by_hand = _code_blocks("sweeps.md", "python")
    base = ecnlab.load("examples/ecn.toml", {"duration": "22 s"})
    ecnlab.sweep(base, {"scheme": {"ECN": {}}, "flows": {"values": [60]}}, out="results/sweep-schemes", store=None)
    exec(by_polars, {})
    assert len(duckdb.sql(_code_blocks("sweeps.md", "sql")[0]).fetchall()) == 3
    names: dict[str, object] = {}
    exec(by_hand, names)
    swept = names["sweep"]
    assert isinstance(swept, ecnlab.Sweep)
    assert swept.points.height == 4
    assert ecnlab.open_sweep("results/sweep-two").groups.equals(swept.groups)


def test_the_python_of_the_page_of_comparisons_works() -> None:
    names: dict[str, object] = {}
    exec(_code_blocks("compare.md", "python")[0], names)
    found = names["found"]
    assert isinstance(found, ecnlab.Comparison)
    assert [changed.key for changed in found.parameters][:1] == ["link.bottleneck.queue.aqm"]
