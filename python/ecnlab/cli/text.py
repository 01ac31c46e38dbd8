"""Width, folding and padding of printable text in terminal columns."""

from __future__ import annotations

from unicodedata import category, east_asian_width


def text_width(text: str) -> int:
    """Width of printable text in columns: East Asian wide characters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def fold_text(text: str, room: int) -> list[str]:
    """The text in lines of at most `room` columns, broken at blanks where possible, else within words."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if text_width(longer) <= room:
            line = longer
            continue
        if line:
            lines.append(line)
        *whole, line = _split_word_to_width(word, room)
        lines += whole
    return [*lines, line]


def pad_text(text: str, room: int, *, right: bool = False) -> str:
    """The text padded with blanks to `room` columns, on the left if right-aligned."""
    blanks = " " * (room - text_width(text))
    return blanks + text if right else text + blanks


def count_text(number: int, noun: str) -> str:
    """A number of things, e.g. "1 run" and "20 runs"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _split_word_to_width(word: str, room: int) -> list[str]:
    pieces = [""]
    for character in word:
        if pieces[-1] and text_width(pieces[-1]) + text_width(character) > room:
            pieces.append("")
        pieces[-1] += character
    return pieces


def _character_width(character: str) -> int:
    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1
