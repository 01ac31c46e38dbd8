"""What the commands print: text for people, JSON for programs, warnings and errors on standard error."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

from ecnlab.cli.table import can_write, room_of_output
from ecnlab.cli.text import fold
from ecnlab.names import printable

if TYPE_CHECKING:
    from ecnlab.errors import Problem
    from ecnlab.summary import Cells


_kept: TextIO | None = None


@contextmanager
def kept_apart() -> Iterator[None]:
    """Keep standard output for what this module prints; all else that is printed goes to standard error."""
    global _kept
    before, _kept = _kept, _standard()
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _kept = before


def _standard() -> TextIO:
    return _kept or sys.stdout


def say(text: str) -> None:
    """Print one line to standard output; whatever in it is no printable character is escaped."""
    text = printable(text)
    print(text if can_write("±") else text.replace("±", "+-"), file=_standard())


def say_folded(text: str) -> None:
    """Print a paragraph, if it is not empty, in lines that fit the terminal."""
    for line in fold(printable(text), room_of_output()) if text else ():
        say(line)


def tell(text: str) -> None:
    """Print lines to standard error; what is no printable character is escaped, and so are line feeds in file names of the command line."""
    for part in _broken_names():
        text = text.replace(part, printable(part))
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr)


def _broken_names() -> list[str]:
    """The parts of paths in the command's arguments that hold a line feed, which would break the line of a message."""
    return [part for argument in sys.argv[1:] for part in re.split("[/=]", argument) if "\n" in part]


def warn(warnings: Iterable[Problem], source: str | None) -> None:
    """Print what a scenario or a result says that the user hardly meant, a line each."""
    for warning in warnings:
        tell(f"warning: {warning.told(source)}")


def say_tables(tables: Iterable[Cells]) -> None:
    """Print tables one below the other."""
    from ecnlab.cli.table import Table

    for table in tables:
        for line in Table(**vars(table)).lines():
            say(line)


def say_json(value: Any) -> None:
    """Print a value as JSON and nothing else; what is no number becomes null."""
    print(json.dumps(plain(value), indent=2, allow_nan=False), file=_standard())


def plain(value: Any) -> Any:
    """The value as JSON can have it: what is no number becomes null."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
