import pytest
from matplotlib.axes import Axes

import ecnlab
from ecnlab.plot import style
from ecnlab.plot.drawn import DrawnFigure
from ecnlab.plot.style import FigureStyle

HOSTILE = [
    "a$\\frac$b",
    "$$",
    "x^2_$ and $",
    r"\$1 to \$2",
    "_hidden",
    "",
    " ",
    "[x]",
    "[/nope]",
    "a/b",
    "{}%s{0}",
    "x" * 300,
    "W" * 100,
    "a\nb\x1b[2J\0",
    "名前",
]


def _rendered_text(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_curve_of_any_name_is_drawn_with_its_legend_entry(name: str) -> None:
    figure, (axes,) = style.figure_with_panels()
    for label in (name, "other"):
        axes.plot([0, 1], [0, 1], label=style.escape_and_wrap_label(axes, label))
    style.set_wrapped_title(axes, f"{name}: {name}")
    style.legend_above(axes)
    assert len(_rendered_text(axes)) == 2
    assert figure.render(["svg"])["svg"]


@pytest.mark.parametrize("name", ["a$\\frac$b", r"\$1 to \$2", "x^2_$ and $"])
def test_tex_s_signs_are_letters(name: str) -> None:
    _, (axes,) = style.figure_with_panels()
    axes.set_title(style.escape_and_wrap_to_letters(name))
    text, is_formula = axes.title._preprocess_math(axes.title.get_text())
    assert (text, bool(is_formula)) == (name, False)


def test_different_names_stay_different() -> None:
    names = [*HOSTILE[:5], *HOSTILE[7:], "文字", "_hidden2"]
    assert len({style.escape_and_wrap_to_letters(name).strip() for name in names}) == len(names)


@pytest.mark.parametrize("titles", [1, 4], ids=["short title", "long title"])
@pytest.mark.parametrize("count", [2, 12])
@pytest.mark.parametrize("width", [3.3, 6.4])
def test_the_legend_covers_neither_title_nor_axes_and_nothing_leaves_the_figure(width: float, count: int, titles: int) -> None:
    chosen = FigureStyle(width_in=width)
    with chosen.matplotlib_rc_context():
        figure, (axes,) = style.figure_with_panels(style=chosen)
        for at in range(count):
            axes.plot([0, 1], [0, at], label=style.escape_and_wrap_label(axes, f"group number {at}"))
        style.set_wrapped_title(axes, "two groups of flows, one RED queue that marks " * titles)
        style.legend_above(axes)
        figure.draw_without_rendering()
    legend, title, drawn = axes.get_legend().get_window_extent(), axes._left_title.get_window_extent(), axes.get_window_extent()
    assert drawn.y1 <= legend.y0 + 1
    assert legend.y1 <= title.y0 + 1
    for box in (legend, title, drawn):
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1


@pytest.mark.parametrize("label", ["codel, flows {}", "a scheme with a rather long name of its own, flows {}"], ids=["short", "long"])
@pytest.mark.parametrize("count", [1, 3, 9, 20])
@pytest.mark.parametrize("width", [3.4, 6.4])
def test_the_legend_of_many_lines_leaves_the_axes_their_width(width: float, count: int, label: str) -> None:
    chosen = FigureStyle(width_in=width, titles=False)
    with chosen.matplotlib_rc_context():
        figure, (axes,) = style.figure_with_panels(style=chosen)
        for at in range(count):
            axes.plot([0, 1], [0, at], label=style.escape_and_wrap_label(axes, label.format(at)))
        axes.set_xlabel("rtt (ms)")
        axes.set_ylabel("goodput (Mbit/s)")
        axes.set_yticks([0, 20])  # other ticks would have labels of other widths
        figure.draw_without_rendering()
        bare = axes.get_window_extent().width
        style.legend_above(axes, "scheme, flows")
        figure.draw_without_rendering()
    legend, drawn = axes.get_legend().get_window_extent(), axes.get_window_extent()
    assert figure.bbox.x0 <= legend.x0
    assert legend.x1 <= figure.bbox.x1
    assert drawn.y1 <= legend.y0 + 1
    assert legend.y1 <= figure.bbox.y1 + 1
    assert drawn.width >= (0.75 if width == 3.4 else 0.85) * figure.bbox.width
    assert drawn.width == pytest.approx(bare, rel=0.01)
    assert drawn.height >= 0.36 * figure.get_figwidth() * figure.dpi


def test_a_width_or_size_that_no_figure_has_is_refused_all_at_once() -> None:
    with pytest.raises(
        ecnlab.UsageError, match=r"width of a figure must be between 1\.5 and 40 in \(3\.81 and 101\.6 cm\), not 0\n.*font size.*not nan"
    ):
        FigureStyle(width_in=0, font_size=float("nan"))


def test_a_figure_keeps_its_style_whatever_the_user_has_set() -> None:
    from matplotlib import rc_context

    plain = _line_figure().render()
    with rc_context({"font.size": 30, "savefig.bbox": "tight", "svg.fonttype": "none", "axes.facecolor": "black", "savefig.dpi": 10}):
        assert _line_figure().render() == plain


@pytest.mark.parametrize("values", [[9.99987, 10.0, 10.00014], [2.1e7, 4.5e7], [3e-7, 8e-7]], ids=["full link", "many", "rare"])
def test_ticks_are_the_values_without_an_offset_or_a_power_of_ten(values: list[float]) -> None:
    with style.PLAIN.matplotlib_rc_context():
        figure, (axes,) = style.figure_with_panels()
        axes.plot(values, values)
    figure.draw_without_rendering()
    for axis in (axes.xaxis, axes.yaxis):
        assert axis.get_offset_text().get_text() == ""
        ticks, texts = axis.get_ticklocs(), [label.get_text().replace("\N{MINUS SIGN}", "-") for label in axis.get_ticklabels()]
        assert [float(text) for text in texts] == pytest.approx(list(ticks), rel=1e-9)


def test_all_formats_come_from_one_figure_with_equal_bytes_each_time() -> None:
    figure = _line_figure()
    first = figure.render()
    assert list(first) == ["svg", "pdf", "png"]
    assert [content[:5] for content in first.values()] == [b"<?xml", b"%PDF-", b"\x89PNG\r"]
    assert figure.render() == first


def test_a_format_that_is_not_there_is_refused() -> None:
    with pytest.raises(ecnlab.UnknownName, match="did you mean 'svg'"):
        _line_figure().render(["svgg"])


def test_a_notebook_shows_a_figure_by_itself() -> None:
    content, shown = _line_figure()._repr_png_()
    assert content[:4] == b"\x89PNG"
    assert shown == {"width": 640, "height": 390}


def _line_figure() -> DrawnFigure:
    with FigureStyle().matplotlib_rc_context():
        figure, (axes,) = style.figure_with_panels()
        axes.plot([0, 1], [0, 1], label="a")
        style.legend_above(axes)
    return figure
