"""Escaping of users' names, which may hold any character, for file names and for the terminal."""

from __future__ import annotations

import re
from unicodedata import category

_MAX_FILE_NAME_LENGTH = 60
_DIGEST_DIGITS = 16
_ENDS_IN_DIGEST = re.compile(rf"(^|-)[0-9a-f]{{{_DIGEST_DIGITS}}}$")


def safe_file_name(text: str) -> str:
    """A file name component for `text`: ASCII lower-case letters, digits, `-` and `_`, at most 60 characters.

    A changed text gets a digest of 64 bits, and so does a text that ends like one. Two texts therefore never share a name, even on a
    case-insensitive file system.
    """
    safe = re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-")
    if safe == text and 0 < len(text) <= _MAX_FILE_NAME_LENGTH and not _ENDS_IN_DIGEST.search(text):
        return text
    from hashlib import sha256

    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
    return f"{safe[: _MAX_FILE_NAME_LENGTH - _DIGEST_DIGITS - 1].rstrip('-')}-{digest}".lstrip("-")


def escape_unprintable(text: str) -> str:
    r"""The text with escapes for control characters, line breaks and changes of text direction, e.g. `\x1b`."""
    return text if text.isprintable() else "".join(map(_escape_unprintable_character, text))


def _escape_unprintable_character(character: str) -> str:
    kept = character.isprintable() or category(character) == "Zs"
    return character if kept else character.encode("unicode_escape").decode()
