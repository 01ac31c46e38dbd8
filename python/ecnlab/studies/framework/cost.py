"""Estimated duration of a study, from the measured CPU time of its full run and of drawing a figure.

`python -m ecnlab.studies.framework.update_page` writes costs.json together with the page of a study.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ecnlab.execution.workers import available_cores
from ecnlab.storage.results import Result
from ecnlab.studies.framework.model import Study

COSTS = Path(__file__).parent / "costs.json"


def study_duration_text(study: Study, runs: int, items: int) -> str:
    """Estimated duration of these numbers of runs and items on this machine's cores; empty if the study was never measured."""
    costs = json.loads(COSTS.read_text(encoding="utf-8"))
    if study.name not in costs["run_s"]:
        return ""
    seconds = runs * costs["run_s"][study.name] + items * costs["item_s"]
    return f", about {_duration_text(seconds / available_cores())} on {available_cores()} cores of {costs['machine']}"


def write_mean_run_cpu_time(study: Study, results: Iterable[Result]) -> None:
    """Store the mean CPU time of a study's run."""
    took = {(result.hash, record.seed): record.cpu_s for result in results for record in result.seed_run_statistics}
    costs: dict[str, Any] = json.loads(COSTS.read_text(encoding="utf-8"))
    costs["run_s"][study.name] = round(sum(took.values()) / len(took), 4)
    COSTS.write_text(json.dumps(costs, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _duration_text(seconds: float) -> str:
    return f"{max(seconds, 1):.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
