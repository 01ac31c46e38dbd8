"""`ecnlab validate`: comparison with ns-2 and with formulas."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from ecnlab.validate.formulas import Outcome
    from ecnlab.validate.tables import Comparison

_HEADER = ("quantity", "ns-2", "sd", "ours", "sd", "difference", "allowed", "verdict")

app = typer.Typer(help="Comparison with ns-2 and with formulas.", no_args_is_help=True)


@app.command("packet-exact")
def packet_exact(
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="folder of cases (default: the package's own)")] = None,
) -> None:
    """Compare single-flow cases with ns-2 packet by packet; exit code 1 if any differs."""
    from ecnlab.validate import packets

    outcomes = packets.check_folder(folder or packets.OWN_CASES)
    width = max(len(outcome.name) for outcome in outcomes)
    for outcome in outcomes:
        print(
            f"{'ok  ' if outcome.ok else 'FAIL'}  {outcome.name:<{width}}  {outcome.events:>6} events  {outcome.difference or ''}".rstrip()
        )
    failed = sum(not outcome.ok for outcome in outcomes)
    print(f"{len(outcomes)} cases, {len(outcomes) - failed} exact, {failed} different")
    raise typer.Exit(1 if failed else 0)


@app.command()
def tables(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="tables of ns-2's columns (default: the package's own)"),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", help="seeds 1 .. N of ours")] = 20,
    every: Annotated[bool, typer.Option("--all", help="list what agrees as well")] = False,
    json: Annotated[bool, typer.Option("--json", help="print everything as JSON and nothing else")] = False,
) -> None:
    """Compare tables with ns-2's; exit code 1 if a disagreement is unexplained."""
    from ecnlab.validate.tables import OWN_TABLES, compare_files, totals

    if not 2 <= seeds <= 100_000:
        raise UsageError(f"--seeds {seeds} is out of range: an interval needs 2 seeds or more, and 100000 are enough")
    comparisons = compare_files(files or OWN_TABLES, range(1, seeds + 1), progress=True)
    counted = totals(comparisons)
    if json:
        _print_json(comparisons, counted)
    else:
        _print_tables([c for c in comparisons if every or c.verdict != "agrees"], counted)
    raise typer.Exit(1 if counted["total"]["open"] else 0)


@app.command()
def formulas(
    quick: Annotated[bool, typer.Option("--quick", help="only the checks that take seconds")] = False,
    json: Annotated[bool, typer.Option("--json", help="print everything as JSON and nothing else")] = False,
    write: Annotated[Path | None, typer.Option(metavar="FILE", help="write the page of formulas with the measured values")] = None,
) -> None:
    """Compare throughput, windows and queues with formulas; exit code 1 if a check fails."""
    from ecnlab.validate import formula_page
    from ecnlab.validate.formula_checks import checks
    from ecnlab.validate.formulas import AGREES, run_checks

    if write is not None and quick:
        raise UsageError("--write needs all checks: leave out --quick")
    if write is not None and not write.parent.is_dir():
        raise UsageError(f"cannot write {write}: there is no folder {write.parent}")
    outcomes = run_checks(checks(quick=quick), progress=True)
    failed = sum(outcome.verdict != AGREES for outcome in outcomes)
    if write is not None:
        write.write_text(formula_page.page(outcomes), encoding="utf-8")
    if json:
        from ecnlab.cli import output

        output.print_json({"checks": [outcome.plain() for outcome in outcomes], "failed": failed})
    else:
        _print_formulas(outcomes, failed)
    raise typer.Exit(1 if failed else 0)


def _print_formulas(outcomes: Sequence[Outcome], failed: int) -> None:
    from ecnlab.cli import output
    from ecnlab.validate import formula_page

    output.console().print(output.table("formulas", formula_page.HEADER, map(formula_page.cells, outcomes)))
    print(f"{len(outcomes)} checks, {len(outcomes) - failed} agree, {failed} fail")


def _print_json(comparisons: Sequence[Comparison], counted: dict[str, dict[str, int]]) -> None:
    from ecnlab.cli import output

    output.print_json({"totals": counted, "comparisons": [comparison.plain() for comparison in comparisons]})


def _print_tables(listed: Sequence[Comparison], counted: dict[str, dict[str, int]]) -> None:
    from ecnlab.cli import output

    console = output.console()
    for row in dict.fromkeys((c.file, c.row) for c in listed):
        lines = [_line(c) for c in listed if (c.file, c.row) == row]
        console.print(output.table(": ".join(row), _HEADER, lines))
    names = ("compared", "agreeing", "explained", "open")
    rows = [[file, *(str(count[name]) for name in names)] for file, count in counted.items()]
    console.print(output.table("totals", ["file", *names], rows))


def _line(comparison: Comparison) -> list[str]:
    numbers = (
        comparison.ns2.mean,
        comparison.ns2.sd,
        comparison.ours.mean,
        comparison.ours.sd,
        comparison.difference,
        comparison.allowed,
    )
    verdict = f"{comparison.verdict}: {comparison.reason}" if comparison.reason else comparison.verdict
    return [comparison.column, *(f"{value:.5g}" for value in numbers), verdict]
