from pathlib import Path

import pytest

import ecnlab
from ecnlab.plots import style
from ecnlab.plots.drawn import Drawn

LONG = "a name of an axis that is much too long " * 12


def _is_inside(figure: Drawn) -> bool:
    """Whether all that stands in or beside the axes is in the figure."""
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    return all(box is not None and box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)


def test_labels_are_not_cut_off_where_other_room_makes_other_ticks() -> None:
    spans = [(948.7, 989.1), (-51.0, 1074.0), (-0.0071, 0.1613), (-0.043, 0.94)]  # left to itself, the third is cut off
    figure, panels = style.panels(2, 2, shape=0.88)
    for axes, span in zip(panels, spans, strict=True):
        axes.set_ylim(*span)
        axes.set_ylabel("quantity (Mbit/s)")
    with figure.style.applied(), figure._laid_out():
        figure.draw_without_rendering()
        assert _is_inside(figure)


@pytest.mark.parametrize("options", [{"x": "count", "by": [LONG]}, {"x": LONG, "by": ["count"]}])
@pytest.mark.filterwarnings("error")
def test_words_too_long_for_a_figure_make_it_higher_and_matplotlib_says_nothing(small_file: Path, options: dict[str, object]) -> None:
    grid = {LONG: {"key": "link.bottleneck.queue.max_p", "values": [0.1, 0.5]}, "flows.near.count": [1, 2]}
    swept = ecnlab.sweep(small_file, grid, store=None)
    figure = swept.plot.styled(width_in=3.0)("goodput_bps", **options)  # type: ignore[arg-type]
    before = figure.get_figheight()
    figure.rendered(["svg"])
    assert figure.get_figheight() >= before
    assert figure.axes[0].get_position().height > 0.1


def test_the_ticks_are_free_again_once_a_figure_is_written() -> None:
    figure, (axes,) = style.panels()
    axes.plot([0, 1], [0, 1])
    figure.rendered(["svg"])
    axes.set_ylim(0, 1000)
    assert max(axes.get_yticks()) >= 1000
