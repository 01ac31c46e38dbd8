"""`ecnlab check`: the conformance suite over an AQM, ours or the user's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ecnlab.cli import DISAGREES, options
from ecnlab.errors import UnknownName

if TYPE_CHECKING:
    from ecnlab.cli.table import Table

_PACKETS = 100_000
_WORDS = {True: "ok", False: "FAILS", None: "not judged"}


@click.command()
@click.argument("aqm", metavar="NAME|FILE:CLASS")
@options.as_json
@options.quiet
@options.prints_apart
def check(aqm: str, as_json: bool, quiet: bool) -> None:
    """Try an AQM against the rules that always hold.

    NAME is one of ours, FILE:CLASS one of yours, as in my_aqm.py:MyAqm. It is run with its defaults, with the values that it names
    as busy, and with random values within the bounds of its parameters. RFC 7567's duties are figures and fail nobody.
    """
    from ecnlab.cli import output

    report = _report(aqm)
    raised = report["checks"][0]["ok"] is False  # what it let pass after that says nothing of the other rules
    failed = [rule for rule in report["checks"] if rule["ok"] is False or (rule["ok"] is None and not raised)]
    if as_json:
        output.say_json(report)
    elif not quiet:
        output.say_tables(_tables(report))
        output.say(_cost(report))
    for rule in failed:
        output.tell(f"{report['name']}: {rule['name']}: {rule['sentence']} {rule['found'] or 'It could not be judged.'}")
    if failed:
        raise click.exceptions.Exit(DISAGREES)


def _report(name: str) -> dict[str, Any]:
    from ecnlab import _core, brought, catalog, sources
    from ecnlab.interrupts import in_thread

    of_file = ".py" in name
    cls = sources.loaded(name) if of_file else None
    subject = name if cls is None else brought.entry_of(cls)
    called = "a compiled hook" if cls is not None and cls.compiled else "the check"
    if not of_file and name not in (known := [entry.name for entry in catalog.entries("aqm")]):
        raise UnknownName("AQM", name, known)
    report: dict[str, Any] = json.loads(in_thread(lambda: _core.check_aqm(subject), called))
    if report["checks"][0]["ok"]:  # one that raises has no cost
        report["cost_ns"] = in_thread(lambda: _core.cost_of_aqm(subject, _PACKETS), called)
        report["cost_of_red_ns"] = _core.cost_of_aqm("red", _PACKETS)
    return report


def _cost(report: dict[str, Any]) -> str:
    if "cost_ns" not in report:
        return "cost: it cannot be told of an AQM that raises"
    return f"cost: {report['cost_ns']:.0f} ns a packet through the queue; RED built in: {report['cost_of_red_ns']:.0f} ns"


def _tables(report: dict[str, Any]) -> list[Table]:
    from ecnlab.cli.table import Table

    rules = [[rule["name"], _WORDS[rule["ok"]], rule["sentence"]] for rule in report["checks"]]
    duties = [[duty["name"], duty["verdict"], duty["found"], duty["section"], duty["sentence"]] for duty in report["duties"]]
    checked = ("rule", "", "what always holds")
    asked = ("duty", "met", "found", "section", "what RFC 7567 asks")
    return [Table(f"{report['name']}: rules", checked, rules, checked), Table(f"{report['name']}: duties", asked, duties, asked)]
