import random
from math import fsum, sqrt

import polars as pl
import pytest

from ecnlab.plots import series

TIMES, SEEDS = 100, 20


@pytest.fixture
def frame() -> pl.DataFrame:
    """Values of many orders of magnitude, whose sum depends on the order in which they are added; all of one seed stand together."""
    draw = random.Random(1)
    rows = [(seed, float(at), draw.random() * 10 ** draw.randint(-3, 6)) for seed in range(SEEDS) for at in range(TIMES)]
    seeds = (rows[at : at + TIMES] for at in range(0, len(rows), TIMES))
    return pl.concat([pl.DataFrame(part, schema=["seed", "time_s", "value"], orient="row") for part in seeds])


def test_a_mean_over_seeds_has_the_same_bits_each_time(frame: pl.DataFrame) -> None:
    assert len({tuple(series.over_seeds(frame, "value")["mean"]) for _ in range(100)}) == 1


def test_a_mean_over_seeds_and_its_interval_are_student_s(frame: pl.DataFrame) -> None:
    first = frame.filter(pl.col("time_s") == 0)["value"].to_list()
    mean = fsum(first) / SEEDS
    sd = sqrt(fsum((value - mean) ** 2 for value in first) / (SEEDS - 1))
    found = series.over_seeds(frame, "value").row(0, named=True)
    assert found["mean"] == pytest.approx(mean)
    assert found["half_width"] == pytest.approx(2.093024 * sd / sqrt(SEEDS), rel=1e-6)  # t at 0.975 with 19 degrees of freedom
