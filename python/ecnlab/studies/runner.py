"""Running a study: each distinct scenario once, in OUT/runs/HASH, so that a study that was killed goes on where it was.

OUT/report.html      one file with all figures and tables
OUT/figures/         each figure as SVG, PDF and PNG, and the numbers behind it as CSV
OUT/runs/            a results folder for each scenario
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ecnlab.plots.style import PLAIN
from ecnlab.progress import Progress
from ecnlab.results import Result
from ecnlab.runner import Request, run_all
from ecnlab.scenarios import Scenario, scenario
from ecnlab.studies import report
from ecnlab.studies.model import Drawing, Item, Key, Need, Study

FULL, QUICK = 20, 5


def run_study(
    study: Study, out: Path, seeds: Sequence[int], numbers: Sequence[str] = (), *, progress: bool = False, threads: int | None = None
) -> Path:
    """Run a study, or its figures of these numbers, into the folder `out`; returns the path of report.html.

    Raises UnknownName, ResultsError (folder), Interrupted (finished seeds are kept and not run again).
    """
    items = study.choose(numbers)
    plan = _Plan(items, seeds)
    results = dict(zip(plan.planned, run_all(plan.requests(out), progress=progress, threads=threads), strict=True))
    sections = []
    with Progress(len(items), shown=progress) as drawn:
        for item, found in plan.with_results(results):
            sections.append(_draw(item, found, out / "figures"))
            drawn.advance(1)
    path = out / "report.html"
    report.write(path, report.render(study, sections, list(results.values()), seeds))
    return path


class _Planned:
    """A scenario and the seeds that any item wants of it."""

    def __init__(self, chosen: Scenario) -> None:
        self.scenario = chosen
        self.seeds: set[int] = set()


class _Plan:
    """What items need: their distinct scenarios by hash, and of each item which scenario stands under which key."""

    def __init__(self, items: Sequence[Item], seeds: Sequence[int]) -> None:
        self.planned: dict[str, _Planned] = {}
        self._needs = [(item, {key: self._add(need, seeds) for key, need in item.needs.items()}) for item in items]

    def requests(self, out: Path) -> list[Request]:
        return [Request(p.scenario, sorted(p.seeds), out / "runs" / hash_[:16]) for hash_, p in self.planned.items()]

    def with_results(self, results: Mapping[str, Result]) -> Iterator[tuple[Item, dict[Key, Result]]]:
        for item, hashes in self._needs:
            yield item, {key: results[hash_] for key, hash_ in hashes.items()}

    def _add(self, need: Need, seeds: Sequence[int]) -> str:
        chosen = scenario(need.scenario)
        planned = self.planned.setdefault(chosen.hash, _Planned(chosen))
        planned.seeds.update(seeds if need.every_seed else seeds[:1])
        return chosen.hash


def _draw(item: Item, found: Mapping[Key, Result], folder: Path) -> report.Section:
    """Draw an item and save what it became; what the report shows of it."""
    from ecnlab.plots.drawn import write

    with PLAIN.applied():
        drawing: Drawing = item.draw(found)
    images = {} if drawing.figure is None else drawing.figure.rendered()
    data = {} if drawing.data is None else {"csv": drawing.data.write_csv().encode()}
    write(folder / item.stem, images | data)
    return report.section(item, drawing, images.get("svg"))
