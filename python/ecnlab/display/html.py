"""Results as HTML, for notebooks. Every text is escaped: names may hold anything that a scenario allows."""

from __future__ import annotations

from collections.abc import Iterable

from ecnlab.display.cells import TextTable
from ecnlab.storage.filenames import escape_unprintable

_NUMBER_STYLE = ' style="text-align: right"'
_TEXT_STYLE = ' style="text-align: left"'


def tables_and_notes_to_html(title: str, tables: Iterable[TextTable] = (), notes: Iterable[str] = ()) -> str:
    """A heading, notes and tables, as one piece of HTML."""
    parts = [f"<p><b>{_escape_html(title)}</b></p>", *(f"<p>{_escape_html(note)}</p>" for note in notes), *map(cells_to_html_table, tables)]
    return "<div>" + "".join(parts) + "</div>"


def cells_to_html_table(cells: TextTable) -> str:
    """A table with its title as a caption; columns of words begin at the left, numbers end at the right."""
    words = cells.words or cells.header[:1]
    looks = [_TEXT_STYLE if name in words else _NUMBER_STYLE for name in cells.header]
    caption = f'<caption style="text-align: left">{_escape_html(cells.title)}</caption>' if cells.title else ""
    head = "".join(f"<th{look}>{_escape_html(name)}</th>" for name, look in zip(cells.header, looks, strict=True))
    rows = ("".join(f"<td{look}>{_escape_html(cell)}</td>" for cell, look in zip(row, looks, strict=True)) for row in cells.rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _escape_html(text: str) -> str:
    from html import escape

    return escape(escape_unprintable(text))
