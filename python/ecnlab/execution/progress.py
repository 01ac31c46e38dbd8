"""How far the work is, on one line of standard error: only where a person looks, and only when it takes longer than a second."""

from __future__ import annotations

import shutil
import sys
from time import monotonic
from types import TracebackType

_DELAY_S = 1.0
_REDRAW_INTERVAL_S = 0.1


class ProgressLine:
    """Counts what is done of `total` (runs, figures); a run that goes on counts by the share of it that is over.

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

    def add_finished(self, finished: float = 1) -> None:
        """Count `finished` more as done (0 just lets the line appear in time)."""
        self.show_done_count(self._done + finished)

    def show_done_count(self, done: float) -> None:
        """Tell how many are done."""
        self._done = done
        now = monotonic()
        if self._shown and self._total and now >= self._next:
            self._next = now + _REDRAW_INTERVAL_S
            self._replace_line(progress_line(self._verb, done, self._total, now - self._begin))

    def show_fraction(self, done: float, total: int) -> None:
        """Tell how many are done, and of how many, where that is known only while the work goes on."""
        self._total = total
        self.show_done_count(done)

    def _replace_line(self, text: str) -> None:
        """Put a line in place of the one before."""
        text = text[: shutil.get_terminal_size().columns - 1]
        if text or self._width:
            sys.stderr.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
            sys.stderr.flush()
            self._width = len(text)


def progress_line(verb: str, done: float, total: int, elapsed_s: float) -> str:
    """For example "running 3 of 20, 17 %, 0:12 so far, about 0:58 left"; the rest is guessed from what was done so far."""
    share = min(done / total, 1.0)
    count = f"{int(done)} of {total}, " if total > 1 else ""
    left = f", about {_format_duration(elapsed_s * (1 - share) / share)} left" if share > 0 else ""
    return f"{verb} {count}{100 * share:.0f} %, {_format_duration(elapsed_s)} so far{left}"


def _format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
