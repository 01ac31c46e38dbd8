"""`ecnlab study`: the published studies that the laboratory reproduces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ecnlab.cli import catalog, options
from ecnlab.errors import Interrupted, UsageError


@click.group()
def study() -> None:
    """List, show and run published studies."""


@study.command("list")
def list_() -> None:
    """List the studies."""
    catalog.list_kind("study")


@study.command()
@click.argument("name", shell_complete=catalog.complete_study)
def show(name: str) -> None:
    """Show a study and its figures."""
    catalog.show_study(name)


@study.command()
@click.argument("name", shell_complete=catalog.complete_study)
@click.option("--quick", is_flag=True, help="5 seeds instead of 20.")
@options.seed("those of --seeds")
@options.seeds("20")
@click.option(
    "--figure",
    "figures",
    metavar="NUMBER",
    multiple=True,
    shell_complete=catalog.complete_figure,
    help="Only this figure or table, e.g. 5.29; repeatable.",
)
@options.threads
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder (default: study-NAME).")
@options.quiet
def run(
    name: str,
    quick: bool,
    seed: str | None,
    seeds: str | None,
    figures: Sequence[str],
    threads: int | None,
    out: Path | None,
    quiet: bool,
) -> None:
    """Run a study and write its figures and report.

    The same command goes on where a run was stopped.
    """
    from ecnlab import studies
    from ecnlab.cli import output
    from ecnlab.studies import runner

    if quick and not (seed is None and seeds is None):
        raise UsageError(f"--quick means --seeds {runner.QUICK}: leave out one of them")
    chosen = studies.find(name)
    chosen_seeds = options.chosen_seeds(seed, seeds, f"1..{runner.QUICK if quick else runner.FULL}")
    folder = out or Path(f"study-{name}")
    try:
        path = runner.run_study(chosen, folder, chosen_seeds, figures, progress=not quiet, threads=threads)
    except Interrupted as error:
        raise Interrupted(f"{error}; they are kept in {folder}, and the same command goes on from there", error.result) from None
    if not quiet:
        output.say(f"report: {path}")
