"""Text that `ecnlab study` prints about a study: its parts, figures and claims, its runs and their duration, and its verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ecnlab.cli import output
from ecnlab.cli.text import count_text
from ecnlab.display.cells import TextTable

if TYPE_CHECKING:
    from ecnlab.studies.framework.claims import ClaimDecision
    from ecnlab.studies.framework.model import Study
    from ecnlab.studies.framework.runner import StudySelection

_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


def verdict_table(decisions: Sequence[ClaimDecision]) -> TextTable:
    """A line for each claim; a verdict is not folded."""
    from ecnlab.studies.framework import verdicts

    rows = [
        [
            d.claim.id,
            f"{verdicts.VERDICT_SIGNS[d.verdict]} {d.verdict}".replace(" ", _NO_BREAK_SPACE),
            d.claim.sentence,
            _parameters_that_change_verdict_text(d),
        ]
        for d in decisions
    ]
    header: tuple[str, ...] = ("claim", "verdict", "sentence", "depends on")
    if not any(row[-1] for row in rows):
        rows, header = [row[:-1] for row in rows], header[:-1]
    return TextTable("claims", header, rows, header)


def _parameters_that_change_verdict_text(decision: ClaimDecision) -> str:
    from ecnlab.studies.framework import verdicts

    return ", ".join(verdicts.parameters_that_change_verdict(decision.setups))


def print_study_and_write_scenarios(name: str, numbers: Sequence[str], ids: Sequence[str], folder: Path | None = None) -> None:
    """Print what a study is, or, if figures or claims are named, what is run for these, and write its scenarios into a folder.

    Raises UnknownName, ResultsError (the folder cannot be written).
    """
    from ecnlab import studies
    from ecnlab.studies.framework import runner

    study = studies.find_study(name)
    chosen = runner.select_from_study(study, runner.seeds_of_full_run(study), numbers, ids)
    if numbers or ids:
        _print_selected_items_and_claims(chosen)
    else:
        _print_study_overview(study)
    _print_run_counts_and_durations(chosen, runner.select_from_study(study, runner.QUICK_SEEDS, numbers, ids, all_setups=False))
    if folder is not None:
        _write_scenario_files(chosen, folder)


def _write_scenario_files(chosen: StudySelection, folder: Path) -> None:
    from ecnlab.studies.framework import extract

    paths = extract.write_scenario_files([planned.scenario for planned in chosen.plan.planned_scenarios], folder)
    output.print_line(f"{count_text(len(paths), 'scenario')} in {folder}, for example {paths[0]}")


def _print_study_overview(study: Study) -> None:
    for part in (f"{study.name} (study): {study.title}", study.summary, f"source: {study.source}"):
        output.print_paragraph(part)
    for part, items in groupby(study.items, key=lambda item: item.part):
        output.print_line(f"{part or 'figures and tables'}:")
        for item in items:
            output.print_line(f"  {item.heading:<12} {item.title}")
    if study.claims:
        output.print_line("claims:")
    for claim in study.claims:
        output.print_paragraph(f"  {claim.id:<4} {claim.sentence}")
    if study.open_parameters:
        output.print_line("open parameters, each with its admitted values (* main):")
    for parameter in study.open_parameters:
        values = ", ".join(f"{value}*" if value == parameter.main else value for value in parameter.values)
        output.print_paragraph(f"  {parameter.name}: {values}. {parameter.reason}")
    if study.alternatives:
        output.print_line("alternatives, which do not count for verdicts:")
    for alternative in study.alternatives:
        output.print_paragraph(f"  {alternative.name}: {alternative.evidence}")


def _print_selected_items_and_claims(chosen: StudySelection) -> None:
    """The items, the claims with their statements, and all their scenarios."""
    for item in chosen.items:
        output.print_paragraph(f"{item.heading}: {item.title}. {item.caption}")
    for claim in chosen.claims:
        output.print_paragraph(f"{claim.id}: {claim.sentence}")
        if claim.quote:
            output.print_paragraph(f"  the paper: {claim.quote}")
        if claim.reading:
            output.print_paragraph(f"  how it is read: {claim.reading}")
        for statement in claim.statements:
            unit = f" {statement.shown.unit}" if statement.shown.unit else ""
            output.print_paragraph(f"  {statement.text}: {statement.range.words}{unit}")
    setups = _setup_texts_by_scenario_hash(chosen)
    rows = [
        [p.scenario.name, setups[p.scenario.hash], p.scenario.hash[:16], ", ".join(p.recorded), str(len(p.seeds))]
        for p in chosen.plan.planned_scenarios
    ]
    header = ("scenario", "set-up", "key", "recorded", "seeds")
    output.print_tables([TextTable("scenarios", header, rows, header[:-1])])


def _setup_texts_by_scenario_hash(chosen: StudySelection) -> dict[str, str]:
    """The first set-up that has each scenario: the values that differ from the main set-up, or the name of an alternative."""
    texts = {planned.scenario.hash: "main" for planned in chosen.plan.planned_scenarios}
    if chosen.setups is None:
        return texts
    setups = chosen.setups
    named = {chosen.plan.scenario_of_need(need).hash for claim in chosen.claims for need in claim.required_scenarios()}
    for claim in chosen.claims:
        names = setups.parameters_changing_claim_scenarios(claim)
        for setup in (*setups.others, *setups.alternatives):
            values = setup.values.items()
            text = setup.name or ", ".join(
                f"{name}: {value}" for name, value in values if name in names and value != setups.main.values[name]
            )
            for need in claim.required_scenarios():
                found = chosen.plan.scenario_of_need(setups.scenario_in_setup(setup, need)).hash
                if found not in named:
                    named.add(found)
                    texts[found] = text
    return texts


def _print_run_counts_and_durations(chosen: StudySelection, quick: StudySelection) -> None:
    from ecnlab.studies.framework import cost

    for word, part in (("in full", chosen), ("with --quick", quick)):
        seeds = [len(planned.seeds) for planned in part.plan.planned_scenarios]
        told = cost.study_duration_text(part.study, sum(seeds), len(part.items))
        output.print_line(f"{word}: {count_text(len(seeds), 'scenario')}, {count_text(sum(seeds), 'run')}{told}")
