import io

import pytest

from ecnlab.execution import progress
from ecnlab.execution.progress import ProgressLine, format_progress_line


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    seen = _Terminal()
    monkeypatch.setattr("sys.stderr", seen)
    monkeypatch.setattr(progress, "_DELAY_S", 0.0)
    monkeypatch.setattr(progress, "_REDRAW_INTERVAL_S", 0.0)
    return seen


@pytest.mark.parametrize(
    ("done", "total", "elapsed_s", "text"),
    [
        (0.0, 1, 2.0, "running 0 %, 0:02 so far"),
        (0.25, 1, 60.0, "running 25 %, 1:00 so far, about 3:00 left"),
        (5.5, 20, 3600.0, "running 5 of 20, 28 %, 1:00:00 so far, about 2:38:11 left"),
        (20.0, 20, 61.0, "running 20 of 20, 100 %, 1:01 so far, about 0:00 left"),
    ],
)
def test_the_line_says_how_much_is_done_and_what_is_left(done: float, total: int, elapsed_s: float, text: str) -> None:
    assert format_progress_line("running", done, total, elapsed_s) == text


def test_the_line_is_drawn_over_and_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with ProgressLine(2, shown=True, verb="drawing") as bar:
        bar.add_finished()
        bar.show_done_count(1.5)
    first, second, blank, rest = terminal.getvalue().split("\r")[1:]
    assert first.startswith("drawing 1 of 2, 50 %")
    assert second.startswith("drawing 1 of 2, 75 %")
    assert (blank.strip(), rest) == ("", "")
    assert len(blank) == len(second)


def test_show_fraction_sets_the_total_with_the_done_count(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with ProgressLine(0, shown=True, verb="drawing") as bar:
        bar.show_done_of_total(0, 3)
        bar.show_done_of_total(2, 3)
    assert "drawing 2 of 3, 67 %" in terminal.getvalue()


def test_nothing_is_shown_unasked_or_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with ProgressLine(2, shown=False) as bar:
        bar.add_finished()
    monkeypatch.setattr("sys.stderr", pipe := io.StringIO())
    with ProgressLine(2, shown=True) as bar:
        bar.add_finished()
    assert (terminal.getvalue(), pipe.getvalue()) == ("", "")
