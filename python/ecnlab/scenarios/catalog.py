"""Catalog of the engine: sections of a scenario, AQMs, disciplines, TCP profiles and variants, applications, impairments.

for entry in catalog.entries("aqm"):
    print(entry.name, entry.title, [parameter.name for parameter in entry.parameters])
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ecnlab import _core
from ecnlab.errors import UnknownName, require_known_name


@dataclass(frozen=True)
class UsualRange:
    """Range of a parameter's usual values, for a slider.

    Attributes
    ----------
    min, max : float
        Numbers as they are, times in seconds, rates in bit/s, amounts in packets.
    scale : str
        "linear" or "log".
    """

    min: float
    max: float
    scale: str


@dataclass(frozen=True)
class Parameter:
    """A parameter as the engine declares it.

    Attributes
    ----------
    name, kind, unit : str
        Name, kind of value, and unit ("" if it has none).
    default, example, bounds : str
        Default value, an example, and the allowed range, as text.
    required : bool
        Whether it is required.
    doc, source : str
        Meaning and source.
    read_when : str
        Condition under which the engine reads it, as in "congestion_control = cubic"; "" if always.
    is_set : bool
        Whether the profile or variant sets it rather than keeping the default.
    usual : UsualRange or None
        Range of its usual values, if it has one.
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
    usual: UsualRange | None

    @property
    def meaning(self) -> str:
        """The meaning, with the condition under which it is read."""
        return f"{self.doc} Only with {self.read_when}." if self.read_when else self.doc


@dataclass(frozen=True)
class Gauge:
    """An internal variable of an AQM or a discipline, such as a probability.

    Attributes
    ----------
    name, unit, doc : str
        Name, unit ("1" for a ratio), and meaning.
    symbol : str
        Symbol in its paper or RFC, such as "p_b"; empty if it has none.
    """

    name: str
    unit: str
    doc: str
    symbol: str = ""


@dataclass(frozen=True)
class CheckedCombination:
    """A combination of TCP parts verified against a reference outside of the simulator.

    Attributes
    ----------
    congestion_control, recovery : str
        Congestion control, and loss recovery with its loss detection.
    ecn_responses : tuple of str
        Responses to marks that were verified in combination; runs without ECN are always verified.
    accurate_ecn : bool
        Whether the responses were verified with Accurate ECN, or else with the other feedback.
    judge : str
        "ns-2", "Linux 6.1", "Linux 7.2" or "RFC conformance suite".
    """

    congestion_control: str
    recovery: str
    ecn_responses: tuple[str, ...]
    accurate_ecn: bool
    judge: str

    @property
    def responses(self) -> str:
        """The responses as text."""
        feedback = " with Accurate ECN" if self.accurate_ecn else ""
        return f"{', '.join(self.ecn_responses)}{feedback}" if self.ecn_responses else "without ECN"


