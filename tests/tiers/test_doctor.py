import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ecnlab.tiers import doctor, probe
from ecnlab.tiers.doctor import Check, Report, examined
from helpers import Outcome

Command = Callable[..., Outcome]

SOUND: dict[str, Any] = {
    "root": False,
    "lacks": ["CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SETFCAP", "CAP_SYS_NICE"],
    "net": {"error": "Operation not permitted"},
    "user_net": "yes",
    "tun_there": True,
    "tun": "yes",
    "real_time": "yes",
    "settings": {"available": ["reno", "cubic"], "allowed": ["reno", "cubic", "dctcp", "bbr"], "ecn": True, "accecn": True},
    "forbids": [],
    "kernel": "6.1.0",
    "machine": "x86_64",
    "system": "Linux",
    "cores": 4,
    "free_mb": 8000,
    "boxes": ["6.1.174-abc"],
    "missing": {},
    "fetches": True,
}
NO = {"error": "Operation not permitted"}


def _report(**changes: Any) -> Report:
    return Report(list(examined({**SOUND, **changes})))


def _check(name: str, **changes: Any) -> Check:
    return next(check for check in _report(**changes).checks if check.name == name)


def test_where_all_is_well_nothing_is_to_be_done() -> None:
    report = _report()
    assert [check for check in report.checks if not check.works or check.remedy] == []
    assert all(map(report.works, doctor.TIERS))


@pytest.mark.parametrize(
    ("name", "changes", "found", "remedy"),
    [
        ("kernel", {"system": "Darwin"}, "Darwin 6.1.0", "live needs Linux"),
        ("namespaces", {"user_net": NO}, "none: operation not permitted", "run as root, or in a container"),
        (
            "namespaces",
            {"user_net": NO, "forbids": ["/proc/sys/kernel/apparmor_restrict_unprivileged_userns"]},
            "none",
            "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            "namespaces",
            {"user_net": NO, "root": True},
            "none: root without CAP_SYS_ADMIN and CAP_NET_ADMIN",
            "give the process CAP_SYS_ADMIN and CAP_NET_ADMIN (for a container: --cap-add SYS_ADMIN --cap-add NET_ADMIN)",
        ),
        (
            "namespaces",
            {"net": "yes", "user_net": NO, "root": True, "lacks": ["CAP_NET_ADMIN"]},
            "root without CAP_NET_ADMIN",
            "NET_ADMIN)",
        ),
        ("TUN devices", {"net": "yes", "user_net": NO, "tun": NO, "root": True, "lacks": ["CAP_NET_ADMIN"]}, "not tried", "see namespaces"),
        ("TUN devices", {"tun": NO}, "does not open", "group of /dev/net/tun"),
        ("TUN devices", {"tun": NO, "tun_there": False}, "there is no /dev/net/tun", "modprobe tun"),
        ("TUN devices", {"tun": NO, "user_net": NO}, "not tried", "see namespaces"),
        ("congestion controls", {"settings": {**SOUND["settings"], "allowed": []}}, "hosts cannot choose any", "modprobe -a tcp_reno"),
        ("ECN", {"settings": {**SOUND["settings"], "ecn": False}}, "cannot be set", "net.ipv4.tcp_ecn"),
    ],
)
def test_what_live_needs_and_has_not_is_told_with_what_would_do(name: str, changes: dict[str, Any], found: str, remedy: str) -> None:
    check = _check(name, **changes)
    assert (check.works, check.needed) == (False, True)
    assert found in check.found
    assert remedy in check.remedy
    report = _report(**changes)
    assert (report.works("sim"), report.works("live"), report.works("boxed")) == (True, False, "system" not in changes)


@pytest.mark.parametrize(
    ("name", "changes", "remedy"),
    [
        ("real-time class", {"real_time": NO}, "rtprio"),
        ("real-time class", {"real_time": NO, "root": True}, "give the process CAP_SYS_NICE"),
        ("AccECN", {"settings": {**SOUND["settings"], "accecn": False}}, "7.2"),
        ("congestion controls", {"settings": {**SOUND["settings"], "allowed": ["reno", "cubic", "bbr"]}}, "for dctcp, as root: modprobe"),
    ],
)
def test_what_live_is_only_better_for_does_not_keep_it_from_working(name: str, changes: dict[str, Any], remedy: str) -> None:
    check = _check(name, **changes)
    assert (check.works, check.needed) == (False, False)
    assert remedy in check.remedy
    assert _report(**changes).works("live")


@pytest.mark.parametrize(
    ("name", "changes", "remedy"),
    [
        ("machine", {"machine": "aarch64"}, "x86_64"),
        ("kernel for the box", {"boxes": []}, "ecnlab box build"),
        ("memory", {"free_mb": 100}, "end what takes it"),
    ],
)
def test_what_boxed_needs_and_has_not_is_told_with_what_would_do(name: str, changes: dict[str, Any], remedy: str) -> None:
    assert remedy in _check(name, **changes).remedy
    report = _report(**changes)
    assert (report.works("live"), report.works("boxed")) == (True, False)


def test_what_a_kernel_s_build_needs_keeps_no_tier_from_working() -> None:
    report = _report(missing={"flex": "flex", "bc": "bc"}, fetches=False)
    assert _check("tools", missing={"flex": "flex", "bc": "bc"}).remedy == "as root: apt-get install flex bc"
    assert "--source" in _check("source", fetches=False).remedy
    assert all(map(report.works, doctor.TIERS))
    assert not report.works("box build")


def test_a_machine_that_cannot_be_asked_has_neither_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    report = doctor.examine()
    assert report.works("sim")
    assert not report.works("live")


def test_a_probe_says_what_was_refused_and_leaves_this_process_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise PermissionError(1, "Operation not permitted")

    before = [Path(f"/proc/self/ns/{name}").readlink() for name in ("net", "user")]
    monkeypatch.setattr(probe._core, "die_with_parent", lambda: None)
    assert probe.tried(refused) == {"error": "Operation not permitted"}
    assert set(probe.facts()) == {"root", "lacks", "net", "user_net", "tun_there", "tun", "real_time", "settings"}
    assert [Path(f"/proc/self/ns/{name}").readlink() for name in ("net", "user")] == before


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root has capabilities to drop, with setpriv")
def test_root_without_its_capabilities_is_told_which_it_lacks() -> None:
    dropped = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    done = subprocess.run([*dropped, sys.executable, "-m", "ecnlab.tiers.probe"], capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    assert (facts["root"], facts["lacks"]) == (True, ["CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SETFCAP", "CAP_SYS_NICE"])
    check = _check("namespaces", **{name: facts[name] for name in ("root", "lacks", "net", "user_net")})
    assert (check.works, check.found) == (False, "none: root without CAP_SYS_ADMIN and CAP_NET_ADMIN")


def test_the_command_leaves_with_a_code_that_says_whether_hosts_can_be_real(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def facts(**changes: Any) -> None:
        monkeypatch.setattr(doctor, "facts", lambda: {**SOUND, **changes})

    facts(boxes=[])
    done = command("doctor")
    assert (done.code, "--on boxed: does not work yet" in done.out, "ecnlab box build" in done.out) == (0, True, True)
    assert command("doctor", "--on", "sim").code == 0
    facts(boxes=[], tun=NO)
    assert command("doctor").code == 1
    assert command("doctor", "--on", "sim").code == 0
    told = json.loads(command("doctor", "--json").out)
    assert told["tiers"] == {"sim": True, "live": False, "boxed": False, "box build": True}
    assert command("doctor", "--on", "nowhere").code == 2
