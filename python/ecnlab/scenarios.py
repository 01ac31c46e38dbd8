"""Scenarios: read from a TOML file or built from a dict, checked by the engine before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.errors import Problem, ScenarioError, UsageError

Overrides = Mapping[str, Any]


class Scenario:
    """A sound scenario. Made by `load` and `scenario`; never changes.

    Attributes
    ----------
    name : str
        The title.
    duration_s, measure_from_s : float
        Simulated seconds, and where the measured interval begins.
    group_names, queue_names : list of str
        Names of the groups of flows and of the queues, in the scenario's order; a queue is called as its link.
    hash : str
        The key: a digest of the engine's build and of every parameter in force, not of the title nor of what is recorded.
        Equal key and seed give equal results.
    warnings : list of Problem
        What the author hardly meant; each message has the remedy.
    text, overrides, source
        What it was made from (source: the file's name, or None).
    """

    def __init__(self, core: _core.Scenario, text: str, overrides: Mapping[str, str], source: str | None) -> None:
        self._core = core
        self.text = text
        self.overrides = dict(overrides)
        self.source = source
        self.name = core.name
        self.duration_s = core.duration_s
        self.measure_from_s = core.measure_from_s
        self.group_names = core.groups
        self.queue_names = core.queues
        self.hash = core.hash
        self.warnings = list(map(Problem.of, core.warnings))

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """Every parameter in force, as nested dicts."""
        resolved: dict[str, Any] = json.loads(self._core.resolved)
        return resolved

    @cached_property
    def record(self) -> dict[str, Any]:
        """What is recorded besides the measures."""
        record: dict[str, Any] = json.loads(self._core.record)
        return record

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r} {self.hash[:12]}>"


def load(path: str | Path, overrides: Overrides | None = None) -> Scenario:
    """Read a scenario file.

    Parameters
    ----------
    path : str or Path
        The file (TOML).
    overrides : Mapping, optional
        Values in place of the file's, by key path: {"flows.fragile.count": 40, "link.bottleneck.rate": "20 Mbps"}.

    Raises
    ------
    ScenarioError
        The scenario is unsound; `.problems` lists everything that is wrong.
    UsageError
        The file cannot be read, or an argument is of a wrong type.
    """
    if not isinstance(path, (str, Path)):
        raise UsageError(f"path: must be the path of a scenario file, not {type(path).__name__}")
    source = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"cannot read {source!r}: {_why(error)}") from None
    return read(text, overrides, source)


def read(text: str, overrides: Overrides | None = None, source: str | None = None) -> Scenario:
    """Read a scenario from the text of a file (TOML) that `source` names in messages. Arguments and errors as for `load`."""
    return _checked(_core.Scenario.from_toml, text, overrides, source)


def scenario(tree: Mapping[str, Any], overrides: Overrides | None = None) -> Scenario:
    """Build a scenario from nested dicts.

    Parameters
    ----------
    tree : Mapping
        The keys of a scenario file; `link` and `flows` are lists of dicts.
    overrides : Mapping, optional
        As for `load`.

    Raises
    ------
    ScenarioError
        The scenario is unsound; `.problems` lists everything that is wrong.
    UsageError
        An argument is of a wrong type.
    """
    if not isinstance(tree, Mapping):
        raise UsageError(f"tree: must be a dict with the keys of a scenario file, not {type(tree).__name__}; load(path) reads a file")
    try:
        text = json.dumps(tree, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScenarioError([Problem("", None, f"not a tree of plain values: {error}")]) from None
    return _checked(_core.Scenario.from_json, text, overrides, None)


def _checked(build: Any, text: str, overrides: Overrides | None, source: str | None) -> Scenario:
    changes = _changes(overrides)
    try:
        core = build(text, list(changes.items()))
    except UnicodeEncodeError as error:
        raise UsageError(f"{error.object!r} is not UTF-8 text") from None
    except _core.ScenarioError as error:
        raise ScenarioError(map(Problem.of, error.problems), source) from None
    return Scenario(core, text, changes, source)


def _changes(overrides: Overrides | None) -> dict[str, str]:
    if overrides is None:
        return {}
    if not isinstance(overrides, Mapping) or not all(isinstance(key, str) for key in overrides):
        raise UsageError(
            f"overrides: must be a dict from key paths to values, as in {{'flows.far.count': 40}}, not {type(overrides).__name__}"
        )
    try:
        return {key: _toml(value) for key, value in overrides.items()}
    except RecursionError:
        raise UsageError("overrides: a value is nested too deeply") from None


def _toml(value: Any) -> str:
    """A Python value in TOML's syntax; text is passed on as it is, for the engine takes bare words."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_quoted(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _quoted(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else _toml(value)


def _why(error: Exception) -> str:
    return (
        (error.strerror or str(error))
        if isinstance(error, OSError)
        else "it is not UTF-8 text"
        if isinstance(error, UnicodeDecodeError)
        else str(error)
    )
