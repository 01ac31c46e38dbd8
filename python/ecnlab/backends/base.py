"""On what a scenario runs: the simulator, or queues of this engine in front of real kernels.

    sim      hosts and network are simulated
    live     hosts are this machine's kernel, in namespaces of their own, in real time
    uml      hosts are a kernel in user-mode Linux, in virtual time

A scenario holds its backend (`Scenario.on_backend`), which is part of its key: results of different backends never share a folder or store.
docs/explanation/backends.md says when to use which.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from ecnlab import _core
from ecnlab.errors import Problem, UsageError

if TYPE_CHECKING:
    from ecnlab.packet_traces.write import TraceOutput
    from ecnlab.scenarios.load import Scenario

SIMULATOR_NAME = "sim"

# The kind of traces that holds a file for each connection of kernels.
KERNEL_CASES = "cases"

# Where a script is read once more for the classes in it, the environment names it so: nothing may be run then.
ENV_SCRIPT_IMPORT = "ECNLAB_READING_SCRIPT"

# Is told the seconds of the scenario that are over, and answers whether to stop.
ProgressCallback = Callable[[float], bool]

# The longest time that a parameter of a backend may be, in seconds: half a year, which the engine's picoseconds hold.
MAX_DURATION_S = 1.5e7

# What nobody reads of an identity: the name, which stands before it, and digests.
_HIDDEN_IDENTITY_KEYS = ("name", "program")


@dataclass(frozen=True)
class RunOutput:
    """What a backend gives back of a run.

    Attributes
    ----------
    fingerprint : str
        Digest of the engine's events.
    events, packet_hops : int
        How many events the engine did, and over how many links packets went.
    cpu_s : float
        What it took of the processor.
    tables : Mapping
        Its tables by name.
    about : Mapping or None
        What only a backend with real hosts knows: kernel, settings, lateness (docs/explanation/backends.md).
    """

    fingerprint: str
    events: int
    packet_hops: int
    cpu_s: float
    tables: Mapping[str, _core.Table]
    about: Mapping[str, Any] | None = None


class Backend(Protocol):
    """An implementation of hosts and network that runs scenarios."""

    @property
    def name(self) -> str:
        """Its name, as in `--backend`."""

    @property
    def max_parallel_runs(self) -> int | None:
        """How many runs one machine does at a time unless the user says otherwise; None for one on each core."""

    @property
    def supports_cluster(self) -> bool:
        """Whether the workers of a cluster may do its runs."""

    @property
    def trace_kinds(self) -> Sequence[str]:
        """The kinds of traces that it writes: "ns2", "pcapng", "parquet"."""

    def identity(self) -> Mapping[str, Any]:
        """What tells its results from those of others, as plain values; a part of each result's key. Raises BackendError."""

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """What the scenario asks and it cannot do."""

    def run(self, scenario: Scenario, seed: int, watch: ProgressCallback | None, tracing: TraceOutput | None) -> RunOutput:
        """Run a scenario. Raises what the engine raises, and BackendError."""


def require_duration(name: str, given: object) -> None:
    """See that a backend's parameter is no time or one of some length, as the engine's times can say it. Raises UsageError."""
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if given is not None and not (number and 0 < given <= MAX_DURATION_S):  # type: ignore[operator]
        raise UsageError(f"{name}: {given!r} must be a number of seconds above 0 and at most {MAX_DURATION_S:g}")


def require_ip_version(given: object) -> None:
    """See that a backend's parameter is a version of IP. Raises UsageError."""
    if given not in (4, 6) or isinstance(given, bool):
        raise UsageError(f"ip: {given!r} is not an IP version; fix: give 4 or 6")


def result_key_on_backend(key: str, backend: Backend) -> str:
    """The key of results on a backend, from the scenario's own; on the simulator it is that."""
    identity = backend_to_dict(backend)
    return (
        key
        if identity == {"name": SIMULATOR_NAME}
        else sha256(json.dumps([key, identity], sort_keys=True).encode()).hexdigest()[: len(key)]
    )


def backend_to_dict(backend: Backend) -> dict[str, Any]:
    """A backend's name and identity, for a file."""
    return {"name": backend.name, **backend.identity()}


def backend_identity_text(identity: Mapping[str, Any]) -> str:
    """A backend that results ran on, from what their file says, as text: "live (kernel 6.18.5)"."""
    more = ", ".join(_format_identity_item(key, value) for key, value in identity.items() if key not in _HIDDEN_IDENTITY_KEYS)
    return f"{identity['name']} ({more})" if more else str(identity["name"])


def _format_identity_item(key: str, value: Any) -> str:
    """A part of an identity as people read it."""
    words = key.removesuffix("_s").replace("_", " ")
    return f"{words} {1e3 * value:g} ms" if key.endswith("_s") else f"{words} {value}"
