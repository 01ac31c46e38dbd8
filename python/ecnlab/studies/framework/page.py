"""The page of a study, STUDY.md in its folder: its question, results, causes and choices.

Between `<!-- judgements -->` and `<!-- /judgements -->` are two readers' judgements of the claims.
The report omits the table between `<!-- claims -->` and `<!-- /claims -->`, since it shows the claims of its own runs. The page's text
and the causes that claims give refer to a full run, whose verdicts are in that table.
`update_page` writes the table from a full run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ecnlab import studies
from ecnlab.studies.framework import judgements
from ecnlab.studies.framework.claims import ClaimVerdict, StatementStatus
from ecnlab.studies.framework.model import Study

_MARKED_PATTERN = r"(<!-- {0} -->\n).*?(<!-- /{0} -->\n?)"
_CLAIMS_MARK = re.compile(_MARKED_PATTERN.format("claims"), re.DOTALL)
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
    reader.add_render_rule("link_open", _render_anchor_tag_as_empty)
    reader.add_render_rule("link_close", _render_anchor_tag_as_empty)
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


def _render_anchor_tag_as_empty(*_arguments: object) -> str:
    return ""


def page_with_claims(text: str, claims: Sequence[Mapping[str, Any]]) -> str:
    """The text of a page with the table of these claims, as in claims.json. Raises ValueError if the page has no marks for it."""
    maps = "".join(_verdict_by_setup_text(claim) for claim in claims if claim["verdict"] == ClaimVerdict.DEPENDS)
    return replace_marked_part(text, "claims", markdown_table(_CLAIM_COLUMNS, map(_claim_row, claims)) + maps + _alternatives_table(claims))


def replace_marked_part(text: str, name: str, part: str) -> str:
    """The text of a page with this part between its marks of that name. Raises ValueError if it has none."""
    found, count = re.subn(_MARKED_PATTERN.format(name), lambda match: f"{match[1]}\n{part}\n{match[2]}", text, flags=re.DOTALL)
    if not count:
        raise ValueError(f"the page is missing the lines <!-- {name} --> and, below it, <!-- /{name} -->")
    return found


def page_with_judgements(text: str, study: Study) -> str:
    """The text of a page with two readers' judgements of each claim, if it has marks for them."""
    if "<!-- judgements -->" not in text:
        return text
    found = judgements.reader_judgements_of_study(study.name)
    rows = [[id_, *judged.words, " ".join(judged.reasons)] for id_, judged in found.items()]
    return replace_marked_part(text, "judgements", markdown_table(["claim", "reader 1", "reader 2", "reasons"], rows))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of these cells, escaped for Markdown."""
    return "".join(f"| {' | '.join(map(_escape_for_table, row))} |\n" for row in (header, ["---"] * len(header), *rows))


def _escape_for_table(text: str) -> str:
    return text.replace("|", "\\|")


def _verdict_by_setup_text(claim: Mapping[str, Any]) -> str:
    """The set-ups of a claim with the verdict in each, the main one first."""
    names = list(claim["setups"][0]["values"])
    rows = []
    for setup in claim["setups"]:
        statement, found = (of["statements"][setup["decided_by"]] for of in (claim, setup))
        decisive = f"{statement['statement']}: {measured_number_text(found, statement)}"
        rows.append([*(setup["values"][name] for name in names), setup["verdict"], decisive])
    parameters = ", ".join(claim["depends_on"]) or "combinations of values"
    table = markdown_table([*names, "verdict", "decided by"], rows)
    return f"\n{claim['id']} depends on {_escape_for_table(parameters)} (the first row is the main set-up):\n\n{table}"


def _alternatives_table(claims: Sequence[Mapping[str, Any]]) -> str:
    """The verdicts that an alternative changes in the main set-up, a row for each alternative."""
    changed: dict[str, list[str]] = {}
    for claim in claims:
        main = claim["setups"][0]["verdict"] if claim["setups"] else claim["verdict"]
        for name, found in claim["alternatives"].items():
            verdicts = changed.setdefault(name, [])
            if found["verdict"] != main:
                verdicts.append(f"{claim['id']} {found['verdict']} ({main})")
    if not changed:
        return ""
    rows = [[name, ", ".join(verdicts) or "none"] for name, verdicts in changed.items()]
    table = markdown_table(["alternative", "verdicts that it changes (verdict of the main set-up)"], rows)
    return f"\nAlternatives, which do not count for the verdicts:\n\n{table}"


def measured_number_text(found: Mapping[str, Any], statement: Mapping[str, Any]) -> str:
    """Our number with its interval and unit, as text; empty where there is none."""
    if found["ours"] is None:
        return ""
    digits = statement["digits"]
    half = "" if found["half_width"] is None else f" ± {found['half_width']:.{digits}f}"
    return f"{found['ours']:.{digits}f}{half}{unit_text(statement)}"


def unit_text(statement: Mapping[str, Any]) -> str:
    """The unit of a statement, as it follows a number."""
    return f" {statement['unit']}" if statement["unit"] else ""


def published_number_text(statement: Mapping[str, Any]) -> str:
    """The published number with its unit, as text; empty where there is none."""
    return "" if statement["published"] is None else f"{statement['published']:g}{unit_text(statement)}"


def supported_statements_text(claim: Mapping[str, Any]) -> str:
    """How many statements of a claim are supported: "2 of 3"."""
    supported = sum(statement["standing"] == StatementStatus.SUPPORTED for statement in claim["statements"])
    return f"{supported} of {len(claim['statements'])}"


def _claim_row(claim: Mapping[str, Any]) -> list[str]:
    """A claim's row, with the numbers of its deciding statement."""
    decisive = claim["statements"][claim["decided_by"]]
    setups = Counter(setup["verdict"] for setup in claim["setups"])
    return [
        claim["id"],
        claim["sentence"],
        f"{supported_statements_text(claim)} supported",
        f"{decisive['statement']}: {decisive['range']}{unit_text(decisive)}",
        published_number_text(decisive),
        measured_number_text(decisive, decisive),
        "" if decisive["ns2"] is None else f"{decisive['ns2']:.{decisive['digits']}f}{unit_text(decisive)}",
        ", ".join(f"{verdict} in {count}" for verdict, count in setups.most_common()),
        f"**{claim['verdict']}**",
    ]
