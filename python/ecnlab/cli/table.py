"""Tables of text with lines around their cells.

A column of words is folded where the terminal is narrow. A column of numbers is never folded: what has no room goes into a further
table below, with the leading columns of words repeated, so that a result with many groups can be read in any terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import takewhile, zip_longest

from ecnlab.cli.text import fold_text, pad_text, text_width
from ecnlab.display.cells import TextTable
from ecnlab.storage.filenames import escape_unprintable

_DEFAULT_WIDTH = 120  # columns if the output is not a terminal
_MIN_FOLDED_WIDTH = 8  # columns that a folded cell keeps at least
_MAX_HEADING_WIDTH = 20  # columns beyond which a number's heading is folded

_BOX_MARKS = {"top": "┏━┳┓", "head": "┃ ┃┃", "below": "┡━╇┩", "row": "│ ││", "end": "└─┴┘"}
_ASCII_MARKS = {"top": "+-++", "head": "| ||", "below": "+=++", "row": "| ||", "end": "+-++"}

Row = Sequence[str]


def render_lines(table: TextTable, room: int | None = None, encoding: str | None = None) -> Iterator[str]:
    """The table with lines around its cells, in at most `room` columns, by default those of the terminal."""
    room = room or terminal_width()
    marks = _BOX_MARKS if can_encode("".join(_BOX_MARKS.values()), encoding) else _ASCII_MARKS
    if table.title:
        yield from fold_text(escape_unprintable(table.title), room)
    for part in _split_columns_to_fit(_sized_columns(table), room):
        yield from _table_lines(part, marks)


def _sized_columns(table: TextTable) -> list[_TableColumn]:
    words = table.words or table.header[:1]
    cells = zip(*table.rows, strict=True) if table.rows else [()] * len(table.header)
    return [
        _TableColumn(escape_unprintable(name), list(map(escape_unprintable, column)), name in words)
        for name, column in zip(table.header, cells, strict=True)
    ]


class _TableColumn:
    """A column and its width."""

    def __init__(self, heading: str, cells: Row, is_words: bool) -> None:
        self.heading = heading
        self.cells = cells
        self.is_words = is_words
        widest = max(map(text_width, cells), default=0)
        self.whole = self.room = max(widest, text_width(heading) if is_words else min(text_width(heading), _MAX_HEADING_WIDTH))

    @cached_property
    def longest_word_width(self) -> int:
        """The width at which no word is broken, up to a limit."""
        longest = max(text_width(word) for cell in (self.heading, *self.cells) for word in cell.split(" "))
        return min(self.room, max(_MIN_FOLDED_WIDTH, min(longest, 5 * _MIN_FOLDED_WIDTH)))


def terminal_width() -> int:
    """Width of the terminal, or a default width if standard output is not a terminal. COLUMNS sets it, as for `shutil.get_terminal_size`.

    The import of shutil, with three libraries for compression, takes as long as a print of many tables.
    """
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and columns.isascii() else 0
    if width <= 0 and sys.__stdout__ is not None:
        with suppress(OSError, ValueError):
            width = os.get_terminal_size(sys.__stdout__.fileno()).columns
    return max(width or _DEFAULT_WIDTH, 4 * _MIN_FOLDED_WIDTH)


def can_encode(text: str, encoding: str | None = None) -> bool:
    """Whether an encoding, by default that of standard output, has all characters of the text."""
    try:
        text.encode(encoding or sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _split_columns_to_fit(columns: list[_TableColumn], room: int) -> list[list[_TableColumn]]:
    """The columns of each printed table, narrowed as far as needed."""
    _narrow_columns(columns, room, {id(column): column.longest_word_width for column in columns})
    leading = list(takewhile(lambda column: column.is_words, columns))
    if len(leading) == len(columns):
        _narrow_columns(columns, room, dict.fromkeys(map(id, columns), _MIN_FOLDED_WIDTH) | {id(columns[0]): columns[0].longest_word_width})
    if _total_width_of_columns(columns) <= room or len(leading) == len(columns):
        return [columns]
    parts: list[list[_TableColumn]] = [leading]
    for column in columns[len(leading) :]:
        if len(parts[-1]) > len(leading) and _total_width_of_columns([*parts[-1], column]) > room:
            parts.append(leading)
        parts[-1] = [*parts[-1], column]
    return parts


def _narrow_columns(columns: Sequence[_TableColumn], room: int, least: dict[int, int]) -> None:
    """Narrow the text columns until all columns fit, such that their cells have about equally many lines."""
    while _total_width_of_columns(columns) > room:
        able = [column for column in columns if column.is_words and column.room > least[id(column)]]
        if not able:
            return
        min(able, key=lambda column: column.whole / (column.room - 1)).room -= 1


def _total_width_of_columns(columns: Sequence[_TableColumn]) -> int:
    return 1 + sum(column.room + 3 for column in columns)


def _table_lines(columns: Sequence[_TableColumn], marks: dict[str, str]) -> Iterator[str]:
    yield _cell_line(columns, [""] * len(columns), marks["top"])
    yield from _row_lines(columns, [column.heading for column in columns], marks["head"])
    yield _cell_line(columns, [""] * len(columns), marks["below"])
    for cells in zip(*(column.cells for column in columns), strict=True):
        yield from _row_lines(columns, cells, marks["row"])
    yield _cell_line(columns, [""] * len(columns), marks["end"])


def _row_lines(columns: Sequence[_TableColumn], cells: Row, marks: str) -> Iterator[str]:
    folded = [fold_text(cell, column.room) for column, cell in zip(columns, cells, strict=True)]
    for line in zip_longest(*folded, fillvalue=""):
        yield _cell_line(columns, line, marks)


def _cell_line(columns: Sequence[_TableColumn], cells: Row, marks: str) -> str:
    """One line of cells; `marks` are the left end, the padding of a cell, the separator and the right end."""
    filling = marks[1]
    padded = (pad_text(cell, column.room, right=not column.is_words) for column, cell in zip(columns, cells, strict=True))
    body = (f" {cell} " if filling == " " else filling * (text_width(cell) + 2) for cell in padded)
    return marks[0] + marks[2].join(body) + marks[3]
