"""The page of a study, STUDY.md in its folder: what was asked, what is left open, what came out, and why.

Between `<!-- judgements -->` and `<!-- /judgements -->` stands how two readers judge the claims.
The report shows it without the piece between `<!-- claims -->` and `<!-- /claims -->`, since it has the claims of its own runs. What it
says, and what a claim says of why it does not hold, is said of a full run, whose verdicts stand in that piece.
`python -m ecnlab.studies.page NAME OUT STORE` writes that piece from the claims.json of a full run in the folder OUT, and what its runs
took, which the store has, into costs.json.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ecnlab import studies
from ecnlab.studies import judgements
from ecnlab.studies.claims import Standing, Verdict
from ecnlab.studies.model import Study

_CLAIMS = re.compile(r"(<!-- claims -->\n).*?(<!-- /claims -->\n?)", re.DOTALL)
_JUDGEMENTS = re.compile(r"(<!-- judgements -->\n).*?(<!-- /judgements -->\n?)", re.DOTALL)
_VERDICT = re.compile(r"^\| (\w+) \|.*\| \*\*([a-z ]+)\*\* \|$", re.MULTILINE)
_TITLE = re.compile(r"\A# .*\n")
_COLUMNS = ("claim", "what it says", "statements", "that which decides", "published", "ours", "ns-2", "set-ups", "verdict")


def path_of(name: str) -> Path:
    """Where the page of the study of that name is, or would be."""
    return studies.folder(name) / "STUDY.md"


def html(name: str) -> str:
    """The page as HTML without its title and its piece of claims, empty where the study has none.

    Of links the text alone stays, so that the report leads nowhere outside.
    """
    path = path_of(name)
    if not path.is_file():
        return ""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("link_open", _nothing)
    reader.add_render_rule("link_close", _nothing)
    tokens = reader.parse(_TITLE.sub("", _CLAIMS.sub("", path.read_text(encoding="utf-8"))))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
    rendered: str = reader.renderer.render(tokens, reader.options, {})
    return rendered


def verdicts_in_full(name: str) -> dict[str, Verdict]:
    """The verdicts of a full run by claim, as the page has them; empty where none was written into it."""
    path = path_of(name)
    found = _CLAIMS.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    return {id_: Verdict(verdict) for id_, verdict in _VERDICT.findall(found[0])} if found else {}


def _nothing(*_arguments: object) -> str:
    return ""


def with_claims(text: str, claims: Sequence[Mapping[str, Any]]) -> str:
    """The text of a page with the table of these claims, as claims.json has them. Raises ValueError if it has no place for it."""
    if not _CLAIMS.search(text):
        raise ValueError("the page has no line <!-- claims --> with <!-- /claims --> below it")
    rows = [_COLUMNS, ["---"] * len(_COLUMNS), *map(_row, claims)]
    maps = "".join(_map(claim) for claim in claims if claim["verdict"] == Verdict.DEPENDS)
    text_of = _table(rows) + maps + _alternatives(claims)
    return _CLAIMS.sub(lambda match: f"{match[1]}\n{text_of}\n{match[2]}", text)


def with_judgements(text: str, study: Study) -> str:
    """The text of a page with how two readers judge each claim, where it has a place for that."""
    found = judgements.of_study(study.name)
    rows = [["claim", "reader 1", "reader 2", "reasons"], ["---"] * 4]
    rows += [[id_, *judged.words, cell(" ".join(judged.reasons))] for id_, judged in found.items()]
    return _JUDGEMENTS.sub(lambda match: f"{match[1]}\n{_table(rows)}\n{match[2]}", text)


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _map(claim: Mapping[str, Any]) -> str:
    """The set-ups of a claim with the verdict in each, the main one first."""
    names = list(claim["setups"][0]["values"])
    header = [*names, "verdict", "decided by"]
    rows = [[*(cell(setup["values"][name]) for name in names), setup["verdict"], _decided_by(claim, setup)] for setup in claim["setups"]]
    parameters = ", ".join(claim["depends_on"]) or "combinations of values"
    table = _table([header, ["---"] * len(header), *rows])
    return f"\n{claim['id']} depends on {cell(parameters)} (the first row is the main set-up):\n\n{table}"


def _alternatives(claims: Sequence[Mapping[str, Any]]) -> str:
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
    table += [[cell(name), ", ".join(found) or "none"] for name, found in changed.items()]
    return f"\nAlternatives, which do not count for the verdicts:\n\n{_table(table)}"


def _decided_by(claim: Mapping[str, Any], setup: Mapping[str, Any]) -> str:
    statement, found = (of["statements"][setup["decided_by"]] for of in (claim, setup))
    return f"{cell(statement['statement'])}: {_ours(found, statement)}"


def _ours(found: Mapping[str, Any], statement: Mapping[str, Any]) -> str:
    """Our number with its interval and unit, as text."""
    if found["ours"] is None:
        return ""
    digits, unit = statement["digits"], f" {statement['unit']}" if statement["unit"] else ""
    half = "" if found["half_width"] is None else f" ± {found['half_width']:.{digits}f}"
    return f"{found['ours']:.{digits}f}{half}{unit}"


def _over_setups(claim: Mapping[str, Any]) -> str:
    counts = Counter(setup["verdict"] for setup in claim["setups"])
    return ", ".join(f"{verdict} in {count}" for verdict, count in counts.most_common())


def _row(claim: Mapping[str, Any]) -> list[str]:
    """A claim's row, with the numbers of the statement that decides it."""
    told = claim["statements"][claim["decided_by"]]
    supported = sum(statement["standing"] == Standing.SUPPORTED for statement in claim["statements"])
    digits, unit = told["digits"], f" {told['unit']}" if told["unit"] else ""
    return [
        claim["id"],
        cell(claim["sentence"]),
        f"{supported} of {len(claim['statements'])} supported",
        f"{cell(told['statement'])}: {cell(told['range'])}{unit}",
        "" if told["published"] is None else f"{told['published']:g}{unit}",
        _ours(told, told),
        "" if told["ns2"] is None else f"{told['ns2']:.{digits}f}{unit}",
        _over_setups(claim),
        f"**{claim['verdict']}**",
    ]


def cell(text: str) -> str:
    """A cell of a table as Markdown has it."""
    return text.replace("|", "\\|")


def main(arguments: Sequence[str]) -> int:
    """Write what came of a full run into the page of a study, and what it took; returns the exit code."""
    from ecnlab.studies import cost, runner

    if len(arguments) != 3:
        print("python -m ecnlab.studies.page NAME OUT STORE: a study, and the report and the store of a full run of it", file=sys.stderr)
        return 2
    name, out, store = arguments
    study = studies.find(name)
    told = json.loads((Path(out) / "claims.json").read_text(encoding="utf-8"))
    is_full = told["seeds"] == list(runner.FULL_SEEDS) and told["all_setups"]
    if not is_full or [claim["id"] for claim in told["claims"]] != [claim.id for claim in study.claims]:
        print(f"{out}: a page takes a full run; fix: ecnlab study run {name} --out {out}", file=sys.stderr)
        return 2
    path = path_of(name)
    text = with_claims(path.read_text(encoding="utf-8"), told["claims"])
    path.write_text(with_judgements(text, study), encoding="utf-8")
    results, _ = runner.choose(study, told["seeds"]).plan.run(Path(store), progress=True)
    cost.note(study, results.values())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
