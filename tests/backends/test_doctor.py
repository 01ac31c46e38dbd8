import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ecnlab.backends import doctor, probe
from ecnlab.backends.doctor import BackendCheck, DoctorReport, backend_checks_from_facts
from ecnlab.backends.uml import process
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
    "images": ["6.1.174-abc"],
    "guest_program": process.engine_router_guest_builds(),
    "missing": {},
    "fetches": True,
}
_NO_PERMISSION = {"error": "Operation not permitted"}


def _report_from(**changes: Any) -> DoctorReport:
    return DoctorReport(list(backend_checks_from_facts({**SOUND, **changes})))


def _check_of(name: str, **changes: Any) -> BackendCheck:
    return next(check for check in _report_from(**changes).checks if check.name == name)


def test_where_all_is_well_nothing_is_to_be_done() -> None:
    report = _report_from()
    assert [check for check in report.checks if not check.works or check.remedy] == []
    assert all(map(report.is_backend_usable, doctor.CHECKED_BACKENDS))


@pytest.mark.parametrize(
    ("name", "changes", "found", "remedy"),
    [
        ("kernel", {"system": "Darwin"}, "Darwin 6.1.0", "live needs Linux"),
        ("namespaces", {"user_net": _NO_PERMISSION}, "none: operation not permitted", "run as root, or in a container"),
        (
            "namespaces",
            {"user_net": _NO_PERMISSION, "forbids": ["/proc/sys/kernel/apparmor_restrict_unprivileged_userns"]},
            "none",
            "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            "namespaces",
            {"user_net": _NO_PERMISSION, "root": True},
            "none: root without CAP_SYS_ADMIN and CAP_NET_ADMIN",
            "give the process CAP_SYS_ADMIN and CAP_NET_ADMIN (for a container: --cap-add SYS_ADMIN --cap-add NET_ADMIN)",
        ),
        (
            "namespaces",
            {"net": "yes", "user_net": _NO_PERMISSION, "root": True, "lacks": ["CAP_NET_ADMIN"]},
            "root without CAP_NET_ADMIN",
            "NET_ADMIN)",
        ),
        (
            "TUN devices",
            {"net": "yes", "user_net": _NO_PERMISSION, "tun": _NO_PERMISSION, "root": True, "lacks": ["CAP_NET_ADMIN"]},
            "not tested",
            "see namespaces",
        ),
        ("TUN devices", {"tun": _NO_PERMISSION}, "does not open", "group of /dev/net/tun"),
        ("TUN devices", {"tun": _NO_PERMISSION, "tun_there": False}, "/dev/net/tun does not exist", "modprobe tun"),
        ("TUN devices", {"tun": _NO_PERMISSION, "user_net": _NO_PERMISSION}, "not tested", "see namespaces"),
        ("congestion controls", {"settings": {**SOUND["settings"], "allowed": []}}, "hosts cannot choose any", "modprobe -a tcp_reno"),
        ("ECN", {"settings": {**SOUND["settings"], "ecn": False}}, "cannot be set", "net.ipv4.tcp_ecn"),
    ],
)
def test_missing_requirements_of_live_are_reported_with_a_remedy(name: str, changes: dict[str, Any], found: str, remedy: str) -> None:
    check = _check_of(name, **changes)
    assert (check.works, check.needed) == (False, True)
    assert found in check.found
    assert remedy in check.remedy
    report = _report_from(**changes)
    assert (report.is_backend_usable("sim"), report.is_backend_usable("live"), report.is_backend_usable("uml")) == (
        True,
        False,
        "system" not in changes,
    )


@pytest.mark.parametrize(
    ("name", "changes", "remedy"),
    [
        ("real-time class", {"real_time": _NO_PERMISSION}, "rtprio"),
        ("real-time class", {"real_time": _NO_PERMISSION, "root": True}, "give the process CAP_SYS_NICE"),
        ("AccECN", {"settings": {**SOUND["settings"], "accecn": False}}, "7.2"),
        ("congestion controls", {"settings": {**SOUND["settings"], "allowed": ["reno", "cubic", "bbr"]}}, "for dctcp, as root: modprobe"),
    ],
)
def test_what_live_is_only_better_for_does_not_keep_it_from_working(name: str, changes: dict[str, Any], remedy: str) -> None:
    check = _check_of(name, **changes)
    assert (check.works, check.needed) == (False, False)
    assert remedy in check.remedy
    assert _report_from(**changes).is_backend_usable("live")


