"""A cluster does the jobs: the workers of a dask scheduler, wherever they run.

    lab.run_all(requests, store="results/store", workers=lab.Cluster("tcp://node1:8786"))

docs/cluster.md says how one is started. A worker needs nothing but this package, of the same build: a job holds its scenario's text,
and what it gives comes back over the network. Of workers that die, others do the jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.errors import ClusterError, UsageError
from ecnlab.jobs import WORKER, Finished, Job, attempt, failure
from ecnlab.tracing import Tracing
from ecnlab.workers import Crew, Ended

if TYPE_CHECKING:
    from distributed import Client, Future

    AnyFuture = Future[Any]

_BUILD = _core.BUILD
_PATIENCE_S = 10.0
_PER_THREAD = 4
_LOOK_S = 1.0


@dataclass(frozen=True)
class Cluster:
    """The workers of the dask scheduler at an address, as in "tcp://node1:8786"."""

    address: str

    def __post_init__(self) -> None:
        if not isinstance(self.address, str) or not self.address:
            raise UsageError(f"cluster: {self.address!r} must be the address of a dask scheduler, as in 'tcp://node1:8786'")

    @property
    def traces(self) -> bool:
        """A trace would be written on the worker's machine."""
        return False

    def crew(self, most: int) -> Crew:
        """Let them come to work on so many jobs. Raises ClusterError if the scheduler or its workers cannot be used."""
        client = _client(self.address)
        try:
            _require_workers(client, self.address)
            return _ClusterCrew(client, self.address)
        except BaseException:
            client.close(timeout=_PATIENCE_S)
            raise


class _ClusterCrew:
    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address
        self._jobs: dict[int, Job] = {}
        self._futures: dict[int, AnyFuture] = {}
        self._ended: SimpleQueue[int] = SimpleQueue()
        self._tries = count()
        self._threads = 0
        self._looked = -_LOOK_S

    @property
    def capacity(self) -> int:
        """Workers come and go."""
        if monotonic() - self._looked >= _LOOK_S:
            self._threads = sum(self._client.nthreads().values())
            self._looked = monotonic()
        return _PER_THREAD * max(self._threads, 1)

    def start(self, number: int, job: Job, tracing: Tracing | None) -> None:
        self._jobs[number] = job
        name = f"ecnlab-{job.key[:12]}-seed{job.seed}-{self._client.id}-{next(self._tries)}"
        future = self._client.submit(_attempt, _BUILD, job.key, job, key=name, pure=False)
        self._futures[number] = future
        future.add_done_callback(lambda _: self._ended.put(number))

    def ended(self, patience_s: float) -> list[tuple[int, Ended]]:
        numbers = [number for number in _queued(self._ended, patience_s) if number in self._futures]
        well = [number for number in numbers if self._futures[number].status == "finished"]
        outcomes: dict[int, Ended] = dict(zip(well, self._gathered(well), strict=True))
        outcomes |= {number: self._failed(number) for number in numbers if number not in outcomes}
        for number in numbers:
            del self._futures[number], self._jobs[number]
        return list(outcomes.items())

    def under_way(self) -> float:
        return 0.0

    def stop(self) -> list[tuple[int, Ended]]:
        try:
            found = [] if self._client.status != "running" else self.ended(0.0)
            self._client.cancel(list(self._futures.values()), force=True)
            return found
        except (OSError, TimeoutError):  # the scheduler is gone, and its jobs with it
            return []
        finally:
            self._client.close(timeout=_PATIENCE_S)

    def _gathered(self, numbers: Iterable[int]) -> list[Ended]:
        """What the jobs of these numbers gave, fetched at once."""
        futures = [self._futures[number] for number in numbers]
        try:
            return list(self._client.gather(futures))
        except Exception:  # one of them was lost with its worker and could not be done again
            return [_outcome(future) for future in futures]

    def _failed(self, number: int) -> Ended:
        """Why a job gave nothing."""
        future, job = self._futures[number], self._jobs[number]
        if future.status == "error":
            error = future.exception()
            return failure(job, WORKER, f"no worker could do it: {_told(error)}")
        return ClusterError(
            f"the scheduler at {self._address} has left; what had finished is kept, and the same command goes on from there"
        )


def _attempt(build: str, key: str, job: Job) -> Ended:
    """What a worker does."""
    if build != _core.BUILD or key != job.key:
        what = f"its engine is of build {_core.BUILD}, not {build}" if build != _core.BUILD else "the scenario is another one there"
        return failure(job, WORKER, f"a worker cannot do it: {what}")
    return attempt(job)


def _outcome(future: AnyFuture) -> Ended:
    try:
        outcome: Finished = future.result()
    except Exception as error:
        return error
    return outcome


def _queued(queue: SimpleQueue[int], patience_s: float) -> list[int]:
    """What is in the queue; waits for the first."""
    found: list[int] = []
    until = monotonic() + patience_s
    while True:
        try:
            found.append(queue.get_nowait() if found else queue.get(timeout=max(until - monotonic(), 0.0)))
        except Empty:
            return found


def _client(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError("a cluster needs dask's package distributed: pip install 'ecnlab[cluster]'") from None
    try:
        return Client(address, timeout=_PATIENCE_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        remedy = "start one with 'dask scheduler', and give the address that it prints, as in tcp://node1:8786"
        raise ClusterError(f"there is no dask scheduler at {address} ({_told(error)}); {remedy}") from None


def _require_workers(client: Client, address: str) -> None:
    """Every worker must have this engine. Raises ClusterError with what is wrong on which worker."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE_S)
    except TimeoutError:
        raise ClusterError(f"the scheduler at {address} has no worker; start some with 'dask worker {address}'") from None
    builds = client.run(_asking())
    wrong = {worker: build for worker, build in builds.items() if build != _BUILD}
    if wrong:
        told = "\n".join(f"  {worker}: {build or 'ecnlab is not installed there'}" for worker, build in sorted(wrong.items()))
        remedy = "install the same ecnlab on every worker, and start the workers again"
        raise ClusterError(f"not every worker has this build of the engine, {_BUILD}:\n{told}\n{remedy}")


def _asking() -> Callable[[], str]:
    """A function that tells the build of the engine where it is called, sent as it is, for there this package may be missing."""

    def build() -> str:
        try:
            from ecnlab import _core as there
        except ImportError:
            return ""
        return str(there.BUILD)

    return build


def _told(error: Any) -> str:
    return str(error).split("\n")[0] or type(error).__name__
