import os
import pickle
import signal
import threading
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ecnlab
from ecnlab.scenarios.load import _unquoted_toml_value
from helpers import SMALL


def _deeply_nested() -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for _ in range(100_000):
        tree = {"a": tree}
    return tree


def test_a_loaded_scenario_knows_its_groups_and_queues(small: ecnlab.Scenario) -> None:
    assert (small.name, small.duration_s, small.measure_from_s) == ("small", 6.0, 1.0)
    assert small.group_names == ["far", "near"]
    assert small.queue_names == ["bottleneck"]


def test_a_dict_and_a_file_of_the_same_content_have_the_same_hash(small: ecnlab.Scenario) -> None:
    assert ecnlab.scenario(tomllib.loads(SMALL)).hash == small.hash


def test_an_override_changes_the_parameter_and_the_hash(small_file: Path, small: ecnlab.Scenario) -> None:
    changed = ecnlab.load(small_file, {"link.bottleneck.queue.max_p": 0.25, "flows.near.count": 5})
    assert changed.hash != small.hash
    assert "0.25" in str(changed.resolved)
    assert [group["count"] for group in changed.resolved["flows"]] == [3, 5]


def test_all_problems_are_raised_at_once_each_with_its_place(small_file: Path) -> None:
    overrides = {"link.bottleneck.queue.min_th": 40, "flows.near.count": 0, "flows.far.tcp.profile": "ns3"}
    with pytest.raises(ecnlab.ScenarioError) as raised:
        ecnlab.load(small_file, overrides)
    places = " ".join(problem.place for problem in raised.value.problems)
    assert len(raised.value.problems) == 3
    assert "queue.min_th" in places
    assert "near.count" in places
    assert "profile" in places


def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_known_key(tmp_path: Path) -> None:
    path = tmp_path / "typo.toml"
    path.write_text(SMALL.replace("duration =", "duratoin ="))
    with pytest.raises(ecnlab.ScenarioError, match=r"typo\.toml:2: duratoin.*duration"):
        ecnlab.load(path)


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError, match=r"none\.toml.*No such file"):
        ecnlab.load(tmp_path / "none.toml")


def test_a_tree_with_nan_is_refused() -> None:
    with pytest.raises(ecnlab.ScenarioError, match="not a tree of plain values"):
        ecnlab.scenario(tomllib.loads(SMALL) | {"duration": float("nan")})


@pytest.mark.parametrize("value", [True, 3, 0.1, 1e-12, [1, 2.5], ["0 s", "2 s"], {"kind": "file", "packets": 10}])
def test_a_python_value_becomes_the_toml_of_that_value(value: object) -> None:
    assert tomllib.loads(f"x = {_unquoted_toml_value(value)}")["x"] == value


def test_text_is_passed_on_as_a_bare_word() -> None:
    assert _unquoted_toml_value("20 Mbps") == "20 Mbps"


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["flows.near.count=5"], "not list"),
        ("flows.near.count=5", "not str"),
        ({7: 1}, "the key 7 is no text; fix: write the path of a key"),
        ({"na\udcffme": 1}, "surrogates not allowed"),
        ({"name": _deeply_nested()}, "nested too deeply"),
    ],
)
def test_overrides_of_another_kind_are_a_usage_error(small_file: Path, overrides: Any, told: str) -> None:
    with pytest.raises(ecnlab.UsageError, match=f"overrides.*{told}"):
        ecnlab.load(small_file, overrides)


@pytest.mark.parametrize("path", [None, 7, ["a.toml"]])
def test_a_path_of_another_kind_is_a_usage_error(path: Any) -> None:
    with pytest.raises(ecnlab.UsageError, match="path: must be"):
        ecnlab.load(path)


def test_a_path_that_no_file_can_have_is_a_usage_error() -> None:
    with pytest.raises(ecnlab.UsageError, match="cannot read"):
        ecnlab.load("a\0b")


@pytest.mark.parametrize("tree", ["small.toml", 7, None, []])
def test_a_tree_of_another_kind_is_a_usage_error(tree: Any) -> None:
    with pytest.raises(ecnlab.UsageError, match="tree: must be a dict"):
        ecnlab.scenario(tree)


def test_numbers_of_numpy_build_the_same_scenario_as_python_s(small: ecnlab.Scenario) -> None:
    tree = tomllib.loads(SMALL)
    tree["flows"][0]["count"] = np.int64(3)
    tree["link"][0]["queue"]["max_p"] = np.float32(0.5)
    assert ecnlab.scenario(tree, {"flows.near.count": np.int64(3)}).hash == small.hash


