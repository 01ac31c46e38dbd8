import math
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab.plot import completions, style

STEPS = pl.DataFrame(
    {
        "seed": [1, 2, 1, 1],
        "group": ["short", "short", "short", "other"],
        "size_from_bytes": [1000, 1000, 20_000, 1000],
        "size_to_bytes": [2000, 2000, 50_000, 2000],
        "transaction_mean_s": [0.1, 0.3, 1.0, 9.0],
    }
)


def test_a_point_is_the_mean_over_the_seeds_that_have_the_step() -> None:
    points = completions.mean_completions_by_size(STEPS.filter(pl.col("group") == "short"), "transaction_mean_s")
    assert points["size"].to_list() == pytest.approx([math.sqrt(2e6), math.sqrt(1e9)])
    assert points["mean"].to_list() == pytest.approx([0.2, 1.0])
    assert [math.isnan(half) for half in points["half_width"]] == [False, True]


def test_both_axes_are_logarithmic_and_a_group_without_transactions_has_no_line() -> None:
    _, (axes,) = style.figure_with_panels()
    completions.draw_completions(axes, STEPS, "transaction_mean_s", ["short", "other", "none"])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [container.get_label() for container in axes.containers] == ["short", "other"]


def test_times_along_the_axis_are_plain_numbers() -> None:
    rows = STEPS.head(3).with_columns(transaction_mean_s=pl.Series([0.15, 0.15, 0.6]))
    figure, (axes,) = style.figure_with_panels()
    completions.draw_completions(axes, rows, "transaction_mean_s", ["short"])
    figure.draw_without_rendering()
    labels = [label.get_text() for label in axes.yaxis.get_ticklabels(which="both") if label.get_text()]
    assert {"0.2", "0.3", "0.4"} <= set(labels)
    assert not any("$" in label for label in labels)


def tree(app: object) -> dict[str, Any]:
    link = {"name": "link", "from": "a", "to": "b", "rate": "10 Mbps", "delay": "5 ms", "queue": {"aqm": "droptail", "limit": 100}}
    flows = {"name": "short", "from": "a", "to": "b", "tcp": {"profile": "linux"}, "app": app}
    return {"name": "traffic", "duration": "5 s", "measure_from": "0 s", "link": [link], "flows": [flows], "record": {"transfers": True}}


def test_a_run_with_transactions_allows_the_figure_and_one_without_says_why_not() -> None:
    short = ecnlab.run(ecnlab.scenario(tree({"kind": "arrivals", "flows_per_second": 20, "size": "exponential 10 KB"})), 2)
    assert "completions" in [kind.name for kind in short.plot.possible_figure_kinds()]
    (axes,) = short.plot.completions("slowdown_mean").axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("size (bytes)", "mean slowdown of a transaction")
    assert short.completions["transactions"].sum() == short.series.transfers.height == short.total["transactions"].sum()
    endless = ecnlab.run(ecnlab.scenario(tree("bulk")), 1)
    assert [kind.name for kind in endless.plot.possible_figure_kinds()] == []
    with pytest.raises(ecnlab.ResultsError, match="no transaction ended"):
        endless.plot.completions()
