"""Shells: any program in front of the links and queues of a scenario, in real time.

A program in the client's network namespace has one route: over the scenario's links to the server's namespace, where servers run.
No packet of theirs leaves the machine, the machine's own network is not touched, and its services' sockets in `/run` are not to be seen.
`session` creates both and keeps them meanwhile, `process` starts the first process in them, which is `init`, `links` has
the scenario of a shell that is given without one, `live` what is shown meanwhile, and `attach` runs commands in it from another terminal.
"""

from __future__ import annotations

from ecnlab.netshell.attach import run_in_running_shell
from ecnlab.netshell.live import LiveView
from ecnlab.netshell.session import ShellResult, ShellSpec, run_shell

__all__ = ["LiveView", "ShellResult", "ShellSpec", "run_in_running_shell", "run_shell"]
