import math
import tomllib

import pytest

import ecnlab
from ecnlab.errors import UnknownName
from ecnlab.plot import style
from ecnlab.studies.framework import panels
from ecnlab.studies.framework.claims import DIMENSIONLESS, MBPS, ratio_or_nan
from ecnlab.studies.framework.model import ResultsByKey
from ecnlab.studies.framework.panels import PanelGridStyle, PanelMeasure
from helpers import FIXED, SMALL

GOODPUT = PanelMeasure("goodput", "goodput", panels.result_column_getter("goodput_bps"), MBPS)
JAIN = PanelMeasure("Jain's index", "jain", panels.result_column_getter("jain_goodput"), DIMENSIONLESS, top=1, target=0.5)
NO_VALUES = PanelMeasure("nothing", "nothing", lambda result: [math.nan for _ in result.seeds], DIMENSIONLESS)


@pytest.fixture(scope="module")
def results() -> ResultsByKey:
    result = ecnlab.run(ecnlab.scenario(tomllib.loads(SMALL)), seeds=[1, 2])
    return {(scheme, case): result for scheme in ("ECN", "AECN") for case in (30.0, 60.0)}


def _drawn_item(results: ResultsByKey, *measures: PanelMeasure) -> panels.DrawnItemContent:
    item = panels.measures_figure_item("1", "title", "caption", {}, measures, PanelGridStyle("flows", ticks=(30, 60)), also=[NO_VALUES])
    with style.PLAIN.matplotlib_rc_context():
        return item.draw(results)


def test_each_measure_has_a_panel_with_its_unit_and_each_scheme_a_curve(results: ResultsByKey) -> None:
    drawing = _drawn_item(results, GOODPUT, JAIN)
    assert drawing.figure is not None
    goodput, jain = drawing.figure.axes
    assert (goodput.get_ylabel(), jain.get_ylabel()) == ("goodput (Mbit/s)", "Jain's index")
    assert sorted(goodput.get_legend_handles_labels()[1]) == ["AECN", "ECN"]
    assert jain.get_ylim() == (0, 1)


def test_a_measure_has_no_interval_where_nothing_is_random() -> None:
    found = GOODPUT.estimate(ecnlab.run(ecnlab.scenario(FIXED), [1, 2]))
    assert found.mean > 0
    assert math.isnan(found.half_width)


def test_a_sum_over_groups_needs_each_of_them_unless_missing_ones_are_skipped(results: ResultsByKey) -> None:
    result = results["ECN", 30.0]
    far, near = (result.values("goodput_bps", group=group) for group in result.group_names)
    sums = [a + b for a, b in zip(far, near, strict=True)]
    assert panels.column_summed_over_groups(result.group_names, "goodput_bps")(result) == sums
    with pytest.raises(UnknownName, match="absent"):
        panels.column_summed_over_groups([*result.group_names, "absent"], "goodput_bps")(result)
    assert panels.column_summed_over_groups([*result.group_names, "absent"], "goodput_bps", skip_missing=True)(result) == sums
    assert panels.column_summed_over_groups(["absent"], "goodput_bps", skip_missing=True)(result) == []


def test_a_table_has_a_column_for_each_measure_and_an_empty_cell_where_there_is_no_value(results: ResultsByKey) -> None:
    (table,) = _drawn_item(results, GOODPUT).tables
    assert list(table.header) == ["scheme", "flows", "goodput (Mbit/s)", "nothing"]
    assert [row[:2] for row in table.rows] == [["ECN", "30"], ["ECN", "60"], ["AECN", "30"], ["AECN", "60"]]
    assert all("±" in row[2] and not row[3] for row in table.rows)


def test_the_data_behind_a_figure_say_scheme_case_quantity_and_unit(results: ResultsByKey) -> None:
    data = _drawn_item(results, GOODPUT).data
    assert data is not None
    first = data.row(0, named=True)
    assert (first["scheme"], first["flows"], first["quantity"], first["unit"], first["n"]) == ("ECN", 30.0, "goodput", "Mbit/s", 2)
    assert first["mean"] == pytest.approx(GOODPUT.estimate(results["ECN", 30.0]).mean)


def test_cases_with_names_stand_side_by_side_without_a_line(results: ResultsByKey) -> None:
    named = {(scheme, f"{case:g} flows"): result for (scheme, case), result in results.items()}
    drawing = _drawn_item(named, GOODPUT)
    assert drawing.figure is not None
    (axes,) = (axes for axes in drawing.figure.axes if axes.get_visible())
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["30\nflows", "60\nflows"]
    ecn, aecn = (container.lines[0] for container in axes.containers)
    assert ecn.get_linestyle() == "None"
    assert list(ecn.get_xdata()) < list(aecn.get_xdata())


def test_a_ratio_to_nothing_is_not_a_number() -> None:
    assert ratio_or_nan(1, 2) == 0.5
    assert math.isnan(ratio_or_nan(1, 0))
