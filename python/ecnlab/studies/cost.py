"""How long a study takes: what its runs took of the processor when it was run in full, as measured, and what a figure takes to be drawn.

costs.json is written with the page of a study (`python -m ecnlab.studies.page`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab.studies.model import Study
from ecnlab.workers import cores

if TYPE_CHECKING:
    from ecnlab.results import Result

_COSTS = Path(__file__).parent / "costs.json"


def told(study: Study, runs: int, items: int) -> str:
    """How long so many runs and items take on this machine's number of cores; empty if the study was never measured."""
    costs = json.loads(_COSTS.read_text(encoding="utf-8"))
    measured = costs["studies"].get(study.name)
    if measured is None:
        return ""
    seconds = (runs * measured["run_s"] + items * costs["figure_s"]) / cores()
    return f", about {_words(seconds)} on {cores()} cores ({costs['machine']})"


def measure(study: str, results: Iterable[Result]) -> None:
    """Note what the runs of a study took, in the mean."""
    took = [record.cpu_s for result in results for record in result.records]
    costs: dict[str, Any] = json.loads(_COSTS.read_text(encoding="utf-8"))
    costs["studies"][study] = {"run_s": round(sum(took) / len(took), 4)}
    _COSTS.write_text(json.dumps(costs, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
