"""A run as a value: any thread, any process and any worker of a cluster can take a job, and what it gives back is the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.errors import AqmError, EcnlabError, Problem, ScenarioError, TierError
from ecnlab.tables import SeedRecord
from ecnlab.tiers import Watch, lateness

if TYPE_CHECKING:
    from ecnlab.scenarios import Scenario
    from ecnlab.tracing import Tracing

# What a run can fail by.
ENGINE, AQM, RECORDING, TRACE, WORKER, TIER, LATENESS = "engine", "aqm", "recording", "trace", "worker", "tier", "lateness"


@dataclass(frozen=True)
class Job:
    """One scenario under one seed."""

    scenario: Scenario
    seed: int

    @property
    def key(self) -> str:
        """The scenario's, which says on what it runs too: equal key and seed give equal results, but in real time."""
        return self.scenario.hash

    def run(self, watch: Watch | None = None, tracing: Tracing | None = None) -> Finished:
        """Do it. `watch` is told the scenario's seconds now and then and answers whether to stop.

        Raises what the engine raises, TierError, FailedElsewhere, and Late if packets left too late for the numbers to mean anything.
        """
        run = self.scenario.tier.run(self.scenario, self.seed, watch, tracing)
        if run.about is not None:
            lateness.require_in_time(run.about)
        record = SeedRecord(self.seed, run.fingerprint, run.events, run.packet_hops, run.cpu_s, run.about)
        return Finished(self.key, self.scenario.record, record, run.tables)


@dataclass(frozen=True)
class Finished:
    """A run that has ended: its scenario's key, what was recorded besides the measures, what identifies it, and its tables by name."""

    key: str
    recording: Mapping[str, Any]
    record: SeedRecord
    tables: Mapping[str, _core.Table]

    @property
    def seed(self) -> int:
        """Its seed."""
        return self.record.seed

    @property
    def size(self) -> int:
        """Bytes that its tables take."""
        return sum(table.size for table in self.tables.values())


@dataclass(frozen=True)
class Failure:
    """A run that has failed.

    Attributes
    ----------
    key, title, seed
        Key and title of its scenario, and the seed.
    kind : str
        "engine" (a fault of ecnlab), "aqm" (an AQM of the user's own raised), "recording" (what was to be recorded does not fit), "trace"
        (its trace could not be written), "worker" (no worker of the cluster could do it), "tier" (what it was to run on could not be used)
        or "lateness" (packets left later than the run's budget allows, so its numbers are not kept).
    message : str
        What happened.
    error : EcnlabError or None
        What `ecnlab.run` raises for it; None for a fault of the engine and for lateness, of which all are told at once.
    """

    key: str
    title: str
    seed: int
    kind: str
    message: str
    error: EcnlabError | None = field(default=None, repr=False, compare=False)

    def told(self) -> str:
        """It as a line."""
        return f"{self.title} (key {self.key[:12]}), seed {self.seed}: {self.message}"


class FailedElsewhere(Exception):
    """A run that another process has done has failed; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def attempt(job: Job, watch: Watch | None = None, tracing: Tracing | None = None) -> Finished | Failure | None:
    """Do a job; None if `watch` has stopped it. What a user or the engine may be the cause of is a failure, all else is raised."""
    try:
        return job.run(watch, tracing)
    except _core.Interrupted:
        return None
    except _core.EngineFault as fault:
        return failure(job, ENGINE, str(fault))
    except _core.AqmFailure as raised:
        return _failed_by(job, AQM, aqm_error(raised))
    except _core.ScenarioError as error:  # told by the run only: the recording does not fit
        return _failed_by(job, RECORDING, ScenarioError(map(Problem.of, error.problems), job.scenario.source))
    except FailedElsewhere as told:
        return told.failure
    except lateness.Late as late:
        return failure(job, LATENESS, str(late))
    except TierError as error:
        return _failed_by(job, TIER, error)
    except OSError as error:
        if tracing is None:
            raise
        return _failed_by(job, TRACE, tracing.refusal(job.seed, error))


def failure(job: Job, kind: str, message: str) -> Failure:
    """The failure of a job."""
    return Failure(job.key, job.scenario.name, job.seed, kind, message)


def _failed_by(job: Job, kind: str, error: EcnlabError) -> Failure:
    return Failure(job.key, job.scenario.name, job.seed, kind, str(error), error)


def aqm_error(raised: _core.AqmFailure) -> AqmError:
    """The failure of a user's AQM as users get it, with what was raised as its cause."""
    from ecnlab import sources

    cause = raised.__cause__ or raised
    text = "".join(format_exception_only(cause)).strip()
    error = AqmError(**raised.about, raised=text, traceback=sources.told(cause))
    error.__cause__ = raised.__cause__
    return error
