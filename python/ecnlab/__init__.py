"""ecnlab: a laboratory for Explicit Congestion Notification and active queue management.

    import ecnlab as lab

    result = lab.run(lab.load("examples/aecn.toml"), seeds=range(1, 21))
    result.groups          # polars frame, a row per seed and group of flows
    result.summary()       # mean, sd and 95 % interval of every quantity over the seeds
    result.plot.queue()    # matplotlib figure

Names are imported when they are first used, so that `import ecnlab` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecnlab.errors import (
        EcnlabError,
        Interrupted,
        ResultsError,
        ScenarioError,
        UnknownName,
        UsageError,
    )
    from ecnlab.results import Result, open_result
    from ecnlab.runner import run
    from ecnlab.scenarios import Scenario, load, scenario

__version__ = "0.1.0"

_HOMES = {
    "EcnlabError": "errors",
    "Interrupted": "errors",
    "Result": "results",
    "ResultsError": "errors",
    "Scenario": "scenarios",
    "ScenarioError": "errors",
    "UnknownName": "errors",
    "UsageError": "errors",
    "load": "scenarios",
    "open_result": "results",
    "run": "runner",
    "scenario": "scenarios",
}

__all__ = [
    "EcnlabError",
    "Interrupted",
    "Result",
    "ResultsError",
    "Scenario",
    "ScenarioError",
    "UnknownName",
    "UsageError",
    "load",
    "open_result",
    "run",
    "scenario",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ecnlab' has no attribute {name!r}")
    value = getattr(import_module(f"ecnlab.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
