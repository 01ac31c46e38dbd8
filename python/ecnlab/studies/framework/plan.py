"""Which runs a study needs: each distinct scenario once for each seed, with the recordings that its figures and claims need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecnlab.backends.base import Backend
from ecnlab.backends.simulator import SIMULATOR
from ecnlab.errors import Failure
from ecnlab.execution.runner import Request, run_all
from ecnlab.execution.workers import Workers
from ecnlab.scenarios.load import Scenario, scenario
from ecnlab.storage.results import Result
from ecnlab.storage.store import Store
from ecnlab.storage.tables import recording_includes
from ecnlab.studies.framework.claims import Claim
from ecnlab.studies.framework.model import RequiredScenario, ScenarioRewriting, ScenarioTree, StudyItem

Recording = Mapping[str, Any]
RecordPlace = tuple[str, str, tuple[int, ...]]


@dataclass(frozen=True)
class ScenarioRequest:
    """A required scenario with its seeds and recordings."""

    scenario: Scenario
    tree: ScenarioTree
    seeds: tuple[int, ...]

    @property
    def recording(self) -> Recording:
        """The required recordings."""
        found: Recording = self.tree.get("record", {})
        return found

    @property
    def deduplication_key(self) -> RecordPlace:
        """The scenario's identity."""
        return self.scenario.hash, json.dumps(self.recording, sort_keys=True), self.seeds

    def satisfies(self, other: ScenarioRequest) -> bool:
        """Whether its runs include all seeds and recordings of the other one."""
        same = self.scenario.hash == other.scenario.hash and set(other.seeds) <= set(self.seeds)
        return same and recording_includes(self.recording, other.recording)


@dataclass(frozen=True)
class PlannedScenario:
    """A planned scenario with its seeds and the recordings of some of them."""

    scenario: Scenario
    seeds: tuple[int, ...]
    recorded: tuple[str, ...]


class StudyPlan:
    """The runs of required scenarios on a backend. Identical requirements share one entry.

    `rewritten` says how a scenario is written for it, if otherwise than in the study.
    """

    def __init__(
        self,
        needs: Iterable[RequiredScenario],
        seeds: Sequence[int],
        backend: Backend = SIMULATOR,
        rewritten: ScenarioRewriting | None = None,
    ) -> None:
        self.seeds = seeds
        self.backend = backend
        self.is_rewritten = rewritten is not None
        self._rewritten = rewritten or (lambda tree: tree)
        self._read: dict[str, tuple[Scenario, ScenarioTree]] = {}
        self._wanted: dict[RecordPlace, ScenarioRequest] = {}
        self._places: dict[RequiredScenario, RecordPlace] = {}
        self.add_required_scenarios(needs)

    def add_required_scenarios(self, needs: Iterable[RequiredScenario]) -> None:
        """Add required scenarios to the plan."""
        for need in needs:
            if need not in self._places:
                wanted = self._request_of_need(need)
                self._places[need] = wanted.deduplication_key
                self._wanted.setdefault(wanted.deduplication_key, wanted)

    def scenario_of_need(self, need: RequiredScenario) -> Scenario:
        """The scenario that is run for a required one."""
        return self._request_of_need(need).scenario

    def has_planned_scenarios(self, needs: Iterable[RequiredScenario]) -> bool:
        """Whether the planned runs already satisfy these required scenarios."""
        return all(need in self._places or self._is_planned(self._request_of_need(need)) for need in needs)

    @property
    def planned_scenarios(self) -> list[PlannedScenario]:
        """Each planned scenario, once."""
        return [
            PlannedScenario(
                asking[0].scenario,
                tuple(sorted({seed for wanted in asking for seed in wanted.seeds})),
                tuple(sorted({key for wanted in asking for key in wanted.recording})),
            )
            for asking in self._requests_by_key().values()
        ]

    def run_missing(
        self, store: Store | str | Path | None, workers: Workers | None = None, *, progress: bool = False
    ) -> tuple[dict[RequiredScenario, Result], list[Failure]]:
        """Run all planned runs that are not in the store.

        Returns the result of each required scenario with exactly its seeds, unless one of them failed; and the failed runs.
        """
        recording = list(self._merged_requests())
        wanted = list(self._wanted.values())
        requests = recording + [Request(one.scenario, one.seeds) for one in wanted]
        outcome = run_all(requests, store=store, workers=workers, progress=progress)
        found = dict(zip(self._wanted, outcome.results[len(recording) :], strict=True))
        complete_results = {place: result for place, result in found.items() if len(result.seeds) == len(self._wanted[place].seeds)}
        return {need: complete_results[place] for need, place in self._places.items() if place in complete_results}, outcome.failures

    def _request_of_need(self, need: RequiredScenario) -> ScenarioRequest:
        text = json.dumps(need.scenario)
        if text not in self._read:
            tree = self._rewritten(need.scenario)
            self._read[text] = scenario(tree).on_backend(self.backend), tree
        return ScenarioRequest(*self._read[text], tuple(self.seeds if need.every_seed else self.seeds[:1]))

    def _is_planned(self, wanted: ScenarioRequest) -> bool:
        return any(planned.satisfies(wanted) for planned in self._wanted.values())

    def _requests_by_key(self) -> dict[str, list[ScenarioRequest]]:
        found: dict[str, list[ScenarioRequest]] = {}
        for wanted in self._wanted.values():
            found.setdefault(wanted.scenario.hash, []).append(wanted)
        return found

    def _merged_requests(self) -> Iterator[Request]:
        """The runs with merged recordings, so that a seed is run twice only where recordings contradict."""
        for asking in self._requests_by_key().values():
            for record, seeds in _merged_recordings_with_seeds(asking):
                if all(record != wanted.recording for wanted in asking):
                    yield Request(scenario({**asking[0].tree, "record": record}).on_backend(self.backend), seeds)


def all_required_scenarios(items: Iterable[StudyItem], claims: Iterable[Claim]) -> Iterator[RequiredScenario]:
    """The scenarios that items and claims require."""
    for item in items:
        yield from item.needs.values()
    for claim in claims:
        yield from claim.required_scenarios()


def _merged_recordings_with_seeds(asking: Sequence[ScenarioRequest]) -> list[tuple[Recording, list[int]]]:
    """Recordings of each seed, merged so that each seed is run once unless two needs have different intervals of a series."""
    by_seed: dict[int, list[dict[str, Any]]] = {}
    for wanted in asking:
        for seed in wanted.seeds:
            _merge_or_append_recording(by_seed.setdefault(seed, []), wanted.recording)
    shared: list[tuple[Recording, list[int]]] = []
    for seed, records in sorted(by_seed.items()):
        for record in records:
            same = next((seeds for known, seeds in shared if known == record), None)
            if same is None:
                shared.append((record, [seed]))
            else:
                same.append(seed)
    return shared


def _merge_or_append_recording(records: list[dict[str, Any]], record: Recording) -> None:
    """Merge `record` into the first of `records` that it does not contradict, else append it."""
    for known in records:
        if all(known.get(key, value) == value for key, value in record.items()):
            known.update(record)
            return
    records.append(dict(record))
