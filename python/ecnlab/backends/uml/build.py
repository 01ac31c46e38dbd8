"""Building a UML kernel: once, without root, in a temporary folder that is always removed.

The finished kernel is renamed into the cache in one step, so the cache holds complete kernels only and parallel builds do not collide.

A plain kernel keeps its compiled tree as an archive. One with congestion controls of the user starts from it, so make only compiles these
and links.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from hashlib import file_digest, sha256
from pathlib import Path
from time import time

from ecnlab.backends.base import require_x86_64
from ecnlab.backends.uml import controls, kernels, process, recipe, source
from ecnlab.backends.uml.controls import UserCongestionControl
from ecnlab.backends.uml.kernels import BuildableKernel, BuiltKernel
from ecnlab.errors import BackendError
from ecnlab.storage import atomic

# Tools and headers required for a build, with the Debian package of each.
REQUIRED_TOOLS = {
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "perl": "perl",
    "tar": "tar",
    "xz": "xz-utils",
}
REQUIRED_HEADERS = {"/usr/include/stdio.h": "libc6-dev"}

# Approximate number of compiled files, each of which is a line in make's output; the total of the progress display.
_OBJECT_FILES = 1030

_MAX_ERROR_LINES = 25

# Runs a command and kills its process group when standard input closes, which happens whenever this process ends.
_KILL_WITH_PARENT = """
exec 3<&0
"$@" 3<&- < /dev/null & work=$!
(read -r _ <&3; kill -KILL 0) > /dev/null 2>&1 & watch=$!
wait $work; code=$?
kill $watch
exit $code
"""

# Called with the numbers of compiled files and of all files.
BuildProgressCallback = Callable[[float, int], None]


def package_by_missing_requirement() -> dict[str, str]:
    """Build requirements missing on this machine, with the Debian package of each."""
    tools = {tool: package for tool, package in REQUIRED_TOOLS.items() if shutil.which(tool) is None}
    return tools | {header: package for header, package in REQUIRED_HEADERS.items() if not Path(header).exists()}


def build_guest_program_if_outdated() -> bool:
    """Build the guest program in a source checkout that lacks it or has that of other sources; returns whether it was built.

    Raises BackendError, also if the engine is not of these sources.
    """
    checkout = process.source_checkout()
    if checkout is None or (process.GUEST_PROGRAM.is_file() and process.is_program_current()):
        return False
    # make compares times, which a copied checkout does not keep.
    process.GUEST_PROGRAM.unlink(missing_ok=True)
    made = subprocess.run(["make", "--no-print-directory", "guest"], cwd=checkout, capture_output=True, text=True, check=False)
    if made.returncode:
        raise BackendError(f"building the guest program failed; output of `make guest` in {checkout}:\n{made.stdout}{made.stderr}".rstrip())
    if not process.GUEST_PROGRAM.is_file():
        return False
    if not process.is_program_current():
        raise process.other_program_error()
    return True


def build_kernel(
    kernel: BuildableKernel,
    from_source: Path | None = None,
    jobs: int | None = None,
    watch: BuildProgressCallback | None = None,
    control_files: Sequence[Path] = (),
) -> BuiltKernel:
    """Build a kernel unless it is built, with the congestion controls of these C files. Raises BackendError.

    `from_source` is a package, an archive or a folder of the user. A kernel with controls is made from the plain one, which is built first.
    """
    require_x86_64("uml build-kernel")
    added = controls.read_congestion_control_files(control_files)
    for control in added:
        if control.needs_accurate_ecn and not kernel.accurate_ecn:
            able = " or ".join(f"--kernel {one.name}" for one in kernels.KERNELS.values() if one.accurate_ecn)
            raise BackendError(
                f"--control: {control.path}: {control.name} needs Accurate ECN, which kernel {kernel.name} does not have; fix: give {able}"
            )
    lacking = package_by_missing_requirement()
    if lacking:
        packages = " ".join(dict.fromkeys(lacking.values()))
        raise BackendError(f"building a kernel: {', '.join(lacking)} not found on this machine; fix: as root, apt-get install {packages}")
    home = kernels.kernels_folder()
    with ExitStack() as stack:
        try:
            home.parent.mkdir(parents=True, exist_ok=True)
            home.mkdir(mode=0o755, exist_ok=True)
            atomic.remove_abandoned_partials(home)
            folder = stack.enter_context(atomic.locked_temporary_path(atomic.partial_path(home / "build"), folder=True))
        except OSError as error:
            raise BackendError(f"{home}: cannot be written ({error.strerror}); fix: set ECNLAB_CACHE to another folder") from error
        cores = jobs or len(os.sched_getaffinity(0))
        try:
            plain = kernels.newest_plain_kernel(kernel.name) if added and from_source is None else None
            if plain is None:
                plain = _build_kernel_in_folder(kernel, folder, from_source, cores, watch)
            return _rebuild_kernel_with_congestion_controls(plain, added, folder, cores) if added else plain
        except OSError as error:
            raise BackendError(f"{folder}: building the kernel failed there: {error.strerror or error}") from error


def _build_kernel_in_folder(
    kernel: BuildableKernel, folder: Path, from_source: Path | None, jobs: int, watch: BuildProgressCallback | None
) -> BuiltKernel:
    taken = source.fetch_source(kernel, folder) if from_source is None else source.unpack_or_copy_user_source(from_source, folder)
    release = source.kernel_release(taken.tree)
    if not release.startswith(f"{kernel.name}."):
        raise BackendError(f"source: is of kernel {release}, not of {kernel.name}; fix: give --kernel, or another source")
    rule = recipe.recipe_digest(kernel.name)
    place = kernels.kernels_folder() / f"{release}-{_short_sha256(taken.sha256 + taken.version + rule)}"
    if image := _intact_kernel_in(place):
        return image
    recipe.apply_source_edits(taken.tree, kernel.name)
    _configure_kernel(taken.tree, kernel.name)
    _run_make(taken.tree, ["linux"], jobs, watch)
    about = {
        "kernel": kernel.name,
        "release": release,
        "version": taken.version,
        "sha256": taken.sha256,
        "known": kernel.known.get(taken.version) == taken.sha256,
        "recipe": rule,
        "compiler": _compiler_version(),
        "built_s": time(),
    }
    about["tree"] = _archive_compiled_tree(taken.tree, folder / kernels.TREE_FILE)
    return _install_kernel(taken.tree, folder / "finished", place, about, folder / kernels.TREE_FILE)


def _rebuild_kernel_with_congestion_controls(
    plain: BuiltKernel, added: Sequence[UserCongestionControl], folder: Path, jobs: int
) -> BuiltKernel:
    """Build the kernel again with congestion controls, from its compiled tree."""
    names = "+".join(control.name for control in added)
    digest = _short_sha256(plain.name + "".join(control.source_sha256 for control in added))
    place = kernels.kernels_folder() / f"{plain.about['release']}-{names}-{digest}"
    if image := _intact_kernel_in(place):
        return image
    tree = folder / "compiled"
    tree.mkdir()
    subprocess.run(["tar", "-xzf", kernels.compiled_tree(plain), "-C", tree], check=True, capture_output=True)
    controls.copy_congestion_controls_to_tree(tree, added)
    try:
        # The controls first, since all else takes longer.
        _run_make(tree, [str(controls.CONTROLS_FOLDER / f"{control.object_file_stem}.o") for control in added], jobs, None)
        _run_make(tree, ["linux"], jobs, None)
    except BackendError as error:
        raise controls.make_error_naming_control(added, error) from None
    own = {"controls": [control.to_dict() for control in added], "plain_kernel": plain.name, "built_s": time()}
    about = {key: value for key, value in plain.about.items() if key not in ("tree", "program")} | own
    return _install_kernel(tree, folder / "with-controls", place, about)


# Folders of a kernel's source of which a UML kernel compiles little, and those of them that hold headers that it needs.
_MOSTLY_UNUSED_FOLDERS = ("arch", "crypto", "Documentation", "drivers", "fs", "net", "samples", "sound", "tools")
_USED_ARCHITECTURES = ("um", "x86")


def _archive_compiled_tree(tree: Path, archive: Path) -> str:
    """Archive a compiled tree without sources that make does not read; returns the archive's digest."""
    for top in _MOSTLY_UNUSED_FOLDERS:
        for folder, _, files in os.walk(tree / top):
            is_architecture = top == "arch" and Path(folder).relative_to(tree / top).parts[:1] in [(used,) for used in _USED_ARCHITECTURES]
            if not is_architecture and not any(name.endswith((".o", ".a")) for name in files):
                for name in files:
                    if not name.startswith(("Kbuild", "Kconfig", "Makefile")):
                        (Path(folder) / name).unlink()
    # The time stamps of make's decisions have nanoseconds.
    subprocess.run(["tar", "--format=posix", "-czf", archive, "-C", tree, "."], check=True, capture_output=True)
    with archive.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def _configure_kernel(tree: Path, kernel: str) -> None:
    config = tree / ".config"
    _run_make(tree, ["tinyconfig"], 1, None)
    with config.open("a") as file:
        file.write("\n".join([*recipe.kernel_config_lines(kernel), ""]))
    _run_make(tree, ["olddefconfig"], 1, None)
    recipe.require_config_matches_recipe(config, kernel)


