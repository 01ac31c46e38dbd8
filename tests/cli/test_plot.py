import re
from collections.abc import Callable
from pathlib import Path

import pytest

import ecnlab
from ecnlab.cli.plot import parse_figure_width_inches
from ecnlab.errors import UsageError
from helpers import Outcome

Command = Callable[..., Outcome]


@pytest.fixture
def folder(command: Command, small_file: Path, tmp_path: Path) -> Path:
    assert command("run", small_file, "--out", tmp_path / "r", "--quiet").code == 0
    return tmp_path / "r"


def test_plot_draws_all_that_a_results_folder_allows(command: Command, folder: Path) -> None:
    done = command("plot", folder)
    assert done.code == 0, done.err
    names = done.out.removeprefix(f"figures in {folder / 'figures'}: ").strip().split(", ")
    assert {"queue-bottleneck", "throughput", "goodput", "marks", "drops"} <= set(names)
    assert {path.name for path in (folder / "figures").iterdir()} == {f"{name}.svg" for name in names}


def test_figures_of_a_series_that_some_seeds_have_say_which(command: Command, partly_recorded: ecnlab.Result, tmp_path: Path) -> None:
    done = command("plot", partly_recorded.path, "--out", tmp_path)
    assert done.code == 0, done.err
    drawn, note = done.out.splitlines()
    assert drawn == f"figures in {tmp_path}: queue-bottleneck, queue_delay-bottleneck, gauges, throughput, goodput"
    assert note == "throughput, goodput: series of seeds 1..5 of 7; fix: run all seeds with record.rates = true"
    assert command("plot", partly_recorded.path, "--out", tmp_path, "--figure", "queue").out.splitlines() == [
        f"figures in {tmp_path}: queue-bottleneck"
    ]


def test_seeds_of_a_damaged_batch_are_not_drawn_and_that_is_said(command: Command, folder: Path, small_file: Path) -> None:
    assert command("run", small_file, "--seeds", "2,3", "--out", folder, "--quiet").code == 0
    damaged = min(folder.glob("batch-*/batch.json"), key=lambda path: path.stat().st_mtime_ns)
    damaged.write_text("{")
    done = command("plot", folder)
    assert done.code == 0
    assert f"warning: {folder}: {damaged} is damaged; its runs are not used" in done.err
    again = command("run", small_file, "--seeds", "3", "--out", folder)
    assert (again.code, again.err.count(f"{damaged} is damaged")) == (0, 1)


def test_figures_formats_width_and_folder_are_chosen(command: Command, folder: Path, tmp_path: Path) -> None:
    chosen = ["--figure", "queue", "--format", "pdf", "--format", "png", "--width", "8.5cm", "--titles", "--out", tmp_path / "paper"]
    assert command("plot", folder, *chosen, "--quiet").out == ""
    assert {path.name for path in (tmp_path / "paper").iterdir()} == {"queue-bottleneck.pdf", "queue-bottleneck.png"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--figure", "quue"], "did you mean 'queue'?"),
        (["--width", "8"], "write a number and in, cm or mm"),
        (["--width", "9 m"], "write a number and in, cm or mm"),
        (["--format", "gif"], "'svg', 'pdf', 'png'"),
        (["--width", "900cm"], "width"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(command: Command, folder: Path, options: list[str], message: str) -> None:
    done = command("plot", folder, *options)
    assert done.code == 2
    assert message in done.err
    assert not (folder / "figures").exists()


def test_a_folder_that_is_none_of_ours_is_refused(command: Command, tmp_path: Path) -> None:
    done = command("plot", tmp_path)
    assert done.code == 2
    assert "is not a results folder" in done.err


def test_all_missing_items_of_a_sweep_are_reported_together(command: Command, small_file: Path, tmp_path: Path) -> None:
    vary = ["--vary", "flows.far.count=1,2", "--out", tmp_path / "swept", "--store", tmp_path / "store", "--quiet"]
    assert command("sweep", small_file, *vary).code == 0
    done = command("plot", tmp_path / "swept", "--y", "nope", "--y", "goodput", "--by", "none", "--where", "x=7", "--group", "zz")
    assert (done.code, (tmp_path / "swept" / "figures").exists()) == (2, False)
    assert [name for name in ("nope", "goodput", "none", "x", "zz") if len(re.findall(rf"unknown [a-z_ ]+ '{name}'", done.err)) != 1] == []


def test_a_sweep_is_drawn_in_panels_and_on_logarithmic_axes(command: Command, small_file: Path, tmp_path: Path) -> None:
    vary = ["--vary", "flows.far.count=1,2", "--vary", "link.bottleneck.queue.max_p=0.1,0.5"]
    assert command("sweep", small_file, *vary, "--out", tmp_path / "swept", "--store", tmp_path / "store", "--quiet").code == 0
    figures = ["--y", "goodput_bps", "--panels", "max_p", "--log", "y", "--width", "3.4in"]
    done = command("plot", tmp_path / "swept", *figures)
    assert (done.code, done.out.split(": ")[1].strip()) == (0, "goodput_bps-count"), done.err
    assert (tmp_path / "swept" / "figures" / "goodput_bps-count.csv").read_text().startswith("count,max_p,")
    assert "did you mean 'max_p'?" in command("plot", tmp_path / "swept", "--panels", "max_q").err
    assert "max_p: is used by the axis" in command("plot", tmp_path / "swept", "--x", "max_p", "--panels", "max_p").err


@pytest.mark.parametrize(("text", "inches"), [("2.54cm", 1.0), (" 3.4 in ", 3.4), ("254mm", 10.0)])
def test_a_width_is_a_length(text: str, inches: float) -> None:
    assert parse_figure_width_inches(text) == pytest.approx(inches)


def test_a_width_without_a_unit_is_refused() -> None:
    with pytest.raises(UsageError):
        parse_figure_width_inches("3.4")
