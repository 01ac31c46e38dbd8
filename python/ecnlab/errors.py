"""The errors that ecnlab raises; each text is meant to be shown as it stands.

EcnlabError
 +-- ScenarioError    a scenario is unsound; `.problems` lists everything that is wrong with it
 +-- UsageError       an argument is out of its range or unreadable
 |    +-- UnknownName a name that nothing carries; the text suggests the nearest
 +-- ResultsError     a results folder cannot be written, is not ours, or is damaged
 +-- TraceError       a trace cannot be opened, or nothing in it can be read
 +-- AqmError         an AQM of the user's own raised, or answered what cannot be; its cause is what was raised
 +-- EngineFault      the engine itself failed; `.result` holds the seeds that did not
 +-- RunsFailed       some runs of several scenarios failed; `.failures` says which, and `.results` holds the others
 +-- ClusterError     a cluster cannot be reached or used
 +-- TierError        what a scenario is to run on cannot be used on this machine
 +-- Interrupted      stopped by Ctrl-C; `.result` holds the seeds that had finished
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecnlab.jobs import Failure
    from ecnlab.results import Result
    from ecnlab.runner import Outcome

# Failures and names that a message lists at most; no list of algorithms, quantities or options is as long as that of names.
_LISTED = 40
_LISTED_NAMES = 200


class EcnlabError(Exception):
    """Whatever ecnlab refuses or fails to do. It can be pickled, so that it comes out of a worker process as it was raised."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_raised, (type(self), self.args, vars(self))


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario, or that its author hardly meant.

    Attributes
    ----------
    place : str
        The key's path, as in "link.bottleneck.rate".
    line : int or None
        The line of the file, where there is one.
    message : str
        What it is, and what would do.
    """

    place: str
    line: int | None
    message: str

    @staticmethod
    def of(parts: tuple[str, int | None, str]) -> Problem:
        """A problem as the engine tells it."""
        return Problem(*parts)

    def told(self, source: str | None) -> str:
        """It as a line that says where it is, in the file `source` if there is one."""
        where = ":".join(str(part) for part in (source, self.line) if part is not None)
        return ": ".join(part for part in (where, self.place, self.message) if part)


class ScenarioError(EcnlabError):
    """A scenario is unsound. `problems` holds all that was found, `source` the file's name or None."""

    def __init__(self, problems: Iterable[Problem], source: str | None = None) -> None:
        self.problems = list(problems)
        self.source = source
        super().__init__("\n".join(problem.told(source) for problem in self.problems))


class UsageError(EcnlabError):
    """An argument is out of its range or unreadable."""


class UnknownName(UsageError):
    """A name that nothing carries."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        super().__init__(f"there is no {kind} named {name!r}; {_remedy(name, names)}")


class ResultsError(EcnlabError):
    """A results folder cannot be written, is not ours, or is damaged."""


class TraceError(EcnlabError):
    """A trace cannot be opened, or nothing in it can be read."""


class AqmError(EcnlabError):
    """An AQM of the user's own raised, or answered what cannot be; that ends the run, and `__cause__` is what was raised.

    Attributes
    ----------
    aqm, hook : str
        Which one, and its method.
    seed : int
        The seed of the run.
    time_s : float or None
        Simulated seconds; None where it failed as it was made.
    traceback : str
        What it raised, with its traceback as text.
    """

    def __init__(self, aqm: str, hook: str, seed: int, time_s: float | None, packet: str, raised: str, traceback: str) -> None:
        self.aqm, self.hook, self.seed, self.time_s, self.traceback = aqm, hook, seed, time_s, traceback
        where = [f"seed {seed}", *([] if time_s is None else [f"at {time_s:.12g} s"]), *([packet] if packet else [])]
        super().__init__(f"the AQM {aqm} failed in {hook} ({', '.join(where)}): {raised}")


class EngineFault(EcnlabError):
    """The engine failed in some runs: a fault of ecnlab, not of the scenario.

    Attributes
    ----------
    runs : list of tuple
        Key of the scenario and seed of each run that failed.
    result : Result
        The seeds that did not fail.
    """

    def __init__(self, failures: Sequence[Failure], result: Result) -> None:
        self.runs = [(failure.key, failure.seed) for failure in failures]
        self.result = result
        told = [f"the engine failed in seed {failure.seed} of the scenario {failure.key}: {failure.message}" for failure in failures]
        super().__init__("\n".join([*told, "this is a fault of ecnlab: please report it with the scenario; the other seeds are kept"]))


class RunsFailed(EcnlabError):
    """Some runs failed where all were needed.

    Attributes
    ----------
    failures : list of Failure
        Which, and why.
    results : list of Result
        What finished of each scenario.
    """

    def __init__(self, failures: Sequence[Failure], results: Sequence[Result]) -> None:
        self.failures = list(failures)
        self.results = list(results)
        told = [failure.told() for failure in self.failures[:_LISTED]]
        more = [f"and {len(self.failures) - _LISTED} more"] if len(self.failures) > _LISTED else []
        runs = "1 run" if len(self.failures) == 1 else f"{len(self.failures)} runs"
        super().__init__("\n".join([f"{runs} failed:", *told, *more]))


class ClusterError(EcnlabError):
    """A cluster cannot be reached or used."""


class TierError(EcnlabError):
    """What a scenario is to run on cannot be used on this machine; `ecnlab doctor` says what would do."""


class Interrupted(EcnlabError):
    """Stopped by Ctrl-C.

    Attributes
    ----------
    result : Result, Outcome or None
        The seeds that had finished; an Outcome where several scenarios were run, None where nothing of them is a result yet.
    """

    def __init__(self, message: str, result: Result | Outcome | None = None) -> None:
        super().__init__(message)
        self.result = result


def all_at_once(checks: Iterable[Callable[[], object]]) -> None:
    """Do all the checks. Raises what the only one raises that fails, or a UsageError with what all of them say, each line once."""
    failed: list[UsageError] = []
    for check in checks:
        try:
            check()
        except UsageError as error:
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise UsageError("\n".join(dict.fromkeys(line for error in failed for line in str(error).splitlines())))


def _as_raised(kind: type[EcnlabError], args: tuple[Any, ...], attributes: dict[str, Any]) -> EcnlabError:
    error = kind.__new__(kind, *args)
    vars(error).update(attributes)
    return error


def _remedy(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    nearest = get_close_matches(name, names, n=1, cutoff=0.5)
    if nearest:
        return f"did you mean {nearest[0]!r}?"
    if not names:
        return "there are none"
    more = f" and {len(names) - _LISTED_NAMES} more" if len(names) > _LISTED_NAMES else ""
    return f"known are {', '.join(names[:_LISTED_NAMES])}{more}"
