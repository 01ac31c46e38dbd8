"""Workers that execute jobs: threads of this process (the engine releases the GIL), or a cluster (`cluster.py`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread
from typing import TYPE_CHECKING, Protocol, TypeVar

from ecnlab.backends.base import ProgressCallback
from ecnlab.errors import Failure, UsageError
from ecnlab.execution.interrupts import join_threads_interruptibly, running_aqm_hook
from ecnlab.execution.jobs import Job, run_job
from ecnlab.storage.tables import FinishedRun

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput

_MAX_THREADS = 1024
_JOBS_PER_THREAD = 4

T = TypeVar("T")

# Outcome of a job; None if it was stopped, an exception for errors that neither the scenario nor the engine caused.
JobOutcome = FinishedRun | Failure | None | BaseException


class JobWorkerPool(Protocol):
    """Running workers; numbers identify jobs."""

    @property
    def capacity(self) -> int:
        """The number of jobs that can be started at a time."""

    def start_job(self, number: int, job: Job, tracing: TraceOutput | None) -> None:
        """Start a job."""

    def finished_jobs(self, timeout_s: float) -> list[tuple[int, JobOutcome]]:
        """The jobs that have ended since the last call; waits up to `timeout_s` for the first."""

    def sum_of_job_progress(self) -> float:
        """Progress of the started jobs, where each job counts as 1."""

    def stop_and_collect_finished_jobs(self) -> list[tuple[int, JobOutcome]]:
        """Stop all started jobs; returns those that have ended nonetheless."""


class Workers(Protocol):
    """Kind and number of workers for jobs."""

    @property
    def is_local(self) -> bool:
        """Whether the workers run on this machine, so that they can write traces and use its backends."""

    def pool(self, max_jobs: int, max_parallel: int | None = None) -> JobWorkerPool:
        """Start workers for up to `max_jobs` jobs, with at most `max_parallel` at a time unless the user sets a number."""


@dataclass(frozen=True)
class Threads:
    """Threads of this process: by default one per available core, but one for runs in real time.

    Parallel runs in real time compete for processors, which delays packets; an explicit number overrides the limit.
    """

    count: int | None = None

    def __post_init__(self) -> None:
        count = self.count
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MAX_THREADS):
            raise UsageError(f"threads: {count!r} must be a whole number from 1 to {_MAX_THREADS}")

    @property
    def is_local(self) -> bool:
        """True: threads of this process."""
        return True

    def parallel_runs(self, max_parallel: int | None = None) -> int:
        """Number of runs at a time: at most `max_parallel` unless the user sets a number."""
        usual = available_cores() if max_parallel is None else min(available_cores(), max_parallel)
        return self.count or usual

    def pool(self, max_jobs: int, max_parallel: int | None = None) -> JobWorkerPool:
        """Start workers for up to `max_jobs` jobs, with at most `max_parallel` at a time unless the user sets a number."""
        return _JobThreadPool(min(self.parallel_runs(max_parallel), max_jobs))


class _JobThreadPool:
    def __init__(self, threads: int) -> None:
        self.capacity = _JOBS_PER_THREAD * threads
        self._stop = Event()
        self._given: SimpleQueue[tuple[int, Job, TraceOutput | None] | None] = SimpleQueue()
        self._ended: SimpleQueue[tuple[int, JobOutcome]] = SimpleQueue()
        self._shares: dict[int, float] = {}
        self._at_work: dict[Thread, tuple[int, Job]] = {}
        self._threads = [Thread(target=self._work_on_jobs, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def start_job(self, number: int, job: Job, tracing: TraceOutput | None) -> None:
        self._given.put((number, job, tracing))

    def finished_jobs(self, timeout_s: float) -> list[tuple[int, JobOutcome]]:
        return get_all_queued(self._ended, timeout_s)

    def sum_of_job_progress(self) -> float:
        return sum(self._shares.copy().values())

    def stop_and_collect_finished_jobs(self) -> list[tuple[int, JobOutcome]]:
        self._stop.set()
        for _ in self._threads:
            self._given.put(None)
        join_threads_interruptibly(self._threads, self._running_hooks_text)
        return self.finished_jobs(0.0)

    def _running_hooks_text(self) -> list[str]:
        """Running hooks of user AQMs, with seed and simulated time."""
        found = []
        for thread in self._threads:
            if thread.is_alive() and (at_work := self._at_work.get(thread)) is not None:
                number, job = at_work
                hook = running_aqm_hook(thread)
                what = hook or ("a compiled hook" if job.scenario.aqms else "a run")
                after = f"after t = {self._shares.get(number, 0.0) * job.scenario.duration_s:.6g} s"
                found.append(f"{what}: seed {job.seed}, {after if hook is None or hook.now_s is None else f'at t = {hook.now_s:.12g} s'}")
        return found

    def _work_on_jobs(self) -> None:
        """The loop of each thread."""
        while not self._stop.is_set():
            given = self._given.get()
            if given is None:
                return
            number, job, tracing = given
            self._at_work[current_thread()] = number, job
            try:
                outcome: JobOutcome = run_job(job, self._progress_callback_of_job(number, job), tracing)
            except BaseException as error:
                outcome = error
            self._at_work.pop(current_thread(), None)
            self._shares.pop(number, None)
            self._ended.put((number, outcome))

    def _progress_callback_of_job(self, number: int, job: Job) -> ProgressCallback:
        def report_progress(simulated_s: float) -> bool:
            self._shares[number] = simulated_s / job.scenario.duration_s
            return self._stop.is_set()

        return report_progress


def get_all_queued(queue: SimpleQueue[T], timeout_s: float) -> list[T]:
    """Remove and return all items of the queue; waits up to `timeout_s` for the first."""
    found: list[T] = []
    try:
        found.append(queue.get(timeout=timeout_s))
        while True:
            found.append(queue.get_nowait())
    except Empty:
        return found


def available_cores() -> int:
    """The number of cores that this process may use, which a batch system can limit."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
