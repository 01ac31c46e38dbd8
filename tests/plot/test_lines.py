import math

import numpy as np

from ecnlab.plot import lines, style
from ecnlab.plot.style import Palette
from ecnlab.stats.estimates import Estimate
from ecnlab.studies.papers.aecn import schemes


def test_each_point_carries_its_interval() -> None:
    _, (axes,) = style.figure_with_panels()
    points = [Estimate(5.0, 1.0, 0.5, 4), Estimate(6.0, 1.0, 0.25, 4)]
    lines.draw_curves(axes, [lines.Curve("ECN", [30, 60], points)], x_label="flows", y_label="goodput (Mbit/s)", ticks=[30, 60])
    segments = axes.containers[0].lines[2][0].get_segments()
    assert [(segment[0][1], segment[1][1]) for segment in segments] == [(4.5, 5.5), (5.75, 6.25)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["30", "60"]


def test_a_point_without_an_interval_has_no_bar() -> None:
    _, (axes,) = style.figure_with_panels()
    points = [Estimate(5.0, math.nan, math.nan, 1), Estimate(6.0, 1.0, 0.25, 4)]
    with style.PLAIN.matplotlib_rc_context():
        lines.draw_curves(axes, [lines.Curve("ECN", [30, 60], points)], x_label="flows", y_label="goodput (Mbit/s)")
    _, caps, (bars,) = axes.containers[0].lines
    assert [len(segment) for segment in bars.get_segments()] == [0, 2]
    assert [np.isfinite(np.asarray(cap.get_ydata(), float)).tolist() for cap in caps] == [[False, True]] * 2


def test_a_scheme_has_its_colour_wherever_it_stands() -> None:
    palette = schemes.SCHEME_PALETTE
    assert palette.colour("ECN", 0) == palette.colour("ECN", 3)
    assert len(set(palette.colours.values())) == len(palette.colours) == len(schemes.QUEUE_OF_SCHEME)


def test_curves_without_a_palette_differ_in_colour_and_in_marker() -> None:
    plain = Palette()
    assert len({plain.colour("", at) for at in range(5)}) == len({plain.marker_of_name("", at) for at in range(5)}) == 5


def test_a_name_with_a_dash_is_drawn_in_it_and_others_are_solid() -> None:
    _, (axes,) = style.figure_with_panels()
    palette = Palette(dashes={"max_p 0.8": "--"})
    curves = [lines.Curve(name, [30], [Estimate(5.0, 1.0, 0.5, 4)]) for name in ("max_p 0.5", "max_p 0.8")]
    lines.draw_curves(axes, curves, x_label="flows", y_label="goodput (Mbit/s)", palette=palette)
    assert [container.lines[0].get_linestyle() for container in axes.containers] == ["-", "--"]


def test_what_another_source_gives_stands_beside_the_curve_as_an_open_marker_named_once() -> None:
    _, (axes,) = style.figure_with_panels()
    curves = [lines.Curve(name, [30, 60], [Estimate(5.0, 1.0, 0.5, 4)] * 2) for name in ("RED", "ECN")]
    lines.draw_curves(axes, curves, x_label="flows", y_label="goodput (Mbit/s)", palette=schemes.SCHEME_PALETTE)
    lines.draw_reference_points(axes, [lines.Curve("ECN", [60], [Estimate(5.1, 0.1, 0.1, 5)])], "ns-2", palette=schemes.SCHEME_PALETTE)
    marker = axes.containers[-1].lines[0]
    assert (marker.get_color(), marker.get_marker()) == (
        schemes.SCHEME_PALETTE.colour("ECN", 0),
        schemes.SCHEME_PALETTE.marker_of_name("ECN", 0),
    )
    assert (marker.get_markerfacecolor(), marker.get_linestyle()) == ("none", "None")
    handles, words = axes.get_legend_handles_labels()
    assert words == ["ns-2 (open)", "RED", "ECN"]
    assert handles[0].get_marker() == marker.get_marker(), "the legend shows a marker that the figure has"


def test_what_a_paper_prints_keeps_the_shapes_of_its_curves_half_filled() -> None:
    _, (axes,) = style.figure_with_panels()
    curves = [lines.Curve(name, [30], [Estimate(5.0, 1.0, 0.5, 4)]) for name in ("RED", "ECN")]
    lines.draw_curves(axes, curves, x_label="flows", y_label="goodput (Mbit/s)", palette=schemes.SCHEME_PALETTE)
    lines.draw_reference_points(axes, curves, "published", palette=schemes.SCHEME_PALETTE, half=True)
    markers = [container.lines[0] for container in axes.containers[2:]]
    assert [line.get_marker() for line in markers] == [schemes.SCHEME_PALETTE.marker_of_name(name, 0) for name in ("RED", "ECN")]
    assert {line.get_fillstyle() for line in markers} == {"left"}
    assert axes.get_legend_handles_labels()[1][0] == "published (half filled)"
