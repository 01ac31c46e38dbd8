"""Drawing a study's items, in several processes where there are enough of them: matplotlib uses one core."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

from ecnlab import studies
from ecnlab.execution.progress import ProgressLine
from ecnlab.plot.style import PLAIN
from ecnlab.storage.results import Result
from ecnlab.studies.framework.model import DrawnItemContent, NeedKey, ReportTable, RequiredScenario, Study, StudyItem

# The start of a process takes about as long as drawing this many items.
_MIN_ITEMS_PER_PROCESS = 3

FoundResults = Mapping[NeedKey, Result]


@dataclass(frozen=True)
class DrawnItem:
    """An item as the report shows it: its picture as SVG, if it has one, its tables, and the endings of the files saved of it."""

    item: StudyItem
    svg: bytes | None
    tables: Sequence[ReportTable]
    files: Sequence[str]


def draw_and_save_items(
    study: Study, items: Sequence[StudyItem], results: Mapping[RequiredScenario, Result], folder: Path, processes: int, bar: ProgressLine
) -> list[DrawnItem]:
    """Draw the items in order, saving each in `folder` as SVG, PDF and PNG with its numbers as CSV. Raises ResultsError."""
    found = [{key: results[need] for key, need in item.needs.items()} for item in items]
    drawn = []
    with _drawing_pool(study, folder, min(processes, len(items) // _MIN_ITEMS_PER_PROCESS)) as draw:
        for item, (svg, tables, files) in zip(items, draw(items, found), strict=True):
            drawn.append(DrawnItem(item, svg, tables, files))
            bar.add_finished()
    return drawn


SavedItem = tuple[bytes | None, Sequence[ReportTable], Sequence[str]]
DrawFunction = Callable[[Sequence[StudyItem], Sequence[FoundResults]], Iterator[SavedItem]]


@contextmanager
def _drawing_pool(study: Study, folder: Path, processes: int) -> Iterator[DrawFunction]:
    """The executor that draws items: worker processes, which load a study by its name, or this process."""
    if processes < 2 or not _is_registered_study(study):
        yield lambda items, found: map(_draw_and_save_item, items, found, repeat(folder))
        return
    with ProcessPoolExecutor(processes, get_context("spawn"), _ignore_interrupts) as pool:
        try:
            yield lambda items, found: pool.map(
                _draw_and_save_item_of_study, repeat(study.name), [item.heading for item in items], found, repeat(folder)
            )
        finally:
            pool.shutdown(cancel_futures=True)


def _is_registered_study(study: Study) -> bool:
    return study.name in studies.TITLES and studies.find_study(study.name) is study


def _ignore_interrupts() -> None:
    """Ignore SIGINT in workers: the parent process handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _draw_and_save_item_of_study(study: str, heading: str, found: FoundResults, folder: Path) -> SavedItem:
    (item,) = studies.find_study(study).choose_items([heading])
    return _draw_and_save_item(item, found, folder)


def _draw_and_save_item(item: StudyItem, found: FoundResults, folder: Path) -> SavedItem:
    """Draw an item and save its files."""
    from ecnlab.plot.drawn import write_figure_files

    with PLAIN.matplotlib_rc_context():
        drawing: DrawnItemContent = item.draw(found)
    images = {} if drawing.figure is None else drawing.figure.render()
    files = images | ({} if drawing.data is None else {"csv": drawing.data.write_csv().encode()})
    write_figure_files(folder / item.file_stem, files)
    return images.get("svg"), drawing.tables, list(files)
