"""THIRD-PARTY.txt: the crates that a wheel contains in compiled form, each with its licence and the texts that the licence asks for.

`python tools/third_party.py` writes the file; `--check` compares it with the crates that the engine needs on this system, without network.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOTICES = ROOT / "THIRD-PARTY.txt"
# The crates of this project that are compiled into a wheel, with all their features.
WHEEL_CRATES = ("ecnlab-py", "ecnlab-uml-guest")
TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-gnu",
    "x86_64-pc-windows-msvc",
)
_TEXT_NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
# Code in other languages that a crate compiles, with the file of its licence.
_BUNDLED_TEXTS = {"zstd-sys": ("zstd/LICENSE",)}
_HEAD = """Third-party software in the wheels of ecnlab

Written by `python tools/third_party.py`; change that, not this file.

The compiled engine contains the following crates and the standard library of Rust (MIT OR Apache-2.0, the Rust project). Where a crate
offers a choice with Apache-2.0, ecnlab uses it under Apache-2.0, whose text is in the file LICENSE.
"""


@dataclass(frozen=True, order=True)
class ThirdPartyCrate:
    """A crate of others in a wheel."""

    name: str
    version: str
    licence: str
    folder: Path

    @property
    def line(self) -> str:
        """Its line in the list of crates."""
        return f"{self.name} {self.version}: {self.licence}"


def cargo_metadata(target: str, *options: str) -> dict[str, Any]:
    """Cargo's description of the workspace for a target. Raises CalledProcessError."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target, *options]
    metadata: dict[str, Any] = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    return metadata


def crates_in_wheel(metadata: Mapping[str, Any]) -> set[ThirdPartyCrate]:
    """The crates of others that are linked into a wheel: neither build scripts' nor macros' dependencies."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] in WHEEL_CRATES and package["source"] is None]
    reached: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in reached and not _is_macro(packages[key]):
            reached.add(key)
            waiting += [found["pkg"] for found in nodes[key]["deps"] if any(kind["kind"] is None for kind in found["dep_kinds"])]
    return {
        ThirdPartyCrate(package["name"], package["version"], package["license"] or "see its text", Path(package["manifest_path"]).parent)
        for package in map(packages.__getitem__, reached)
        if package["source"] is not None
    }


def _is_macro(package: Mapping[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def notices_text(crates: Sequence[ThirdPartyCrate]) -> str:
    """The whole file: a list of crates, then each text once, with the crates that have it."""
    with_text: dict[str, list[str]] = {}
    for crate in sorted(crates):
        for text in _texts_of_crate(crate):
            with_text.setdefault(text, []).append(f"{crate.name} {crate.version}")
    parts = [_HEAD, "\n".join(crate.line for crate in sorted(crates)) + "\n"]
    parts += [f"{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n\n{text}\n" for text, names in with_text.items()]
    return "\n".join(parts)


def _texts_of_crate(crate: ThirdPartyCrate) -> Iterator[str]:
    files = sorted(path for path in crate.folder.iterdir() if path.is_file() and path.name.upper().startswith(_TEXT_NAMES))
    for file in [*files, *(crate.folder / name for name in _BUNDLED_TEXTS.get(crate.name, ()))]:
        text = "\n".join(line.rstrip() for line in file.read_text(encoding="utf-8", errors="replace").strip().splitlines())
        if "Apache License" not in text[:400]:
            yield text


def listed_crates(text: str) -> set[str]:
    """The lines of the list of crates in the file."""
    return set(text.partition("=" * 80)[0].removeprefix(_HEAD).strip().splitlines())


def missing_and_outdated_lines(text: str, needed: set[str], locked: set[str]) -> tuple[set[str], set[str]]:
    """Lines that the file lacks, and lines whose crate and version Cargo.lock does not have."""
    listed = listed_crates(text)
    return needed - listed, {line for line in listed if line.partition(":")[0] not in locked}


def locked_versions() -> set[str]:
    """Name and version of each crate in Cargo.lock."""
    import tomllib

    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {f"{package['name']} {package['version']}" for package in lock["package"]}


def check() -> int:
    """Compare the file with the crates for this system; prints differences and returns the exit code."""
    host = next(
        line for line in subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout.splitlines() if "host:" in line
    )
    needed = {crate.line for crate in crates_in_wheel(cargo_metadata(host.removeprefix("host: "), "--offline"))}
    missing, outdated = missing_and_outdated_lines(NOTICES.read_text(encoding="utf-8"), needed, locked_versions())
    for line in sorted(missing):
        print(f"{NOTICES.name}: lacks {line}; fix: run python tools/third_party.py", file=sys.stderr)
    for line in sorted(outdated):
        print(f"{NOTICES.name}: has {line}, which Cargo.lock does not have; fix: run python tools/third_party.py", file=sys.stderr)
    return 1 if missing or outdated else 0


def write() -> int:
    """Write the file; downloads the crates of all systems if necessary."""
    crates: set[ThirdPartyCrate] = set()
    for target in TARGETS:
        crates |= crates_in_wheel(cargo_metadata(target))
    NOTICES.write_text(notices_text(sorted(crates)), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(check() if sys.argv[1:] == ["--check"] else write())
