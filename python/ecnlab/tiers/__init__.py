"""On what a scenario runs: the simulator, or queues of this engine in front of real kernels.

    sim      hosts and network are simulated
    live     hosts are this machine's kernel, in namespaces of their own, in real time
    boxed    hosts are a kernel in user mode, in virtual time

A scenario holds its tier (`Scenario.on`), and its key says which, so results of unlike tiers never meet in a folder or a store.
docs/tiers.md says when to use which.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ecnlab import _core
from ecnlab.errors import Problem, UnknownName, UsageError

if TYPE_CHECKING:
    from ecnlab.scenarios import Scenario
    from ecnlab.tracing import Tracing

NAME = "sim"

# Where a script is read once more for the classes in it, the environment names it so: nothing may be run then.
READING = "ECNLAB_READING_SCRIPT"

# Is told the seconds of the scenario that are over, and answers whether to stop.
Watch = Callable[[float], bool]

# The longest time that a parameter of a tier may be, in seconds: half a year, which the engine's picoseconds hold.
MOST_S = 1.5e7

# What is said of a parameter that a tier has not.
_LACKS = {
    "lateness_budget_s": "a budget for lateness is for hosts that live in real time, and these are on {tier}: choose them with --on live",
    "ip": "a version of IP is for hosts of a kernel: {tier} has none; choose another tier with --on",
    "kernel": "a kernel of the box is for runs in it, and these are on {tier}: choose it with --on boxed",
}

# What nobody reads of an identity: the name, which stands before it, and digests.
_UNSAID = ("name", "program")

# Where each tier's class stands, which is imported when it is first asked for.
_HOMES = {"sim": "ecnlab.tiers:Simulator", "live": "ecnlab.tiers.live:Live", "boxed": "ecnlab.tiers.boxed:Boxed"}


@dataclass(frozen=True)
class Ran:
    """What a tier gives back of a run.

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
        What only a tier with real hosts knows: kernel, settings, lateness (docs/tiers.md).
    """

    fingerprint: str
    events: int
    packet_hops: int
    cpu_s: float
    tables: Mapping[str, _core.Table]
    about: Mapping[str, Any] | None = None


class Tier(Protocol):
    """What scenarios run on."""

    @property
    def name(self) -> str:
        """As `--on` names it."""

    @property
    def at_once(self) -> int | None:
        """How many runs one machine does at a time unless the user says otherwise; None for one on each core."""

    @property
    def travels(self) -> bool:
        """Whether the workers of a cluster may do its runs."""

    @property
    def traces(self) -> Sequence[str]:
        """The kinds of traces that it writes: "ns2", "pcapng", "parquet"."""

    def identity(self) -> Mapping[str, Any]:
        """What tells its results from those of others, as plain values; a part of each result's key. Raises TierError."""

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """What the scenario asks and it cannot do."""

    def run(self, scenario: Scenario, seed: int, watch: Watch | None, tracing: Tracing | None) -> Ran:
        """Run a scenario. Raises what the engine raises, and TierError."""


@dataclass(frozen=True)
class Simulator:
    """Hosts and network are simulated: exact, reproducible, and as fast as the machine."""

    @property
    def name(self) -> str:
        """As `--on` names it."""
        return NAME

    @property
    def at_once(self) -> int | None:
        """One on each core."""
        return None

    @property
    def travels(self) -> bool:
        """A run is the same everywhere."""
        return True

    @property
    def traces(self) -> Sequence[str]:
        """All kinds that there are."""
        return ("ns2", "pcapng", "parquet")

    def identity(self) -> Mapping[str, Any]:
        """Nothing: the engine's build and the parameters say all."""
        return {}

    def refusals(self, scenario: Scenario) -> list[Problem]:
        """What needs a kernel."""
        return list(map(Problem.of, _core.refusals(scenario._core, NAME)))

    def run(self, scenario: Scenario, seed: int, watch: Watch | None, tracing: Tracing | None) -> Ran:
        """Simulate it."""
        core = scenario._core
        with nullcontext() if tracing is None else tracing.file(seed) as trace:
            run = core.run(seed, watch) if trace is None else core.run(seed, watch, trace)
        return Ran(run.fingerprint, run.events, run.packet_hops, run.cpu_s, run.tables)


SIMULATOR = Simulator()


def names() -> list[str]:
    """The tiers that there are, the simulator first."""
    return list(_HOMES)


def chosen(on: str | Tier) -> Tier:
    """The tier that an argument `on` gives by its name or as itself. Raises UnknownName, UsageError."""
    if not isinstance(on, str):
        if all(hasattr(on, name) for name in ("name", "identity", "refusals", "run")):
            return on
        raise UsageError(f"on: must be {', '.join(names())}, or a tier such as ecnlab.Live(), not {type(on).__name__}")
    module, name = _HOMES[chosen_name(on)].split(":")
    tier: Tier = getattr(import_module(module), name)()
    return tier


def chosen_name(on: str) -> str:
    """A name, if a tier has it. Raises UnknownName."""
    if on not in _HOMES:
        raise UnknownName("tier", on, _HOMES)
    return on


def require_seconds(name: str, given: object) -> None:
    """See that a tier's parameter is no time or one of some length, as the engine's times can say it. Raises UsageError."""
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if given is not None and not (number and 0 < given <= MOST_S):  # type: ignore[operator]
        raise UsageError(f"{name}: {given!r} must be a number of seconds above 0 and at most {MOST_S:g}")


def require_ip(given: object) -> None:
    """See that a tier's parameter is a version of IP. Raises UsageError."""
    if given not in (4, 6) or isinstance(given, bool):
        raise UsageError(f"ip: {given!r} is no version of IP: give 4 or 6")


def changed(tier: Tier, **parameters: Any) -> Tier:
    """The tier with other parameters, of which None leaves what there is. Raises UsageError naming all that it has not."""
    given = {name: value for name, value in parameters.items() if value is not None}
    strange = [name for name in given if not hasattr(tier, name)]
    if strange:
        raise UsageError("\n".join(_LACKS[name].format(tier=tier.name) for name in strange))
    return replace(tier, **given) if given else tier  # type: ignore[type-var]


def key_on(key: str, tier: Tier) -> str:
    """The key of results on a tier, from the scenario's own; on the simulator it is that."""
    identity = told(tier)
    return key if identity == {"name": NAME} else sha256(json.dumps([key, identity], sort_keys=True).encode()).hexdigest()[: len(key)]


def told(tier: Tier) -> dict[str, Any]:
    """A tier's name and identity, for a file."""
    return {"name": tier.name, **tier.identity()}


def titled(identity: Mapping[str, Any]) -> str:
    """A tier that results ran on, from what their file says, as text: "live (kernel 6.18.5)"."""
    more = ", ".join(_said(key, value) for key, value in identity.items() if key not in _UNSAID)
    return f"{identity['name']} ({more})" if more else str(identity["name"])


def _said(key: str, value: Any) -> str:
    """A part of an identity as people read it."""
    words = key.removesuffix("_s").replace("_", " ")
    return f"{words} {1e3 * value:g} ms" if key.endswith("_s") else f"{words} {value}"
