"""Backends: implementations of hosts and network on which a scenario runs.

    sim      hosts and network are simulated
    live     hosts are this machine's kernel, in separate network namespaces, in real time
    uml      hosts are a kernel in user-mode Linux, in virtual time

A scenario holds its backend (`Scenario.on_backend`). The backend is part of the result key, so results of different backends never mix.
docs/explanation/backends.md says when to use which.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from ecnlab import _core
from ecnlab.errors import BackendError, Problem, UsageError

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario

SIMULATOR_NAME, LIVE_NAME, UML_NAME = "sim", "live", "uml"

# The trace kind with one file per TCP connection between kernels.
KERNEL_CASES = "cases"

# Environment variable set while a user's script is imported only for its classes; no scenario may run then.
ENV_SCRIPT_IMPORT = "ECNLAB_READING_SCRIPT"

# Called with the simulated seconds so far; returns whether to stop the run.
ProgressCallback = Callable[[float], bool]

# Upper limit of a backend's time parameters, in seconds: half a year, which fits the engine's picosecond clock.
MAX_DURATION_S = 1.5e7

# Plain values that identify a backend in the key of a result.
BackendIdentity = Mapping[str, Any]

# Identity keys left out of texts: the name, printed before the others, and digests.
_HIDDEN_IDENTITY_KEYS = ("name", "program")


@dataclass(frozen=True)
class RunOutput:
    """Output of a run on a backend.

    Attributes
    ----------
    fingerprint : str
        Digest of the engine's events.
    events, packet_hops : int
        Events that the engine processed, and link traversals of packets.
    cpu_s : float
        Processor time.
    tables : Mapping
        Tables of results by name.
    about : Mapping or None
        Record of a backend with real hosts: kernel, settings, lateness (docs/explanation/backends.md).
    fast_path_share : float or None
        Share of packets on the engine's fast path.
    """

    fingerprint: str
    events: int
    packet_hops: int
    cpu_s: float
    tables: Mapping[str, _core.Table]
    about: Mapping[str, Any] | None = None
    fast_path_share: float | None = None


class Backend(Protocol):
    """An implementation of hosts and network that runs scenarios."""

    @property
    def name(self) -> str:
        """Name for `--backend`."""

    @property
    def default_max_parallel_runs(self) -> int | None:
        """Default number of parallel runs on one machine; None for one per core."""

    @property
    def supports_cluster(self) -> bool:
        """Whether workers of a cluster can execute its runs."""

    @property
    def trace_kinds(self) -> Sequence[str]:
        """The trace kinds that it can write: "ns2", "pcapng", "parquet"."""

    def identity(self) -> Mapping[str, Any]:
        """Plain values that identify the backend in the key of a result. Raises BackendError."""

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """Problems of a scenario that this backend cannot run."""

    def run(self, scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None) -> RunOutput:
        """Run a scenario. Raises BackendError and the engine's errors."""


def require_linux(part: str) -> None:
    """Check that this build has kernel hosts, which `part` needs: a backend or a command. Raises BackendError."""
    if _core.EMULATOR is None:
        raise BackendError(
            f"{part}: needs Linux, since its hosts are a Linux kernel; fix: run it on Linux, or a scenario with --backend sim"
        )


def require_x86_64(part: str) -> None:
    """Check that this is Linux on x86-64, which UML kernels need. Raises BackendError."""
    require_linux(part)
    machine = os.uname().machine
    if machine != "x86_64":
        raise BackendError(
            f"{part}: needs Linux on x86-64, and this machine is {machine}; "
            f"fix: run it on such a machine, or a scenario with --backend live or sim"
        )


def require_positive_seconds_or_none(name: str, given: object) -> None:
    """Check that a time parameter of a backend is None or a positive number of seconds. Raises UsageError."""
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if given is not None and not (number and 0 < given <= MAX_DURATION_S):  # type: ignore[operator]
        raise UsageError(f"{name}: {given!r} must be a number of seconds above 0 and at most {MAX_DURATION_S:g}")


def require_valid_ip_version(given: object) -> None:
    """Check that a parameter is an IP version, 4 or 6. Raises UsageError."""
    if given not in (4, 6) or isinstance(given, bool):
        raise UsageError(f"ip: {given!r} is not an IP version; fix: give 4 or 6")


def result_key_on_backend(key: str, backend: Backend) -> str:
    """The key of results on a backend, derived from the scenario's key; the simulator uses that key unchanged."""
    identity = backend_to_dict(backend)
    return (
        key
        if identity == {"name": SIMULATOR_NAME}
        else sha256(json.dumps([key, identity], sort_keys=True).encode()).hexdigest()[: len(key)]
    )


def backend_to_dict(backend: Backend) -> dict[str, Any]:
    """A backend's name and identity as a dict for JSON."""
    return {"name": backend.name, **backend.identity()}


def backend_identity_text(identity: BackendIdentity) -> str:
    """The recorded identity of a backend as text: "live (kernel 6.18.5)"."""
    return _identity_text(identity, _HIDDEN_IDENTITY_KEYS)


def pair_of_distinct_identity_texts(a: BackendIdentity, b: BackendIdentity) -> tuple[str, str]:
    """Two different identities as two different texts: with the digest of the guest program where only that differs."""
    texts = backend_identity_text(a), backend_identity_text(b)
    return texts if texts[0] != texts[1] else (_identity_text(a, ("name",)), _identity_text(b, ("name",)))


def _identity_text(identity: BackendIdentity, hidden: Container[str]) -> str:
    more = ", ".join(_format_identity_item(key, value) for key, value in identity.items() if key not in hidden)
    return f"{identity['name']} ({more})" if more else str(identity["name"])


def _format_identity_item(key: str, value: Any) -> str:
    """One item of a backend identity as text: "kernel 6.18.5"."""
    words = key.removesuffix("_s").replace("_", " ")
    return f"{words} {1e3 * value:g} ms" if key.endswith("_s") else f"{words} {value}"
