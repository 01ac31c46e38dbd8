"""Running scenarios: seeds on all cores (the engine releases the interpreter's lock), kept as they finish."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from ecnlab import _core
from ecnlab.errors import Interrupted
from ecnlab.frames import to_frames
from ecnlab.progress import Progress
from ecnlab.results import Result, SeedRecord, from_folder
from ecnlab.scenarios import Scenario
from ecnlab.seeds import checked_seeds
from ecnlab.store import Folder, header_of

_TICK_S = 0.1


@dataclass(frozen=True)
class Request:
    """A scenario to run over seeds, kept in the folder `out` or in memory only."""

    scenario: Scenario
    seeds: Sequence[int]
    out: Path | None = None


def run(
    scenario: Scenario,
    seeds: int | Iterable[int] = 1,
    *,
    out: str | Path | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Result:
    """Run a scenario once for each seed, on all cores unless `threads` says otherwise.

    `seeds` is one seed or several, each 0 <= seed < 2**63. With `out` each seed is stored there as it finishes, seeds that
    the folder already has are not run again, and summary.json is written at the end. `progress` shows a bar on standard error.
    Raises UsageError (seeds), ResultsError (folder), Interrupted (Ctrl-C; its `.result` has the finished seeds).
    """
    request = Request(scenario, checked_seeds(seeds), None if out is None else Path(out))
    return run_all([request], threads=threads, progress=progress)[0]


def run_all(requests: Sequence[Request], *, threads: int | None = None, progress: bool = False) -> list[Result]:
    """Run several scenarios in one pool; a result for each request, in order. Errors as for `run`."""
    homes = [_home(request) for request in requests]
    jobs = [(home, seed) for home in homes for seed in home.missing()]
    try:
        _execute(jobs, threads or os.cpu_count() or 1, Progress(len(jobs), shown=progress))
    except KeyboardInterrupt:
        raise _interrupted(homes) from None
    return [home.result() for home in homes]


class _Home:
    """Where the seeds of one request go."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.records: dict[int, SeedRecord] = {}

    def missing(self) -> list[int]:
        return list(self.request.seeds)

    def keep(self, seed: int, run: _core.RunResult) -> None:
        frames = _frames(self.request.scenario, run, seed)
        self.records[seed] = SeedRecord(table=frames.__getitem__, tables=frozenset(frames), **_meta(seed, run))

    def result(self) -> Result:
        return Result(header_of(self.request.scenario), self.records.values())


class _FolderHome(_Home):
    """Seeds of one request that are stored as they finish."""

    def __init__(self, request: Request, out: Path) -> None:
        super().__init__(request)
        self.folder = Folder.create(out, request.scenario)

    def missing(self) -> list[int]:
        finished = set(self.folder.seeds())
        return [seed for seed in self.request.seeds if seed not in finished]

    def keep(self, seed: int, run: _core.RunResult) -> None:
        self.folder.write_seed(seed, _frames(self.request.scenario, run, seed), _meta(seed, run))

    def result(self) -> Result:
        wanted = set(self.request.seeds)
        result = from_folder(self.folder, [seed for seed in self.folder.seeds() if seed in wanted])
        if result.records:
            self.folder.write_summary(result.summary_json())
        return result


def _home(request: Request) -> _Home:
    return _Home(request) if request.out is None else _FolderHome(request, request.out)


def _execute(jobs: Sequence[tuple[_Home, int]], threads: int, progress: Progress) -> None:
    if not jobs:
        return
    stop = Event()
    with progress, ThreadPoolExecutor(min(threads, len(jobs))) as pool:
        pending = {pool.submit(_one, home, seed, stop.is_set) for home, seed in jobs}
        try:
            _drain(pending, progress)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _drain(pending: set[Future[None]], progress: Progress) -> None:
    while pending:
        finished, pending = wait(pending, timeout=_TICK_S, return_when=FIRST_COMPLETED)
        for future in finished:
            future.result()
        progress.advance(len(finished))


def _one(home: _Home, seed: int, stop: Callable[[], bool]) -> None:
    try:
        run = home.request.scenario.core.run(seed, stop)
    except _core.Interrupted:
        return
    home.keep(seed, run)


def _interrupted(homes: Sequence[_Home]) -> Interrupted:
    results = [home.result() for home in homes]
    done, asked = sum(len(r.records) for r in results), sum(len(home.request.seeds) for home in homes)
    return Interrupted(f"interrupted: {done} of {asked} runs had finished", results[0] if len(results) == 1 else None)


def _frames(scenario: Scenario, run: _core.RunResult, seed: int) -> dict[str, Any]:
    return to_frames(run.tables, scenario.groups, scenario.queues, seed)


def _meta(seed: int, run: _core.RunResult) -> dict[str, Any]:
    return {
        "seed": seed,
        "fingerprint": run.fingerprint,
        "events": run.events,
        "packet_hops": run.packet_hops,
        "cpu_s": run.cpu_s,
    }
