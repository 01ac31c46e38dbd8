"""Shells: any program in front of the links and queues of a scenario, in real time.

A program inside has one way out, which crosses the scenario's links; what is outside is a room of ours too, where servers may run.
No packet of theirs leaves the machine, the machine's own network is not touched, and its services' sockets in `/run` are not to be seen.
`session` makes both rooms and keeps them while a command runs, `process` starts the first process in them, which is `init`, `links` has
the scenario of a shell that is given without one, `live` what is shown meanwhile, and `enter` the way in from another terminal.
"""

from __future__ import annotations

from ecnlab.shell.enter import enter
from ecnlab.shell.live import View
from ecnlab.shell.session import Ended, Spec, run

__all__ = ["Ended", "Spec", "View", "enter", "run"]
