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
    name: the scenario's title
    duration_s, measure_from_s: simulated seconds, and where the measured interval begins
    groups, queues: names of the flow groups and of the links, in the scenario's order
    hash: hexadecimal digest of the scenario with every parameter in force; equal hash and seed give equal results
    resolved: every parameter in force, as nested dicts
    text, overrides, source: what it was made from (source: the file's name, or None)
    """

    def __init__(self, core: _core.Scenario, text: str, overrides: Mapping[str, str], source: str | None) -> None:
        self.core = core
        self.text = text
        self.overrides = dict(overrides)
        self.source = source
        self.name = core.name
        self.duration_s = core.duration_s
        self.measure_from_s = core.measure_from_s
        self.groups = list(core.groups)
        self.queues = list(core.queues)
        self.hash = core.hash

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """Every parameter in force, as nested dicts."""
        resolved: dict[str, Any] = json.loads(self.core.resolved)
        return resolved

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r} {self.hash[:12]}>"


def load(path: str | Path, overrides: Overrides | None = None) -> Scenario:
    """Read a scenario file.

    `overrides` maps key paths to values, e.g. {"flows.fragile.count": 40, "link.bottleneck.rate": "20 Mbps"}.
    Raises ScenarioError listing every problem, UsageError if the file cannot be read.
    """
    source = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {source}: {_why(error)}") from None
    return _checked(_core.Scenario.from_toml, text, overrides, source)


def scenario(tree: Mapping[str, Any], overrides: Overrides | None = None) -> Scenario:
    """Build a scenario from nested dicts with the keys of a scenario file (`link` and `flows` are lists of dicts).

    Raises ScenarioError listing every problem.
    """
    try:
        text = json.dumps(tree, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ScenarioError([Problem("", None, f"not a tree of plain values: {error}")]) from None
    return _checked(_core.Scenario.from_json, text, overrides, None)


def _checked(build: Any, text: str, overrides: Overrides | None, source: str | None) -> Scenario:
    changes = {key: _toml(value) for key, value in (overrides or {}).items()}
    try:
        core = build(text, list(changes.items()))
    except _core.ScenarioError as error:
        raise ScenarioError([Problem(*problem) for problem in error.problems], source) from None
    return Scenario(core, text, changes, source)


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
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8 text"
