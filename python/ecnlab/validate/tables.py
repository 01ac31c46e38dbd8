"""ns-2's tables beside ours: every quantity of every row, with a verdict.

Two means agree when their difference is within the half width of its 99 % interval (Welch), or within 1 % of ns-2's mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecnlab.analysis.stats import welch_half_width
from ecnlab.errors import UsageError
from ecnlab.results import Result
from ecnlab.runner import Request, run_all
from ecnlab.scenarios import Scenario, scenario
from ecnlab.validate import explained
from ecnlab.validate.columns import values_by_column
from ecnlab.validate.explained import Explanation, reason_for
from ecnlab.validate.rows import Row, Table, read_table

CONFIDENCE = 0.99
TOLERANCE = 0.01
AGREES, EXPLAINED, OPEN = "agrees", "explained", "open"

_REFERENCE = Path(__file__).parent.parent / "reference" / "ns2"
OWN_TABLES = [_REFERENCE / f"{name}.csv" for name in ("thesis-ch4", "thesis-ch5", "thesis-ch4-maxp", "thesis-aecn")]


@dataclass(frozen=True)
class Sample:
    """Mean and standard deviation over n seeds."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class Comparison:
    """One quantity of one row: ns-2's, ours, the difference that is allowed, and the verdict."""

    file: str
    row: str
    column: str
    ns2: Sample
    ours: Sample
    allowed: float
    verdict: str
    reason: str | None = None

    @property
    def difference(self) -> float:
        """Ours less ns-2's."""
        return self.ours.mean - self.ns2.mean

    def plain(self) -> dict[str, Any]:
        """As nested dicts of plain values."""
        return asdict(self) | {"difference": self.difference}


def allowed_difference(ns2: Sample, ours: Sample) -> float:
    """The largest difference of two means that still counts as agreement."""
    return max(welch_half_width(ns2.sd, ns2.n, ours.sd, ours.n, CONFIDENCE), TOLERANCE * abs(ns2.mean))


def compare_files(
    paths: Sequence[Path],
    seeds: Sequence[int],
    explanations: Sequence[Explanation] | None = None,
    *,
    progress: bool = False,
) -> list[Comparison]:
    """Run every row of every file over `seeds` and compare. Raises UsageError (files), Interrupted."""
    known = explained.read() if explanations is None else explanations
    tables = [read_table(path) for path in paths]
    plans = [(table, [scenario(table.to_scenario(row)) for row in table.rows]) for table in tables]
    cache: dict[str, dict[str, list[float]]] = {}
    found: list[Comparison] = []
    for table, scenarios in plans:
        _fill(cache, scenarios, seeds, progress)
        for row, chosen in zip(table.rows, scenarios, strict=True):
            found.extend(_compare_row(table, row, cache[chosen.hash], known))
    return found


def totals(comparisons: Iterable[Comparison]) -> dict[str, dict[str, int]]:
    """Compared, agreeing, explained and open, for each file and under "total"."""
    listed = list(comparisons)
    files = list(dict.fromkeys(comparison.file for comparison in listed))
    parts = {file: _count(c for c in listed if c.file == file) for file in files}
    return parts | {"total": _count(listed)}


def _count(comparisons: Iterable[Comparison]) -> dict[str, int]:
    verdicts = Counter(comparison.verdict for comparison in comparisons)
    return {
        "compared": verdicts.total(),
        "agreeing": verdicts[AGREES],
        "explained": verdicts[EXPLAINED],
        "open": verdicts[OPEN],
    }


def _fill(
    cache: dict[str, dict[str, list[float]]],
    scenarios: Iterable[Scenario],
    seeds: Sequence[int],
    progress: bool,
) -> None:
    fresh = {chosen.hash: chosen for chosen in scenarios if chosen.hash not in cache}
    results: list[Result] = run_all([Request(chosen, seeds) for chosen in fresh.values()], progress=progress)
    cache.update({hash_: values_by_column(result) for hash_, result in zip(fresh, results, strict=True)})


def _compare_row(table: Table, row: Row, ours: dict[str, list[float]], known: Sequence[Explanation]) -> list[Comparison]:
    label = table.label(row)
    return [
        _compare(
            table.name,
            label,
            column,
            _sample(table, row, column),
            _own(values),
            reason_for(known, table.name, column, row),
        )
        for column, values in ours.items()
        if row.get(column)
    ]


def _compare(file: str, label: str, column: str, ns2: Sample, ours: Sample, reason: str | None) -> Comparison:
    allowed = allowed_difference(ns2, ours)
    agrees = abs(ours.mean - ns2.mean) <= allowed
    verdict = AGREES if agrees else EXPLAINED if reason else OPEN
    return Comparison(file, label, column, ns2, ours, allowed, verdict, None if agrees else reason)


def _sample(table: Table, row: Row, column: str) -> Sample:
    try:
        return Sample(float(row[column]), float(row.get(f"{column}_sd") or 0.0), int(row["seeds"]))
    except ValueError as error:
        raise UsageError(f"{table.name}, {table.label(row)}, column {column}: {error}") from None


def _own(values: Sequence[float]) -> Sample:
    data = np.asarray(values)
    return Sample(float(data.mean()), float(data.std(ddof=1)) if len(data) > 1 else 0.0, len(data))
