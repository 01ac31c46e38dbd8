"""Running a study: each distinct scenario once, in OUT/runs/HASH, so that a study that was killed goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ecnlab import report
from ecnlab.plots import style
from ecnlab.results import Result
from ecnlab.runner import Request, run_all
from ecnlab.scenarios import Scenario, scenario
from ecnlab.studies.model import Drawing, Item, Key, Need, Study

FULL, QUICK = 20, 5


def run_study(study: Study, out: Path, seeds: Sequence[int], number: str | None = None, *, progress: bool = False) -> Path:
    """Run a study, or one of its figures, into the folder `out`; returns the path of report.html.

    Raises UnknownName, ResultsError (folder), Interrupted (finished seeds are kept and not run again).
    """
    items = study.choose(number)
    plan = _plan(items, seeds)
    results = dict(zip(plan, run_all(_requests(plan, out), progress=progress), strict=True))
    drawings = [(item, _draw(item, results)) for item in items]
    for item, drawing in drawings:
        _save(item, drawing, out)
    path = out / "report.html"
    report.write(path, report.render(study, drawings, list(results.values()), f"{seeds[0]} .. {seeds[-1]}"))
    return path


class _Planned:
    """A scenario and the seeds that any item wants of it."""

    def __init__(self, chosen: Scenario) -> None:
        self.scenario = chosen
        self.seeds: set[int] = set()


def _plan(items: Sequence[Item], seeds: Sequence[int]) -> dict[str, _Planned]:
    plan: dict[str, _Planned] = {}
    for need in (need for item in items for need in item.needs.values()):
        chosen = scenario(need.scenario)
        plan.setdefault(chosen.hash, _Planned(chosen)).seeds.update(_seeds(need, seeds))
    return plan


def _seeds(need: Need, seeds: Sequence[int]) -> Sequence[int]:
    return seeds if need.every_seed else seeds[:1]


def _requests(plan: Mapping[str, _Planned], out: Path) -> list[Request]:
    return [Request(p.scenario, sorted(p.seeds), out / "runs" / hash_[:16]) for hash_, p in plan.items()]


@style.styled
def _draw(item: Item, results: Mapping[str, Result]) -> Drawing:
    found: dict[Key, Result] = {key: results[scenario(need.scenario).hash] for key, need in item.needs.items()}
    return item.draw(found)


def _save(item: Item, drawing: Drawing, out: Path) -> None:
    if drawing.figure is not None:
        style.save(drawing.figure, out / "figures" / item.heading.lower().replace(" ", "-"))
