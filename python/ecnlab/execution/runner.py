"""Running scenarios: executes the requested runs that are not stored yet, in order, and stores each when it finishes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from ecnlab.backends.base import ENV_SCRIPT_IMPORT, Backend
from ecnlab.backends.registry import merge_renamed_backend_argument
from ecnlab.errors import (
    CONTROL,
    ENGINE,
    LATENESS,
    EngineFault,
    Failure,
    Interrupted,
    Problem,
    ResultsError,
    RunsFailed,
    ScenarioError,
    UsageError,
)
from ecnlab.execution.jobs import Job
from ecnlab.execution.memory import require_memory_for_runs
from ecnlab.execution.progress import ProgressLine
from ecnlab.execution.workers import JobOutcome, JobWorkerPool, Threads, Workers
from ecnlab.scenarios.load import Scenario
from ecnlab.scenarios.seeds import seeds_from_arguments
from ecnlab.stats import precision, steady_series
from ecnlab.storage.folders import parse_folder_argument
from ecnlab.storage.results import Result
from ecnlab.storage.segments import BatchCollection
from ecnlab.storage.store import ScenarioResultsFolder, Store, run_header_of_scenario
from ecnlab.storage.tables import (
    FinishedRun,
    FinishedSeeds,
    Recording,
    SeedTablesInMemory,
    choose_part_for_each_seed,
    recording_as_json,
    recording_includes,
)

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput, TraceTo

_POLL_INTERVAL_S = 0.1
_FLUSH_INTERVAL_S = 1.0
_FLUSH_BYTES = 256 << 20
_MAX_OBSERVED_BYTES = 128 << 20

# Kinds of failures that concern one seed only.
_FAILURES_OF_ONE_SEED = (CONTROL, ENGINE, LATENESS)


@dataclass(frozen=True)
class Request:
    """A scenario to run over seeds. With traces, stored seeds are run again.

    Attributes
    ----------
    scenario : Scenario
        The scenario.
        Its seeds.
    out : Path or None
        Its results folder, if any.
    tracing : Tracing or None
        The traces to write.
    observed : Scenario or None
        The same scenario, perhaps with more recordings, which the first five seeds use unless they are stored. The result of a folder
        has their tables in memory, as far as they fit.
    """

    scenario: Scenario
    seeds: Sequence[int]
    out: Path | None = None
    tracing: TraceOutput | None = None
    observed: Scenario | None = None

    @property
    def observed_seeds(self) -> Sequence[int]:
        """The seeds that are observed."""
        return self.seeds[: steady_series.OBSERVED_SEEDS] if self.observed is not None else ()

    def job(self, seed: int) -> Job:
        """The job for one of its seeds."""
        return Job(self.observed if self.observed is not None and seed in self.observed_seeds else self.scenario, seed)


@dataclass(frozen=True)
class Outcome:
    """Results and failures of requests.

    Attributes
    ----------
    results : list of Result
        One result per request, in order, with its finished seeds.
    failures : list of Failure
        The runs that failed, by title, key and seed.
    """

    results: list[Result]
    failures: list[Failure] = field(default_factory=list)

    def results_or_raise(self) -> list[Result]:
        """The results if no run has failed. Raises RunsFailed."""
        if self.failures:
            raise RunsFailed(self.failures, self.results)
        return self.results


def run(
    scenario: Scenario,
    seeds: int | Iterable[int] | None = None,
    *,
    seed: int | None = None,
    backend: str | Backend | None = None,
    out: str | Path | None = None,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
    trace: str | Path | TraceTo | None = None,
    until: str | float | None = None,
    of: str = precision.DEFAULT_MEASURE,
    observe: bool = False,
    on: str | Backend | None = None,
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
    backend : str or Backend, optional
        "sim", "live" or "uml", or `Live(...)` or `Uml(...)` with settings; by default the scenario's own (`Scenario.on_backend`), which is
        the simulator unless set.
    out : str or Path, optional
        A results folder: finished seeds are stored there, stored seeds are not run again, and its summary.json covers all of them.
    workers : Threads or Cluster, optional
        The workers that execute runs; by default threads on all cores of this machine.
    threads : int, optional
        Short for `workers=Threads(threads)`: the number of parallel runs.
    progress : bool
        Show progress on standard error.
    trace : str, Path or TraceTo, optional
        A file for the events of each packet; see `TraceTo`. Stored seeds are run again for it.
    until : str or float, optional
        Add seeds until the half width of the 95 % interval of a measure is at most this: "1%" of its mean, a value with its unit as
        "10 kbps", or a number in the measure's unit. The check follows 10, 15, 23, 35, ... of `seeds`, by default at most 1000. The
        result's warnings report a target that is not reached.
    of : str
        The measure of `until`: "goodput" of all flows unless given, "GROUP.QUANTITY", "QUEUE.QUANTITY" or "QUEUE.BAND.QUANTITY".
    observe : bool
        Record queues and rates of the first five seeds, for `Result.steady_state`; it changes neither results nor keys.
    on : str or Backend, optional
        Deprecated name of `backend`.

    Returns
    -------
    Result
        The tables of these seeds.

    Raises
    ------
    UsageError
        An argument is out of range or of the wrong type.
    ResultsError
        The folder cannot be written, holds something else, or is damaged; a trace cannot be written.
    ScenarioError
        The backend cannot run the scenario; `.problems` has all reasons, and nothing was run.
    BackendError
        The backend cannot be used on this machine.
    AqmError
        A user's AQM raised an exception, which is the cause of this error.
    EngineFault
        The engine failed in a run; `.result` has the other seeds.
    ClusterError
        The cluster cannot be reached or used.
    RunsFailed
        No worker of the cluster could execute a run, a run exceeded its lateness budget, or a kernel failed with your congestion control;
        `.results` has the other seeds.
    Interrupted
        Ctrl-C; `.result` has the finished seeds.

    Examples
    --------
    Run three seeds, and read the mean over seeds with its 95 % interval:

    >>> import ecnlab as lab
    >>> scenario = lab.load("example:ecn", {"duration": "10 s", "measure_from": "2 s"})
    >>> result = lab.run(scenario, seeds=3)
    >>> result.seeds
    [1, 2, 3]
    >>> jain = result.estimate("jain_goodput")
    >>> print(f"{jain.mean:.2f} ± {jain.half_width:.2f}")
    0.79 ± 0.08
    """
    if not isinstance(scenario, Scenario):
        raise UsageError(f"scenario: must be made by load() or scenario(), not {type(scenario).__name__}; fix: give ecnlab.load(FILE)")
    backend = merge_renamed_backend_argument(backend, on)
    scenario = scenario if backend is None else scenario.on_backend(backend)
    asked = None if until is None else precision.parse_precision_target(until, of, scenario.group_names, scenario.queue_names)
    chosen = seeds_from_arguments(precision.MAX_SEEDS if asked and seeds is None and seed is None else seeds, seed)
    if asked:
        _require_options_fit_until(chosen, trace)
    tracing = _trace_output(trace, scenario, chosen)
    watched = (steady_series.with_steady_state_recording(scenario) or scenario) if observe else None
    request = Request(scenario, chosen, None if out is None else parse_folder_argument("out", out), tracing, watched)
    resolved_workers = _resolve_workers(workers, threads)
    try:
        return (
            _run_request_or_raise(request, resolved_workers, progress, _InMemoryRunStore())
            if asked is None
            else _run_until_precise(request, asked, resolved_workers, progress)
        )
    except Interrupted as error:
        raise Interrupted(str(error), error.result.results[0] if isinstance(error.result, Outcome) else None) from None


