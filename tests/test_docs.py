import json
import re
from pathlib import Path

import pytest

import ecnlab
from ecnlab import _core, docs

DOCS = docs.PAGE.parent


def test_the_pages_are_what_the_engine_declares() -> None:
    assert docs.main(["--check"]) == 0, "run python -m ecnlab.docs"


def test_a_stale_or_missing_page_is_told_with_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "parameters.md"
    assert docs.main(["--check", "--file", str(page)]) == 1
    assert docs.main(["--file", str(page)]) == 0
    assert docs.main(["--check", "--file", str(page)]) == 0
    page.write_text(page.read_text().replace("min_th", "min_tj"))
    assert docs.main(["--check", "--file", str(page)]) == 1
    assert "is stale" in capsys.readouterr().err


def test_a_column_that_the_page_of_measures_says_otherwise_is_written_anew() -> None:
    text = docs.MEASURES_PAGE.read_text()
    assert docs.measures_page(text.replace("| `rtt_mean_s` | s |", "| `rtt_mean_s` | h |")) == text


def test_every_column_of_a_result_is_defined_in_the_page_of_measures() -> None:
    small = {
        "name": "columns",
        "duration": "2 s",
        "link": [{"name": "l", "from": "a", "to": "b", "rate": "1 Mbps", "delay": "1 ms", "queue": {"aqm": "droptail", "limit": 10}}],
        "flows": [{"name": "f", "from": "a", "to": "b", "tcp": {"profile": "ns2"}}],
        "record": {"queue": "100 ms", "window": "100 ms", "rates": True, "events": True},
    }
    result = ecnlab.run(ecnlab.scenario(small))
    columns = {column for name in result.tables for column in result.table(name).columns}
    defined = set(re.findall(r"`(\w+)`", (DOCS / "measures.md").read_text()))
    assert columns | result.tables <= defined


def test_every_key_of_a_scenario_is_described_in_the_page_of_scenarios() -> None:
    schema = json.loads(_core.schema())
    root = schema["properties"]
    link, flows = root["link"]["items"]["properties"], root["flows"]["items"]["properties"]
    sections = [root, link, link["reverse"]["properties"], flows, flows["access"]["properties"], root["record"]["properties"]]
    described = set(re.findall(r"^\| `(\w+)` ", (DOCS / "scenario.md").read_text(), re.MULTILINE))
    assert {key for section in sections for key in section} <= described
