"""Kernel source: the distribution's package, fetched and verified by apt without root, or a file or folder of the user."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ecnlab.backends.uml.kernels import BuildableKernel
from ecnlab.errors import BackendError

_FILES_OF_A_SOURCE = ("Makefile", "Kconfig", "arch/um/Kconfig")


@dataclass(frozen=True)
class KernelSource:
    """A kernel's source, unpacked.

    Attributes
    ----------
    tree : Path
        Folder of the unpacked source, which a build may change.
    version : str
        The package's version, or the name of the file or folder.
    sha256 : str
        Digest of the package or file; empty for a folder.
    """

    tree: Path
    version: str
    sha256: str


def fetch_source(kernel: BuildableKernel, into: Path) -> KernelSource:
    """Fetch the distribution's package and unpack it into a folder. Raises BackendError."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise BackendError(
            f"source: apt-get and dpkg-deb, which fetch kernel {kernel.name}, not found on this machine; fix: give a file or "
            f"folder, `ecnlab uml build-kernel --source FILE`; the Debian package {kernel.package} has it, and so has https://kernel.org"
        )
    location = f", which is in {kernel.where}" if kernel.where else ""
    _run_source_command(
        ["apt-get", "download", kernel.package],
        into,
        f"apt-get cannot fetch {kernel.package}{location}; fix: run `apt-get update` as root, or give --source FILE",
    )
    packages = sorted(into.glob(f"{kernel.package}_*.deb"))
    if len(packages) != 1:
        there = ", ".join(package.name for package in packages) or "none"
        raise BackendError(
            f"{into}: apt-get download {kernel.package} must create one file {kernel.package}_VERSION_all.deb, found: {there}; "
            "fix: remove stale files, or give --source FILE"
        )
    return unpack_kernel_source(packages[0], into)


def unpack_or_copy_user_source(path: Path, into: Path) -> KernelSource:
    """Unpack or copy the user's source, a package, an archive or a folder, which stays unchanged. Raises BackendError."""
    if path.is_dir():
        tree = into / "source"
        shutil.copytree(path, tree, symlinks=True)
        return _require_kernel_source(KernelSource(tree, path.name, ""))
    if not path.is_file():
        raise BackendError(f"--source: {path} does not exist")
    return unpack_kernel_source(path, into)


def unpack_kernel_source(file: Path, into: Path) -> KernelSource:
    """Unpack a .deb or .tar.* into a folder. Raises BackendError."""
    archive, version, digest = file, file.name, _file_digest(file)
    if file.suffix == ".deb":
        version = file.name.split("_")[1] if file.name.count("_") > 1 else file.name
        _run_source_command(
            ["dpkg-deb", "-x", str(file.resolve()), "package"], into, f"--source: {file} is not a Debian package, or is damaged"
        )
        archives = list((into / "package").glob("usr/src/linux-source-*.tar.*"))
        if not archives:
            raise BackendError(f"--source: {file} is not a package of kernel source: /usr/src/linux-source-*.tar is missing")
        archive = archives[0]
    tree = into / "source"
    tree.mkdir()
    _run_source_command(
        ["tar", "-xf", str(archive.resolve()), "-C", "source"], into, f"--source: {archive.name} is not a tar archive, or is damaged"
    )
    inner = list(tree.iterdir())
    return _require_kernel_source(KernelSource(inner[0] if len(inner) == 1 else tree, version, digest))


def kernel_release(tree: Path) -> str:
    """The release of a kernel's source: "6.1.192"."""
    text = (tree / "Makefile").read_text()
    parts = [re.search(rf"^{key} *= *(\S*)$", text, re.MULTILINE) for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(part[1] for part in parts if part)


def _require_kernel_source(source: KernelSource) -> KernelSource:
    missing = [name for name in _FILES_OF_A_SOURCE if not (source.tree / name).is_file()]
    if missing:
        raise BackendError(f"not a Linux source tree; missing: {', '.join(missing)}")
    return source


def _file_digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _run_source_command(command: list[str], folder: Path, remedy: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise BackendError(f"{remedy}\n{done.stderr.strip()[-1000:]}")