def _require_options_fit_until(seeds: Sequence[int], trace: object) -> None:
    """Check that no option conflicts with `until`. Raises UsageError."""
    if len(seeds) < precision.MIN_SEEDS:
        least = precision.MIN_SEEDS
        few = "one seed is" if len(seeds) == 1 else f"{len(seeds)} seeds are"
        raise UsageError(f"until: {few} too few for an interval; fix: allow {least} or more, e.g. --seeds 1000")
    if trace is not None:
        raise UsageError("until: excludes a trace, whose seeds must be known; fix: omit the trace, or name the seeds without until")


def _run_until_precise(request: Request, asked: precision.PrecisionTarget, workers: Workers, progress: bool) -> Result:
    """Add seeds of a request in stages until the interval is narrow enough."""
    memory = _InMemoryRunStore()
    for n in precision.seed_stages(len(request.seeds)):
        result = _run_request_or_raise(replace(request, seeds=request.seeds[:n]), workers, progress, memory)
        found = asked.measure.estimate(result)
        if result.alike:
            return result.with_more_warnings(precision.identical_seeds_problem(n))
        if math.isnan(found.mean):
            return result.with_more_warnings(precision.undefined_measure_problem(asked.measure, n))
        if asked.is_met_by(found):
            return result
    return result.with_more_warnings(asked.shortfall_problem(found))


