"""docs/trust/formulas.md: each formula with its source and limits, and the table of checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ecnlab.validation.formulas import FormulaCheck, FormulaOutcome
from ecnlab.validation.samples import SampleStatistics

TEXT_FILE = Path(__file__).parent / "formulas.md"
TABLE_HEADER = ("formula", "setting", "predicted", "ns-2", "measured", "difference", "allowed", "verdict")


def formula_page(outcomes: Sequence[FormulaOutcome]) -> str:
    """The complete page."""
    rows = [TABLE_HEADER, ["---"] * len(TABLE_HEADER), *map(formula_outcome_cells, outcomes)]
    table = "".join("| " + " | ".join(row) + " |\n" for row in rows)
    return TEXT_FILE.read_text(encoding="utf-8").replace("TABLE\n", table)


def formula_outcome_cells(outcome: FormulaOutcome) -> list[str]:
    """An outcome as a row of the table; with ns-2 as the reference, the difference is that from ns-2."""
    half_width = outcome.measured.half_width
    measured = format_number(outcome.measured.mean) + ("" if math.isnan(half_width) else f" ± {half_width:.2g}")
    mark = "" if outcome.check.slack is not None else " (ns-2)"
    return [
        *formula_check_cells(outcome.check),
        measured,
        f"{outcome.difference:+.2g}{mark}",
        f"{outcome.allowed:.2g}",
        outcome.verdict,
    ]


def formula_check_cells(check: FormulaCheck) -> list[str]:
    """The cells that are known before the check runs."""
    unit = "" if check.unit == "1" else f" {check.unit}"
    return [check.formula, check.setting, f"{format_number(check.predicted)}{unit}", _ns2_sample_cell(check.ns2)]


def format_number(value: float) -> str:
    """The value with four significant digits."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def _ns2_sample_cell(ns2: SampleStatistics | None) -> str:
    if ns2 is None:
        return ""
    return format_number(ns2.mean) if ns2.n == 1 else f"{format_number(ns2.mean)} ± {ns2.sd:.2g} ({ns2.n})"
