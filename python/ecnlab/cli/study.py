"""`ecnlab study`: the published studies that the laboratory reproduces."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import DISAGREES, catalog, options
from ecnlab.errors import ResultsError, UsageError

if TYPE_CHECKING:
    from ecnlab.studies.runner import Outcome
    from ecnlab.tiers import Tier

_figures = click.option(
    "--figure",
    "figures",
    metavar="NUMBER",
    multiple=True,
    shell_complete=catalog.complete_figure,
    help="Only this figure or table, e.g. 5.29, and the claims that its runs decide; repeatable.",
)
_claims = click.option(
    "--claim",
    "claims",
    metavar="NAME",
    multiple=True,
    shell_complete=catalog.complete_claim,
    help="Only this claim, e.g. A11; repeatable.",
)


@click.group()
def study() -> None:
    """List, show and run published studies."""


@study.command("list")
def list_() -> None:
    """List the studies."""
    catalog.list_kind("study")


@study.command()
@click.argument("name", shell_complete=catalog.complete_study)
@_figures
@_claims
@click.option(
    "--scenarios", type=click.Path(path_type=Path), metavar="DIR", help="Write the scenarios there as files that `ecnlab run` takes."
)
def show(name: str, figures: Sequence[str], claims: Sequence[str], scenarios: Path | None) -> None:
    """Show a study: its figures, its claims, and how long they take.

    With --figure or --claim it shows what exactly is run for these.
    """
    from ecnlab.cli import study_page

    study_page.show(name, figures, claims, scenarios)


@study.command()
@click.argument("name", shell_complete=catalog.complete_study)
@click.option("--quick", is_flag=True, help="Seeds 1..5 and the main set-up alone.")
@click.option("--main-setup", is_flag=True, help="Decide claims in the main set-up alone, not in all that the paper admits.")
@click.option("--demo", is_flag=True, help="Only the few figures that show what the study is about, and the claims that their runs decide.")
@options.seed("those of --seeds")
@options.seeds("101..120")
@_figures
@_claims
@options.on
@click.option(
    "--kernel-hosts",
    is_flag=True,
    help="Simulate the scenarios that run on tiers with real kernels, so that results differ by the tier alone.",
)
@options.threads
@options.cluster
@options.store
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the report (default: study-NAME).")
@options.as_json
@options.quiet
def run(
    name: str,
    quick: bool,
    main_setup: bool,
    demo: bool,
    seed: str | None,
    seeds: str | None,
    figures: Sequence[str],
    claims: Sequence[str],
    on: Tier | None,
    kernel_hosts: bool,
    threads: int | None,
    cluster: str | None,
    store: Path,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a study, decide its claims, and write its figures and report.

    Each claim is decided in every set-up that the paper's text admits; it depends where these differ.
    Runs that the store has are not run again, so the same command goes on where it was stopped. The exit code is 1 if some run failed.
    """
    from ecnlab import studies
    from ecnlab.seeds import listed_seeds
    from ecnlab.studies import runner

    if quick and not (seed is None and seeds is None):
        raise UsageError(f"--quick means --seeds {listed_seeds(runner.QUICK_SEEDS)}: leave out one of them")
    if demo and (figures or claims):
        raise UsageError("--demo chooses figures itself: leave out --figure and --claim")
    chosen = studies.find(name)
    chosen_seeds = options.chosen_seeds(seed, seeds, listed_seeds(runner.QUICK_SEEDS if quick else runner.FULL_SEEDS))
    if demo and not chosen.demo:
        raise UsageError(f"the study {name} names no figures for a demo: leave out --demo")
    numbers = chosen.demo if demo else figures
    chosen.choose(numbers)
    chosen.choose_claims(claims)
    workers = options.workers(threads, cluster)
    with options.opened(store) as kept:
        outcome = runner.run_study(
            chosen,
            out or _folder(name, None if on is None else on.name, kernel_hosts=kernel_hosts),
            chosen_seeds,
            numbers,
            claims,
            on=on or "sim",
            kernel_hosts=kernel_hosts,
            all_setups=not (quick or main_setup),
            store=kept,
            workers=workers,
            processes=threads,
            progress=not quiet,
        )
    _tell(name, outcome, as_json=as_json, quiet=quiet)
    sys.exit(DISAGREES if outcome.failures else 0)


@study.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="REPORT...")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the table there: FILE.csv, or FILE.md.")
@options.as_json
def join(reports: Sequence[Path], out: Path | None, as_json: bool) -> None:
    """Join reports of one study, for example of its tiers, in one table.

    Each REPORT is a folder that `ecnlab study run` has written. The table has a row for each statement, with what was published and what
    each report has of it: mean, interval, and whether the statement is supported.
    """
    from ecnlab import atomic
    from ecnlab.cli import output
    from ecnlab.cli.table import Table
    from ecnlab.studies import joined

    if out is not None and out.suffix not in (".csv", ".md"):
        raise UsageError(f"--out {out}: a table is written as .csv or .md")
    table = joined.join(reports)
    if out is not None:
        text = table.as_csv() if out.suffix == ".csv" else table.as_markdown()
        try:
            atomic.write_atomically(out, text.encode())
        except OSError as error:
            raise ResultsError(f"cannot write {out}: {error.strerror or error}") from None
    if as_json:
        output.say_json({"study": table.study, "header": table.header, "rows": table.rows})
    elif out is None:
        output.say_tables([Table(table.study, table.header, table.rows, ("claim", "statement", "holds if"))])


def _folder(name: str, tier: str | None, *, kernel_hosts: bool) -> Path:
    """Where a report goes unless the user says where."""
    told = f"-{tier}" if tier not in (None, "sim") else "-kernel-hosts" if kernel_hosts else ""
    return Path(f"study-{name}{told}")


def _tell(name: str, outcome: Outcome, *, as_json: bool, quiet: bool) -> None:
    from ecnlab.cli import output
    from ecnlab.cli.study_page import verdict_table
    from ecnlab.studies import page, verdicts

    for failure in outcome.failures:
        output.tell(f"failed: {failure.told()}")
    if outcome.left_out:
        output.tell(f"left out, since they depend on what failed: {', '.join(outcome.left_out)}")
    if as_json:
        in_full = page.verdicts_in_full(name)
        output.say_json({"report": str(outcome.report), "claims": [verdicts.plain(decision, in_full) for decision in outcome.decisions]})
    elif not quiet:
        if outcome.decisions:
            output.say_tables([verdict_table(outcome.decisions)])
            output.say(verdicts.counted(outcome.decisions))
        output.say(f"report: {outcome.report}")
