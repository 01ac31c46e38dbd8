"""`ecnlab run`: one scenario over seeds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import catalog, options, output
from ecnlab.errors import Problem, UsageError

if TYPE_CHECKING:
    from ecnlab.backends.base import Backend
    from ecnlab.execution.workers import Workers
    from ecnlab.packet_traces.write import TraceTo
    from ecnlab.scenarios.load import Scenario
    from ecnlab.storage.results import Result

# Equal to the values in ecnlab.stats.precision, which is only imported when a scenario runs.
DEFAULT_MEASURE = "goodput"
MAX_SEEDS = 1000

_NOTHING_TO_DRAW = Problem(
    "record", None, "no figure was drawn: no series was recorded; fix: record one, e.g. with --set 'record.queue=10 ms'"
)


@click.command()
@click.argument("file", callback=options.resolve_example_argument)
@options.set_option("Change one parameter, e.g. flows.far.count=40; repeatable.")
@options.aqm_option
@options.seed_option("1")
@options.seeds_option("seed 1 alone; with --until 1000 at most")
@click.option(
    "--until",
    metavar="BOUND",
    help="Add seeds until the half width of the 95 % interval of the measure --of is at most BOUND, in % of the mean or "
    "with a unit, e.g. 1% or 10kbps. Starts with 10 seeds; --seeds is the maximum.",
)
@click.option(
    "--of",
    metavar="MEASURE",
    default=DEFAULT_MEASURE,
    shell_complete=catalog.complete_measure,
    help="Measure of --until and of the reliability line (default: goodput of all flows), e.g. far.goodput or bottleneck.sojourn_mean.",
)
@options.backend_options
@options.workers_options
@options.out_option("DIR", "Results folder (default: results/NAME-KEY).")
@click.option(
    "--trace",
    metavar="FILE",
    help="Write each packet's events: an ns-2 trace (.tr), a capture (.pcapng) or a table (.parquet); .gz or .zst after the first two. "
    "On uml also a folder of cases for `ecnlab validate linux` (.cases).",
)
@options.repeatable_option(
    "--trace-link",
    "trace_links",
    "NAME",
    "Link in the trace (default: all; in a capture those with a queue, in both directions); repeatable.",
)
@click.option(
    "--trace-bytes",
    metavar="N",
    type=click.IntRange(0, 65_535),
    help="Bytes of each packet in a capture (default: 128, enough for the headers).",
)
@click.option("--trace-ip", metavar="VERSION", type=click.Choice(["4", "6"]), help="IP version in a capture: 4 (default) or 6.")
@click.option("--record", is_flag=True, help="Record the arrivals and decisions of each queue, for `ecnlab replay`; sets record.arrivals.")
@click.option(
    "--phase", is_flag=True, help="Also check for a phase effect: run the scenario again with a random processing time at senders."
)
@click.option("--plot", is_flag=True, help="Draw figures of the recorded series after the run.")
@options.json_option
@options.quiet_option
def run(
    file: str,
    overrides: dict[str, str],
    aqms: Sequence[str],
    seed: str | None,
    seeds: str | None,
    until: str | None,
    of: str,
    backend: Backend | None,
    workers: Workers,
    out: Path | None,
    trace: str | None,
    trace_links: Sequence[str],
    trace_bytes: int | None,
    trace_ip: str | None,
    record: bool,
    phase: bool,
    plot: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a scenario and keep its results in a folder.

    FILE is a scenario file (TOML), or - for standard input. Seeds whose results are in the folder are not run again, so the same command
    continues an interrupted run. With --trace they run again, to write their traces.

    The line before the last reports the reliability of the numbers: the begin of the steady state, a phase effect found by --phase, and
    the width of the interval of --of.
    """
    from ecnlab.execution import runner
    from ecnlab.stats import precision
    from ecnlab.stats.robustness import robustness_of_result
    from ecnlab.storage import summary

    chosen_seeds = options.seeds_from_options(seed, seeds, f"1..{MAX_SEEDS if until else 1}")
    arrivals = {"record.arrivals": "true"} if record else {}
    with options.name_set_option_in_problems(overrides):
        scenario = _load_scenario(file, {**overrides, **arrivals}, aqms)
    scenario = scenario if backend is None else scenario.on_backend(backend)
    output.print_warnings(scenario.warnings, scenario.source)
    folder = out or Path("results") / f"{'stdin' if file == '-' else Path(file).stem}-{scenario.hash[:8]}"
    trace_to = _trace_from_options(trace, trace_links, trace_bytes, trace_ip)
    precision.parse_measure(of, scenario.group_names, scenario.queue_names)
    if phase:
        from ecnlab.comparison.phase import phase_effect, with_processing_time

        with_processing_time(scenario)  # raises if the scenario cannot run with it
    with options.name_folder_when_interrupted(folder):
        result = runner.run(
            scenario, chosen_seeds, out=folder, workers=workers, progress=not quiet, trace=trace_to, until=until, of=of, observe=True
        )
    base = result if len(result.seeds) > 1 else None  # without a base the effect is that of ten seeds
    effect = phase_effect(scenario, base=base, workers=workers, progress=not quiet) if phase else None
    trust = robustness_of_result(result, of, effect)
    output.print_warnings([warning for warning in [*result.warnings, *trust.warnings] if warning not in scenario.warnings], scenario.source)
    if as_json:
        output.print_json(result.summary_json() | {"robustness": trust.to_dict()})
    elif not quiet:
        output.print_tables(summary.result_tables(result))
        output.print_line(str(trust))
        output.print_line(f"results in {folder}")
    if plot or scenario.record.get("plot"):
        _draw_figures(result, folder, shown=not quiet, said=not (quiet or as_json))


def _load_scenario(file: str, overrides: dict[str, str], aqms: Sequence[str]) -> Scenario:
    from ecnlab.scenarios.load import load, scenario_from_toml_text

    if file != "-":
        return load(file, overrides, aqms=aqms)
    if sys.stdin is None:
        raise UsageError("cannot read standard input: it is closed")
    try:
        return scenario_from_toml_text(sys.stdin.buffer.read().decode(), overrides, "standard input", aqms=aqms)
    except UnicodeDecodeError:
        raise UsageError("cannot read standard input: it is not UTF-8 text") from None


def _trace_from_options(path: str | None, links: Sequence[str], keep: int | None, ip: str | None) -> TraceTo | None:
    if path is not None:
        from ecnlab.packet_traces import write

        return write.TraceTo(path, links, keep, int(ip) if ip else None)
    if links or keep is not None or ip:
        raise UsageError("--trace-link, --trace-bytes and --trace-ip require --trace; fix: add --trace FILE")
    return None


def _draw_figures(result: Result, folder: Path, *, shown: bool, said: bool) -> None:
    from ecnlab.cli import plot as figures

    if result.plot.possible_figure_kinds():
        figures.draw_result_figures(result, folder / "figures", shown=shown, said=said)
    else:
        output.print_warnings([_NOTHING_TO_DRAW], None)
