"""A run as a value: any thread, any process and any worker of a cluster can take a job, and what it gives back is the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecnlab import _core
from ecnlab.aqm.tracebacks import aqm_error_from_exception
from ecnlab.backends import lateness
from ecnlab.backends.base import ProgressCallback
from ecnlab.errors import (
    AQM,
    BACKEND,
    ENGINE,
    LATENESS,
    RECORDING,
    TRACE,
    BackendError,
    EcnlabError,
    Failure,
    Problem,
    RemoteRunFailed,
    ScenarioError,
)
from ecnlab.storage.tables import FinishedRun, SeedRecord

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario


@dataclass(frozen=True)
class Job:
    """One scenario under one seed."""

    scenario: Scenario
    seed: int

    @property
    def key(self) -> str:
        """The scenario's, which says on what it runs too: equal key and seed give equal results, but in real time."""
        return self.scenario.hash

    def run(self, watch: ProgressCallback | None = None, tracing: TraceOutput | None = None) -> FinishedRun:
        """Do it. `watch` is told the scenario's seconds now and then and answers whether to stop.

        Raises what the engine raises, BackendError, RemoteRunFailed, and Late if packets left too late for the numbers to mean anything.
        """
        run = self.scenario.backend.run(self.scenario, self.seed, watch, tracing)
        if run.about is not None:
            lateness.require_lateness_within_budget(run.about)
        record = SeedRecord(self.seed, run.fingerprint, run.events, run.packet_hops, run.cpu_s, run.about)
        return FinishedRun(self.key, self.scenario.record, record, run.tables)


def run_job(job: Job, watch: ProgressCallback | None = None, tracing: TraceOutput | None = None) -> FinishedRun | Failure | None:
    """Do a job; None if `watch` has stopped it. What a user or the engine may be the cause of is a failure, all else is raised."""
    try:
        return job.run(watch, tracing)
    except _core.Interrupted:
        return None
    except _core.EngineFault as fault:
        return failure_of_job(job, ENGINE, str(fault))
    except _core.AqmFailure as raised:
        return failure_of_job_with_error(job, AQM, aqm_error_from_exception(raised))
    except _core.ScenarioError as error:  # told by the run only: the recording does not fit
        return failure_of_job_with_error(job, RECORDING, ScenarioError(map(Problem.from_engine, error.problems), job.scenario.source))
    except RemoteRunFailed as told:
        return told.failure
    except lateness.LatenessExceeded as late:
        return failure_of_job(job, LATENESS, str(late))
    except BackendError as error:
        return failure_of_job_with_error(job, BACKEND, error)
    except OSError as error:
        if tracing is None:
            raise
        return failure_of_job_with_error(job, TRACE, tracing.write_error(job.seed, error))


def failure_of_job(job: Job, kind: str, message: str) -> Failure:
    """The failure of a job."""
    return Failure(job.key, job.scenario.name, job.seed, kind, message)


def failure_of_job_with_error(job: Job, kind: str, error: EcnlabError) -> Failure:
    """The failure of a job with what `ecnlab.run` raises for it."""
    return Failure(job.key, job.scenario.name, job.seed, kind, str(error), error)
