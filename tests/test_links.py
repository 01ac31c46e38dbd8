"""Links with loss, jitter, duplication and rate changes, and links that follow a trace file."""

import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ecnlab
from helpers import EXAMPLES, SMALL

DELIVERY_TRACE = "1\n3\n3\n10\n"


def _link_tree(**link: Any) -> dict[str, Any]:
    tree = tomllib.loads(SMALL)
    tree["link"][0] |= link
    return tree


@pytest.fixture
def followed(tmp_path: Path) -> Path:
    """A scenario in a folder with the trace that it names."""
    text = re.sub('rate = "[^"]*"', 'deliveries = "some.trace"\nreverse = { rate = "10 Mbps" }', SMALL, count=1)
    (tmp_path / "followed.toml").write_text(text)
    (tmp_path / "some.trace").write_text(DELIVERY_TRACE)
    return tmp_path / "followed.toml"


def test_a_trace_lies_beside_the_scenario_that_names_it(followed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = ecnlab.load(followed)
    assert scenario.resolved["link"][0]["deliveries"] == [1, 3, 3, 10]
    assert pickle.loads(pickle.dumps(scenario)).hash == scenario.hash
    tree = tomllib.loads(followed.read_text())
    with pytest.raises(ecnlab.ScenarioError, match="no such file in the scenario's folder"):
        ecnlab.scenario(tree)
    monkeypatch.chdir(followed.parent)
    assert ecnlab.scenario(tree).hash == scenario.hash
    tree["link"][0]["deliveries"] = [1, 3, 3, 10]
    assert ecnlab.scenario(tree).hash == scenario.hash


def test_what_is_in_a_trace_is_part_of_the_key(followed: Path) -> None:
    before = ecnlab.load(followed).hash
    followed.with_name("some.trace").write_text("1\n3\n4\n10\n")
    assert ecnlab.load(followed).hash != before


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"1\n5\nx\n", 'line 3: "x"'),
        (b"1\n\xff\n", "not UTF-8"),
        (b"5\n4\n", "line 2: 4 comes after 5"),
        (None, "no such file"),
    ],
)
def test_a_trace_that_cannot_be_followed_says_why(followed: Path, content: bytes | None, told: str) -> None:
    trace = followed.with_name("some.trace")
    trace.unlink() if content is None else trace.write_bytes(content)
    with pytest.raises(ecnlab.ScenarioError) as error:
        ecnlab.load(followed)
    assert [problem.place for problem in error.value.problems] == ["link.bottleneck.deliveries"]
    assert told in error.value.problems[0].message


def test_a_folder_instead_of_a_trace_is_reported(followed: Path) -> None:
    with pytest.raises(ecnlab.ScenarioError, match="it is a folder"):
        ecnlab.load(followed, {"link.bottleneck.deliveries": "."})


def test_each_impairment_has_its_row_in_the_result() -> None:
    impair = [{"kind": "burst-loss", "rate": 0.02, "burst": 3}, {"kind": "duplicate", "rate": 0.1}]
    result = ecnlab.run(ecnlab.scenario(_link_tree(impair=impair)), [1, 2])
    rows = result.impairments
    assert rows["seed"].to_list() == [1, 1, 2, 2]
    assert rows["link"].to_list() == ["bottleneck"] * 4
    assert rows["kind"].to_list() == ["burst-loss", "duplicate"] * 2
    lost, copied = rows["lost"].to_list(), rows["duplicated"].to_list()
    assert lost[1] == lost[3] == copied[0] == copied[2] == 0
    assert min(lost[0], lost[2], copied[1], copied[3]) > 0


def test_the_trace_of_the_example_is_what_its_program_prints() -> None:
    program = EXAMPLES / "cellular_trace.py"
    printed = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout
    assert printed == (EXAMPLES / "cellular.trace").read_text()
