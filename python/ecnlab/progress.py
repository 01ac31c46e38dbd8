"""A progress bar on standard error that shows itself only when the work takes longer than a second."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_PATIENCE_S = 1.0


class Progress:
    """Counts finished runs; use as a context manager and call `advance` often."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self._total = total
        self._shown = shown
        self._done = 0
        self._bar: Bar | None = None
        self._begin = monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, finished: int) -> None:
        """Count `finished` more runs (0 just lets the bar appear in time)."""
        self._done += finished
        if self._bar is None and self._shown and monotonic() - self._begin > _PATIENCE_S:
            self._bar = _bar(self._total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)


def _bar(total: int) -> Bar:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    columns = [
        TextColumn("running"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("runs", total=total)
    bar.start()
    return bar
