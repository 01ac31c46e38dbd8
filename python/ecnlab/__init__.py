"""ecnlab: a laboratory for Explicit Congestion Notification and active queue management.

    import ecnlab as lab

    result = lab.run(lab.example("aecn"), seeds=20)
    result.groups          # polars frame, a row per seed and group of flows
    result.summary()       # mean, sd and 95 % interval of every quantity over the seeds
    result.plot.queue()    # matplotlib figure

Names are imported when they are first used, so that `import ecnlab` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, whose import takes longer than all else here, and Ctrl-C meanwhile would show a traceback

if TYPE_CHECKING:
    from typing import Any

    from ecnlab.aqm import PASS, Aqm, drop, gauge, mark, param
    from ecnlab.backends.live import Live
    from ecnlab.backends.uml.backend import Uml
    from ecnlab.comparison.compare import compare
    from ecnlab.comparison.model import Comparison
    from ecnlab.comparison.phase import PhaseEffect, phase_effect
    from ecnlab.errors import (
        AqmError,
        BackendError,
        ClusterError,
        EcnlabError,
        EngineFault,
        Failure,
        Interrupted,
        Problem,
        ResultsError,
        RunsFailed,
        ScenarioError,
        TraceError,
        UnknownName,
        UsageError,
    )
    from ecnlab.execution.cluster import Cluster
    from ecnlab.execution.runner import Outcome, Request, run, run_all
    from ecnlab.execution.workers import Threads
    from ecnlab.packet_traces.analyze import Trace, trace
    from ecnlab.packet_traces.replay import replay
    from ecnlab.packet_traces.write import TraceTo
    from ecnlab.scenarios import catalog
    from ecnlab.scenarios.load import Scenario, example, load, scenario
    from ecnlab.stats.estimates import Estimate, paired_difference
    from ecnlab.storage.results import Result, open_result
    from ecnlab.storage.store import Store
    from ecnlab.sweeps.folder import open_sweep
    from ecnlab.sweeps.run import sweep
    from ecnlab.sweeps.sweep import Sweep

__version__ = "0.1.0"

__all__ = [
    "PASS",
    "Aqm",
    "AqmError",
    "BackendError",
    "Cluster",
    "ClusterError",
    "Comparison",
    "EcnlabError",
    "EngineFault",
    "Estimate",
    "Failure",
    "Interrupted",
    "Live",
    "Outcome",
    "PhaseEffect",
    "Problem",
    "Request",
    "Result",
    "ResultsError",
    "RunsFailed",
    "Scenario",
    "ScenarioError",
    "Store",
    "Sweep",
    "Threads",
    "Trace",
    "TraceError",
    "TraceTo",
    "Uml",
    "UnknownName",
    "UsageError",
    "catalog",
    "compare",
    "drop",
    "example",
    "gauge",
    "load",
    "mark",
    "open_result",
    "open_sweep",
    "paired_difference",
    "param",
    "phase_effect",
    "replay",
    "run",
    "run_all",
    "scenario",
    "sweep",
    "trace",
]

# The module of each public name.
_MODULES = {
    "Aqm": "aqm",
    "AqmError": "errors",
    "BackendError": "errors",
    "Cluster": "execution.cluster",
    "ClusterError": "errors",
    "Comparison": "comparison.model",
    "EcnlabError": "errors",
    "EngineFault": "errors",
    "Estimate": "stats.estimates",
    "Failure": "errors",
    "Interrupted": "errors",
    "Live": "backends.live",
    "Outcome": "execution.runner",
    "PASS": "aqm",
    "PhaseEffect": "comparison.phase",
    "Problem": "errors",
    "Request": "execution.runner",
    "Result": "storage.results",
    "ResultsError": "errors",
    "RunsFailed": "errors",
    "Scenario": "scenarios.load",
    "ScenarioError": "errors",
    "Store": "storage.store",
    "Sweep": "sweeps.sweep",
    "Threads": "execution.workers",
    "Trace": "packet_traces.analyze",
    "TraceError": "errors",
    "TraceTo": "packet_traces.write",
    "Uml": "backends.uml.backend",
    "UnknownName": "errors",
    "UsageError": "errors",
    "catalog": "scenarios.catalog",
    "compare": "comparison.compare",
    "drop": "aqm",
    "example": "scenarios.load",
    "gauge": "aqm",
    "load": "scenarios.load",
    "mark": "aqm",
    "open_result": "storage.results",
    "open_sweep": "sweeps.folder",
    "paired_difference": "stats.estimates",
    "param": "aqm",
    "phase_effect": "comparison.phase",
    "replay": "packet_traces.replay",
    "run": "execution.runner",
    "run_all": "execution.runner",
    "scenario": "scenarios.load",
    "sweep": "sweeps.run",
    "trace": "packet_traces.analyze",
}

# Old names, which give the new one and a DeprecationWarning.
_RENAMED = {"Boxed": "Uml", "TierError": "BackendError"}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        import warnings

        warnings.warn(f"ecnlab.{name} is now ecnlab.{_RENAMED[name]}", DeprecationWarning, stacklevel=2)
        return __getattr__(_RENAMED[name])
    if name not in _MODULES:
        raise AttributeError(f"module 'ecnlab' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"ecnlab.{_MODULES[name]}")
    value = module if name == "catalog" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for tab completion: neither what the module imports nor its submodules."""
    return sorted([*__all__, "__version__"])
