"""A table of text, which the command prints and a notebook shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TextTable:
    """A table: a title, a header and rows; `words` names the columns that hold words, the first alone unless given."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[str] = ()
