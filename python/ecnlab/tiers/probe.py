"""What this machine lets a process do: tried in processes of their own, which end with all that they made.

`python -m ecnlab.tiers.probe` prints it as JSON. With the name of one thing it tries that one, and prints the answer. Nothing of the
machine's own network is touched: what has to be tried is tried in a new namespace, and no kernel module is loaded for it.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ecnlab import _core, interpreter

# <linux/if_tun.h>, <netinet/tcp.h>
_TUNSETIFF, _TUN, _NO_PI = 0x400454CA, 0x0001, 0x1000
_TCP_CONGESTION = 13

TUN = Path("/dev/net/tun")
_TCP = Path("/proc/sys/net/ipv4")
_ACCECN = "3"

# Of <linux/capability.h>: to make namespaces, to set networks up, to have root itself in a user namespace, and for the real-time class.
_CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_NET_ADMIN": 12, "CAP_SETFCAP": 31, "CAP_SYS_NICE": 23}
_STATUS = Path("/proc/self/status")


def facts() -> dict[str, Any]:
    """What works: an answer or the name of the error for each thing tried."""
    with ExitStack() as stack:
        children = {name: stack.enter_context(_child(name)) for name in _TRIED}
        answers = {name: _answer(child) for name, child in children.items()}
    return {"root": os.geteuid() == 0, "lacks": _lacking(), "tun_there": TUN.exists(), **answers}


def _child(name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        interpreter.command("ecnlab.tiers.probe", name),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=interpreter.environment(),
    )


def _answer(child: subprocess.Popen[bytes]) -> Any:
    said, _ = child.communicate()
    return json.loads(said) if said else {"error": "the process that tried it was killed"}


def tried(work: Callable[[], Any]) -> Any:
    """The answer of what is tried in this process, which is never the same again; {"error": why} if it raises OSError."""
    try:
        _core.die_with_parent()
        return work()
    except OSError as error:
        return {"error": error.strerror or str(error).partition(" (os error")[0]}
    except AttributeError:  # a system that has no such call
        return {"error": "this system has no such thing"}


def _open_tun() -> str:
    """Make a TUN device in a namespace of its own."""
    _enter()
    tun = os.open(TUN, os.O_RDWR)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", b"probe", _TUN | _NO_PI))
    return "yes"


def _settings() -> dict[str, Any]:
    """What hosts in a namespace of their own may be set to."""
    _enter()
    available = _words(_TCP / "tcp_available_congestion_control")
    return {
        "available": available,
        "allowed": [name for name in available if _may_choose(name)],
        "ecn": _may_set(_TCP / "tcp_ecn", "1"),
        "accecn": _may_set(_TCP / "tcp_ecn", _ACCECN),
    }


def _may_choose(control: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, suppress(OSError):
        tcp.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, control.encode())
        return True
    return False


def _may_set(setting: Path, value: str) -> bool:
    with suppress(OSError):
        setting.write_text(value)
        return True
    return False


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _enter() -> None:
    """Go into a new namespace as the live tier does: with a user namespace unless that is not needed. Raises OSError."""
    if _core.has_powers():
        _core.network_apart()
    else:
        _core.become_root()


def _done(deed: Callable[[], None]) -> str:
    deed()
    return "yes"


def _lacking() -> list[str]:
    """The capabilities that root has and this process has not, of those that are needed."""
    with suppress(OSError):
        told = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
        effective = int(told["CapEff"], 16)
        return [name for name, number in _CAPABILITIES.items() if not effective >> number & 1]
    return []


_TRIED: dict[str, Callable[[], Any]] = {
    "net": lambda: _done(_core.network_apart),
    "user_net": lambda: _done(_core.become_root),
    "tun": _open_tun,
    "real_time": lambda: _done(_core.real_time),
    "settings": _settings,
}


def main(name: str | None = None) -> None:
    """Print all facts, or the answer of the one thing that is named."""
    if name is None:
        json.dump(facts(), sys.stdout)
        return
    json.dump(tried(_TRIED[name]), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
