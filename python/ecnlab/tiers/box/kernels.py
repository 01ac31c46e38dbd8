"""Kernels for the box: those that can be built, and those that are, in the user's cache folder."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ecnlab import atomic
from ecnlab.errors import TierError, UnknownName

PROGRAM, ABOUT = "linux", "about.json"
# What a description has at least. A Box's attribute `about` says what each is.
_TYPES: Mapping[str, type | tuple[type, ...]] = {"kernel": str, "version": str, "sha256": str, "built_s": (int, float)}
DEFAULT = "6.1"


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be built.

    Attributes
    ----------
    name : str
        As users name it.
    package : str
        The distribution's package of its source.
    known : Mapping
        SHA-256 of the packages that were tried, by their version; others are built as well, and said to be others.
    reproducible : bool
        Whether equal scenarios and seeds give equal bytes.
    where : str
        Which of the distribution's releases has the package, unless it is that of the other kernels.
    queues : tuple
        Its queueing disciplines that not every kernel has.
    accurate_ecn : bool
        Whether its hosts can agree on Accurate ECN (RFC 9768).
    counts_losses : bool
        Whether its hosts can tell losses by counting, in place of RACK.
    """

    name: str
    package: str
    known: Mapping[str, str]
    reproducible: bool
    where: str = ""
    queues: tuple[str, ...] = ()
    accurate_ecn: bool = False
    counts_losses: bool = True


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel(
            "6.1", "linux-source-6.1", {"6.1.192-2": "ae95fe63d4c553f8d0e6c86cb1ab566f3894a43743eb19ab585cd97d82f26514"}, reproducible=True
        ),
        Kernel(
            "6.12",
            "linux-source-6.12",
            {"6.12.117-1~deb12u1": "e849faf31ca3555757f3a8877cb01af92122f744f75d1f3102734651c4e14703"},
            reproducible=True,
        ),
        Kernel(
            "7.2",
            "linux-source-7.2",
            {"7.2.13-1": "30a8c5fc63f9028a62e6d7b3f7f43bee67425dbce2a05fceba83f9b87c92083d"},
            reproducible=True,
            where="Debian's trixie-backports and unstable",
            queues=("dualpi2",),
            accurate_ecn=True,
            counts_losses=False,
        ),
    )
}


@dataclass(frozen=True)
class Box:
    """A kernel that is built.

    Attributes
    ----------
    folder : Path
        Where it is.
    about : Mapping
        What was built: "kernel", "release", "version" and "sha256" of the source, "recipe", "compiler", and "program", the SHA-256 of the
        kernel itself (which boxes that were built earlier do not say).
    """

    folder: Path
    about: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What tells it from others: its release and a digest of source and recipe."""
        return self.folder.name

    @property
    def program(self) -> Path:
        """The kernel, which is a program."""
        return self.folder / PROGRAM

    @property
    def is_whole(self) -> bool:
        """Whether the kernel is there and is what was built."""
        try:
            stat = self.program.stat()
            told = self.about.get("program")
            return os.access(self.program, os.X_OK) and told in (None, _digest(self.program, stat.st_mtime_ns, stat.st_size))
        except OSError:
            return False

    @property
    def reproducible(self) -> bool:
        """Whether equal scenarios and seeds give equal bytes in it."""
        kernel = KERNELS.get(str(self.about["kernel"]))
        return kernel is not None and kernel.reproducible


def kernel(name: str) -> Kernel:
    """The kernel of that name. Raises UnknownName."""
    if name not in KERNELS:
        raise UnknownName("kernel for the box", name, KERNELS)
    return KERNELS[name]


def home() -> Path:
    """The folder of built kernels: `box` in the folder that ECNLAB_CACHE names, or in `ecnlab` of the user's cache folder."""
    own = os.environ.get("ECNLAB_CACHE")
    cache = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "ecnlab"
    return cache / "box"


@cache
def _digest(program: Path, _changed_ns: int, _size: int) -> str:
    """The SHA-256 of a kernel, which is read again when it has changed."""
    return sha256(program.read_bytes()).hexdigest()


def built() -> list[Box]:
    """The kernels that are built, the newest of each name last."""
    found = (_box(folder) for folder in home().glob("[!.]*"))
    return sorted((box for box in found if box is not None), key=lambda box: (box.about["kernel"], box.about["built_s"], box.name))


def damaged() -> list[Path]:
    """Folders of kernels whose description is there and cannot be read."""
    return sorted(folder for folder in home().glob("[!.]*") if (folder / ABOUT).exists() and _box(folder) is None)


def _box(folder: Path) -> Box | None:
    """The box of a folder, if its description can be read."""
    try:
        about = json.loads((folder / ABOUT).read_bytes())
    except (OSError, ValueError):
        return None
    return Box(folder, about) if isinstance(about, dict) and all(isinstance(about.get(key), kind) for key, kind in _TYPES.items()) else None


def _require_own(box: Box) -> None:
    """See that nobody but the user and root may change a kernel, which is run with all that the user may do. Raises TierError."""
    for path in (home(), box.folder, box.program, box.folder / ABOUT):
        try:
            found = path.stat()
        except OSError as error:
            raise TierError(f"{path}: {error.strerror}") from None
        if found.st_uid not in (0, os.getuid()):
            raise TierError(
                f"{path}: the kernel would be run, and it belongs to user {found.st_uid}; fix: build kernels of your own, in the folder "
                "that ECNLAB_CACHE names"
            )
        if stat.S_IMODE(found.st_mode) & 0o022:
            raise TierError(f"{path}: the kernel would be run, and it is one that others may write to; fix: chmod go-w {path}")


def chosen(name: str | None = None) -> Box:
    """The newest box of that kernel, or of that very name; the default kernel's if none is named.

    Raises UnknownName, and TierError where there is none, or it is not what was built, or others may change it.
    """
    wanted = name or DEFAULT
    fitting = [box for box in built() if wanted in (box.name, box.about["kernel"])]
    if not fitting:
        option = "" if wanted == DEFAULT else f" --kernel {kernel(wanted).name}"
        raise TierError(f"the box has no kernel {wanted} yet: build it, once and in about four minutes, with `ecnlab box build{option}`")
    box = fitting[-1]
    if not box.is_whole:
        raise TierError(
            f"{box.program} is not the kernel that was built: `ecnlab box build --kernel {box.about['kernel']}` builds it again"
        )
    _require_own(box)
    return box


def removed(name: str) -> Box:
    """Remove a box by its name. Raises UnknownName."""
    boxes = {box.name: box for box in built()}
    if name not in boxes:
        raise UnknownName("built kernel", name, boxes)
    atomic.remove(boxes[name].folder)
    return boxes[name]
