"""Printable text measured, folded and padded by the columns that it takes on a terminal."""

from __future__ import annotations

from unicodedata import category, east_asian_width


def width(text: str) -> int:
    """The columns that printable text takes: East Asian wide characters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def fold(text: str, room: int) -> list[str]:
    """The text in lines of at most `room` columns, broken at blanks where that can be and within words where not."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width(longer) <= room:
            line = longer
            continue
        if line:
            lines.append(line)
        *whole, line = _pieces(word, room)
        lines += whole
    return [*lines, line]


def pad(text: str, room: int, *, right: bool = False) -> str:
    """The text with blanks up to `room` columns, at its left if it belongs to the right."""
    blanks = " " * (room - width(text))
    return blanks + text if right else text + blanks


def counted(number: int, noun: str) -> str:
    """A number of things, e.g. "1 run" and "20 runs"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _pieces(word: str, room: int) -> list[str]:
    pieces = [""]
    for character in word:
        if pieces[-1] and width(pieces[-1]) + width(character) > room:
            pieces.append("")
        pieces[-1] += character
    return pieces


def _columns(character: str) -> int:
    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1
