"""UML kernels: those that can be built, and those built in the user's cache folder."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from ecnlab.backends.uml import recipe
from ecnlab.errors import BackendError, UnknownName, require_known_name
from ecnlab.storage import atomic
from ecnlab.storage.cache import cache_folder

KERNEL_FILE, DESCRIPTION_FILE, TREE_FILE = "linux", "about.json", "tree.tar.gz"
# Required keys of a description; `BuiltKernel.about` documents them.
_DESCRIPTION_TYPES: Mapping[str, type | tuple[type, ...]] = {"kernel": str, "version": str, "sha256": str, "built_s": (int, float)}
DEFAULT_KERNEL = "6.1"


@dataclass(frozen=True)
class BuildableKernel:
    """A kernel that can be built.

    Attributes
    ----------
    name : str
        Name for `--kernel`.
    package : str
        The distribution's source package.
    known : Mapping
        SHA-256 of the tested packages by version; other versions are built with a note.
    where : str
        The distribution's release that has the package; empty for that of the other kernels.
    queues : tuple
        Queueing disciplines that only some kernels have.
    accurate_ecn : bool
        Whether its hosts can negotiate Accurate ECN (RFC 9768).
    counts_losses : bool
        Whether its hosts support loss detection by DupThresh instead of RACK.
    """

    name: str
    package: str
    known: Mapping[str, str]
    where: str = ""
    queues: tuple[str, ...] = ()
    accurate_ecn: bool = False
    counts_losses: bool = True


KERNELS = {
    kernel.name: kernel
    for kernel in (
        BuildableKernel("6.1", "linux-source-6.1", {"6.1.192-2": "ae95fe63d4c553f8d0e6c86cb1ab566f3894a43743eb19ab585cd97d82f26514"}),
        BuildableKernel(
            "6.12",
            "linux-source-6.12",
            {"6.12.117-1~deb12u1": "e849faf31ca3555757f3a8877cb01af92122f744f75d1f3102734651c4e14703"},
        ),
        BuildableKernel(
            "7.2",
            "linux-source-7.2",
            {"7.2.13-1": "30a8c5fc63f9028a62e6d7b3f7f43bee67425dbce2a05fceba83f9b87c92083d"},
            where="Debian's trixie-backports and unstable",
            queues=("dualpi2",),
            accurate_ecn=True,
            counts_losses=False,
        ),
    )
}


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel that is built.

    Attributes
    ----------
    folder : Path
        Its folder.
    about : Mapping
        Description of the build: "kernel", "release", "version" and "sha256" of the source, "recipe", "compiler", and "program", the
        SHA-256 of the kernel image (absent in images of early versions of ecnlab). A plain kernel has "tree", the SHA-256 of its compiled
        tree. One with congestion controls of the user has "controls" (name, file and SHA-256 of each) and "plain_kernel".
    """

    folder: Path
    about: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Unique name: its release and a digest of source and recipe."""
        return self.folder.name

    @property
    def kernel_image_path(self) -> Path:
        """The path of the kernel, an executable."""
        return self.folder / KERNEL_FILE

    @property
    def is_image_intact(self) -> bool:
        """Whether the kernel exists and has the recorded digest."""
        try:
            stat = self.kernel_image_path.stat()
            recorded_digest = self.about.get("program")
            return os.access(self.kernel_image_path, os.X_OK) and recorded_digest in (
                None,
                _kernel_digest(self.kernel_image_path, stat.st_mtime_ns, stat.st_size),
            )
        except OSError:
            return False

    @property
    def has_current_recipe(self) -> bool:
        """Whether it was built by the recipe of this version of ecnlab."""
        return self.about.get("recipe") == recipe.recipe_digest(str(self.about["kernel"]))

    @property
    def user_congestion_controls(self) -> Sequence[Mapping[str, str]]:
        """Congestion controls of the user in it: name, file and SHA-256 of each."""
        given = self.about.get("controls", ())
        return [control for control in given if isinstance(control, dict) and isinstance(control.get("name"), str)]

    @property
    def reproducible(self) -> bool:
        """Whether the same scenario and seed give the same bytes on it."""
        return self.about["kernel"] in KERNELS


def find_buildable_kernel(name: str) -> BuildableKernel:
    """The kernel of that name. Raises UnknownName."""
    require_known_name("UML kernel", name, KERNELS)
    return KERNELS[name]


def kernels_folder() -> Path:
    """The folder of built kernels in the user's cache folder."""
    return cache_folder() / "uml"


def _rename_old_kernels_folder() -> None:
    """Rename the folder of built kernels, which was `box` until November 2026."""
    old = kernels_folder().with_name("box")
    if old.is_dir() and not kernels_folder().exists():
        with suppress(OSError):
            old.rename(kernels_folder())


