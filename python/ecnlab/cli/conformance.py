"""`ecnlab test-aqm`: the conformance suite over an AQM, ours or the user's."""

from __future__ import annotations

import json
from typing import Any

import click

from ecnlab.cli import EXIT_DISAGREES, options, output
from ecnlab.display.cells import TextTable
from ecnlab.errors import UnknownName

_TIMED_PACKETS = 100_000
_TEXT_COLUMNS = {True: "ok", False: "FAILS", None: "not judged"}


@click.command("test-aqm")
@click.argument("aqm", metavar="NAME|FILE:CLASS")
@options.json_option
@options.quiet_option
@options.redirect_prints_to_stderr
def test_aqm(aqm: str, as_json: bool, quiet: bool) -> None:
    """Test an AQM against the rules for every AQM.

    NAME is a built-in AQM, FILE:CLASS a user-defined one, as in my_aqm.py:MyAqm. The test uses its defaults, the test values of its class,
    and random values within the bounds of its parameters. The duties of RFC 7567 are only reported.
    """
    report = _conformance_report(aqm)
    raised = report["checks"][0]["ok"] is False  # an AQM that raised tests none of the other rules
    failed = [rule for rule in report["checks"] if rule["ok"] is False or (rule["ok"] is None and not raised)]
    if as_json:
        output.print_json(report)
    elif not quiet:
        output.print_tables(_conformance_tables(report))
        output.print_line(_time_per_packet_text(report))
    for rule in failed:
        output.print_to_stderr(f"{report['name']}: {rule['name']}: {rule['sentence']} {rule['found'] or 'Not measurable.'}")
    if failed:
        raise click.exceptions.Exit(EXIT_DISAGREES)


def _conformance_report(name: str) -> dict[str, Any]:
    from ecnlab import _core
    from ecnlab.aqm import fingerprint, plugins
    from ecnlab.execution.interrupts import run_interruptibly_in_thread
    from ecnlab.packaged_examples import resolve_example_in_reference
    from ecnlab.scenarios import catalog

    name = resolve_example_in_reference(name)
    of_file = ".py" in name
    cls = fingerprint.load_aqm_class(name) if of_file else None
    subject = name if cls is None else plugins.registry_entry_of_aqm(cls)
    called = "a compiled hook" if cls is not None and cls.compiled else "the check"
    if not of_file and name not in (known := [entry.name for entry in catalog.entries("aqm")]):
        raise UnknownName("AQM", name, known, catalog.fix_for_other_tools_name(name))
    report: dict[str, Any] = json.loads(run_interruptibly_in_thread(lambda: _core.check_aqm(subject), called))
    if report["checks"][0]["ok"]:  # an AQM that raised has no cost per packet
        report["cost_ns"] = run_interruptibly_in_thread(lambda: _core.cost_of_aqm(subject, _TIMED_PACKETS), called)
        report["cost_of_red_ns"] = _core.cost_of_aqm("red", _TIMED_PACKETS)
    return report


def _time_per_packet_text(report: dict[str, Any]) -> str:
    if "cost_ns" not in report:
        return "cost: not measured, because the AQM raised an exception"
    return f"cost: {report['cost_ns']:.0f} ns per packet through the queue; built-in RED: {report['cost_of_red_ns']:.0f} ns"


def _conformance_tables(report: dict[str, Any]) -> list[TextTable]:
    rules = [[rule["name"], _TEXT_COLUMNS[rule["ok"]], rule["sentence"]] for rule in report["checks"]]
    duties = [[duty["name"], duty["verdict"], duty["found"], duty["section"], duty["sentence"]] for duty in report["duties"]]
    checked = ("rule", "", "requirement")
    asked = ("duty", "met", "found", "section", "requirement of RFC 7567")
    return [TextTable(f"{report['name']}: rules", checked, rules, checked), TextTable(f"{report['name']}: duties", asked, duties, asked)]
