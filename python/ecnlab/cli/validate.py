"""`ecnlab validate`: comparison with ns-2, with a real kernel, with formulas and with other machines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import EXIT_DISAGREES, options, output
from ecnlab.cli.text import count_text
from ecnlab.display.cells import TextTable
from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from ecnlab.execution.workers import Workers
    from ecnlab.validation.formulas import FormulaOutcome
    from ecnlab.validation.kernel import KernelCaseOutcome
    from ecnlab.validation.tables import CellComparison

_TABLE_HEADER = ("quantity", "ns-2", "sd", "ours", "sd", "difference", "allowed", "verdict")


@click.group()
def validate() -> None:
    """Compare with ns-2, kernels and formulas.

    A run can also be compared with one on another machine.

    The exit code is 1 if a comparison disagrees.
    """


@validate.command("packet-exact")
@click.argument("folder", metavar="[DIR]", required=False, type=options.PATH)
@options.quiet_option
def compare_ns2_packets(folder: Path | None, quiet: bool) -> None:
    """Compare single flows with ns-2 packet by packet.

    DIR is a folder of cases; without it the package's own are compared.
    """
    from ecnlab.validation import packets

    outcomes = packets.compare_packet_cases_of_folder(folder or packets.CASES_FOLDER)
    failed = sum(not outcome.ok for outcome in outcomes)
    if not quiet:
        wide = max(len(outcome.name) for outcome in outcomes)
        for outcome in outcomes:
            verdict = "ok  " if outcome.ok else "FAIL"
            output.print_line(f"{verdict}  {outcome.name:<{wide}}  {outcome.events:>6} events  {outcome.difference or ''}".rstrip())
        output.print_line(f"{count_text(len(outcomes), 'case')}, {len(outcomes) - failed} exact, {failed} different")
    sys.exit(EXIT_DISAGREES if failed else 0)


@validate.command("linux")
@click.argument("folder", metavar="[DIR]", required=False, type=options.PATH)
@click.option("--way", type=click.Choice(["receiver", "sender", "closed"]), help="Only this comparison (default: all three).")
@click.option("--case", "only", metavar="NAME", help="Only cases whose name matches, e.g. 'reno-*', with both runs in two columns.")
@options.json_option
@options.quiet_option
def compare_with_linux(folder: Path | None, way: str | None, only: str | None, as_json: bool, quiet: bool) -> None:
    """Compare single connections with a real Linux kernel packet by packet.

    DIR is a folder of cases; without it the package's own are compared. Three comparisons are made: the
    receiver gets the segments that reached the kernel's, the sender gets the ACKs, and in the closed loop both are simulated over the
    same path.
    """
    from ecnlab.validation import kernel

    outcomes = kernel.replay_kernel_cases_of_folder(folder, [way] if way else kernel.REPLAY_MODES, only or "*")
    totalled = kernel.verdict_counts_by_mode(outcomes)
    if as_json:
        output.print_json({"totals": totalled, "cases": [outcome.to_dict() for outcome in outcomes]})
    elif not quiet:
        _print_linux_case_outcomes(outcomes, totalled, excerpts=only is not None)
    failed = any(judgement.has_failed for outcome in outcomes for judgement in outcome.judgements)
    sys.exit(EXIT_DISAGREES if failed else 0)


@validate.command("packetdrill")
@click.argument("folder", metavar="DIR", type=options.PATH)
@click.option("--scripts", metavar="PATTERN", default="tcp_accecn_*.pkt", help="File names of the scripts (default: tcp_accecn_*.pkt).")
@options.json_option
@options.quiet_option
def run_packetdrill_scripts(folder: Path, scripts: str, as_json: bool, quiet: bool) -> None:
    """Run packetdrill scripts of Accurate ECN against a simulated host.

    DIR is a folder of scripts, such as tools/testing/selftests/net/packetdrill of a kernel's source package. A script
    says which packets a host must send; those of the kernel are not part of ecnlab.
    """
    from ecnlab.validation import packetdrill

    outcomes = packetdrill.run_scripts_of_folder(folder, scripts)
    counts = packetdrill.script_verdict_counts(outcomes)
    if as_json:
        output.print_json({"totals": counts, "scripts": [outcome.to_dict() for outcome in outcomes]})
    elif not quiet:
        wide = max(len(outcome.name) for outcome in outcomes)
        for outcome in outcomes:
            where = "" if outcome.line is None else f"line {outcome.line}: {outcome.why}"
            output.print_line(f"{outcome.verdict:<11}  {outcome.name:<{wide}}  {where}".rstrip())
        totals = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        output.print_line(f"{count_text(len(outcomes), 'script')}: {totals}")
    sys.exit(EXIT_DISAGREES if counts["passed"] < len(outcomes) else 0)


@validate.command("tables")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=options.PATH)
@options.seeds_option("20")
@click.option("--all", "every", is_flag=True, help="List agreeing rows too.")
@options.workers_options
@options.store_option
@options.json_option
@options.quiet_option
def compare_ns2_means(
    files: Sequence[Path],
    seeds: str | None,
    every: bool,
    workers: Workers,
    store: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare means over seeds with ns-2's.

    FILE is a table of ns-2's measurements; without it the package's own are compared. A difference with a known
    cause is explained and does not count as a disagreement. Runs in the store are not repeated.
    """
    from ecnlab.validation.tables import REFERENCE_TABLES, compare_with_ns2_files, verdict_counts_by_file

    chosen_seeds = options.seeds_from_options(None, seeds, "20")
    if len(chosen_seeds) < 2:
        raise UsageError(f"--seeds {seeds!r}: too few for an interval; fix: give 2 or more")
    with options.open_store(store) as kept:
        comparisons = compare_with_ns2_files(files or REFERENCE_TABLES, chosen_seeds, store=kept, progress=not quiet, workers=workers)
    totalled = verdict_counts_by_file(comparisons)
    if as_json:
        output.print_json({"totals": totalled, "comparisons": [comparison.to_dict() for comparison in comparisons]})
    elif not quiet:
        _print_ns2_comparisons([c for c in comparisons if every or c.verdict != "agrees"], totalled)
    sys.exit(EXIT_DISAGREES if totalled["total"]["open"] else 0)


