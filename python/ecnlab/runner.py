"""Running scenarios: whatever is asked for and not there yet is run, in the order of the requests, and kept as it finishes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, Protocol

from ecnlab import observation, precision
from ecnlab.batches import Batches
from ecnlab.errors import EngineFault, Interrupted, Problem, ResultsError, RunsFailed, ScenarioError, UsageError
from ecnlab.jobs import ENGINE, LATENESS, Failure, Finished, Job
from ecnlab.progress import Progress
from ecnlab.results import Result
from ecnlab.scenarios import Scenario
from ecnlab.seeds import chosen_seeds
from ecnlab.store import Folder, Store, folder_path, header_of
from ecnlab.tables import Kept, Part, as_text, chosen, covers
from ecnlab.tiers import READING, Tier
from ecnlab.tracing import TraceTo, Tracing, checked
from ecnlab.workers import Crew, Ended, Threads, Workers

_TICK_S = 0.1
_FLUSH_S = 1.0
_FLUSH_BYTES = 256 << 20

# Failures of a run that say nothing of the other seeds.
_KEPT_APART = (ENGINE, LATENESS)


@dataclass(frozen=True)
class Request:
    """A scenario to run over seeds. With traces each seed is run, stored or not.

    Attributes
    ----------
    scenario : Scenario
        What to run.
    seeds : sequence of int
        Its seeds.
    out : Path or None
        The results folder that it is to go into, if it is to have one of its own.
    tracing : Tracing or None
        The traces that it is to write.
    observed : Scenario or None
        The same scenario with more recorded, in place of which the first five seeds are run, unless they are stored already.
    """

    scenario: Scenario
    seeds: Sequence[int]
    out: Path | None = None
    tracing: Tracing | None = None
    observed: Scenario | None = None

    def job(self, seed: int) -> Job:
        """The run of one of its seeds."""
        return Job(self.observed if self.observed is not None and seed in self.seeds[: observation.SEEDS] else self.scenario, seed)


@dataclass(frozen=True)
class Outcome:
    """What became of requests.

    Attributes
    ----------
    results : list of Result
        One for each request, in order, with those of its seeds that have finished.
    failures : list of Failure
        The runs that failed, by title, key and seed.
    """

    results: list[Result]
    failures: list[Failure] = field(default_factory=list)

    def whole(self) -> list[Result]:
        """The results, if no run has failed. Raises RunsFailed."""
        if self.failures:
            raise RunsFailed(self.failures, self.results)
        return self.results


def run(
    scenario: Scenario,
    seeds: int | Iterable[int] | None = None,
    *,
    seed: int | None = None,
    on: str | Tier | None = None,
    out: str | Path | None = None,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
    trace: str | Path | TraceTo | None = None,
    until: str | float | None = None,
    of: str = precision.OF,
    observe: bool = False,
) -> Result:
    """Run a scenario once for each seed.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    seeds : int or iterable of int, optional
        `20` stands for the seeds 1 to 20; a list or range names each. Seeds are at least 0 and below 2**63.
    seed : int, optional
        The one seed to run; 1 if neither this nor `seeds` is given.
    on : str or Tier, optional
        What it runs on: "sim", "live" or "boxed", or `Live(...)` or `Boxed(...)` with settings; what the scenario says (`Scenario.on`),
        and so the simulator, unless given.
    out : str or Path, optional
        A results folder: what finishes is stored there, seeds that it has already are not run again, and its summary.json
        covers all that it holds.
    workers : Threads or Cluster, optional
        Who does the runs; the cores of this machine unless given.
    threads : int, optional
        Short for `workers=Threads(threads)`: how many runs go on at a time.
    progress : bool
        Show a bar on standard error.
    trace : str, Path or TraceTo, optional
        A file into which each packet's events are written; see `TraceTo`. Seeds that are stored already are run again for it.
    until : str or float, optional
        Add seeds until the half width of the 95 % interval of a measure is at most this: "1%" of its mean, a value with its unit as
        "10 kbps", or a number in the measure's unit. It begins with 10 seeds and looks after 15, 23, 35, ... of `seeds`, which are the
        most that are run, 1000 unless given. The result's warnings say whether they were not enough.
    of : str
        The measure of `until`: "goodput" of all flows unless given, "GROUP.QUANTITY", "QUEUE.QUANTITY" or "QUEUE.BAND.QUANTITY".
    observe : bool
        Record queues and rates of the first five seeds, for `Result.steady_state`; it changes neither results nor keys.

    Returns
    -------
    Result
        The tables of these seeds.

    Raises
    ------
    UsageError
        An argument is out of its range or of a wrong type.
    ResultsError
        The folder cannot be written, holds something else, or is damaged; a trace cannot be written.
    ScenarioError
        The tier cannot do what the scenario asks; `.problems` has all of it, and nothing was run.
    TierError
        The tier cannot be used on this machine.
    AqmError
        An AQM of the user's own raised; its cause is what it raised.
    EngineFault
        The engine failed in some run; `.result` has the other seeds.
    ClusterError
        The cluster cannot be reached or used.
    RunsFailed
        No worker of the cluster could do some run, or packets of some run in real time left too late; `.results` has the other seeds.
    Interrupted
        Ctrl-C; `.result` has the finished seeds.
    """
    if not isinstance(scenario, Scenario):
        raise UsageError(f"scenario: must be made by load() or scenario(), not {type(scenario).__name__}")
    scenario = scenario if on is None else scenario.on(on)
    asked = None if until is None else precision.read(until, of, scenario.group_names, scenario.queue_names)
    chosen = chosen_seeds(precision.MOST_SEEDS if asked and seeds is None and seed is None else seeds, seed)
    if asked:
        _require_several(chosen, trace)
    tracing = None if trace is None else checked(trace, scenario, chosen)
    watched = observation.recorded(scenario) if observe else None
    request = Request(scenario, chosen, None if out is None else folder_path("out", out), tracing, watched)
    crew = _chosen_workers(workers, threads)
    try:
        return _run_one(request, crew, progress, _Memory()) if asked is None else _run_until(request, asked, crew, progress)
    except Interrupted as error:
        raise Interrupted(str(error), error.result.results[0] if isinstance(error.result, Outcome) else None) from None


def _require_several(seeds: Sequence[int], trace: object) -> None:
    """Raises UsageError for what does not go with `until`."""
    if len(seeds) < precision.LEAST_SEEDS:
        least = precision.LEAST_SEEDS
        few = "one seed is" if len(seeds) == 1 else f"{len(seeds)} seeds are"
        raise UsageError(f"until: {few} too few to judge an interval; fix: allow {least} or more, e.g. --seeds 1000")
    if trace is not None:
        raise UsageError("until: a trace is of seeds that are known beforehand; fix: leave the trace out, or name the seeds without until")


def _run_until(request: Request, asked: precision.Precision, workers: Workers, progress: bool) -> Result:
    """Run more and more of a request's seeds, until an interval is narrow enough."""
    memory = _Memory()
    for n in precision.stages(len(request.seeds)):
        result = _run_one(replace(request, seeds=request.seeds[:n]), workers, progress, memory)
        found = asked.measure.estimate(result)
        if result.alike:
            return result.warned(precision.identical(n))
        if math.isnan(found.mean):
            return result.warned(precision.undefined(asked.measure, n))
        if asked.is_met(found):
            return result
    return result.warned(asked.shortfall(found))


