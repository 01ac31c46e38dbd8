"""Results of a comparison: differences of quantities, differences of the scenarios, and notes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ecnlab.comparison import summary
from ecnlab.display import html
from ecnlab.errors import Problem
from ecnlab.stats.differences import QuantityDifference
from ecnlab.stats.estimates import CONFIDENCE

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class DifferingParameter:
    """A parameter in which two scenarios differ; None if one does not have it."""

    key: str
    a: Any
    b: Any


@dataclass(frozen=True)
class DifferenceRow:
    """The difference of one quantity.

    Attributes
    ----------
    point : Mapping
        The parameters of the sweep's point; empty unless sweeps are compared.
    table, name, quantity, unit : str
        The quantity: of the table `total`, or of a group, queue or QUEUE.BAND.
    difference : Difference
        B - A.
    adjusted_p_value : float
        The p-value of the difference, adjusted for all compared quantities; NaN without a test.
    is_apart : bool
        Whether the difference is significant: the adjusted p-value is at most 1 - confidence. Without a test, whether it is not 0.
    """

    point: Mapping[str, Any]
    table: str
    name: str
    quantity: str
    unit: str
    difference: QuantityDifference
    adjusted_p_value: float
    is_apart: bool


@dataclass(frozen=True, repr=False)
class Comparison:
    """Differences between A and B.

    Attributes
    ----------
    names : tuple of str
        Names of A and B.
    titles : tuple of str
        Titles of their scenarios.
    parameters : list of DifferingParameter
        Parameters in which the scenarios differ.
    notes : list of str
        Notes on the comparability of both sides.
    warnings : list of tuples
        Warnings of either scenario: the side's name and the Problem.
    rows : list of DifferenceRow
        Every quantity of both sides.
    confidence : float
        Confidence level of each interval; 1 - confidence is the false discovery rate of the rows that differ.
    """

    names: tuple[str, str]
    titles: tuple[str, str]
    parameters: list[DifferingParameter]
    notes: list[str]
    warnings: list[tuple[str, Problem]]
    rows: list[DifferenceRow]
    confidence: float = CONFIDENCE

    def __repr__(self) -> str:
        a, b = (f"{name} ({title})" for name, title in zip(self.names, self.titles, strict=True))
        parameters = f"{len(self.parameters)} parameters differ" if len(self.parameters) != 1 else "1 parameter differs"
        return f"<Comparison of {a!r} and {b!r}: {parameters}, {self.difference_count_text()}>"

    def _repr_html_(self) -> str:
        """The tables of `ecnlab compare`, for notebooks."""
        title = " and ".join(f"{name} ({title})" for name, title in zip(self.names, self.titles, strict=True))
        tables = [
            *summary.differing_parameter_tables(self),
            *summary.main_quantity_tables(self),
            *summary.difference_tables(self, self.differing_rows, summary.MAX_SHOWN_ROWS),
        ]
        notes = [*self.notes, f"{self.difference_count_text()}; frame() has all"]
        return html.tables_and_notes_to_html(title, tables, notes)

    @property
    def differing_rows(self) -> list[DifferenceRow]:
        """The rows that differ, at a false discovery rate of 1 - confidence."""
        return [row for row in self.rows if row.is_apart]

    @property
    def tested(self) -> int:
        """The number of rows with a p-value."""
        return sum(not math.isnan(row.adjusted_p_value) for row in self.rows)

    def difference_count_text(self) -> str:
        """The number of quantities that differ and the rule, as text."""
        summary = f"{len(self.differing_rows)} of {len(self.rows)} quantities differ"
        rate = f"{100 * (1 - self.confidence):.3g} %"
        return f"{summary} at a false discovery rate of {rate} (Benjamini and Hochberg, {self.tested} tests)" if self.tested else summary

    def frame(self) -> pl.DataFrame:
        """The rows as a polars frame, with the parameters of a sweep's point as first columns."""
        import polars as pl

        return pl.DataFrame([{**row.point, **_difference_row_to_dict(row)} for row in self.rows], infer_schema_length=None)

    def json(self) -> dict[str, Any]:
        """Old name of `to_dict`, until the next release."""
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """The comparison as nested dicts of plain values."""
        return {
            "a": {"name": self.names[0], "title": self.titles[0]},
            "b": {"name": self.names[1], "title": self.titles[1]},
            "parameters": [vars(one) for one in self.parameters],
            "notes": self.notes,
            "confidence": self.confidence,
            "false_discovery_rate": round(1 - self.confidence, 12),
            "tests": self.tested,
            "differences": [({"point": dict(row.point)} if row.point else {}) | _difference_row_to_dict(row) for row in self.rows],
        }


def _difference_row_to_dict(row: DifferenceRow) -> dict[str, Any]:
    """A row as plain values."""
    found = row.difference
    return {
        "table": row.table,
        "name": row.name,
        "quantity": row.quantity,
        "unit": row.unit,
        "a_mean": found.a.mean,
        "a_half_width": found.a.half_width,
        "b_mean": found.b.mean,
        "b_half_width": found.b.half_width,
        "change_mean": found.change.mean,
        "change_half_width": found.change.half_width,
        "relative": found.relative_change.mean,
        "relative_half_width": found.relative_change.half_width,
        "p_value": found.p_value,
        "adjusted_p_value": row.adjusted_p_value,
        "is_apart": row.is_apart,
        "is_paired": found.paired,
        "n": found.change.n,
    }