@cache
def _kernel_digest(program: Path, _changed_ns: int, _size: int) -> str:
    """The SHA-256 of a kernel, cached by modification time and size."""
    return sha256(program.read_bytes()).hexdigest()


def built_kernels() -> list[BuiltKernel]:
    """The kernels that are built, the newest of each name last."""
    _rename_old_kernels_folder()
    found = (_read_built_kernel(folder) for folder in kernels_folder().glob("[!.]*"))
    return sorted(
        (image for image in found if image is not None), key=lambda image: (image.about["kernel"], image.about["built_s"], image.name)
    )


def kernel_folders_with_unreadable_description() -> list[Path]:
    """Folders of kernels with an unreadable description."""
    return sorted(
        folder for folder in kernels_folder().glob("[!.]*") if (folder / DESCRIPTION_FILE).exists() and _read_built_kernel(folder) is None
    )


def _read_built_kernel(folder: Path) -> BuiltKernel | None:
    """The kernel in a folder; None if its description cannot be read."""
    try:
        about = json.loads((folder / DESCRIPTION_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return (
        BuiltKernel(folder, about)
        if isinstance(about, dict) and all(isinstance(about.get(key), kind) for key, kind in _DESCRIPTION_TYPES.items())
        else None
    )


def _require_not_writable_by_others(image: BuiltKernel, *more: Path) -> None:
    """Check that only the user and root can write to a kernel, since it runs with the user's permissions. Raises BackendError."""
    for path in (kernels_folder(), image.folder, image.kernel_image_path, image.folder / DESCRIPTION_FILE, *more):
        try:
            found = path.stat()
        except OSError as error:
            raise BackendError(f"{path}: {error.strerror}") from None
        if found.st_uid not in (0, os.getuid()):
            raise BackendError(
                f"{path}: belongs to user {found.st_uid}, and its kernel would run as you; fix: build your own kernels, in the folder "
                "that ECNLAB_CACHE names"
            )
        if stat.S_IMODE(found.st_mode) & 0o022:
            raise BackendError(f"{path}: others may write to it, and the kernel would run as you; fix: chmod go-w {path}")


def find_built_kernel(name: str | None = None) -> BuiltKernel:
    """Find a built kernel by the name of a kernel ("6.1") without controls of the user, of an image, or of a control in it.

    None is the default kernel. The current recipe has precedence, then the newest.
    Raises UnknownName; BackendError if it is not built, is damaged, or can be written by other users.
    """
    wanted = DEFAULT_KERNEL if name is None else name
    built = built_kernels()
    fitting = [image for image in built if wanted == image.name or (wanted == image.about["kernel"] and not image.user_congestion_controls)]
    fitting = fitting or [image for image in built if wanted in [control["name"] for control in image.user_congestion_controls]]
    if not fitting:
        if wanted not in KERNELS:
            controls = [control["name"] for image in built for control in image.user_congestion_controls]
            raise UnknownName("UML kernel", wanted, list(dict.fromkeys([*KERNELS, *(image.name for image in built), *controls])))
        option = "" if wanted == DEFAULT_KERNEL else f" --kernel {wanted}"
        raise BackendError(f"kernel: {wanted} is not built yet; fix: run `ecnlab uml build-kernel{option}`, once, about four minutes")
    image = next((image for image in reversed(fitting) if image.has_current_recipe), fitting[-1])
    if not image.is_image_intact:
        raise BackendError(
            f"{image.kernel_image_path}: differs from the kernel that was built; "
            f"fix: run `ecnlab uml build-kernel --kernel {image.about['kernel']}`"
        )
    _require_not_writable_by_others(image)
    return image


def newest_plain_kernel(name: str) -> BuiltKernel | None:
    """The newest intact image of a kernel by the current recipe, without controls of the user."""
    fitting = [image for image in built_kernels() if image.about["kernel"] == name and not image.user_congestion_controls]
    return next((image for image in reversed(fitting) if image.has_current_recipe and image.is_image_intact), None)


def compiled_tree(image: BuiltKernel) -> Path:
    """The archive of a plain kernel's compiled tree. Raises BackendError if it is missing, changed, or can be written by other users."""
    archive = image.folder / TREE_FILE
    try:
        with archive.open("rb") as stream:
            is_intact = file_digest(stream, "sha256").hexdigest() == image.about.get("tree")
    except OSError:
        is_intact = False
    if not is_intact:
        raise BackendError(
            f"{archive}: is missing or differs from what was built; fix: run `ecnlab uml remove {image.name}`, then the same command again"
        )
    _require_not_writable_by_others(image, archive)
    return archive


def remove_built_kernel(name: str) -> BuiltKernel:
    """Remove a kernel image by name. Raises UnknownName."""
    images = {image.name: image for image in built_kernels()}
    require_known_name("built kernel", name, images)
    atomic.remove_folder(images[name].folder)
    return images[name]
