"""The build backend of the package: maturin, after the guest program of the backend `uml` has been compiled for the same machine.

`pip install .` and a build from the source distribution therefore give a complete wheel. The guest program is a library of its own, which
maturin does not know. It exists for Linux on x86-64 alone; there a build without it fails.
"""

from __future__ import annotations

import gzip
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import maturin

ROOT = Path(__file__).parents[1]
GUEST = ROOT / "python" / "ecnlab" / "backends" / "uml" / "guest.so.gz"
GUEST_PROFILE = "guest"  # of Cargo.toml; `make guest` shares the profile of the tests
GUEST_LIBRARY = "libecnlab_uml_guest.so"

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_editable = maturin.get_requires_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable
build_sdist = maturin.build_sdist


def has_guest(system: str, machine: str) -> bool:
    """Whether wheels for a system contain the guest program."""
    return (system, machine) == ("Linux", "x86_64")


def build_guest(*arguments: str, tool: str = "build", folder: str = "") -> None:
    """Compile the guest program and put it into the package. Raises CalledProcessError, FileNotFoundError."""
    command = ["cargo", tool, "--quiet", "--profile", GUEST_PROFILE, "-p", "ecnlab-uml-guest", *arguments]
    print("Compiling the guest program ...", file=sys.stderr, flush=True)
    subprocess.run(command, cwd=ROOT, check=True)
    compress_guest(_target_folder() / folder / GUEST_PROFILE / GUEST_LIBRARY)


def compress_guest(library: Path) -> None:
    """Put the guest program into the package, compressed to a third of its size."""
    GUEST.write_bytes(gzip.compress(library.read_bytes(), mtime=0))


def _target_folder() -> Path:
    import json

    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    return Path(json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)["target_directory"])


def build_wheel(wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None) -> str:
    """Build a complete wheel (PEP 517)."""
    # The wheel is stripped; the tables of lines that a profiler reads take a tenth of the processor time.
    os.environ.setdefault("CARGO_PROFILE_RELEASE_DEBUG", "false")
    _build_guest_for_this_machine()
    name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    return name


def build_editable(wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None) -> str:
    """Build an editable wheel (PEP 660)."""
    # The wheel is stripped; the tables of lines that a profiler reads take a tenth of the processor time.
    os.environ.setdefault("CARGO_PROFILE_RELEASE_DEBUG", "false")
    _build_guest_for_this_machine()
    name: str = maturin.build_editable(wheel_directory, config_settings, metadata_directory)
    return name


def _build_guest_for_this_machine() -> None:
    if has_guest(platform.system(), platform.machine()):
        build_guest()
