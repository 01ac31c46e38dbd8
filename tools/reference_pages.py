"""Pages in docs/ that are written from the engine's own declarations: parameters, quirks, the index of queues, and the tables of others.

reference/queues/duties.md and its picture are written from runs: the results of the conformance suite for every AQM and discipline.

`python tools/reference_pages.py` writes the pages; with `--check` it compares them and exits with 1 if one is stale.
In reference/scenario.md the units are between `<!-- units -->` and `<!-- end of units -->`, in it and in reference/scenario-links.md and
reference/scenario-flows.md the keys of a section between `<!-- keys of NAME -->` and `<!-- end of keys -->`. In reference/measures.md and
reference/traces.md the columns of tables are between `<!-- columns of NAME ... -->` and `<!-- end of columns -->`, in reference/traces.md
the rules of a check between `<!-- rules -->` and `<!-- end of rules -->`. In reference/queues the parameters and gauges of an AQM or a
discipline are between `<!-- parameters NAME -->` and `<!-- end of parameters -->`, which is put in where it is missing; so in
reference/traffic.md those of an application. In explanation/phase.md the phase effects of examples and studies are between
`<!-- phase effects -->` and `<!-- end of phase effects -->`, from the package's reference/phase.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import queue_figures
from ecnlab import _core
from ecnlab.errors import UnknownName
from ecnlab.packet_traces import analyze
from ecnlab.scenarios import catalog
from ecnlab.scenarios.catalog import CatalogEntry, Column, Parameter, Table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PARAMETERS_PAGE = DOCS / "reference" / "parameters.md"
QUIRKS_PAGE = PARAMETERS_PAGE.with_name("quirks.md")
SCENARIO_PAGES = [PARAMETERS_PAGE.with_name(name) for name in ("scenario.md", "scenario-links.md", "scenario-flows.md")]
MEASURES_PAGE = PARAMETERS_PAGE.with_name("measures.md")
TRACES_PAGE = PARAMETERS_PAGE.with_name("traces.md")
QUEUES_FOLDER = PARAMETERS_PAGE.with_name("queues")
DUTIES_PAGE = QUEUES_FOLDER / "duties.md"
TRAFFIC_PAGE = PARAMETERS_PAGE.with_name("traffic.md")
PHASE_PAGE = DOCS / "explanation" / "phase.md"
PHASE_EFFECTS = ROOT / "python" / "ecnlab" / "reference" / "phase.json"

_KEYS_MARK = re.compile(r"(<!-- keys of (\S+) -->\n).*?(<!-- end of keys -->)", re.DOTALL)

_UNITS_MARK = re.compile(r"(<!-- units -->\n).*?(<!-- end of units -->)", re.DOTALL)
_COLUMNS_MARK = re.compile(r"(<!-- columns of ([\w ]+) -->\n).*?(<!-- end of columns -->)", re.DOTALL)
_RULES_MARK = re.compile(r"(<!-- rules -->\n).*?(<!-- end of rules -->)", re.DOTALL)
_PARAMETERS_MARK = re.compile(r"(<!-- parameters (\S+) -->\n)(?:(?:(?!<!-- parameters ).)*?<!-- end of parameters -->\n)?", re.DOTALL)
_PHASE_MARK = re.compile(r"(<!-- phase effects -->\n).*?(<!-- end of phase effects -->)", re.DOTALL)
# A table repeats the meaning of columns that it shares with an earlier one, unless they are more than this.
_MAX_REPEATED_COLUMNS = 5
# Maximum rows of a table of phase effects: scenarios of a study, and measures of a scenario.
_MAX_SCENARIOS_OF_STUDY = 5
_MAX_MEASURES_SHOWN = 3

_PARAMETERS_HEAD = """<!-- Written by `python tools/reference_pages.py` from the engine's declarations; change those, not this page. -->

# Parameters

Search this page for the parameters of every AQM, discipline, TCP profile, application, impairment and topology.
`ecnlab show NAME` prints the same for one entry. A parameter without a default is required.
"""
_COLUMNS_OF_TABLE = ("parameter", "default", "bounds", "unit", "meaning", "source")
_QUIRKS_HEAD = """<!-- Written by `python tools/reference_pages.py` from the engine's declarations; change those, not this page. -->

