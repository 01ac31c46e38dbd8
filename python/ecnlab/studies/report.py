"""A study's report: one HTML file with everything inside, so that it opens offline and travels alone.

It holds no date and no machine's name: the same engine, study and seeds give the same bytes.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab.atomic import write_atomically
from ecnlab.errors import ResultsError
from ecnlab.seeds import listed_seeds
from ecnlab.studies.claims import Decision, Weighed
from ecnlab.studies.model import Drawing, Item, Study, with_interval

if TYPE_CHECKING:
    from ecnlab.results import Result

_TEMPLATES = Path(__file__).parent / "templates"

_ALWAYS = {"flows", "groups", "queues", "total"}


@dataclass(frozen=True)
class Section:
    """An item as the report shows it; `image` is its SVG in base64."""

    heading: str
    title: str
    caption: str
    image: str
    tables: Sequence[Any]
    files: Sequence[str]


def section(item: Item, drawing: Drawing, svg: bytes | None) -> Section:
    """What the report shows of an item."""
    image = "" if svg is None else b64encode(svg).decode()
    data = [] if drawing.data is None else [f"figures/{item.stem}.csv"]
    return Section(item.heading, item.title, item.caption, image, drawing.tables, data)


def render(
    study: Study, decisions: Sequence[Decision], sections: Sequence[Section], results: Sequence[Result], seeds: Sequence[int]
) -> str:
    """The report as HTML text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("report.html.j2").render(
        title=study.title,
        summary=study.summary,
        source=study.source,
        engine=_engine(results[0].header),
        seeds=listed_seeds(seeds),
        claims=[_row(decision) for decision in decisions],
        sections=sections,
        runs=[_run(result) for result in results],
        settings=_settings(results),
    )


def _row(decision: Decision) -> dict[str, Any]:
    """A claim as the report's table shows it."""
    statements = [_statement(weighed) for weighed in decision.weighed]
    return {"claim": decision.claim, "verdict": str(decision.verdict), "statements": statements}


def _statement(weighed: Weighed) -> dict[str, Any]:
    statement, shown = weighed.statement, weighed.statement.shown
    return {
        "text": statement.text,
        "range": statement.range.words,
        "unit": shown.unit,
        "published": "" if statement.published is None else f"{statement.published:g}",
        "ours": with_interval(weighed.ours, shown.digits),
        "ns2": "" if weighed.ns2 is None else f"{weighed.ns2:.{shown.digits}f}",
        "standing": str(weighed.standing),
    }


def write(path: Path, html: str) -> None:
    """Put the report at `path`, whole or not at all. Raises ResultsError if the disk refuses."""
    try:
        write_atomically(path, html.encode())
    except OSError as error:
        raise ResultsError(f"cannot write the report {path}: {error.strerror or error}") from None


def _engine(header: Mapping[str, Any]) -> str:
    return f"{header['engine']} (build {header['build']})"


def _run(result: Result) -> dict[str, Any]:
    first = result.records[0].fingerprint if result.records else ""
    return {
        "name": result.name,
        "hash": result.hash[:16],
        "recorded": ", ".join(sorted(result.tables - _ALWAYS)),
        "seeds": len(result.seeds),
        "fingerprint": first[:16],
    }


def _settings(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Every parameter in force but names, with each value that it has in any scenario."""
    values: dict[str, dict[str, None]] = {}
    for result in results:
        for place, value in _flat("", result.header["parameters"]):
            if not place.endswith("name"):
                values.setdefault(place, {})[value] = None
    return [(place, " | ".join(found)) for place, found in values.items()]


def _flat(place: str, value: Any) -> Iterator[tuple[str, str]]:
    """The leaves of a scenario's parameters, `link.queue.min_th` and so on; what several links or groups have stands at one place."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{place}.{key}".removeprefix("."), inner)
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for inner in value:
            yield from _flat(place, inner)
    else:
        yield place, value if isinstance(value, str) else json.dumps(value)