def _run_one(request: Request, workers: Workers, progress: bool, memory: _Memory) -> Result:
    """Run a request. Raises what a run of it has failed by."""
    outcome = _run([request], None, workers, progress, patient=False, memory=memory)
    _raise_any(outcome)
    return outcome.results[0]


def run_all(
    requests: Sequence[Request],
    *,
    store: Store | str | Path | None = None,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Outcome:
    """Run several scenarios in one go. A run that fails costs no other: it is told in the outcome.

    Parameters
    ----------
    requests : sequence of Request
        What to run. A run that several of them ask for is done once.
    store : Store, str or Path, optional
        Where what finishes is kept, and what is there already is taken from; in memory only unless given.
    workers, threads, progress
        As for `run`.

    Raises
    ------
    UsageError
        An argument is out of its range or of a wrong type.
    ScenarioError
        The tier of some scenario cannot do what it asks; `.problems` has all of it, and nothing was run.
    ResultsError
        The store or a folder cannot be written, holds something else, or is damaged.
    ClusterError
        The cluster cannot be reached or used.
    Interrupted
        Ctrl-C; `.result` is the outcome so far, or None where there is none yet.
    """
    opened = store if store is None or isinstance(store, Store) else Store(store)
    return _run(requests, opened, _chosen_workers(workers, threads), progress, patient=True)


def _run(
    requests: Sequence[Request], store: Store | None, workers: Workers, progress: bool, *, patient: bool, memory: _Memory | None = None
) -> Outcome:
    """Run requests; without patience the first failure that is none of the engine's ends it."""
    _require_possible(requests, workers)
    _require_unchanged([request.scenario for request in requests if store is not None or request.out is not None])
    shelves: list[_Shelf] = []
    work = _Work([], None, patient)
    try:
        shelves.extend(_shelves(requests, store, memory))
        with ExitStack() as stack:
            tasks = _tasks(requests, shelves)
            before = stack.enter_context(store.at_work()) if store and tasks else 0
            work = _Work(_ordered(tasks, before), workers, patient)
            work.do(stack.enter_context(Progress(work.total, shown=progress)))
    except KeyboardInterrupt:
        results = [shelf.result(request) for request, shelf in zip(requests, shelves, strict=False)]
        done = _runs(requests, [result.seeds for result in results])
        asked = _runs(requests, [request.seeds for request in requests])
        outcome = Outcome(results, work.failures) if len(results) == len(requests) else None
        raise Interrupted(f"interrupted: {done} of {asked} runs had finished", outcome) from None
    failures = sorted(work.failures, key=lambda failure: (failure.title, failure.key, failure.seed))
    return Outcome([shelf.result(request) for request, shelf in zip(requests, shelves, strict=True)], failures)


def _require_possible(requests: Sequence[Request], workers: Workers) -> None:
    """Nothing begins before all of it can. Raises UsageError for what these workers cannot do, ScenarioError for what its tier cannot."""
    if READING in os.environ:
        say = 'is read once more, for its AQM to stand in queues on live: put what it runs under `if __name__ == "__main__":`'
        raise UsageError(f"{os.environ[READING]} {say}")
    if not workers.here and any(request.tracing for request in requests):
        raise UsageError("trace: a trace is written where its run is; run it on this machine, without a cluster")
    for tier in {request.scenario.tier.name: request.scenario.tier for request in requests}.values():
        if not (workers.here or tier.travels):
            raise UsageError(f"on: {tier.name} measures the machine that it is on; run it on this one, without a cluster")
    for tracing, tier in ((request.tracing, request.scenario.tier) for request in requests):
        if tracing is not None and tracing.form not in tier.traces:
            raise UsageError(f"trace: {tier.name} writes {' and '.join(tier.traces) or 'no traces'}; choose another ending, or --on sim")
    unlike = {request.scenario.hash: request.scenario for request in requests}
    refused = [(scenario, problem) for scenario in unlike.values() for problem in scenario.refusals()]
    if refused:
        sources = {scenario.source for scenario in unlike.values()}
        problems = [problem if len(unlike) == 1 else _of(scenario, problem) for scenario, problem in refused]
        raise ScenarioError(dict.fromkeys(problems), sources.pop() if len(sources) == 1 else None)


def _require_unchanged(scenarios: Iterable[Scenario]) -> None:
    """What is kept must be of the classes whose digests are in its key. Raises UsageError if one has changed since a scenario was read."""
    classes = {(aqm, digest) for one in scenarios for aqm, digest in one.digests_of_classes}
    if not classes:
        return
    from ecnlab.sources import changed_part, digest_of

    for aqm, digest in classes:
        if (now := digest_of(aqm)) != digest:
            part = changed_part(digest, now)
            what = f"has changed since the scenario was read{f' in {part}' if part else ', or something that it reads has'}"
            raise UsageError(f"aqms: the AQM {aqm.__name__} {what}; fix: read the scenario after the change, for then its key covers it")


def _of(scenario: Scenario, problem: Problem) -> Problem:
    """A problem of one of several scenarios."""
    return replace(problem, message=f"{problem.message} ({scenario.name})")


def _runs(requests: Sequence[Request], seeds: Sequence[Sequence[int]]) -> int:
    """How many runs these are: what several requests ask for in one place counts once. `seeds` are those of the requests, or of some."""
    return len({(one.out, one.scenario.hash, seed) for one, those in zip(requests, seeds, strict=False) for seed in those})


def _raise_any(outcome: Outcome) -> None:
    """Raise what a single scenario's runs have failed by."""
    for failure in outcome.failures:
        if failure.error is not None:
            raise failure.error
    if any(failure.kind == ENGINE for failure in outcome.failures):
        raise EngineFault([failure for failure in outcome.failures if failure.kind == ENGINE], outcome.results[0])
    outcome.whole()


class _Shelf(Protocol):
    """Where the runs of some requests are kept."""

    def has(self, key: str, seed: int, recording: Mapping[str, Any]) -> bool:
        """Whether a run with all that `recording` asks is there."""

    def keep(self, run: Finished, scenario: Scenario) -> None:
        """Take a finished run in."""

    def flush(self) -> None:
        """Put what has finished where it is to stay, and look what others have put there."""

    def result(self, request: Request) -> Result:
        """What has finished of what a request asks for."""


class _Memory:
    """A shelf in memory."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], list[Finished]] = {}

    def has(self, key: str, seed: int, recording: Mapping[str, Any]) -> bool:
        return any(covers(run.recording, recording) for run in self._runs.get((key, seed), ()))

    def keep(self, run: Finished, scenario: Scenario) -> None:
        self._runs.setdefault((run.key, run.seed), []).append(run)

    def flush(self) -> None:
        pass

    def result(self, request: Request) -> Result:
        grouped: dict[str, list[Finished]] = {}
        for seed in request.seeds:
            for run in self._runs.get((request.scenario.hash, seed), ()):
                grouped.setdefault(as_text(run.recording), []).append(run)
        return _result(request, map(Kept, grouped.values()))


class _Disk:
    """A shelf on the disk: batches, and what is to go into the next."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self._next = _Memory()
        self._runs: list[Finished] = []
        self._size = 0
        self._scenarios: dict[str, Scenario] = {}

    def has(self, key: str, seed: int, recording: Mapping[str, Any]) -> bool:
        return self.batches.has(key, seed, recording) or self._next.has(key, seed, recording)

    def keep(self, run: Finished, scenario: Scenario) -> None:
        if self.has(run.key, run.seed, run.recording):
            return
        self._next.keep(run, scenario)
        self._runs.append(run)
        self._scenarios.setdefault(run.key, scenario)
        self._size += run.size
        if self._size > _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        self.batches.write(self._runs, self._headers(self._runs))
        self._runs, self._next, self._size = [], _Memory(), 0
        self.batches.refresh()
        self.batches.merge()

    def _headers(self, runs: Iterable[Finished]) -> dict[str, dict[str, Any]]:
        """What the batches are to say of scenarios."""
        return {key: header_of(self._scenarios[key]) for key in {run.key for run in runs}}

    def result(self, request: Request) -> Result:
        return _result(request, self.batches.parts(request.scenario.hash))


class _FolderShelf(_Disk):
    """A shelf that is a results folder."""

    def __init__(self, folder: Folder) -> None:
        super().__init__(folder.batches())
        self._folder = folder

    def _headers(self, runs: Iterable[Finished]) -> dict[str, dict[str, Any]]:
        return {}  # run.json says it

    def result(self, request: Request) -> Result:
        self._summarise()
        return _result(request, self.batches.parts(request.scenario.hash), self._folder.path, self.batches.warnings)

    def _summarise(self) -> None:
        """Write a summary of all that the folder holds.

        Another process may have stored seeds meanwhile. Who writes last looks last, so the summary ends as that of all.
        """
        batches = self._folder.batches()
        while batches.batches:
            whole = Result(self._folder.header, chosen(batches.parts(self._folder.header["hash"]), {}), self._folder.path)
            self._folder.write_summary(whole.summary_json())
            seen, batches = batches, self._folder.batches()
            if [batch.path for batch in batches.batches] == [batch.path for batch in seen.batches]:
                break
        self.batches = batches


def _result(request: Request, parts: Iterable[Part], path: Path | None = None, warnings: Sequence[Problem] = ()) -> Result:
    wanted = set(request.seeds)
    homes = {seed: part for seed, part in chosen(parts, request.scenario.record).items() if seed in wanted}
    return Result(header_of(request.scenario), homes, path, warnings)


def _shelves(requests: Sequence[Request], store: Store | None, memory: _Memory | None) -> Iterator[_Shelf]:
    """A shelf for each request; those that share a folder or the store share one, `memory` where there is no store."""
    shared: _Shelf = (memory or _Memory()) if store is None else _Disk(store.batches)
    folders: dict[Path, _FolderShelf] = {}
    for request in requests:
        if request.out is None:
            yield shared
            continue
        folder = Folder.create(request.out, request.scenario)
        if request.out not in folders:
            folders[request.out] = _FolderShelf(folder)
        yield folders[request.out]


@dataclass(frozen=True)
class _Task:
    """A job, and where what it gives is to be kept."""

    job: Job
    shelf: _Shelf
    tracing: Tracing | None
    wanted: Mapping[str, Any]

    @property
    def stored(self) -> bool:
        """Whether it need not be done: what is wanted was recorded, though a run may record more."""
        return self.tracing is None and self.shelf.has(self.job.key, self.job.seed, self.wanted)


def _tasks(requests: Sequence[Request], shelves: Sequence[_Shelf]) -> list[_Task]:
    """What there is to do, each run once unless two recordings of it cannot be one."""
    found: list[_Task] = []
    known: dict[tuple[int, str, int], list[_Task]] = {}
    for request, shelf in zip(requests, shelves, strict=True):
        for seed in request.seeds:
            task = _Task(request.job(seed), shelf, request.tracing, request.scenario.record)
            same = known.setdefault((id(shelf), task.job.key, seed), [])
            if task.stored or any(_does(one, task) for one in same):
                continue
            same.append(task)
            found.append(task)
    needless = {id(one) for same in known.values() for one in same for other in same if one is not other and _does(other, one)}
    return [task for task in found if id(task) not in needless]


def _does(one: _Task, other: _Task) -> bool:
    """Whether who does one task has done the other."""
    return other.tracing is None and covers(one.job.scenario.record, other.job.scenario.record)


def _ordered(tasks: list[_Task], before: int) -> list[_Task]:
    """Of several processes that do one list the second begins at its end and others anywhere, so that they share it."""
    if before == 1:
        return tasks[::-1]
    if before > 1:
        Random(before).shuffle(tasks)
    return tasks


class _Work:
    """The tasks, done by a crew; what is in hand is bounded by the crew's capacity, what waits to be stored by time and size."""

    def __init__(self, tasks: Sequence[_Task], workers: Workers | None, patient: bool) -> None:
        self.total = len(tasks)
        self.failures: list[Failure] = []
        self._tasks = tasks
        self._shelves = list({id(task.shelf): task.shelf for task in tasks}.values())
        self._workers = workers
        self._patient = patient
        self._next = iter(range(len(tasks)))
        self._left = len(tasks)
        self._in_hand: set[int] = set()
        self._stopped = False
        self._error: BaseException | None = None
        self._flushed = monotonic()

    def do(self, progress: Progress) -> None:
        """Do all tasks. Raises what is no failure of a run; whatever happens, what has finished is flushed."""
        if self._workers is None or not self._tasks:
            return
        crew = self._workers.crew(self.total, self._at_once())
        try:
            while self._left and not self._stopped:
                self._hand_out(crew)
                self._take_in(crew.ended(_TICK_S))
                progress.show(self.total - self._left + crew.under_way())
        finally:
            self._take_in(crew.stop())
            self._flush()
        if self._error is not None:
            raise self._error

    def _at_once(self) -> int | None:
        """How many can go on at a time, if that is fewer than there are cores."""
        limits = [task.job.scenario.tier.at_once for task in self._tasks]
        return min((limit for limit in limits if limit is not None), default=None)

    def _hand_out(self, crew: Crew) -> None:
        """Give the crew as much as it can have in hand; what another process has stored meanwhile is done."""
        while len(self._in_hand) < crew.capacity:
            number = next(self._next, None)
            if number is None:
                return
            task = self._tasks[number]
            if task.stored:
                self._left -= 1
                continue
            self._in_hand.add(number)
            crew.start(number, task.job, task.tracing)

    def _take_in(self, ended: Iterable[tuple[int, Ended]]) -> None:
        for number, outcome in ended:
            self._in_hand.discard(number)
            self._left -= 1
            if isinstance(outcome, Finished):
                self._tasks[number].shelf.keep(outcome, self._tasks[number].job.scenario)
            elif isinstance(outcome, Failure):
                self.failures.append(outcome)
                self._stopped = self._stopped or not (self._patient or outcome.kind in _KEPT_APART)
            elif outcome is not None:
                self._error = self._error or outcome
                self._stopped = True
            if monotonic() - self._flushed >= _FLUSH_S:
                self._flush()

    def _flush(self) -> None:
        """Keep what has finished; one folder that refuses keeps none of the others from it."""
        refusal = None
        for shelf in self._shelves:
            try:
                shelf.flush()
            except ResultsError as error:
                refusal = refusal or error
        self._flushed = monotonic()
        if refusal is not None:
            raise refusal


def _chosen_workers(workers: Workers | None, threads: int | None) -> Workers:
    if workers is not None and threads is not None:
        raise UsageError("threads: leave it away where workers are given")
    return Threads(threads) if workers is None else workers
