import json
from collections.abc import Callable
from pathlib import Path

import pytest

import ecnlab
from ecnlab.errors import Interrupted
from helpers import Outcome

Command = Callable[..., Outcome]
MAX_P = "link.bottleneck.queue.max_p"
FILE = f"""\
scenario = "small.toml"
seeds = 3

[grid]
"{MAX_P}" = [0.1, 0.5]

[grid.scheme]
RED = {{ "link.bottleneck.queue.aqm" = "red", "flows.*.tcp.ecn" = false }}
ECN = {{}}
"""


@pytest.fixture(autouse=True)
def _in_temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def sweep_file(small_file: Path) -> Path:
    path = small_file.with_name("schemes.toml")
    path.write_text(FILE)
    return path


def test_a_sweep_file_is_run_reported_and_stored(command: Command, sweep_file: Path) -> None:
    done = command("sweep", sweep_file)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "schemes: 3 seeds, mean ± 95 % interval"
    assert [line.split("│")[1:3] for line in lines if line.startswith("│")] == [
        [f" {p}   ", f" {scheme}    "] for p in ("0.1", "0.5") for scheme in ("RED", "ECN")
    ]
    assert lines[-1] == "sweep in results/sweep-schemes: total, groups, queues, summary"
    assert "4 points, 3 seeds: 12 runs\n" in done.err
    assert ecnlab.open_sweep("results/sweep-schemes").total.height == 12
    assert "4 points, 4 seeds: 16 runs, of which 12 are stored already\n" in command("sweep", sweep_file, "--seeds", "4").err


def test_a_scenario_is_swept_over_what_is_varied(command: Command, small_file: Path) -> None:
    vary = ["--vary", f"{MAX_P}=0.1..0.5 step 0.4", "--vary", "flows.far.count=1,2", "--set", "duration=4 s", "--seed", "7"]
    done = command("sweep", small_file, *vary, "--json")
    told = json.loads(done.out)
    assert [point["parameters"] for point in told["points"]] == [{"max_p": p, "count": n} for p in (0.1, 0.5) for n in (1, 2)]
    assert told["seeds"] == [7]
    assert told["points"][0]["total"]["goodput_bps"]["n"] == 1
    assert set(told["points"][0]["groups"]) == {"far", "near"}
    assert Path("results/sweep-small-max_p-count/sweep.json").is_file()


def test_what_is_set_on_the_line_comes_before_the_file_s(command: Command, sweep_file: Path) -> None:
    sweep_file.write_text(FILE.replace("[grid]", '[set]\nduration = "5 s"\n\n[grid]', 1))
    command("sweep", sweep_file, "--set", "duration=4 s", "--vary", "flows.far.count=2", "--quiet", "--out", "o", "--store", "s")
    found = ecnlab.open_sweep("o")
    assert found.about["scenario"]["overrides"] == {"duration": "4 s"}
    assert [one.name for one in found.parameters] == ["max_p", "scheme", "count"]
    assert Path("s").is_dir()


def test_quiet_leaves_only_warnings_and_errors(command: Command, small_file: Path) -> None:
    done = command("sweep", small_file, "--vary", f"{MAX_P}=0.1,0.2", "--quiet")
    assert (done.code, done.out) == (0, "")
    assert all(line.startswith("warning: ") for line in done.err.splitlines())


def test_identical_points_are_reported(command: Command, sweep_file: Path) -> None:
    sweep_file.write_text(FILE + "CLASSIC = {}\n")
    done = command("sweep", sweep_file)
    assert "points: 2,3 are the same scenario; 5,6 are the same scenario; fix: let a key or [derived] use" in done.err
    assert "6 points, 3 seeds: 12 runs" in done.err


