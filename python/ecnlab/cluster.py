"""A cluster does the jobs: the workers of a dask scheduler, wherever they run.

    lab.run_all(requests, store="results/store", workers=lab.Cluster("tcp://node1:8786"))

docs/cluster.md says how one is started. A worker needs nothing but this package, of the same build: a job holds its scenario's text,
and what it gives comes back over the network. Of workers that die, others do the jobs. What is sent finds out itself whether the
package is there and of this build, so that a worker which comes later and has another one takes no job away.
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
from ecnlab.errors import ClusterError, TierError, UsageError
from ecnlab.jobs import WORKER, Job, attempt, failure
from ecnlab.tracing import Tracing
from ecnlab.workers import Crew, Ended, queued

if TYPE_CHECKING:
    from distributed import Client, Future

    AnyFuture = Future[Any]

# Host and port, or a scheduler in this process.
_ADDRESS = re.compile(r"(?:[a-z]+://)?[^\s/]+:\d+(?:/\S*)?|inproc://\S+")
_BUILD = _core.BUILD
# Who tells on standard error of workers and schedulers that go; here it is told in one line, where it matters.
_TALKATIVE = ("distributed", "distributed.client", "tornado.application")
_PATIENCE_S = 10.0
_PER_THREAD = 4
_LOOK_S = 1.0
_FETCH_S = 30.0
_MOST_LOST = 10
_TOOK_ALONG = f"no worker could do it: {_MOST_LOST + 1} times those that had it in hand were lost"


@dataclass(frozen=True)
class Cluster:
    """The workers of the dask scheduler at an address, as in "tcp://node1:8786"."""

    address: str

    def __post_init__(self) -> None:
        if not isinstance(self.address, str) or not _ADDRESS.fullmatch(self.address):
            raise UsageError(f"cluster: {self.address!r} must be the address of a dask scheduler, as in 'tcp://node1:8786'")

    @property
    def here(self) -> bool:
        """A worker is anywhere."""
        return False

    def crew(self, most: int, at_once: int | None = None) -> Crew:
        """Let them come to work on so many jobs, as many at a time as they have threads.

        Raises ClusterError if the scheduler or its workers cannot be used.
        """
        client = _client(self.address)
        try:
            return _ClusterCrew(client, self.address, _require_workers(client, self.address))
        except BaseException:
            client.close(timeout=_PATIENCE_S)
            raise


class _ClusterCrew:
    """Workers of a cluster at work; they come and go, and those of another engine get no jobs."""

    def __init__(self, client: Client, address: str, workers: Iterable[str]) -> None:
        """Put these to work, which have this engine."""
        self._client = client
        self._address = address
        self._attempt = _attempting()
        self._jobs: dict[int, Job] = {}
        self._futures: dict[int, AnyFuture] = {}
        self._only: dict[int, list[str]] = {}
        self._lost: Counter[int] = Counter()
        self._waiting: list[int] = []
        self._given_up: list[int] = []
        self._ended: SimpleQueue[tuple[int, str]] = SimpleQueue()
        self._tries = count()
        self._fits = dict.fromkeys(workers, True)
        self._threads = 0
        self._looked = -_LOOK_S
        self._levels = [(log, log.level) for log in map(logging.getLogger, _TALKATIVE)]
        for log, _ in self._levels:
            log.setLevel(logging.CRITICAL)

    @property
    def capacity(self) -> int:
        """A few for each thread of those that can do jobs."""
        self._look()
        return _PER_THREAD * max(self._threads, 1)

    def start(self, number: int, job: Job, tracing: Tracing | None) -> None:
        self._jobs[number] = job
        self._submit(number)

    def ended(self, patience_s: float) -> list[tuple[int, Ended]]:
        self._look()
        numbers = {name: number for number, name in queued(self._ended, patience_s)}
        numbers = {name: number for name, number in numbers.items() if number in self._futures and self._futures[number].key == name}
        gathered = self._gathered([self._futures[number] for number in numbers.values()])
        outcomes: dict[int, Ended] = {number: self._failed(number) for name, number in numbers.items() if name not in gathered}
        self._await_again([number for number, outcome in outcomes.items() if outcome is None])
        self._submit_again([numbers[name] for name, outcome in gathered.items() if outcome is None])
        outcomes |= {numbers[name]: outcome for name, outcome in gathered.items()}
        if self._client.status != "running":
            outcomes |= dict.fromkeys(self._waiting, self._has_left())
        outcomes |= {number: failure(self._jobs[number], WORKER, _TOOK_ALONG) for number in self._given_up}
        self._given_up = []
        found = [(number, outcome) for number, outcome in outcomes.items() if outcome is not None]
        for number, _ in found:
            self._futures.pop(number, None)
            del self._jobs[number]
        return [*found]

    def under_way(self) -> float:
        return 0.0

    def stop(self) -> list[tuple[int, Ended]]:
        try:
            found = [] if self._client.status != "running" else self.ended(0.0)
            self._client.cancel(list(self._futures.values()), force=True)
            return found
        except (OSError, TimeoutError, RuntimeError):  # the scheduler is gone, and its jobs with it
            return []
        finally:
            self._client.close(timeout=_PATIENCE_S)
            for log, level in self._levels:
                log.setLevel(level)

    def _look(self) -> None:
        """See who has come and who has gone, and give anew what nobody has in hand."""
        if monotonic() - self._looked < _LOOK_S:
            return
        try:
            threads = self._client.nthreads()
            new = [worker for worker in threads if worker not in self._fits]
            builds = _builds(self._client, new) if new else {}
        except (OSError, TimeoutError, RuntimeError):  # the scheduler is gone, and its jobs with it
            return
        self._fits = {worker: self._fits.get(worker, builds.get(worker) == _BUILD) for worker in threads}
        self._threads = sum(threads[worker] for worker in self._fit())
        self._looked = monotonic()
        waiting, self._waiting = self._waiting, []
        for number in [*waiting, *self._orphans()]:
            self._submit(number)

    def _fit(self) -> list[str]:
        """The workers that have this engine."""
        return [worker for worker, fits in self._fits.items() if fits]

    def _orphans(self) -> list[int]:
        """Jobs that were for workers of which all have gone; those that this has happened to too often are given up."""
        fit = set(self._fit())
        return self._taken_back([number for number in self._futures if self._only[number] and not fit.intersection(self._only[number])])

    def _taken_back(self, numbers: Sequence[int]) -> list[int]:
        """Jobs that are to be given anew; not those that had to be too often."""
        for number in numbers:
            self._futures.pop(number).cancel()
        self._lost.update(numbers)
        self._given_up += [number for number in numbers if self._lost[number] > _MOST_LOST]
        return [number for number in numbers if self._lost[number] <= _MOST_LOST]

    def _submit(self, number: int) -> None:
        """Give a job to the workers, to those with this engine only if there are others; it waits until one comes."""
        fit = self._fit()
        mixed = len(fit) < len(self._fits)
        if mixed and not fit:
            self._waiting.append(number)
            return
        job = self._jobs[number]
        name = f"ecnlab-{job.key[:12]}-seed{job.seed}-{self._client.id}-{next(self._tries)}"
        self._only[number] = fit if mixed else []
        future = self._client.submit(
            self._attempt, _BUILD, name, job.key, pickle.dumps(job), key=name, pure=False, workers=fit if mixed else None
        )
        self._futures[number] = future
        self._await(number, future)

    def _await(self, number: int, future: AnyFuture) -> None:
        name = str(future.key)
        future.add_done_callback(lambda _: self._ended.put((number, name)))

    def _await_again(self, numbers: Sequence[int]) -> None:
        """Wait anew for jobs whose results went with their worker, which dask does again; not for those that had to be too often."""
        self._lost.update(numbers)
        for number in numbers:
            if self._lost[number] > _MOST_LOST:
                self._given_up.append(number)
            else:
                self._await(number, self._futures[number])

    def _submit_again(self, numbers: Sequence[int]) -> None:
        """Give jobs anew that a worker of another engine has refused."""
        again = self._taken_back(numbers)
        if again:
            self._looked = -_LOOK_S
            self._look()
        for number in again:
            self._submit(number)

    def _gathered(self, futures: Sequence[AnyFuture]) -> dict[str, Ended]:
        """What these jobs gave, by name, fetched at once; without those that failed, or were lost with their worker."""
        well = [future for future in futures if future.status == "finished"]
        if not well:
            return {}
        try:
            # dask does lost ones again and waits for that, which may take for ever
            return dict(self._client.sync(lambda: self._client.gather(well, errors="skip", asynchronous=True), callback_timeout=_FETCH_S))
        except (OSError, TimeoutError, RuntimeError):
            return {}

    def _failed(self, number: int) -> Ended:
        """Why a job gave nothing; None if it only was lost with its worker."""
        future, job = self._futures[number], self._jobs[number]
        if future.status == "error":
            error = future.exception()
            return failure(job, WORKER, f"no worker could do it: {_told(error)}")
        return self._has_left() if future.cancelled() or self._client.status != "running" else None

    def _has_left(self) -> ClusterError:
        return ClusterError(
            f"the scheduler at {self._address} has left; what had finished is kept, and the same command goes on from there"
        )


def _attempting() -> Callable[[str, str, str, bytes], tuple[str, Ended]]:
    """What a worker does, sent as it is, for there another engine may be, or none; it gives None beside the job's name then."""

    def attempt_there(build: str, name: str, key: str, packed: bytes) -> tuple[str, Ended]:
        try:
            from ecnlab import _core as there
        except ImportError:
            return name, None
        if build != there.BUILD:
            return name, None
        from ecnlab.cluster import attempted

        return name, attempted(key, packed)

    return attempt_there


