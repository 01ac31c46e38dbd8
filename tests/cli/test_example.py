"""`example:NAME` everywhere a file is named, and the commands example, init and cite."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import ecnlab as lab
from ecnlab import _core, packaged_examples
from ecnlab.errors import UsageError
from helpers import EXAMPLES, Outcome

SHORT = ("--set", "duration=21 s")


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_folder_at_the_root_is_the_packages() -> None:
    assert EXAMPLES.resolve() == packaged_examples.FOLDER.resolve()


def test_the_list_names_every_file_that_a_command_can_read(command: Callable[..., Outcome]) -> None:
    listed = json.loads(command("example", "--json").out)
    files = {file for file in packaged_examples.FOLDER.rglob("*") if file.suffix in (".toml", ".py")}
    assert {packaged_examples.resolve_example(f"example:{row['name']}") for row in listed} == files
    assert all(row["title"] for row in listed)
    assert {row["kind"] for row in listed} == {"scenario", "sweep", "AQM", "script"}


@pytest.mark.parametrize("one", [one for one in packaged_examples.examples() if one.kind == "scenario"], ids=lambda one: one.name)
def test_each_scenario_loads_from_the_package(one: packaged_examples.Example) -> None:
    assert lab.example(one.name).hash == lab.load(one.path).hash == lab.load(f"example:{one.name}.toml").hash


def test_an_example_takes_overrides() -> None:
    assert lab.example("ecn", {"duration": "21 s"}).duration_s == 21


@pytest.mark.parametrize("name", ["nix", "", "..", "../cli/root.py", "/etc/passwd", "sweeps", "ecn\n", "ecn\0"])
def test_a_name_that_is_not_an_example_is_one_error(name: str) -> None:
    with pytest.raises(UsageError, match="unknown example"):
        lab.load(f"example:{name}")


def test_every_command_that_reads_a_file_reads_an_example(command: Callable[..., Outcome]) -> None:
    assert command("run", "example:ecn", *SHORT, "--quiet").code == 0
    assert [path.name.partition("-")[0] for path in Path("results").iterdir()] == ["ecn"]
    assert command("draw", "example:fq", "--quiet").code == 0
    assert Path("fq.svg").is_file()
    assert command("compare", "example:ecn", "example:ecnm", *SHORT, "--seeds", "2", "--quiet").code == 0
    assert command("sweep", "example:sweeps/schemes", *SHORT, "--seed", "1", "--set", "flows.*.count=1", "--quiet").code == 0
    assert command("test-aqm", "example:threshold", "--quiet").code == 0
    queue = 'link.bottleneck.queue={ aqm = "Threshold", limit = 50 }'
    assert command("run", "example:ecn", *SHORT, "--aqm", "example:threshold:Threshold", "--set", queue, "--quiet").code == 0


@pytest.mark.parametrize(
    ("name", "files"),
    [("ecn", {"ecn.toml"}), ("cellular", {"cellular.toml", "cellular.trace"}), ("sweeps/phase", {"sweeps/phase.toml", "phase.toml"})],
)
def test_an_example_is_written_with_the_files_that_it_names(command: Callable[..., Outcome], name: str, files: set[str]) -> None:
    done = command("example", name, "--out", "here")
    assert (done.code, set(done.out.splitlines())) == (0, {f"written: here/{file}" for file in files})
    for file in files:
        assert (Path("here") / file).read_bytes() == (EXAMPLES / file).read_bytes()
    assert command("example", name, "--out", "here").code == 0  # the same files again


def test_all_examples_are_written_and_run_there(command: Callable[..., Outcome]) -> None:
    assert command("example", "--all", "--out", "all").code == 0
    assert command("run", "all/cellular.toml", "--set", "duration=12 s", "--quiet").code == 0


def test_a_file_of_the_users_is_not_overwritten_and_nothing_is_written(command: Callable[..., Outcome]) -> None:
    Path("cellular.trace").write_text("mine")
    done = command("example", "cellular")
    assert done.code == 2
    assert done.err == "cellular.trace: exists with another content; fix: remove it, or choose another folder with --out\n"
    assert not Path("cellular.toml").exists()


def test_a_new_project_runs_as_it_is(command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("init", "thesis").code == 0
    assert {path.name for path in Path("thesis").iterdir()} == {"scenario.toml", "sweep.toml", "notebook.ipynb", "README.md", ".gitignore"}
    monkeypatch.chdir("thesis")
    assert command("run", "scenario.toml", *SHORT, "--quiet").code == 0
    assert command("sweep", "sweep.toml", *SHORT, "--seed", "1", "--quiet").code == 0
    cells = [cell for cell in json.loads(Path("notebook.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    for cell in cells:
        exec("".join(cell["source"]).replace("seeds=5", "seeds=2"), names)
    assert isinstance(names["result"], lab.Result)


def test_a_project_does_not_replace_what_exists(command: Callable[..., Outcome]) -> None:
    Path("taken").mkdir()
    done = command("init", "taken")
    assert (done.code, done.err) == (2, "taken: exists; fix: choose the name of a new folder\n")
    assert not list(Path("taken").iterdir())
    assert command("init", "no/such/folder").code == 2
    assert [path.name for path in Path().iterdir()] == ["taken"]


def test_the_citation_names_version_build_key_and_seeds(command: Callable[..., Outcome]) -> None:
    assert f"build {_core.BUILD}" in command("cite").out
    result = lab.run(lab.example("ecn", {"duration": "21 s"}), [1, 2, 3, 7], out="kept")
    entry = command("cite", "kept").out
    assert entry.startswith(f"@software{{ecnlab-{result.hash[:8]},")
    assert f"scenario {result.hash}; seeds 1 to 3, 7" in entry
    assert command("cite", "nowhere").code == 2


def test_a_sweep_and_a_report_can_be_cited(command: Callable[..., Outcome]) -> None:
    lab.sweep(
        lab.example("ecn", {"duration": "21 s", "flows.*.count": 1}),
        {"link.bottleneck.queue.max_p": [0.1, 0.2]},
        seeds=[1, 2],
        out="swept",
        store=None,
        name="p",
    )
    assert "@software{ecnlab-sweep-p," in command("cite", "swept").out
    assert f"build {_core.BUILD}; sweep p, 2 points; seeds 1 to 2" in command("cite", "swept").out
    Path("report").mkdir()
    Path("report/claims.json").write_text(json.dumps({"study": "aecn", "engine": "0.1.0", "build": "b", "seeds": [1, 2, 3]}))
    assert "note = {build b; study aecn; seeds 1 to 3}" in command("cite", "report").out
    Path("report/claims.json").write_text("{}")
    done = command("cite", "report")
    assert (done.code, "fix: run the study again" in done.err) == (2, True)
