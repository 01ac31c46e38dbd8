import polars as pl
import pytest

from ecnlab.plot import shares, style

CELLS = pl.DataFrame(
    {
        "seed": [1, 1, 2, 1, 1],
        "quantity": ["delay"] * 4 + ["sojourn"],
        "group_or_queue": ["near"] * 3 + ["far"] + ["bottleneck"],
        "band": [""] * 5,
        "low_s": [0.010, 0.020, 0.010, 0.050, 0.001],
        "high_s": [0.011, 0.022, 0.011, 0.060, 0.002],
        "count": [3, 4, 1, 0, 7],
    }
)


def test_a_distribution_rises_within_cells_and_nowhere_else() -> None:
    times, rising = shares.cumulative_shares(CELLS.filter(pl.col("group_or_queue") == "near"))
    assert times.tolist() == [0.010, 0.011, 0.020, 0.022]
    assert rising.tolist() == [0.0, 0.5, 0.5, 1.0]


def test_each_band_of_a_queue_has_a_curve_of_its_own() -> None:
    row = {"seed": 1, "quantity": "sojourn", "group_or_queue": "bottleneck"}
    cells = [
        row | {"band": band, "low_s": low, "high_s": 2 * low, "count": count} for band, low, count in (("L", 0.001, 3), ("C", 0.010, 1))
    ]
    _, (axes,) = style.figure_with_panels()
    shares.draw_distributions(axes, pl.DataFrame(cells), "sojourn", ["bottleneck"])
    assert [(line.get_label(), line.get_xdata().tolist(), line.get_ydata().tolist()) for line in axes.lines] == [
        ("L", [1.0, 2.0], [0.0, 1.0]),
        ("C", [10.0, 20.0], [0.0, 1.0]),
    ]
    more = pl.DataFrame([*cells, row | {"group_or_queue": "other", "band": "", "low_s": 0.001, "high_s": 0.002, "count": 1}])
    _, (axes,) = style.figure_with_panels()
    shares.draw_distributions(axes, more, "sojourn", ["bottleneck", "other"])
    assert [line.get_label() for line in axes.lines] == ["bottleneck, L", "bottleneck, C", "other"]


def test_a_group_without_packets_has_an_empty_curve() -> None:
    times, rising = shares.cumulative_shares(CELLS.filter(pl.col("group_or_queue") == "far"))
    assert (len(times), len(rising)) == (0, 0)


def test_a_figure_of_distributions_is_in_milliseconds() -> None:
    _, (axes,) = style.figure_with_panels()
    shares.draw_distributions(axes, CELLS, "delay", ["near", "far"])
    assert [line.get_label() for line in axes.lines] == ["near", "far"]
    assert axes.lines[0].get_xdata()[-1] == pytest.approx(22.0)
    assert axes.get_xlabel() == "one-way delay (ms)"
