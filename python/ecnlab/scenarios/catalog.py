"""What there is, told by the engine: sections of a scenario, AQMs, disciplines, TCP profiles and variants, applications, impairments.

for entry in catalog.entries("aqm"):
    print(entry.name, entry.title, [parameter.name for parameter in entry.parameters])
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ecnlab import _core
from ecnlab.errors import UnknownName


@dataclass(frozen=True)
class Parameter:
    """A parameter as it is declared beside its algorithm.

    Attributes
    ----------
    name, kind, unit : str
        What it is called, what kind of value it takes, and its unit ("" where it has none).
    default, example, bounds : str
        The value where none is given, one that could be, and what is allowed, as words.
    required : bool
        Whether it is required.
    doc, source : str
        What it means, and where it comes from.
    read_when : str
        When it is read at all, as in "congestion_control = cubic"; "" if always.
    is_set : bool
        Whether the profile or variant sets it, instead of leaving it as everywhere.
    """

    name: str
    kind: str
    unit: str
    default: str
    example: str
    bounds: str
    required: bool
    doc: str
    source: str
    read_when: str
    is_set: bool

    @property
    def meaning(self) -> str:
        """What it means, and when it is read if not always."""
        return f"{self.doc} Only with {self.read_when}." if self.read_when else self.doc


@dataclass(frozen=True)
class Gauge:
    """A value that an AQM or a discipline shows of itself, such as a probability.

    Attributes
    ----------
    name, unit, doc : str
        What it is called, its unit ("1" for a ratio), and what it says.
    symbol : str
        How its paper or RFC writes it, such as "p_b"; empty where it has none.
    """

    name: str
    unit: str
    doc: str
    symbol: str = ""


@dataclass(frozen=True)
class CheckedCombination:
    """A combination of TCP's parts that a judge outside of the simulator has checked over a profile.

    Attributes
    ----------
    congestion_control, recovery : str
        Congestion control and loss recovery, the latter with the way in which it detects losses.
    ecn_responses : tuple of str
        Responses to marks that were checked with them; without ECN they are checked in any case.
    judge : str
        "ns-2", "Linux 6.1" or "RFC conformance suite".
    """

    congestion_control: str
    recovery: str
    ecn_responses: tuple[str, ...]
    judge: str

    @property
    def responses(self) -> str:
        """The responses in a text."""
        return ", ".join(self.ecn_responses) or "without ECN"


@dataclass(frozen=True)
class CatalogEntry:
    """A section of a scenario, an algorithm, profile, variant or source.

    Attributes
    ----------
    kind, name : str
        "section", "aqm", "discipline", "tcp", "variant", "app", "impairment" or "topology", and the name that a scenario uses.
    title, summary, source : str
        What it is, in a few words and in a few sentences, and the text that it follows.
    parameters : tuple of Parameter
        What can be set.
    gauges : tuple of Gauge
        What it shows of itself while it works, of an AQM or a discipline.
    bands : tuple of str
        The bands that a discipline serves its packets in, where there are several.
    contents, example : str
        What stands inside a discipline, in a sentence, and a line of a scenario with the AQM, discipline or impairment; "" of other kinds.
    alias : str
        Another name of a profile; "" if there is none.
    quirks : tuple of Parameter
        Of a profile: behaviour of one implementation or version, set as `tcp.quirks`.
    checked : tuple of CheckedCombination
        Of a profile: combinations of TCP's parts that a judge has checked. Others run with a warning.
    """

    kind: str
    name: str
    title: str
    summary: str
    source: str
    parameters: tuple[Parameter, ...]
    gauges: tuple[Gauge, ...] = ()
    bands: tuple[str, ...] = ()
    contents: str = ""
    example: str = ""
    alias: str = ""
    quirks: tuple[Parameter, ...] = ()
    checked: tuple[CheckedCombination, ...] = ()

    def is_called(self, name: str) -> bool:
        """Whether this is its name, or stands for it."""
        return name in (self.name, self.alias)


@dataclass(frozen=True)
class Column:
    """A column of a table of results.

    Attributes
    ----------
    name, kind : str
        What it is called, and what stands in it: "real", "count", "index" or "name".
    unit : str
        "bit/s", "s", "packets", ...; "1" for a ratio, "" for a name.
    doc : str
        What it says.
    words : tuple of str
        The words that can stand in it, where they are known beforehand.
    """

    name: str
    kind: str
    unit: str
    doc: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table that a run can give.

    Attributes
    ----------
    name : str
        As in `result.table(name)`.
    doc : str
        What a row stands for.
    columns : tuple of Column
        Its columns, but for `seed`, which is the first of every table.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]


_DEFAULT_RESPONSE = "halve"

KINDS = ("section", "aqm", "discipline", "tcp", "variant", "app", "impairment", "topology")


def entries(kind: str | None = None) -> list[CatalogEntry]:
    """All entries, or those of a kind. Raises UnknownName if there is no such kind."""
    if kind is not None and kind not in KINDS:
        raise UnknownName("kind", kind, KINDS)
    return [entry for entry in _all_entries() if kind in (None, entry.kind)]


def find(name: str) -> list[CatalogEntry]:
    """The entries of that name; "vegas" is a variant, "aecn" an AQM. Raises UnknownName if there is none."""
    found = [entry for entry in _all_entries() if entry.is_called(name)]
    if not found:
        raise UnknownName(
            "section, AQM, discipline, TCP profile or variant, application, impairment, or topology",
            name,
            {entry.name for entry in _all_entries()},
        )
    return found


def entry_from_file(reference: str) -> CatalogEntry:
    """The entry of a user's AQM, by "FILE:CLASS". Raises UsageError if there is none."""
    from ecnlab.aqm import fingerprint, plugins

    entry = plugins.registry_entry_of_aqm(fingerprint.load_aqm_class(reference))
    told = json.loads(_core.registry([entry]))["aqm"]
    return next(_entry_from_json("aqm", one) for one in told if one["name"] == entry.name)


