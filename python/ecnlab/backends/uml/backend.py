"""The backend `uml`: hosts are a kernel that runs as an ordinary process, in virtual time.

A run depends on the scenario and the seed only: the same ones give the same bytes. It needs no privilege, but a kernel that
`ecnlab uml build-kernel` has built.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

from ecnlab import _core
from ecnlab.backends.base import (
    KERNEL_CASES,
    UML_NAME,
    ProgressCallback,
    RunOutput,
    require_positive_seconds_or_none,
    require_valid_ip_version,
    require_x86_64,
)
from ecnlab.backends.uml import controls, kernels, process
from ecnlab.errors import CONTROL, ENGINE, RECORDING, TRACE, EcnlabError, Failure, Problem, RemoteRunFailed, ScenarioError
from ecnlab.storage.filenames import safe_file_name

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario


@dataclass(frozen=True)
class Uml:
    """Hosts are a kernel in virtual time.

    Attributes
    ----------
    kernel : str or None
        Name of the kernel in `ecnlab uml list`, or of a congestion control that was compiled into one; default: the newest built 6.1.
    ip : int
        IP version of the hosts, 4 or 6.
    limit_s : float or None
        Wall-clock limit of a run in seconds; a run that exceeds it fails. Independently of it, a run fails if it reports no progress for
        one minute plus ten times its duration.
    """

    kernel: str | None = None
    ip: int = 4
    limit_s: float | None = None

    name: ClassVar[str] = UML_NAME
    """Name for `--backend`."""
    default_max_parallel_runs: ClassVar[int | None] = None
    """None: one run per core, since runs do not disturb each other."""
    supports_cluster: ClassVar[bool] = True
    """True: a run is identical everywhere; a machine without the same kernel and guest program refuses it."""
    trace_kinds: ClassVar[Sequence[str]] = ("pcapng", KERNEL_CASES)
    """Captures of real packets, and cases with exact times."""

    def __post_init__(self) -> None:
        require_valid_ip_version(self.ip)
        require_positive_seconds_or_none("limit_s", self.limit_s)

    def identity(self) -> Mapping[str, Any]:
        """Kernel and guest program. Raises BackendError if the kernel is not built."""
        return {"kernel": self._chosen_kernel.name, "program": _guest_program_digest(), **({"ip": self.ip} if self.ip != 4 else {})}

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """Problems of a scenario that the UML kernel cannot run."""
        mine = kernels.KERNELS.get(str(self._chosen_kernel.about["kernel"]))
        accurate_ecn = mine is not None and mine.accurate_ecn
        available = [*controls.BUILT_IN_CONTROLS, *(control["name"] for control in self._chosen_kernel.user_congestion_controls)]
        problems = list(map(Problem.from_engine, _core.refusals(scenario._core, UML_NAME, available, self.ip, accurate_ecn)))
        counts = mine is None or mine.counts_losses
        return [
            *problems,
            *self._problems_of_queues_missing_in_kernel(scenario),
            *([] if counts else self._problems_of_unsupported_dupthresh(scenario)),
        ]

    def _problems_of_unsupported_dupthresh(self, scenario: Scenario) -> Iterator[Problem]:
        """Groups with loss detection by DupThresh, which this kernel does not support."""
        able = " or ".join(f"--kernel {one.name}" for one in kernels.KERNELS.values() if one.counts_losses)
        message = f"kernel {self._chosen_kernel.about['kernel']} detects losses by time alone; fix: use {able}"
        for flow in scenario.resolved["flows"]:
            tcp = flow.get("tcp", {})
            if (tcp.get("recovery"), tcp.get("loss_detection")) == ("rack", "dupthresh"):
                yield Problem(f"flows.{flow['name']}.tcp.loss_detection", None, message)

    def _problems_of_queues_missing_in_kernel(self, scenario: Scenario) -> Iterator[Problem]:
        """Queues that other kernels support and this one does not."""
        mine = self._chosen_kernel.about["kernel"]
        elsewhere = {queue: one.name for one in kernels.KERNELS.values() if one.name != mine for queue in one.queues}
        for link in scenario.resolved["link"]:
            queue = link.get("queue", {})
            for place, name in (("queue", queue.get("kernel")), ("queue.leaf", queue.get("leaf", {}).get("kernel"))):
                if name in elsewhere and name not in (kernels.KERNELS[mine].queues if mine in kernels.KERNELS else ()):
                    message = f"kernel {mine} does not have {name}; fix: use --kernel {elsewhere[name]}"
                    yield Problem(f"link.{link['name']}.{place}.kernel", None, message)

    def run(self, scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None) -> RunOutput:
        """Run a scenario in a UML process. Raises RemoteRunFailed, BackendError, and Interrupted if `watch` returns true."""
        is_cases = tracing is not None and tracing.form == KERNEL_CASES
        job: dict[str, Any] = {"scenario": scenario.resolved, "seed": seed, "family": self.ip}
        if is_cases:
            job["cases"] = True
        elif tracing is not None:
            job["capture"] = {"links": tracing.links, "keep": tracing.keep}
        try:
            machine = process.UmlJobRunner(
                self._chosen_kernel, limit_s=self.limit_s, silence_s=process.silence_timeout_s(scenario.duration_s)
            )
            with machine.run(job, seed, watch) as done:
                refused, ran = _parse_uml_result(done)
                if refused:
                    raise _remote_run_failed_from_error(scenario, seed, RECORDING, ScenarioError(refused, scenario.source))
                if tracing is not None:
                    try:
                        (_move_cases_to_destination if is_cases else _move_capture_to_destination)(done, tracing, seed)
                    except OSError as error:
                        raise _remote_run_failed_from_error(scenario, seed, TRACE, tracing.write_error(seed, error)) from error
        except process.UmlStoppedByCallback:
            raise _core.Interrupted("the run was stopped") from None
        except process.UmlCrashed as crashed:
            in_use = self._user_congestion_controls_in_use(scenario)
            kind, text = (CONTROL, _congestion_control_crash_text(in_use, crashed)) if in_use else (ENGINE, str(crashed))
            raise RemoteRunFailed(Failure(scenario.hash, scenario.name, seed, kind, text)) from None
        own = {
            "kernel_image": self._chosen_kernel.name,
            "kernel_controls": list(self._chosen_kernel.user_congestion_controls),
            "reproducible": self._chosen_kernel.reproducible,
        }
        return replace(ran, about={**(ran.about or {}), **own})

    def _user_congestion_controls_in_use(self, scenario: Scenario) -> list[Mapping[str, str]]:
        """The user's congestion controls in the kernel that flows of a scenario have."""
        names = {flow.get("tcp", {}).get("congestion_control") for flow in scenario.resolved["flows"]}
        return [control for control in self._chosen_kernel.user_congestion_controls if control["name"] in names]

    @cached_property
    def _chosen_kernel(self) -> kernels.BuiltKernel:
        require_x86_64(f"backend: {UML_NAME}")
        return kernels.find_built_kernel(self.kernel)


