import json
import re
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

import ecnlab
from ecnlab.cli import run
from ecnlab.stats import precision
from helpers import EXAMPLES, SMALL, Outcome
from own_aqms import RED_BY_HAND

Command = Callable[..., Outcome]


def test_run_prints_tables_with_intervals_and_keeps_the_results(command: Command, small_file: Path, tmp_path: Path) -> None:
    done = command("run", small_file, "--seeds", "1..3", "--out", tmp_path / "r")
    assert done.code == 0, done.err
    assert "small: 3 seeds, mean ± 95 % interval" in done.out
    assert ecnlab.open_result(tmp_path / "r").seeds == [1, 2, 3]
    assert done.out.splitlines()[-1] == f"results in {tmp_path / 'r'}"
    assert not (tmp_path / "r" / "figures").exists()


def test_json_is_all_there_is_on_standard_output(command: Command, small_file: Path, tmp_path: Path) -> None:
    done = command("run", small_file, "--seeds", "1..3", "--out", tmp_path / "r", "--json")
    told = json.loads(done.out)
    assert told.pop("robustness")["seeds"]["n"] == 3
    assert told == json.loads((tmp_path / "r" / "summary.json").read_text())
    assert told["seeds"] == [1, 2, 3]


def test_the_last_line_but_one_reports_the_reliability_of_the_results(command: Command, small_file: Path, tmp_path: Path) -> None:
    done = command("run", small_file, "--seeds", "3", "--out", tmp_path / "r")
    told = json.loads(command("run", small_file, "--seeds", "3", "--out", tmp_path / "r", "--json").out)["robustness"]
    from_s, share = told["steady_state"]["from_s"], told["seeds"]["relative_half_width"]
    line = done.out.splitlines()[-2]
    assert line.startswith(f"steady state from {from_s:g} s")
    assert (found := re.search(r"; phase effect: not checked \(--phase\); seeds enough for ([\d.]+) % \(goodput\)$", line))
    assert 0 <= float(found[1]) - 100 * share < 0.1, "rounded up"
    assert [one["name"] for one in told["steady_state"]["quantities"]] == ["queue bottleneck"], "six bins of a second are too few"
    other = command("run", small_file, "--out", tmp_path / "r", "--of", "near.goodput").out.splitlines()[-2]
    assert other.endswith("; one seed, no interval")
    assert command("run", small_file, "--of", "nowhere.goodput").code == 2


def test_a_measured_interval_that_begins_inside_the_transient_is_a_warning(command: Command, tmp_path: Path) -> None:
    done = command("run", EXAMPLES / "ecn.toml", "--set", "measure_from=0 s", "--seeds", "5", "--out", tmp_path / "r")
    assert "measure_from: 0 s lies inside the transient: the steady state of " in done.err
    assert command("run", EXAMPLES / "ecn.toml", "--out", tmp_path / "s").err == ""


def test_the_check_of_the_steady_state_is_there_when_the_folder_is_read_again(command: Command, small_file: Path, tmp_path: Path) -> None:
    small_file.write_text(SMALL.split("[record]")[0])
    first = command("run", small_file, "--seeds", "7", "--out", tmp_path / "r").out
    assert re.match("steady state (from|not found)", first.splitlines()[-2])
    assert command("run", small_file, "--seeds", "7", "--out", tmp_path / "r").out == first
    ecnlab.run(ecnlab.load(small_file), 2, out=tmp_path / "s")
    stored = command("run", small_file, "--seeds", "2", "--out", tmp_path / "s").out
    assert stored.splitlines()[-2].startswith("steady state not checked; ")


def test_until_adds_seeds_and_warns_if_they_are_not_enough(command: Command, small_file: Path, tmp_path: Path) -> None:
    asked = ["--until", "1%", "--of", "near.goodput", "--out", tmp_path / "r"]
    done = command("run", small_file, *asked)
    assert done.code == 0, done.err
    assert (found := re.search(r"seeds enough for ([\d.]+) % \(goodput of near\)$", done.out.splitlines()[-2]))
    assert float(found[1]) <= 1
    few = command("run", small_file, "--until", "1 bps", "--of", "near.goodput", "--seeds", "12", "--out", tmp_path / "s")
    assert few.code == 0
    assert "after 12 seeds, the maximum, and not to 1 bit/s; fix: give more --seeds" in few.err
    assert (wrong := command("run", small_file, "--until", "1 ms")).code == 2
    assert wrong.err == 'until: \'1 ms\' is not a bound of goodput (bit/s); fix: write it as in "1%" or "10 kbps"\n'


