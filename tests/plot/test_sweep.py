from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab.errors import UnknownName, UsageError
from ecnlab.plot.style import COLOURS, LINES, MARKERS
from helpers import SMALL

MAX_P = "link.bottleneck.queue.max_p"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> ecnlab.Sweep:
    path = tmp_path_factory.mktemp("plots") / "small.toml"
    path.write_text(SMALL)
    schemes = {"RED": {"link.bottleneck.queue.aqm": "red", "flows.*.tcp.ecn": False}, "ECN": {}}
    grid = {"scheme": schemes, "flows.near.count": [1, 2, 4], MAX_P: [0.1, 0.5]}
    return ecnlab.sweep(path, grid, seeds=3, store=None)


def _curve_labels(axes: Any) -> dict[str, Any]:
    handles, labels = axes.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def _curve_points(bars: Any) -> tuple[list[float], list[float]]:
    return list(bars[0].get_xdata()), list(bars[0].get_ydata())


def test_the_first_number_is_along_the_axis_and_there_is_a_line_for_each_value_of_the_others(swept: ecnlab.Sweep) -> None:
    (axes,) = swept.plot("goodput_bps").axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("count", "goodput (Mbit/s)")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "4"]
    assert list(_curve_labels(axes)) == ["RED, max_p 0.1", "RED, max_p 0.5", "ECN, max_p 0.1", "ECN, max_p 0.5"]
    xs, ys = _curve_points(_curve_labels(axes)["ECN, max_p 0.5"])
    rows = swept.summary().filter(
        (pl.col("table") == "total") & (pl.col("quantity") == "goodput_bps") & (pl.col("scheme") == "ECN") & (pl.col("max_p") == 0.5)
    )
    assert xs == [1.0, 2.0, 4.0]
    assert ys == pytest.approx([mean / 1e6 for mean in rows["mean"]])


def test_lines_of_one_parameter_are_distinguished_by_colour_marker_and_dash(swept: ecnlab.Sweep) -> None:
    (axes,) = swept.plot("goodput_bps", by="max_p", where={"scheme": "ECN"}).axes
    looks = [(bars[0].get_color(), bars[0].get_marker(), bars[0].get_linestyle()) for bars in _curve_labels(axes).values()]
    assert looks == list(zip(COLOURS[:2], MARKERS[:2], LINES[:2], strict=True))
    assert axes.get_legend().get_title().get_text() == "max_p"


def test_of_two_parameters_one_is_the_colour_and_the_other_the_marker_and_the_dash(swept: ecnlab.Sweep) -> None:
    for by in (["scheme", "count"], ["count", "scheme"]):
        (axes,) = swept.plot("goodput_bps", x="max_p", by=by).axes
        bars = [container[0] for container in axes.containers]
        first = [label.split(", ")[0] for label in _curve_labels(axes)]
        second = [label.split(", ")[1] for label in _curve_labels(axes)]
        assert len(bars) == 6
        assert _is_one_to_one(first, [line.get_color() for line in bars])
        assert _is_one_to_one(second, [(line.get_marker(), line.get_linestyle()) for line in bars])
        shown = [text.get_text() for text in axes.get_legend().get_texts() if text.get_text()]
        assert sorted(shown) == sorted([*by, "RED", "ECN", "1", "2", "4"]), "an entry for each value, under its parameter"


def test_panels_have_a_value_each_and_the_same_axes_looks_and_data(swept: ecnlab.Sweep) -> None:
    figure = swept.plot("goodput_bps", x="max_p", by="scheme", panels="count")
    assert [axes.get_title() for axes in figure.axes] == ["count 1", "count 2", "count 4"]
    assert len({axes.get_ylim() for axes in figure.axes}) == len({axes.get_xlim() for axes in figure.axes}) == 1
    for axes, count in zip(figure.axes, (1, 2, 4), strict=True):
        (alone,) = swept.plot("goodput_bps", x="max_p", by="scheme", where={"count": count}).axes
        assert {name: _curve_points(bars) for name, bars in _curve_labels(axes).items()} == {
            name: _curve_points(bars) for name, bars in _curve_labels(alone).items()
        }
    assert len(figure.legends) == 1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["RED", "ECN"]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("max_p", "goodput (Mbit/s)")


