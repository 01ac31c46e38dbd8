"""A study's report: one HTML file with everything inside, so that it opens offline and travels alone."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab.errors import ResultsError
from ecnlab.plots import style
from ecnlab.store import write_atomically
from ecnlab.studies.model import Drawing, Item, Study

if TYPE_CHECKING:
    from ecnlab.results import Result

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class _Section:
    heading: str
    title: str
    caption: str
    image: str
    tables: Sequence[Any]


def render(study: Study, drawings: Iterable[tuple[Item, Drawing]], results: Sequence[Result], seeds: str) -> str:
    """The report as HTML text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("report.html.j2").render(
        title=study.title,
        summary=study.summary,
        source=study.source,
        engine=results[0].header["engine"] if results else "",
        seeds=seeds,
        sections=[_section(item, drawing) for item, drawing in drawings],
        runs=[_run(result) for result in results],
    )


def write(path: Path, html: str) -> None:
    """Put the report at `path`, whole or not at all. Raises ResultsError if the disk refuses."""
    try:
        write_atomically(path, html.encode())
    except OSError as error:
        raise ResultsError(f"cannot write the report {path}: {error.strerror or error}") from None


def _section(item: Item, drawing: Drawing) -> _Section:
    image = "" if drawing.figure is None else b64encode(style.svg(drawing.figure)).decode()
    return _Section(item.heading, item.title, item.caption, image, drawing.tables)


def _run(result: Result) -> dict[str, Any]:
    first = result.records[0].fingerprint if result.records else ""
    return {
        "name": result.name,
        "hash": result.hash[:16],
        "seeds": len(result.seeds),
        "fingerprint": first[:16],
    }
