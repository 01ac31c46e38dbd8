"""Running scenarios: seeds on all cores (the engine releases the interpreter's lock), kept as they finish."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Lock, Thread
from time import monotonic
from traceback import format_exception_only

from ecnlab import _core, sources
from ecnlab.errors import AqmError, EngineFault, Interrupted, Problem, ResultsError, ScenarioError, UsageError
from ecnlab.progress import Progress
from ecnlab.results import Result
from ecnlab.scenarios import Scenario
from ecnlab.seeds import chosen_seeds
from ecnlab.store import Batch, Folder, chosen, folder_path, header_of
from ecnlab.tables import Kept
from ecnlab.tracing import TraceTo, Tracing, checked

_TICK_S = 0.1
_SHORT_TICK_S = 0.002
_FLUSH_S = 0.25
_MOST_THREADS = 1024


@dataclass(frozen=True)
class Request:
    """A scenario to run over seeds, kept in the folder `out` or in memory only. With traces each seed is run, stored or not."""

    scenario: Scenario
    seeds: Sequence[int]
    out: Path | None = None
    tracing: Tracing | None = None


def run(
    scenario: Scenario,
    seeds: int | Iterable[int] | None = None,
    *,
    seed: int | None = None,
    out: str | Path | None = None,
    threads: int | None = None,
    progress: bool = False,
    trace: str | Path | TraceTo | None = None,
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
    out : str or Path, optional
        A results folder: what finishes is stored there, seeds that it has already are not run again, and its summary.json
        covers all that it holds.
    threads : int, optional
        How many runs go on at a time; as many as there are cores that the process may use unless given.
    progress : bool
        Show a bar on standard error.
    trace : str, Path or TraceTo, optional
        A file into which each packet's events are written; see `TraceTo`. Seeds that are stored already are run again for it.

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
    AqmError
        An AQM of the user's own raised; its cause is what it raised.
    EngineFault
        The engine failed in some run; `.result` has the other seeds.
    Interrupted
        Ctrl-C; `.result` has the finished seeds.
    """
    if not isinstance(scenario, Scenario):
        raise UsageError(f"scenario: must be made by load() or scenario(), not {type(scenario).__name__}")
    chosen = chosen_seeds(seeds, seed)
    tracing = None if trace is None else checked(trace, scenario, chosen)
    request = Request(scenario, chosen, None if out is None else folder_path("out", out), tracing)
    return run_all([request], threads=threads, progress=progress)[0]


def run_all(requests: Sequence[Request], *, threads: int | None = None, progress: bool = False) -> list[Result]:
    """Run several scenarios in one pool; a result for each request, in order.

    Errors as for `run`; `.result` of EngineFault and Interrupted is then a list, in the order of the requests.
    """
    workers = _checked_threads(threads)
    homes: list[_Home] = []
    try:
        for request in requests:
            homes.append(_home(request))
        pool = _Pool(homes, workers)
        with Progress(pool.total, shown=progress) as bar:
            pool.work(bar)
    except KeyboardInterrupt:
        results = [home.result() for home in homes]
        done, asked = sum(len(result.seeds) for result in results), sum(len(request.seeds) for request in requests)
        result = _one_or_all(results) if len(results) == len(requests) else None
        raise Interrupted(f"interrupted: {done} of {asked} runs had finished", result) from None
    results = [home.result() for home in homes]
    if pool.faults:
        raise EngineFault(pool.faults, _one_or_all(results))
    return results


