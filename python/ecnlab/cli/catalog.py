"""`ecnlab list`, `show` and `schema`: the entries of the engine's registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ecnlab.cli import options, output
from ecnlab.display.cells import TextTable
from ecnlab.errors import UnknownName, require_known_name

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ecnlab.scenarios.catalog import CatalogEntry, Parameter
    from ecnlab.studies.framework.model import Study

    _Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

_KIND_TITLES = {
    "section": "sections of a scenario file",
    "aqm": "AQMs: when a queue marks or drops",
    "discipline": "queueing disciplines: the queues of packets and the order of departures",
    "tcp": "TCP profiles",
    "variant": "TCP variants",
    "app": "applications",
    "impairment": "impairments: loss, delay and marks of a link before its queue",
    "topology": "ready-made networks",
    "study": "published studies",
}

# Column headings of the table of parameters, with the parameter's field of each.
_DECLARED_COLUMNS = {
    "name": "name",
    "kind": "kind",
    "unit": "unit",
    "default": "default",
    "bounds": "bounds",
    "meaning": "meaning",
    "source": "source",
}
_VALUE_COLUMNS = {"name": "name", "value": "default", "bounds": "bounds", "unit": "unit", "meaning": "meaning", "source": "source"}
_SET_BY_PROFILE_COLUMNS = {"name": "name", "value": "default", "meaning": "meaning", "source": "source"}
_COMBINATION_COLUMNS = {
    "congestion control": "congestion_control",
    "recovery": "recovery",
    "responses": "responses",
    "judge": "judge",
}
_GAUGE_COLUMNS = {"name": "name", "unit": "unit", "meaning": "doc"}


def _completer(known: Callable[[click.Context], Mapping[str, str]]) -> _Completer:
    """The completion of an argument by the names that begin so, each with its title."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=title) for name, title in known(context).items() if name.startswith(begun)]

    return complete


complete_kind = _completer(lambda _context: _KIND_TITLES)
complete_entry_name = _completer(lambda _context: {name: title for kind in _KIND_TITLES for name, title in _titles_by_name(kind).items()})
complete_study = _completer(lambda _context: _titles_by_name("study"))
# Figures and claims are those of the study on the line, if it stands before the option.
complete_figure = _completer(lambda context: {item.number: item.title for study in _studies_in_context(context) for item in study.items})
complete_claim = _completer(lambda context: {claim.id: claim.sentence for study in _studies_in_context(context) for claim in study.claims})


def _measures_of_all_flows(_context: click.Context) -> dict[str, str]:
    from ecnlab.scenarios import catalog

    return {column.name: column.doc for column in catalog.table("total").columns if column.unit}


complete_measure = _completer(_measures_of_all_flows)


def _studies_in_context(context: click.Context) -> list[Study]:
    from ecnlab import studies

    named = context.params.get("name")
    return [studies.find_study(name) for name in ([named] if named in studies.TITLES else studies.TITLES)]


@click.command("list")
@click.argument("kind", required=False, shell_complete=complete_kind)
@options.json_option
def list_catalog(kind: str | None, as_json: bool) -> None:
    """List AQMs, topologies, profiles and parameters.

    KIND is section, aqm, discipline, tcp, variant, app, impairment, topology or study; without it all kinds are listed.
    """
    if as_json:
        output.print_json({each: _titles_by_name(each) for each in ([_require_kind(kind)] if kind is not None else _KIND_TITLES)})
        return
    if kind is not None:
        print_entries_of_kind(kind)
        return
    for each, what in _KIND_TITLES.items():
        output.print_line(f"{each}: {what}")
        print_entries_of_kind(each, indent="  ")


def print_entries_of_kind(kind: str, indent: str = "") -> None:
    """Print name and title of each entry of a kind. Raises UnknownName for an unknown kind."""

    for name, title in _titles_by_name(_require_kind(kind)).items():
        output.print_line(f"{indent}{name:<14} {title}")