def _parse_uml_result(done: process.UmlJobResult) -> tuple[Sequence[Problem], RunOutput]:
    """Problems reported by the guest program, or the output of its run. Raises UmlCrashed if the result cannot be parsed."""
    try:
        result = done.result
        refused = [_problem_from_json(*one) for one in result.get("refused", ())]
        if refused:
            return refused, RunOutput("", 0, 0, done.cpu_s, {}, None)
        fingerprint, events, packet_hops = result["fingerprint"], result["events"], result["packet_hops"]
        if not (isinstance(fingerprint, str) and type(events) is int and type(packet_hops) is int):
            raise TypeError("fingerprint, events or packet_hops")
        tables = {
            name: _core.Table([(column, kind, bytes.fromhex(values), names) for column, kind, values, names in table])
            for name, table in result["tables"].items()
        }
        return (), RunOutput(fingerprint, events, packet_hops, done.cpu_s, tables, dict(result["about"]))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        why = f"{type(error).__name__}: {error}"
        raise process.UmlCrashed(f"the result of the guest program is neither a run nor a refusal ({why})") from None


def _problem_from_json(place: str, line: int | None, message: str) -> Problem:
    if not (isinstance(place, str) and isinstance(message, str) and (line is None or type(line) is int)):
        raise TypeError("refused")
    return Problem(place, line, message)


def _move_capture_to_destination(done: process.UmlJobResult, tracing: TraceOutput, seed: int) -> None:
    """Move the capture of a run to its destination atomically, compressed if requested. Raises OSError."""
    with tracing.lock_partial_trace_file(seed) as place:
        _core.copy_capture_compressed(done.folder / process.CAPTURE_FILE, place)


def _move_cases_to_destination(done: process.UmlJobResult, tracing: TraceOutput, seed: int) -> None:
    """Move the cases of a run to their folder, all of them or none. Raises OSError."""
    with tracing.lock_partial_trace_file(seed) as place:
        with (done.folder / process.CASES_FILE).open(encoding="utf-8") as lines:
            for line in lines:
                name = json.loads(line)["name"]
                (place.partial / f"{safe_file_name(name)}.json.gz").write_bytes(gzip.compress(line.encode(), mtime=0))
        shutil.rmtree(place.path, ignore_errors=True)
        place.partial.rename(place.path)


def _congestion_control_crash_text(in_use: Sequence[Mapping[str, str]], crashed: process.UmlCrashed) -> str:
    """The message for a run that failed with congestion controls of the user, whose code runs inside the kernel."""
    files = " and ".join(f"{control['name']} of {control['file']}" for control in in_use)
    return (
        f"--kernel: a run with your congestion control {files} failed, and a fault in it stops the whole kernel; fix: correct the file "
        "and build the kernel again, or report a fault of ecnlab if the run also fails with the kernel's reno\n"
        f"{crashed}"
    )


def _remote_run_failed_from_error(scenario: Scenario, seed: int, kind: str, error: EcnlabError) -> RemoteRunFailed:
    return RemoteRunFailed(Failure(scenario.hash, scenario.name, seed, kind, str(error), error))


@cache
def _guest_program_digest() -> str:
    """A digest of the guest program."""
    return sha256(process.read_guest_program()).hexdigest()[:10]
