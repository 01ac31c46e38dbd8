"""ns-2's tables for studies: a row is found by its parameters, its quantities have our names and units.

row = find(THESIS, {"network": "ch5", "era": "21b7", "mode": "ecn", "n": 60, "maxp": 0.5, "minth": 10, "maxth": 30})
row.of("goodput_first_bps", group="robust")     # an Estimate in bit/s, or None if ns-2's table does not have it
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ecnlab.packet_traces import ns2
from ecnlab.stats.estimates import CONFIDENCE, Estimate
from ecnlab.stats.student_t import two_sided_t_quantile

# The tables of RED, ECN and ECNM on the thesis' networks.
THESIS_TABLES = ("thesis-ch4", "thesis-ch4-maxp", "thesis-ch5", "more-seeds")

# Parameters that all rows of a table share and that are no column of it.
_COMMON_COLUMNS = {
    "thesis-ch4": {"network": "ch4", "minth": "10", "maxth": "30"},
    "thesis-ch4-maxp": {"network": "ch4"},
    "thesis-ch5": {"network": "ch5", "minth": "10", "maxth": "30"},
    "more-seeds": {"minth": "10", "maxth": "30"},
}


@dataclass(frozen=True)
class Ns2ReferenceRow:
    """A row of a table: means over `seeds` and, under the same name with `_sd` behind it, standard deviations."""

    cells: Mapping[str, str]

    @property
    def seed_count(self) -> int:
        """Number of seeds of the row."""
        return int(self.cells["seeds"])

    def estimate_of_quantity(self, quantity: str, *, group: str | None = None, queue: str | None = None) -> Estimate | None:
        """A quantity of the thesis networks by our name, in our unit: of the total, of a group, or of the bottleneck's queue."""
        names = ns2.GROUP_COLUMNS if group is not None else ns2.QUEUE_COLUMNS if queue is not None else ns2.TOTAL_COLUMNS
        for pattern, (ours, factor) in names.items():
            if ours == quantity:
                return self.estimate_of_column(pattern.format(group), 1 / factor)
        return None

    def estimate_of_column(self, name: str, factor: float = 1.0) -> Estimate | None:
        """A column by ns-2's own name, times a factor; None if the row does not have it."""
        if not self.cells.get(name):
            return None
        n, sd = self.seed_count, float(self.cells.get(f"{name}_sd") or math.nan)
        half_width = two_sided_t_quantile(CONFIDENCE, n - 1) * sd / math.sqrt(n) if n > 1 else math.nan
        return Estimate(float(self.cells[name]), sd, half_width, n).scaled(factor)

    def matches_parameters(self, wanted: Mapping[str, str | float]) -> bool:
        """Whether the row has these parameter values, numbers compared as numbers."""
        return all(_is_equal_cell(self.cells.get(column, ""), value) for column, value in wanted.items())


def find_ns2_row(tables: Sequence[str], wanted: Mapping[str, str | float]) -> Ns2ReferenceRow | None:
    """The row of these tables (files of reference/ns2, by name) with these parameter values; of several the one with most seeds."""
    rows = (row for table in tables for row in read_ns2_rows(table) if row.matches_parameters(wanted))
    return max(rows, key=lambda row: row.seed_count, default=None)


@cache
def read_ns2_rows(table: str) -> Sequence[Ns2ReferenceRow]:
    """All rows of a table of reference/ns2."""
    return [Ns2ReferenceRow({**_COMMON_COLUMNS.get(table, {}), **cells}) for cells in ns2.reference_rows(table)]


def _is_equal_cell(cell: str, value: str | float) -> bool:
    if isinstance(value, str):
        return cell == value
    return bool(cell) and float(cell) == value