@validate.command("formulas")
@click.option("--quick", is_flag=True, help="Only the checks that take seconds.")
@click.option("--write", type=options.PATH, metavar="FILE", help="Write the page of formulas with the measured values.")
@options.workers_options
@options.store_option
@options.json_option
@options.quiet_option
def compare_with_formulas(quick: bool, write: Path | None, workers: Workers, store: Path, as_json: bool, quiet: bool) -> None:
    """Compare throughput, windows and queues with formulas.

    Runs in the store are not repeated.
    """
    from ecnlab.validation import formula_page
    from ecnlab.validation.formula_checks import formula_checks
    from ecnlab.validation.formulas import AGREES, run_formula_checks

    if write is not None and quick:
        raise UsageError("--write and --quick exclude each other; fix: omit --quick")
    if write is not None and not write.parent.is_dir():
        raise UsageError(f"cannot write {write}: the folder {write.parent} does not exist")
    with options.open_store(store) as kept:
        outcomes = run_formula_checks(formula_checks(quick=quick), store=kept, progress=not quiet, workers=workers)
    failed = sum(outcome.verdict != AGREES for outcome in outcomes)
    if write is not None:
        write.write_text(formula_page.formula_page(outcomes), encoding="utf-8")
    if as_json:
        output.print_json({"checks": [outcome.to_dict() for outcome in outcomes], "failed": failed})
    elif not quiet:
        _print_formula_checks(outcomes, failed)
    sys.exit(EXIT_DISAGREES if failed else 0)


