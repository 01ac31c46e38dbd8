"""`ecnlab doctor`: what this machine permits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import click

from ecnlab.cli import EXIT_FAILED, options, output
from ecnlab.display.cells import TextTable

if TYPE_CHECKING:
    from ecnlab.backends.doctor import DoctorReport

_TEXT_COLUMNS = ("what", "works", "found", "fix")


@click.command()
@click.option("--backend", metavar="NAME", help="Exit with status 1 unless this backend works (default: unless live or uml does).")
@click.option("--on", hidden=True)
@options.json_option
def doctor(backend: str | None, on: str | None, as_json: bool) -> None:
    """Show what works on this machine, and how to fix what does not.

    Each "no" is followed by its remedy. The command changes nothing: it probes features in temporary namespaces.
    """
    from ecnlab.backends import doctor as examining
    from ecnlab.backends.registry import require_backend_name

    named = options.merge_renamed_backend_option([backend] if backend else [], [on] if on else [])
    wanted = require_backend_name(named[0]) if named else None
    report = examining.run_backend_checks()
    if as_json:
        output.print_json(report.to_dict())
    else:
        output.print_tables(_check_tables(report))
        for name in examining.CHECKED_BACKENDS:
            output.print_line(f"--backend {name}: {'works' if report.is_backend_usable(name) else 'does not work'}")
    works = report.is_backend_usable(wanted) if wanted else any(map(report.is_backend_usable, examining.KERNEL_BACKENDS))
    if not works:
        raise click.exceptions.Exit(EXIT_FAILED)


def _check_tables(report: DoctorReport) -> Iterator[TextTable]:
    for backend, checks in groupby(report.checks, key=lambda check: check.backend):
        rows = [
            [check.name, "yes" if check.works else "no" if check.needed else "no (optional)", check.found, check.remedy] for check in checks
        ]
        yield TextTable(backend, _TEXT_COLUMNS, rows, _TEXT_COLUMNS)
