"""The process of a run on the tier `live`: it hears what is to be done on standard input, and tells on standard output.

It has one thread, so that it can become root of a user namespace, and ends when whoever has started it ends: the kernel is asked to see to
that, and standard input is looked at while the run goes on.
"""

from __future__ import annotations

import os
import runpy
import select
import sys
from contextlib import nullcontext
from dataclasses import replace
from typing import IO, Any

from ecnlab.tiers import READING, Ran, Watch

# What a user's script is called while its classes are looked up; it is not to run scenarios then.
SCRIPT = "__ecnlab_script__"


def main() -> int:
    """Do one job."""
    from ecnlab.errors import EcnlabError
    from ecnlab.jobs import attempt
    from ecnlab.tiers.live import received, send

    tell = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a user's AQM prints is not for whoever hears us
    hear = sys.stdin.buffer
    asked = received(hear)
    sys.path[:] = asked["path"]
    try:
        _find_script(asked["script"])
        job, tracing = received(hear)
    except EcnlabError as error:
        send(tell, error)
        return 0
    inside = replace(job, scenario=job.scenario.on(here(job.scenario.tier)))
    outcome = attempt(inside, _watch(hear, tell), tracing)
    if outcome is not None:
        send(tell, outcome)
    return 0


def here(tier: Any) -> Any:
    """The tier as it runs in this process."""
    from ecnlab.tiers.live import Live

    class Here(Live):
        def run(self, scenario: Any, seed: int, watch: Watch | None, tracing: Any) -> Ran:
            return run_here(self, scenario, seed, watch, tracing)

    return Here(tier.lateness_budget_s, tier.ip)


def run_here(tier: Any, scenario: Any, seed: int, watch: Watch | None, tracing: Any) -> Ran:
    """Run a scenario in this process, which is never the same again. Raises TierError, and what the engine raises."""
    import json

    from ecnlab import _core
    from ecnlab.errors import TierError

    try:
        with nullcontext() if tracing is None else tracing.file(seed) as trace:
            run, about = _core.run_live(scenario._core, seed, watch, trace, tier.lateness_budget_s, tier.ip)
    except _core.SystemRefusal as refusal:
        raise TierError(f"live cannot be used here: {refusal}; `ecnlab doctor` says what would do") from None
    return Ran(run.fingerprint, run.events, run.packet_hops, run.cpu_s, run.tables, json.loads(about))


def _watch(hear: IO[bytes], tell: IO[bytes]) -> Watch:
    def watch(over_s: float) -> bool:
        from ecnlab.tiers.live import send

        if select.select([hear], [], [], 0)[0]:  # it says no more, so it has ended or wants an end
            return True
        send(tell, over_s)
        return False

    return watch


def _find_script(file: str | None) -> None:
    """Let the job name what stands in the user's script."""
    if file is None:
        return
    made = sys.modules["__main__"]
    os.environ[READING] = file
    for name, value in runpy.run_path(file, run_name=SCRIPT).items():
        if not hasattr(made, name):
            setattr(made, name, value)
    del os.environ[READING]


if __name__ == "__main__":
    sys.exit(main())
