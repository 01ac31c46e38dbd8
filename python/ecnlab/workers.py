"""Who does the jobs: threads of this process (the engine releases the interpreter's lock), or a cluster (`cluster.py`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread
from typing import Protocol, TypeVar

from ecnlab.errors import UsageError
from ecnlab.interrupts import hook_of, joined
from ecnlab.jobs import Failure, Finished, Job, attempt
from ecnlab.tiers import Watch
from ecnlab.tracing import Tracing

_MOST_THREADS = 1024
_PER_THREAD = 4

T = TypeVar("T")

# What became of a job; None if it was stopped, and an error that is neither its scenario's nor the engine's.
Ended = Finished | Failure | None | BaseException


class Crew(Protocol):
    """Workers at work. Jobs are told apart by numbers."""

    @property
    def capacity(self) -> int:
        """How many jobs it can have in hand."""

    def start(self, number: int, job: Job, tracing: Tracing | None) -> None:
        """Take a job in hand."""

    def ended(self, patience_s: float) -> list[tuple[int, Ended]]:
        """The jobs that have ended since the last look; waits for the first of them."""

    def under_way(self) -> float:
        """How much of the jobs in hand is over, where one job counts as 1."""

    def stop(self) -> list[tuple[int, Ended]]:
        """Stop all jobs in hand, and give what has ended nonetheless."""


class Workers(Protocol):
    """Who is to do jobs."""

    @property
    def here(self) -> bool:
        """Whether they work on this machine, so that they can write traces into its files and run what only it can."""

    def crew(self, most: int, at_once: int | None = None) -> Crew:
        """Let them come to work on so many jobs, of which `at_once` can go on at a time unless the user says otherwise."""


@dataclass(frozen=True)
class Threads:
    """So many threads of this process; unless given as many as there are cores that it may use, but one for runs in real time.

    Runs in real time side by side take turns on the processor, which makes packets late; who gives a number says that there is room.
    """

    count: int | None = None

    def __post_init__(self) -> None:
        count = self.count
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_THREADS):
            raise UsageError(f"threads: {count!r} must be a whole number from 1 to {_MOST_THREADS}")

    @property
    def here(self) -> bool:
        """They are of this process."""
        return True

    def crew(self, most: int, at_once: int | None = None) -> Crew:
        """Let them come to work on so many jobs, of which `at_once` can go on at a time unless the user says otherwise."""
        usual = cores() if at_once is None else min(cores(), at_once)
        return _ThreadCrew(min(self.count or usual, most))


class _ThreadCrew:
    def __init__(self, threads: int) -> None:
        self.capacity = _PER_THREAD * threads
        self._stop = Event()
        self._given: SimpleQueue[tuple[int, Job, Tracing | None] | None] = SimpleQueue()
        self._ended: SimpleQueue[tuple[int, Ended]] = SimpleQueue()
        self._shares: dict[int, float] = {}
        self._at_work: dict[Thread, tuple[int, Job]] = {}
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def start(self, number: int, job: Job, tracing: Tracing | None) -> None:
        self._given.put((number, job, tracing))

    def ended(self, patience_s: float) -> list[tuple[int, Ended]]:
        return queued(self._ended, patience_s)

    def under_way(self) -> float:
        return sum(self._shares.copy().values())

    def stop(self) -> list[tuple[int, Ended]]:
        self._stop.set()
        for _ in self._threads:
            self._given.put(None)
        joined(self._threads, self._stuck)
        return self.ended(0.0)

    def _stuck(self) -> list[str]:
        """The hooks that threads are in, with seed and simulated time."""
        found = []
        for thread in self._threads:
            if thread.is_alive() and (at_work := self._at_work.get(thread)) is not None:
                number, job = at_work
                hook = hook_of(thread)
                what = hook or ("a compiled hook" if job.scenario.aqms else "a run")
                after = f"after t = {self._shares.get(number, 0.0) * job.scenario.duration_s:.6g} s"
                found.append(f"{what}: seed {job.seed}, {after if hook is None or hook.now_s is None else f'at t = {hook.now_s:.12g} s'}")
        return found

    def _work(self) -> None:
        """What each thread does."""
        while not self._stop.is_set():
            given = self._given.get()
            if given is None:
                return
            number, job, tracing = given
            self._at_work[current_thread()] = number, job
            try:
                outcome: Ended = attempt(job, self._watch(number, job), tracing)
            except BaseException as error:
                outcome = error
            self._at_work.pop(current_thread(), None)
            self._shares.pop(number, None)
            self._ended.put((number, outcome))

    def _watch(self, number: int, job: Job) -> Watch:
        def watch(simulated_s: float) -> bool:
            self._shares[number] = simulated_s / job.scenario.duration_s
            return self._stop.is_set()

        return watch


def queued(queue: SimpleQueue[T], patience_s: float) -> list[T]:
    """What is in the queue; waits for the first."""
    found: list[T] = []
    try:
        found.append(queue.get(timeout=patience_s))
        while True:
            found.append(queue.get_nowait())
    except Empty:
        return found


def cores() -> int:
    """The cores that this process may use; a batch system gives a job some of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
