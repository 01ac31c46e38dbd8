"""`ecnlab sweep`: a scenario over a grid or a list of points, times seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import EXIT_FAILED, options, output
from ecnlab.cli.text import count_text
from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from ecnlab.backends.base import Backend
    from ecnlab.execution.workers import Workers
    from ecnlab.storage.store import Store
    from ecnlab.sweeps.file import SweepFile
    from ecnlab.sweeps.plan import SweepPlan
    from ecnlab.sweeps.sweep import Sweep


@click.command()
@click.argument("file", type=options.PATH, callback=options.resolve_example_argument)
@options.repeatable_option(
    "--vary",
    "vary",
    "KEY=VALUES",
    "Vary one parameter, e.g. link.bottleneck.queue.max_p=0.1,0.5 or flows.far.count=10..40 step 10; repeatable.",
)
@options.set_option("Change one parameter at all points; repeatable.")
@options.aqm_option
@options.seed_option("those of the file, else 1")
@options.seeds_option("those of the file, else only seed 1")
@options.backend_options
@options.workers_options
@options.store_option
@options.repeatable_option("--table", "tables", "NAME", "Also write this table, e.g. flows; repeatable.")
@options.out_option("DIR", "The sweep's folder (default: results/sweep-NAME).")
@options.json_option
@options.quiet_option
def sweep(
    file: Path,
    vary: Sequence[str],
    overrides: dict[str, str],
    aqms: Sequence[str],
    seed: str | None,
    seeds: str | None,
    backend: Backend | None,
    workers: Workers,
    store: Path,
    tables: Sequence[str],
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a scenario at many points, over seeds.

    FILE is a sweep file (TOML), or a scenario whose parameters --vary names. The results of all points are written as one table of each
    kind. Runs in the store are not repeated: the same command continues an interrupted sweep, and a longer one adds the missing runs.
    """
    from ecnlab.storage.filenames import safe_file_name
    from ecnlab.sweeps import run
    from ecnlab.sweeps.folder import prepare_sweep_folder

    asked = _sweep_from_file_or_options(file, vary)
    if both := sorted(overrides.keys() & asked.grid.keys()):
        raise UsageError("\n".join(f"--set {key}: the sweep varies it; fix: omit one of the two" for key in both))
    more = [*asked.tables, *tables]
    asked = replace(asked, changes={**asked.changes, **overrides}, aqms=[*asked.aqms, *aqms], tables=more, backend=backend or asked.backend)
    chosen = asked.seeds if asked.seeds and seed is None and seeds is None else options.seeds_from_options(seed, seeds, "1..1")
    with options.name_set_option_in_problems(overrides):
        made = run.plan_parsed_sweep_file(asked)
    output.print_warnings(made.warnings, str(asked.scenario))
    folder = prepare_sweep_folder(out or Path("results") / f"sweep-{safe_file_name(asked.name)}", made, chosen)
    with options.open_store(store) as kept:
        if not (quiet or as_json):
            output.print_to_stderr(_planned_runs_text(made, chosen, kept))
        done = run.run_sweep_plan(made, chosen, tables=more, name=asked.name, store=kept, out=folder, workers=workers, progress=not quiet)
    _print_sweep_report(done, made, folder, as_json=as_json, quiet=quiet)


def _sweep_from_file_or_options(file: Path, vary: Sequence[str]) -> SweepFile:
    """The sweep from the file and the options. Raises UsageError."""
    from ecnlab.sweeps import file as files

    grid = _grid_from_options(vary)
    if not file.is_file() or not files.is_sweep_file(file):
        if not grid:
            raise UsageError(
                f"{file}: is a scenario, and no parameter is varied; fix: add --vary KEY=VALUES, e.g. --vary flows.far.count=10,20,40"
                if file.is_file()
                else f"cannot read {str(file)!r}: " + ("it is a folder; fix: name a file" if file.is_dir() else "no such file")
            )
        ends = [key.rsplit(".", 1)[-1] for key in grid]
        return files.SweepFile(None, "-".join([file.stem, *ends]), file, grid=grid)
    asked = files.read_sweep_file(file)
    twice = sorted(set(asked.grid) & set(grid))
    if twice:
        raise UsageError(f"--vary {twice[0]}: {file} varies it too; fix: omit one of them")
    return replace(asked, grid={**asked.grid, **grid})


def _grid_from_options(vary: Sequence[str]) -> dict[str, str]:
    """Read `--vary KEY=VALUES` options. Raises UsageError naming every invalid one."""
    grid = options.parse_key_value_options("--vary", vary, "flows.far.count=10,20,40", "KEY=VALUES")
    keys = [one.partition("=")[0].strip() for one in vary]
    twice = [key for key in grid if keys.count(key) > 1]
    if twice:
        raise UsageError("\n".join(f"--vary {key}: is given twice; fix: give all values in one" for key in twice))
    return grid


def _planned_runs_text(made: SweepPlan, seeds: Sequence[int], store: Store) -> str:
    """Numbers of points, seeds and runs as text."""
    unlike = {point.scenario.hash: point.scenario for point in made.points}
    runs = [(key, seed, scenario.record) for key, scenario in unlike.items() for seed in seeds]
    stored = sum(store.batches.has_run(*run) for run in runs)
    counts = ", ".join([count_text(len(made.points), "point"), count_text(len(seeds), "seed")])
    return f"{counts}: {count_text(len(runs), 'run')}" + (f", of which {stored} are stored already" if stored else "")


def _print_sweep_report(done: Sweep, made: SweepPlan, folder: Path, *, as_json: bool, quiet: bool) -> None:
    from ecnlab.sweeps import summary

    source = made.base.source
    output.print_warnings([warning for warning in done.warnings if warning not in made.warnings], source)
    if as_json:
        output.print_json(summary.sweep_to_dict(done))
    elif not quiet:
        output.print_tables(summary.sweep_tables(done))
        output.print_line(f"sweep in {folder}: {', '.join(done.tables)}, summary")
    for failure in done.failures:
        output.print_to_stderr(
            f"failed: point {failure.point} ({made.points[failure.point - 1].values_as_text}), seed {failure.seed}: {failure.message}"
        )
    if done.failures:
        output.print_to_stderr("the same command repeats the failed runs")
        raise click.exceptions.Exit(EXIT_FAILED)
