"""Execution of jobs on a cluster: the workers of a dask scheduler.

    lab.run_all(requests, store="results/store", workers=lab.Cluster("tcp://node1:8786"))

docs/how-to/cluster.md describes how to start one. A worker requires only this package, of the same build: a job holds its scenario's
text, and its tables return over the network. Jobs of workers that die are repeated by others. The function sent to a worker checks that
the package is installed and of this build, so that a worker which joins later with another build takes no job.
"""

from __future__ import annotations

import logging
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from queue import SimpleQueue
from socket import gethostname
from time import monotonic
from typing import TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.errors import WORKER, BackendError, ClusterError, UsageError
from ecnlab.execution.jobs import Job, failure_of_job, run_job
from ecnlab.execution.workers import JobOutcome, JobWorkerPool, get_all_queued
from ecnlab.packet_traces.write import TraceOutput

if TYPE_CHECKING:
    from distributed import Client, Future

    AnyFuture = Future[Any]

# Host and port, or a scheduler in this process.
_ADDRESS_PATTERN = re.compile(r"(?:[a-z]+://)?[^\s/]+:\d+(?:/\S*)?|inproc://\S+")
_ENGINE_BUILD = _core.BUILD
# Loggers that report lost workers and schedulers; ecnlab reports a loss in one line, where it matters.
_QUIETED_LOGGERS = ("distributed", "distributed.client", "tornado.application")
_CONNECT_TIMEOUT_S = 10.0
_JOBS_PER_THREAD = 4
_SCHEDULER_CHECK_INTERVAL_S = 1.0
_FETCH_TIMEOUT_S = 30.0
_MAX_LOST_WORKERS = 10
_LOST_WORKERS_TEXT = f"no worker could run it: its workers were lost {_MAX_LOST_WORKERS + 1} times"


@dataclass(frozen=True)
class Cluster:
    """The workers of the dask scheduler at an address, as in "tcp://node1:8786"."""

    address: str

    def __post_init__(self) -> None:
        if not isinstance(self.address, str) or not _ADDRESS_PATTERN.fullmatch(self.address):
            raise UsageError(f"cluster: {self.address!r} must be the address of a dask scheduler, as in 'tcp://node1:8786'")

    @property
    def is_local(self) -> bool:
        """False: workers may run on any machine."""
        return False

    def pool(self, max_jobs: int, max_parallel: int | None = None) -> JobWorkerPool:
        """Start the workers on a number of jobs, one per worker thread in parallel.

        Raises ClusterError if the scheduler or its workers cannot be used.
        """
        client = _connect_to_scheduler(self.address)
        try:
            return _ClusterPool(client, self.address, _require_same_build_on_workers(client, self.address))
        except BaseException:
            client.close(timeout=_CONNECT_TIMEOUT_S)
            raise


