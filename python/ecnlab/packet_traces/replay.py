"""Replay: recorded arrivals pass through the same queues again, and each decision is compared with the recorded one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.aqm.tracebacks import aqm_error_from_exception
from ecnlab.errors import Problem, ResultsError, UsageError, require_known_name
from ecnlab.scenarios.load import Scenario
from ecnlab.scenarios.load import scenario as scenario_from_tree
from ecnlab.storage.results import Result, open_result

if TYPE_CHECKING:
    from ecnlab.aqm.api import Aqm

ARRIVALS_TABLE = "arrivals"


@dataclass(frozen=True)
class FirstReplayDifference:
    """The first decision that differs.

    Attributes
    ----------
    line : int
        Line of the queue's record, from 0.
    time_s : float
        Time in s.
    recorded, replayed : str or None
        The recorded and the replayed action; None for no action.
    """

    line: int
    time_s: float
    recorded: str | None
    replayed: str | None


@dataclass(frozen=True)
class ReplayedQueue:
    """A replayed queue of one seed.

    Attributes
    ----------
    seed : int
        The seed.
    queue : str
        The name of the queue, which is that of its link.
    arrivals, departures, marks, drops : int
        Number of identical events of each kind, in packets.
    difference : FirstReplayDifference or None
        The first decision that differs; None if all are identical.
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
    """Results of a replay.

    Attributes
    ----------
    queues : tuple of ReplayedQueue
        Each queue of each seed.
    warnings : tuple of Problem
        Reasons why decisions may differ although the scenario is the same, damaged seeds that are missing, and skipped queues of a
        kernel, which ecnlab cannot replay.
    """

    queues: tuple[ReplayedQueue, ...]
    warnings: tuple[Problem, ...]

    @property
    def agrees(self) -> bool:
        """Whether all decisions are identical."""
        return all(one.difference is None for one in self.queues)

    def json(self) -> dict[str, Any]:
        """Old name of `to_dict`, until the next release."""
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """The results as plain values."""
        warnings = [vars(warning) for warning in self.warnings]
        return {"agrees": self.agrees, "queues": [asdict(one) for one in self.queues], "warnings": warnings}


def replay(
    result: Result | str | Path,
    *,
    seeds: Iterable[int] | None = None,
    queue: str | None = None,
    aqms: Iterable[type[Aqm] | str] = (),
) -> Replay:
    """Replay the recorded arrivals of a result through the same queues.

    Parameters
    ----------
    result : Result, str or Path
        A result, or its folder, that was recorded with `record.arrivals = true`, on any backend.
    seeds : iterable of int, optional
        The seeds to replay; by default all.
    queue : str, optional
        A single queue to replay, by its link's name; by default all.
    aqms : iterable of classes, optional
        User AQMs that the scenario names: subclasses of `Aqm`, or texts as "my_aqm.py:MyAqm".

    Raises
    ------
    ResultsError
        The arrivals were not recorded, or a queue is a kernel's, which ecnlab cannot replay.
    UnknownName
        An unknown queue or seed.
    ScenarioError
        The scenario names an AQM that was not given.
    AqmError
        A user's AQM raised an exception.

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
    if queue is not None:
        require_known_name("queue", queue, found.queue_names)
    wanted = found.seeds if seeds is None else list(seeds)
    if not wanted:
        raise UsageError("seeds: the list is empty; fix: name one, or omit the seeds")
    scenario = scenario_from_tree(found.header["parameters"], aqms=aqms)
    queues = {(seed, name): one for seed in wanted for name, one in _replay_queues_of_seed(found, scenario, seed, queue)}
    passed_over = dict.fromkeys(name for (_, name), one in queues.items() if one is None)
    of_kernel = [Problem(f"link.{name}.queue", None, "is a kernel's queue, which cannot be replayed") for name in passed_over]
    damaged = [warning for warning in found.warnings if vars(warning) not in found.header["warnings"]]
    return Replay(
        tuple(one for one in queues.values() if one is not None),
        (*damaged, *_warnings_of_changes_since_recording(found, scenario), *of_kernel),
    )


def _replay_queues_of_seed(result: Result, scenario: Scenario, seed: int, queue: str | None) -> list[tuple[str, ReplayedQueue | None]]:
    """Replay the queues of a seed, by name; None for those of a kernel. Raises ResultsError."""
    if not result.only(seed).has(ARRIVALS_TABLE):
        raise ResultsError(f"{result.name}: seed {seed} has no record of arrivals; fix: run it with --record")
    table = result.table_of_seed(seed, ARRIVALS_TABLE)
    try:
        counts = _core.replay(scenario._core, seed, table, queue)
    except _core.AqmFailure as error:
        raise aqm_error_from_exception(error) from error.__cause__
    except ValueError as error:
        raise ResultsError(f"{result.name}: {error}") from None
    return [(name, None if of_it is None else _replayed_queue_from_counts(seed, name, *of_it)) for name, of_it in counts]


def _replayed_queue_from_counts(
    seed: int, name: str, counts: tuple[int, int, int, int], other: tuple[int, float, str | None, str | None] | None
) -> ReplayedQueue:
    return ReplayedQueue(seed, name, *counts, None if other is None else FirstReplayDifference(*other))


def _warnings_of_changes_since_recording(result: Result, scenario: Scenario) -> Iterable[Problem]:
    """Warnings about changes since the result was recorded."""
    if result.header["build"] != _core.BUILD:
        message = f"the result is of the engine {result.header['build']}, and this one is {_core.BUILD}: an algorithm can have changed"
        yield Problem("engine", None, message)
    known = dict(result.header["aqms"])
    for name, digest in scenario.aqm_digests.items():
        if known.get(name) != digest:
            yield Problem("aqms", None, f"the source of {name} differs from that of the result")
