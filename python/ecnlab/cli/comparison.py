"""A comparison as text: both sides, their different parameters, and the difference of each quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecnlab.cli import output
from ecnlab.comparison import summary

if TYPE_CHECKING:
    from ecnlab.comparison.model import Comparison


def print_comparison(found: Comparison, *, everything: bool) -> None:
    """Print a comparison; all of it, or the parameters and rows that matter most."""
    for name, title in zip(found.names, found.titles, strict=True):
        output.print_line(f"{name}: {title}")
    for note in found.notes:
        output.print_line(f"note: {note}")
    output.print_tables(summary.differing_parameter_tables(found, everything=everything))
    if not found.rows:
        output.print_line("no quantity is in both")
        return
    if everything:
        output.print_tables(summary.difference_tables(found, found.rows, len(found.rows)))
    else:
        output.print_tables(summary.main_quantity_tables(found))
        output.print_tables(summary.difference_tables(found, found.differing_rows, summary.MAX_SHOWN_ROWS))
    output.print_line(found.difference_count_text() + ("" if everything else "; --all shows everything"))
