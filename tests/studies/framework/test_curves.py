import tomllib
from pathlib import Path

import polars as pl
import pytest

import ecnlab
from ecnlab.studies.framework.claims import MBPS, CombinedMeasure, RelativeChange, ScenarioMeasure
from ecnlab.studies.framework.curves import AxisSettings, CurvePanel, curve_figure
from ecnlab.studies.framework.model import DrawnItemContent, RequiredScenario, Study, StudyItem
from ecnlab.studies.framework.runner import run_study
from helpers import FIXED, SMALL


def _need_at(max_p: float) -> RequiredScenario:
    tree = tomllib.loads(SMALL)
    tree["link"][0]["queue"]["max_p"] = max_p
    return RequiredScenario(tree)


LOW, HIGH = _need_at(0.1), _need_at(0.5)


def _curve_item(*panels: str) -> StudyItem:
    curves = {
        "goodput": {0.1: ScenarioMeasure(LOW, "goodput_bps", known=1.9e6), 0.5: ScenarioMeasure(HIGH, "goodput_bps")},
        "throughput": {0.5: ScenarioMeasure(HIGH, "throughput_bps")},
    }
    return curve_figure(
        "1.1", "T", "C", [CurvePanel(title, curves) for title in panels], AxisSettings("max_p", "rate", MBPS, (0, 1), (0, 3))
    )


def _drawn_item(item: StudyItem) -> DrawnItemContent:
    results = {key: ecnlab.run(ecnlab.scenario(need.scenario), seeds=[1, 2]) for key, need in item.needs.items()}
    return item.draw(results)


def test_a_scenario_that_several_points_share_is_needed_once() -> None:
    assert list(_curve_item("a", "b").needs.values()) == [LOW, HIGH]


def test_points_stand_in_the_unit_shown_with_intervals_and_ns2_s_means_beside() -> None:
    drawing = _drawn_item(_curve_item(""))
    assert drawing.figure is not None
    (axes,) = drawing.figure.axes
    goodput = axes.containers[0].lines[0].get_ydata()
    assert all(1.5 < value < 2.1 for value in goodput)
    (beside,) = [line for line in axes.lines if list(line.get_ydata()) == [1.9]]
    assert beside.get_markerfacecolor() == "none"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("max_p", "rate (Mbit/s)")
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 1), (0, 3))


def test_the_table_has_a_row_for_each_x_and_the_data_a_row_for_each_point() -> None:
    drawing = _drawn_item(_curve_item(""))
    (table,) = drawing.tables
    assert table.header == ["max_p", "goodput", "throughput"]
    assert [(row[0], row[2] == "") for row in table.rows] == [("0.1", True), ("0.5", False)]
    assert drawing.data is not None
    assert drawing.data.columns == ["panel", "curve", "max_p", "rate (Mbit/s)", "sd", "half_width", "n", "ns2_mean"]
    assert drawing.data["ns2_mean"].to_list() == [1.9, None, None]


def test_a_point_has_no_interval_where_nothing_is_random() -> None:
    item = curve_figure(
        "1",
        "T",
        "C",
        [CurvePanel("", {"a": {1: ScenarioMeasure(RequiredScenario(FIXED), "goodput_bps")}})],
        AxisSettings("x", "goodput", MBPS),
    )
    drawing = _drawn_item(item)
    assert "±" not in drawing.tables[0].rows[0][1]
    assert drawing.data is not None
    assert drawing.data["half_width"].is_nan().all()


def test_the_data_has_no_column_of_what_nobody_else_measured() -> None:
    drawing = _drawn_item(
        curve_figure("1", "T", "C", [CurvePanel("", {"a": {0.1: ScenarioMeasure(LOW, "goodput_bps")}})], AxisSettings("x", "goodput", MBPS))
    )
    assert drawing.data is not None
    assert not {"ns2_mean", "published"} & set(drawing.data.columns)


def test_several_panels_have_one_legend_with_every_word_once() -> None:
    drawing = _drawn_item(_curve_item("a", "b", "c"))
    assert drawing.figure is not None
    shown = [axes for axes in drawing.figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == ["a", "b", "c"]
    (legend,) = drawing.figure.legends
    assert sorted(text.get_text() for text in legend.get_texts()) == ["goodput", "ns-2 (open)", "throughput"]


def test_a_figure_s_numbers_are_written_beside_the_report(tmp_path: Path) -> None:
    run_study(Study("tiny", "t", "s", "u", [_curve_item("")]), tmp_path, [1, 2])
    assert pl.read_csv(tmp_path / "figures" / "figure-1.1.csv").height == 3


def test_several_quantities_are_folded_seed_by_seed() -> None:
    results = {need: ecnlab.run(ecnlab.scenario(need.scenario), seeds=[1, 2, 3]) for need in (LOW, HIGH)}
    low, high = ScenarioMeasure(LOW, "goodput_bps", known=1.0), ScenarioMeasure(HIGH, "goodput_bps", known=3.0)
    values = [one.values_by_seed(results.__getitem__) for one in (low, high)]
    largest = CombinedMeasure(max, [low, high])
    assert largest.values_by_seed(results.__getitem__) == {seed: max(values[0][seed], values[1][seed]) for seed in (1, 2, 3)}
    assert largest.recorded_ns2_mean() == 3.0
    assert RelativeChange(CombinedMeasure(max, [low, high]), low).recorded_ns2_mean() == pytest.approx(2.0)
    assert CombinedMeasure(max, [low, ScenarioMeasure(HIGH, "goodput_bps")]).recorded_ns2_mean() is None, "not known of all parts"
    assert list(largest.required_scenarios()) == [LOW, HIGH]
