"""Accessors: what other packages add to results, sweeps and traces, such as `result.plot`.

A class with an accessor does not import the package behind it. The table below does, by name, when the accessor is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_FACTORIES = {
    "Result.plot": "ecnlab.plot.result:ResultPlots",
    "Sweep.plot": "ecnlab.plot.sweep:SweepPlots",
    "Trace.plot": "ecnlab.plot.trace:TracePlots",
}


def register_accessor(accessor: str, factory: str) -> None:
    """Set what makes an accessor, written as "Class.name", of an object: a class or function, as "module:name"."""
    _FACTORIES[accessor] = factory


def make_accessor(accessor: str, owner: object) -> Any:
    """The accessor of an object."""
    module, name = _FACTORIES[accessor].split(":")
    return getattr(import_module(module), name)(owner)