class _Home:
    """Where the seeds of one request go: into memory."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.runs: list[_core.RunResult] = []

    def missing(self) -> list[int]:
        """The seeds that have to be run."""
        return list(self.request.seeds)

    def keep(self, run: _core.RunResult) -> None:
        """Take a finished run in."""
        self.runs.append(run)

    def flush(self) -> None:
        """Put what has finished where it is to stay."""

    def result(self) -> Result:
        """What has finished of the seeds that were asked for."""
        kept = Kept(self.runs)
        return Result(header_of(self.request.scenario), dict.fromkeys(kept.records, kept))


class _FolderHome(_Home):
    """Where the seeds of one request go: into a results folder, a batch at each flush."""

    def __init__(self, request: Request, out: Path) -> None:
        super().__init__(request)
        self.folder = Folder.create(out, request.scenario)
        self.stored = chosen(self.folder.batches(), request.scenario.record)

    def missing(self) -> list[int]:
        return [seed for seed in self.request.seeds if seed not in self.stored or self.request.tracing]

    def keep(self, run: _core.RunResult) -> None:
        if run.seed not in self.stored:
            super().keep(run)

    def flush(self) -> None:
        if self.runs:
            self.folder.write(self.runs, self.request.scenario.record)
            self.runs = []

    def result(self) -> Result:
        self.flush()
        wanted = set(self.request.seeds)
        homes = chosen(self._summarised(), self.request.scenario.record)
        homes = {seed: batch for seed, batch in homes.items() if seed in wanted}
        return Result(header_of(self.request.scenario), homes, self.folder.path)

    def _summarised(self) -> list[Batch]:
        """All batches of the folder, after a summary of them was written.

        Another process may have stored seeds meanwhile. Who writes last looks last, so the summary ends as that of all.
        """
        batches = self.folder.batches()
        while batches:
            whole = Result(self.folder.header, chosen(batches, {}), self.folder.path)
            self.folder.write_summary(whole.summary_json())
            seen, batches = batches, self.folder.batches()
            if len(batches) == len(seen):
                break
        return batches


def _home(request: Request) -> _Home:
    return _Home(request) if request.out is None else _FolderHome(request, request.out)


class _Job:
    """One seed to run. `done` is the share of its simulated time that is over."""

    def __init__(self, home: _Home, seed: int) -> None:
        self.home = home
        self.seed = seed
        self.done = 0.0

    def run(self, stop: Event) -> _core.RunResult:
        scenario, tracing = self.home.request.scenario, self.home.request.tracing

        def watch(simulated_s: float) -> bool:
            self.done = simulated_s / scenario.duration_s
            return stop.is_set()

        if tracing is None:
            return scenario._core.run(self.seed, watch)
        try:
            return scenario._core.run(self.seed, watch, tracing.file(self.seed))
        except OSError as error:
            raise tracing.refusal(self.seed, error) from None


class _Pool:
    """Threads that take one job after the other. What they finish waits in a short queue, so that no more is held than that."""

    def __init__(self, homes: Sequence[_Home], threads: int) -> None:
        jobs = [_Job(home, seed) for home in homes for seed in home.missing()]
        self.total = len(jobs)
        self.faults: list[_core.EngineFault] = []
        self._error: BaseException | None = None
        self._homes = homes
        self._jobs = iter(jobs)
        self._left = len(jobs)
        self._lock = Lock()
        self._stop = Event()
        self._running: set[_Job] = set()
        self._finished: Queue[tuple[_Job, _core.RunResult | BaseException]] = Queue(maxsize=2 * threads)
        self._threads = [Thread(target=self._take_jobs, daemon=True) for _ in range(min(threads, len(jobs)))]
        self._flushed = monotonic()

    def work(self, progress: Progress) -> None:
        """Do all jobs. Raises what a job raised, except EngineFault; whatever happens, what has finished is flushed."""
        try:
            for thread in self._threads:
                thread.start()
            while self._left and self._error is None:
                self._receive(_TICK_S)
                progress.show(self.total - self._left + sum(job.done for job in self._running.copy()))
                if monotonic() - self._flushed >= _FLUSH_S:
                    self._flush()
        finally:
            self._end()
        if self._error is not None:
            raise self._error

    def _take_jobs(self) -> None:
        """What each thread does."""
        while not self._stop.is_set():
            with self._lock:
                job = next(self._jobs, None)
            if job is None:
                return
            self._running.add(job)
            try:
                outcome: _core.RunResult | BaseException = job.run(self._stop)
            except BaseException as error:
                outcome = error
            self._running.discard(job)
            self._finished.put((job, outcome))

    def _receive(self, patience_s: float) -> None:
        """Take in one finished job, if there is one in time."""
        try:
            job, outcome = self._finished.get(timeout=patience_s)
        except Empty:
            return
        self._left -= 1
        if isinstance(outcome, _core.RunResult):
            job.home.keep(outcome)
        elif isinstance(outcome, _core.EngineFault):
            self.faults.append(outcome)
        elif isinstance(outcome, _core.ScenarioError):  # told by the run only: the recording does not fit
            self._error = ScenarioError(map(Problem.of, outcome.problems), job.home.request.scenario.source)
        elif isinstance(outcome, _core.AqmFailure):
            self._error = self._error or _aqm_error(outcome)
        elif not isinstance(outcome, _core.Interrupted):
            self._error = outcome

    def _end(self) -> None:
        """Stop what still runs, and keep what has finished."""
        self._stop.set()
        while any(thread.is_alive() for thread in self._threads) or not self._finished.empty():
            self._receive(_SHORT_TICK_S)
        self._flush()

    def _flush(self) -> None:
        """Keep what has finished; one folder that refuses keeps none of the others from it."""
        refusal = None
        for home in self._homes:
            try:
                home.flush()
            except ResultsError as error:
                refusal = refusal or error
        self._flushed = monotonic()
        if refusal is not None:
            raise refusal


def _aqm_error(failure: _core.AqmFailure) -> AqmError:
    """The failure of a user's AQM as users get it, with what was raised as its cause."""
    raised = failure.__cause__ or failure
    text = "".join(format_exception_only(raised)).strip()
    error = AqmError(**failure.about, raised=text, traceback=sources.told(raised))
    error.__cause__ = failure.__cause__
    return error


def _one_or_all(results: list[Result]) -> Result | list[Result]:
    return results[0] if len(results) == 1 else results


def _cores() -> int:
    """The cores that this process may use; a batch system gives a job some of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked_threads(threads: int | None) -> int:
    if threads is None:
        return _cores()
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= _MOST_THREADS:
        raise UsageError(f"threads: {threads!r} must be a whole number from 1 to {_MOST_THREADS}")
    return threads