def test_the_command_s_defaults_are_those_of_until() -> None:
    assert (run.DEFAULT_MEASURE, run.MAX_SEEDS) == (precision.DEFAULT_MEASURE, precision.MAX_SEEDS)


def test_phase_says_in_the_line_and_in_a_warning_whether_there_is_a_phase_effect(
    command: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for seeds, found in (("3", [1, 2, 3]), ("1", list(range(1, 11)))):
        done = command("run", small_file, "--seeds", seeds, "--phase")
        assert done.code == 0, done.err
        effect = json.loads(command("run", small_file, "--seeds", seeds, "--phase", "--json").out)["robustness"]["phase_effect"]
        assert effect["seeds"] == found
        told = (
            f"phase effect: {len(effect['moved'])} of {effect['measures']} measures move: "
            if effect["found"]
            else "phase effect: none found"
        )
        assert f"; {told}" in done.out.splitlines()[-2]
        assert ("processing_jitter: a random processing time at senders moves " in done.err) == effect["found"]


def test_phase_of_a_scenario_that_cannot_be_compared_is_refused_before_it_runs(command: Command, small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = command("run", small_file, "--set", "processing_jitter=packet", "--phase", "--out", str(out))
    assert done.code == 2
    assert "processing_jitter: the scenario sets a processing time" in done.err
    assert not out.exists()


def test_without_out_the_folder_is_named_after_the_scenario(
    command: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("run", small_file, "--json")
    assert [path.name for path in (tmp_path / "results").iterdir()] == [f"small-{json.loads(done.out)['hash'][:8]}"]


def test_a_scenario_is_read_from_standard_input(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(SMALL.encode())))
    done = command("run", "-", "--set", "flows.near.count=2", "--json")
    assert [path.name for path in (tmp_path / "results").iterdir()] == [f"stdin-{json.loads(done.out)['hash'][:8]}"]
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(SMALL.replace("min_th", "min_tj").encode())))
    done = command("run", "-")
    assert done.code == 2
    assert done.err.startswith("standard input:11: link.bottleneck.queue.min_tj")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"\xff\xfe")))
    assert command("run", "-").err == "cannot read standard input: it is not UTF-8 text\n"
    monkeypatch.setattr("sys.stdin", None)
    assert command("run", "-").err == "cannot read standard input: it is closed\n"


@pytest.mark.parametrize(
    ("options", "seeds"),
    [([], [1]), (["--seeds", "3"], [1, 2, 3]), (["--seed", "3"], [3]), (["--seeds", "4..5", "--threads", "1"], [4, 5])],
)
def test_seeds_n_are_1_to_n_and_seed_n_is_the_one(
    command: Command, small_file: Path, tmp_path: Path, options: list[str], seeds: list[int]
) -> None:
    done = command("run", small_file, *options, "--out", tmp_path / "r", "--json")
    assert json.loads(done.out)["seeds"] == seeds


def test_quiet_leaves_only_warnings_and_errors(command: Command, small_file: Path, tmp_path: Path) -> None:
    tame = [
        part
        for group in ("near", "far")
        for part in ("--set", f"flows.{group}.start=0 s", "--set", f'flows.{group}.tcp={{ profile = "rfc" }}')
    ]
    tame += ["--set", 'link.bottleneck.queue={ aqm = "droptail", limit = 20 }']
    done = command("run", small_file, *tame, "--seeds", "2", "--out", tmp_path / "r", "--quiet")
    assert (done.code, done.out) == (0, "")
    assert "seeds: all seeds are identical" in done.err
    assert all(line.startswith("warning: ") for line in done.err.splitlines())


@pytest.mark.parametrize("asked", [["--plot"], ["--set", "record.plot=true"]])
def test_figures_are_drawn_when_asked_for_after_the_numbers(command: Command, small_file: Path, tmp_path: Path, asked: list[str]) -> None:
    done = command("run", small_file, *asked, "--out", tmp_path / "r")
    assert done.out.splitlines()[-1].startswith(f"figures in {tmp_path / 'r' / 'figures'}: queue-bottleneck, ")
    assert (tmp_path / "r" / "figures" / "queue-bottleneck.svg").exists()