def _require_kind(kind: str) -> str:
    """The kind, unchanged. Raises UnknownName for an unknown kind."""
    require_known_name("kind", kind, _KIND_TITLES)
    return kind


@click.command("show")
@click.argument("name", shell_complete=complete_entry_name)
@click.option("--quirks", is_flag=True, help="Show the quirks of a TCP profile instead of its parameters.")
@options.json_option
def show_entry(name: str, quirks: bool, as_json: bool) -> None:
    """Show one item and its parameters.

    NAME is that of an AQM, a queueing discipline, a TCP profile or variant, an application, an impairment, a topology, a study,
    or a section of a scenario file.
    """
    from ecnlab import studies
    from ecnlab.scenarios import catalog

    found = [catalog.entry_from_file(name)] if ".py" in name else [entry for entry in catalog.entries() if entry.is_called(name)]
    if not found and name not in studies.TITLES:
        known = {name for kind in _KIND_TITLES for name in _titles_by_name(kind)}
        raise UnknownName(
            "AQM, discipline, TCP profile or variant, application, impairment, topology, study or section",
            name,
            known,
            catalog.fix_for_other_tools_name(name),
        )
    if as_json:
        study = [{"kind": "study", "name": name, "title": studies.TITLES[name]}] if name in studies.TITLES else []
        output.print_json([*map(asdict, found), *study])
        return
    for entry in found:
        _print_entry(entry, quirks=quirks)
    if name in studies.TITLES:
        output.print_line(f"{name} (study): {studies.TITLES[name]}; ecnlab study show {name} lists its figures")


@click.command("schema")
def print_scenario_schema() -> None:
    """Print the JSON Schema of a scenario file."""
    from ecnlab import _core

    print(_core.schema())


def _print_entry(entry: CatalogEntry, *, quirks: bool) -> None:
    source = f"source: {entry.source}" if entry.source else ""
    alias = f"alias: {entry.alias}" if entry.alias else ""
    bands = f"bands: {', '.join(entry.bands)}" if entry.bands else ""
    for part in (f"{entry.name} ({entry.kind}): {entry.title}", entry.summary, source, alias, entry.contents, bands):
        output.print_paragraph(part)
    if entry.example:  # not folded, so that it can be copied
        output.print_line(f"example: {entry.example}")
    output.print_tables(_entry_tables(entry, entry.quirks if quirks else entry.parameters))
    if entry.quirks and not quirks:
        output.print_paragraph(f"quirks: {len(entry.quirks)}, listed by ecnlab show --quirks {entry.name}")


def _entry_tables(entry: CatalogEntry, parameters: Sequence[Parameter]) -> Iterator[TextTable]:
    """The parameters under their headings: a profile's own members first, with the source of each value."""
    members = [parameter for parameter in parameters if parameter.is_set and entry.kind == "tcp"]
    others = [parameter for parameter in parameters if parameter not in members]
    columns_of_others = {"tcp": _VALUE_COLUMNS, "variant": _SET_BY_PROFILE_COLUMNS}.get(entry.kind, _DECLARED_COLUMNS)
    tables: list[tuple[str, Mapping[str, str], Sequence[object]]] = [
        ("set by the profile", _SET_BY_PROFILE_COLUMNS, members),
        ("same in all profiles" if entry.kind == "tcp" else "", columns_of_others, others),
        ("checked combinations", _COMBINATION_COLUMNS, entry.checked),
        ("gauges", _GAUGE_COLUMNS, entry.gauges),
    ]
    for title, columns, items in tables:
        if items:
            header = tuple(columns)
            yield TextTable(title, header, [[getattr(item, field) for field in columns.values()] for item in items], header)


def _titles_by_name(kind: str) -> dict[str, str]:
    """The names of a kind with their titles."""
    from ecnlab import studies
    from ecnlab.scenarios import catalog

    if kind == "study":  # importing the study itself would import its plotting code
        return studies.TITLES
    found = catalog.entries(kind)
    aliases = {entry.alias: f"alias of {entry.name}" for entry in found if entry.alias}
    return {entry.name: entry.title for entry in found} | aliases
