"""Accessors: attributes that other packages add to results, sweeps and traces, such as `result.plot`.

A class with an accessor does not import the package that implements it. The table below imports it by name at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_FACTORIES = {
    "Result.plot": "ecnlab.plot.result:ResultPlots",
    "Sweep.plot": "ecnlab.plot.sweep:SweepPlots",
    "Trace.plot": "ecnlab.plot.trace:TracePlots",
}


def import_and_create_accessor(accessor: str, owner: object) -> Any:
    """The accessor of an object."""
    module, name = _FACTORIES[accessor].split(":")
    return getattr(import_module(module), name)(owner)
