"""Shells: any program in front of the links and queues of a scenario, in real time.

A program in the client's network namespace has one route: over the scenario's links to the server's namespace, where servers run.
No packet leaves the machine, its own network is not changed, and the sockets of its services in `/run` are hidden.
`session` creates both namespaces, and `process` starts their first process, `init`. `links` has the scenario of a shell without FILE,
`live` the live display, and `attach` runs commands in a shell from another terminal.
"""

from __future__ import annotations

from ecnlab.netshell.attach import run_in_running_shell
from ecnlab.netshell.live import LiveView
from ecnlab.netshell.session import ShellResult, ShellSpec, run_shell

__all__ = ["LiveView", "ShellResult", "ShellSpec", "run_in_running_shell", "run_shell"]
