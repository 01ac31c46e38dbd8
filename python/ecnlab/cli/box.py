"""`ecnlab box`: kernels for the tier `boxed`."""

from __future__ import annotations

from pathlib import Path

import click

from ecnlab.cli import options


@click.group()
def box() -> None:
    """Build and list kernels for `--on boxed`.

    A kernel is built once, without root, in about four minutes, and kept in the user's cache folder (ECNLAB_CACHE names another).
    """


@box.command()
@click.option("--kernel", "name", metavar="NAME", default=None, help="Which kernel: 6.1, 6.12 or 7.2 (default: 6.1).")
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Take its source from this package, archive or folder (default: the distribution's package, fetched with apt-get).",
)
@click.option("--jobs", type=click.IntRange(1, 1024), metavar="N", help="Files compiled at a time (default: one for each core).")
@options.quiet
def build(name: str | None, source: Path | None, jobs: int | None, quiet: bool) -> None:
    """Build a kernel, unless it is there."""
    from ecnlab.cli import output
    from ecnlab.progress import Progress
    from ecnlab.tiers.box import build as building
    from ecnlab.tiers.box import kernels

    kernel = kernels.kernel(name or kernels.DEFAULT)
    with Progress(1, shown=not quiet, verb="compiling") as progress:
        made = building.build(kernel, source, jobs, progress.show_of)
    if not quiet:
        known = "" if made.about["known"] else ", a source that ecnlab was not tried with"
        output.say(f"{made.name} from {made.about['version']} (sha256 {made.about['sha256'] or 'of a folder: none'}){known}")
        output.say(f"in {made.folder}")


@box.command("list")
@options.as_json
def list_(as_json: bool) -> None:
    """List the kernels that are built, and where."""
    from ecnlab.cli import output
    from ecnlab.cli.table import Table
    from ecnlab.tiers.box import kernels

    boxes = kernels.built()
    for folder in kernels.damaged():
        output.tell(f"{folder}: {kernels.ABOUT} is damaged; fix: remove the folder, or build the kernel again")
    if as_json:
        output.say_json([{"name": box.name, "folder": str(box.folder), **box.about} for box in boxes])
    elif not boxes:
        output.say("no kernel is built yet: `ecnlab box build` builds one")
    else:
        columns = ("name", "kernel", "source", "folder")
        rows = [
            (box.name, str(box.about["kernel"]), f"{box.about['version']}{'' if box.is_whole else ' (damaged)'}", str(box.folder))
            for box in boxes
        ]
        output.say_tables([Table("", columns, rows, columns)])


@box.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove a built kernel."""
    from ecnlab.cli import output
    from ecnlab.tiers.box import kernels

    output.say(f"removed {kernels.removed(name).folder}")
