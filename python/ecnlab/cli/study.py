"""`ecnlab study`: the published studies that the laboratory reproduces."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import EXIT_DISAGREES, catalog, options, output
from ecnlab.display.cells import TextTable
from ecnlab.errors import ResultsError, UsageError

if TYPE_CHECKING:
    from ecnlab.backends.base import Backend
    from ecnlab.studies.framework.runner import StudyRunOutcome

_figures_option = click.option(
    "--figure",
    "figures",
    metavar="NUMBER",
    multiple=True,
    shell_complete=catalog.complete_figure,
    help="Only this figure or table, e.g. 5.29, and the claims that its runs decide; repeatable.",
)
_claims_option = click.option(
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
def list_studies() -> None:
    """List the studies."""
    catalog.print_entries_of_kind("study")


@study.command("show")
@click.argument("name", shell_complete=catalog.complete_study)
@_figures_option
@_claims_option
@click.option("--scenarios", type=options.PATH, metavar="DIR", help="Write the scenarios as files for `ecnlab run` into this folder.")
def show_study(name: str, figures: Sequence[str], claims: Sequence[str], scenarios: Path | None) -> None:
    """Show a study: its figures, its claims, and the time needed.

    With --figure or --claim it shows the scenarios for these.
    """
    from ecnlab.cli import study_output

    study_output.print_study_and_write_scenarios(name, figures, claims, scenarios)


@study.command("run")
@click.argument("name", shell_complete=catalog.complete_study)
@click.option("--quick", is_flag=True, help="Seeds 1..5 and only the main set-up.")
@click.option("--main-setup", is_flag=True, help="Decide claims in the main set-up only, not in every admitted one.")
@click.option("--demo", is_flag=True, help="Only the study's main figures, and the claims that their runs decide.")
@options.seed_option("those of --seeds")
@options.seeds_option("101..120, or fewer for studies of long runs")
@_figures_option
@_claims_option
@options.backend_options
@click.option(
    "--kernel-hosts",
    is_flag=True,
    help="Simulate the scenarios that run on backends with real kernels, so that results differ only by the backend.",
)
@options.threads_option
@options.cluster_option
@options.store_option
@options.out_option("DIR", "Folder of the report (default: study-NAME).")
@options.json_option
@options.quiet_option
def run_study(
    name: str,
    quick: bool,
    main_setup: bool,
    demo: bool,
    seed: str | None,
    seeds: str | None,
    figures: Sequence[str],
    claims: Sequence[str],
    backend: Backend | None,
    kernel_hosts: bool,
    threads: int | None,
    cluster: str | None,
    store: Path,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a study, decide its claims, and write its figures and report.

    Each claim is decided in every set-up that the paper's text admits; the verdict is "depends" if they differ.
    Runs in the store are not repeated, so the same command continues an interrupted study. The exit code is 1 if a run failed.
    """
    from ecnlab import studies
    from ecnlab.scenarios.seeds import seeds_as_text
    from ecnlab.studies.framework import runner

    if quick and not (seed is None and seeds is None):
        raise UsageError(
            f"--quick and --seeds exclude each other: --quick means --seeds {seeds_as_text(runner.QUICK_SEEDS)}; fix: omit one of them"
        )
    if demo and (figures or claims):
        raise UsageError("--demo selects its own figures; fix: omit --figure and --claim")
    chosen = studies.find_study(name)
    chosen_seeds = options.seeds_from_options(seed, seeds, seeds_as_text(runner.QUICK_SEEDS if quick else runner.seeds_of_full_run(chosen)))
    if demo and not chosen.demo:
        raise UsageError(f"--demo: the study {name} defines no figures for a demo; fix: omit --demo")
    numbers = chosen.demo if demo else figures
    chosen.choose_items(numbers)
    chosen.choose_claims(claims)
    workers = options.threads_or_cluster_from_options(threads, cluster)
    with options.open_store(store) as kept:
        outcome = runner.run_study(
            chosen,
            out or _default_report_folder(name, None if backend is None else backend.name, kernel_hosts=kernel_hosts),
            chosen_seeds,
            numbers,
            claims,
            backend=backend or "sim",
            kernel_hosts=kernel_hosts,
            all_setups=not (quick or main_setup),
            store=kept,
            workers=workers,
            processes=threads,
            progress=not quiet,
        )
    _print_study_outcome(name, outcome, as_json=as_json, quiet=quiet)
    sys.exit(EXIT_DISAGREES if outcome.failures else 0)


@study.command("join")
@click.argument("reports", nargs=-1, required=True, type=options.PATH, metavar="REPORT...")
@options.out_option("FILE", "Write the table to this file: FILE.csv or FILE.md.")
@options.json_option
def join_reports_in_table(reports: Sequence[Path], out: Path | None, as_json: bool) -> None:
    """Join reports of one study, for example of its backends, in one table.

    Each REPORT is a folder that `ecnlab study run` has written. The table has a row for each statement, with the published number and,
    for each report, the mean, the interval and the status.
    """
    from ecnlab.storage import atomic
    from ecnlab.studies.framework import joined

    if out is not None and out.suffix not in (".csv", ".md"):
        raise UsageError(f"--out {out}: must end in .csv or .md; fix: change the file extension")
    table = joined.reports_to_joined_table(reports)
    if out is not None:
        text = table.as_csv() if out.suffix == ".csv" else table.as_markdown()
        try:
            atomic.write_atomically(out, text.encode())
        except OSError as error:
            raise ResultsError(f"cannot write {out}: {error.strerror or error}") from None
    if as_json:
        output.print_json({"study": table.study, "header": table.header, "rows": table.rows})
    elif out is None:
        output.print_tables([TextTable(table.study, table.header, table.rows, ("claim", "statement", "holds if"))])


def _default_report_folder(name: str, backend: str | None, *, kernel_hosts: bool) -> Path:
    """Default folder of a report."""
    suffix = f"-{backend}" if backend not in (None, "sim") else "-kernel-hosts" if kernel_hosts else ""
    return Path(f"study-{name}{suffix}")


def _print_study_outcome(name: str, outcome: StudyRunOutcome, *, as_json: bool, quiet: bool) -> None:
    from ecnlab.cli.study_output import verdict_table
    from ecnlab.studies.framework import page, verdicts

    for failure in outcome.failures:
        output.print_to_stderr(f"failed: {failure.describe()}")
    if outcome.left_out:
        output.print_to_stderr(f"omitted, because they depend on failed runs: {', '.join(outcome.left_out)}")
    if as_json:
        in_full = page.read_full_run_verdicts(name)
        output.print_json(
            {"report": str(outcome.report), "claims": [verdicts.decision_to_dict(decision, in_full) for decision in outcome.decisions]}
        )
    elif not quiet:
        if outcome.decisions:
            output.print_tables([verdict_table(outcome.decisions)])
            output.print_line(verdicts.verdict_counts_text(outcome.decisions))
        output.print_line(f"report: {outcome.report}")