@dataclass(frozen=True)
class CatalogEntry:
    """A section of a scenario, an algorithm, profile, variant or source.

    Attributes
    ----------
    kind, name : str
        "section", "aqm", "discipline", "tcp", "variant", "app", "impairment" or "topology", and the name that a scenario uses.
    title, summary, source : str
        Title, description, and the text that it implements.
    parameters : tuple of Parameter
        Its parameters.
    gauges : tuple of Gauge
        Internal variables of an AQM or a discipline.
    bands : tuple of str
        Names of a discipline's bands, if it has several.
    contents, example : str
        The children of a discipline, and a line of a scenario with the AQM, discipline or impairment; "" for other kinds.
    alias : str
        Another name of a profile; "" if there is none.
    quirks : tuple of Parameter
        For a profile: behaviour of one implementation or version, set as `tcp.quirks`.
    checked : tuple of CheckedCombination
        For a profile: verified combinations of TCP parts. Others run with a warning.
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
        """Whether this is its name or alias."""
        return bool(name) and name in (self.name, self.alias)


@dataclass(frozen=True)
class Column:
    """A column of a table of results.

    Attributes
    ----------
    name, kind : str
        Name, and kind of values: "real", "count", "index" or "name".
    unit : str
        "bit/s", "s", "packets", ...; "1" for a ratio, "" for a name.
    doc : str
        Meaning.
    words : tuple of str
        Possible values of a column of names, if they are known beforehand.
    """

    name: str
    kind: str
    unit: str
    doc: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table of results.

    Attributes
    ----------
    name : str
        As in `result.table(name)`.
    doc : str
        Meaning of a row.
    columns : tuple of Column
        Its columns without `seed`, which is the first of every table.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]


_DEFAULT_RESPONSE = "halve"

KINDS = ("section", "aqm", "discipline", "tcp", "variant", "app", "impairment", "topology")


def entries(kind: str | None = None) -> list[CatalogEntry]:
    """All entries, or those of a kind. Raises UnknownName for an unknown kind."""
    if kind is not None:
        require_known_name("kind", kind, KINDS)
    return [entry for entry in _all_registry_entries() if kind in (None, entry.kind)]


def find(name: str) -> list[CatalogEntry]:
    """The entries of that name; "vegas" is a variant, "aecn" an AQM. Raises UnknownName if there is none."""
    found = [entry for entry in _all_registry_entries() if entry.is_called(name)]
    if not found:
        raise UnknownName(
            "section, AQM, discipline, TCP profile or variant, application, impairment, or topology",
            name,
            {entry.name for entry in _all_registry_entries()},
            fix_for_other_tools_name(name),
        )
    return found


def fix_for_other_tools_name(name: str) -> str | None:
    """What to write in a scenario for a queue of tc, ns-2 or ns-3, or for a congestion control of a kernel; None for other names."""
    return _core.fix_for_other_tools_name(name)


def row_with_quantity(quantity: str, groups: Sequence[str], queues: Sequence[str]) -> tuple[str, str] | None:
    """Table and row that have a quantity: the total, or the first group or queue; None if none of these has it."""
    rows = [("total", ""), *(("groups", name) for name in groups[:1]), *(("queues", name) for name in queues[:1])]
    return next(((kind, name) for kind, name in rows if any(column.name == quantity for column in table(kind).columns)), None)


def entry_from_file(reference: str) -> CatalogEntry:
    """The entry of a user's AQM, by "FILE:CLASS". Raises UsageError if there is none."""
    from ecnlab.aqm import fingerprint, plugins

    entry = plugins.registry_entry_of_aqm(fingerprint.load_aqm_class(reference))
    aqms = json.loads(_core.registry([entry]))["aqm"]
    return next(_entry_from_json("aqm", one) for one in aqms if one["name"] == entry.name)


def congestion_control_name(tcp: Mapping[str, Any]) -> str:
    """The common name of a congestion control: "dctcp" for Reno's window growth with DCTCP's response to marks.

    A combination without a common name is "GROWTH with RESPONSE", as in "cubic with abe".
    """
    congestion, response = str(tcp["congestion_control"]), str(tcp.get("ecn_response", _DEFAULT_RESPONSE))
    if response == _DEFAULT_RESPONSE:
        return congestion
    return response if (congestion, response) == ("reno", "dctcp") else f"{congestion} with {response}"


@cache
def tables() -> tuple[Table, ...]:
    """All tables of results: the measures, then the recordings."""
    return _tables_from_json(_core.columns())


@cache
def trace_tables() -> tuple[Table, ...]:
    """All tables of a packet trace."""
    return _tables_from_json(_core.trace_columns())


def table(name: str) -> Table:
    """The table of that name. Raises UnknownName if there is none."""
    found = {table.name: table for table in tables()}
    require_known_name("table", name, found)
    return found[name]


@cache
def _all_registry_entries() -> tuple[CatalogEntry, ...]:
    registry = json.loads(_core.registry())
    return tuple(_entry_from_json(kind, entry) for kind in KINDS for entry in registry[kind])


def _entry_from_json(kind: str, entry: dict[str, Any]) -> CatalogEntry:
    return CatalogEntry(
        kind,
        entry["name"],
        entry["title"],
        entry["summary"],
        entry["source"],
        tuple(_parameters_from_json(entry["parameters"])),
        tuple(Gauge(**gauge) for gauge in entry.get("gauges", ())),
        tuple(entry.get("bands", ())),
        entry.get("holds", ""),
        entry.get("example", ""),
        entry.get("alias", ""),
        tuple(_parameters_from_json(entry.get("quirks", ()))),
        tuple(CheckedCombination(**one | {"ecn_responses": tuple(one["ecn_responses"])}) for one in entry.get("checked", ())),
    )


def _parameters_from_json(parameters: Iterable[dict[str, Any]]) -> Iterable[Parameter]:
    for one in parameters:
        usual = None if one["usual"] is None else UsualRange(**one["usual"])
        yield Parameter(is_set=one["set"], usual=usual, **{name: value for name, value in one.items() if name not in ("set", "usual")})


def _tables_from_json(text: str) -> tuple[Table, ...]:
    return tuple(Table(entry["name"], entry["doc"], tuple(map(_column_from_json, entry["columns"]))) for entry in json.loads(text))


def _column_from_json(entry: dict[str, Any]) -> Column:
    return Column(**entry | {"words": tuple(entry["words"])})