@pytest.mark.parametrize(
    ("name", "changes", "remedy"),
    [
        ("machine", {"machine": "aarch64"}, "x86_64"),
        ("UML kernel", {"images": []}, "ecnlab uml build-kernel"),
        ("program in the kernel", {"guest_program": None}, "make guest"),
        ("program in the kernel", {"guest_program": "0-0-0"}, "make setup guest"),
        ("program in the kernel", {"guest_program": "unknown"}, "delete it, then run `make setup guest`"),
        ("memory", {"free_mb": 100}, "stop programs that use memory"),
    ],
)
def test_requirements_of_uml_that_are_missing_have_a_remedy(name: str, changes: dict[str, Any], remedy: str) -> None:
    assert remedy in _check_of(name, **changes).remedy
    report = _report_from(**changes)
    assert (report.is_backend_usable("live"), report.is_backend_usable("uml")) == (True, False)


def test_a_guest_program_of_another_build_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GUEST_PROGRAM", tmp_path / "guest.so.gz")

    def facts_with(content: bytes) -> object:
        process.GUEST_PROGRAM.write_bytes(content)
        return doctor.gather_machine_facts()["guest_program"]

    assert doctor.gather_machine_facts()["guest_program"] is None
    assert facts_with(gzip.compress(b"ecnlab guest of " + b"0123456789abcdef" * 3)) == "-".join(["0123456789abcdef"] * 3)
    assert facts_with(b"damaged") == "unknown"
    found = _check_of("program in the kernel", guest_program="0-0-0").found
    assert found == f"of build 0-0-0, and the engine of {process.engine_router_guest_builds()}"


def test_what_a_kernel_s_build_needs_keeps_no_backend_from_working() -> None:
    report = _report_from(missing={"flex": "flex", "bc": "bc"}, fetches=False)
    assert _check_of("tools", missing={"flex": "flex", "bc": "bc"}).remedy == "as root: apt-get install flex bc"
    assert "--source" in _check_of("source", fetches=False).remedy
    assert all(map(report.is_backend_usable, doctor.CHECKED_BACKENDS))
    assert not report.is_backend_usable("uml build-kernel")


def test_a_machine_that_cannot_be_asked_has_neither_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    report = doctor.run_backend_checks()
    assert report.is_backend_usable("sim")
    assert not report.is_backend_usable("live")


def test_a_probe_says_what_was_refused_and_leaves_this_process_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise PermissionError(1, "Operation not permitted")

    before = [Path(f"/proc/self/ns/{name}").readlink() for name in ("net", "user")]
    monkeypatch.setattr(probe._core, "die_with_parent", lambda: None)
    assert probe.result_or_error(refused) == {"error": "Operation not permitted"}
    assert set(probe.probe_all_capabilities()) == {"root", "lacks", "net", "user_net", "tun_there", "tun", "real_time", "settings"}
    assert [Path(f"/proc/self/ns/{name}").readlink() for name in ("net", "user")] == before


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root has capabilities to drop, with setpriv")
def test_root_without_capabilities_is_reported_with_the_missing_ones() -> None:
    dropped = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    done = subprocess.run([*dropped, sys.executable, "-m", "ecnlab.backends.probe"], capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    assert (facts["root"], facts["lacks"]) == (True, ["CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SETFCAP", "CAP_SYS_NICE"])
    check = _check_of("namespaces", **{name: facts[name] for name in ("root", "lacks", "net", "user_net")})
    assert (check.works, check.found) == (False, "none: root without CAP_SYS_ADMIN and CAP_NET_ADMIN")


def test_the_command_leaves_with_a_code_that_says_whether_hosts_can_be_real(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def facts(**changes: Any) -> None:
        monkeypatch.setattr(doctor, "gather_machine_facts", lambda: {**SOUND, **changes})

    facts(images=[])
    done = command("doctor")
    assert (done.code, "--backend uml: does not work" in done.out, "ecnlab uml build-kernel" in done.out) == (0, True, True)
    assert command("doctor", "--backend", "sim").code == 0
    facts(images=[], tun=_NO_PERMISSION)
    assert command("doctor").code == 1
    assert command("doctor", "--backend", "sim").code == 0
    told = json.loads(command("doctor", "--json").out)
    assert told["backends"] == {"sim": True, "live": False, "uml": False, "uml build-kernel": True}
    assert command("doctor", "--backend", "nowhere").code == 2
