"""Seeds: parsing of "20", "1..20" and "1,4,9", and their range."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ecnlab.errors import UsageError

SEED_LIMIT = 2**63
_MAX_SEEDS = 1_000_000
_NUMBER = r"\d{1,20}"


def parse_seeds(text: str) -> list[int]:
    """Parse "20" (the seeds 1 to 20), "1..20" (inclusive), "1,4,9", or a mixture. Raises UsageError."""
    if re.fullmatch(_NUMBER, text.strip()):
        return _parse_last_seed(text.strip())
    return sorted_valid_seeds(seed for part in text.split(",") for seed in _parse_range(part.strip(), text))


def parse_seed_to_list(text: str) -> list[int]:
    """Parse a single seed. Raises UsageError if it is not a whole number or out of range."""
    if not re.fullmatch(rf"-?{_NUMBER}", text.strip()):
        raise UsageError(f"seed {text!r}: must be a whole number from 0 to 2**63 - 1")
    return sorted_valid_seeds([int(text)])


def seeds_from_arguments(seeds: int | Iterable[int] | None = None, seed: int | None = None) -> list[int]:
    """The seeds for the arguments `seeds` (N means 1 .. N) or `seed` (a single one); seed 1 if neither is given.

    Raises UsageError if both are given, or a seed is invalid.
    """
    if seeds is not None and seed is not None:
        raise UsageError(f"seed={seed!r} and seeds={seeds!r} exclude each other; fix: give one of the two")
    if seeds is None:
        return sorted_valid_seeds([1 if seed is None else _to_whole_number("seed", seed)])
    if isinstance(seeds, Iterable) and not isinstance(seeds, (str, bytes)):
        return sorted_valid_seeds(seeds)
    if isinstance(seeds, bool) or not hasattr(seeds, "__index__"):
        raise UsageError(f"seeds: {seeds!r} must be a whole number N (the seeds 1 .. N) or a list of seeds; one seed is seed=N")
    last = _to_whole_number("seeds", seeds)
    if not 1 <= last <= _MAX_SEEDS:
        one = f"; fix: for that one seed give seed={last}" if 0 <= last < SEED_LIMIT else ""
        raise UsageError(f"seeds: {last} must be from 1 to {_MAX_SEEDS}, because it means the seeds 1 .. N{one}")
    return list(range(1, last + 1))


def sorted_valid_seeds(seeds: Iterable[int]) -> list[int]:
    """Sort seeds and remove duplicates. Raises UsageError if there is none, or one outside 0 .. 2**63 - 1."""
    chosen = sorted({_to_whole_number("seeds", seed) for seed in seeds})
    if not chosen:
        raise UsageError("seeds: the list is empty; fix: name at least one seed")
    for seed in (chosen[0], chosen[-1]):
        if not 0 <= seed < SEED_LIMIT:
            raise UsageError(f"seed {seed} is out of range; fix: give a seed from 0 to 2**63 - 1")
    return chosen


def seeds_as_text(seeds: Iterable[int]) -> str:
    """Seeds as text for `parse_seeds`, e.g. "1..20,31"; ranges have at least three seeds."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ",".join(f"{run[0]}..{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


def _to_whole_number(argument: str, value: object) -> int:
    """Convert a whole number of Python or numpy. Raises UsageError that names the argument."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"{argument}: {value!r} is not a whole number")
    return int(value.__index__())


def _parse_last_seed(text: str) -> list[int]:
    """Parse "20", the seeds 1 to 20. Raises UsageError."""
    last = int(text)
    if not 1 <= last <= _MAX_SEEDS:
        one = f', or "{last}..{last}" for the one seed {last}' if last < SEED_LIMIT else ""
        raise UsageError(f"seeds {text!r}: must be the number of seeds; fix: write a number from 1 to {_MAX_SEEDS}{one}")
    return list(range(1, last + 1))


def _parse_range(part: str, text: str) -> Iterable[int]:
    match = re.fullmatch(rf"(-?{_NUMBER})(?:\.\.(-?{_NUMBER}))?", part)
    if match is None:
        raise UsageError(f'seeds {text!r}: cannot be parsed; fix: write "20" (the seeds 1 to 20), "1..20" or "1,4,9"')
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise UsageError(f"seeds {part!r}: the range ends before it begins")
    if last - first >= _MAX_SEEDS:
        raise UsageError(f"seeds {part!r}: more than {_MAX_SEEDS} seeds")
    return range(first, last + 1)
