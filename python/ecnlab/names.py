"""Users' names where they could do harm: as file names, and printed as text. A name may hold anything that a scenario allows."""

from __future__ import annotations

import re
from hashlib import sha256

_LONGEST_FILE_NAME = 60
_DIGEST_DIGITS = 8
_LOOKS_CHANGED = re.compile(rf"(^|-)[0-9a-f]{{{_DIGEST_DIGITS}}}$")


def file_name(text: str) -> str:
    """A part of a file name for `text`: letters of ASCII, digits, `-` and `_`, at most 60 of them.

    A text that had to be changed gets a digest at its end, and so does one that looks as if it had been: two texts never share a name.
    """
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")
    if safe == text and 0 < len(text) <= _LONGEST_FILE_NAME and not _LOOKS_CHANGED.search(text):
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
    return f"{safe[: _LONGEST_FILE_NAME - _DIGEST_DIGITS - 1].rstrip('-')}-{digest}".lstrip("-")


def printable(text: str) -> str:
    r"""The text with every character that controls a terminal or breaks a line as its escape, e.g. `\x1b`."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
