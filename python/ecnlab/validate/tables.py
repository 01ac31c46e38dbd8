"""ns-2's tables beside ours: every quantity of every row, with a verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ecnlab.errors import UsageError
from ecnlab.runner import Request, run_all
from ecnlab.store import Store
from ecnlab.validate import explained, more_seeds
from ecnlab.validate.explained import Explanation, reason_for
from ecnlab.validate.more_seeds import MoreSeeds
from ecnlab.validate.rows import Row, Table, read_tables
from ecnlab.validate.samples import Sample, agree, allowed_difference, from_row, over_seeds
from ecnlab.validate.sheets import Line
from ecnlab.workers import Workers

AGREES, EXPLAINED, OPEN = "agrees", "explained", "open"

_REFERENCE = Path(__file__).parent.parent / "reference" / "ns2"
_NAMES = ("thesis-ch4", "thesis-ch5", "thesis-ch4-maxp", "thesis-aecn", "amecn-ared", "red-ecn")
OWN_TABLES = [_REFERENCE / f"{name}.csv" for name in _NAMES]


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


def compare_files(
    paths: Sequence[Path],
    seeds: Sequence[int],
    explanations: Sequence[Explanation] | None = None,
    further: MoreSeeds | None = None,
    *,
    store: Store | None = None,
    progress: bool = False,
    workers: Workers | None = None,
) -> list[Comparison]:
    """Run every row of every file over `seeds` and compare.

    Raises UsageError (files, with all that is wrong; seeds), ResultsError (store), ClusterError, RunsFailed, Interrupted.
    """
    if len(seeds) < 2:
        raise UsageError(f"{len(seeds)} seeds are too few: an interval needs 2 or more")
    tables = read_tables(paths)
    known = _Known(explained.read() if explanations is None else explanations, further or more_seeds.read())
    cache: dict[str, dict[str, list[float]]] = {}
    found: list[Comparison] = []
    for table in tables:
        fresh = {row.scenario.hash: row.scenario for row in table.rows if row.scenario.hash not in cache}
        results = run_all([Request(chosen, seeds) for chosen in fresh.values()], store=store, progress=progress, workers=workers).whole()
        cache |= {hash_: table.columns.values(result) for hash_, result in zip(fresh, results, strict=True)}
        for row in table.rows:
            found.extend(_compare_row(table, row, cache[row.scenario.hash], known))
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


@dataclass(frozen=True)
class _Known:
    """What may explain a disagreement."""

    explanations: Sequence[Explanation]
    further: MoreSeeds

    def reason_for(self, table: Table, row: Row, column: str, ns2: Sample, ours: Sample) -> str | None:
        """Further seeds of ns-2 if they agree with ours, else the first explanation that covers it, else None."""
        cells = row.line.cells
        chance = self.further.reason_for(table.network, cells, column, ns2, ours)
        share = abs(ours.mean - ns2.mean) / abs(ns2.mean) if ns2.mean else math.inf
        return chance or reason_for(self.explanations, table.name, column, cells, share)


def _compare_row(table: Table, row: Row, ours: dict[str, list[float]], known: _Known) -> list[Comparison]:
    return [_compare(table, row, column, over_seeds(values), known) for column, values in ours.items() if row.line.cell(column)]


def _compare(table: Table, row: Row, column: str, ours: Sample, known: _Known) -> Comparison:
    ns2 = _ns2(row.line, column, ours)
    agrees = agree(ns2, ours)
    reason = None if agrees else known.reason_for(table, row, column, ns2, ours)
    verdict = AGREES if agrees else EXPLAINED if reason else OPEN
    return Comparison(table.name, table.label(row), column, ns2, ours, allowed_difference(ns2, ours), verdict, reason)


def _ns2(line: Line, column: str, ours: Sample) -> Sample:
    """ns-2's sample. Where the file does not say how its seeds spread, they are taken to spread as ours do."""
    found = from_row(line.cells, column)
    return found if f"{column}_sd" in line.cells else replace(found, sd=ours.sd)