def _run_request_or_raise(request: Request, workers: Workers, progress: bool, memory: _InMemoryRunStore) -> Result:
    """Run a request. Raises the error of a failed run."""
    outcome = _run_requests([request], None, workers, progress, patient=False, memory=memory)
    _raise_error_of_failed_runs(outcome)
    return outcome.results[0]


def run_all(
    requests: Sequence[Request],
    *,
    store: Store | str | Path | None = None,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Outcome:
    """Run several scenarios together. A failed run does not affect the others; the outcome reports it.

    Parameters
    ----------
    requests : sequence of Request
        The scenarios to run. A run that several requests share is executed once.
    store : Store, str or Path, optional
        The store of finished runs, which are not repeated; by default in memory only.
    workers, threads, progress
        As for `run`.

    Raises
    ------
    UsageError
        An argument is out of its range or of a wrong type.
    ScenarioError
        The backend of a scenario cannot run it; `.problems` has all reasons, and nothing was run.
    ResultsError
        The store or a folder cannot be written, holds something else, or is damaged.
    ClusterError
        The cluster cannot be reached or used.
    Interrupted
        Ctrl-C; `.result` is the outcome so far, or None if there is none yet.
    """
    opened = store if store is None or isinstance(store, Store) else Store(store)
    return _run_requests(requests, opened, _resolve_workers(workers, threads), progress, patient=True)


def _run_requests(
    requests: Sequence[Request],
    store: Store | None,
    workers: Workers,
    progress: bool,
    *,
    patient: bool,
    memory: _InMemoryRunStore | None = None,
) -> Outcome:
    """Run requests; unless `patient`, the first failure that is not limited to one seed ends all runs."""
    _require_requests_possible(requests, workers)
    _require_aqms_unchanged_since_read([request.scenario for request in requests if store is not None or request.out is not None])
    stores: list[_RunStore] = []
    work = _TaskRunner([], None, patient)
    try:
        _require_memory_for_jobs(_jobs_of_new_folders(requests), workers)
        stores.extend(_store_of_each_request(requests, store, memory))
        with ExitStack() as stack:
            tasks = _pending_tasks(requests, stores)
            _require_memory_for_jobs([task.job for task in tasks], workers)
            for folder in {task.store for task in tasks if isinstance(task.store, _ResultsFolderRunStore)}:
                folder.prepare_for_new_runs()
            before = stack.enter_context(store.announce_writer()) if store and tasks else 0
            work = _TaskRunner(_order_tasks_for_concurrent_writers(tasks, before), workers, patient)
            work.run_tasks(stack.enter_context(ProgressLine(work.total, shown=progress)))
    except KeyboardInterrupt:
        results = [run_store.result_of_request(request) for request, run_store in zip(requests, stores, strict=False)]
        done = _count_runs(requests, [result.seeds for result in results])
        asked = _count_runs(requests, [request.seeds for request in requests])
        outcome = Outcome(results, work.failures) if len(results) == len(requests) else None
        raise Interrupted(f"interrupted: {done} of {asked} runs had finished", outcome) from None
    failures = sorted(work.failures, key=lambda failure: (failure.title, failure.key, failure.seed))
    return Outcome([run_store.result_of_request(request) for request, run_store in zip(requests, stores, strict=True)], failures)


def _require_requests_possible(requests: Sequence[Request], workers: Workers) -> None:
    """Check all requests before the first run. Raises UsageError for limits of the workers, ScenarioError for those of a backend."""
    if ENV_SCRIPT_IMPORT in os.environ:
        say = 'is imported again in the process of a run on live, for its AQM; fix: put what it runs under `if __name__ == "__main__":`'
        raise UsageError(f"{os.environ[ENV_SCRIPT_IMPORT]} {say}")
    if not workers.is_local and any(request.tracing for request in requests):
        raise UsageError("trace: not supported on a cluster; fix: run locally")
    for backend in {request.scenario.backend.name: request.scenario.backend for request in requests}.values():
        if not (workers.is_local or backend.supports_cluster):
            raise UsageError(f"backend: {backend.name} is not supported on a cluster; fix: run locally")
    for tracing, backend in ((request.tracing, request.scenario.backend) for request in requests):
        if tracing is not None and tracing.form not in backend.trace_kinds:
            raise UsageError(
                f"trace: {backend.name} writes {' and '.join(backend.trace_kinds) or 'no traces'}; "
                "fix: choose another file extension, or --backend sim"
            )
    unlike = {request.scenario.hash: request.scenario for request in requests}
    refused = [(scenario, problem) for scenario in unlike.values() for problem in scenario.refusals()]
    if refused:
        sources = {scenario.source for scenario in unlike.values()}
        problems = [
            problem if len(unlike) == 1 else replace(problem, message=f"{problem.message} ({one.name})") for one, problem in refused
        ]
        raise ScenarioError(dict.fromkeys(problems), sources.pop() if len(sources) == 1 else None)


def _require_aqms_unchanged_since_read(scenarios: Iterable[Scenario]) -> None:
    """Check that AQM classes still have the digests in their scenario's key. Raises UsageError if one has changed since it was read."""
    classes = {(aqm, digest) for one in scenarios for aqm, digest in one.digests_of_classes}
    if not classes:
        return
    from ecnlab.aqm.fingerprint import class_digest, first_changed_part_of_digest

    for aqm, digest in classes:
        if (now := class_digest(aqm)) != digest:
            part = first_changed_part_of_digest(digest, now)
            what = f"has changed since the scenario was read{f' in {part}' if part else ', or something that it reads'}"
            raise UsageError(f"aqms: AQM {aqm.__name__} {what}; fix: read the scenario after the change")


def _count_runs(requests: Sequence[Request], seeds: Sequence[Sequence[int]]) -> int:
    """The number of distinct runs of requests over these seeds."""
    return len({(one.out, one.scenario.hash, seed) for one, those in zip(requests, seeds, strict=False) for seed in those})


def _raise_error_of_failed_runs(outcome: Outcome) -> None:
    """Raise the error for the failed runs of a single scenario."""
    for failure in outcome.failures:
        if failure.error is not None:
            raise failure.error
    if any(failure.kind == ENGINE for failure in outcome.failures):
        raise EngineFault([failure for failure in outcome.failures if failure.kind == ENGINE], outcome.results[0])
    outcome.results_or_raise()


class _RunStore(Protocol):
    """A place for finished runs."""

    def has_run(self, key: str, seed: int, recording: Recording) -> bool:
        """Whether a run with at least this recording is stored."""

    def add_run(self, run: FinishedRun, scenario: Scenario) -> None:
        """Add a finished run."""

    def flush_and_refresh_runs(self) -> None:
        """Write added runs to disk, and read those of other processes, where the store is on disk."""

    def result_of_request(self, request: Request) -> Result:
        """The result of a request's finished seeds."""


_RunsByKeyAndSeed = dict[tuple[str, int], list[FinishedRun]]


def _has_run_with_recording(runs: _RunsByKeyAndSeed, key: str, seed: int, recording: Recording) -> bool:
    """Whether one of the runs has this key, this seed, and at least this recording."""
    return any(recording_includes(run.recording, recording) for run in runs.get((key, seed), ()))


class _InMemoryRunStore(_RunStore):
    """Finished runs in memory only."""

    def __init__(self) -> None:
        self._runs: _RunsByKeyAndSeed = {}

    def has_run(self, key: str, seed: int, recording: Recording) -> bool:
        return _has_run_with_recording(self._runs, key, seed, recording)

    def add_run(self, run: FinishedRun, scenario: Scenario) -> None:
        self._runs.setdefault((run.key, run.seed), []).append(run)

    def flush_and_refresh_runs(self) -> None:
        pass  # no file and no other process has these runs

    def result_of_request(self, request: Request) -> Result:
        grouped: dict[str, list[FinishedRun]] = {}
        for seed in request.seeds:
            for run in self._runs.get((request.scenario.hash, seed), ()):
                grouped.setdefault(recording_as_json(run.recording), []).append(run)
        return _result_from_seed_tables(request, map(SeedTablesInMemory, grouped.values()))


class _OnDiskRunStore(_RunStore):
    """Runs in a folder of batches; those of the next batch are in memory until they are written."""

    def __init__(self, batches: BatchCollection) -> None:
        self.batches = batches
        self._unwritten_runs: _RunsByKeyAndSeed = {}
        self._unwritten_size_bytes = 0
        self._scenarios: dict[str, Scenario] = {}

    def has_run(self, key: str, seed: int, recording: Recording) -> bool:
        return self.batches.has_run(key, seed, recording) or _has_run_with_recording(self._unwritten_runs, key, seed, recording)

    def add_run(self, run: FinishedRun, scenario: Scenario) -> None:
        if self.has_run(run.key, run.seed, run.recording):
            return
        self._unwritten_runs.setdefault((run.key, run.seed), []).append(run)
        self._scenarios.setdefault(run.key, scenario)
        self._unwritten_size_bytes += run.tables_size_bytes
        if self._unwritten_size_bytes > _FLUSH_BYTES:
            self.flush_and_refresh_runs()

    def flush_and_refresh_runs(self) -> None:
        runs = [run for same in self._unwritten_runs.values() for run in same]
        self.batches.write_batch(runs, self._scenario_headers_for_batch(runs))
        self._unwritten_runs, self._unwritten_size_bytes = {}, 0
        self.batches.refresh_from_disk()
        self.batches.merge_small_batches()

    def _scenario_headers_for_batch(self, runs: Iterable[FinishedRun]) -> dict[str, dict[str, Any]]:
        """Headers of the runs' scenarios for a batch."""
        return {key: run_header_of_scenario(self._scenarios[key]) for key in {run.key for run in runs}}

    def result_of_request(self, request: Request) -> Result:
        return _result_from_seed_tables(request, self.batches.parts_of_scenario(request.scenario.hash))


class _ResultsFolderRunStore(_OnDiskRunStore):
    """Runs in a results folder. Those of observed seeds remain in memory too: their series are read for the steady state."""

    def __init__(self, folder: ScenarioResultsFolder, observed_seeds: Iterable[int]) -> None:
        super().__init__(folder.open_batches())
        self._folder = folder
        self._observed_seeds = frozenset(observed_seeds)
        self._observed_runs: list[FinishedRun] = []
        self._observed_size_bytes = 0

    def add_run(self, run: FinishedRun, scenario: Scenario) -> None:
        super().add_run(run, scenario)
        if run.seed in self._observed_seeds and self._observed_size_bytes + run.tables_size_bytes <= _MAX_OBSERVED_BYTES:
            self._observed_runs.append(run)
            self._observed_size_bytes += run.tables_size_bytes

    def prepare_for_new_runs(self) -> None:
        """Check that runs can be stored, before they are made. Raises ResultsError."""
        self._folder.prepare_for_new_batches()

    def _scenario_headers_for_batch(self, runs: Iterable[FinishedRun]) -> dict[str, dict[str, Any]]:
        return {}  # run.json has the header

    def result_of_request(self, request: Request) -> Result:
        self._write_results_summary()
        return _result_from_seed_tables(request, self._parts(self.batches), self._folder.path, self.batches.warnings)

    def _parts(self, batches: BatchCollection) -> list[FinishedSeeds]:
        """All seeds of the folder: first those that are in memory too, which need not be read."""
        stored = (run for run in self._observed_runs if batches.has_run(run.key, run.seed, run.recording))
        kept = (SeedTablesInMemory(runs) for _, runs in groupby(stored, lambda run: recording_as_json(run.recording)))
        return [*kept, *batches.parts_of_scenario(self._folder.header["hash"])]

    def _write_results_summary(self) -> None:
        """Write the summary of all runs in the folder.

        Another process may store seeds meanwhile. Each process reads the folder again before it writes, so the last summary covers all.
        """
        batches = self._folder.open_batches()
        while batches.batches:
            whole = Result(self._folder.header, choose_part_for_each_seed(self._parts(batches), {}), self._folder.path)
            self._folder.write_summary(whole.summary_json())
            seen, batches = batches, self._folder.open_batches()
            if [batch.path for batch in batches.batches] == [batch.path for batch in seen.batches]:
                break
        self.batches = batches


def _result_from_seed_tables(
    request: Request, parts: Iterable[FinishedSeeds], path: Path | None = None, warnings: Sequence[Problem] = ()
) -> Result:
    wanted = set(request.seeds)
    homes = {seed: part for seed, part in choose_part_for_each_seed(parts, request.scenario.record).items() if seed in wanted}
    return Result(run_header_of_scenario(request.scenario), homes, path, warnings)


def _store_of_each_request(requests: Sequence[Request], store: Store | None, memory: _InMemoryRunStore | None) -> Iterator[_RunStore]:
    """The store of each request; requests for the same folder share one, and `memory` is used if there is no store."""
    shared: _RunStore = (memory or _InMemoryRunStore()) if store is None else _OnDiskRunStore(store.batches)
    folders: dict[Path, _ResultsFolderRunStore] = {}
    for request in requests:
        if request.out is None:
            yield shared
            continue
        folder = ScenarioResultsFolder.open_or_create(request.out, request.scenario)
        if request.out not in folders:
            folders[request.out] = _ResultsFolderRunStore(folder, request.observed_seeds)
        yield folders[request.out]


@dataclass(frozen=True)
class _RunTask:
    """A job and the store for its run."""

    job: Job
    store: _RunStore
    tracing: TraceOutput | None
    recording: Recording

    @property
    def is_stored(self) -> bool:
        """Whether the store has this run with at least the wanted recording."""
        return self.tracing is None and self.store.has_run(self.job.scenario_key, self.job.seed, self.recording)


def _jobs_of_new_folders(requests: Sequence[Request]) -> list[Job]:
    """Jobs of requests whose results folder does not exist yet, so that none of them has been run."""
    new = [request for request in requests if request.out is not None and not request.out.exists()]
    return [Job(request.scenario, seed) for request in new for seed in request.seeds]


def _require_memory_for_jobs(jobs: Sequence[Job], workers: Workers) -> None:
    """Check that the jobs that run at a time fit into the memory of this machine. Raises UsageError."""
    if isinstance(workers, Threads):
        require_memory_for_runs((job.scenario for job in jobs), workers.parallel_runs(_max_parallel_runs_of_backends(jobs)))


def _max_parallel_runs_of_backends(jobs: Iterable[Job]) -> int | None:
    """The limit on parallel runs by the backends; None for one per core."""
    limits = [job.scenario.backend.default_max_parallel_runs for job in jobs]
    return min((limit for limit in limits if limit is not None), default=None)


def _pending_tasks(requests: Sequence[Request], stores: Sequence[_RunStore]) -> list[_RunTask]:
    """The runs to execute, each once unless requests need different recordings of it."""
    found: list[_RunTask] = []
    known: dict[tuple[int, str, int], list[_RunTask]] = {}
    for request, run_store in zip(requests, stores, strict=True):
        for seed in request.seeds:
            task = _RunTask(request.job(seed), run_store, request.tracing, request.scenario.record)
            same = known.setdefault((id(run_store), task.job.scenario_key, seed), [])
            if task.is_stored or any(_makes_other_task_redundant(one, task) for one in same):
                continue
            same.append(task)
            found.append(task)
    needless = {
        id(one) for same in known.values() for one in same for other in same if one is not other and _makes_other_task_redundant(other, one)
    }
    return [task for task in found if id(task) not in needless]


def _makes_other_task_redundant(one: _RunTask, other: _RunTask) -> bool:
    """Whether one task also produces the run of the other."""
    return other.tracing is None and recording_includes(one.job.scenario.record, other.job.scenario.record)


def _trace_output(trace: str | Path | TraceTo | None, scenario: Scenario, seeds: Sequence[int]) -> TraceOutput | None:
    if trace is None:
        return None
    from ecnlab.packet_traces.write import trace_output_from_options

    return trace_output_from_options(trace, scenario, seeds)


def _order_tasks_for_concurrent_writers(tasks: list[_RunTask], before: int) -> list[_RunTask]:
    """Order of tasks if several processes work on the same list: the second begins at its end, others at a random position."""
    if before == 1:
        return tasks[::-1]
    if before > 1:
        from random import Random

        Random(before).shuffle(tasks)
    return tasks


class _TaskRunner:
    """Executes tasks on a worker pool. The pool's capacity bounds started jobs; time and size bound finished runs not yet stored."""

    def __init__(self, tasks: Sequence[_RunTask], workers: Workers | None, patient: bool) -> None:
        self.total = len(tasks)
        self.failures: list[Failure] = []
        self._tasks = tasks
        self._stores = list({id(task.store): task.store for task in tasks}.values())
        self._workers = workers
        self._continues_after_failure = patient
        self._next = iter(range(len(tasks)))
        self._remaining = len(tasks)
        self._dispatched: set[int] = set()
        self._stopped = False
        self._error: BaseException | None = None
        self._flushed = monotonic()

    def run_tasks(self, progress: ProgressLine) -> None:
        """Execute all tasks; finished runs are always stored. Raises errors that are not failures of runs."""
        if self._workers is None or not self._tasks:
            return
        pool = self._workers.pool(self.total, _max_parallel_runs_of_backends(task.job for task in self._tasks))
        try:
            while self._remaining and not self._stopped:
                self._start_tasks(pool)
                self._store_finished_jobs(pool.finished_jobs(_POLL_INTERVAL_S))
                progress.show_done_count(self.total - self._remaining + pool.sum_of_job_progress())
        finally:
            try:
                self._store_finished_jobs(pool.stop_and_collect_finished_jobs())
                self._flush_stores()
            except KeyboardInterrupt:
                self._flush_stores()  # the runs whose write was interrupted
                raise
        if self._error is not None:
            raise self._error

    def _start_tasks(self, pool: JobWorkerPool) -> None:
        """Start jobs up to the pool's capacity; skips runs that another process has stored meanwhile."""
        while len(self._dispatched) < pool.capacity:
            number = next(self._next, None)
            if number is None:
                return
            task = self._tasks[number]
            if task.is_stored:
                self._remaining -= 1
                continue
            self._dispatched.add(number)
            pool.start_job(number, task.job, task.tracing)

    def _store_finished_jobs(self, ended: Iterable[tuple[int, JobOutcome]]) -> None:
        for number, outcome in ended:
            self._dispatched.discard(number)
            self._remaining -= 1
            if isinstance(outcome, FinishedRun):
                self._tasks[number].store.add_run(outcome, self._tasks[number].job.scenario)
            elif isinstance(outcome, Failure):
                self.failures.append(outcome)
                self._stopped = self._stopped or not (self._continues_after_failure or outcome.kind in _FAILURES_OF_ONE_SEED)
            elif outcome is not None:
                self._error = self._error or outcome
                self._stopped = True
            if monotonic() - self._flushed >= _FLUSH_INTERVAL_S:
                self._flush_stores()

    def _flush_stores(self) -> None:
        """Flush all stores; a failure of one does not prevent the others."""
        refusal = None
        for run_store in self._stores:
            try:
                run_store.flush_and_refresh_runs()
            except ResultsError as error:
                refusal = refusal or error
        self._flushed = monotonic()
        if refusal is not None:
            raise refusal


def _resolve_workers(workers: Workers | None, threads: int | None) -> Workers:
    if workers is not None and threads is not None:
        raise UsageError("threads: excludes workers; fix: omit one of the two")
    return Threads(threads) if workers is None else workers
