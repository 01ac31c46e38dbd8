"""Sweep files.

    scenario = "ecn.toml"                     # beside this file
    seeds = 20                                # as --seeds

    [grid]
    "link.bottleneck.queue.max_p" = [0.1, 0.5]

    [grid.scheme]
    RED = { "link.bottleneck.queue.aqm" = "red", "flows.*.tcp.ecn" = false }
    ECN = { "link.bottleneck.queue.aqm" = "ecn" }

Further keys: `name`, `backend`, `tables`, `aqms`, [set] for changes at all points, [derived] for values computed from a point's values,
[[point]] for listed points. docs/how-to/sweeps.md describes them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ecnlab.backends.base import Backend
from ecnlab.errors import UnknownName, UsageError
from ecnlab.packaged_examples import resolve_example, resolve_example_in_reference
from ecnlab.scenarios.load import read_user_text_file
from ecnlab.scenarios.seeds import parse_seeds, seeds_from_arguments
from ecnlab.sweeps.axes import require_unsplit_dotted_key

_SECTION_NAMES = {"set": dict, "grid": dict, "derived": dict, "point": list}
_SWEEP_KEYS = {"name": str, "scenario": str, "seeds": (int, str, list), "backend": str, "tables": list, "aqms": list, **_SECTION_NAMES}
_WORD_KEYS: dict[Any, str] = {str: "a text", list: "a list", dict: "a table", (int, str, list): 'a number, a text as "1..20", or a list'}


@dataclass(frozen=True)
class SweepFile:
    """Contents of a sweep file, or of the equivalent command options.

    Attributes
    ----------
    path : Path or None
        The file.
    name : str
        Name of the sweep; by default that of the file.
    scenario : Path
        The scenario's file.
    seeds : list of int or None
        The seeds, if given.
    tables, aqms : sequence of str
        Tables besides the measures, and user AQMs.
    changes, grid, derived, points
        The sections [set], [grid], [derived], and each [[point]].
    backend : str, Backend or None
        The backend, if given.
    """

    path: Path | None
    name: str
    scenario: Path
    seeds: list[int] | None = None
    tables: Sequence[str] = ()
    aqms: Sequence[str] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Any] = field(default_factory=dict)
    derived: Mapping[str, str] = field(default_factory=dict)
    points: Sequence[Mapping[str, Any]] = ()
    backend: str | Backend | None = None


def is_sweep_file(path: Path) -> bool:
    """Whether a file is a sweep file, not a scenario."""
    try:
        return isinstance(tomllib.loads(read_user_text_file(path)).get("scenario"), str)
    except (OSError, ValueError):
        return False


def read_sweep_file(path: Path) -> SweepFile:
    """Read a sweep file. Raises UsageError that lists all errors."""
    try:
        tree = tomllib.loads(read_user_text_file(path))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {str(path)!r}: {error}") from None
    problems = [*_unknown_key_errors(tree), *_override_key_errors(tree.get("set"))]
    seeds = None
    try:
        if (given := tree.get("seeds")) is not None:
            seeds = parse_seeds(given) if isinstance(given, str) else seeds_from_arguments(given)
    except UsageError as error:
        problems.append(f"seeds: {error}")
    if problems:
        raise UsageError("\n".join(f"{path}: {problem}" for problem in problems))
    return SweepFile(
        path,
        name=tree.get("name", path.stem),
        scenario=path.parent / resolve_example(tree["scenario"]),
        seeds=seeds,
        tables=tree.get("tables", ()),
        aqms=[str(path.parent / resolve_example_in_reference(aqm)) for aqm in tree.get("aqms", ())],
        changes=tree.get("set", {}),
        grid=tree.get("grid", {}),
        derived=tree.get("derived", {}),
        points=tree.get("point", ()),
        backend=tree.get("backend"),
    )


def _unknown_key_errors(tree: Mapping[str, Any]) -> list[str]:
    """Errors for unknown keys of the file."""
    problems = []
    for key, value in tree.items():
        if key == "on":
            problems.append("on: is now backend; fix: write backend")
        elif key not in _SWEEP_KEYS:
            problems.append(f"{key}: {UnknownName('key of a sweep file', key, _SWEEP_KEYS)}")
        elif isinstance(value, bool) or not isinstance(value, _SWEEP_KEYS[key]):  # type: ignore[arg-type]
            problems.append(f"{key}: must be {_WORD_KEYS[_SWEEP_KEYS[key]]}")
    for key in ("tables", "aqms"):
        if isinstance(tree.get(key), list) and not all(isinstance(one, str) for one in tree[key]):
            problems.append(f"{key}: must be a list of texts")
    return problems


def _override_key_errors(changes: Any) -> list[str]:
    problems = []
    for key, value in (changes if isinstance(changes, Mapping) else {}).items():
        try:
            require_unsplit_dotted_key(key, value)
        except UsageError as error:
            problems.append(f"set: {key}: {error}")
    return problems
