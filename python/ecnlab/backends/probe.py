"""Probes of this machine's permissions, each in a child process that ends with everything it created.

`python -m ecnlab.backends.probe` prints all answers as JSON; with the name of a probe it runs that one and prints its answer. A probe
works in a new namespace, so it does not touch the machine's network, and it loads no kernel module.
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

# <linux/capability.h>: namespaces, network configuration, root inside a user namespace, real-time class.
_CAPABILITY_NUMBERS = {"CAP_SYS_ADMIN": 21, "CAP_NET_ADMIN": 12, "CAP_SETFCAP": 31, "CAP_SYS_NICE": 23}
_PROC_SELF_STATUS = Path("/proc/self/status")


def probe_all_capabilities() -> dict[str, Any]:
    """Run all probes; each value is an answer or the name of an error."""
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
    output, _ = child.communicate()
    return json.loads(output) if output else {"error": "the process that tested it was killed"}


def result_or_error(work: Callable[[], Any]) -> Any:
    """The answer of a probe that changes this process for good; {"error": why} if it raises OSError."""
    try:
        _core.die_with_parent()
        return work()
    except OSError as error:
        return {"error": error.strerror or str(error).partition(" (os error")[0]}
    except AttributeError:  # a system without this call
        return {"error": "this system does not support it"}


def _open_tun_device() -> str:
    """Create a TUN device in a new namespace."""
    _enter_namespaces()
    tun = os.open(TUN_DEVICE, os.O_RDWR)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", b"probe", _IFF_TUN | _IFF_NO_PI))
    return "yes"


def _writable_host_settings() -> dict[str, Any]:
    """The congestion controls and ECN settings that can be set in a new network namespace."""
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
    """Enter a new network namespace as the live backend does, within a user namespace if required. Raises OSError."""
    if _core.has_capabilities():
        _core.unshare_network_namespace()
    else:
        _core.unshare_as_root()


def _call_and_return_yes(action: Callable[[], None]) -> str:
    action()
    return "yes"


def _missing_capabilities() -> list[str]:
    """The required capabilities that this process lacks."""
    with suppress(OSError):
        status = dict(line.split(":", 1) for line in _PROC_SELF_STATUS.read_text().splitlines())
        effective = int(status["CapEff"], 16)
        return [name for name, number in _CAPABILITY_NUMBERS.items() if not effective >> number & 1]
    return []


_PROBES: dict[str, Callable[[], Any]] = {
    "net": lambda: _call_and_return_yes(_core.unshare_network_namespace),
    "user_net": lambda: _call_and_return_yes(_core.unshare_as_root),
    "tun": _open_tun_device,
    "real_time": lambda: _call_and_return_yes(_core.set_realtime_scheduling),
    "settings": _writable_host_settings,
}


def print_probe_results(name: str | None = None) -> None:
    """Print all answers, or the answer of the named probe."""
    json.dump(probe_all_capabilities() if name is None else result_or_error(_PROBES[name]), sys.stdout)


if __name__ == "__main__":
    print_probe_results(*sys.argv[1:])
