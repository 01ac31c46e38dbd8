"""The pictures of queues are those that tools/queue_figures.py draws, and their curves are those of the engine."""

from pathlib import Path

import pytest

import queue_figures
from queue_figures import Axis, CurveFigure


def test_the_pictures_of_queues_are_fresh_and_their_pages_show_them() -> None:
    assert queue_figures.main(["--check"]) == 0, "run python tools/queue_figures.py"


@pytest.mark.parametrize(("name", "function"), [("red", "p_b"), ("dsred", "gamma = 0.96"), ("mecn", "p1, incipient (10)")])
def test_a_curve_gives_the_probability_that_the_engine_has_at_each_average(name: str, function: str) -> None:
    result = queue_figures.QUEUES[name].result()
    gauges = result.table("series_gauge").pivot("gauge", index="time_s", values="value")
    samples = gauges.join(result.table("series_queue"), on="time_s")
    drawn = queue_figures.CURVES[name].functions[function]
    # the gauge holds the probability of the last arrival with an average between the thresholds
    inside = [row for row in samples.to_dicts() if 0 < drawn(row["average_packets"]) < 1 and row["probability"] > 0]
    assert len(inside) > 100
    close = [row for row in inside if row["probability"] == pytest.approx(drawn(row["average_packets"]), rel=0.02, abs=1e-3)]
    assert len(close) > 0.9 * len(inside)


def test_a_straight_line_keeps_its_ends_alone() -> None:
    svg = CurveFigure(Axis("x", 1), {"line": lambda at: at / 2}).svg()
    assert svg.count(",") == 2


def test_a_curve_is_interrupted_where_it_has_no_value() -> None:
    svg = queue_figures.chart(Axis("x", 4), Axis("y", 1), {"one": [(0, 0.1), (1, 0.2), (2, float("nan")), (3, 0.3), (4, 0.4)]})
    assert svg.count("<polyline") == 2


def test_a_stale_picture_and_a_page_without_it_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "red.md"
    page.write_text(f"{queue_figures.QUEUES['red'].line}\n![](figures/red-curve.svg)\n")
    (tmp_path / "red-curve.svg").write_text("old")
    monkeypatch.setattr(queue_figures, "ROOT", tmp_path)
    monkeypatch.setattr(queue_figures, "PAGES_FOLDER", tmp_path)
    monkeypatch.setattr(queue_figures, "QUEUES", {"red": queue_figures.QUEUES["red"]})
    files = {tmp_path / "red-curve.svg": "new", tmp_path / "red-queue.svg": "new"}
    found = queue_figures.problems(files)
    assert [problem.partition(";")[0] for problem in found] == [
        "red-curve.svg is stale",
        "red-queue.svg is stale",
        "red.md does not have ](figures/red-queue.svg)",
    ]
