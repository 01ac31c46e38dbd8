"""Running a study: each distinct scenario once, kept in the store OUT/runs, so that a study that was killed goes on where it was.

OUT/report.html      one file with all figures and tables
OUT/figures/         each figure as SVG, PDF and PNG, and the numbers behind it as CSV
OUT/runs/            the store of its runs
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecnlab.plots.style import PLAIN
from ecnlab.progress import Progress
from ecnlab.results import Result
from ecnlab.runner import Request, run_all
from ecnlab.scenarios import Scenario, scenario
from ecnlab.store import Store
from ecnlab.studies import report
from ecnlab.studies.claims import Claim, decide
from ecnlab.studies.model import Drawing, Item, Key, Need, Study

FULL, QUICK = 20, 5


def run_study(
    study: Study,
    out: Path,
    seeds: Sequence[int],
    numbers: Sequence[str] = (),
    claims: Sequence[str] = (),
    *,
    progress: bool = False,
    threads: int | None = None,
) -> Path:
    """Run a study, or its figures and claims of these names, into the folder `out`; returns the path of report.html.

    Raises UnknownName, ResultsError (folder), Interrupted (finished seeds are kept and not run again).
    """
    whole = not numbers and not claims
    items = study.choose(numbers) if numbers or whole else []
    asked = study.choose_claims(claims) if claims or whole else []
    plan = Plan(_needs(items, asked), seeds)
    store = Store(out / "runs")
    run_all(plan.requests(), store=store, progress=progress, threads=threads).whole()
    results = plan.results(store)
    decisions = [decide(claim, results.__getitem__) for claim in asked]
    sections = []
    with Progress(len(items), shown=progress, verb="drawing") as drawn:
        for item in items:
            sections.append(_draw(item, {key: results[need] for key, need in item.needs.items()}, out / "figures"))
            drawn.advance()
    path = out / "report.html"
    report.write(path, report.render(study, decisions, sections, list(dict.fromkeys(results.values())), seeds))
    return path


def _needs(items: Iterable[Item], claims: Iterable[Claim]) -> Iterator[Need]:
    for item in items:
        yield from item.needs.values()
    for claim in claims:
        yield from claim.needs()


Record = Mapping[str, Any]
Place = tuple[str, str, tuple[int, ...]]


@dataclass(frozen=True)
class Wanted:
    """A scenario that some item needs over some seeds."""

    scenario: Scenario
    tree: Mapping[str, Any]
    seeds: tuple[int, ...]


class Plan:
    """The scenarios that items and claims need. One that several need is run once for each seed, recording what all of them ask."""

    def __init__(self, needs: Iterable[Need], seeds: Sequence[int]) -> None:
        self._wanted: dict[Place, Wanted] = {}
        self._places: dict[Need, Place] = {}
        for need in needs:
            if need not in self._places:
                self._places[need] = self._add(need, seeds)

    def requests(self) -> list[Request]:
        """What is to be run."""
        found = []
        for asking in self._by_hash().values():
            for record, seeds in _shared(asking):
                first = asking[0]
                chosen = first.scenario if record == first.tree.get("record", {}) else scenario({**first.tree, "record": record})
                found.append(Request(chosen, seeds))
        return found

    def results(self, store: Store) -> dict[Need, Result]:
        """The result of each need, with just the seeds that were asked of it, once all have been run."""
        requests = [Request(wanted.scenario, wanted.seeds) for wanted in self._wanted.values()]
        by_place = dict(zip(self._wanted, run_all(requests, store=store).results, strict=True))
        return {need: by_place[place] for need, place in self._places.items()}

    def _add(self, need: Need, seeds: Sequence[int]) -> Place:
        chosen = scenario(need.scenario)
        asked = tuple(seeds if need.every_seed else seeds[:1])
        place = (chosen.hash, repr(need.scenario.get("record", {})), asked)
        self._wanted.setdefault(place, Wanted(chosen, need.scenario, asked))
        return place

    def _by_hash(self) -> dict[str, list[Wanted]]:
        found: dict[str, list[Wanted]] = {}
        for wanted in self._wanted.values():
            found.setdefault(wanted.scenario.hash, []).append(wanted)
        return found


def _shared(asking: Sequence[Wanted]) -> list[tuple[Record, list[int]]]:
    """What to record in which seeds, so that each seed is run once unless two items want one series at different intervals."""
    by_seed: dict[int, list[dict[str, Any]]] = {}
    for wanted in asking:
        record = wanted.tree.get("record", {})
        for seed in wanted.seeds:
            _merge(by_seed.setdefault(seed, []), record)
    shared: list[tuple[Record, list[int]]] = []
    for seed, records in sorted(by_seed.items()):
        for record in records:
            same = next((seeds for known, seeds in shared if known == record), None)
            if same is None:
                shared.append((record, [seed]))
            else:
                same.append(seed)
    return shared


def _merge(records: list[dict[str, Any]], record: Record) -> None:
    """Add `record` to the first of `records` that it does not contradict, else to their end."""
    for known in records:
        if all(known.get(key, value) == value for key, value in record.items()):
            known.update(record)
            return
    records.append(dict(record))


def _draw(item: Item, found: Mapping[Key, Result], folder: Path) -> report.Section:
    """Draw an item and save what it became; what the report shows of it."""
    from ecnlab.plots.drawn import write

    with PLAIN.applied():
        drawing: Drawing = item.draw(found)
    images = {} if drawing.figure is None else drawing.figure.rendered()
    data = {} if drawing.data is None else {"csv": drawing.data.write_csv().encode()}
    write(folder / item.stem, images | data)
    return report.section(item, drawing, images.get("svg"))
