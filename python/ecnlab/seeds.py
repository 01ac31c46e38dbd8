"""Seeds: reading "20", "1..20" and "1,4,9", what N stands for, and their range."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ecnlab.errors import UsageError

LIMIT = 2**63
_MOST = 1_000_000


def parse_seeds(text: str) -> list[int]:
    """Read "20" (the seeds 1 to 20), "1..20" (both ends in) or "1,4,9", or a mixture. Raises UsageError if it is none of these."""
    if re.fullmatch(r"\d+", text.strip()):
        return chosen_seeds(int(text))
    return checked_seeds(seed for part in text.split(",") for seed in _range(part.strip(), text))


def parse_seed(text: str) -> list[int]:
    """Read the one seed. Raises UsageError if it is no whole number or out of range."""
    if not re.fullmatch(r"-?\d+", text.strip()):
        raise UsageError(f"seed {text!r} is no whole number")
    return checked_seeds([int(text)])


def chosen_seeds(seeds: int | Iterable[int] | None = None, seed: int | None = None) -> list[int]:
    """The seeds that two arguments ask for: `seeds` (N stands for 1 .. N) or `seed` (the one); 1 if neither is given.

    Raises UsageError if both are given, or one is no seed.
    """
    if seeds is not None and seed is not None:
        raise UsageError("seed and seeds exclude each other: seed=7 is the one, seeds=20 are 1 .. 20")
    if seeds is None:
        return checked_seeds([1 if seed is None else _whole("seed", seed)])
    if isinstance(seeds, (bool, float, str, bytes)) or not isinstance(seeds, (int, Iterable)):
        raise UsageError(f"seeds: {seeds!r} must be a whole number N (the seeds 1 .. N) or a list of seeds; seed=7 is the one")
    if not isinstance(seeds, int):
        return checked_seeds(seeds)
    if not 1 <= seeds <= _MOST:
        raise UsageError(f"seeds: {seeds} stands for the seeds 1 .. {seeds} and must be from 1 to {_MOST}; seed={seeds} is the one")
    return list(range(1, seeds + 1))


def checked_seeds(seeds: Iterable[int]) -> list[int]:
    """Seeds in ascending order without repetition. Raises UsageError if there is none, or one out of 0 .. 2**63 - 1."""
    chosen = sorted({_whole("seeds", seed) for seed in seeds})
    if not chosen:
        raise UsageError("no seed was given")
    for seed in (chosen[0], chosen[-1]):
        if not 0 <= seed < LIMIT:
            raise UsageError(f"seed {seed} is out of range: seeds go from 0 to 2**63 - 1")
    return chosen


def spans(seeds: Iterable[int]) -> str:
    """Seeds in words, neighbours as a range: "seed 4", "seeds 1..20, 31"."""
    found: list[list[int]] = []
    for seed in sorted(seeds):
        if found and seed == found[-1][-1] + 1:
            found[-1].append(seed)
        else:
            found.append([seed])
    texts = [f"{span[0]}..{span[-1]}" if len(span) > 1 else str(span[0]) for span in found]
    return f"{'seeds' if len(found) > 1 or len(found[0]) > 1 else 'seed'} {', '.join(texts)}"


def _whole(argument: str, value: object) -> int:
    """A whole number, numpy's included. Raises UsageError naming the argument."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"{argument}: {value!r} is no whole number")
    return int(value.__index__())


def _range(part: str, text: str) -> Iterable[int]:
    match = re.fullmatch(r"(-?\d+)(?:\.\.(-?\d+))?", part)
    if match is None:
        raise UsageError(f'seeds {text!r} cannot be read: write "20" (the seeds 1 to 20), "1..20" or "1,4,9"')
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise UsageError(f"seeds {part!r}: the range ends before it begins")
    if last - first >= _MOST:
        raise UsageError(f"seeds {part!r}: more than {_MOST} seeds")
    return range(first, last + 1)
