"""Comparison with ns-2's tables: each quantity of each row, with a verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ecnlab.errors import UsageError
from ecnlab.execution.runner import Request, run_all
from ecnlab.execution.workers import Workers
from ecnlab.packet_traces.ns2 import REFERENCE
from ecnlab.storage.store import Store
from ecnlab.validation import explained, more_seeds
from ecnlab.validation.explained import ExplainedDifference, reason_for_difference
from ecnlab.validation.more_seeds import FurtherRecordedNs2Seeds
from ecnlab.validation.rows import ReferenceRow, ReferenceTable, read_tables
from ecnlab.validation.samples import SampleStatistics, allowed_difference, means_agree, sample_from_row, sample_over_seeds
from ecnlab.validation.sheets import CsvSheetLine

AGREES, EXPLAINED, OPEN = "agrees", "explained", "open"

_TABLE_NAMES = ("thesis-ch4", "thesis-ch5", "thesis-ch4-maxp", "thesis-aecn", "amecn-ared", "red-ecn")
REFERENCE_TABLES = [REFERENCE / f"{name}.csv" for name in _TABLE_NAMES]


@dataclass(frozen=True)
class CellComparison:
    """One quantity of one row: ns-2's value, ours, the allowed difference and the verdict."""

    file: str
    row: str
    column: str
    ns2: SampleStatistics
    ours: SampleStatistics
    allowed: float
    verdict: str
    reason: str | None = None

    @property
    def difference_from_ns2(self) -> float:
        """Our value minus ns-2's."""
        return self.ours.mean - self.ns2.mean

    def to_dict(self) -> dict[str, Any]:
        """As nested dicts of plain values."""
        return asdict(self) | {"difference": self.difference_from_ns2}


def compare_with_ns2_files(
    paths: Sequence[Path],
    seeds: Sequence[int],
    explanations: Sequence[ExplainedDifference] | None = None,
    further: FurtherRecordedNs2Seeds | None = None,
    *,
    store: Store | None = None,
    progress: bool = False,
    workers: Workers | None = None,
) -> list[CellComparison]:
    """Run every row of every file over `seeds` and compare.

    Raises UsageError (all problems of the files; seeds), ResultsError (store), ClusterError, RunsFailed, Interrupted.
    """
    if len(seeds) < 2:
        raise UsageError(f"{len(seeds)} seeds are too few for an interval; fix: give 2 or more")
    tables = read_tables(paths)
    known = _KnownDifferences(
        explained.read_explanations() if explanations is None else explanations, further or more_seeds.read_more_seeds()
    )
    cache: dict[str, dict[str, list[float]]] = {}
    found: list[CellComparison] = []
    for table in tables:
        fresh = {row.scenario.hash: row.scenario for row in table.rows if row.scenario.hash not in cache}
        results = run_all(
            [Request(chosen, seeds) for chosen in fresh.values()], store=store, progress=progress, workers=workers
        ).results_or_raise()
        cache |= {hash_: table.columns.values(result) for hash_, result in zip(fresh, results, strict=True)}
        for row in table.rows:
            found += [
                _compare_column_of_row(table, row, column, sample_over_seeds(values), known)
                for column, values in cache[row.scenario.hash].items()
                if row.line.cell_text(column)
            ]
    return found


def verdict_counts_by_file(comparisons: Iterable[CellComparison]) -> dict[str, dict[str, int]]:
    """Numbers of compared, agreeing, explained and open quantities, for each file and under "total"."""
    listed = list(comparisons)
    files = list(dict.fromkeys(comparison.file for comparison in listed))
    parts = {file: _count_by_verdict(c for c in listed if c.file == file) for file in files}
    return parts | {"total": _count_by_verdict(listed)}


def _count_by_verdict(comparisons: Iterable[CellComparison]) -> dict[str, int]:
    verdicts = Counter(comparison.verdict for comparison in comparisons)
    return {
        "compared": verdicts.total(),
        "agreeing": verdicts[AGREES],
        "explained": verdicts[EXPLAINED],
        "open": verdicts[OPEN],
    }


@dataclass(frozen=True)
class _KnownDifferences:
    """Sources of explanations for disagreements."""

    explanations: Sequence[ExplainedDifference]
    further: FurtherRecordedNs2Seeds

    def find_reason_for_difference(
        self, table: ReferenceTable, row: ReferenceRow, column: str, ns2: SampleStatistics, ours: SampleStatistics
    ) -> str | None:
        """Further seeds of ns-2 if they agree with ours, else the first explanation that covers it, else None."""
        cells = row.line.cells
        chance = self.further.reason_if_more_seeds_agree(table.network, cells, column, ns2, ours)
        share = abs(ours.mean - ns2.mean) / abs(ns2.mean) if ns2.mean else math.inf
        return chance or reason_for_difference(self.explanations, table.name, column, cells, share)


def _compare_column_of_row(
    table: ReferenceTable, row: ReferenceRow, column: str, ours: SampleStatistics, known: _KnownDifferences
) -> CellComparison:
    ns2 = _ns2_sample(row.line, column, ours)
    agrees = means_agree(ns2, ours)
    reason = None if agrees else known.find_reason_for_difference(table, row, column, ns2, ours)
    verdict = AGREES if agrees else EXPLAINED if reason else OPEN
    return CellComparison(table.name, table.row_label(row), column, ns2, ours, allowed_difference(ns2, ours), verdict, reason)


def _ns2_sample(line: CsvSheetLine, column: str, ours: SampleStatistics) -> SampleStatistics:
    """ns-2's sample. Without a standard deviation in the file, that of our seeds is used."""
    found = sample_from_row(line.cells, column)
    return found if f"{column}_sd" in line.cells else replace(found, sd=ours.sd)
