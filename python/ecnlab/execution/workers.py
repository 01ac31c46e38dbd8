"""Who does the jobs: threads of this process (the engine releases the interpreter's lock), or a cluster (`cluster.py`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread
from typing import Protocol, TypeVar

from ecnlab.backends.base import ProgressCallback
from ecnlab.errors import Failure, UsageError
from ecnlab.execution.interrupts import join_threads_interruptibly, running_aqm_hook
from ecnlab.execution.jobs import Job, run_job
from ecnlab.packet_traces.write import TraceOutput
from ecnlab.storage.tables import FinishedRun

_MAX_THREADS = 1024
_JOBS_PER_THREAD = 4

T = TypeVar("T")

# What became of a job; None if it was stopped, and an error that is neither its scenario's nor the engine's.
JobOutcome = FinishedRun | Failure | None | BaseException


class JobWorkerPool(Protocol):
    """Workers at work. Jobs are told apart by numbers."""

    @property
    def capacity(self) -> int:
        """How many jobs it can have in hand."""

    def start_job(self, number: int, job: Job, tracing: TraceOutput | None) -> None:
        """Take a job in hand."""

    def finished_jobs(self, patience_s: float) -> list[tuple[int, JobOutcome]]:
        """The jobs that have ended since the last look; waits for the first of them."""

    def completed_fraction(self) -> float:
        """How much of the jobs in hand is over, where one job counts as 1."""

    def stop_all_jobs(self) -> list[tuple[int, JobOutcome]]:
        """Stop all jobs in hand, and give what has ended nonetheless."""


class Workers(Protocol):
    """Who is to do jobs."""

    @property
    def is_local(self) -> bool:
        """Whether they work on this machine, so that they can write traces into its files and run what only it can."""

    def pool(self, most: int, at_once: int | None = None) -> JobWorkerPool:
        """Let them come to work on so many jobs, of which `at_once` can go on at a time unless the user says otherwise."""


@dataclass(frozen=True)
class Threads:
    """So many threads of this process; unless given as many as there are cores that it may use, but one for runs in real time.

    Runs in real time side by side take turns on the processor, which makes packets late; who gives a number says that there is room.
    """

    count: int | None = None

    def __post_init__(self) -> None:
        count = self.count
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MAX_THREADS):
            raise UsageError(f"threads: {count!r} must be a whole number from 1 to {_MAX_THREADS}")

    @property
    def is_local(self) -> bool:
        """They are of this process."""
        return True

    def pool(self, most: int, at_once: int | None = None) -> JobWorkerPool:
        """Let them come to work on so many jobs, of which `at_once` can go on at a time unless the user says otherwise."""
        usual = available_cores() if at_once is None else min(available_cores(), at_once)
        return _JobThreadPool(min(self.count or usual, most))


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

    def finished_jobs(self, patience_s: float) -> list[tuple[int, JobOutcome]]:
        return get_all_queued(self._ended, patience_s)

    def completed_fraction(self) -> float:
        return sum(self._shares.copy().values())

    def stop_all_jobs(self) -> list[tuple[int, JobOutcome]]:
        self._stop.set()
        for _ in self._threads:
            self._given.put(None)
        join_threads_interruptibly(self._threads, self._running_hooks_text)
        return self.finished_jobs(0.0)

    def _running_hooks_text(self) -> list[str]:
        """The hooks that threads are in, with seed and simulated time."""
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
        """What each thread does."""
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


def get_all_queued(queue: SimpleQueue[T], patience_s: float) -> list[T]:
    """What is in the queue; waits for the first."""
    found: list[T] = []
    try:
        found.append(queue.get(timeout=patience_s))
        while True:
            found.append(queue.get_nowait())
    except Empty:
        return found


def available_cores() -> int:
    """The cores that this process may use; a batch system gives a job some of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
