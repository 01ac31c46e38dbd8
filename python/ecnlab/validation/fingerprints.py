"""Fingerprints of the packaged examples: whether this machine computes the same runs as the one that recorded them.

A fingerprint is a digest of every event of a run with its time (docs/reference/results.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecnlab.execution.runner import Request, run_all
from ecnlab.execution.workers import Workers
from ecnlab.packaged_examples import PREFIX, examples
from ecnlab.scenarios.load import load

RECORDED = Path(__file__).parent.parent / "reference" / "fingerprints.json"
SEED = 1


@dataclass(frozen=True)
class FingerprintOutcome:
    """The fingerprint of an example with seed 1, here and as it was recorded; "" where there is none."""

    example: str
    computed: str
    recorded: str

    @property
    def is_equal(self) -> bool:
        """Whether the run is the recorded one."""
        return self.computed == self.recorded

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain values for JSON."""
        return {**vars(self), "equal": self.is_equal}


def compute_fingerprints(workers: Workers | None = None, *, progress: bool = False) -> dict[str, str]:
    """Run every example that is a scenario; its fingerprint by its name. Raises RunsFailed."""
    names = [example.name for example in examples() if example.kind == "scenario"]
    results = run_all([Request(load(PREFIX + name), [SEED]) for name in names], workers=workers, progress=progress).results_or_raise()
    return {name: result.fingerprints[SEED] for name, result in zip(names, results, strict=True)}


def read_recorded_fingerprints() -> dict[str, str]:
    """The recorded fingerprints by the names of examples."""
    recorded: dict[str, str] = json.loads(RECORDED.read_bytes())
    return recorded


def compare_fingerprints(workers: Workers | None = None, *, progress: bool = False) -> list[FingerprintOutcome]:
    """Compare the fingerprint of every example with the recorded one. Raises RunsFailed."""
    computed, recorded = compute_fingerprints(workers, progress=progress), read_recorded_fingerprints()
    return [FingerprintOutcome(name, computed.get(name, ""), recorded.get(name, "")) for name in sorted({*computed, *recorded})]