def _run_make(tree: Path, targets: list[str], jobs: int, watch: BuildProgressCallback | None) -> None:
    """Run the kernel's make, whose process group ends with this process. Raises BackendError with its last output."""
    last_lines: deque[str] = deque(maxlen=_MAX_ERROR_LINES)
    wrong: list[str] = []
    # Build information inside the kernel must not depend on user, machine or time.
    same = {"KBUILD_BUILD_TIMESTAMP": "1970-01-01", "KBUILD_BUILD_USER": "ecnlab", "KBUILD_BUILD_HOST": "box", "LC_ALL": "C"}
    command = ["make", "ARCH=um", f"-j{jobs}", *targets]
    with subprocess.Popen(
        ["/bin/sh", "-c", _KILL_WITH_PARENT, "sh", *command],
        cwd=tree,
        env=os.environ | same,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as make:
        assert make.stdout is not None
        try:
            done = 0
            for line in make.stdout:
                last_lines.append(line.rstrip())
                if "error" in line.lower() and len(wrong) < _MAX_ERROR_LINES and not line.startswith("  "):
                    wrong.append(line.rstrip())
                done += line.startswith("  CC ")
                if watch is not None:
                    watch(min(done, _OBJECT_FILES), _OBJECT_FILES)
        except BaseException:
            os.killpg(make.pid, signal.SIGKILL)
            raise
    if make.returncode:
        raise BackendError(
            "\n".join([f"building the kernel failed; output of `{' '.join(command)}`:", *dict.fromkeys([*wrong, *last_lines])])
        )


def _install_kernel(tree: Path, finished: Path, place: Path, about: dict[str, object], archive: Path | None = None) -> BuiltKernel:
    """Move the finished kernel into the cache atomically; if another build was faster, use its kernel."""
    # A kernel that other users can write to is not run.
    finished.mkdir(mode=0o755)
    subprocess.run(["strip", "-o", finished / kernels.KERNEL_FILE, tree / "linux"], check=True, capture_output=True)
    (finished / kernels.KERNEL_FILE).chmod(0o755)
    shutil.copy(tree / ".config", finished / "config")
    shutil.copy(tree / "COPYING", finished / "COPYING")
    if archive is not None:
        archive.chmod(0o644)
        archive.rename(finished / kernels.TREE_FILE)
    about["program"] = sha256((finished / kernels.KERNEL_FILE).read_bytes()).hexdigest()
    (finished / kernels.DESCRIPTION_FILE).write_text(json.dumps(about, indent=2) + "\n")
    (finished / kernels.DESCRIPTION_FILE).chmod(0o644)
    atomic.fsync_files([finished / name for name in (kernels.KERNEL_FILE, kernels.DESCRIPTION_FILE)])
    if not _intact_kernel_in(place):
        atomic.remove_folder(place)  # a folder that exists here is damaged
    try:
        finished.rename(place)
    except OSError:
        if not place.is_dir():
            raise
    return BuiltKernel(place, about)


def _intact_kernel_in(place: Path) -> BuiltKernel | None:
    return next((image for image in kernels.built_kernels() if image.folder == place and image.is_image_intact), None)


def _compiler_version() -> str:
    return subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False).stdout.partition("\n")[0]


def _short_sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:10]
