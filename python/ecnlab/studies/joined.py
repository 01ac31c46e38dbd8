"""Several reports of one study in one table: what each tier has of a statement, beside what was published.

It is made of their claims.json alone: verdicts, means and intervals are those that each report has.
`python -m ecnlab.studies.joined REPORT REPORT ...` writes it into the page of the study, between `<!-- tiers -->` and `<!-- /tiers -->`.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from ecnlab.atomic import read_stored
from ecnlab.errors import ResultsError, UsageError
from ecnlab.seeds import listed_seeds
from ecnlab.studies import page
from ecnlab.studies.claims import Standing, Verdict
from ecnlab.studies.verdicts import SIGNS, STANDING_SIGNS

_PLACE = re.compile(r"(<!-- tiers -->\n).*?(<!-- /tiers -->\n?)", re.DOTALL)
_PLAIN_HOSTS = {"name": "sim"}


@dataclass(frozen=True)
class Joined:
    """A table: a row for each claim and, below it, for each of its statements.

    Attributes
    ----------
    study : str
        The study's name.
    header : sequence of str
        The columns' names; those of reports say tier and seeds.
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
        """The table as a page has it."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "".join(f"| {' | '.join(map(page.cell, line))} |\n" for line in lines)


def join(reports: Sequence[Path]) -> Joined:
    """The table of these folders of reports, a column each, in their order.

    Raises
    ------
    UsageError
        None was given, or they are of unlike studies.
    ResultsError
        A folder holds no report.
    """
    told = [_read(report) for report in reports]
    names = list(dict.fromkeys(report["study"] for report in told))
    if len(names) != 1:
        found = f"these are of {', '.join(names)}" if names else "none was given"
        raise UsageError(f"a table joins reports of one study: {found}")
    header = ["claim", "statement", "holds if", "published", *map(_heading, told)]
    return Joined(names[0], header, [row for id_, claim in _claims(told).items() for row in _rows(id_, claim, told)])


def _read(folder: Path) -> dict[str, Any]:
    path = folder / "claims.json"
    try:
        told = json.loads(read_stored(path))
    except (OSError, ValueError) as error:
        raise ResultsError(f"{folder} holds no report of a study: {path}: {error}; `ecnlab study run` writes one") from None
    if not isinstance(told, dict) or not {"study", "seeds", "claims"} <= told.keys():
        raise ResultsError(f"{folder} holds no report of a study: {path} has no study, seeds and claims")
    return told


def _heading(report: Mapping[str, Any]) -> str:
    """The tier of a report and its seeds: "boxed, seeds 1..10"."""
    tier = report.get("tier", _PLAIN_HOSTS)["name"]
    hosts = " with kernels' hosts" if tier == "sim" and report.get("kernel_hosts") else ""
    return f"{tier}{hosts}, seeds {listed_seeds(report['seeds'])}"


def _claims(reports: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Every claim that one of them decides, as the first that has it tells it, by their names."""
    found: dict[str, Mapping[str, Any]] = {}
    for report in reports:
        for claim in report["claims"]:
            found.setdefault(claim["id"], claim)
    return dict(sorted(found.items(), key=lambda item: _natural(item[0])))


def _natural(id_: str) -> list[tuple[int, str]]:
    """ "R10" behind "R9"."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", id_)]


def _rows(id_: str, claim: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    decided = [{claim["id"]: claim for claim in report["claims"]}.get(id_) for report in reports]
    rows = [[id_, claim["sentence"], "", "", *("" if of is None else _verdict(of) for of in decided)]]
    for statement in claim["statements"]:
        text, unit = statement["statement"], f" {statement['unit']}" if statement["unit"] else ""
        weighed = [_find(of, text) for of in decided]
        published = "" if statement["published"] is None else f"{statement['published']:g}{unit}"
        rows.append(["", text, f"{statement['range']}{unit}", published, *("" if of is None else _number(of, unit) for of in weighed)])
    return rows


def _find(claim: Mapping[str, Any] | None, text: str) -> Mapping[str, Any] | None:
    return None if claim is None else next((statement for statement in claim["statements"] if statement["statement"] == text), None)


def _verdict(claim: Mapping[str, Any]) -> str:
    supported = sum(statement["standing"] == Standing.SUPPORTED for statement in claim["statements"])
    return f"{SIGNS[Verdict(claim['verdict'])]} {claim['verdict']} ({supported} of {len(claim['statements'])})"


def _number(statement: Mapping[str, Any], unit: str) -> str:
    """Mean, interval and standing: "55.2 ± 4.1 % ✓"."""
    if statement["ours"] is None:
        return "no number"
    digits = statement["digits"]
    half = "" if statement["half_width"] is None else f" ± {statement['half_width']:.{digits}f}"
    return f"{statement['ours']:.{digits}f}{half}{unit} {STANDING_SIGNS[Standing(statement['standing'])]}"


def with_table(text: str, table: Joined) -> str:
    """The text of a page with the table in its place. Raises ValueError if it has none."""
    if not _PLACE.search(text):
        raise ValueError("the page has no line <!-- tiers --> with <!-- /tiers --> below it")
    return _PLACE.sub(lambda match: f"{match[1]}\n{table.as_markdown()}\n{match[2]}", text)


def main(arguments: Sequence[str]) -> int:
    """Write the table of these reports into the page of their study; returns the exit code."""
    if not arguments:
        print("python -m ecnlab.studies.joined REPORT ...: reports of one study, one for each tier", file=sys.stderr)
        return 2
    table = join([Path(argument) for argument in arguments])
    path = page.path_of(table.study)
    path.write_text(with_table(path.read_text(encoding="utf-8"), table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
