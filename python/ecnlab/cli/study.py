"""`ecnlab study`: the published studies that the laboratory reproduces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ecnlab.cli import catalog
from ecnlab.errors import Interrupted

app = typer.Typer(help="Published studies: list, show, run.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the studies."""
    catalog.list_("study")


@app.command()
def show(name: Annotated[str, typer.Argument(show_default=False)]) -> None:
    """Show a study and its figures."""
    catalog.show_entry("study", catalog.study_entry(name))


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="the study", show_default=False)],
    quick: Annotated[bool, typer.Option("--quick", help="5 seeds instead of 20")] = False,
    figure: Annotated[str | None, typer.Option(metavar="NUMBER", help="only this figure or table, e.g. 5.29")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="folder (default study-NAME)")] = None,
) -> None:
    """Run a study and write its figures and report; a run that was stopped goes on where it was."""
    from ecnlab import studies
    from ecnlab.studies import runner

    study = studies.find(name)
    folder = out or Path(f"study-{name}")
    seeds = range(1, 1 + (runner.QUICK if quick else runner.FULL))
    try:
        path = runner.run_study(study, folder, seeds, [figure] if figure else [], progress=True)
    except Interrupted as error:
        raise Interrupted(f"{error}; they are kept in {folder}, and the same command goes on from there") from None
    print(f"report: {path}")
