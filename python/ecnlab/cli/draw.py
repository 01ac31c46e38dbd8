"""`ecnlab draw`: the network of a scenario as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ecnlab.cli import options, output
from ecnlab.errors import UsageError


@click.command()
@click.argument("file", metavar="FILE", type=options.PATH, callback=options.resolve_example_argument)
@options.set_option("Change a value, e.g. flows.far.count=40; repeatable.")
@options.aqm_option
@options.out_option("FILE", "The picture (default: FILE with the extension .svg, in this folder).")
@options.quiet_option
def draw(file: Path, overrides: dict[str, str], aqms: Sequence[str], out: Path | None, quiet: bool) -> None:
    """Draw the network of a scenario as SVG.

    The picture shows links with their rates, delays, queues and impairments, and the routes of the groups.
    """
    import ecnlab
    from ecnlab import diagram as drawing
    from ecnlab.storage.atomic import write_atomically

    with options.name_set_option_in_problems(overrides):
        scenario = ecnlab.load(file, overrides, aqms=aqms)
    path = out or Path(f"{file.stem}.svg")
    try:
        write_atomically(path, drawing.network_svg(scenario).encode())
    except OSError as error:
        raise UsageError(f"--out {path}: cannot be written: {error.strerror}") from None
    if not quiet:
        output.print_line(f"network: {path}")
