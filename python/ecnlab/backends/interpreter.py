"""Child processes that run a module of the package in another Python interpreter.

They replace `os.fork()`: a lock that another thread holds at a fork stays locked in the child for ever.
"""

from __future__ import annotations

import os
import sys


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module. The working directory does not come before the module search path (`-P`)."""
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment() -> dict[str, str]:
    """The environment in which the child finds the modules that this process finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entry or os.curdir for entry in sys.path)}