@pytest.mark.parametrize("asked", [["--plot"], ["--set", "record.plot=true"]])
def test_figures_of_a_run_that_recorded_nothing_are_a_warning_after_the_numbers(
    command: Command, small_file: Path, tmp_path: Path, asked: list[str]
) -> None:
    small_file.write_text(SMALL.split("[record]")[0] + '[record]\nqueue = "off"\nrates = false')
    done = command("run", small_file, *asked, "--seeds", "6", "--out", tmp_path / "r")
    assert (done.code, done.out.splitlines()[-1]) == (0, f"results in {tmp_path / 'r'}")
    fix = 'fix: omit record.queue = "off" and record.rates = false, and run into another folder with --out'
    assert done.out.splitlines()[-2].startswith(f"steady state not checked ({fix}); ")
    small_file.write_text(SMALL.split("[record]")[0])
    after = command("run", small_file, "--seeds", "6", "--out", tmp_path / "new")
    assert re.match("steady state (from|not found)", after.out.splitlines()[-2])
    assert re.search(r"^warning: record: no figure was drawn: .* --set 'record\.queue=10 ms'$", done.err, re.MULTILINE)
    assert not (tmp_path / "r" / "figures").exists()


def test_bins_of_rates_that_are_off_are_the_same_warning_in_the_command_and_in_python(
    command: Command, small_file: Path, tmp_path: Path
) -> None:
    small_file.write_text(SMALL.split("[record]")[0] + '[record]\nrates_interval = "2 s"')
    (warning,) = ecnlab.run(ecnlab.load(small_file)).warnings
    assert warning.place == "record.rates_interval"
    assert warning.message == "has an effect only with rates = true; fix: add rates = true, or leave it out"
    assert f"warning: {warning.as_text(str(small_file))}" in command("run", small_file, "--out", tmp_path / "r").err.splitlines()
    assert ecnlab.open_result(tmp_path / "r").series.rate["time_s"].unique().sort().to_list()[:3] == [0, 1, 2]
    batches = sorted((tmp_path / "r").glob("batch-*"))
    ecnlab.run(ecnlab.load(small_file), out=tmp_path / "r")
    assert sorted((tmp_path / "r").glob("batch-*")) == batches, "the stored seed has all that the scenario records"


def test_set_changes_the_scenario(command: Command, small_file: Path, tmp_path: Path) -> None:
    done = command("run", small_file, "--set", "flows.near.count=7", "--set", "name=other", "--out", tmp_path / "r", "--json")
    assert json.loads(done.out)["name"] == "other"
    assert ecnlab.open_result(tmp_path / "r").flows.height == 10


def test_all_errors_come_at_once_with_exit_code_2_and_nothing_written(command: Command, small_file: Path, tmp_path: Path) -> None:
    changes = ["link.bottleneck.queue.min_th=40", "flows.near.count=0", "link.bottleneck.queue.max_q=1"]
    options = [part for change in changes for part in ("--set", change)]
    done = command("run", small_file, *options, "--out", tmp_path / "r")
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 3
    assert "link.bottleneck.queue.min_th" in done.err
    assert "flows.near.count" in done.err
    assert "max_p" in done.err
    assert list(tmp_path.iterdir()) == [small_file]


def test_an_error_of_set_names_it_and_one_of_the_file_names_its_line(command: Command, small_file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(small_file.read_text().replace('duration = "6 s"', 'duration = "6"'))
    changes = ["link.bottleneck.queue.limit=few", "flows.*.count=0", "link.bottleneck.queue={ aqm = 1 }"]
    told = [f"{broken}: --set flows.far.count: 0", f"{broken}: --set flows.near.count: 0", f"{broken}:2: duration: 6 needs a unit"]
    for verb in ("run", "draw"):
        err = command(verb, broken, "--set", changes[0], "--set", changes[1]).err
        assert all(one in err for one in (*told, f'{broken}: --set link.bottleneck.queue.limit: "few"')), err
    assert f"{small_file}: --set link.bottleneck.queue.aqm: " in command("compare", small_file, "--set", changes[2]).err
    vary = ["--vary", "flows.far.count=1,2", "--out", tmp_path / "out", "--store", tmp_path / "store"]
    assert f"{small_file}: --set flows.near.count: 0" in command("sweep", small_file, *vary, "--set", "flows.near.count=0").err


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        (["flows.near.name="], "--set flows.near.name=...: flows.1.name: must not be empty"),
        (["flows.far.name=a.b", "flows.near.count=2"], "--set flows.far.name=...: flows.0.name: must not contain a dot"),
        (["flows.near.name=far"], "--set flows.near.name=...: flows.far.name: this name is taken by [[flows]] 1"),
        (["flows.far.name=near"], "--set flows.far.name=...: flows.near.name: this name is taken by [[flows]] 2"),
        (["flows.near={ cont = 1 }"], "--set flows.near=...: flows.1.cont: unknown key"),
        (["network.rate=1 Mbps", "network.delay=1 ms"], "--set network.rate=..., --set network.delay=...: network.topology: is missing"),
    ],
)
def test_an_error_of_set_names_it_where_it_changes_the_path(command: Command, small_file: Path, changes: list[str], place: str) -> None:
    assert f"{small_file}: {place}" in command("draw", small_file, *(word for change in changes for word in ("--set", change))).err