def attempted(key: str, packed: bytes) -> Ended:
    """Do a job that was sent here, of a scenario with that key."""
    try:
        job: Job = pickle.loads(packed)
    except TierError as error:  # nothing can be run there that needs it
        return TierError(f"a worker on {gethostname()} cannot do it: {error}")
    if key != job.key:
        return failure(job, WORKER, "a worker cannot do it: the scenario is another one there")
    return attempt(job)


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


def _require_workers(client: Client, address: str) -> list[str]:
    """The workers, of which every one must have this engine. Raises ClusterError with what is wrong on which worker."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE_S)
    except TimeoutError:
        raise ClusterError(f"the scheduler at {address} has no worker; start some with 'dask worker {address}'") from None
    builds = _builds(client)
    wrong = {worker: build for worker, build in builds.items() if build != _BUILD}
    if wrong:
        told = "\n".join(f"  {worker}: {build or 'ecnlab is not installed there'}" for worker, build in sorted(wrong.items()))
        remedy = "install the same ecnlab on every worker, and start the workers again"
        raise ClusterError(f"not every worker has this build of the engine, {_BUILD}:\n{told}\n{remedy}")
    return list(builds)


def _builds(client: Client, workers: list[str] | None = None) -> dict[str, str]:
    """The build of the engine on each worker, or on these; those that go meanwhile say nothing."""
    return dict(client.run(_asking(), workers=workers, on_error="ignore"))


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
