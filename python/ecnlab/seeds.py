"""Seeds: reading "7", "1..20" and "1,4,9", and their range."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ecnlab.errors import UsageError

LIMIT = 2**63
_MOST = 1_000_000


def parse_seeds(text: str) -> list[int]:
    """Read "3", "1..20" (both ends in) or "1,4,9", or a mixture. Raises UsageError if it is none of these."""
    return checked_seeds([seed for part in text.split(",") for seed in _range(part.strip(), text)])


def checked_seeds(seeds: int | Iterable[int]) -> list[int]:
    """Seeds in ascending order without repetition. Raises UsageError if there is none, or one out of 0 .. 2**63 - 1."""
    chosen = sorted({int(seed) for seed in ([seeds] if isinstance(seeds, int) else seeds)})
    if not chosen:
        raise UsageError("no seed was given")
    for seed in (chosen[0], chosen[-1]):
        if not 0 <= seed < LIMIT:
            raise UsageError(f"seed {seed} is out of range: seeds go from 0 to 2**63 - 1")
    return chosen


def _range(part: str, text: str) -> Iterable[int]:
    match = re.fullmatch(r"(-?\d+)(?:\.\.(-?\d+))?", part)
    if match is None:
        raise UsageError(f'seeds {text!r} cannot be read: write "7", "1..20" or "1,4,9"')
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise UsageError(f"seeds {part!r}: the range ends before it begins")
    if last - first >= _MOST:
        raise UsageError(f"seeds {part!r}: more than {_MOST} seeds")
    return range(first, last + 1)
