"""Progress on one line of standard error: only on a terminal, and only for work of more than a second."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType

_DELAY_S = 1.0
_REDRAW_INTERVAL_S = 0.1


class ProgressLine:
    """Progress of `total` items (runs, figures); a running item counts as a fraction.

    Use as a context manager and call `show` or `advance` often. `verb` begins the line: "running", "drawing".
    """

    def __init__(self, total: int, *, shown: bool, verb: str = "running") -> None:
        self._total = total
        self._verb = verb
        self._shown = shown and sys.stderr.isatty()
        self._done = 0.0
        self._begin = monotonic()
        self._next = self._begin + _DELAY_S
        self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._replace_line("")

    def add_finished(self) -> None:
        """Add a finished item."""
        self.show_done_count(self._done + 1)

    def show_done_count(self, done: float) -> None:
        """Set the number of finished items."""
        self._done = done
        now = monotonic()
        if self._shown and self._total and now >= self._next:
            self._next = now + _REDRAW_INTERVAL_S
            self._replace_line(format_progress_line(self._verb, done, self._total, now - self._begin))

    def show_done_of_total(self, done: float, total: int) -> None:
        """Set the number of finished items and the total, if that is known only during the work."""
        self._total = total
        self.show_done_count(done)

    def _replace_line(self, text: str) -> None:
        """Overwrite the line."""
        if not (text or self._width):
            return
        import shutil

        text = text[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
        sys.stderr.flush()
        self._width = len(text)


def format_progress_line(verb: str, done: float, total: int, elapsed_s: float) -> str:
    """Text such as "running 3 of 20, 17 %, 0:12 so far, about 0:58 left"; the remaining time is extrapolated."""
    share = min(done / total, 1.0)
    count = f"{int(done)} of {total}, " if total > 1 else ""
    left = f", about {_format_duration(elapsed_s * (1 - share) / share)} left" if share > 0 else ""
    return f"{verb} {count}{100 * share:.0f} %, {_format_duration(elapsed_s)} so far{left}"


def _format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
