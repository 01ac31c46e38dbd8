"""`ecnlab uml`: kernels for the backend `uml`."""

from __future__ import annotations

from pathlib import Path

import click

from ecnlab.cli import options, output
from ecnlab.display.cells import TextTable
from ecnlab.errors import UsageError


class _GroupRejectingRenamedCommands(click.Group):
    """Refuses the old name of a command with the new one."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "build":
            raise UsageError("ecnlab uml build: is now ecnlab uml build-kernel; fix: run ecnlab uml build-kernel")
        return super().get_command(ctx, cmd_name)


@click.group(cls=_GroupRejectingRenamedCommands)
def uml() -> None:
    """Build and list kernels for `--backend uml`.

    A kernel is built once, without root, in about four minutes, and kept in the user's cache folder (or the one in ECNLAB_CACHE).
    """


@uml.command("build-kernel")
@click.option("--kernel", "name", metavar="NAME", default=None, help="Version of the kernel: 6.1, 6.12 or 7.2 (default: 6.1).")
@click.option(
    "--source",
    type=options.PATH,
    metavar="PATH",
    help="Use the source in this package, archive or folder (default: the distribution's package, fetched with apt-get).",
)
@click.option(
    "--control",
    "control_files",
    type=options.PATH,
    metavar="FILE",
    multiple=True,
    help="Compile the congestion control in this C file, like the kernel's net/ipv4/tcp_bic.c, into it. May be given several times.",
)
@click.option("--jobs", type=click.IntRange(1, 1024), metavar="N", help="Number of parallel compile jobs (default: one for each core).")
@options.quiet_option
def build_kernel(name: str | None, source: Path | None, control_files: tuple[Path, ...], jobs: int | None, quiet: bool) -> None:
    """Build a kernel for the backend uml, unless it is built already.

    A kernel with congestion controls is separate: --kernel with its name, or with that of a control in it, chooses it for a run.

    In a source checkout the command also builds the program that runs in the kernel, which wheels contain.
    """
    from ecnlab.backends.uml import build, kernels, process
    from ecnlab.execution.progress import ProgressLine

    kernel = kernels.find_buildable_kernel(name or kernels.DEFAULT_KERNEL)
    with ProgressLine(1, shown=not quiet, verb="compiling") as progress:
        made = build.build_kernel(kernel, source, jobs, progress.show_done_of_total, control_files)
    if not quiet:
        known = "" if made.about["known"] else ", a source that ecnlab was not tested with"
        output.print_line(f"{made.name} from {made.about['version']} (sha256 {made.about['sha256'] or 'of a folder: none'}){known}")
        for control in made.user_congestion_controls:
            output.print_line(f"with the congestion control {control['name']} of {control['file']} (sha256 {control['sha256']})")
        output.print_line(f"in {made.folder}")
    if build.build_guest_program_if_outdated() and not quiet:
        output.print_line(f"and the program in it: {process.GUEST_PROGRAM}")


@uml.command("list")
@options.json_option
def list_kernels(as_json: bool) -> None:
    """List the built kernels and their folders."""
    from ecnlab.backends.uml import kernels

    images = kernels.built_kernels()
    for folder in kernels.kernel_folders_with_unreadable_description():
        output.print_to_stderr(f"{folder}: {kernels.DESCRIPTION_FILE} is damaged; fix: remove the folder, or build the kernel again")
    if as_json:
        output.print_json([{"name": image.name, "folder": str(image.folder), **image.about} for image in images])
    elif not images:
        output.print_line("no kernel is built yet: `ecnlab uml build-kernel` builds one")
    else:
        columns = ("name", "kernel", "source", "controls", "folder")
        rows = [
            (
                image.name,
                str(image.about["kernel"]),
                f"{image.about['version']}{'' if image.is_image_intact else ' (damaged)'}",
                ", ".join(control["name"] for control in image.user_congestion_controls),
                str(image.folder),
            )
            for image in images
        ]
        output.print_tables([TextTable("", columns, rows, columns)])


@uml.command("remove")
@click.argument("name")
def remove_kernel(name: str) -> None:
    """Remove a built kernel."""
    from ecnlab.backends.uml import kernels

    output.print_line(f"removed {kernels.remove_built_kernel(name).folder}")
