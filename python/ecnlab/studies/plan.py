"""Which runs a study needs: each distinct scenario once for each seed, recording what all of its figures and claims ask of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecnlab.results import Result
from ecnlab.runner import Request, run_all
from ecnlab.scenarios import Scenario, scenario
from ecnlab.studies.model import Need

Record = Mapping[str, Any]
Place = tuple[str, str, tuple[int, ...]]


@dataclass(frozen=True)
class Wanted:
    """A scenario that is needed over some seeds, with what is to be recorded of it."""

    scenario: Scenario
    tree: Mapping[str, Any]
    seeds: tuple[int, ...]

    @property
    def record(self) -> Record:
        """What is to be recorded."""
        found: Record = self.tree.get("record", {})
        return found

    @property
    def place(self) -> Place:
        """What tells it from others."""
        return self.scenario.hash, json.dumps(self.record, sort_keys=True), self.seeds

    def gives(self, other: Wanted) -> bool:
        """Whether its runs have all that the other one wants."""
        same = self.scenario.hash == other.scenario.hash and set(other.seeds) <= set(self.seeds)
        return same and all(self.record.get(key) == value for key, value in other.record.items())


class Plan:
    """The runs that needs ask for. Needs that want the same of the same scenario share one place."""

    def __init__(self, needs: Iterable[Need], seeds: Sequence[int]) -> None:
        self.seeds = seeds
        self._read: dict[str, Scenario] = {}
        self._wanted: dict[Place, Wanted] = {}
        self._places: dict[Need, Place] = {}
        self.add(needs)

    def add(self, needs: Iterable[Need]) -> None:
        """Have these needs met as well."""
        for need in needs:
            if need not in self._places:
                wanted = self._want(need)
                self._places[need] = wanted.place
                self._wanted.setdefault(wanted.place, wanted)

    def meets(self, needs: Iterable[Need]) -> bool:
        """Whether the runs that are planned already have all that these needs ask."""
        return all(need in self._places or self._gives(self._want(need)) for need in needs)

    @property
    def scenarios(self) -> int:
        """How many scenarios are run."""
        return len({wanted.scenario.hash for wanted in self._wanted.values()})

    def count(self, seeds: int) -> int:
        """How many runs they are with so many seeds; some scenarios are wanted with the first one only."""
        single = {wanted.scenario.hash for wanted in self._wanted.values() if len(wanted.seeds) == 1}
        several = {wanted.scenario.hash for wanted in self._wanted.values()} - single
        both = {wanted.scenario.hash for wanted in self._wanted.values() if len(wanted.seeds) > 1} & single
        return seeds * (len(several) + len(both)) + len(single - both)

    @property
    def wanted(self) -> list[Wanted]:
        """Each scenario with what is wanted of it."""
        return list(self._wanted.values())

    def run(self, store: Path, *, threads: int | None = None, progress: bool = False) -> dict[Need, Result]:
        """Run what the folder `store` does not have yet; the result of each need, with just the seeds that were asked of it."""
        run_all([_request(scenario, seeds, store) for scenario, seeds in self._runs()], threads=threads, progress=progress)
        found = run_all([_request(wanted.scenario, wanted.seeds, store) for wanted in self._wanted.values()])
        by_place = dict(zip(self._wanted, found, strict=True))
        return {need: by_place[place] for need, place in self._places.items()}

    def _want(self, need: Need) -> Wanted:
        text = json.dumps(need.scenario)
        if text not in self._read:
            self._read[text] = scenario(need.scenario)
        return Wanted(self._read[text], need.scenario, tuple(self.seeds if need.every_seed else self.seeds[:1]))

    def _gives(self, wanted: Wanted) -> bool:
        return any(planned.gives(wanted) for planned in self._wanted.values())

    def _runs(self) -> Iterator[tuple[Scenario, list[int]]]:
        """What is to be run: scenarios with all that is to be recorded, and their seeds."""
        by_hash: dict[str, list[Wanted]] = {}
        for wanted in self._wanted.values():
            by_hash.setdefault(wanted.scenario.hash, []).append(wanted)
        for asking in by_hash.values():
            for record, seeds in _recorded(asking):
                yield _recording(asking[0], record), seeds


def _request(chosen: Scenario, seeds: Sequence[int], store: Path) -> Request:
    return Request(chosen, seeds, store / chosen.hash[:16])


def _recording(wanted: Wanted, record: Record) -> Scenario:
    return wanted.scenario if record == wanted.record else scenario({**wanted.tree, "record": record})


def _recorded(asking: Sequence[Wanted]) -> list[tuple[Record, list[int]]]:
    """What to record in which seeds, so that each seed is run once unless two want one series at different intervals."""
    by_seed: dict[int, list[dict[str, Any]]] = {}
    for wanted in asking:
        for seed in wanted.seeds:
            _merge(by_seed.setdefault(seed, []), wanted.record)
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
