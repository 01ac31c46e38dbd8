"""The source of a kernel: the distribution's package, which apt checks and fetches without root, or a file or folder of the user's."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ecnlab.errors import TierError
from ecnlab.tiers.box.kernels import Kernel

_LIST = ("Makefile", "Kconfig", "arch/um/Kconfig")


@dataclass(frozen=True)
class Source:
    """A kernel's source, unpacked.

    Attributes
    ----------
    tree : Path
        Its folder, which may be changed.
    version : str
        The package's version, or the name of the file or folder.
    sha256 : str
        Digest of the package or file; empty for a folder.
    """

    tree: Path
    version: str
    sha256: str


def fetched(kernel: Kernel, into: Path) -> Source:
    """Fetch the distribution's package and unpack it into a folder. Raises TierError."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise TierError(
            f"the source of kernel {kernel.name} is fetched with apt-get and dpkg-deb, which this machine has not: give it as a file or "
            f"folder, `ecnlab box build --source FILE`; the Debian package {kernel.package} has it, and so has https://kernel.org"
        )
    _run(
        ["apt-get", "download", kernel.package],
        into,
        f"apt-get cannot fetch {kernel.package}{_where(kernel)}: `apt-get update` as root renews its lists; --source FILE takes a file of "
        "yours",
    )
    packages = sorted(into.glob(f"{kernel.package}_*.deb"))
    if len(packages) != 1:
        there = ", ".join(package.name for package in packages) or "none"
        raise TierError(
            f"{into}: apt-get download {kernel.package} has to leave one file {kernel.package}_VERSION_all.deb, and there are: {there}; "
            "remove what is stale, or give --source FILE"
        )
    return unpacked(packages[0], into)


def _where(kernel: Kernel) -> str:
    return f", which is in {kernel.where}" if kernel.where else ""


def given(path: Path, into: Path) -> Source:
    """The source that the user has, as a package, an archive or a folder, which stays as it is. Raises TierError."""
    if path.is_dir():
        tree = into / "source"
        shutil.copytree(path, tree, symlinks=True)
        return _checked(Source(tree, path.name, ""))
    if not path.is_file():
        raise TierError(f"--source: there is no file or folder {path}")
    return unpacked(path, into)


def unpacked(file: Path, into: Path) -> Source:
    """Unpack a .deb or .tar.* into a folder. Raises TierError."""
    archive, version, digest = file, file.name, _digest(file)
    if file.suffix == ".deb":
        version = file.name.split("_")[1] if file.name.count("_") > 1 else file.name
        _run(["dpkg-deb", "-x", str(file.resolve()), "package"], into, f"{file} cannot be unpacked: it is no package, or damaged")
        archives = list((into / "package").glob("usr/src/linux-source-*.tar.*"))
        if not archives:
            raise TierError(f"{file} holds no /usr/src/linux-source-*.tar: it is no package of a kernel's source")
        archive = archives[0]
    tree = into / "source"
    tree.mkdir()
    _run(["tar", "-xf", str(archive.resolve()), "-C", "source"], into, f"{archive.name} cannot be unpacked: it is no archive, or damaged")
    inner = list(tree.iterdir())
    return _checked(Source(inner[0] if len(inner) == 1 else tree, version, digest))


def release(tree: Path) -> str:
    """The release that a kernel's source is of: "6.1.192"."""
    text = (tree / "Makefile").read_text()
    parts = [re.search(rf"^{key} *= *(\S*)$", text, re.MULTILINE) for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(part[1] for part in parts if part)


def _checked(source: Source) -> Source:
    missing = [name for name in _LIST if not (source.tree / name).is_file()]
    if missing:
        raise TierError(f"this is no source of a kernel: it has no {', '.join(missing)}")
    return source


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _run(command: list[str], folder: Path, remedy: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise TierError(f"{remedy}\n{done.stderr.strip()[-1000:]}")
