"""docs/parameters.md and the tables of docs/measures.md, written from the engine's own declarations.

`python -m ecnlab.docs` writes the pages, `python -m ecnlab.docs --check` compares them and exits with 1 if one is stale.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ecnlab import _core

PAGE = Path(__file__).parents[2] / "docs" / "parameters.md"
MEASURES = PAGE.with_name("measures.md")

_HEAD = """# Parameters

Written by `python -m ecnlab.docs` from the declarations in the engine; change those, not this page.
`ecnlab show NAME` prints the same for one entry. A default that is empty must be given.
"""
_COLUMNS = ("parameter", "default", "bounds", "unit", "meaning", "source")

Entry = Mapping[str, Any]


def page() -> str:
    """The whole page."""
    registry = json.loads(_core.registry())
    parts = [_HEAD, "## Queues (`aqm`)\n", *_entries(registry["aqm"])]
    parts += ["## TCP profiles (`profile`)\n", *_profiles(registry["tcp"])]
    parts += ["## TCP variants (`variant`)\n", _variants(registry["variant"])]
    parts += ["## Traffic sources (`app`)\n", *_entries(registry["app"])]
    return "\n".join(parts)


def _entries(entries: Iterable[Entry]) -> list[str]:
    """Each entry with the parameters that no earlier one has declared in the same words, and the names of the others."""
    owners: dict[str, str] = {}
    parts = []
    for entry in entries:
        mine: list[Entry] = []
        borrowed: dict[str, list[str]] = {}
        for row in entry["parameters"]:
            owner = owners.setdefault(json.dumps(row), entry["name"])
            if owner == entry["name"]:
                mine.append(row)
            else:
                borrowed.setdefault(owner, []).append(row["name"])
        parts += [_about(entry), *_borrowed(borrowed), *([_table(_COLUMNS, map(_row, mine))] if mine else [])]
    return parts


def _profiles(profiles: Sequence[Entry]) -> list[str]:
    """The profiles, and one table of all parameters with a default for each profile."""
    names = [profile["name"] for profile in profiles]
    defaults = [{row["name"]: row["default"] for row in profile["parameters"]} for profile in profiles]
    rows = ([_code(row["name"]), *(_code(d[row["name"]]) for d in defaults), *_row(row)[2:]] for row in profiles[0]["parameters"])
    header = ("parameter", *map(_code, names), *_COLUMNS[2:])
    return [*map(_about, profiles), "### Parameters of every profile\n", _table(header, rows)]


def _variants(variants: Sequence[Entry]) -> str:
    """What each variant sets."""
    rows = [
        [_code(v["name"]), v["title"], ", ".join(_code(f"{row['name']} = {row['default']}") for row in v["parameters"]), v["source"]]
        for v in variants
    ]
    return _table(("variant", "what", "sets", "source"), rows)


def _about(entry: Entry) -> str:
    return f"### `{entry['name']}`: {entry['title']}\n\n{entry['summary']}\nSource: {entry['source']}.\n"


def _borrowed(borrowed: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"As in `{owner}`: {', '.join(map(_code, names))}.\n" for owner, names in borrowed.items()]


def _row(row: Entry) -> list[str]:
    return [_code(row["name"]), _code(row["default"]), row["bounds"], row["unit"], row["doc"], row["source"]]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


# A table says again what up to so many columns mean that it shares with an earlier one.
_FEW = 5
_COLUMNS_OF = re.compile(r"<!-- columns: ([\w ]+) -->\n.*?<!-- end of columns -->\n", re.DOTALL)


def measures_page(text: str) -> str:
    """The page of measures with its tables of columns as the engine declares them."""
    tables = {table["name"]: table for table in json.loads(_core.columns())}

    def written(found: re.Match[str]) -> str:
        parts = [f"<!-- columns: {found[1]} -->\n", *_columns([tables[name] for name in found[1].split()]), "<!-- end of columns -->\n"]
        return "\n".join(parts)

    return _COLUMNS_OF.sub(written, text)


def _columns(tables: Iterable[Entry]) -> list[str]:
    """Each table; where it shares many columns with an earlier one, only their names."""
    owners: dict[str, str] = {}
    parts = []
    for table in tables:
        columns = table["columns"]
        shared = [column for column in columns if json.dumps(column) in owners]
        if len(shared) <= _FEW:
            shared = []
        borrowed: dict[str, list[str]] = {}
        for column in shared:
            borrowed.setdefault(owners[json.dumps(column)], []).append(column["name"])
        rows = ([_code(column["name"]), column["unit"], _meaning(column)] for column in columns if column not in shared)
        doc = table["doc"]
        parts += [
            f"### `{table['name']}`\n",
            f"{doc[0].upper()}{doc[1:]}.\n",
            _table(("column", "unit", "meaning"), rows),
            *_borrowed(borrowed),
        ]
        owners = {json.dumps(column): table["name"] for column in columns} | owners
    return parts


def _meaning(column: Entry) -> str:
    """What a column says, with the words that stand in it."""
    words = ", ".join(map(_code, column["words"]))
    return f"{column['doc']} ({words})" if words else str(column["doc"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or compare them; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ecnlab.docs", description="Write the pages of docs/ that declarations make.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing; exit code 1 if a page is stale")
    parser.add_argument("--file", type=Path, default=PAGE, help="the page of parameters (default: docs/parameters.md of the checkout)")
    parser.add_argument("--measures", type=Path, default=MEASURES, help="the page of measures (default: docs/measures.md of the checkout)")
    chosen = parser.parse_args(arguments)
    pages = {chosen.file: page(), chosen.measures: measures_page(chosen.measures.read_text(encoding="utf-8"))}
    if not chosen.check:
        for file, text in pages.items():
            file.write_text(text, encoding="utf-8")
        return 0
    stale = [file for file, text in pages.items() if not file.is_file() or file.read_text(encoding="utf-8") != text]
    for file in stale:
        print(f"{file} is stale: run python -m ecnlab.docs", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
