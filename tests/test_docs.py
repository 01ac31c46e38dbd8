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
    page, measures = tmp_path / "parameters.md", tmp_path / "measures.md"
    measures.write_text(docs.MEASURES.read_text())
    files = ["--file", str(page), "--measures", str(measures)]
    assert docs.main(["--check", *files]) == 1
    assert docs.main(files) == 0
    assert docs.main(["--check", *files]) == 0
    for file, old, new in [(page, "min_th", "min_tj"), (measures, "`rtt_mean_s`", "`rtt_meen_s`")]:
        file.write_text(file.read_text().replace(old, new))
        capsys.readouterr()
        assert docs.main(["--check", *files]) == 1
        assert capsys.readouterr().err == f"{file} is stale: run python -m ecnlab.docs\n"
        assert docs.main(files) == 0


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
