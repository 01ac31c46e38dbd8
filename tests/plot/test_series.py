import math
import random
from math import fsum, sqrt

import numpy as np
import polars as pl
import pytest

from ecnlab.plot import series, style
from ecnlab.plot.style import FigureStyle

TIMES, SEEDS = 100, 20


@pytest.fixture
def frame() -> pl.DataFrame:
    """Values of many orders of magnitude, whose sum depends on the order in which they are added; all of one seed stand together."""
    draw = random.Random(1)
    rows = [(seed, float(at), draw.random() * 10 ** draw.randint(-3, 6)) for seed in range(SEEDS) for at in range(TIMES)]
    seeds = (rows[at : at + TIMES] for at in range(0, len(rows), TIMES))
    return pl.concat([pl.DataFrame(part, schema=["seed", "time_s", "value"], orient="row") for part in seeds])


def test_a_mean_over_seeds_has_the_same_bits_each_time(frame: pl.DataFrame) -> None:
    assert len({tuple(series.mean_over_seeds(frame, "value")["mean"]) for _ in range(100)}) == 1


def test_a_mean_over_seeds_and_its_interval_are_student_s(frame: pl.DataFrame) -> None:
    first = frame.filter(pl.col("time_s") == 0)["value"].to_list()
    mean = fsum(first) / SEEDS
    sd = sqrt(fsum((value - mean) ** 2 for value in first) / (SEEDS - 1))
    found = series.mean_over_seeds(frame, "value").row(0, named=True)
    assert found["mean"] == pytest.approx(mean)
    assert found["half_width"] == pytest.approx(2.093024 * sd / sqrt(SEEDS), rel=1e-6)  # t at 0.975 with 19 degrees of freedom


def _queue_frame(samples: int) -> pl.DataFrame:
    draw = random.Random(2)
    lengths = [draw.randint(0, 40) for _ in range(samples)]
    return pl.DataFrame({"time_s": [at / 100 for at in range(samples)], "length_packets": lengths, "average_packets": [math.nan] * samples})


@pytest.mark.parametrize("width", [3.4, 6.4])
def test_a_series_of_more_samples_than_there_is_room_for_is_a_mean_in_a_band_that_loses_no_extreme(width: float) -> None:
    frame = _queue_frame(6000)
    _, (axes,) = style.figure_with_panels(style=FigureStyle(width_in=width))
    series.draw_queue(axes, frame)
    (line,), (band,) = axes.lines, axes.collections
    assert [line.get_label(), band.get_label()] == ["queue (mean)", "queue (min to max)"]
    assert len(line.get_xdata()) <= 72 * width
    corners = band.get_paths()[0].vertices[:, 1]
    assert (corners.min(), corners.max()) == (frame["length_packets"].min(), frame["length_packets"].max())
    assert np.mean(line.get_ydata()) == pytest.approx(frame["length_packets"].mean(), rel=1e-3)
    for at, mean in zip(line.get_xdata(), line.get_ydata(), strict=True):
        near = frame.filter((pl.col("time_s") - at).abs() <= 0.5)
        assert near["length_packets"].min() <= mean <= near["length_packets"].max()


def test_a_series_that_has_room_is_drawn_sample_by_sample() -> None:
    frame = _queue_frame(200)
    _, (axes,) = style.figure_with_panels(style=FigureStyle(width_in=3.4))
    series.draw_queue(axes, frame)
    assert axes.lines[0].get_ydata().tolist() == frame["length_packets"].to_list()
    assert len(axes.collections) == 0


def test_an_interval_without_any_value_is_a_gap() -> None:
    values = [math.nan] * 3000 + [1.0, math.nan] * 1500
    _, (axes,) = style.figure_with_panels(style=FigureStyle(width_in=3.4))
    series.draw_time_series(axes, pl.Series(range(6000)), pl.Series(values), color="black", linewidth=1.0, label="alpha")
    means = axes.lines[0].get_ydata()
    assert np.isnan(means[: len(means) // 2 - 1]).all()
    assert (means[len(means) // 2 + 1 :] == 1.0).all()
