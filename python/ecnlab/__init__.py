"""ecnlab: a laboratory for Explicit Congestion Notification and active queue management.

    import ecnlab as lab

    result = lab.run(lab.load("examples/aecn.toml"), seeds=20)
    result.groups          # polars frame, a row per seed and group of flows
    result.summary()       # mean, sd and 95 % interval of every quantity over the seeds
    result.plot.queue()    # matplotlib figure

Names are imported when they are first used, so that `import ecnlab` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, whose import takes longer than all else here, and Ctrl-C meanwhile would show a traceback

if TYPE_CHECKING:
    from ecnlab import catalog as catalog
    from ecnlab.analysis.stats import Estimate as Estimate
    from ecnlab.analysis.stats import paired_difference as paired_difference
    from ecnlab.aqm import PASS as PASS
    from ecnlab.aqm import Aqm as Aqm
    from ecnlab.aqm import drop as drop
    from ecnlab.aqm import gauge as gauge
    from ecnlab.aqm import mark as mark
    from ecnlab.aqm import param as param
    from ecnlab.cluster import Cluster as Cluster
    from ecnlab.comparison.compare import compare as compare
    from ecnlab.comparison.model import Comparison as Comparison
    from ecnlab.comparison.phase import PhaseEffect as PhaseEffect
    from ecnlab.comparison.phase import phase_effect as phase_effect
    from ecnlab.errors import AqmError as AqmError
    from ecnlab.errors import ClusterError as ClusterError
    from ecnlab.errors import EcnlabError as EcnlabError
    from ecnlab.errors import EngineFault as EngineFault
    from ecnlab.errors import Interrupted as Interrupted
    from ecnlab.errors import Problem as Problem
    from ecnlab.errors import ResultsError as ResultsError
    from ecnlab.errors import RunsFailed as RunsFailed
    from ecnlab.errors import ScenarioError as ScenarioError
    from ecnlab.errors import TierError as TierError
    from ecnlab.errors import TraceError as TraceError
    from ecnlab.errors import UnknownName as UnknownName
    from ecnlab.errors import UsageError as UsageError
    from ecnlab.jobs import Failure as Failure
    from ecnlab.replays import replay as replay
    from ecnlab.results import Result as Result
    from ecnlab.results import open_result as open_result
    from ecnlab.runner import Outcome as Outcome
    from ecnlab.runner import Request as Request
    from ecnlab.runner import run as run
    from ecnlab.runner import run_all as run_all
    from ecnlab.scenarios import Scenario as Scenario
    from ecnlab.scenarios import load as load
    from ecnlab.scenarios import scenario as scenario
    from ecnlab.store import Store as Store
    from ecnlab.sweeps.folder import open_sweep as open_sweep
    from ecnlab.sweeps.run import sweep as sweep
    from ecnlab.sweeps.sweep import Sweep as Sweep
    from ecnlab.tiers.boxed import Boxed as Boxed
    from ecnlab.tiers.live import Live as Live
    from ecnlab.traces import Trace as Trace
    from ecnlab.traces import trace as trace
    from ecnlab.tracing import TraceTo as TraceTo
    from ecnlab.workers import Threads as Threads

if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Aqm": "aqm",
    "AqmError": "errors",
    "Boxed": "tiers.boxed",
    "Cluster": "cluster",
    "ClusterError": "errors",
    "Comparison": "comparison.model",
    "EcnlabError": "errors",
    "EngineFault": "errors",
    "Estimate": "analysis.stats",
    "Failure": "jobs",
    "Interrupted": "errors",
    "Live": "tiers.live",
    "Outcome": "runner",
    "PASS": "aqm",
    "PhaseEffect": "comparison.phase",
    "Problem": "errors",
    "Request": "runner",
    "Result": "results",
    "ResultsError": "errors",
    "RunsFailed": "errors",
    "Scenario": "scenarios",
    "ScenarioError": "errors",
    "Store": "store",
    "Sweep": "sweeps.sweep",
    "Threads": "workers",
    "TierError": "errors",
    "Trace": "traces",
    "TraceError": "errors",
    "TraceTo": "tracing",
    "UnknownName": "errors",
    "UsageError": "errors",
    "catalog": "",
    "compare": "comparison.compare",
    "drop": "aqm",
    "gauge": "aqm",
    "load": "scenarios",
    "mark": "aqm",
    "open_result": "results",
    "open_sweep": "sweeps.folder",
    "paired_difference": "analysis.stats",
    "param": "aqm",
    "phase_effect": "comparison.phase",
    "replay": "replays",
    "run": "runner",
    "run_all": "runner",
    "scenario": "scenarios",
    "sweep": "sweeps.run",
    "trace": "traces",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ecnlab' has no attribute {name!r}")
    from importlib import import_module

    home = _HOMES[name]
    value = getattr(import_module(f"ecnlab.{home}"), name) if home else import_module(f"ecnlab.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for tab completion: neither what the module imports nor its submodules."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
