"""Memory that runs need, compared with that of this machine before they start."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ecnlab.errors import UsageError
from ecnlab.scenarios.load import Scenario

# Limit of a container, in control groups of version 2.
_CGROUP_LIMIT_FILE = Path("/sys/fs/cgroup/memory.max")


def machine_memory_bytes() -> int | None:
    """Memory of this machine, of its container or of this process; None where the system does not report it."""
    limits = []
    with suppress(AttributeError, ValueError, OSError):  # no such call on Windows
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ImportError, ValueError, OSError):
        import resource  # not on Windows

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits.extend([] if limit == resource.RLIM_INFINITY else [limit])
    with suppress(ValueError, OSError):  # "max" where there is no limit
        limits.append(int(_CGROUP_LIMIT_FILE.read_text(encoding="ascii")))
    return min(limits, default=None)


def require_memory_for_runs(scenarios: Iterable[Scenario], parallel_runs: int) -> None:
    """Check that the largest runs fit into memory together, by the lower estimates. Raises UsageError, and names the scenario."""
    needed = sorted(((one.estimated_memory_bytes[0], one) for one in scenarios), key=lambda pair: -pair[0])[:parallel_runs]
    available = machine_memory_bytes()
    if not needed or available is None or sum(least for least, _ in needed) <= available:
        return
    largest, scenario = needed[0]
    runs = "a run takes" if len(needed) == 1 else f"{len(needed)} runs at a time take"
    total, machine = map(_bytes_as_text, (sum(least for least, _ in needed), available))
    fix = "give fewer flows" if largest > available else "give --threads 1 or fewer flows"
    raise UsageError(f"{scenario.source or scenario.name}: {runs} at least {total} of memory and this machine has {machine}; fix: {fix}")


def _bytes_as_text(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.1f} MB"
