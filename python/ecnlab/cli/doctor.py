"""`ecnlab doctor`: what this machine permits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ecnlab.cli import FAILED, options

if TYPE_CHECKING:
    from ecnlab.cli.table import Table
    from ecnlab.tiers.doctor import Report

_WORDS = ("what", "works", "found", "what would do")


@click.command()
@click.option("--on", metavar="TIER", help="Leave with code 1 unless this tier works (default: unless live or boxed does).")
@options.as_json
def doctor(on: str | None, as_json: bool) -> None:
    """Tell on what scenarios can run on this machine.

    Each "no" has what would do beside it. Nothing is changed: what has to be tried is tried in namespaces that go at once.
    """
    from ecnlab.cli import output
    from ecnlab.tiers import chosen_name
    from ecnlab.tiers import doctor as examining

    wanted = None if on is None else chosen_name(on)
    report = examining.examine()
    if as_json:
        output.say_json(report.json())
    else:
        output.say_tables(_tables(report))
        for tier in examining.TIERS:
            output.say(f"--on {tier}: {'works' if report.works(tier) else 'does not work yet'}")
    works = report.works(wanted) if wanted else any(map(report.works, examining.REAL))
    if not works:
        raise click.exceptions.Exit(FAILED)


def _tables(report: Report) -> list[Table]:
    from ecnlab.cli.table import Table

    titles = dict.fromkeys(check.tier for check in report.checks)
    rows = {tier: [[c.name, _answer(c.works, c.needed), c.found, c.remedy] for c in report.checks if c.tier == tier] for tier in titles}
    return [Table(tier, _WORDS, rows[tier], _WORDS) for tier in titles]


def _answer(works: bool, needed: bool) -> str:
    return "yes" if works else "no" if needed else "no (optional)"