@pytest.mark.real_time
def test_ctrl_c_takes_effect_while_a_large_file_is_read_and_no_handler_is_changed(large_file: Path) -> None:
    heard = signal.getsignal(signal.SIGINT)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        ecnlab.load(large_file)
    assert signal.getsignal(signal.SIGINT) is heard


@pytest.mark.parametrize("make", [ecnlab.load, lambda path, changes: ecnlab.scenario(tomllib.loads(path.read_text()), changes)])
def test_a_scenario_goes_to_another_process_and_is_the_same_there(small_file: Path, make: Any) -> None:
    made = make(small_file, {"flows.near.count": 4})
    sent = pickle.loads(pickle.dumps(made))
    assert (sent.hash, sent.overrides, sent.source) == (made.hash, made.overrides, made.source)
    assert ecnlab.run(sent, 1).fingerprints == ecnlab.run(made, 1).fingerprints


def test_a_scenario_is_read_in_any_thread(small_file: Path, small: ecnlab.Scenario) -> None:
    hashes: list[str] = []
    reader = threading.Thread(target=lambda: hashes.append(ecnlab.load(small_file).hash))
    reader.start()
    reader.join()
    assert hashes == [small.hash]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(3), "3"),
        (np.float64(0.25), "0.25"),
        (np.bool_(True), "true"),
        (np.arange(2) / 4, "[0.0, 0.25]"),
        ([np.int32(1), "é😀"], '[1, "é😀"]'),
        ({"a b": 'say "x"\n'}, '{ "a b" = "say \\"x\\"\\n" }'),
        (1e-07, "1e-07"),
    ],
)
def test_a_value_of_python_or_numpy_is_written_as_toml(value: Any, text: str) -> None:
    assert _unquoted_toml_value(value) == text


@pytest.mark.parametrize("value", [None, object(), {1, 2}, 1j])
def test_a_value_that_toml_does_not_have_is_refused_with_its_key(small_file: Path, value: Any) -> None:
    with pytest.raises(ecnlab.UsageError, match=r"overrides: flows\.near\.count: .* is not a text, number, boolean, list or dict"):
        ecnlab.load(small_file, {"flows.near.count": value})


def test_a_tree_without_bottom_is_refused() -> None:
    with pytest.raises(ecnlab.ScenarioError, match="not a tree of plain values"):
        ecnlab.scenario(tomllib.loads(SMALL) | {"name": _deeply_nested()})


def test_a_scenario_says_what_it_records(small: ecnlab.Scenario) -> None:
    assert (small.record["queue"], small.record["rates"], small.record["distributions"]) == ("0.01 s", True, False)


def test_neither_the_title_nor_what_is_recorded_is_in_the_key(small_file: Path, small: ecnlab.Scenario) -> None:
    other = ecnlab.load(small_file, {"name": "another", "record.events": False, "record.queue": "20 ms"})
    assert other.hash == small.hash
    assert other.record != small.record


def test_what_an_author_hardly_meant_is_a_warning_with_its_place(small_file: Path, small: ecnlab.Scenario) -> None:
    assert small.warnings == []
    warnings = ecnlab.load(small_file, {"link.bottleneck.queue.max_p": 0}).warnings
    assert warnings
    assert all(warning.place == "link.bottleneck.queue.max_p" and warning.message for warning in warnings)


@pytest.mark.parametrize(
    ("response", "echo", "fix"),
    [
        ("dctcp", "classic", 'ecn_echo = "dctcp" or "accurate"'),
        ("dctcp", "mecn", 'ecn_echo = "dctcp" or "accurate"'),
        ("mecn", "accurate", 'ecn_echo = "mecn"'),
    ],
)
def test_a_response_that_its_echo_does_not_serve_is_refused_with_all_that_do(small_file: Path, response: str, echo: str, fix: str) -> None:
    changes = {"profile": "linux", "ecn": True, "ecn_response": response, "ecn_echo": echo}
    with pytest.raises(ecnlab.ScenarioError) as refused:
        ecnlab.load(small_file, {"flows.far.tcp": changes})
    (problem,) = refused.value.problems
    assert problem.message == f'{response} cannot use ecn_echo = "{echo}"; fix: give {fix}'
    accepted = ecnlab.load(small_file, {"flows.far.tcp": changes | {"ecn_echo": fix.split('"')[-2]}})
    assert accepted.group_names == ["far", "near"]
