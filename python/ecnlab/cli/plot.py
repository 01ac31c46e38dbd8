"""`ecnlab plot`: the figures of a results folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import options
from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from ecnlab.results import Result

_FORMATS = ("svg", "pdf", "png")
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--figure", "figures", metavar="NAME", multiple=True, help="Only this kind of figure; repeatable.")
@click.option("--format", "formats", type=click.Choice(_FORMATS), multiple=True, help="Kind of file (default: svg); repeatable.")
@click.option("--width", metavar="LENGTH", help="Width of a figure, e.g. 8.5cm or 3.4in.")
@click.option("--titles", is_flag=True, help="Put the scenario's title above each figure.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Where the files go (default: figures in the results folder).")
@options.quiet
def plot(
    folder: Path, figures: Sequence[str], formats: Sequence[str], width: str | None, titles: bool, out: Path | None, quiet: bool
) -> None:
    """Draw the figures of a results folder.

    DIR is a folder that `ecnlab run` has written. What can be drawn depends on what the scenario's [record] asked for.
    """
    from ecnlab.results import open_result

    inches = None if width is None else read_width(width)
    result = open_result(folder)
    draw(result, out or folder / "figures", figures, formats or _FORMATS[:1], inches, titles=titles, shown=not quiet, said=not quiet)


def draw(
    result: Result,
    folder: Path,
    figures: Sequence[str] = (),
    formats: Sequence[str] = _FORMATS[:1],
    width: float | None = None,
    *,
    titles: bool = False,
    shown: bool,
    said: bool,
) -> None:
    """Draw figures into a folder; `shown` shows the progress, `said` says at the end what there is."""
    from ecnlab.cli import output
    from ecnlab.progress import Progress

    with Progress(0, shown=shown, verb="drawing") as bar:
        drawn = result.plot.save_all(folder, figures or None, formats=formats, width=width, titles=titles, progress=bar.show_of)
    if said:
        output.say(f"figures in {folder}: {', '.join(drawn)}")


def read_width(text: str) -> float:
    """Read "8.5cm" or "3.4 in" as inches. Raises UsageError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(in|cm|mm)\s*", text)
    if match is None:
        raise UsageError(f"--width {text!r}: write a number and in, cm or mm, e.g. 8.5cm or 3.4in")
    return float(match[1]) * _INCHES[match[2]]
