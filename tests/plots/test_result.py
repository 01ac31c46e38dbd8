from pathlib import Path

import pytest

import ecnlab
from ecnlab.plots import style


def test_the_queue_s_figure_labels_its_axes_with_units(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.queue().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "queue length (packets)")
    assert [line.get_label() for line in axes.lines] == ["queue", "average"]


def test_the_rates_figure_has_a_line_and_a_band_for_each_group(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.rates().axes
    assert [line.get_label() for line in axes.lines] == ["far", "near"]
    assert len(axes.collections) == 2
    assert axes.get_ylabel() == "goodput (Mbit/s)"


def test_the_marks_figure_has_a_dot_for_each_mark(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.marks("mark", seed=2).axes
    events = small_result.series.events
    expected = events.filter((events["seed"] == 2) & (events["kind"] == "mark")).height
    assert expected > 0
    assert len(axes.collections[-1].get_offsets()) == expected


def test_a_link_that_is_not_there_is_refused(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.UnknownName, match="did you mean 'bottleneck'"):
        small_result.plot.queue("botleneck")


def test_equal_figures_give_equal_bytes(small_result: ecnlab.Result) -> None:
    assert style.svg(small_result.plot.rates()) == style.svg(small_result.plot.rates())


def test_every_figure_is_saved_as_svg_and_png(small_result: ecnlab.Result, tmp_path: Path) -> None:
    names = small_result.plot.save_all(tmp_path)
    assert names == ["queue-bottleneck", "throughput-time", "goodput-time", "marks", "drops"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{n}.{kind}" for n in names for kind in ("svg", "png"))
