"""The errors that ecnlab raises; each message can be shown to the user unchanged.

EcnlabError
 +-- ScenarioError    a scenario is invalid; `.problems` lists all its problems
 +-- UsageError       an argument is out of its range or unreadable
 |    +-- UnknownName an unknown name; the message suggests the nearest
 +-- ResultsError     a results folder cannot be written, is not ours, or is damaged
 +-- TraceError       a trace cannot be opened, or nothing in it can be read
 +-- AqmError         a user-defined AQM raised, or returned an invalid value; `__cause__` is its exception
 +-- EngineFault      the engine itself failed; `.result` holds the seeds that did not
 +-- RunsFailed       some runs of several scenarios failed; `.failures` holds them, and `.results` the others
 +-- ClusterError     a cluster cannot be reached or used
 +-- BackendError     what a scenario is to run on cannot be used on this machine
 +-- Interrupted      stopped by Ctrl-C; `.result` holds the seeds that had finished
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecnlab.execution.runner import Outcome
    from ecnlab.storage.results import Result

# Maximum numbers of failures and names in a message; all lists of algorithms, quantities and options are shorter than the second.
_MAX_LISTED_FAILURES = 40
_MAX_LISTED_NAMES = 200
# Share of equal letters from which a name is suggested: two of three, as "fra" has of "far".
_SIMILARITY_CUTOFF = 0.65
# Letters from which the beginning of a name is enough, as "cwnd" of "cwnd_packets".
_MIN_PREFIX_LETTERS = 3


class EcnlabError(Exception):
    """Base class of all errors of ecnlab. It can be pickled, so that a worker process can pass it on unchanged."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled_error, (type(self), self.args, vars(self))


@dataclass(frozen=True)
class Problem:
    """An error in a scenario, or a warning about an unusual value.

    Attributes
    ----------
    place : str
        The key's path, as in "link.bottleneck.rate".
    line : int or None
        The line of the file, if known.
    message : str
        The problem, and how to fix it.
    """

    place: str
    line: int | None
    message: str

    @staticmethod
    def from_engine(parts: tuple[str, int | None, str]) -> Problem:
        """A problem from the engine's (place, line, message)."""
        return Problem(*parts)

    def as_text(self, source: str | None) -> str:
        """The problem as one line with its place, in the file `source` if given."""
        where = ":".join(str(part) for part in (source, self.line) if part is not None)
        return ": ".join(part for part in (where, self.place, self.message) if part)


# Kinds of failures of a run.
ENGINE, AQM, RECORDING, TRACE, WORKER, BACKEND, LATENESS = "engine", "aqm", "recording", "trace", "worker", "backend", "lateness"
CONTROL = "control"


@dataclass(frozen=True)
class Failure:
    """A run that has failed.

    Attributes
    ----------
    key, title, seed
        Key and title of its scenario, and the seed.
    kind : str
        "engine" (a fault of ecnlab), "aqm" (a user-defined AQM raised), "recording" (the recorded series do not fit into memory), "trace"
        (its trace could not be written), "worker" (no worker of the cluster could do it), "backend" (the backend could not be used),
        "lateness" (packets left later than the run's budget allows, so its numbers are not kept) or "control" (a UML kernel failed while
        it ran a user's congestion control).
    message : str
        Cause of the failure.
    error : EcnlabError or None
        The exception that `ecnlab.run` raises; None for engine faults, lateness and congestion controls, which are reported together.
    """

    key: str
    title: str
    seed: int
    kind: str
    message: str
    error: EcnlabError | None = field(default=None, repr=False, compare=False)

    def describe(self) -> str:
        """The failure as one line."""
        return f"{self.title} (key {self.key[:12]}), seed {self.seed}: {self.message}"


class RemoteRunFailed(Exception):
    """A run in another process failed; `failure` holds the cause."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ScenarioError(EcnlabError):
    """A scenario is invalid. `problems` holds all its problems, `source` the file's name or None."""

    def __init__(self, problems: Iterable[Problem], source: str | None = None) -> None:
        self.problems = list(problems)
        self.source = source
        super().__init__("\n".join(problem.as_text(source) for problem in self.problems))


class UsageError(EcnlabError):
    """An argument is out of its range or unreadable."""


# Former names of quantities in results, and of one kind of catalog entries.
_RENAMED_NAMES = {
    "max_min_gap": "min_max_goodput_ratio",
    "retransmitted_needlessly": "spurious_retransmits",
    "reduced": "cwr_packets",
    "unseen": "acked_unseen_bytes",
    "shape": "topology",
}


class UnknownName(UsageError):
    """An unknown name; the message suggests the nearest known one."""

    def __init__(self, kind: str, name: str, known: Iterable[str], fix: str | None = None) -> None:
        """An unknown name of this kind among the known ones; `fix` is what to write for it, if that is no known name."""
        names = sorted(known, key=natural_order_key)
        new = _RENAMED_NAMES.get(name)
        is_renamed = new in names
        hint = _unknown_name_hint(name, names) if fix is None else f"fix: {fix}"
        super().__init__(f"{name!r} is now {new!r}; fix: write {new!r}" if is_renamed else f"unknown {kind} {name!r}; {hint}")


