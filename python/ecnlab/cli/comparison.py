"""A comparison as text: what the two are, what differs between them, and how far each quantity is apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecnlab.cli import output
from ecnlab.comparison import summary

if TYPE_CHECKING:
    from ecnlab.comparison.model import Comparison


def say(found: Comparison, *, everything: bool) -> None:
    """Print a comparison; all of it, or the parameters and rows that matter most."""
    for name, title in zip(found.names, found.titles, strict=True):
        output.say(f"{name}: {title}")
    for note in found.notes:
        output.say(f"note: {note}")
    output.say_tables(summary.parameters(found, everything=everything))
    if not found.rows:
        output.say("there is no quantity that both have")
        return
    if everything:
        output.say_tables(summary.tables(found, found.rows, len(found.rows)))
    else:
        output.say_tables(summary.in_short(found))
        output.say_tables(summary.tables(found, found.apart, summary.FEW))
    output.say(_ending(found, everything=everything))


def _ending(found: Comparison, *, everything: bool) -> str:
    """How many quantities differ, and by which rule."""
    return found.found() if everything else f"{found.found()}; --all shows everything"
