"""Output of commands: text for people, JSON for programs, warnings and errors on standard error."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

from ecnlab.cli.table import can_encode, render_lines, terminal_width
from ecnlab.cli.text import fold_text
from ecnlab.display.json_values import non_finite_to_none
from ecnlab.storage.filenames import escape_unprintable

if TYPE_CHECKING:
    from ecnlab.display.cells import TextTable
    from ecnlab.errors import Problem


_original_stdout: TextIO | None = None


@contextmanager
def redirect_stdout_to_stderr() -> Iterator[None]:
    """Reserve standard output for this module; all other prints go to standard error."""
    global _original_stdout
    before, _original_stdout = _original_stdout, _unredirected_stdout()
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _original_stdout = before


def _unredirected_stdout() -> TextIO:
    return _original_stdout or sys.stdout


def print_line(text: str) -> None:
    """Print one line to standard output with unprintable characters escaped."""
    text = escape_unprintable(text)
    print(text if can_encode("±") else text.replace("±", "+-"), file=_unredirected_stdout())


def print_paragraph(text: str) -> None:
    """Print a paragraph, if it is not empty, in lines that fit the terminal."""
    for line in fold_text(escape_unprintable(text), terminal_width()) if text else ():
        print_line(line)


def print_to_stderr(text: str) -> None:
    """Print lines to standard error; escapes unprintable characters, and line feeds in file names of the command line."""
    for part in _argv_parts_containing_line_feed():
        text = text.replace(part, escape_unprintable(part))
    print("\n".join(map(escape_unprintable, text.split("\n"))), file=sys.stderr)


def _argv_parts_containing_line_feed() -> list[str]:
    """The parts of paths in the command's arguments that hold a line feed, which would break the line of a message."""
    return [part for argument in sys.argv[1:] for part in re.split("[/=]", argument) if "\n" in part]


def print_warnings(warnings: Iterable[Problem], source: str | None) -> None:
    """Print the warnings of a scenario or a result, one per line."""
    for warning in warnings:
        print_to_stderr(f"warning: {warning.as_text(source)}")


def print_tables(tables: Iterable[TextTable]) -> None:
    """Print tables one below the other."""
    for table in tables:
        for line in render_lines(table):
            print_line(line)


def print_json(value: Any) -> None:
    """Print a value as JSON and nothing else; NaN becomes null."""
    print(json.dumps(non_finite_to_none(value), indent=2, allow_nan=False), file=_unredirected_stdout())