def test_the_axis_takes_a_parameter_that_has_no_lines_and_no_panels_unless_named(swept: ecnlab.Sweep) -> None:
    for asked, along in (({"by": ["scheme", "count"]}, "max_p"), ({"by": ["scheme", "max_p"]}, "count"), ({}, "count")):
        assert swept.plot.figure_view("goodput_bps", **asked).x.name == along
    assert swept.plot.figure_view("goodput_bps", by=["scheme"], panels="count").x.name == "max_p"


def test_what_has_panels_has_no_lines_as_well_unless_named(swept: ecnlab.Sweep) -> None:
    figure = swept.plot("goodput_bps", panels="scheme")
    assert [axes.get_title() for axes in figure.axes] == ["scheme RED", "scheme ECN"]
    assert [list(_curve_labels(axes)) for axes in figure.axes] == [["0.1", "0.5"]] * 2
    of_groups = swept.plot("goodput_bps", panels="group", where={"max_p": 0.5}, by="scheme")
    assert [axes.get_title() for axes in of_groups.axes] == ["group far", "group near"]


@pytest.mark.parametrize("width", [3.4, 6.4])
@pytest.mark.parametrize("asked", [{"by": ["scheme", "count"], "x": "max_p"}, {"panels": "count", "x": "max_p"}], ids=["lines", "panels"])
def test_nothing_of_a_figure_of_a_sweep_leaves_it(swept: ecnlab.Sweep, width: float, asked: dict[str, Any]) -> None:
    figure = swept.plot.styled(width_in=width, titles=False)("goodput_bps", **asked)
    with figure.style.matplotlib_rc_context():
        figure.draw_without_rendering()
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    assert len(legends) == 1
    for box in (legends[0].get_window_extent(), *(axes.get_tightbbox() for axes in figure.axes)):
        assert figure.bbox.x0 - 1 <= box.x0
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1
    assert max(axes.get_window_extent().y1 for axes in figure.axes) <= legends[0].get_window_extent().y0 + 1
    columns = len({round(axes.get_window_extent().x0) for axes in figure.axes})
    assert min(axes.get_window_extent().width for axes in figure.axes) >= 0.72 * figure.bbox.width / columns


def test_axes_are_logarithmic_where_that_is_asked_for_and_can_be(swept: ecnlab.Sweep) -> None:
    (axes,) = swept.plot("goodput_bps", x="count", by="scheme", where={"max_p": 0.5}, log=["x", "y"]).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "4"]
    with pytest.raises(UsageError, match="marks is 0 at some point"):
        swept.plot("marks", log="y")
    with pytest.raises(UsageError, match="scheme is 0 or not a number"):
        swept.plot("goodput_bps", x="scheme", log="x")
    with pytest.raises(UsageError, match="'z' is not an axis"):
        swept.plot("goodput_bps", log="z")


def test_the_axis_of_a_measure_does_not_go_below_zero(swept: ecnlab.Sweep) -> None:
    total = swept.summary().filter(pl.col("table") == "total")
    below = total.filter(pl.col("mean") - pl.col("half_width") < 0)
    assert below.height, "a measure whose interval reaches below 0"
    (axes,) = swept.plot(below["quantity"][0], x="count").axes
    assert axes.get_ylim()[0] == 0


@pytest.mark.parametrize("log", [(), "y"], ids=["linear", "log"])
@pytest.mark.parametrize("by_scheme", [True, False], ids=["panels of groups", "panels of schemes"])
def test_the_axes_of_panels_hold_the_points_and_intervals_of_all(small_file: Path, by_scheme: bool, log: Any) -> None:
    schemes = {
        "RED": {"link.bottleneck.queue.aqm": "red", "flows.*.tcp.ecn": False},
        "ECN": {},
        "AECN": {"link.bottleneck.queue.aqm": "aecn"},
    }
    swept = ecnlab.sweep(small_file, {"scheme": schemes, MAX_P: [0.1, 0.5]}, seeds=3, store=None)
    by, panels = ("scheme", "group") if by_scheme else ("group", "scheme")
    quantity = "goodput_bps" if log else "marks"
    figure = swept.plot(quantity, x="max_p", by=by, panels=panels, log=log)
    assert len(figure.axes) == (2 if by_scheme else 3)
    rows = swept.summary().filter((pl.col("table") == "groups") & (pl.col("quantity") == quantity))
    highest = (rows["mean"] + rows["half_width"]).max() * (1e-6 if log else 1)  # type: ignore[operator]
    lowest = rows["mean"].min() * (1e-6 if log else 1)  # type: ignore[operator]
    for axes in figure.axes:
        low, high = axes.get_ylim()
        assert low <= lowest <= highest <= high, axes.get_title()


