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
    from ecnlab.aqm import PASS as PASS
    from ecnlab.aqm import Aqm as Aqm
    from ecnlab.aqm import drop as drop
    from ecnlab.aqm import gauge as gauge
    from ecnlab.aqm import mark as mark
    from ecnlab.aqm import param as param
    from ecnlab.backends.live import Live as Live
    from ecnlab.backends.uml.backend import Uml as Uml
    from ecnlab.comparison.compare import compare as compare
    from ecnlab.comparison.model import Comparison as Comparison
    from ecnlab.comparison.phase import PhaseEffect as PhaseEffect
    from ecnlab.comparison.phase import phase_effect as phase_effect
    from ecnlab.errors import AqmError as AqmError
    from ecnlab.errors import BackendError as BackendError
    from ecnlab.errors import ClusterError as ClusterError
    from ecnlab.errors import EcnlabError as EcnlabError
    from ecnlab.errors import EngineFault as EngineFault
    from ecnlab.errors import Failure as Failure
    from ecnlab.errors import Interrupted as Interrupted
    from ecnlab.errors import Problem as Problem
    from ecnlab.errors import ResultsError as ResultsError
    from ecnlab.errors import RunsFailed as RunsFailed
    from ecnlab.errors import ScenarioError as ScenarioError
    from ecnlab.errors import TraceError as TraceError
    from ecnlab.errors import UnknownName as UnknownName
    from ecnlab.errors import UsageError as UsageError
    from ecnlab.execution.cluster import Cluster as Cluster
    from ecnlab.execution.runner import Outcome as Outcome
    from ecnlab.execution.runner import Request as Request
    from ecnlab.execution.runner import run as run
    from ecnlab.execution.runner import run_all as run_all
    from ecnlab.execution.workers import Threads as Threads
    from ecnlab.packet_traces.analyze import Trace as Trace
    from ecnlab.packet_traces.analyze import trace as trace
    from ecnlab.packet_traces.replay import replay as replay
    from ecnlab.packet_traces.write import TraceTo as TraceTo
    from ecnlab.scenarios import catalog as catalog
    from ecnlab.scenarios.load import Scenario as Scenario
    from ecnlab.scenarios.load import example as example
    from ecnlab.scenarios.load import load as load
    from ecnlab.scenarios.load import scenario as scenario
    from ecnlab.stats.estimates import Estimate as Estimate
    from ecnlab.stats.estimates import paired_difference as paired_difference
    from ecnlab.storage.results import Result as Result
    from ecnlab.storage.results import open_result as open_result
    from ecnlab.storage.store import Store as Store
    from ecnlab.sweeps.folder import open_sweep as open_sweep
    from ecnlab.sweeps.run import sweep as sweep
    from ecnlab.sweeps.sweep import Sweep as Sweep

if TYPE_CHECKING:
    from typing import Any

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
