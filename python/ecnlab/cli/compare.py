"""`ecnlab compare`: how B differs from A, quantity by quantity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ecnlab.cli import options
from ecnlab.errors import Interrupted


@click.command()
@click.argument("a")
@click.argument("b")
@options.seed("those of a folder, else --seeds 10")
@options.seeds("those of a folder, else 10")
@click.option("--quantity", "quantities", metavar="NAME", multiple=True, help="Only this quantity, e.g. goodput_bps; repeatable.")
@click.option("--all", "everything", is_flag=True, help="Show every quantity and every parameter that differs.")
@options.threads
@options.cluster
@options.store
@options.as_json
@options.quiet
def compare(
    a: str,
    b: str,
    seed: str | None,
    seeds: str | None,
    quantities: Sequence[str],
    everything: bool,
    threads: int | None,
    cluster: str | None,
    store: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Tell how B differs from A, with intervals.

    A and B are scenario files, which are run over the same seeds, or results folders, or the folders of two sweeps, which are compared
    point by point. Values of one seed are paired, so that the draws which both share cancel. The largest change comes first.
    """
    from ecnlab.cli import comparison, output
    from ecnlab.comparison import compare as comparing

    chosen = None if seed is None and seeds is None else options.chosen_seeds(seed, seeds, "1..10")
    try:
        found = comparing.compare(
            a, b, seeds=chosen, quantities=quantities, store=store, workers=options.workers(threads, cluster), progress=not quiet
        )
    except Interrupted as error:
        raise Interrupted(f"{error}; they are kept in {store}, and the same command goes on from there", error.result) from None
    for name, warning in found.warnings:
        output.warn([warning], name)
    if as_json:
        output.say_json(found.json())
    elif not quiet:
        comparison.say(found, everything=everything or bool(quantities))