@pytest.mark.parametrize("asked", ["by", "panels"])
def test_the_only_queue_can_be_what_there_is_a_line_or_panel_for(swept: ecnlab.Sweep, asked: str) -> None:
    figure = swept.plot("sojourn_mean_s", x="count", where={"scheme": "ECN", "max_p": 0.5}, **{asked: "queue"})  # type: ignore[arg-type]
    (axes,) = figure.axes
    ((xs, ys),) = map(_curve_points, axes.containers)
    assert (xs, len(ys)) == ([1.0, 2.0, 4.0], 3)


def _is_one_to_one(values: list[Any], looks: list[Any]) -> bool:
    return len(set(values)) == len(set(looks)) == len(set(zip(values, looks, strict=True)))


def test_groups_and_queues_and_places_are_chosen(swept: ecnlab.Sweep) -> None:
    (axes,) = swept.plot("goodput_bps", x="max_p", by=["scheme", "group"], where={"count": 2}).axes
    assert list(_curve_labels(axes)) == ["RED, far", "RED, near", "ECN, far", "ECN, near"]
    (axes,) = swept.plot("goodput_bps", by="scheme", group="far", where={"max_p": "0.1"}).axes
    rows = swept.groups.filter((pl.col("group") == "far") & (pl.col("scheme") == "RED") & (pl.col("max_p") == 0.1))
    means = rows.group_by("count").agg(pl.col("goodput_bps").mean() / 1e6).sort("count")["goodput_bps"]
    assert _curve_points(_curve_labels(axes)["RED"])[1] == pytest.approx(means.to_list())
    (axes,) = swept.plot("utilisation", where={"scheme": "ECN"}).axes
    assert axes.get_ylabel() == "utilisation", "the one queue needs no name, and a ratio has no unit"
    (axes,) = swept.plot("marks", queue="bottleneck", by="max_p", where={"scheme": "ECN"}).axes
    assert list(_curve_labels(axes)) == ["0.1", "0.5"]


def test_tables_that_the_summary_leaves_out_are_drawn_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace('delay = "5 ms"\n', 'delay = "5 ms"\nimpair = [{ kind = "loss", rate = 0.01 }]\n', 1))
    rates = [{"kind": "loss", "rate": rate} for rate in (0.01, 0.05)]
    grid = {"loss": {str(one["rate"]): {"link.bottleneck.impair": [one]} for one in rates}}
    found = ecnlab.sweep(path, grid, seeds=3, store=None, tables=["flows"])
    (axes,) = found.plot("lost").axes
    means = found.table("impairments").group_by("point", maintain_order=True).agg(pl.col("lost").mean())["lost"]
    assert next(iter(axes.containers))[0].get_ydata() == pytest.approx(means.to_list())
    (axes,) = found.plot("goodput_bps", by="flow").axes
    assert list(_curve_labels(axes)) == [f"{flow}.{group}" for flow, group in enumerate(["far"] * 3 + ["near"] * 3)]
    assert found.plot.figure_view("sent", flow="4.near").estimates_frame["flow"].to_list() == ["4.near"] * 2


def test_words_stand_along_the_axis_in_their_own_order(swept: ecnlab.Sweep) -> None:
    (axes,) = swept.plot("drops", x="scheme", by="count", where={"max_p": 0.5}).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["RED", "ECN"]
    assert list(_curve_labels(axes)) == ["1", "2", "4"]
    assert {bars[0].get_linestyle() for bars in _curve_labels(axes).values()} == {"None"}, "words have no order that a line could follow"


def test_values_with_units_stand_along_the_axis_as_people_read_them(small_file: Path) -> None:
    found = ecnlab.sweep(small_file, {"flows.*.access.delay": ["5 ms", "10 ms", "50 ms", "0.2 s"]}, store=None)
    (axes,) = found.plot("goodput_bps").axes
    assert axes.get_xlabel() == "delay (ms)"
    assert axes.get_xscale() == "log", "they span more than a plain scale shows"
    assert list(axes.get_xticks()) == [5.0, 10.0, 50.0, 200.0]


