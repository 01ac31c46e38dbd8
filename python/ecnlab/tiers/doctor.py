"""What this machine permits, tier by tier, each "no" with what would make it a "yes".

`facts` asks the machine; `examined` judges what it has said and asks nothing, so that every answer can be tested.
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

from ecnlab import _core, interpreter
from ecnlab.tiers import NAME as SIM

LIVE, BOXED, BUILD = "live", "boxed", "box build"
REAL = (LIVE, BOXED)
TIERS = (SIM, *REAL)
_FAMOUS = ("reno", "cubic", "dctcp", "bbr")
_BOX_MB = 192
# Capabilities with which networks can be made, and the real-time class be entered.
_POWERS = ("CAP_SYS_ADMIN", "CAP_NET_ADMIN")
_NICE = "CAP_SYS_NICE"
_PATIENCE_S = 20.0

# Settings of the machine that forbid namespaces to users, what they say then, and what undoes it.
_FORBIDS = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": ("1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl -w user.max_user_namespaces=10000"),
    "/proc/sys/user/max_net_namespaces": ("0", "sysctl -w user.max_net_namespaces=10000"),
}


@dataclass(frozen=True)
class Check:
    """One thing that a tier needs, or is better for.

    Attributes
    ----------
    tier : str
        For what it is: "sim", "live", "boxed", or "box build".
    name, found : str
        What was looked for, and what there is.
    works : bool
        Whether it is as it has to be.
    remedy : str
        What would do where it is not; empty where it is.
    needed : bool
        Whether the tier does not work without it.
    """

    tier: str
    name: str
    found: str
    works: bool = True
    remedy: str = ""
    needed: bool = True

    def __post_init__(self) -> None:
        if self.works:
            object.__setattr__(self, "remedy", "")


@dataclass(frozen=True)
class Report:
    """All checks of a machine."""

    checks: Sequence[Check]

    def works(self, tier: str) -> bool:
        """Whether a tier can be used."""
        return all(check.works for check in self.checks if check.tier == tier and check.needed)

    def json(self) -> dict[str, Any]:
        """It as plain values."""
        tiers = {tier: self.works(tier) for tier in dict.fromkeys(check.tier for check in self.checks)}
        return {"tiers": tiers, "checks": [vars(check) for check in self.checks]}


def examine() -> Report:
    """Ask this machine."""
    return Report(list(examined(facts())))


def facts() -> dict[str, Any]:
    """What there is, without a judgement."""
    from ecnlab.tiers.box import build, kernels

    return {
        **probed(),
        "forbids": [path for path, (word, _) in _FORBIDS.items() if _word(Path(path)) == word],
        "kernel": platform.release(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "free_mb": _free_mb(),
        "boxes": [box.name for box in kernels.built() if box.is_whole],
        "missing": build.missing(),
        "fetches": shutil.which("apt-get") is not None,
    }


def examined(found: Mapping[str, Any]) -> Iterator[Check]:
    """The checks, from facts."""
    yield Check(SIM, "engine", f"{_core.VERSION}, build {_core.BUILD}")
    yield Check(SIM, "cores", f"{found['cores']}, so many runs at a time")
    yield from _of_live(found)
    yield from _of_box(found)
    yield from _of_build(found)


def _of_live(found: Mapping[str, Any]) -> Iterator[Check]:
    yield Check(LIVE, "kernel", f"{found['system']} {found['kernel']}", found["system"] == "Linux", "live needs Linux")
    yield _namespaces(found)
    yield _tun(found)
    settings = found["settings"]
    if "error" in settings:
        return
    yield _controls(settings)
    ecn, accurate = settings["ecn"], settings["accecn"]
    old = "use a kernel that has net.ipv4.tcp_ecn in each namespace"
    yield Check(LIVE, "ECN", "hosts can be set to it" if ecn else "hosts cannot be set to it", ecn, old)
    newer = 'for ecn_echo = "accurate", run it --on boxed --kernel 7.2, or on a machine with such a kernel'
    told = "hosts can be set to it" if accurate else "this kernel does not take net.ipv4.tcp_ecn = 3"
    yield Check(LIVE, "AccECN", told, accurate, newer, needed=False)
    yield _real_time(found)


def _namespaces(found: Mapping[str, Any]) -> Check:
    name = "namespaces"
    if _has_powers(found):
        return Check(LIVE, name, "network namespaces, as root")
    if found["user_net"] == "yes":
        return Check(LIVE, name, "network namespaces within a user namespace, without root")
    lacking = [name for name in found["lacks"] if name in _POWERS]
    if found["root"] and lacking:
        # Root is in no user namespace of its own without CAP_SETFCAP either, as user_namespaces(7) says of mappings of user 0.
        remedy = f"{_granted(lacking)}, or run it as a user who is not root; boxed needs none"
        return Check(LIVE, name, f"none: root without {' and '.join(lacking)}", False, remedy)
    undone = [_FORBIDS[path][1] for path in found["forbids"]]
    by_root = (
        f"as root: {' && '.join(undone)}" if undone else "run as root, or in a container that may make namespaces (--cap-add SYS_ADMIN)"
    )
    return Check(LIVE, name, f"none: {_why(found['user_net'])}", False, f"{by_root}; boxed needs none")


def _has_powers(found: Mapping[str, Any]) -> bool:
    """Whether networks can be made without a user namespace."""
    return found["net"] == "yes" and not any(name in found["lacks"] for name in _POWERS)


def _granted(capabilities: Sequence[str]) -> str:
    added = " ".join(f"--cap-add {name.removeprefix('CAP_')}" for name in capabilities)
    return f"give the process {' and '.join(capabilities)} (for a container: {added})"


def _tun(found: Mapping[str, Any]) -> Check:
    name = "TUN devices"
    if found["tun"] == "yes":
        return Check(LIVE, name, "/dev/net/tun opens")
    if not found["tun_there"]:
        remedy = "as root: modprobe tun; for a container: --device /dev/net/tun; boxed needs none"
        return Check(LIVE, name, "there is no /dev/net/tun", False, remedy)
    if not _has_powers(found) and found["user_net"] != "yes":
        return Check(LIVE, name, "not tried, since there is no namespace to try it in", False, "see namespaces")
    remedy = (
        "as root: add the user to the group of /dev/net/tun, or have a udev rule give it mode 0666, as distributions do; boxed needs none"
    )
    return Check(LIVE, name, f"/dev/net/tun does not open: {_why(found['tun'])}", False, remedy)


def _controls(settings: Mapping[str, Any]) -> Check:
    allowed = settings["allowed"]
    lacking = [name for name in _FAMOUS if name not in allowed]
    told = f"hosts can have {', '.join(allowed)}" if allowed else "hosts cannot choose any"
    if not lacking:
        return Check(LIVE, "congestion controls", told)
    modules = " ".join(f"tcp_{name}" for name in lacking)
    remedy = f"for {', '.join(lacking)}, as root: modprobe -a {modules}, if the kernel was built with them; boxed has all of them"
    return Check(LIVE, "congestion controls", told, False, remedy, needed=not allowed)


def _real_time(found: Mapping[str, Any]) -> Check:
    if found["real_time"] == "yes":
        return Check(LIVE, "real-time class", "SCHED_FIFO is permitted", needed=False)
    by_limit = "run as root, or let your user have it in /etc/security/limits.conf: NAME - rtprio 10"
    remedy = f"{_granted([_NICE]) if found['root'] and _NICE in found['lacks'] else by_limit}; without it packets leave later"
    return Check(LIVE, "real-time class", f"SCHED_FIFO: {_why(found['real_time'])}", False, remedy, needed=False)


def _of_box(found: Mapping[str, Any]) -> Iterator[Check]:
    fits = found["system"] == "Linux" and found["machine"] == "x86_64"
    yield Check(BOXED, "machine", f"{found['system']} on {found['machine']}", fits, "boxed needs Linux on x86_64")
    boxes = found["boxes"]
    told = ", ".join(boxes) or "none is built"
    yield Check(BOXED, "kernel for the box", told, bool(boxes), "ecnlab box build, once, in about four minutes")
    side_by_side = min(found["cores"], found["free_mb"] // _BOX_MB)
    told = f"{found['free_mb']} MB free, and a box takes up to {_BOX_MB}: {side_by_side} side by side"
    yield Check(BOXED, "memory", told, side_by_side > 0, "end what takes it")


def _of_build(found: Mapping[str, Any]) -> Iterator[Check]:
    missing = found["missing"]
    packages = " ".join(dict.fromkeys(missing.values()))
    told = f"missing: {', '.join(missing)}" if missing else "gcc, make and the rest are there"
    yield Check(BUILD, "tools", told, not missing, f"as root: apt-get install {packages}")
    remedy = "give the kernel's source: ecnlab box build --source FILE, e.g. linux-6.1.tar.xz of kernel.org"
    yield Check(
        BUILD, "source", "apt-get fetches it" if found["fetches"] else "there is no apt-get to fetch it", found["fetches"], remedy=remedy
    )


def probed() -> dict[str, Any]:
    """What `probe` says; of a machine on which it cannot be run, that nothing was tried."""
    try:
        done = subprocess.run(
            interpreter.command("ecnlab.tiers.probe"),
            capture_output=True,
            timeout=_PATIENCE_S,
            check=True,
            env=interpreter.environment(),
        )
        told: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        no = {"error": f"could not be tried ({type(error).__name__})"}
        return {"root": False, "lacks": [], "net": no, "user_net": no, "tun_there": False, "tun": no, "real_time": no, "settings": no}
    return told


def _why(answer: Any) -> str:
    return str(answer["error"]).lower() if isinstance(answer, Mapping) else str(answer)


def _word(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _free_mb() -> int:
    """The memory that processes can still have, in MB; 0 where the system does not say it."""
    for line in (_word(Path("/proc/meminfo")) or "").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1000
    return 0