def test_an_error_of_a_varied_parameter_names_no_set(command: Command, small_file: Path) -> None:
    renamed = ["--set", "flows.far.name=x", "--set", "flows.x.count=2"]
    refused = command("sweep", small_file, "--vary", "flows.near.count=0,1", *renamed)
    assert refused.err.startswith(f"{small_file}: flows.near.count: 0")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("link.bottleneck.rate=0", "rate"),
        ("link.bottleneck.rate=-1 Mbps", "rate"),
        ("link.bottleneck.delay=nan", "delay"),
        ("link.bottleneck.queue.max_p=nan", "max_p"),
        ("link.bottleneck.queue.max_p=1.5", "max_p"),
        ("link.bottleneck.queue.limit=10", "limit"),
        ("link.bottleneck.queue.aqm=codle", "aqm"),
        ("flows.near.count=1000000000", "count"),
        ("flows.near.to=nowhere", "near"),
        ("flows.near.access.to=nowhere", "near"),
        ("flows.nearer.count=3", "nearer"),
        ("duration=0 s", "duration"),
        ("measure_from=7 s", "measure_from"),
    ],
)
def test_an_unsound_scenario_is_refused_and_nothing_is_written(
    command: Command, small_file: Path, tmp_path: Path, change: str, place: str
) -> None:
    done = command("run", small_file, "--set", change, "--out", tmp_path / "r")
    assert done.code == 2
    assert place in done.err
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == [small_file]


@pytest.mark.parametrize(
    "options",
    [
        ["--seed", "-1"],
        ["--seed", str(2**63)],
        ["--seed", "x"],
        ["--seeds", ""],
        ["--seeds", "0"],
        ["--threads", "0"],
        ["--seeds", "5..1"],
        ["--seed", "1", "--seeds", "1..2"],
        ["--set", "novalue"],
        ["--sede", "1"],
    ],
)
def test_a_bad_option_is_refused_and_nothing_is_written(command: Command, small_file: Path, tmp_path: Path, options: list[str]) -> None:
    done = command("run", small_file, *options, "--out", tmp_path / "r")
    assert done.code == 2
    assert done.err
    assert list(tmp_path.iterdir()) == [small_file]


def test_a_folder_that_cannot_be_written_is_refused(command: Command, small_file: Path) -> None:
    done = command("run", small_file, "--out", small_file / "r")
    assert done.code == 2
    assert "cannot write to" in done.err


def test_a_file_that_is_not_toml_is_refused_with_its_line(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(SMALL.replace('rate = "2 Mbps"', "rate = 2 Mbps"))
    done = command("run", path, "--out", tmp_path / "r")
    assert done.code == 2
    assert "broken.toml:9" in done.err


def test_an_aqm_of_ones_own_is_run_from_its_file(command: Command, small_file: Path, tmp_path: Path) -> None:
    named = ("--set", "link.bottleneck.queue.aqm=RedByHand", "--set", "link.bottleneck.queue.ecn=true")
    done = command("run", small_file, "--aqm", RED_BY_HAND, *named, "--out", tmp_path / "r", "--json")
    assert (done.code, done.err) == (0, "")
    stored = ecnlab.open_result(tmp_path / "r")
    assert stored.fingerprints == ecnlab.run(ecnlab.load(small_file)).fingerprints


def test_an_aqm_that_raises_ends_the_command_with_its_traceback(command: Command, small_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "raises.py"
    path.write_text("import ecnlab as lab\n\nclass Raises(lab.Aqm):\n    def on_arrival(self, arrival):\n        return 1 / 0\n")
    queue = ("--set", 'link.bottleneck.queue={ aqm = "Raises", limit = 60 }')
    done = command("run", small_file, "--aqm", f"{path}:Raises", *queue, "--out", tmp_path / "r")
    assert (done.code, done.out) == (2, "")
    assert "return 1 / 0" in done.err
    assert "AQM Raises failed in on_arrival (seed 1, at 0." in done.err


def test_an_aqm_that_no_queue_names_is_warned_of(command: Command, small_file: Path, tmp_path: Path) -> None:
    done = command("run", small_file, "--aqm", RED_BY_HAND, "--out", tmp_path / "r", "--quiet")
    assert done.code == 0
    assert "the scenario has no queue with the AQM RedByHand; fix: name it in a queue" in done.err