def test_more_than_ten_lines_are_cut_and_that_is_said(small_file: Path) -> None:
    found = ecnlab.sweep(small_file, {"flows.near.count": [1, 2], MAX_P: "0.1..0.6 step 0.05"}, store=None)
    (axes,) = found.plot("goodput_bps").axes
    assert len(_curve_labels(axes)) == 10
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "the first 10 of 11 lines"


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"y": "goodput"}, UnknownName, "did you mean 'goodput_bps'"),
        ({"y": "goodput_bps", "x": "counts"}, UnknownName, "did you mean 'count'"),
        ({"y": "goodput_bps", "by": "schema"}, UnknownName, "did you mean 'scheme'"),
        ({"y": "goodput_bps", "group": "fra"}, UnknownName, "did you mean 'far'"),
        ({"y": "goodput_bps", "where": {"scheme": "REDD"}}, UnknownName, "did you mean 'RED'"),
        ({"y": "goodput_bps", "where": {"schem": "RED"}}, UnknownName, "did you mean 'scheme'"),
        ({"y": "goodput_bps", "where": {"max_p": "many"}}, UnknownName, "value of max_p"),
        (
            {"y": "goodput_bps", "by": "scheme"},
            UsageError,
            r"max_p: has several values at each count, which is .*; fix: add it to by, .* with where, .* with x",
        ),
        ({"y": "goodput_bps", "group": "far", "queue": "bottleneck"}, UsageError, "group and queue exclude each other"),
        (
            {"y": "utilisation", "group": "far"},
            UsageError,
            r"y: utilisation is a quantity of the table queues, not of a group; fix: omit group",
        ),
        ({"y": "goodput_bps", "groups": "far"}, UnknownName, "did you mean 'group'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_remedy(
    swept: ecnlab.Sweep, asked: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        swept.plot(**asked)


def test_figures_are_written_with_their_data_beside_them_and_equal_ones_have_equal_bytes(swept: ecnlab.Sweep, tmp_path: Path) -> None:
    drawn = swept.plot.save_all(tmp_path / "a", formats=["svg", "pdf"])
    assert drawn == [f"{quantity}-count" for quantity in ("goodput_bps", "jain_goodput", "delay_mean_s", "marks", "drops")]
    assert {path.suffix for path in (tmp_path / "a").iterdir()} == {".svg", ".pdf", ".csv"}
    data = pl.read_csv(tmp_path / "a" / "goodput_bps-count.csv")
    assert data.columns == ["scheme", "count", "max_p", "quantity", "unit", "mean", "sd", "half_width", "n"]
    assert data.height == 12
    swept.plot.save_all(tmp_path / "b", ["marks"], formats=["svg", "pdf"])
    written = sorted((tmp_path / "b").iterdir())
    assert [path.name for path in written] == ["marks-count.csv", "marks-count.pdf", "marks-count.svg"]
    assert [path.read_bytes() for path in written] == [(tmp_path / "a" / path.name).read_bytes() for path in written]
    with pytest.raises(UsageError, match=r"^folder: is empty; fix: name a file or folder"):
        swept.plot.save_all("")


def test_a_row_has_its_name_in_the_name_of_the_file(swept: ecnlab.Sweep, tmp_path: Path) -> None:
    assert swept.plot.save_all(tmp_path, ["goodput_bps"], group="far") == ["goodput_bps-count-far"]
    assert swept.plot.save_all(tmp_path, ["utilisation"]) == ["utilisation-count-bottleneck"]


def test_all_unknown_names_are_reported_together(swept: ecnlab.Sweep) -> None:
    with pytest.raises(UsageError) as refused:
        swept.plot("goodput", "counts", "schema", where={"max_p": 7, "sceme": "RED"}, group="fra")
    assert str(refused.value).splitlines() == [
        "unknown quantity 'goodput'; did you mean 'goodput_bps'?",
        "unknown parameter of the sweep 'counts'; did you mean 'count'?",
        "unknown parameter of the sweep 'schema'; did you mean 'scheme'?",
        "unknown group 'fra'; did you mean 'far'?",
        "unknown value of max_p '7'; fix: use one of 0.1, 0.5",
        "unknown parameter of the sweep 'sceme'; did you mean 'scheme'?",
    ]
