"""Checks of `ecnlab doctor`: whether each backend works on this machine, and a remedy for each failed check.

`gather_machine_facts` collects facts. `backend_checks_from_facts` derives the checks without a system call, so tests can supply facts.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.backends import interpreter
from ecnlab.backends.base import LIVE_NAME, SIMULATOR_NAME, UML_NAME
from ecnlab.backends.uml import build, kernels, process

UML_BUILD_NAME = "uml build-kernel"
KERNEL_BACKENDS = (LIVE_NAME, UML_NAME)
CHECKED_BACKENDS = (SIMULATOR_NAME, *KERNEL_BACKENDS)
_WELL_KNOWN_CONGESTION_CONTROLS = ("reno", "cubic", "dctcp", "bbr")
# Capabilities required for network namespaces, and for SCHED_FIFO.
_NETWORK_CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_NET_ADMIN")
_REAL_TIME_CAPABILITY = "CAP_SYS_NICE"
_PROBE_TIMEOUT_S = 20.0
_UNKNOWN_BUILD = "unknown"

# Sysctls that can forbid user namespaces: file, the value that forbids them, and the command that permits them.
_SYSCTLS_THAT_FORBID_NAMESPACES = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": ("1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl -w user.max_user_namespaces=10000"),
    "/proc/sys/user/max_net_namespaces": ("0", "sysctl -w user.max_net_namespaces=10000"),
}

# Facts by name; those of the `probe` module have an error instead of a value if a probe failed.
MachineFacts = Mapping[str, Any]


@dataclass(frozen=True)
class BackendCheck:
    """One requirement or recommendation of a backend.

    Attributes
    ----------
    backend : str
        The backend that is checked: "sim", "live", "uml", or "uml build-kernel".
    name, found : str
        The item that is checked, and its state on this machine.
    works : bool
        Whether the check passes.
    remedy : str
        How to fix a failed check; empty if it passes.
    needed : bool
        Whether the backend requires it.
    """

    backend: str
    name: str
    found: str
    works: bool = True
    remedy: str = ""
    needed: bool = True

    def __post_init__(self) -> None:
        if self.works:
            object.__setattr__(self, "remedy", "")


@dataclass(frozen=True)
class DoctorReport:
    """All checks of a machine."""

    checks: Sequence[BackendCheck]

    def is_backend_usable(self, backend: str) -> bool:
        """Whether all required checks of a backend pass."""
        return all(check.works for check in self.checks if check.backend == backend and check.needed)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values for JSON."""
        backends = {backend: self.is_backend_usable(backend) for backend in dict.fromkeys(check.backend for check in self.checks)}
        return {"backends": backends, "checks": [vars(check) for check in self.checks]}


def run_backend_checks() -> DoctorReport:
    """Run all checks on this machine."""
    return DoctorReport(list(backend_checks_from_facts(gather_machine_facts())))


