import signal
from pathlib import Path

import pytest
from matplotlib.axis import Axis
from matplotlib.ticker import Locator

import ecnlab
from ecnlab.errors import ResultsError
from ecnlab.plot import style
from ecnlab.plot.drawn import DrawnFigure, write_figure_files
from ecnlab.plot.style import FigureStyle

LONG_LABEL = "a name of an axis that is much too long " * 12


def _is_inside(figure: DrawnFigure) -> bool:
    """Whether the axes and their labels are inside the figure."""
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    return all(box is not None and box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)


class _ChangingFormatter(Locator):
    """One tick with a long label while the axes are wide, and a short one once the long label has narrowed them."""

    def __call__(self) -> list[float]:
        assert isinstance(self.axis, Axis)
        return [0.5] if self.axis.axes.bbox.width > 480 else [0.25]


def test_labels_are_not_cut_off_where_other_room_makes_other_ticks() -> None:
    figure, (axes,) = style.figure_with_panels()
    axes.yaxis.set_major_locator(_ChangingFormatter())
    axes.yaxis.set_major_formatter(lambda value, _: "a label of many letters" if value == 0.5 else "0")
    with figure.style.matplotlib_rc_context(), figure._hold_axes_layout():
        figure.draw_without_rendering()
        assert _is_inside(figure)


@pytest.mark.parametrize("options", [{"x": "count", "by": [LONG_LABEL]}, {"x": LONG_LABEL, "by": ["count"]}])
@pytest.mark.filterwarnings("error")
def test_words_too_long_for_a_figure_make_it_higher_and_matplotlib_says_nothing(small_file: Path, options: dict[str, object]) -> None:
    grid = {LONG_LABEL: {"key": "link.bottleneck.queue.max_p", "values": [0.1, 0.5]}, "flows.near.count": [1, 2]}
    swept = ecnlab.sweep(small_file, grid, store=None)
    figure = swept.plot.styled(width_in=3.0)("goodput_bps", **options)  # type: ignore[arg-type]
    before = figure.get_figheight()
    figure.render(["svg"])
    assert figure.get_figheight() >= before
    assert figure.axes[0].get_position().height > 0.1


def test_the_ticks_are_free_again_once_a_figure_is_written() -> None:
    figure, (axes,) = style.figure_with_panels()
    axes.plot([0, 1], [0, 1])
    figure.render(["svg"])
    axes.set_ylim(0, 1000)
    assert max(axes.get_yticks()) >= 1000


@pytest.mark.parametrize("width", [3.4, 6.4])
def test_a_long_label_of_a_low_figure_is_wrapped_and_stays_in_it(width: float) -> None:
    chosen = FigureStyle(width_in=width)
    with chosen.matplotlib_rc_context():
        figure, (axes,) = style.figure_with_panels(style=chosen)
        axes.plot([0, 1], [0, 1])
        axes.set_ylabel("95th percentile of the time that a transaction took (s)")
    figure.render(["svg"])
    with chosen.matplotlib_rc_context():
        figure.draw_without_rendering()
    label = axes.yaxis.label.get_window_extent()
    assert figure.bbox.y0 <= label.y0
    assert label.y1 <= figure.bbox.y1
    assert " ".join(axes.get_ylabel().split()) == "95th percentile of the time that a transaction took (s)"


def test_a_disk_that_is_full_leaves_the_figure_that_was_there(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    write_figure_files(tmp_path / "queue", {"svg": b"good"})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        with pytest.raises(ResultsError, match=r"cannot write the figure .*; fix: choose another folder \(--out DIR\)"):
            write_figure_files(tmp_path / "queue", {"svg": b"x" * 20_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("queue.svg", b"good")]
