"""`ecnlab list`, `show` and `schema`: what there is, told by the engine's own registry."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from ecnlab.errors import UnknownName

_KINDS = ("aqm", "tcp", "variant", "app", "study")

# A table's headings and the keys of the registry that stand under them.
_DECLARED = {"name": "name", "kind": "kind", "unit": "unit", "default": "default", "bounds": "bounds", "meaning": "doc", "source": "source"}
_IN_FORCE = {"name": "name", "value": "default", "bounds": "bounds", "unit": "unit", "meaning": "doc", "source": "source"}
_SET = {"name": "name", "value": "default", "meaning": "doc", "source": "source"}
_WIDEST = {"meaning": 42, "source": 30}  # so that a table of what is set fits 120 columns

_Parameters = list[dict[str, Any]]


def list_(kind: Annotated[str, typer.Argument(help="aqm, tcp, variant, app or study", show_default=False)]) -> None:
    """List what there is of a kind."""
    from ecnlab.cli import output

    if kind not in _KINDS:
        raise UnknownName("kind", kind, _KINDS)
    rows = [[entry["name"], entry["title"]] for entry in _entries(kind)]
    console = output.console()
    for name, title in rows:
        console.print(f"{name:<14} {title}", markup=False)


def show(
    name: Annotated[str, typer.Argument(help="an AQM, a TCP profile or variant, an application or a study", show_default=False)],
) -> None:
    """Show what something is and every parameter it takes."""
    found = [(kind, entry) for kind in _KINDS for entry in _entries(kind) if entry["name"] == name]
    if not found:
        raise UnknownName("AQM, TCP profile or variant, application or study", name, _names())
    for kind, entry in found:
        show_entry(kind, entry)


def schema() -> None:
    """Print the JSON Schema of a scenario file."""
    from ecnlab import _core

    print(_core.schema())


def _names() -> list[str]:
    return [entry["name"] for kind in _KINDS for entry in _entries(kind)]


def _entries(kind: str) -> list[dict[str, Any]]:
    return _studies() if kind == "study" else _registry()[kind]


def _registry() -> dict[str, list[dict[str, Any]]]:
    from ecnlab import _core

    registry: dict[str, list[dict[str, Any]]] = json.loads(_core.registry())
    return registry


def _studies() -> list[dict[str, Any]]:
    from ecnlab import studies

    return [study_entry(name) for name in studies.NAMES]


def study_entry(name: str) -> dict[str, Any]:
    """A study in the registry's form, with its figures. Raises UnknownName."""
    from ecnlab import studies

    study = studies.find(name)
    return {
        "name": study.name,
        "title": study.title,
        "summary": study.summary,
        "source": study.source,
        "parameters": [],
        "items": [(item.heading, item.title) for item in study.items],
    }


def show_entry(kind: str, entry: dict[str, Any]) -> None:
    """Print one entry of the registry, or a study."""
    from ecnlab.cli import output

    console = output.console()
    console.print(f"{entry['name']} ({kind}): {entry['title']}", markup=False)
    console.print(entry["summary"], markup=False)
    console.print(f"source: {entry['source']}", markup=False)
    for title, columns, parameters in _tables(kind, entry["parameters"]):
        rows = [[_text(parameter.get(key)) for key in columns.values()] for parameter in parameters]
        made = output.table(title, tuple(columns), rows)
        for heading, column in zip(columns, made.columns, strict=True):
            column.justify = "left"
            column.max_width = _WIDEST.get(heading) if columns is _SET else None
        console.print(made)
    for heading, title in entry.get("items", []):
        console.print(f"  {heading:<12} {title}", markup=False)


def _tables(kind: str, parameters: Sequence[dict[str, Any]]) -> list[tuple[str, Mapping[str, str], _Parameters]]:
    """The parameters under their headings: a profile's own members first, with the source of each value."""
    members = [parameter for parameter in parameters if parameter["set"]] if kind == "tcp" else []
    others = [parameter for parameter in parameters if parameter not in members]
    columns = {"tcp": _IN_FORCE, "variant": _SET}.get(kind, _DECLARED)
    title = "as everywhere" if kind == "tcp" else ""
    return [table for table in (("set by the profile", _SET, members), (title, columns, others)) if table[2]]


def _text(value: Any) -> str:
    from rich.markup import escape

    return "" if value is None else escape(str(value))
