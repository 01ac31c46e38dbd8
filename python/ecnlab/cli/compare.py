"""`ecnlab compare`: the difference between A and B for each quantity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import options, output
from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from ecnlab.backends.base import Backend
    from ecnlab.comparison.model import Comparison
    from ecnlab.execution.workers import Workers
    from ecnlab.scenarios.load import Scenario


@click.command()
@click.argument("a", callback=options.resolve_example_argument)
@click.argument("b", required=False, callback=options.resolve_example_argument)
@options.set_option("Change one parameter of B (default: B is A); repeatable.")
@options.aqm_option
@options.seed_option("those of a folder, else --seeds 10")
@options.seeds_option("those of a folder, else 10")
@options.repeatable_option("--quantity", "quantities", "NAME", "Only this quantity, e.g. goodput_bps; repeatable.")
@click.option("--all", "everything", is_flag=True, help="Show every quantity and every parameter that differs.")
@options.add_backend_options_per_side
@options.workers_options
@options.store_option
@options.json_option
@options.quiet_option
def compare(
    a: str,
    b: str | None,
    overrides: dict[str, str],
    aqms: Sequence[str],
    seed: str | None,
    seeds: str | None,
    quantities: Sequence[str],
    everything: bool,
    backends: Sequence[Backend],
    workers: Workers,
    store: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare two runs, with confidence intervals.

    A and B are two scenario files, which are run over the same seeds, two results folders, or the folders of two sweeps, which are
    compared point by point. Values of one seed are paired, so that shared random draws cancel. The largest change is listed first.
    With --backend twice, A runs on the first backend and B, by default the same scenario, on the second.
    """
    from ecnlab.comparison import compare as comparing

    other = _second_side_with_overrides(a, b, overrides, aqms, number=len(backends))
    chosen = None if seed is None and seeds is None else options.seeds_from_options(seed, seeds, "1..10")
    with options.name_folder_when_interrupted(store):
        found = comparing.compare(
            a,
            other,
            aqms=aqms,
            seeds=chosen,
            backend=backends if len(backends) > 1 else next(iter(backends), None),
            quantities=quantities,
            store=store,
            workers=workers,
            progress=not quiet,
        )
    files = dict(zip(found.names, (a, a if b is None else b), strict=True))
    for name, warning in dict.fromkeys((files[name], warning) for name, warning in found.warnings):  # once per file
        output.print_warnings([warning], name)
    if as_json:
        output.print_json(found.to_dict())
    elif not quiet:
        _print_comparison(found, everything=everything or bool(quantities))


def _second_side_with_overrides(a: str, b: str | None, overrides: dict[str, str], aqms: Sequence[str], *, number: int) -> str | Scenario:
    """Side B (A unless given) with its changes applied. Raises UsageError."""
    from ecnlab.scenarios.load import load

    if b is None and not overrides and number < options.MAX_SIDES:
        raise UsageError(
            f"B: is missing; fix: name a second file, change {a} with --set flows.far.count=40, "
            "or name two backends, as in --backend sim --backend uml"
        )
    side = a if b is None else b
    if not overrides:
        return side
    if Path(side).is_dir():
        raise UsageError(f"--set: {side} is a finished run; fix: name its scenario file")
    with options.name_set_option_in_problems(overrides):
        return load(side, overrides, aqms=aqms)


def _print_comparison(found: Comparison, *, everything: bool) -> None:
    """Print a comparison as text; all of it, or the parameters and rows that matter most."""
    from ecnlab.comparison import summary

    for name, title in zip(found.names, found.titles, strict=True):
        output.print_line(f"{name}: {title}")
    for note in found.notes:
        output.print_line(f"note: {note}")
    output.print_tables(summary.differing_parameter_tables(found, everything=everything))
    if not found.rows:
        output.print_line("no quantity is in both")
        return
    if everything:
        output.print_tables(summary.difference_tables(found, found.rows, len(found.rows)))
    else:
        output.print_tables(summary.main_quantity_tables(found))
        output.print_tables(summary.difference_tables(found, found.differing_rows, summary.MAX_SHOWN_ROWS))
    output.print_line(found.difference_count_text() + ("" if everything else "; --all shows everything"))
