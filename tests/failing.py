"""An engine that fails in some seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ecnlab
from ecnlab import _core


class FailingCore:
    """A scenario of the engine whose runs with some seeds end with an error."""

    def __init__(self, core: _core.Scenario, failures: Mapping[int, Exception]) -> None:
        self._core = core
        self._failures = failures

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def run(self, seed: int, watch: Callable[[float], bool]) -> _core.RunResult:
        if seed in self._failures:
            raise self._failures[seed]
        return self._core.run(seed, watch)


def failing(scenario: ecnlab.Scenario, failures: Mapping[int, Exception]) -> ecnlab.Scenario:
    """The scenario, on an engine that fails in these seeds."""
    scenario._core = FailingCore(scenario._core, failures)  # type: ignore[assignment]
    scenario.refusals = list  # type: ignore[method-assign]  # it asks the engine, which takes none but its own scenario
    return scenario
