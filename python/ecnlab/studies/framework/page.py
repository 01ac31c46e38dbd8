"""The page of a study, STUDY.md in its folder: its question, results, causes and choices.

Between `<!-- judgements -->` and `<!-- /judgements -->` are two readers' judgements of the claims.
The report omits the table between `<!-- claims -->` and `<!-- /claims -->`, since it shows the claims of its own runs. The page's text
and the causes that claims give refer to a full run, whose verdicts are in that table.
`update_page` writes the table from a full run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ecnlab import studies
from ecnlab.studies.framework import judgements
from ecnlab.studies.framework.claims import ClaimVerdict, StatementStatus
from ecnlab.studies.framework.model import Study

_CLAIMS_MARK = re.compile(r"(<!-- claims -->\n).*?(<!-- /claims -->\n?)", re.DOTALL)
_JUDGEMENTS_MARK = re.compile(r"(<!-- judgements -->\n).*?(<!-- /judgements -->\n?)", re.DOTALL)
_VERDICT_PATTERN = re.compile(r"^\| (\w+) \|.*\| \*\*([a-z ]+)\*\* \|$", re.MULTILINE)
_TITLE_PATTERN = re.compile(r"\A# .*\n")
_CLAIM_COLUMNS = ("claim", "sentence", "statements", "deciding statement", "published", "ours", "ns-2", "set-ups", "verdict")


def page_path(name: str) -> Path:
    """The path of a study's page."""
    return studies.folder_of_study(name) / "STUDY.md"


def page_as_html(name: str) -> str:
    """The page as HTML without its title and its table of claims, empty where the study has none.

    Of links the text alone stays, so that the report leads nowhere outside.
    """
    path = page_path(name)
    if not path.is_file():
        return ""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("link_open", _omit_link_tag)
    reader.add_render_rule("link_close", _omit_link_tag)
    tokens = reader.parse(_TITLE_PATTERN.sub("", _CLAIMS_MARK.sub("", path.read_text(encoding="utf-8"))))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
    rendered: str = reader.renderer.render(tokens, reader.options, {})
    return rendered


def read_full_run_verdicts(name: str) -> dict[str, ClaimVerdict]:
    """The verdicts of a full run by claim, from the page; empty if it has none."""
    path = page_path(name)
    found = _CLAIMS_MARK.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    return {id_: ClaimVerdict(verdict) for id_, verdict in _VERDICT_PATTERN.findall(found[0])} if found else {}


def _omit_link_tag(*_arguments: object) -> str:
    return ""


def page_with_claims(text: str, claims: Sequence[Mapping[str, Any]]) -> str:
    """The text of a page with the table of these claims, as in claims.json. Raises ValueError if the page has no marks for it."""
    if not _CLAIMS_MARK.search(text):
        raise ValueError("the page is missing the lines <!-- claims --> and, below it, <!-- /claims -->")
    rows = [_CLAIM_COLUMNS, ["---"] * len(_CLAIM_COLUMNS), *map(_claim_row, claims)]
    maps = "".join(_verdict_by_setup_text(claim) for claim in claims if claim["verdict"] == ClaimVerdict.DEPENDS)
    text_of = _markdown_table(rows) + maps + _alternatives_table(claims)
    return _CLAIMS_MARK.sub(lambda match: f"{match[1]}\n{text_of}\n{match[2]}", text)


def page_with_judgements(text: str, study: Study) -> str:
    """The text of a page with two readers' judgements of each claim, if it has marks for them."""
    found = judgements.reader_judgements_of_study(study.name)
    rows = [["claim", "reader 1", "reader 2", "reasons"], ["---"] * 4]
    rows += [[id_, *judged.words, markdown_cell(" ".join(judged.reasons))] for id_, judged in found.items()]
    return _JUDGEMENTS_MARK.sub(lambda match: f"{match[1]}\n{_markdown_table(rows)}\n{match[2]}", text)


def _markdown_table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _verdict_by_setup_text(claim: Mapping[str, Any]) -> str:
    """The set-ups of a claim with the verdict in each, the main one first."""
    names = list(claim["setups"][0]["values"])
    header = [*names, "verdict", "decided by"]
    rows = [
        [*(markdown_cell(setup["values"][name]) for name in names), setup["verdict"], _deciding_statement_text(claim, setup)]
        for setup in claim["setups"]
    ]
    parameters = ", ".join(claim["depends_on"]) or "combinations of values"
    table = _markdown_table([header, ["---"] * len(header), *rows])
    return f"\n{claim['id']} depends on {markdown_cell(parameters)} (the first row is the main set-up):\n\n{table}"


def _alternatives_table(claims: Sequence[Mapping[str, Any]]) -> str:
    """The verdicts that an alternative changes in the main set-up, a row for each alternative."""
    changed: dict[str, list[str]] = {}
    for claim in claims:
        main = claim["setups"][0]["verdict"] if claim["setups"] else claim["verdict"]
        for name, found in claim["alternatives"].items():
            rows = changed.setdefault(name, [])
            if found["verdict"] != main:
                rows.append(f"{claim['id']} {found['verdict']} ({main})")
    if not changed:
        return ""
    table = [["alternative", "verdicts that it changes (verdict of the main set-up)"], ["---"] * 2]
    table += [[markdown_cell(name), ", ".join(found) or "none"] for name, found in changed.items()]
    return f"\nAlternatives, which do not count for the verdicts:\n\n{_markdown_table(table)}"


def _deciding_statement_text(claim: Mapping[str, Any], setup: Mapping[str, Any]) -> str:
    statement, found = (of["statements"][setup["decided_by"]] for of in (claim, setup))
    return f"{markdown_cell(statement['statement'])}: {_our_number_text(found, statement)}"


def _our_number_text(found: Mapping[str, Any], statement: Mapping[str, Any]) -> str:
    """Our number with its interval and unit, as text."""
    if found["ours"] is None:
        return ""
    digits, unit = statement["digits"], f" {statement['unit']}" if statement["unit"] else ""
    half = "" if found["half_width"] is None else f" ± {found['half_width']:.{digits}f}"
    return f"{found['ours']:.{digits}f}{half}{unit}"


def _setup_verdict_counts_cell(claim: Mapping[str, Any]) -> str:
    counts = Counter(setup["verdict"] for setup in claim["setups"])
    return ", ".join(f"{verdict} in {count}" for verdict, count in counts.most_common())


def _claim_row(claim: Mapping[str, Any]) -> list[str]:
    """A claim's row, with the numbers of its deciding statement."""
    deciding_statement = claim["statements"][claim["decided_by"]]
    supported = sum(statement["standing"] == StatementStatus.SUPPORTED for statement in claim["statements"])
    digits, unit = deciding_statement["digits"], f" {deciding_statement['unit']}" if deciding_statement["unit"] else ""
    return [
        claim["id"],
        markdown_cell(claim["sentence"]),
        f"{supported} of {len(claim['statements'])} supported",
        f"{markdown_cell(deciding_statement['statement'])}: {markdown_cell(deciding_statement['range'])}{unit}",
        "" if deciding_statement["published"] is None else f"{deciding_statement['published']:g}{unit}",
        _our_number_text(deciding_statement, deciding_statement),
        "" if deciding_statement["ns2"] is None else f"{deciding_statement['ns2']:.{digits}f}{unit}",
        _setup_verdict_counts_cell(claim),
        f"**{claim['verdict']}**",
    ]


def markdown_cell(text: str) -> str:
    """A cell of a table, escaped for Markdown."""
    return text.replace("|", "\\|")