def gather_machine_facts() -> dict[str, Any]:
    """Raw facts of this machine, from which the checks are derived."""
    return {
        **run_probe_module(),
        "forbids": [path for path, (word, _) in _SYSCTLS_THAT_FORBID_NAMESPACES.items() if _read_sysctl(Path(path)) == word],
        "kernel": platform.release(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "free_mb": _available_memory_mb(),
        "images": [image.name for image in kernels.built_kernels() if image.is_image_intact],
        "guest_program": (process.builds_named_in_guest_program() or _UNKNOWN_BUILD) if process.GUEST_PROGRAM.is_file() else None,
        "missing": build.package_by_missing_requirement(),
        "fetches": shutil.which("apt-get") is not None,
    }


def backend_checks_from_facts(found: MachineFacts) -> Iterator[BackendCheck]:
    """Derive the checks from the facts of a machine."""
    yield BackendCheck(SIMULATOR_NAME, "engine", f"{_core.VERSION}, build {_core.BUILD}")
    yield BackendCheck(SIMULATOR_NAME, "cores", f"{found['cores']}, one run for each at a time")
    yield from _checks_of_live_backend(found)
    yield from _checks_of_uml_backend(found)
    if _is_linux_on_x86_64(found):
        yield from _uml_build_checks(found)


def _checks_of_live_backend(found: MachineFacts) -> Iterator[BackendCheck]:
    is_linux = found["system"] == "Linux"
    yield BackendCheck(LIVE_NAME, "kernel", f"{found['system']} {found['kernel']}", is_linux, "live needs Linux")
    if not is_linux:
        return
    yield _namespace_check(found)
    yield _tun_check(found)
    settings = found["settings"]
    if "error" in settings:
        return
    yield _congestion_control_check(settings)
    ecn, accurate = settings["ecn"], settings["accecn"]
    old = "use a kernel that has net.ipv4.tcp_ecn in each namespace"
    yield BackendCheck(LIVE_NAME, "ECN", "hosts can be set to it" if ecn else "hosts cannot be set to it", ecn, old)
    newer = 'for ecn_echo = "accurate", run it --backend uml --kernel 7.2, or on a machine with such a kernel'
    state = "hosts can be set to it" if accurate else "this kernel rejects net.ipv4.tcp_ecn = 3"
    yield BackendCheck(LIVE_NAME, "AccECN", state, accurate, newer, needed=False)
    yield _real_time_check(found)


def _namespace_check(found: MachineFacts) -> BackendCheck:
    name = "namespaces"
    if _has_network_capabilities(found):
        return BackendCheck(LIVE_NAME, name, "network namespaces, as root")
    if found["user_net"] == "yes":
        return BackendCheck(LIVE_NAME, name, "network namespaces within a user namespace, without root")
    lacking = [name for name in found["lacks"] if name in _NETWORK_CAPABILITIES]
    if found["root"] and lacking:
        # A user namespace does not help: to map user 0 it requires CAP_SETFCAP (user_namespaces(7)).
        remedy = f"{_capabilities_remedy(lacking)}, or run it as a user who is not root; uml needs none"
        return BackendCheck(LIVE_NAME, name, f"none: root without {' and '.join(lacking)}", False, remedy)
    undone = [_SYSCTLS_THAT_FORBID_NAMESPACES[path][1] for path in found["forbids"]]
    by_root = (
        f"as root: {' && '.join(undone)}" if undone else "run as root, or in a container that may make namespaces (--cap-add SYS_ADMIN)"
    )
    return BackendCheck(LIVE_NAME, name, f"none: {_probe_error_text(found['user_net'])}", False, f"{by_root}; uml needs none")


def _has_network_capabilities(found: MachineFacts) -> bool:
    """Whether network namespaces can be created without a user namespace."""
    return found["net"] == "yes" and not any(name in found["lacks"] for name in _NETWORK_CAPABILITIES)


def _capabilities_remedy(capabilities: Sequence[str]) -> str:
    added = " ".join(f"--cap-add {name.removeprefix('CAP_')}" for name in capabilities)
    return f"give the process {' and '.join(capabilities)} (for a container: {added})"


def _tun_check(found: MachineFacts) -> BackendCheck:
    name = "TUN devices"
    if found["tun"] == "yes":
        return BackendCheck(LIVE_NAME, name, "/dev/net/tun opens")
    if not found["tun_there"]:
        remedy = "as root: modprobe tun; for a container: --device /dev/net/tun; uml needs none"
        return BackendCheck(LIVE_NAME, name, "/dev/net/tun does not exist", False, remedy)
    if not _has_network_capabilities(found) and found["user_net"] != "yes":
        return BackendCheck(LIVE_NAME, name, "not tested: no network namespace can be created", False, "see namespaces")
    remedy = (
        "as root: add the user to the group of /dev/net/tun, or have a udev rule give it mode 0666, as distributions do; uml needs none"
    )
    return BackendCheck(LIVE_NAME, name, f"/dev/net/tun does not open: {_probe_error_text(found['tun'])}", False, remedy)


def _congestion_control_check(settings: MachineFacts) -> BackendCheck:
    allowed = settings["allowed"]
    lacking = [name for name in _WELL_KNOWN_CONGESTION_CONTROLS if name not in allowed]
    state = f"hosts can have {', '.join(allowed)}" if allowed else "hosts cannot choose any"
    if not lacking:
        return BackendCheck(LIVE_NAME, "congestion controls", state)
    modules = " ".join(f"tcp_{name}" for name in lacking)
    remedy = f"for {', '.join(lacking)}, as root: modprobe -a {modules}, if the kernel was built with them; uml has all of them"
    return BackendCheck(LIVE_NAME, "congestion controls", state, False, remedy, needed=not allowed)


def _real_time_check(found: MachineFacts) -> BackendCheck:
    if found["real_time"] == "yes":
        return BackendCheck(LIVE_NAME, "real-time class", "SCHED_FIFO is permitted", needed=False)
    by_limit = "run as root, or let your user have it in /etc/security/limits.conf: NAME - rtprio 10"
    is_lacking = found["root"] and _REAL_TIME_CAPABILITY in found["lacks"]
    grant = _capabilities_remedy([_REAL_TIME_CAPABILITY]) if is_lacking else by_limit
    remedy = f"{grant}; without it departures are later"
    return BackendCheck(LIVE_NAME, "real-time class", f"SCHED_FIFO: {_probe_error_text(found['real_time'])}", False, remedy, needed=False)


def _is_linux_on_x86_64(found: MachineFacts) -> bool:
    return bool(found["system"] == "Linux" and found["machine"] == "x86_64")


def _checks_of_uml_backend(found: MachineFacts) -> Iterator[BackendCheck]:
    fits = _is_linux_on_x86_64(found)
    yield BackendCheck(UML_NAME, "machine", f"{found['system']} on {found['machine']}", fits, "uml needs Linux on x86_64")
    if not fits:
        return
    images = found["images"]
    state = ", ".join(images) or "none is built"
    yield BackendCheck(UML_NAME, "UML kernel", state, bool(images), "ecnlab uml build-kernel, once, in about four minutes")
    yield _guest_program_check(found["guest_program"])
    side_by_side = min(found["cores"], found["free_mb"] // process.MEMORY_MB)
    state = f"{found['free_mb']} MB free, and a UML process takes up to {process.MEMORY_MB}: {side_by_side} side by side"
    yield BackendCheck(UML_NAME, "memory", state, side_by_side > 0, "stop programs that use memory")


def _guest_program_check(built: str | None) -> BackendCheck:
    """The check of the guest program of these builds; None if it is missing."""
    name, engine = "program in the kernel", process.engine_router_guest_builds()
    if built is None:
        return BackendCheck(UML_NAME, name, "missing", False, process.missing_program_remedy())
    if built != engine:
        remedy = process.other_program_remedy(None if built == _UNKNOWN_BUILD else built)
        return BackendCheck(UML_NAME, name, f"of build {built}, and the engine of {engine}", False, remedy)
    return BackendCheck(UML_NAME, name, process.GUEST_FILE)


def _uml_build_checks(found: MachineFacts) -> Iterator[BackendCheck]:
    missing = found["missing"]
    packages = " ".join(dict.fromkeys(missing.values()))
    state = f"missing: {', '.join(missing)}" if missing else "gcc, make and the other tools are installed"
    yield BackendCheck(UML_BUILD_NAME, "tools", state, not missing, f"as root: apt-get install {packages}")
    remedy = "give the kernel's source: ecnlab uml build-kernel --source FILE, e.g. linux-6.1.tar.xz of kernel.org"
    yield BackendCheck(
        UML_BUILD_NAME,
        "source",
        "apt-get fetches it" if found["fetches"] else "apt-get is not installed",
        found["fetches"],
        remedy=remedy,
    )


def run_probe_module() -> dict[str, Any]:
    """Output of the `probe` module; if it cannot be run, each fact is an error "not tested"."""
    try:
        done = subprocess.run(
            interpreter.module_command("ecnlab.backends.probe"),
            capture_output=True,
            timeout=_PROBE_TIMEOUT_S,
            check=True,
            env=interpreter.child_environment(),
        )
        state: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        no = {"error": f"not tested ({type(error).__name__})"}
        return {"root": False, "lacks": [], "net": no, "user_net": no, "tun_there": False, "tun": no, "real_time": no, "settings": no}
    return state


def _probe_error_text(answer: Any) -> str:
    return str(answer["error"]).lower() if isinstance(answer, Mapping) else str(answer)


def _read_sysctl(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _available_memory_mb() -> int:
    """Available memory in MB; 0 if the system does not report it."""
    for line in (_read_sysctl(Path("/proc/meminfo")) or "").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1000
    return 0