# Quirks of TCP profiles

A quirk is behaviour of one implementation or version. A profile mimics its hosts by quirks, so most scenarios set none.
For research a scenario can set each of them, in a table inside `tcp`:

```toml
tcp = { profile = "linux", ecn = true, quirks = { tick = "1 ms", undo = false } }
```

On the command line that is `--set 'flows.*.tcp.quirks.undo=false'`, and in a sweep the axis `flows.*.tcp.quirks.undo`.
`ecnlab show --quirks NAME` prints the quirks of one profile. [Parameters](parameters.md#tcp-profiles-profile) lists the other settings.
"""
_CHECKED_HEAD = """### Checked combinations

A reference outside of the simulator has checked these combinations of congestion control, recovery and response to marks.
It is packets of ns-2, packets of Linux 6.1 or 7.2, or the RFC conformance suite ([Validation](../trust/validation.md)).
Any other combination runs with a warning. A combination that is checked with a response is checked without ECN too.
Accurate ECN is a combination of its own: it is checked where recorded connections of Linux 7.2 have it.
"""
_QUIRKS_LINK = "Behaviour of one implementation or version is a quirk, in a table `quirks` inside `tcp`: [Quirks](quirks.md).\n"
_QUEUES_HEAD = """<!-- Written by `python tools/reference_pages.py` from the declarations in the engine; change those, not this page. -->

# Queues

Choose a queue for a bottleneck here: an AQM that marks or drops packets, and a discipline that stores and schedules them.

![Queueing delay against time under drop-tail, RED with ECN and CoDel](figures/overview.svg)

*The same flows through three queues of 10 Mbit/s: 5 flows from the start and 15 more from 10 s on. Drop-tail fills its buffer,
RED holds an average between two thresholds, CoDel aims at a delay of 5 ms and comes near it with few flows.*

You write the choice as a table in the `link` of a [scenario file](../scenario-links.md#queues):

    queue = { aqm = "codel", limit = 1000 }
    queue = { discipline = "fq", limit = 1000, aqm = { name = "codel", target = "5 ms" } }

- A **discipline** stores packets and decides in which order they leave. The default is [`fifo`](fifo.md).
- An **AQM** decides when to mark or drop a packet. It runs inside a discipline.
- `ecnlab list` lists both; `ecnlab show NAME` prints the parameters of one, as its page has them.

| you want to | choose |
| --- | --- |
| compare with a queue without AQM | [`droptail`](droptail.md) |
| reproduce work on RED or ECN from 1993 to 2010 | [`red`, `ecn`](red.md), [`ared`](ared.md), [`linux-red`](linux-red.md) |
| hold a queueing delay without tuning to the rate | [`codel`](codel.md), [`pie`](pie.md), [`pi2`](pi2.md) |
| isolate flows from each other | [`fq`](fq.md), [`sfq`](sfq.md), [`drr`](drr.md) |
| run L4S or DCTCP senders | [`dualpi2`](dualpi2.md), [`step`](step.md) |
| give flows with different round-trip times similar rates | [`aecn`](aecn.md), [`fq`](fq.md) |
| signal more than one level of congestion | [`mecn`](mecn.md), [`amecn`](amecn.md) |
| shape to a rate below the link's | [`tbf`](tbf.md), [`cbq`](cbq.md) |

[Requirements of RFC 7567](duties.md) compares all AQMs under the same loads.
"""
_QUEUES_TAIL = f"""## The scenario of the pictures

The page of each queue shows its length against time in this scenario, with the page's example as the bottleneck's `queue` and seed 1.
`python tools/queue_figures.py` draws the pictures. A page names the keys that its picture changes.

```toml
{queue_figures.SCENARIO}```
"""

_DUTIES_HEAD = """<!-- Written by `python tools/reference_pages.py` from runs of the conformance suite; AQMs do not declare it. -->

# Requirements of RFC 7567

Compare here how each AQM and discipline meets five requirements of RFC 7567.
`ecnlab test-aqm` runs the same tests on your own AQM.

![Verdict of each AQM on each requirement](figures/duties.svg)

*Verdicts of the AQMs, measured with the loads below.*

A "no" is not necessarily a fault. Drop-tail is not an AQM, RED of 1993 does not know ECN,
and some papers mark at any queue length on purpose.

## Requirements
"""
_DUTIES_LOAD = """## Loads

| requirement | load | buffer | values of the AQM |
| --- | --- | --- | --- |
| `marks`, `not-ect` | packets of one kind at 10 Mbit/s; about ten packets wait | 20 packets | values that make it signal often |
| `overload` | ECN-capable packets that do not respond, at three times the link's rate | 200 packets | defaults |
| `packet-size` | responsive flows at 50 Mbit/s, packets of 100 and 1500 bytes | one BDP, at least 50 packets | defaults |
| `defaults` | responsive flows at 1, 10 and 100 Mbit/s | one BDP, at least 50 packets | defaults |

BDP is the bandwidth-delay product. The figures of `packet-size` are the signalled shares of both sizes.
Responsive flows increase their windows by a packet per round-trip time (100 ms) and halve them at a signal.
At MECN's level of incipient congestion they reduce them by a fifth. Their number is RFC 7928's medium congestion (section 8.2.3).

`defaults` is "yes" if three conditions hold at each rate, and "partly" if they hold at some of the three rates:

- The buffer is less than half full on average.
- The link is used for more than 90 % of the time.
- Fewer than one packet in 10 000 meets a full buffer.
"""
_VERDICT_COLOURS = {"yes": "#9fd5b5", "partly": "#f6d98b", "no": "#eba8a0"}
_CELL_WIDTH, _CELL_HEIGHT, _NAME_WIDTH = 84, 20, 96


def parameters_page() -> str:
    """The whole page."""
    parts = [_PARAMETERS_HEAD, "## AQMs (`aqm`)\n", *_entry_sections(catalog.entries("aqm"))]
    parts += ["## Queueing disciplines (`discipline`)\n", *_entry_sections(catalog.entries("discipline"))]
    parts += ["## TCP profiles (`profile`)\n", *_profile_sections(catalog.entries("tcp"))]
    parts += ["## TCP variants (`variant`)\n", _variant_sections(catalog.entries("variant"))]
    parts += ["## Applications (`app`)\n", *_entry_sections(catalog.entries("app"))]
    parts += ["## Impairments (`impairment`)\n", *_entry_sections(catalog.entries("impairment"))]
    parts += ["## Topologies (`network.topology`)\n", *_entry_sections(catalog.entries("topology"))]
    return "\n".join(parts)


def quirks_page() -> str:
    """The page of quirks: all of them with the values of the first profile, then of each other profile those that differ."""
    first, *others = catalog.entries("tcp")
    usual = {quirk.name: quirk.default for quirk in first.quirks}
    about = f"## `{first.name}`: {first.title}\n\nAll quirks, with the values of this profile.\n"
    parts = [_QUIRKS_HEAD, about, _markdown_table(("quirk", *_COLUMNS_OF_TABLE[1:]), map(_markdown_table_rows, first.quirks))]
    for profile in others:
        rows = (
            [_as_code(quirk.name), _as_code(quirk.default), quirk.source] for quirk in profile.quirks if quirk.default != usual[quirk.name]
        )
        heading = f"## `{profile.name}`: {profile.title}\n\nThe quirks that differ from those of `{first.name}`.\n"
        parts += [heading, _markdown_table(("quirk", "value", "source"), rows)]
    return "\n".join(parts)


def scenario_page(text: str) -> str:
    """A page of scenario files with the units and the tables of keys as they are declared."""
    sections = {section.name: section for section in catalog.entries("section")}
    text = _UNITS_MARK.sub(lambda part: f"{part[1]}\n{_unit_table()}\n{part[2]}", text)
    return _KEYS_MARK.sub(lambda part: f"{part[1]}\n{_section_key_table(sections[part[2]])}\n{part[3]}", text)


def queue_pages(folder: Path = QUEUES_FOLDER) -> dict[Path, str]:
    """The index of AQMs and disciplines, and each page about some of them with their parameters as they are declared."""
    found = {file: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.md")) if file.name != "index.md"}
    pages = {file: queue_page(text) for file, text in found.items() if _PARAMETERS_MARK.search(text)}
    homes = {match[2]: file.name for file, text in found.items() for match in _PARAMETERS_MARK.finditer(text)}
    return pages | {folder / "index.md": queue_index(homes)}


def queue_page(text: str) -> str:
    """A page about AQMs or disciplines with their parameters and gauges; entries of an earlier one on the page are not repeated."""
    return _insert_parameters_into_page(text, _aqm_or_discipline)


def traffic_page(text: str) -> str:
    """The page of applications with their parameters."""
    known = {entry.name: entry for entry in catalog.entries("app")}
    return _insert_parameters_into_page(text, known.__getitem__)


def _insert_parameters_into_page(text: str, entry: Callable[[str], CatalogEntry]) -> str:
    """A page with the parameters of the entries that it names."""
    owners: dict[Parameter, str] = {}

    def parameter_section(part: re.Match[str]) -> str:
        tables = "\n".join(_parameter_and_gauge_tables(entry(part[2]), owners))
        return f"{part[1]}\n{tables}\n<!-- end of parameters -->\n"

    return _PARAMETERS_MARK.sub(parameter_section, text)


def queue_index(homes: Mapping[str, str]) -> str:
    """The list of AQMs and disciplines; `homes` has the page of each."""

    def index_rows(kind: str) -> Iterable[Sequence[str]]:
        for entry in catalog.entries(kind):
            name = f"[`{entry.name}`]({homes[entry.name]})" if entry.name in homes else _as_code(entry.name)
            yield name, entry.title, entry.summary, entry.source

    parts = [_QUEUES_HEAD]
    for kind, heading in (("aqm", "## AQMs\n"), ("discipline", "## Disciplines\n")):
        parts += [heading, _markdown_table(("name", "title", "what it does", "source"), index_rows(kind))]
    return "\n".join([*parts, _QUEUES_TAIL])


def aqm_duties_pages() -> dict[Path, str]:
    """The page of RFC 7567's requirements, measured for each AQM in a FIFO buffer and each discipline with a buffer, and its picture."""
    aqms = [json.loads(_core.check_aqm(entry.name)) for entry in catalog.entries("aqm")]
    disciplines = [json.loads(_core.check_discipline(entry.name)) for entry in catalog.entries("discipline") if _has_buffer(entry)]
    duties = aqms[0]["duties"]
    meanings = ([_as_code(duty["name"]), duty["sentence"], f"RFC 7567, section {duty['section']}"] for duty in duties)
    parts = [_DUTIES_HEAD, _markdown_table(("requirement", "sentence", "source"), meanings), _DUTIES_LOAD]
    for heading, judged in (("## AQMs\n", aqms), ("## Disciplines\n", disciplines)):
        if judged:
            parts += [heading, *_duty_tables(judged)]
    return {DUTIES_PAGE: "\n".join(parts), QUEUES_FOLDER / "figures" / "duties.svg": _verdicts_svg(aqms)}


def _verdicts_svg(results: Sequence[Mapping[str, Any]]) -> str:
    """A picture of the verdicts: a row for each AQM, a column for each requirement."""
    names = [duty["name"] for duty in results[0]["duties"]]
    width, height = _NAME_WIDTH + _CELL_WIDTH * len(names), _CELL_HEIGHT * (len(results) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for column, name in enumerate(names):
        parts.append(f'<text x="{_NAME_WIDTH + (column + 0.5) * _CELL_WIDTH:g}" y="14" text-anchor="middle">{name}</text>')
    for row, result in enumerate(results, 1):
        top = row * _CELL_HEIGHT
        parts.append(f'<text x="4" y="{top + 14}">{result["name"]}</text>')
        for column, duty in enumerate(result["duties"]):
            left, colour = _NAME_WIDTH + column * _CELL_WIDTH, _VERDICT_COLOURS[duty["verdict"]]
            parts.append(f'<rect x="{left + 1}" y="{top + 1}" width="{_CELL_WIDTH - 2}" height="{_CELL_HEIGHT - 2}" fill="{colour}"/>')
            parts.append(f'<text x="{left + _CELL_WIDTH / 2:g}" y="{top + 14}" text-anchor="middle">{duty["verdict"]}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _has_buffer(discipline: CatalogEntry) -> bool:
    """Whether it stores packets itself and is more than a FIFO buffer, in which the AQMs are measured."""
    return discipline.name != "fifo" and any(parameter.name == "limit" for parameter in discipline.parameters)


def _duty_tables(judged: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """A table of verdicts, and one of the figures that they come from."""
    header = ("", *(_as_code(duty["name"]) for duty in judged[0]["duties"]))
    for what in ("verdict", "found"):
        yield _markdown_table(header, ([_as_code(one["name"]), *(duty[what] for duty in one["duties"])] for one in judged))


def _aqm_or_discipline(name: str) -> CatalogEntry:
    """The AQM or the discipline of that name."""
    known = {entry.name: entry for kind in ("aqm", "discipline") for entry in catalog.entries(kind)}
    if name not in known:
        raise UnknownName("AQM or discipline", name, known)
    return known[name]


def measures_page(text: str) -> str:
    """The page of measures with the tables' columns as they are declared."""

    return _insert_column_tables_into_page(text, {table.name: table for table in catalog.tables()})


def traces_page(text: str) -> str:
    """The page of traces with the tables' columns and the rules of a check as they are declared."""
    rows = ([_as_code(rule.name), rule.section, rule.asks, rule.departs] for rule in analyze.all_trace_rules())
    rules = _markdown_table(("rule", "section", "requirement", "who is known to depart from it"), rows)
    text = _RULES_MARK.sub(lambda part: f"{part[1]}\n{rules}\n{part[2]}", text)
    return _insert_column_tables_into_page(text, {table.name: table for table in catalog.trace_tables()})


def phase_page(text: str) -> str:
    """The page of phase effects, with the stored findings for examples and studies."""
    effects: list[dict[str, Any]] = json.loads(PHASE_EFFECTS.read_text(encoding="utf-8"))
    return _PHASE_MARK.sub(lambda part: f"{part[1]}\n{_phase_effect_tables(effects)}\n{part[2]}", text)


def _phase_effect_tables(effects: Sequence[Mapping[str, Any]]) -> str:
    by_source: dict[str, list[Mapping[str, Any]]] = {}
    for effect in effects:
        by_source.setdefault(effect["source"], []).append(effect)
    rows = []
    for source, of_source in by_source.items():
        found = [effect for effect in of_source if effect["found"]]
        rows.append(
            [
                _as_code(source),
                str(len(of_source)),
                str(len(found)),
                "; ".join(map(_largest_phase_changes_cell, found)) if len(of_source) == 1 else "",
            ]
        )
    parts = [_markdown_table(("scenarios of", "scenarios", "with a phase effect", "largest changes"), rows)]
    found = [effect for effect in effects if effect["found"] and len(by_source[effect["source"]]) > 1]
    if found:
        largest = sorted(found, key=lambda effect: (effect["source"], -_phase_effect_size(effect)))
        shown = [effect for source in by_source for effect in [one for one in largest if one["source"] == source][:_MAX_SCENARIOS_OF_STUDY]]
        cells = [
            [effect["source"], effect["scenario"], f"{len(effect['moved'])} of {effect['measures']}", _largest_phase_changes_cell(effect)]
            for effect in shown
        ]
        about = (
            f"Of each study the {_MAX_SCENARIOS_OF_STUDY} scenarios with the largest changes; `{PHASE_EFFECTS.name}` has all. "
            "Rows with the same name are different scenarios: they differ in parameters that the name does not contain.\n"
        )
        parts += [about, _markdown_table(("study", "scenario", "measures that moved", "largest changes"), cells)]
    return "\n".join(parts)


def _phase_effect_size(effect: Mapping[str, Any]) -> float:
    return max(abs(float(measure["relative"])) for measure in effect["moved"])


def _largest_phase_changes_cell(effect: Mapping[str, Any]) -> str:
    """The largest changes of a scenario."""
    return ", ".join(f"`{one['measure']}` {one['without']:.3g} to {one['with']:.3g}" for one in effect["moved"][:_MAX_MEASURES_SHOWN])


def _insert_column_tables_into_page(text: str, tables: Mapping[str, Table]) -> str:
    def column_section(part: re.Match[str]) -> str:
        columns = "\n".join(_column_tables(tables[name] for name in part[2].split()))
        return f"{part[1]}\n{columns}\n{part[3]}"

    return _COLUMNS_MARK.sub(column_section, text)


def _column_tables(tables: Iterable[Table]) -> list[str]:
    """Each table; where it shares many columns with an earlier one, only their names."""
    owners: dict[Column, str] = {}
    parts = []
    for table in tables:
        shared = [column for column in table.columns if column in owners]
        if len(shared) <= _MAX_REPEATED_COLUMNS:
            shared = []
        borrowed: dict[str, list[str]] = {}
        for column in shared:
            borrowed.setdefault(owners[column], []).append(column.name)
        rows = ([_as_code(column.name), column.unit, _column_meaning(column)] for column in table.columns if column not in shared)
        heading, doc = f"### `{table.name}`\n", f"{table.doc[0].upper()}{table.doc[1:]}.\n"
        parts += [heading, doc, _markdown_table(("column", "unit", "meaning"), rows), *_parameters_declared_elsewhere_text(borrowed)]
        owners = dict.fromkeys(table.columns, table.name) | owners
    return parts


def _column_meaning(column: Column) -> str:
    """The meaning of a column, with its possible values."""
    words = ", ".join(map(_as_code, column.words))
    return f"{column.doc} ({words})" if words else column.doc


def _unit_table() -> str:
    """All spellings of each unit, a row for each."""
    declared = json.loads(_core.units())
    kinds = {"s": "time", "bit/s": "rate", "bytes": "size, amount of buffer", "packets": "amount of buffer"}
    rows = (
        [kind, f"{unit['factor']:g} {name}", ", ".join(map(_as_code, unit["spellings"]))]
        for name, kind in kinds.items()
        for unit in declared[name]
    )
    return _markdown_table(("kind", "unit", "spellings"), rows)


def _section_key_table(section: CatalogEntry) -> str:
    """The keys of a section."""
    rows = (
        [_as_code(key.name), _as_code(key.default) or _key_default_text(key), _allowed_values_text(key), key.meaning]
        for key in section.parameters
    )
    return _markdown_table(("key", "default", "allowed", "meaning"), rows)


def _key_default_text(key: Parameter) -> str:
    return "required" if key.required else ""


def _allowed_values_text(key: Parameter) -> str:
    return f"{key.kind}, as in {_as_code(key.example)}" if key.kind in ("table", "tables", "rate", "file or list") else key.bounds


def _entry_sections(entries: Iterable[CatalogEntry]) -> list[str]:
    """Each entry with the parameters that no earlier one has declared in the same words, and the names of the others."""
    owners: dict[Parameter, str] = {}
    return [part for entry in entries for part in (_entry_heading(entry), *_parameter_and_gauge_tables(entry, owners))]


def _parameter_and_gauge_tables(entry: CatalogEntry, owners: dict[Parameter, str]) -> list[str]:
    """The child, the parameters and the gauges of an entry; a parameter of an earlier entry is only named."""
    mine: list[Parameter] = []
    borrowed: dict[str, list[str]] = {}
    for parameter in entry.parameters:
        owner = owners.setdefault(parameter, entry.name)
        if owner == entry.name:
            mine.append(parameter)
        else:
            borrowed.setdefault(owner, []).append(parameter.name)
    parts = [f"{entry.contents}\n"] if entry.contents else []
    parts += [
        *_parameters_declared_elsewhere_text(borrowed),
        *([_markdown_table(_COLUMNS_OF_TABLE, map(_markdown_table_rows, mine))] if mine else []),
    ]
    gauges = ([_as_code(gauge.name), gauge.unit, gauge.doc] for gauge in entry.gauges)
    return parts + ([_markdown_table(("gauge", "unit", "meaning"), gauges)] if entry.gauges else [])


def _profile_sections(profiles: Sequence[CatalogEntry]) -> list[str]:
    """The profiles, and one table of all parameters with a default for each profile."""
    defaults = [{parameter.name: parameter.default for parameter in profile.parameters} for profile in profiles]
    rows = (
        [_as_code(row.name), *(_as_code(d[row.name]) for d in defaults), *_markdown_table_rows(row)[2:]] for row in profiles[0].parameters
    )
    header = ("parameter", *(_as_code(profile.name) for profile in profiles), *_COLUMNS_OF_TABLE[2:])
    parameters = ["### Parameters of every profile\n", _markdown_table(header, rows), _QUIRKS_LINK]
    return [*map(_entry_heading, profiles), *parameters, _CHECKED_HEAD, _checked_combinations_table(profiles)]


def _checked_combinations_table(profiles: Sequence[CatalogEntry]) -> str:
    """The checked combinations of all profiles."""
    rows = (
        [_as_code(profile.name), one.congestion_control, one.recovery, one.responses, one.judge]
        for profile in profiles
        for one in profile.checked
    )
    return _markdown_table(("profile", "congestion control", "recovery", "responses to marks", "judge"), rows)


def _variant_sections(variants: Iterable[CatalogEntry]) -> str:
    """Parameters that each variant sets."""
    rows = ([_as_code(variant.name), variant.title, _values_of_variant(variant), variant.source] for variant in variants)
    return _markdown_table(("variant", "what", "sets", "source"), rows)


def _values_of_variant(variant: CatalogEntry) -> str:
    return ", ".join(_as_code(f"{parameter.name} = {parameter.default}") for parameter in variant.parameters)


def _entry_heading(entry: CatalogEntry) -> str:
    alias = f" It is also called `{entry.alias}`." if entry.alias else ""
    return f"### `{entry.name}`: {entry.title}\n\n{entry.summary}{alias}\nSource: {entry.source}.\n"


def _parameters_declared_elsewhere_text(borrowed: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"As in `{owner}`: {', '.join(map(_as_code, names))}.\n" for owner, names in borrowed.items()]


def _markdown_table_rows(row: Parameter) -> list[str]:
    return [_as_code(row.name), _as_code(row.default), row.bounds, row.unit, row.meaning, row.source]


def _markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _as_code(text: str) -> str:
    return f"`{text}`" if text else ""


def write_or_check_pages(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python tools/reference_pages.py", description="Write the pages that the engine's declarations make."
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing; exit code 1 if a page is stale")
    parser.add_argument("--file", type=Path, help="write or compare the page of parameters alone, here")
    chosen = parser.parse_args(arguments)
    pages = {chosen.file or PARAMETERS_PAGE: parameters_page()}
    if chosen.file is None:
        pages[QUIRKS_PAGE] = quirks_page()
        pages |= {page: scenario_page(page.read_text(encoding="utf-8")) for page in SCENARIO_PAGES}
        pages[MEASURES_PAGE] = measures_page(MEASURES_PAGE.read_text(encoding="utf-8"))
        pages[TRAFFIC_PAGE] = traffic_page(TRAFFIC_PAGE.read_text(encoding="utf-8"))
        pages[TRACES_PAGE] = traces_page(TRACES_PAGE.read_text(encoding="utf-8"))
        pages[PHASE_PAGE] = phase_page(PHASE_PAGE.read_text(encoding="utf-8"))
        pages |= queue_pages()
        pages |= aqm_duties_pages()
    if not chosen.check:
        for file, fresh in pages.items():
            file.write_text(fresh, encoding="utf-8")
        return 0
    stale = [file for file, fresh in pages.items() if not file.is_file() or file.read_text(encoding="utf-8") != fresh]
    for file in stale:
        print(f"{file} is stale: run python tools/reference_pages.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(write_or_check_pages())
