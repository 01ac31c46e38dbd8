"""`ecnlab list`, `show` and `schema`: what there is, told by the engine's own registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ecnlab.cli import options
from ecnlab.errors import UnknownName

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ecnlab.catalog import Entry, Gauge, Parameter
    from ecnlab.cli.table import Table
    from ecnlab.studies.model import Study

_KINDS = {
    "section": "sections of a scenario file",
    "aqm": "AQMs: when a queue marks or drops",
    "discipline": "queueing disciplines: how packets wait and in which order they leave",
    "tcp": "TCP profiles",
    "variant": "TCP variants",
    "app": "applications",
    "impairment": "impairments: what a link does to packets before its queue",
    "shape": "ready-made networks",
    "study": "published studies",
}

# A table's headings and the fields of a parameter that stand under them.
_DECLARED = {
    "name": "name",
    "kind": "kind",
    "unit": "unit",
    "default": "default",
    "bounds": "bounds",
    "meaning": "meaning",
    "source": "source",
}
_IN_FORCE = {"name": "name", "value": "default", "bounds": "bounds", "unit": "unit", "meaning": "meaning", "source": "source"}
_SET = {"name": "name", "value": "default", "meaning": "meaning", "source": "source"}
_SHOWN = {"name": "name", "unit": "unit", "meaning": "doc"}


def complete_kind(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The kinds that begin so."""
    return _completed(_KINDS, begun)


def complete_name(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The names that begin so."""
    return _completed({name: title for kind in _KINDS for name, title in _titles(kind).items()}, begun)


def complete_measure(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The measures of all flows that begin so."""
    from ecnlab import catalog

    return _completed({column.name: column.doc for column in catalog.table("total").columns if column.unit}, begun)


def complete_study(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The studies that begin so."""
    return _completed(_titles("study"), begun)


def complete_figure(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The figures and tables that begin so, of the study on the line if it stands before the option."""
    return _completed({item.number: item.title for study in _studies_of(context) for item in study.items}, begun)


def complete_claim(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The claims that begin so, of the study on the line if it stands before the option."""
    return _completed({claim.id: claim.sentence for study in _studies_of(context) for claim in study.claims}, begun)


def _studies_of(context: click.Context) -> list[Study]:
    from ecnlab import studies

    named = context.params.get("name")
    return [studies.find(name) for name in ([named] if named in studies.TITLES else studies.TITLES)]


@click.command("list")
@click.argument("kind", required=False, shell_complete=complete_kind)
@options.as_json
def list_(kind: str | None, as_json: bool) -> None:
    """List what there is.

    KIND is section, aqm, discipline, tcp, variant, app, impairment, shape or study; without it all kinds are listed.
    """
    from ecnlab.cli import output

    if as_json:
        output.say_json({each: _titles(each) for each in ([_checked_kind(kind)] if kind is not None else _KINDS)})
        return
    if kind is not None:
        list_kind(kind)
        return
    for each, what in _KINDS.items():
        output.say(f"{each}: {what}")
        list_kind(each, indent="  ")


def list_kind(kind: str, indent: str = "") -> None:
    """Print name and title of each entry of a kind. Raises UnknownName if there is no such kind."""
    from ecnlab.cli import output

    for name, title in _titles(_checked_kind(kind)).items():
        output.say(f"{indent}{name:<14} {title}")


def _checked_kind(kind: str) -> str:
    """The kind as it is. Raises UnknownName if there is none of this name."""
    if kind not in _KINDS:
        raise UnknownName("kind", kind, _KINDS)
    return kind


@click.command()
@click.argument("name", shell_complete=complete_name)
@options.as_json
def show(name: str, as_json: bool) -> None:
    """Show what something is, with every parameter that it takes.

    NAME is that of an AQM, a queueing discipline, a TCP profile or variant, an application, an impairment, a shape of networks, a study,
    or a section of a scenario file.
    """
    from ecnlab import catalog, studies
    from ecnlab.cli import output

    found = [catalog.of_file(name)] if ".py" in name else [entry for entry in catalog.entries() if entry.is_called(name)]
    if not found and name not in studies.TITLES:
        known = {name for kind in _KINDS for name in _titles(kind)}
        raise UnknownName("AQM, discipline, TCP profile or variant, application, impairment, shape, study or section", name, known)
    if as_json:
        study = [{"kind": "study", "name": name, "title": studies.TITLES[name]}] if name in studies.TITLES else []
        output.say_json([*map(asdict, found), *study])
        return
    for entry in found:
        _show_entry(entry)
    if name in studies.TITLES:
        output.say(f"{name} (study): {studies.TITLES[name]}; ecnlab study show {name} has its figures")


@click.command()
def schema() -> None:
    """Print the JSON Schema of a scenario file."""
    from ecnlab import _core

    print(_core.schema())


def _show_entry(entry: Entry) -> None:
    from ecnlab.cli import output

    _say_about(entry.name, entry.kind, entry.title, entry.summary, entry.source)
    alias = f"{entry.alias} stands for it" if entry.alias else ""
    for part in (alias, entry.holds, f"bands: {', '.join(entry.bands)}" if entry.bands else ""):
        output.say_folded(part)
    if entry.example:  # not folded: it is there to be copied
        output.say(f"example: {entry.example}")
    output.say_tables(_tables(entry))


def _say_about(name: str, kind: str, title: str, summary: str, source: str) -> None:
    from ecnlab.cli import output

    for part in (f"{name} ({kind}): {title}", summary, f"source: {source}" if source else ""):
        output.say_folded(part)


def _tables(entry: Entry) -> list[Table]:
    """The parameters under their headings: a profile's own members first, with the source of each value."""
    members = [parameter for parameter in entry.parameters if parameter.is_set and entry.kind == "tcp"]
    others = [parameter for parameter in entry.parameters if parameter not in members]
    columns = {"tcp": _IN_FORCE, "variant": _SET}.get(entry.kind, _DECLARED)
    made = [_table("set by the profile", _SET, members)] if members else []
    made += [_table("as everywhere" if entry.kind == "tcp" else "", columns, others)] if others else []
    return made + ([_table("gauges", _SHOWN, entry.gauges)] if entry.gauges else [])


def _table(title: str, columns: Mapping[str, str], parameters: Sequence[Parameter | Gauge]) -> Table:
    from ecnlab.cli.table import Table

    header = tuple(columns)
    return Table(title, header, [[getattr(parameter, field) for field in columns.values()] for parameter in parameters], header)


def _titles(kind: str) -> dict[str, str]:
    """The names of a kind, and what each is."""
    from ecnlab import catalog, studies

    if kind == "study":  # a study itself is imported with all that draws its figures
        return studies.TITLES
    found = catalog.entries(kind)
    aliases = {entry.alias: f"stands for {entry.name}" for entry in found if entry.alias}
    return {entry.name: entry.title for entry in found} | aliases


def _completed(known: Mapping[str, str], begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name, help=what) for name, what in known.items() if name.startswith(begun)]
