"""Users' names where they could do harm: as file names, and printed as text. A name may hold anything that a scenario allows."""

from __future__ import annotations

import re
from unicodedata import category

_MAX_FILE_NAME_LENGTH = 60
_DIGEST_DIGITS = 16
_ENDS_IN_DIGEST = re.compile(rf"(^|-)[0-9a-f]{{{_DIGEST_DIGITS}}}$")


def safe_file_name(text: str) -> str:
    """A part of a file name for `text`: small letters of ASCII, digits, `-` and `_`, at most 60 of them.

    A text that had to be changed gets a digest of 64 bits, and so does one that looks as if it had been: two texts share no name,
    also where a file system takes capital letters for small ones.
    """
    safe = re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-")
    if safe == text and 0 < len(text) <= _MAX_FILE_NAME_LENGTH and not _ENDS_IN_DIGEST.search(text):
        return text
    from hashlib import sha256

    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
    return f"{safe[: _MAX_FILE_NAME_LENGTH - _DIGEST_DIGITS - 1].rstrip('-')}-{digest}".lstrip("-")


def escape_unprintable(text: str) -> str:
    r"""The text with every character that controls a terminal, breaks a line or turns its direction as its escape, e.g. `\x1b`."""
    return text if text.isprintable() else "".join(map(_escape_character, text))


def _escape_character(character: str) -> str:
    kept = character.isprintable() or category(character) == "Zs"
    return character if kept else character.encode("unicode_escape").decode()