def test_tables_besides_the_measures_are_asked_for(command: Command, sweep_file: Path) -> None:
    assert command("sweep", sweep_file, "--table", "flows", "--seeds", "1").code == 0
    assert ecnlab.open_sweep("results/sweep-schemes").table("flows").height == 4 * 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["small.toml"], "small.toml: is a scenario, and no parameter is varied; fix: add --vary KEY=VALUES"),
        (["nowhere.toml", "--vary", "a=1"], "cannot read 'nowhere.toml'"),
        (["nowhere.toml"], "cannot read 'nowhere.toml'"),
        (["."], "cannot read '.': it is a folder; fix: name a file"),
        (["small.toml", "--vary", "name=a,b"], "name: is the scenario's title, which changes no result; fix: vary something else"),
        (["small.toml", "--vary", MAX_P], "is not KEY=VALUES; fix: write it as in"),
        (["small.toml", "--vary", f"{MAX_P}=0.1..0.5"], "needs a step"),
        (["small.toml", "--vary", f"{MAX_P}=0.1", "--vary", f"{MAX_P}=0.2"], "is given twice"),
        (["schemes.toml", "--vary", f"{MAX_P}=0.3"], "varies it too"),
        (
            ["small.toml", "--vary", f"{MAX_P}=0.3", "--set", f"{MAX_P}=0.2"],
            f"--set {MAX_P}: the sweep varies it; fix: omit one of the two",
        ),
        (
            ["small.toml", "--vary", f"{MAX_P}=0.1,1.5"],
            "small.toml: link.bottleneck.queue.max_p: 1.5 must be 0 .. 1 (point 2: max_p = 1.5)",
        ),
        (["schemes.toml", "--table", "flow"], "did you mean 'flows'"),
        (["schemes.toml", "--seed", "1", "--seeds", "2"], "exclude each other"),
        (["schemes.toml", "--threads", "1", "--cluster", "tcp://node1:8786"], "--threads and --cluster exclude each other"),
    ],
)
@pytest.mark.usefixtures("sweep_file")
def test_what_cannot_be_swept_is_refused_and_nothing_is_written(command: Command, arguments: list[str], message: str) -> None:
    done = command("sweep", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
    assert not Path("results").exists()


def test_a_sweep_file_that_varies_nothing_is_refused_with_the_table_to_add(command: Command, small_file: Path) -> None:
    small_file.with_name("fixed.toml").write_text(f'scenario = "{small_file.name}"\nseeds = 1\n\n[grid]\n')
    done = command("sweep", small_file.with_name("fixed.toml"))
    assert done.code == 2
    assert 'no parameter is varied; fix: give a table [grid], with "link.bottleneck.queue.max_p" = [0.1, 0.5]' in done.err


def test_errors_in_a_sweep_file_are_reported_with_its_name(command: Command, sweep_file: Path) -> None:
    sweep_file.write_text(
        FILE.replace("[0.1, 0.5]", '"0.1..0.5"').replace("[grid.scheme]", "flows = { far = { count = [1] } }\n\n[grid.scheme]")
    )
    done = command("sweep", sweep_file)
    assert done.code == 2
    range_, key = done.err.splitlines()
    assert range_.startswith(f"{sweep_file}: grid: {MAX_P}: range '0.1..0.5' needs a step")
    assert key == f'{sweep_file}: grid: flows: is a table, not a value; fix: write the whole key in quotes, as in "flows.far.count" = ...'


def test_runs_that_fail_are_listed_at_the_end_with_exit_code_1(command: Command, small_file: Path) -> None:
    Path("picky.py").write_text(
        "import ecnlab as lab\n\n\nclass Picky(lab.Aqm):\n"
        '    """Fails where the buffer has 61 places."""\n\n'
        "    def on_arrival(self, arrival):\n"
        "        if self.line.limit_packets == 61:\n            raise ValueError('sixty is enough')\n        return lab.PASS\n"
    )
    user_aqms = ["--aqm", "picky.py:Picky", "--set", 'link.bottleneck.queue={ aqm = "Picky", limit = 60 }']
    done = command("sweep", small_file, *user_aqms, "--vary", "link.bottleneck.queue.limit=60,61", "--seeds", "2")
    assert done.code == 1
    failed = [line for line in done.err.splitlines() if line.startswith("failed: ")]
    assert [line.split(": AQM")[0] for line in failed] == [f"failed: point 2 (limit = 61), seed {seed}" for seed in (1, 2)]
    assert "sixty is enough" in failed[0]
    assert done.err.splitlines()[-1] == "the same command repeats the failed runs"
    assert ecnlab.open_sweep("results/sweep-small-limit").total.height == 2


def test_ctrl_c_says_how_to_go_on(command: Command, sweep_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ecnlab.sweeps import run

    def raise_interrupted(*_: object, **__: object) -> None:
        raise Interrupted("interrupted: 1 of 12 runs had finished")

    monkeypatch.setattr(run, "run_all", raise_interrupted)
    done = command("sweep", sweep_file)
    assert done.code == 130
    expected = "interrupted: 1 of 12 runs had finished; finished runs are in results/store; the same command continues from there"
    assert done.err.splitlines()[-1] == expected


def test_a_sweep_is_drawn_without_code(command: Command, sweep_file: Path) -> None:
    assert command("sweep", sweep_file, "--quiet").code == 0
    folder = "results/sweep-schemes"
    done = command("plot", folder, "--y", "goodput_bps", "--x", "max_p", "--by", "scheme", "--group", "far", "--format", "pdf")
    assert (done.code, done.out) == (0, f"figures in {folder}/figures: goodput_bps-max_p-far\n")
    assert {path.name for path in Path(folder, "figures").iterdir()} == {"goodput_bps-max_p-far.pdf", "goodput_bps-max_p-far.csv"}
    assert command("plot", folder, "--by", "scheme", "--by", "group", "--y", "marks", "--where", "max_p=0.5", "--x", "max_p").code == 0


def test_options_of_a_sweep_are_refused_for_a_run_and_those_of_a_run_for_a_sweep(
    command: Command, sweep_file: Path, small_file: Path
) -> None:
    assert command("sweep", sweep_file, "--quiet").code == 0
    assert command("run", small_file, "--quiet", "--out", "r").code == 0
    done = command("plot", "results/sweep-schemes", "--figure", "queue")
    assert (done.code, done.err) == (2, "results/sweep-schemes is a sweep; fix: omit --figure\n")
    done = command("plot", "r", "--y", "goodput_bps", "--where", "a=1")
    assert (done.code, done.err) == (2, "r is not a sweep; fix: omit --y, --where\n")
    done = command("plot", "results/sweep-schemes", "--where", "max_p")
    assert (done.code, done.err) == (2, "--where 'max_p': is not KEY=VALUE; fix: write it as in max_p=0.5\n")


def test_the_example_sweeps_are_sound() -> None:
    from ecnlab.sweeps import file, run
    from helpers import EXAMPLES

    paths = sorted((EXAMPLES / "sweeps").glob("*.toml"))
    assert [path.stem for path in paths] == ["max_p", "phase", "schemes"]
    sizes = [len(run.plan_parsed_sweep_file(file.read_sweep_file(path)).points) for path in paths]
    assert sizes == [11, 42, 12]
