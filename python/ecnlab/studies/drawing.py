"""Drawing a study's items, in several processes where there are enough of them: matplotlib uses one core."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from ecnlab import studies
from ecnlab.plots.style import PLAIN
from ecnlab.progress import Progress
from ecnlab.results import Result
from ecnlab.studies.model import Drawing, Item, Key, Need, Study, Table

# A process needs about as long to start as this many items to be drawn.
_WORTH_A_PROCESS = 3

Found = Mapping[Key, Result]


@dataclass(frozen=True)
class Drawn:
    """An item as the report shows it: its picture as SVG, if it has one, its tables, and the endings of the files saved of it."""

    item: Item
    svg: bytes | None
    tables: Sequence[Table]
    files: Sequence[str]


def draw_all(
    study: Study, items: Sequence[Item], results: Mapping[Need, Result], folder: Path, processes: int, bar: Progress
) -> list[Drawn]:
    """Draw the items in order, saving each in `folder` as SVG, PDF and PNG with its numbers as CSV. Raises ResultsError."""
    found = [{key: results[need] for key, need in item.needs.items()} for item in items]
    drawn = []
    with _drawing(study, folder, min(processes, len(items) // _WORTH_A_PROCESS)) as draw:
        for item, (svg, tables, files) in zip(items, draw(items, found), strict=True):
            drawn.append(Drawn(item, svg, tables, files))
            bar.advance()
    return drawn


Saved = tuple[bytes | None, Sequence[Table], Sequence[str]]
Draw = Callable[[Sequence[Item], Sequence[Found]], Iterator[Saved]]


@contextmanager
def _drawing(study: Study, folder: Path, processes: int) -> Iterator[Draw]:
    """How items are drawn: in processes, which know a study by its name, or in this one."""
    if processes < 2 or not _is_found(study):
        yield lambda items, found: map(_save, items, found, [folder] * len(items))
        return
    with ProcessPoolExecutor(processes, get_context("spawn"), _ignore_interrupts) as pool:
        try:
            yield lambda items, found: pool.map(
                _save_of, [study.name] * len(items), [item.heading for item in items], found, [folder] * len(items)
            )
        finally:
            pool.shutdown(cancel_futures=True)


def _is_found(study: Study) -> bool:
    return study.name in studies.TITLES and studies.find(study.name) is study


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that waits for the drawings."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _save_of(study: str, heading: str, found: Found, folder: Path) -> Saved:
    (item,) = studies.find(study).choose([heading])
    return _save(item, found, folder)


def _save(item: Item, found: Found, folder: Path) -> Saved:
    """Draw an item and save what it became."""
    from ecnlab.plots.drawn import write

    with PLAIN.applied():
        drawing: Drawing = item.draw(found)
    images = {} if drawing.figure is None else drawing.figure.rendered()
    files = images | ({} if drawing.data is None else {"csv": drawing.data.write_csv().encode()})
    write(folder / item.stem, files)
    return images.get("svg"), drawing.tables, list(files)
