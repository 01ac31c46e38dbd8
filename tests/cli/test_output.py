import json
import math

import pytest

from ecnlab.cli import output
from ecnlab.errors import Problem


def test_nan_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"a": [1.5, math.nan], "b": {"c": math.inf}})
    assert json.loads(capsys.readouterr().out) == {"a": [1.5, None], "b": {"c": None}}


def test_a_control_character_is_printed_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_line("red\x1b[2J\nlines")
    output.print_to_stderr("first\x07\nsecond")
    captured = capsys.readouterr()
    assert captured.out == "red\\x1b[2J\\nlines\n"
    assert captured.err == "first\\x07\nsecond\n"


def test_a_line_feed_in_a_file_name_of_the_command_line_breaks_no_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["ecnlab", "run", "a\nb/c.toml", "--out=d\ne"])
    output.print_to_stderr("a\nb/c.toml:3: no such key\na\nb/c.toml:4: too large\nd\ne/x is damaged")
    assert capsys.readouterr().err == "a\\nb/c.toml:3: no such key\na\\nb/c.toml:4: too large\nd\\ne/x is damaged\n"


def test_a_warning_says_where_and_is_no_output(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_warnings([Problem("flows.far", 7, "sends nothing"), Problem("seeds", None, "all alike")], "first.toml")
    output.print_warnings([Problem("link", None, "marks nothing")], None)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "warning: first.toml:7: flows.far: sends nothing",
        "warning: first.toml: seeds: all alike",
        "warning: link: marks nothing",
    ]
