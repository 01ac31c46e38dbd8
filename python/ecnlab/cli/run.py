"""`ecnlab run`: one scenario over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ecnlab.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from ecnlab.results import Result
    from ecnlab.scenarios import Scenario


def run(
    file: Annotated[Path, typer.Argument(help="scenario file (TOML)", show_default=False)],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="change one parameter, e.g. flows.fragile.count=40"),
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="run this seed (default 1)")] = None,
    seeds: Annotated[str | None, typer.Option(metavar="A..B", help="run several seeds: 1..20 or 1,4,9")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="results folder (default results/NAME-HASH)")] = None,
    json: Annotated[bool, typer.Option("--json", help="print the summary as JSON and nothing else")] = False,
) -> None:
    """Run a scenario and keep its results in a folder; seeds that the folder already has are not run again."""
    from ecnlab import runner, scenarios

    chosen_seeds = _seeds(seed, seeds)
    chosen = scenarios.load(file, overrides(changes or []))
    folder = out or _default_folder(file, chosen)
    try:
        result = runner.run(chosen, chosen_seeds, out=folder, progress=True)
    except Interrupted as error:
        raise Interrupted(f"{error}; they are kept in {folder}, and the same command goes on from there", error.result) from None
    figures = result.plot.save_all(folder / "figures")
    _report(result, folder, figures, as_json=json)


def overrides(changes: Sequence[str]) -> dict[str, str]:
    """Read `--set a.b=v` options. Raises UsageError naming every one that has no key or no "="."""
    pairs = [change.partition("=") for change in changes]
    bad = [change for change, (key, equals, _) in zip(changes, pairs, strict=True) if not (key.strip() and equals)]
    if bad:
        raise UsageError("\n".join(f"--set {change!r}: write KEY=VALUE, e.g. flows.fragile.count=40" for change in bad))
    return {key.strip(): value.strip() for key, _, value in pairs}


def _seeds(seed: str | None, seeds: str | None) -> list[int]:
    from ecnlab.seeds import parse_seed, parse_seeds

    if seed is not None and seeds is not None:
        raise UsageError("--seed and --seeds exclude each other")
    return parse_seed(seed or "1") if seeds is None else parse_seeds(seeds)


def _default_folder(file: Path, chosen: Scenario) -> Path:
    return Path("results") / f"{file.stem}-{chosen.hash[:8]}"


def _report(result: Result, folder: Path, figures: Sequence[str], *, as_json: bool) -> None:
    from ecnlab.cli import output

    if as_json:
        output.print_json(result.summary_json())
        return
    console = output.console()
    for table in output.result_tables(result):
        console.print(table)
    console.print(f"results in {folder}" + (f", figures {', '.join(figures)} in {folder / 'figures'}" if figures else ""))
