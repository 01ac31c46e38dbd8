from collections.abc import Callable
from pathlib import Path

import pytest

import ecnlab
from ecnlab.cli import options
from ecnlab.errors import ScenarioError, UsageError
from ecnlab.netshell.links import ShellLink
from helpers import Outcome


@pytest.mark.parametrize(
    ("one", "several", "chosen"),
    [
        (None, None, [1, 2]),
        ("7", None, [7]),
        ("0", None, [0]),
        (None, "3", [1, 2, 3]),
        (None, "4..6", [4, 5, 6]),
        (None, "9,1", [1, 9]),
    ],
)
def test_seeds_n_are_1_to_n_and_seed_n_is_the_one(one: str | None, several: str | None, chosen: list[int]) -> None:
    assert options.seeds_from_options(one, several, "1..2") == chosen


@pytest.mark.parametrize(
    ("one", "several"), [("", None), (None, ""), (None, "0"), ("1.5", None), (None, "5..1"), ("1", "1..2"), ("-1", None)]
)
def test_an_invalid_seed_is_refused(one: str | None, several: str | None) -> None:
    with pytest.raises(UsageError):
        options.seeds_from_options(one, several, "1..2")


def test_every_change_without_a_value_is_named() -> None:
    assert options.parse_key_value_options("--set", ["a.b=1", " c = x=y "], "a=1") == {"a.b": "1", "c": "x=y"}
    with pytest.raises(UsageError, match=r"'novalue'.*\n.*'=3'"):
        options.parse_key_value_options("--set", ["novalue", "a=1", "=3"], "a=1")
    with pytest.raises(UsageError, match=r"--set 'name=\\udcff': is not UTF-8; fix: encode it as UTF-8"):
        options.parse_key_value_options("--set", ["a=1", "name=\udcff"], "a=1")


def test_two_options_for_seeds_are_refused_with_the_numbers_that_were_given() -> None:
    with pytest.raises(UsageError, match=r"--seed 3 runs only seed 3, --seeds 4 runs the seeds 1\.\.4; fix: give one"):
        options.seeds_from_options("3", "4", "1..2")


def test_errors_in_a_shell_s_link_are_reported_by_option() -> None:
    with pytest.raises(UsageError, match=r"--aqm 'nosuch': unknown AQM; fix: use one of droptail,.*, or FILE:CLASS"):
        ShellLink("10Mbps", aqm="nosuch").scenario({})
    with pytest.raises(ScenarioError) as refused:
        ShellLink("10 mbps", "soon", aqm="ecn", queue={"limit": "0", "max_tj": "3"}).scenario({})
    assert [problem.place for problem in refused.value.problems] == ["--rate", "--delay", "--queue max_tj", "--limit"]
    with pytest.raises(ScenarioError, match=r"link\.path\.queue\.max_p: 7 must be 0 \.\. 1"):
        ShellLink("10Mbps", aqm="ecn").scenario({"link.path.queue.max_p": "7"})


@pytest.mark.parametrize(
    "arguments",
    [["lab", "--out", ""], ["run", "example:ecn", "--out", ""], ["sweep", "x.toml", "--store", ""], ["example", "ecn", "--out", ""]],
)
def test_an_empty_path_is_not_the_current_folder(command: Callable[..., Outcome], arguments: list[str]) -> None:
    refused = command(*arguments)
    assert (refused.code, refused.err) == (2, f"{arguments[-2]}: is empty; fix: name a file or folder; the current folder is .\n")


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["plot", ""], "DIR"),
        (["run", ""], "FILE"),
        (["sweep", ""], "FILE"),
        (["compare", "example:ecn", ""], "B"),
        (["phase", ""], "FILE"),
        (["shell", ""], "FILE"),
        (["lab", ""], "FILE"),
        (["trace", ""], "path"),
        (["trace", "verify", ""], "path"),
        (["run", "example:ecn", "--trace", ""], "trace"),
    ],
)
def test_an_empty_argument_is_not_the_current_folder(command: Callable[..., Outcome], arguments: list[str], place: str) -> None:
    refused = command(*arguments)
    assert (refused.code, refused.err) == (2, f"{place}: is empty; fix: name a file or folder; the current folder is .\n")


@pytest.mark.parametrize(
    ("use", "place"),
    [
        (lambda scenario: ecnlab.run(scenario, out=""), "out"),
        (lambda scenario: ecnlab.sweep(scenario, {"flows.far.count": [1]}, store=None, out=""), "out"),
        (lambda scenario: ecnlab.sweep(scenario, {"flows.far.count": [1]}, store=""), "store"),
        (lambda _: ecnlab.Store(""), "store"),
        (lambda _: ecnlab.open_result(""), "path"),
        (lambda _: ecnlab.open_sweep(""), "path"),
        (lambda _: ecnlab.load(""), "path"),
        (lambda scenario: ecnlab.compare(scenario, ""), "compare"),
    ],
)
def test_an_empty_path_in_python_is_not_the_current_folder(
    small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[ecnlab.Scenario], object], place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError, match=f"^{place}: is empty; fix: name a file or folder; the current folder is \\.$"):
        use(small)
    assert sorted(tmp_path.iterdir()) == before