class _ClusterPool:
    """Workers of a cluster, which may join and leave; those of another build get no jobs."""

    def __init__(self, client: Client, address: str, workers: Iterable[str]) -> None:
        """Use these workers, which have this build of the engine."""
        self._client = client
        self._address = address
        self._attempt = _make_job_function_for_workers()
        self._jobs: dict[int, Job] = {}
        self._futures: dict[int, AnyFuture] = {}
        self._only: dict[int, list[str]] = {}
        self._lost: Counter[int] = Counter()
        self._waiting: list[int] = []
        # Jobs whose worker died while other jobs ran. Each is repeated alone before it counts as the cause.
        self._suspects: list[int] = []
        self._isolated: int | None = None
        # A suspect that has run alone since it was submitted.
        self._alone: int | None = None
        self._given_up: list[int] = []
        self._ended: SimpleQueue[tuple[int, str]] = SimpleQueue()
        self._tries = count()
        self._fits = dict.fromkeys(workers, True)
        self._threads = 0
        self._looked = -_SCHEDULER_CHECK_INTERVAL_S
        self._levels = [(log, log.level) for log in map(logging.getLogger, _QUIETED_LOGGERS)]
        for log, _ in self._levels:
            log.setLevel(logging.CRITICAL)

    @property
    def capacity(self) -> int:
        """A few jobs per worker thread."""
        self._update_workers_and_resubmit_jobs()
        return _JOBS_PER_THREAD * max(self._threads, 1)

    def start_job(self, number: int, job: Job, tracing: TraceOutput | None) -> None:
        self._jobs[number] = job
        self._submit_job(number)

    def finished_jobs(self, timeout_s: float) -> list[tuple[int, JobOutcome]]:
        self._update_workers_and_resubmit_jobs()
        numbers = {name: number for number, name in get_all_queued(self._ended, timeout_s)}
        numbers = {name: number for name, number in numbers.items() if number in self._futures and self._futures[number].key == name}
        gathered = self._fetch_outcomes([self._futures[number] for number in numbers.values()])
        outcomes: dict[int, JobOutcome] = {numbers[name]: outcome for name, outcome in gathered.items()}
        # A result may be lost with its worker before it is fetched. dask repeats the job on any worker, even one of another build.
        outcomes |= {number: self._failure_or_none_to_retry(number) for name, number in numbers.items() if name not in gathered}
        self._submit_failed_jobs_again([number for number, outcome in outcomes.items() if outcome is None])
        if self._client.status != "running":
            outcomes |= dict.fromkeys([*self._waiting, *self._suspects], self._scheduler_lost_error())
        outcomes |= {number: failure_of_job(self._jobs[number], WORKER, _LOST_WORKERS_TEXT) for number in self._given_up}
        self._given_up = []
        found = [(number, outcome) for number, outcome in outcomes.items() if outcome is not None]
        for number, _ in found:
            self._futures.pop(number, None)
            del self._jobs[number]
        self._submit_waiting_jobs()
        return [*found]

    def sum_of_job_progress(self) -> float:
        return 0.0

    def stop_and_collect_finished_jobs(self) -> list[tuple[int, JobOutcome]]:
        try:
            found = [] if self._client.status != "running" else self.finished_jobs(0.0)
            self._client.cancel(list(self._futures.values()), force=True)
            return found
        except (OSError, TimeoutError, RuntimeError):  # the scheduler is gone, and its jobs with it
            return []
        finally:
            self._client.close(timeout=_CONNECT_TIMEOUT_S)
            for log, level in self._levels:
                log.setLevel(level)

    def _update_workers_and_resubmit_jobs(self) -> None:
        """Update the set of workers, and submit jobs of lost workers again."""
        if monotonic() - self._looked < _SCHEDULER_CHECK_INTERVAL_S:
            return
        try:
            threads = self._client.nthreads()
            new = [worker for worker in threads if worker not in self._fits]
            builds = _engine_builds_of_workers(self._client, new) if new else {}
        except (OSError, TimeoutError, RuntimeError):  # the scheduler is gone, and its jobs with it
            return
        self._fits = {worker: self._fits.get(worker, builds.get(worker) == _ENGINE_BUILD) for worker in threads}
        self._threads = sum(threads[worker] for worker in self._workers_of_this_build())
        self._looked = monotonic()
        fit = set(self._workers_of_this_build())
        lost = [number for number in self._futures if self._only[number] and not fit.intersection(self._only[number])]
        for number in self._cancel_and_list_retryable_jobs(lost):
            self._submit_job(number)

    def _workers_of_this_build(self) -> list[str]:
        """The workers with this build of the engine."""
        return [worker for worker, fits in self._fits.items() if fits]

    def _cancel_and_list_retryable_jobs(self, numbers: Sequence[int]) -> list[int]:
        """Jobs to submit again, without those that were submitted too often."""
        for number in numbers:
            self._futures.pop(number).cancel()
        self._lost.update(numbers)
        self._given_up += [number for number in numbers if self._lost[number] > _MAX_LOST_WORKERS]
        return [number for number in numbers if self._lost[number] <= _MAX_LOST_WORKERS]

    def _submit_job(self, number: int) -> None:
        """Submit a job, restricted to the workers of this build if there are others; it waits until one joins."""
        fit = self._workers_of_this_build()
        mixed = len(fit) < len(self._fits)
        if (mixed and not fit) or self._isolated not in (None, number):
            self._waiting.append(number)
            return
        self._alone = None if self._futures else number
        job = self._jobs[number]
        name = f"ecnlab-{job.scenario_key[:12]}-seed{job.seed}-{self._client.id}-{next(self._tries)}"
        self._only[number] = fit if mixed else []
        future = self._client.submit(
            self._attempt, _ENGINE_BUILD, name, job.scenario_key, pickle.dumps(job), key=name, pure=False, workers=fit if mixed else None
        )
        self._futures[number] = future
        self._notify_when_future_ends(number, future)

    def _notify_when_future_ends(self, number: int, future: AnyFuture) -> None:
        name = str(future.key)
        future.add_done_callback(lambda _: self._ended.put((number, name)))

    def _submit_failed_jobs_again(self, numbers: Sequence[int]) -> None:
        """Submit jobs without outcome again: refused by a worker of another build, lost with their worker, or suspects."""
        again = [number for number in self._cancel_and_list_retryable_jobs(numbers) if number not in self._suspects]
        if again:
            self._looked = -_SCHEDULER_CHECK_INTERVAL_S
            self._update_workers_and_resubmit_jobs()
        for number in again:
            self._submit_job(number)

    def _fetch_outcomes(self, futures: Sequence[AnyFuture]) -> dict[str, JobOutcome]:
        """Outcomes of jobs by name, fetched together; without jobs that failed or were lost with their worker."""
        well = [future for future in futures if future.status == "finished"]
        if not well:
            return {}
        try:
            # dask repeats lost jobs and waits for them, perhaps for ever
            return dict(
                self._client.sync(lambda: self._client.gather(well, errors="skip", asynchronous=True), callback_timeout=_FETCH_TIMEOUT_S)
            )
        except (OSError, TimeoutError, RuntimeError):
            return {}

    def _submit_waiting_jobs(self) -> None:
        """Submit the jobs that wait for a worker, or the next suspect alone if no other job is at work."""
        self._suspects = [number for number in self._suspects if number in self._jobs]
        if self._isolated is not None and self._isolated not in self._jobs:
            self._isolated = None
        waiting, self._waiting = self._waiting, []
        if self._isolated is None and self._suspects and not self._futures:
            self._isolated = self._suspects.pop(0)
            waiting.append(self._isolated)
        for number in waiting:
            self._submit_job(number)

    def _failure_or_none_to_retry(self, number: int) -> JobOutcome:
        """The failure of a job without outcome; None if it is to be submitted again."""
        from distributed import KilledWorker

        future, job = self._futures[number], self._jobs[number]
        if future.status == "error":
            error = future.exception()
            if isinstance(error, KilledWorker) and self._alone != number:
                self._suspects.append(number)
                return None
            return failure_of_job(job, WORKER, f"no worker could run it: {_first_line_of_error(error)}")
        return self._scheduler_lost_error() if future.cancelled() or self._client.status != "running" else None

    def _scheduler_lost_error(self) -> ClusterError:
        return ClusterError(
            f"the connection to the scheduler at {self._address} was lost; finished runs are stored; "
            "fix: run the same command again, which continues from there"
        )


