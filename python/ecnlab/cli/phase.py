"""`ecnlab phase`: scenarios whose measures depend on a phase lock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import options, output
from ecnlab.display.cells import TextTable
from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ecnlab.comparison.phase import PhaseEffect
    from ecnlab.execution.workers import Workers
    from ecnlab.scenarios.load import Scenario


@click.command(no_args_is_help=True)
@click.argument("files", metavar="[FILE]...", nargs=-1, callback=options.resolve_example_argument)
@options.repeatable_option("--study", "studies", "NAME", "Every scenario of this study's main set-up; repeatable.")
@options.aqm_option
@options.seeds_option("10")
@options.repeatable_option("--measure", "measures", "NAME", "Only this measure, e.g. goodput_bps; repeatable.")
@click.option("--jitter", metavar="TIME", default="packet", help="The maximum of the processing time (default: packet).")
@click.option("--all", "everything", is_flag=True, help="Show every scenario, also those without a phase effect.")
@options.workers_options
@options.store_option
@options.json_option
@options.quiet_option
def phase(
    files: Sequence[str],
    studies: Sequence[str],
    aqms: Sequence[str],
    seeds: str | None,
    measures: Sequence[str],
    jitter: str,
    everything: bool,
    workers: Workers,
    store: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find scenarios whose measures depend on a phase lock.

    Each scenario runs with and without a random processing time of up to one packet's transmission time at every sender. A measure moves if
    its change is significant over all measures (false discovery rate 5 %) and at least 5 % of its mean.
    """
    from ecnlab.comparison.phase import phase_effects
    from ecnlab.scenarios.load import load

    asked = [*((file, load(file, aqms=aqms)) for file in files), *_scenarios_of_studies(studies)]
    if not asked:
        raise UsageError("phase: the scenario is missing; fix: name a scenario file, or a study as in --study aecn")
    with options.open_store(store) as opened:
        effects = phase_effects(
            [scenario for _, scenario in asked],
            options.seeds_from_options(None, seeds, "1..10"),
            measures=measures,
            jitter=jitter,
            store=opened,
            workers=workers,
            progress=not quiet,
        )
    few = [warning for effect in effects for warning in effect.warnings]
    output.print_warnings(few[:1], None)
    named = [(source, effect) for (source, _), effect in zip(asked, effects, strict=True)]
    if as_json:
        output.print_json([{"source": source, **effect.to_dict()} for source, effect in named])
    elif not quiet:
        shown = [pair for pair in named if everything or pair[1].found]
        output.print_tables(_phase_effect_tables(shown))
        output.print_line(f"phase effects in {sum(effect.found for effect in effects)} of {len(effects)} scenarios")


def _scenarios_of_studies(names: Sequence[str]) -> Iterator[tuple[str, Scenario]]:
    from ecnlab import studies
    from ecnlab.studies.framework.phase import study_scenarios_without_recording

    for name in names:
        for scenario in study_scenarios_without_recording(studies.find_study(name)):
            yield f"study {name}", scenario


def _phase_effect_tables(named: Sequence[tuple[str, PhaseEffect]]) -> Iterator[TextTable]:
    rows = [
        [
            source,
            effect.scenario,
            "yes" if effect.is_deterministic else "no",
            f"{len(effect.moved_rows)} of {len(effect.rows)}",
            effect.largest,
        ]
        for source, effect in named
    ]
    if rows:
        header = ["of", "scenario", "deterministic", "moved", "largest changes"]
        yield TextTable("phase effects", header, rows, ["of", "scenario", "deterministic", "largest changes"])