def congestion_control_name(tcp: Mapping[str, Any]) -> str:
    """The name that people have for the congestion control of TCP parameters in force: "dctcp" for Reno's growth with DCTCP's response.

    A response that no such name covers stands behind the algorithm that grows the window, as in "cubic with abe".
    """
    congestion, response = str(tcp["congestion_control"]), str(tcp.get("ecn_response", _DEFAULT_RESPONSE))
    if response == _DEFAULT_RESPONSE:
        return congestion
    return response if (congestion, response) == ("reno", "dctcp") else f"{congestion} with {response}"


@cache
def tables() -> tuple[Table, ...]:
    """Every table that a run can give: the measures, then what can be recorded."""
    return tuple(Table(told["name"], told["doc"], tuple(map(_column_from_json, told["columns"]))) for told in json.loads(_core.columns()))


@cache
def trace_tables() -> tuple[Table, ...]:
    """Every table that a trace gives."""
    return tuple(
        Table(told["name"], told["doc"], tuple(map(_column_from_json, told["columns"]))) for told in json.loads(_core.trace_columns())
    )


def table(name: str) -> Table:
    """The table of that name. Raises UnknownName if there is none."""
    found = {table.name: table for table in tables()}
    if name not in found:
        raise UnknownName("table", name, found)
    return found[name]


@cache
def _all_entries() -> tuple[CatalogEntry, ...]:
    return tuple(_entry_from_json(kind, told) for kind in KINDS for told in _engine_registry()[kind])


@cache
def _engine_registry() -> dict[str, list[dict[str, Any]]]:
    registry: dict[str, list[dict[str, Any]]] = json.loads(_core.registry())
    return registry


def _entry_from_json(kind: str, told: dict[str, Any]) -> CatalogEntry:
    return CatalogEntry(
        kind,
        told["name"],
        told["title"],
        told["summary"],
        told["source"],
        tuple(_parameters_from_json(told["parameters"])),
        tuple(Gauge(**gauge) for gauge in told.get("gauges", ())),
        tuple(told.get("bands", ())),
        told.get("holds", ""),
        told.get("example", ""),
        told.get("alias", ""),
        tuple(_parameters_from_json(told.get("quirks", ()))),
        tuple(CheckedCombination(**one | {"ecn_responses": tuple(one["ecn_responses"])}) for one in told.get("checked", ())),
    )


def _parameters_from_json(told: Iterable[dict[str, Any]]) -> Iterable[Parameter]:
    for one in told:
        yield Parameter(is_set=one["set"], **{name: value for name, value in one.items() if name != "set"})


def _column_from_json(told: dict[str, Any]) -> Column:
    return Column(told["name"], told["kind"], told["unit"], told["doc"], tuple(told["words"]))