def _make_job_function_for_workers() -> Callable[[str, str, str, bytes], tuple[str, JobOutcome]]:
    """The function that a worker calls, sent by value, since the package may be missing there or of another build. It returns None then."""

    def run_job_on_worker(build: str, name: str, key: str, packed: bytes) -> tuple[str, JobOutcome]:
        try:
            from ecnlab import _core as there
        except ImportError:
            return name, None
        if build != there.BUILD:
            return name, None
        # Imported here, since a worker of another build may lack this module, and would fail before it reports its build.
        from ecnlab.execution.cluster import run_packed_job

        return name, run_packed_job(key, packed)

    return run_job_on_worker


def run_packed_job(key: str, packed: bytes) -> JobOutcome:
    """Run a job on a worker; `key` is that of its scenario."""
    try:
        job: Job = pickle.loads(packed)
    except BackendError as error:  # the backend cannot be used on that worker
        return BackendError(f"a worker on {gethostname()} cannot run it: {error}")
    if key != job.scenario_key:
        return failure_of_job(job, WORKER, "a worker cannot run it: it reads a different scenario")
    return run_job(job)


def _connect_to_scheduler(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError("cluster: the package distributed (dask) is not installed; fix: pip install 'ecnlab[cluster]'") from None
    try:
        return Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        remedy = "fix: start one with 'dask scheduler', and give the address that it prints, as in tcp://node1:8786"
        raise ClusterError(f"cluster: no dask scheduler answers at {address} ({_first_line_of_error(error)}); {remedy}") from None


def _require_same_build_on_workers(client: Client, address: str) -> list[str]:
    """Check that all workers have this build of the engine. Raises ClusterError that lists the workers without it."""
    try:
        client.wait_for_workers(1, timeout=_CONNECT_TIMEOUT_S)
    except TimeoutError:
        raise ClusterError(f"cluster: the scheduler at {address} has no worker; fix: start some with 'dask worker {address}'") from None
    builds = _engine_builds_of_workers(client)
    wrong = {worker: build for worker, build in builds.items() if build != _ENGINE_BUILD}
    if wrong:
        listed = "\n".join(f"  {worker}: {build or 'ecnlab is not installed there'}" for worker, build in sorted(wrong.items()))
        remedy = "fix: install the same ecnlab on every worker, and restart the workers"
        raise ClusterError(f"cluster: not every worker has this build of the engine, {_ENGINE_BUILD}:\n{listed}\n{remedy}")
    return list(builds)


def _engine_builds_of_workers(client: Client, workers: list[str] | None = None) -> dict[str, str]:
    """The build of the engine on each worker, or on these; workers that leave meanwhile are omitted."""
    return dict(client.run(_engine_build_function_for_workers(), workers=workers, on_error="ignore"))


def _engine_build_function_for_workers() -> Callable[[], str]:
    """A function that returns the build of the engine on a worker, sent by value, since this package may be missing there."""

    def engine_build() -> str:
        try:
            from ecnlab import _core as there
        except ImportError:
            return ""
        return str(there.BUILD)

    return engine_build


def _first_line_of_error(error: Any) -> str:
    return str(error).split("\n")[0] or type(error).__name__
