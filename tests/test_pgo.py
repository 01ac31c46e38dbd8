"""Profile-guided optimisation: the networks it is trained on, and the profile of a program."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import ecnlab
import pgo
import release

MEASURED = ("thesis", "1g", "10g", "arrivals")
WITHOUT_LLVM_TOOLS = (
    r"^wheel x: llvm-profdata is not installed, which profile-guided optimisation needs; fix: rustup component add llvm-tools$"
)


def _network(scenario: ecnlab.Scenario) -> tuple[Any, ...]:
    """Rates and delays of the links, and the number, access and traffic of the flows."""
    links = [(link.get("rate"), link["delay"]) for link in scenario.resolved["link"]]
    access = [{key: value for key, value in group.get("access", {}).items() if key != "spread"} for group in scenario.resolved["flows"]]
    return (links, access, [(group["count"], group["app"]) for group in scenario.resolved["flows"]])


def test_training_uses_other_networks_than_those_measured() -> None:
    measured = [_network(ecnlab.load(release.ROOT / "benches" / f"{name}.toml")) for name in MEASURED]
    of_the_thesis = {"aecn", "ecn", "ecnm", "red"}
    assert {name for name in (*pgo.TRAINING, *of_the_thesis) if _network(ecnlab.example(name)) in measured} == of_the_thesis


def test_a_missing_llvm_profdata_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(pgo.MissingProfileTool, match=WITHOUT_LLVM_TOOLS):
        pgo.Compiler("x86_64-unknown-linux-gnu", tmp_path).profdata("wheel x")


def test_a_wheel_without_llvm_profdata_fails_with_this_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgo.Compiler, "installed", lambda: pgo.Compiler("x86_64-unknown-linux-gnu", tmp_path))
    with pytest.raises(release.ReleaseError, match=WITHOUT_LLVM_TOOLS):
        release._profile(["maturin"], release.TARGETS["linux-x86_64"], "wheel x")


def test_the_benchmark_without_llvm_profdata_has_no_second_build_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(release.ROOT / "benches")
    import bench

    monkeypatch.setattr(pgo.Compiler, "installed", lambda: pgo.Compiler("x86_64-unknown-linux-gnu", tmp_path))
    program, reason = bench.build_with_profile()
    assert program is None
    assert reason.startswith("bench: llvm-profdata is not installed")


def test_an_unchanged_program_is_trained_once(tmp_path: Path) -> None:
    profdata = tmp_path / "llvm-profdata"  # joins its inputs: merge --output FILE INPUT...
    profdata.write_text('#!/bin/sh\noutput="$3"; shift 3; cat "$@" > "$output"\n')
    profdata.chmod(0o755)
    program, trained = tmp_path / "engine.so", []

    def train(environment: Mapping[str, str]) -> None:
        trained.append(program.read_text())
        counts = Path(environment["LLVM_PROFILE_FILE"]).parent
        counts.mkdir()
        (counts / "1.profraw").write_text(f"of {program.read_text()}")

    profiles = []
    for text in ("one", "one", "two"):
        program.write_text(text)
        profiles.append(pgo.record_profile(program, profdata, tmp_path / "pgo", train))
    assert trained == ["one", "two"]
    assert [profile.read_text() for profile in profiles] == ["of one", "of one", "of two"]


def test_flags_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUSTFLAGS", "-Ctarget-cpu=native")
    assert pgo.flags_with_profile(Path("/p")) == {"RUSTFLAGS": "-Ctarget-cpu=native -Cprofile-use=/p"}
