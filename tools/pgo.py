"""Profile-guided optimisation of wheels and of the benchmark's second column.

A build with counters runs the training networks, `llvm-profdata` merges the counters, and a second build is optimised with them. Results
are the same. Wheels and benchmark train a build of their own each: Rust compiles generic code again in every program, under other names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "python" / "ecnlab" / "examples"
# Packaged examples with other networks than `benches/bench.py` measures; `aecn`, `ecn`, `ecnm` and `red` are the thesis' network.
TRAINING = (
    "arrivals",
    "cellular",
    "codel",
    "dualpi2",
    "dumbbell",
    "fq",
    "incast",
    "l4s",
    "mixed",
    "parking_lot",
    "phase",
    "red_ecn",
    "red_ecn_udp",
    "rfc2884",
    "today",
    "web",
    "wireless",
)


class MissingProfileTool(Exception):
    """llvm-profdata of the compiler's LLVM is not installed."""


@dataclass(frozen=True)
class Compiler:
    """The Rust compiler that cargo calls: its host, and the folder of its programs for that host."""

    host: str
    programs: Path

    @staticmethod
    def installed() -> Compiler:
        """The compiler for this folder. Raises CalledProcessError, FileNotFoundError."""
        host = next(line.removeprefix("host: ") for line in _output(["rustc", "-vV"]).splitlines() if line.startswith("host: "))
        return Compiler(host, Path(_output(["rustc", "--print", "sysroot"]).strip()) / "lib" / "rustlib" / host / "bin")

    def profdata(self, step: str) -> Path:
        """The program that merges profiles. Raises MissingProfileTool."""
        program = self.programs / ("llvm-profdata.exe" if os.name == "nt" else "llvm-profdata")
        if not program.is_file():
            raise MissingProfileTool(
                f"{step}: llvm-profdata is not installed, which profile-guided optimisation needs; fix: rustup component add llvm-tools"
            )
        return program


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def flags_with_counters() -> Mapping[str, str]:
    """The environment of a build with counters."""
    return {"RUSTFLAGS": _joined("-Cprofile-generate")}


def flags_with_profile(profile: Path) -> Mapping[str, str]:
    """The environment of a build that is optimised with a profile."""
    return {"RUSTFLAGS": _joined(f"-Cprofile-use={profile}")}


def _joined(flag: str) -> str:
    return " ".join(filter(None, (os.environ.get("RUSTFLAGS", ""), flag)))


def record_profile(program: Path, profdata: Path, folder: Path, train: Callable[[Mapping[str, str]], None]) -> Path:
    """The profile of a program with counters, in a folder. `train` runs the program with the environment that it is given.

    The name of the profile is the digest of the program and of the training networks. An unchanged program is therefore trained once, and
    cargo compiles again with a new profile. Raises CalledProcessError.
    """
    digest = hashlib.sha256(program.read_bytes())
    for name in TRAINING:
        digest.update((EXAMPLES / f"{name}.toml").read_bytes())
    folder.mkdir(parents=True, exist_ok=True)
    profile = folder / f"{program.name.partition('.')[0]}-{digest.hexdigest()[:16]}.profdata"
    if not profile.is_file():
        counts = folder / "counts"
        shutil.rmtree(counts, ignore_errors=True)
        train({"LLVM_PROFILE_FILE": str(counts / "%m_%p.profraw")})
        part = profile.with_suffix(".part")
        subprocess.run([profdata, "merge", "--output", part, *sorted(counts.glob("*.profraw"))], check=True)
        part.replace(profile)
    return profile
