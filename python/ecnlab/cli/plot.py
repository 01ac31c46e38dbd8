"""`ecnlab plot`: the figures of a results folder or of a sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ecnlab.cli import options, output
from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from ecnlab.storage.results import Result

_FORMATS = ("svg", "pdf", "png")
_INCHES_PATTERN = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}


@click.command()
@click.argument("folder", metavar="DIR", type=options.PATH)
@options.repeatable_option("--figure", "figures", "NAME", "Run: only this kind of figure; repeatable.")
@options.repeatable_option("--y", "quantities", "QUANTITY", "Sweep: quantity on the y axis, e.g. goodput_bps; repeatable.")
@click.option(
    "--x",
    metavar="PARAMETER",
    help="Sweep: parameter on the x axis (default: the first numeric one that is in neither --by nor --panels).",
)
@options.repeatable_option(
    "--by",
    "by",
    "PARAMETER",
    "Sweep: a line for each value; also group, queue, band, impairment, size or flow (default: all others). Twice: the first sets "
    "the colour, the second marker and dash.",
)
@click.option("--panels", metavar="PARAMETER", help="Sweep: a panel for each value, all with the same axes; values as for --by.")
@click.option("--log", type=click.Choice(["x", "y"]), multiple=True, help="Sweep: logarithmic axis; repeatable.")
@click.option("--group", metavar="NAME", help="Sweep: quantity of this group.")
@click.option("--queue", metavar="NAME", help="Sweep: quantity of this queue.")
@click.option("--band", metavar="QUEUE.BAND", help="Sweep: quantity of this band.")
@options.repeatable_option("--where", "where", "PARAMETER=VALUE", "Sweep: only points with this value; repeatable.")
@click.option("--format", "formats", type=click.Choice(_FORMATS), multiple=True, help="File format (default: svg); repeatable.")
@click.option("--width", metavar="LENGTH", help="Width of a figure, e.g. 8.5cm or 3.4in.")
@click.option("--titles", is_flag=True, help="Print the scenario's title above each figure.")
@options.out_option("DIR", "Folder of the files (default: figures in DIR).")
@options.quiet_option
def plot(
    folder: Path,
    figures: Sequence[str],
    formats: Sequence[str],
    width: str | None,
    titles: bool,
    out: Path | None,
    quiet: bool,
    **of_sweep: Any,
) -> None:
    """Draw the figures of a results folder or of a sweep.

    DIR is a folder that `ecnlab run` or `ecnlab sweep` has written. The figures of a run depend on the scenario's [record]. A sweep can
    be drawn as any quantity against any parameter; the data is written next to each figure as CSV.
    """
    from ecnlab.storage.results import open_result
    from ecnlab.sweeps.folder import is_sweep_folder

    inches = None if width is None else parse_figure_width_inches(width)
    kinds, target = formats or _FORMATS[:1], out or folder / "figures"
    if is_sweep_folder(folder):
        _reject_options_for_folder_kind(folder, "a sweep", {"figure": figures})
        _draw_sweep_figures(folder, target, kinds, inches, of_sweep, titles=titles, quiet=quiet)
    else:
        result = open_result(folder)
        output.print_warnings([warning for warning in result.warnings if vars(warning) not in result.header["warnings"]], str(folder))
        _reject_options_for_folder_kind(
            folder, "not a sweep", {"y" if name == "quantities" else name: given for name, given in of_sweep.items()}
        )
        draw_result_figures(result, target, figures, kinds, inches, titles=titles, shown=not quiet, said=not quiet)


def _reject_options_for_folder_kind(folder: Path, what: str, given: Mapping[str, Any]) -> None:
    used = [f"--{name}" for name, value in given.items() if value]
    if used:
        raise UsageError(f"{folder} is {what}; fix: omit {', '.join(used)}")


def _draw_sweep_figures(
    folder: Path, target: Path, formats: Sequence[str], width: float | None, asked: Mapping[str, Any], *, titles: bool, quiet: bool
) -> None:
    from ecnlab.execution.progress import ProgressLine
    from ecnlab.sweeps.folder import open_sweep

    plots = open_sweep(folder).plot.styled(width_in=width, titles=titles)
    rows = {name: asked[name] for name in ("group", "queue", "band")}
    with ProgressLine(0, shown=not quiet, verb="drawing") as bar:
        drawn = plots.save_all(
            target,
            asked["quantities"],
            asked["x"],
            asked["by"] or None,
            formats=formats,
            panels=asked["panels"],
            log=asked["log"],
            where=options.parse_key_value_options("--where", asked["where"], "max_p=0.5"),
            progress=bar.show_done_of_total,
            **rows,
        )
    if not quiet:
        output.print_line(f"figures in {target}: {', '.join(drawn)}")


def draw_result_figures(
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
    from ecnlab.execution.progress import ProgressLine

    with ProgressLine(0, shown=shown, verb="drawing") as bar:
        drawn = result.plot.save_all(folder, figures or None, formats=formats, width=width, titles=titles, progress=bar.show_done_of_total)
    if said:
        output.print_line(f"figures in {folder}: {', '.join(drawn)}")
        for note in result.plot.notes_on_seeds(figures or None):
            output.print_line(note)


def parse_figure_width_inches(text: str) -> float:
    """Read "8.5cm" or "3.4 in" as inches. Raises UsageError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(in|cm|mm)\s*", text)
    if match is None:
        raise UsageError(f"--width {text!r}: is not a width; fix: write a number and in, cm or mm, e.g. 8.5cm or 3.4in")
    return float(match[1]) * _INCHES_PATTERN[match[2]]
