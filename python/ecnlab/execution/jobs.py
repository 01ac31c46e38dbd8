"""Jobs: one run as a value that any thread, process or cluster worker can execute with the same outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecnlab import _core
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
from ecnlab.storage.tables import FinishedRun, SeedRunStatistics

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario


@dataclass(frozen=True)
class Job:
    """One scenario under one seed."""

    scenario: Scenario
    seed: int

    @property
    def scenario_key(self) -> str:
        """The scenario's key, which includes the backend: the same key and seed give the same results, except in real time."""
        return self.scenario.hash

    def run(self, watch: ProgressCallback | None = None, tracing: TraceOutput | None = None) -> FinishedRun:
        """Run it. `watch` is called periodically with the simulated seconds, and returns whether to stop.

        Raises the engine's errors, BackendError, RemoteRunFailed, and LatenessExceeded if the lateness of packets exceeds its budget.
        """
        run = self.scenario.backend.run(self.scenario, self.seed, watch, tracing)
        if run.about is not None:
            lateness.require_lateness_within_budget(run.about)
        record = SeedRunStatistics(self.seed, run.fingerprint, run.events, run.packet_hops, run.cpu_s, run.about, run.fast_path_share)
        return FinishedRun(self.scenario_key, self.scenario.record, record, run.tables)


def run_job(
    job: Job, watch: ProgressCallback | None = None, tracing: TraceOutput | None = None
) -> FinishedRun | Failure | KeyboardInterrupt | None:
    """Run a job; None if `watch` has stopped it. Errors of the user or the engine are returned as a failure, all others are raised.

    Ctrl-C in a hook of a user's AQM is returned, because raised it would end a worker of a cluster.
    """
    try:
        return job.run(watch, tracing)
    except _core.Interrupted:
        return None
    except KeyboardInterrupt as interrupt:
        return interrupt
    except _core.EngineFault as fault:
        return failure_of_job(job, ENGINE, str(fault))
    except _core.AqmFailure as raised:
        from ecnlab.aqm.tracebacks import aqm_error_from_exception

        return failure_of_job(job, AQM, aqm_error_from_exception(raised))
    except _core.ScenarioError as error:  # detected in the run only: the recording is too large
        return failure_of_job(job, RECORDING, ScenarioError(map(Problem.from_engine, error.problems), job.scenario.source))
    except RemoteRunFailed as error:
        return error.failure
    except lateness.LatenessExceeded as late:
        return failure_of_job(job, LATENESS, str(late))
    except BackendError as error:
        return failure_of_job(job, BACKEND, error)
    except OSError as error:
        if tracing is None:
            raise
        return failure_of_job(job, TRACE, tracing.write_error(job.seed, error))


def failure_of_job(job: Job, kind: str, cause: str | EcnlabError) -> Failure:
    """The failure of a job: with its message, or with the error that `ecnlab.run` raises for it."""
    error = cause if isinstance(cause, EcnlabError) else None
    return Failure(job.scenario_key, job.scenario.name, job.seed, kind, str(cause), error)