@validate.command("fingerprints")
@options.threads_option
@options.json_option
@options.quiet_option
def compare_with_fingerprints(threads: int | None, as_json: bool, quiet: bool) -> None:
    """Compare every packaged example with a run on another machine.

    The fingerprint of a run with seed 1 has each event with its time. It is the same on every system and processor.
    """
    from ecnlab.validation.fingerprints import compare_fingerprints

    outcomes = compare_fingerprints(options.threads_or_cluster_from_options(threads, None), progress=not quiet)
    different = [outcome for outcome in outcomes if not outcome.is_equal]
    if as_json:
        output.print_json({"fingerprints": [outcome.to_dict() for outcome in outcomes], "different": len(different)})
    elif not quiet:
        for outcome in different:
            output.print_line(f"FAIL  {outcome.example}: {outcome.computed or 'is missing'}, recorded {outcome.recorded or 'none'}")
        output.print_line(f"{count_text(len(outcomes), 'example')}, {len(outcomes) - len(different)} equal, {len(different)} different")
    sys.exit(EXIT_DISAGREES if different else 0)


def _print_linux_case_outcomes(outcomes: Sequence[KernelCaseOutcome], totalled: dict[str, dict[str, int]], *, excerpts: bool) -> None:
    modes = list(totalled)
    name_wide = max(len(outcome.name) for outcome in outcomes)
    kind_wide = max(len(outcome.kind) for outcome in outcomes)
    wide = max(len("not comparable"), *map(len, modes))
    output.print_line(f"{'case':<{name_wide}}  {'kind':<{kind_wide}}  {'  '.join(f'{way:<{wide}}' for way in modes)}".rstrip())
    for outcome in outcomes:
        verdicts = "  ".join(f"{judgement.verdict:<{wide}}" for judgement in outcome.judgements)
        output.print_line(f"{outcome.name:<{name_wide}}  {outcome.kind:<{kind_wide}}  {verdicts}".rstrip())
        for judgement in outcome.judgements:
            if judgement.verdict != "exact":
                output.print_line(f"    {judgement.way}: {judgement.agreed} of {judgement.packets} packets the same; {judgement.why}")
            for row in judgement.excerpt if excerpts else ():
                output.print_line(f"        {row}")
    for way, counts in totalled.items():
        counts_text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
        output.print_line(f"{way}: {count_text(sum(counts.values()), 'case')}, {counts_text}")


def _print_formula_checks(outcomes: Sequence[FormulaOutcome], failed: int) -> None:
    from ecnlab.validation import formula_page

    rows = [formula_page.formula_outcome_cells(outcome) for outcome in outcomes]
    output.print_tables([TextTable("formulas", formula_page.TABLE_HEADER, rows, formula_page.TABLE_HEADER)])
    output.print_line(f"{count_text(len(outcomes), 'check')}, {len(outcomes) - failed} agree, {failed} fail")


def _print_ns2_comparisons(listed: Sequence[CellComparison], totalled: dict[str, dict[str, int]]) -> None:
    for row in dict.fromkeys((c.file, c.row) for c in listed):
        lines = [_ns2_comparison_row(c) for c in listed if (c.file, c.row) == row]
        output.print_tables([TextTable(": ".join(row), _TABLE_HEADER, lines, ("quantity", "verdict"))])
    names = ("compared", "agreeing", "explained", "open")
    rows = [[file, *(str(count[name]) for name in names)] for file, count in totalled.items()]
    output.print_tables([TextTable("totals", ["file", *names], rows)])


def _ns2_comparison_row(comparison: CellComparison) -> list[str]:
    numbers = (
        comparison.ns2.mean,
        comparison.ns2.sd,
        comparison.ours.mean,
        comparison.ours.sd,
        comparison.difference_from_ns2,
        comparison.allowed,
    )
    verdict = f"{comparison.verdict}: {comparison.reason}" if comparison.reason else comparison.verdict
    return [comparison.column, *(f"{value:.5g}" for value in numbers), verdict]
