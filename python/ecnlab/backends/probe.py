"""What this machine lets a process do: tried in processes of their own, which end with all that they made.

`python -m ecnlab.backends.probe` prints it as JSON. With the name of one thing it tries that one, and prints the answer. Nothing of the
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

from ecnlab import _core
from ecnlab.backends import interpreter

# <linux/if_tun.h>, <netinet/tcp.h>
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_TCP_CONGESTION = 13

TUN_DEVICE = Path("/dev/net/tun")
_SYSCTL_NET_IPV4 = Path("/proc/sys/net/ipv4")
_TCP_ECN_ACCURATE = "3"

# Of <linux/capability.h>: to make namespaces, to set networks up, to have root itself in a user namespace, and for the real-time class.
_CAPABILITY_NUMBERS = {"CAP_SYS_ADMIN": 21, "CAP_NET_ADMIN": 12, "CAP_SETFCAP": 31, "CAP_SYS_NICE": 23}
_PROC_SELF_STATUS = Path("/proc/self/status")


def probe_all_capabilities() -> dict[str, Any]:
    """What works: an answer or the name of the error for each thing tried."""
    with ExitStack() as stack:
        children = {name: stack.enter_context(_start_probe_in_child(name)) for name in _PROBES}
        answers = {name: _read_probe_result(child) for name, child in children.items()}
    return {"root": os.geteuid() == 0, "lacks": _missing_capabilities(), "tun_there": TUN_DEVICE.exists(), **answers}


def _start_probe_in_child(name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        interpreter.module_command("ecnlab.backends.probe", name),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=interpreter.child_environment(),
    )


def _read_probe_result(child: subprocess.Popen[bytes]) -> Any:
    said, _ = child.communicate()
    return json.loads(said) if said else {"error": "the process that tested it was killed"}


def result_or_error(work: Callable[[], Any]) -> Any:
    """The answer of what is tried in this process, which is never the same again; {"error": why} if it raises OSError."""
    try:
        _core.die_with_parent()
        return work()
    except OSError as error:
        return {"error": error.strerror or str(error).partition(" (os error")[0]}
    except AttributeError:  # a system that has no such call
        return {"error": "this system does not support it"}


def _open_tun_device() -> str:
    """Make a TUN device in a namespace of its own."""
    _enter_namespaces()
    tun = os.open(TUN_DEVICE, os.O_RDWR)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", b"probe", _IFF_TUN | _IFF_NO_PI))
    return "yes"


def _writable_host_settings() -> dict[str, Any]:
    """What hosts in a namespace of their own may be set to."""
    _enter_namespaces()
    available = _read_words_from_file(_SYSCTL_NET_IPV4 / "tcp_available_congestion_control")
    return {
        "available": available,
        "allowed": [name for name in available if _may_set_congestion_control(name)],
        "ecn": _may_write_sysctl(_SYSCTL_NET_IPV4 / "tcp_ecn", "1"),
        "accecn": _may_write_sysctl(_SYSCTL_NET_IPV4 / "tcp_ecn", _TCP_ECN_ACCURATE),
    }


def _may_set_congestion_control(control: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, suppress(OSError):
        tcp.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, control.encode())
        return True
    return False


def _may_write_sysctl(setting: Path, value: str) -> bool:
    with suppress(OSError):
        setting.write_text(value)
        return True
    return False


def _read_words_from_file(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _enter_namespaces() -> None:
    """Go into a new namespace as the live backend does: with a user namespace unless that is not needed. Raises OSError."""
    if _core.has_capabilities():
        _core.unshare_network_namespace()
    else:
        _core.unshare_as_root()


def _yes_unless_raised(deed: Callable[[], None]) -> str:
    deed()
    return "yes"


def _missing_capabilities() -> list[str]:
    """The capabilities that root has and this process has not, of those that are needed."""
    with suppress(OSError):
        told = dict(line.split(":", 1) for line in _PROC_SELF_STATUS.read_text().splitlines())
        effective = int(told["CapEff"], 16)
        return [name for name, number in _CAPABILITY_NUMBERS.items() if not effective >> number & 1]
    return []


_PROBES: dict[str, Callable[[], Any]] = {
    "net": lambda: _yes_unless_raised(_core.unshare_network_namespace),
    "user_net": lambda: _yes_unless_raised(_core.unshare_as_root),
    "tun": _open_tun_device,
    "real_time": lambda: _yes_unless_raised(_core.set_realtime_scheduling),
    "settings": _writable_host_settings,
}


def print_probe_results(name: str | None = None) -> None:
    """Print all facts, or the answer of the one thing that is named."""
    if name is None:
        json.dump(probe_all_capabilities(), sys.stdout)
        return
    json.dump(result_or_error(_PROBES[name]), sys.stdout)


if __name__ == "__main__":
    print_probe_results(*sys.argv[1:])
