"""Replay: what was recorded at queues is put through the same queues again, and each decision is compared with that of then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.aqm.tracebacks import aqm_error_from_exception
from ecnlab.errors import Problem, ResultsError, UnknownName, UsageError
from ecnlab.scenarios.load import Scenario
from ecnlab.scenarios.load import scenario as scenario_from_tree
from ecnlab.storage.results import Result, open_result

if TYPE_CHECKING:
    from ecnlab.aqm.api import Aqm

ARRIVALS_TABLE = "arrivals"


@dataclass(frozen=True)
class FirstReplayDifference:
    """The first decision that was another.

    Attributes
    ----------
    line : int
        Which line of the queue's record it is, from 0.
    time_s : float
        When it was, in s.
    recorded, replayed : str or None
        What the queue did then and what it does now; None if nothing.
    """

    line: int
    time_s: float
    recorded: str | None
    replayed: str | None


@dataclass(frozen=True)
class ReplayedQueue:
    """A queue of one seed that was replayed.

    Attributes
    ----------
    seed : int
        Whose record it is.
    queue : str
        The queue's name, which is its link's.
    arrivals, departures, marks, drops : int
        How many of each were the same, in packets.
    difference : Difference or None
        The first decision that was another; None if every one was the same.
    """

    seed: int
    queue: str
    arrivals: int
    departures: int
    marks: int
    drops: int
    difference: FirstReplayDifference | None


@dataclass(frozen=True)
class Replay:
    """What a replay has found.

    Attributes
    ----------
    queues : tuple of Replayed
        Each queue of each seed.
    warnings : tuple of Problem
        Why decisions may be others although the scenario is the same; what of the result is damaged, so that its seeds are not there;
        which queues were passed over: a kernel's, whose law is not here.
    """

    queues: tuple[ReplayedQueue, ...]
    warnings: tuple[Problem, ...]

    @property
    def agrees(self) -> bool:
        """Whether every decision was the same."""
        return all(one.difference is None for one in self.queues)

    def json(self) -> dict[str, Any]:
        """Old name of `to_dict`, until the next release."""
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        warnings = [vars(warning) for warning in self.warnings]
        return {"agrees": self.agrees, "queues": [asdict(one) for one in self.queues], "warnings": warnings}


def replay(
    result: Result | str | Path,
    *,
    seeds: Iterable[int] | None = None,
    queue: str | None = None,
    aqms: Iterable[type[Aqm] | str] = (),
) -> Replay:
    """Put what a result recorded at its queues through the same queues again.

    Parameters
    ----------
    result : Result, str or Path
        A result, or its folder, that was recorded with `record.arrivals = true`, on any backend.
    seeds : iterable of int, optional
        The seeds to replay; all of them unless given.
    queue : str, optional
        The one queue to replay, by its link's name; all of them unless given.
    aqms : iterable of classes, optional
        The AQMs of your own that the scenario names: subclasses of `Aqm`, or texts as "my_aqm.py:MyAqm".

    Raises
    ------
    ResultsError
        The arrivals were not recorded, or a queue is a kernel's, whose law is not known here.
    UnknownName
        A queue or a seed that is not there.
    ScenarioError
        The scenario names an AQM that was not given.
    AqmError
        An AQM of your own raised.

    Examples
    --------
    Record what arrives at a queue, and put it through the same queue again:

    >>> import ecnlab as lab
    >>> changes = {"duration": "5 s", "measure_from": "1 s", "record.arrivals": True}
    >>> result = lab.run(lab.load("example:ecn", changes))
    >>> queue = lab.replay(result).queues[0]
    >>> queue.queue, queue.marks, queue.drops, queue.difference
    ('bottleneck', 428, 655, None)

    A `difference` of None means that every decision was the same.
    """
    found = open_result(result) if isinstance(result, (str, Path)) else result
    if queue is not None and queue not in found.queue_names:
        raise UnknownName("queue", queue, found.queue_names)
    wanted = found.seeds if seeds is None else list(seeds)
    if not wanted:
        raise UsageError("seeds: the list is empty; fix: name one, or leave out the seeds")
    scenario = scenario_from_tree(found.header["parameters"], aqms=aqms)
    queues = {(seed, name): one for seed in wanted for name, one in _replay_queues_of_seed(found, scenario, seed, queue)}
    passed_over = dict.fromkeys(name for (_, name), one in queues.items() if one is None)
    of_kernel = [Problem(f"link.{name}.queue", None, "is a kernel's queue, which cannot be replayed") for name in passed_over]
    return Replay(
        tuple(one for one in queues.values() if one is not None),
        (*_damaged_seed_problems(found), *_replay_warnings(found, scenario), *of_kernel),
    )


def _replay_queues_of_seed(result: Result, scenario: Scenario, seed: int, queue: str | None) -> list[tuple[str, ReplayedQueue | None]]:
    """The queues of a seed by their names; nothing of those that a kernel has. Raises ResultsError."""
    if not result.only(seed).has(ARRIVALS_TABLE):
        raise ResultsError(f"{result.name}: seed {seed} has no record of arrivals; fix: run it with --record")
    table = result.table_of(seed, ARRIVALS_TABLE)
    try:
        told = _core.replay(scenario._core, seed, table, queue)
    except _core.AqmFailure as error:
        raise aqm_error_from_exception(error) from error.__cause__
    except ValueError as error:
        raise ResultsError(f"{result.name}: {error}") from None
    return [(name, None if of_it is None else _replayed_queue_from_counts(seed, name, *of_it)) for name, of_it in told]


def _replayed_queue_from_counts(
    seed: int, name: str, counts: tuple[int, int, int, int], other: tuple[int, float, str | None, str | None] | None
) -> ReplayedQueue:
    return ReplayedQueue(seed, name, *counts, None if other is None else FirstReplayDifference(*other))


def _damaged_seed_problems(result: Result) -> Iterable[Problem]:
    """What of the result cannot be read."""
    return (warning for warning in result.warnings if vars(warning) not in result.header["warnings"])


def _replay_warnings(result: Result, scenario: Scenario) -> Iterable[Problem]:
    """What has changed since the result was made."""
    if result.header["build"] != _core.BUILD:
        message = f"the result is of the engine {result.header['build']}, and this one is {_core.BUILD}: an algorithm can have changed"
        yield Problem("engine", None, message)
    known = dict(result.header["aqms"])
    for name, digest in scenario.aqm_digests.items():
        if known.get(name) != digest:
            yield Problem("aqms", None, f"the source of {name} differs from that of the result")