def natural_order_key(name: str) -> list[tuple[int, str]]:
    """Sort key that puts "R10" after "R9"."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.findall(r"[0-9]+|[^0-9]+", name)]


def require_known_name(kind: str, name: str, known: Collection[str]) -> None:
    """Check that a name is known. Raises UnknownName."""
    if name not in known:
        raise UnknownName(kind, name, known)


class ResultsError(EcnlabError):
    """A results folder cannot be written, is not ours, or is damaged."""


class TraceError(EcnlabError):
    """A trace cannot be opened, or nothing in it can be read."""


class AqmError(EcnlabError):
    """A user-defined AQM raised, or returned an invalid value. The run ends; `__cause__` is the AQM's exception.

    Attributes
    ----------
    aqm, hook : str
        The AQM, and its method.
    seed : int
        The seed of the run.
    time_s : float or None
        Simulation time; None where the AQM's constructor failed.
    traceback : str
        The exception with its traceback as text.
    """

    def __init__(self, aqm: str, hook: str, seed: int, time_s: float | None, packet: str, raised: str, traceback: str) -> None:
        self.aqm, self.hook, self.seed, self.time_s, self.traceback = aqm, hook, seed, time_s, traceback
        where = [f"seed {seed}", *([] if time_s is None else [f"at {time_s:.12g} s"]), *([packet] if packet else [])]
        super().__init__(f"AQM {aqm} failed in {hook} ({', '.join(where)}): {raised}")


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
        failure_lines = [f"scenario {failure.key}, seed {failure.seed}: the engine failed: {failure.message}" for failure in failures]
        super().__init__("\n".join([*failure_lines, "the other seeds are stored; fix: report this bug of ecnlab with the scenario"]))


class RunsFailed(EcnlabError):
    """Some runs failed where all were needed.

    Attributes
    ----------
    failures : list of Failure
        The failed runs with their causes.
    results : list of Result
        The completed runs of each scenario.
    """

    def __init__(self, failures: Sequence[Failure], results: Sequence[Result]) -> None:
        self.failures = list(failures)
        self.results = list(results)
        failure_lines = [failure.describe() for failure in self.failures[:_MAX_LISTED_FAILURES]]
        more = [f"and {len(self.failures) - _MAX_LISTED_FAILURES} more"] if len(self.failures) > _MAX_LISTED_FAILURES else []
        runs = "1 run" if len(self.failures) == 1 else f"{len(self.failures)} runs"
        super().__init__("\n".join([f"{runs} failed:", *failure_lines, *more]))


class ClusterError(EcnlabError):
    """A cluster cannot be reached or used."""


class BackendError(EcnlabError):
    """A backend cannot be used on this machine; `ecnlab doctor` shows how to fix it."""


class Interrupted(EcnlabError):
    """Stopped by Ctrl-C.

    Attributes
    ----------
    result : Result, Outcome or None
        The seeds that had finished; an Outcome where several scenarios were run, None before any result exists.
    """

    def __init__(self, message: str, result: Result | Outcome | None = None) -> None:
        super().__init__(message)
        self.result = result


def require_nonempty_path(place: str, path: object) -> None:
    """Check that a path is not "", which would be the current folder. Raises UsageError."""
    if path == "":
        raise UsageError(f"{place}: is empty; fix: name a file or folder; the current folder is .")


def require_no_problems(problems: Iterable[str]) -> None:
    """Raises one UsageError with all problems, each on its line, if there are any."""
    if message := "\n".join(problems):
        raise UsageError(message)


def run_all_argument_checks(checks: Iterable[Callable[[], object]]) -> None:
    """Run all checks. Raises the error of a single failed check, or one UsageError with the messages of all, each line once."""
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


def _unpickled_error(kind: type[EcnlabError], args: tuple[Any, ...], attributes: dict[str, Any]) -> EcnlabError:
    error = kind.__new__(kind, *args)
    vars(error).update(attributes)
    return error


def _unknown_name_hint(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    lower = {known.lower(): known for known in reversed(names)}
    nearest = get_close_matches(name.lower(), lower, n=1, cutoff=_SIMILARITY_CUTOFF)
    if not nearest and len(name) >= _MIN_PREFIX_LETTERS:
        nearest = [known for known in lower if known.startswith(name.lower())]
    if nearest:
        return f"did you mean {lower[nearest[0]]!r}?"
    if not names:
        return "none is defined"
    more = f" and {len(names) - _MAX_LISTED_NAMES} more" if len(names) > _MAX_LISTED_NAMES else ""
    return f"fix: use one of {', '.join(names[:_MAX_LISTED_NAMES])}{more}"
