"""Several reports of one study in one table: each backend's number of a statement, beside the published one.

It is made of their claims.json alone: verdicts, means and intervals are those that each report has.
`python -m ecnlab.studies.framework.joined REPORT REPORT ...` writes it into the study's page, between `<!-- backends -->` and
`<!-- /backends -->`.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from ecnlab.errors import ResultsError, UsageError, natural_order_key
from ecnlab.scenarios.seeds import seeds_as_text
from ecnlab.storage.atomic import read_regular_file
from ecnlab.studies.framework import page
from ecnlab.studies.framework.claims import ClaimVerdict, StatementStatus
from ecnlab.studies.framework.verdicts import STATUS_SIGNS, VERDICT_SIGNS

_SIMULATED_HOSTS_TEXT = {"name": "sim"}


@dataclass(frozen=True)
class JoinedReportsTable:
    """A table: a row for each claim and, below it, for each of its statements.

    Attributes
    ----------
    study : str
        The study's name.
    header : sequence of str
        The columns' names; those of reports say backend and seeds.
    rows : sequence of sequence of str
        The cells as text: a verdict in a claim's row, mean, interval and standing in a statement's.
    """

    study: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def as_csv(self) -> str:
        """The table as CSV."""
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return text.getvalue()

    def as_markdown(self) -> str:
        """The table as Markdown."""
        return page.markdown_table(self.header, self.rows)


def reports_to_joined_table(reports: Sequence[Path]) -> JoinedReportsTable:
    """The table of these report folders, one column each, in their order.

    Raises
    ------
    UsageError
        None was given, or they are of unlike studies.
    ResultsError
        A folder holds no report.
    """
    contents = [_read_report(report) for report in reports]
    names = list(dict.fromkeys(report["study"] for report in contents))
    if len(names) != 1:
        found = f"these are of {', '.join(names)}" if names else "none was given"
        raise UsageError(f"reports: must be of one study; {found}")
    header = ["claim", "statement", "holds if", "published", *map(_report_heading, contents)]
    return JoinedReportsTable(
        names[0],
        header,
        [row for id_, claim in _all_claims_of_reports(contents).items() for row in _claim_and_statement_rows(id_, claim, contents)],
    )


def _read_report(folder: Path) -> dict[str, Any]:
    path = folder / "claims.json"
    try:
        content = json.loads(read_regular_file(path))
    except OSError as error:
        reason = f"cannot read {path}: {error.strerror or error}" if folder.exists() else f"{folder}: there is no such folder"
        raise ResultsError(f"{reason}; fix: name a folder that `ecnlab study run` has written") from None
    except ValueError as error:
        raise ResultsError(f"{path} is damaged: {error}; fix: run `ecnlab study run` again") from None
    if not isinstance(content, dict) or not {"study", "seeds", "claims"} <= content.keys():
        raise ResultsError(
            f"{folder} is not a study's report: study, seeds or claims are missing in {path}; fix: run `ecnlab study run` again"
        )
    return content


def _report_heading(report: Mapping[str, Any]) -> str:
    """The backend of a report and its seeds: "uml, seeds 1..10"."""
    backend = report.get("backend", report.get("tier", _SIMULATED_HOSTS_TEXT))["name"]  # reports of November 2026 say "tier"
    hosts = " with kernels' hosts" if backend == "sim" and report.get("kernel_hosts") else ""
    return f"{backend}{hosts}, seeds {seeds_as_text(report['seeds'])}"


def _all_claims_of_reports(reports: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Every claim that a report decides, from the first report that has it, sorted by name."""
    found: dict[str, Mapping[str, Any]] = {}
    for report in reports:
        for claim in report["claims"]:
            found.setdefault(claim["id"], claim)
    return dict(sorted(found.items(), key=lambda item: natural_order_key(item[0])))


def _claim_and_statement_rows(id_: str, claim: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    decided = [{claim["id"]: claim for claim in report["claims"]}.get(id_) for report in reports]
    rows = [[id_, claim["sentence"], "", "", *("" if of is None else _verdict_cell(of) for of in decided)]]
    for statement in claim["statements"]:
        text, wanted = statement["statement"], f"{statement['range']}{page.unit_text(statement)}"
        weighed = [_find_statement(of, text) for of in decided]
        cells = ("" if of is None else _measured_number_cell(of) for of in weighed)
        rows.append(["", text, wanted, page.published_number_text(statement), *cells])
    return rows


def _find_statement(claim: Mapping[str, Any] | None, text: str) -> Mapping[str, Any] | None:
    return None if claim is None else next((statement for statement in claim["statements"] if statement["statement"] == text), None)


def _verdict_cell(claim: Mapping[str, Any]) -> str:
    return f"{VERDICT_SIGNS[ClaimVerdict(claim['verdict'])]} {claim['verdict']} ({page.supported_statements_text(claim)})"


def _measured_number_cell(statement: Mapping[str, Any]) -> str:
    """Mean, interval and status: "55.2 ± 4.1 % ✓"."""
    number = page.measured_number_text(statement, statement)
    return f"{number} {STATUS_SIGNS[StatementStatus(statement['standing'])]}" if number else "no number"


def write_joined_table_into_study_page(arguments: Sequence[str]) -> int:
    """Write the table of these reports into the page of their study; returns the exit code."""
    if not arguments:
        print("python -m ecnlab.studies.framework.joined REPORT ...: reports of one study, one for each backend", file=sys.stderr)
        return 2
    table = reports_to_joined_table([Path(argument) for argument in arguments])
    path = page.page_path(table.study)
    path.write_text(page.replace_marked_part(path.read_text(encoding="utf-8"), "backends", table.as_markdown()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(write_joined_table_into_study_page(sys.argv[1:]))
