"""`make release`: the files of a release in dist/, and what is checked about them.

    python tools/release.py                     all steps, for each system whose tools are installed
    python tools/release.py wheel [NAME...]     wheels: linux-x86_64, linux-aarch64, macos-arm64, macos-x86_64, windows-x86_64
    python tools/release.py sdist               the source distribution
    python tools/release.py rebuild             a wheel from the source distribution, which must be complete
    python tools/release.py check               contents, metadata, tags, licences, known vulnerabilities
    python tools/release.py crates              the crates for other projects' tests, as cargo would publish them
    python tools/release.py smoke [WHEEL]       a wheel in an environment of its own and an empty folder
    python tools/release.py tutorials [WHEEL]   every command of the tutorials, with a wheel in an environment of its own
    python tools/release.py emulate [NAME...]   the fingerprints with wheels of other systems: linux-aarch64, windows-x86_64

On Linux, zig links the wheels of all systems (packages ziglang and cargo-zigbuild); macOS and Windows build their own. The wheel for the
machine's own Linux is built with profile-guided optimisation (tools/pgo.py). With `--strict` a missing tool is an error, as in the
workflows; without it the step is left out and named at the end.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING

import build_backend
import pgo
import third_party

if TYPE_CHECKING:
    import notebooks

ROOT = Path(__file__).parents[1]
DIST, TARGET_FOLDER = ROOT / "dist", ROOT / "target"
GUEST = build_backend.GUEST
GUEST_IN_WHEEL = "ecnlab/backends/uml/guest.so.gz"
GLIBC = "2.28"
LINK_RATE_BPS = 50e6  # for which the time of a download is computed
STEPS = ("wheel", "sdist", "rebuild", "check", "crates", "smoke", "tutorials", "emulate")
# Wheels are stripped; the tables of lines that a profiler of a release build reads take a tenth of the processor time.
_WITHOUT_DEBUG_INFO = {"CARGO_PROFILE_RELEASE_DEBUG": "false"}
# They depend on nothing but each other and libm.
PUBLISHED_CRATES = ("ecnlab-units", "ecnlab-queue", "ecnlab-transport")


class ReleaseError(Exception):
    """A file of the release is wrong."""


class MissingTool(ReleaseError):
    """A tool that a step needs is not installed."""


@dataclass(frozen=True)
class WheelTarget:
    """A system for which a wheel is built: Rust's target, the platform tag, the engine's file, and whether the guest program is in it."""

    triple: str
    tag: str
    engine: str = "ecnlab/_core.abi3.so"
    has_guest: bool = False

    @property
    def machine(self) -> str:
        """The machine in the platform tag."""
        return "x86_64" if self.tag.endswith("x86_64") else self.tag.rpartition("_")[2]


TARGETS: Mapping[str, WheelTarget] = {
    "linux-x86_64": WheelTarget("x86_64-unknown-linux-gnu", f"manylinux_{GLIBC.replace('.', '_')}_x86_64", has_guest=True),
    "linux-aarch64": WheelTarget("aarch64-unknown-linux-gnu", f"manylinux_{GLIBC.replace('.', '_')}_aarch64"),
    "macos-arm64": WheelTarget("aarch64-apple-darwin", "macosx_11_0_arm64"),
    "macos-x86_64": WheelTarget("x86_64-apple-darwin", "macosx_10_12_x86_64"),
    "windows-x86_64": WheelTarget("x86_64-pc-windows-gnu", "win_amd64", "ecnlab/_core.pyd"),
}
_HOST_NAMES = {
    ("Linux", "x86_64"): "linux-x86_64",
    ("Linux", "aarch64"): "linux-aarch64",
    ("Darwin", "arm64"): "macos-arm64",
    ("Darwin", "x86_64"): "macos-x86_64",
    ("Windows", "AMD64"): "windows-x86_64",
}
# Files that every wheel contains beside its engine.
REQUIRED_FILES = (
    "ecnlab/__init__.py",
    "ecnlab/py.typed",
    "ecnlab/examples/ecn.toml",
    "ecnlab/reference/fingerprints.json",
    "ecnlab/backends/uml/data/box_kernel.c",
    "ecnlab/lab/lab.html",
    "ecnlab/lab/ecnlab.wasm.gz",
    "ecnlab/site.zip",
)
# Those of them that `make site` and `make web` build; a source distribution has neither.
_BUILT_PAGES = {"lab/ecnlab.wasm.gz": "make web", "site.zip": "make site"}
REQUIRED_TEXTS = ("LICENSE", "GPL-2.0-only.txt", "THIRD-PARTY.txt")
LICENCE = "Apache-2.0 AND GPL-2.0-only"


def host_target_name() -> str:
    """The name of this machine's target. Raises ReleaseError."""
    key = (platform.system(), platform.machine())
    if key not in _HOST_NAMES:
        raise ReleaseError(f"wheel: there is no target for {key[0]} on {key[1]}; fix: name one of {', '.join(TARGETS)}")
    return _HOST_NAMES[key]


def require_tool(step: str, tool: str, remedy: str) -> None:
    """Check that a program is on the PATH. Raises MissingTool."""
    if shutil.which(tool) is None:
        raise MissingTool(f"{step}: {tool} is not installed; fix: {remedy}")


def require_target(step: str, triple: str) -> None:
    """Check that Rust's standard library for a target is installed. Raises MissingTool."""
    done = subprocess.run(["rustc", "--print", "target-libdir", "--target", triple], capture_output=True, text=True, check=False)
    if done.returncode or not Path(done.stdout.strip()).is_dir():
        raise MissingTool(f"{step}: the Rust target {triple} is not installed; fix: rustup target add {triple}")


def run(command: Sequence[str | Path], environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> None:
    """Run a command. Raises ReleaseError if it fails."""
    print("+", *command, flush=True)
    if subprocess.run(list(map(str, command)), cwd=folder, env={**os.environ, **(environment or {})}, check=False).returncode:
        raise ReleaseError(f"{command[0]} failed")


def output_of(command: Sequence[str | Path]) -> str:
    """The output of a command. Raises ReleaseError if it fails."""
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{command[0]} failed: {done.stdout}{done.stderr}")
    return done.stdout


def build_wheel(name: str) -> None:
    """Build the wheel of a system in dist/. Raises ReleaseError, MissingTool."""
    target, step = TARGETS[name], f"wheel {name}"
    cross = platform.system() == "Linux"
    if not cross and name != host_target_name():
        raise MissingTool(f"{step}: it is built on Linux or on its own system; fix: leave it out")
    require_tool(step, "maturin", "pip install -r requirements-release.lock")
    for file, remedy in _BUILT_PAGES.items():
        if not (ROOT / "python" / "ecnlab" / file).is_file():
            raise ReleaseError(f"{step}: python/ecnlab/{file} is not built; fix: {remedy}")
    if cross:
        require_tool(step, "cargo-zigbuild", "pip install -r requirements-release.lock")
        require_target(step, target.triple)
    DIST.mkdir(exist_ok=True)
    if cross and name == "windows-x86_64":
        return _build_windows_wheel_with_zig(target, step)
    command = ["maturin", "build", "--release", "--locked"]
    if cross:
        command += ["--zig", "--target", target.triple]
        command += ["--compatibility", f"manylinux_{GLIBC.replace('.', '_')}"] if "linux" in name else []
    environment = dict(_WITHOUT_DEBUG_INFO)
    environment |= pgo.flags_with_profile(_profile(command, target, step)) if has_profile(name) else {}
    if cross and "macos" in name and "SDKROOT" not in os.environ:
        environment["SDKROOT"] = str(_write_core_foundation_stub())
    with _guest_program(target):
        run([*command, "--out", str(DIST)], environment)
    return None


def has_profile(name: str) -> bool:
    """Whether the wheel of a system is built with profile-guided optimisation here: that of Linux on this machine's processor."""
    return platform.system() == "Linux" and name == host_target_name()


# Python code that runs the training networks with a module with counters, and stores their results. Those of `observe` are the runs of
# `ecnlab run`: the engine with a recorder is compiled apart from the engine without one.
_TRAINING = """
import sys, tempfile, ecnlab
for name in sys.argv[1:]:
    with tempfile.TemporaryDirectory() as folder:
        ecnlab.run(ecnlab.example(name), seeds=1, out=f"{folder}/plain")
        ecnlab.run(ecnlab.example(name), seeds=1, out=f"{folder}/observed", observe=True)
"""


# Python that calls zig for a build with counters: `-u SYMBOL`, which rustc gives and zig refuses, becomes one word.
_ZIG_PYTHON = """#!{python}
import os, sys
words = iter(sys.argv[1:])
given = [f"-Wl,-u,{{next(words)}}" if word == "-u" else word for word in words]
os.execv(sys.executable, [sys.executable, *given])
"""


def _profile(command: Sequence[str], target: WheelTarget, step: str) -> Path:
    """The profile of the engine in a wheel, from a build by the same command with counters. Raises ReleaseError.

    Under another command functions have other names, so that the profile has no effect: cargo-zigbuild changes what cargo hashes into them.
    """
    try:
        profdata = pgo.Compiler.installed().profdata(step)
    except pgo.MissingProfileTool as error:
        raise ReleaseError(str(error)) from None
    folder = TARGET_FOLDER / "pgo"
    package, python = folder / "with-counters", folder / "zig-python"
    shutil.rmtree(package, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    python.write_text(_ZIG_PYTHON.format(python=sys.executable), encoding="utf-8")
    python.chmod(0o755)
    run([*command, "--out", package], {**_WITHOUT_DEBUG_INFO, **pgo.flags_with_counters(), "CARGO_ZIGBUILD_PYTHON_PATH": str(python)})
    (wheel,) = package.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(package)

    def train(environment: Mapping[str, str]) -> None:
        run([sys.executable, "-c", _TRAINING, *pgo.TRAINING], {**environment, "PYTHONPATH": str(package)}, folder=folder)

    return pgo.record_profile(package / target.engine, profdata, folder, train)


@contextmanager
def _guest_program(target: WheelTarget) -> Iterator[None]:
    """Have the guest program of the target in the package, or none; restores the one of `make guest` afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / GUEST.name
        if GUEST.exists():
            shutil.move(GUEST, kept)
        try:
            if target.has_guest:
                command = ["cargo", "zigbuild", "--quiet", "--locked", "--profile", build_backend.GUEST_PROFILE, "-p", "ecnlab-uml-guest"]
                run([*command, "--target", f"{target.triple}.{GLIBC}"])
                build_backend.compress_guest(TARGET_FOLDER / target.triple / build_backend.GUEST_PROFILE / build_backend.GUEST_LIBRARY)
            yield
        finally:
            GUEST.unlink(missing_ok=True)
            if kept.exists():
                shutil.move(kept, GUEST)


# Functions by which `chrono`, a dependency of `parquet`, would find the name of the time zone.
_CORE_FOUNDATION_FUNCTIONS = (
    "CFRelease",
    "CFStringGetBytes",
    "CFStringGetCStringPtr",
    "CFStringGetLength",
    "CFTimeZoneCopySystem",
    "CFTimeZoneGetName",
    "CFTimeZoneResetSystem",
)


def _write_core_foundation_stub() -> Path:
    """A folder in place of the SDK of macOS, which zig lacks: it names CoreFoundation, with the functions that the engine links."""
    folder = TARGET_FOLDER / "macos-sdk"
    framework = folder / "System" / "Library" / "Frameworks" / "CoreFoundation.framework"
    framework.mkdir(parents=True, exist_ok=True)
    symbols = ", ".join(f"_{name}" for name in _CORE_FOUNDATION_FUNCTIONS)
    lines = (
        "--- !tapi-tbd",
        "tbd-version: 4",
        "targets: [ x86_64-macos, arm64-macos ]",
        "install-name: '/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation'",
        "exports:",
        "  - targets: [ x86_64-macos, arm64-macos ]",
        f"    symbols: [ {symbols} ]",
        "...",
    )
    (framework / "CoreFoundation.tbd").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _build_windows_wheel_with_zig(target: WheelTarget, step: str) -> None:
    """The engine for Windows with the Python files of the wheel for Linux. maturin exports a wrong symbol with zig's linker."""
    others = sorted(DIST.glob("ecnlab-*-manylinux*_x86_64.whl"))
    if not others:
        raise MissingTool(
            f"{step}: it takes the Python files of the wheel for Linux; fix: python tools/release.py wheel linux-x86_64 first"
        )
    libraries = _write_import_library(step)
    environment = {"PYO3_CROSS_LIB_DIR": str(libraries), "PYO3_CROSS_PYTHON_VERSION": "3.11", "RUSTFLAGS": f"-L native={libraries}"}
    environment |= _WITHOUT_DEBUG_INFO
    command = ["cargo-zigbuild", "rustc", "--quiet", "--locked", "--release", "-p", "ecnlab-py", "--lib", "--target", target.triple]
    run([*command, "--", "-C", "strip=symbols"], environment)
    engine = (TARGET_FOLDER / target.triple / "release" / "_core.dll").read_bytes()
    write_wheel_with_engine(others[-1], engine, target)


def _write_import_library(step: str) -> Path:
    """The import library of python3.dll, the stable ABI of Python 3.11; returns its folder. Raises MissingTool."""
    try:
        from abi3info import DATAS, FUNCTIONS
        from abi3info.models import PyVersion
    except ImportError:
        raise MissingTool(f"{step}: the package abi3info is not installed; fix: pip install -r requirements-release.lock") from None
    folder = TARGET_FOLDER / "python3-import-library"
    folder.mkdir(parents=True, exist_ok=True)
    names = [symbol.name for symbol, about in FUNCTIONS.items() if about.added <= PyVersion(3, 11)]
    data = [f"{symbol.name} DATA" for symbol, about in DATAS.items() if about.added <= PyVersion(3, 11)]
    definition = folder / "python3.def"
    definition.write_text("\n".join(["LIBRARY python3.dll", "EXPORTS", *names, *data]) + "\n", encoding="utf-8")
    for name in ("python3.lib", "libpython3.a"):
        run([sys.executable, "-m", "ziglang", "dlltool", "-m", "i386:x86-64", "-D", "python3.dll", "-d", definition, "-l", folder / name])
    return folder


def write_wheel_with_engine(other: Path, engine: bytes, target: WheelTarget) -> Path:
    """Write the wheel of a target with the Python files of another wheel and this engine; returns its path."""
    version = other.name.split("-")[1]
    path = DIST / f"ecnlab-{version}-cp311-abi3-{target.tag}.whl"
    left_out = re.compile(r".*\.(so|so\.gz|pyd)|.*\.dist-info/(RECORD|sboms/.*)")
    records: list[str] = []
    with zipfile.ZipFile(other) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(name: str, data: bytes) -> None:
            wheel.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
            digest = urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{name},sha256={digest},{len(data)}")

        for name in source.namelist():
            if left_out.fullmatch(name) is None and not name.endswith("/"):
                data = source.read(name)
                add(name, re.sub(rb"(?m)^Tag: .*\n", f"Tag: cp311-abi3-{target.tag}\n".encode(), data) if name.endswith("/WHEEL") else data)
        add(target.engine, engine)
        record = f"ecnlab-{version}.dist-info/RECORD"
        wheel.writestr(zipfile.ZipInfo(record, (1980, 1, 1, 0, 0, 0)), "\n".join([*records, f"{record},,", ""]), zipfile.ZIP_DEFLATED)
    return path


def build_sdist() -> None:
    """Build the source distribution in dist/."""
    require_tool("sdist", "maturin", "pip install -r requirements-release.lock")
    run(["maturin", "sdist", "--out", DIST])


def rebuild_from_sdist() -> None:
    """Build a wheel from the source distribution in an environment of its own; it must have every file but the pages."""
    (sdist,) = _files("rebuild", "ecnlab-*.tar.gz", "python tools/release.py sdist")
    folder, build = TARGET_FOLDER / "from-sdist", TARGET_FOLDER / "from-sdist-build"
    for old in (folder, build):  # files of a distribution have old times, so that cargo would take crates of another one for new
        shutil.rmtree(old, ignore_errors=True)
    environment = {"CARGO_TARGET_DIR": str(build)}
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist], environment)
    (wheel,) = folder.glob("*.whl")
    require_contents(wheel, [name for name in REQUIRED_FILES if not name.startswith(("ecnlab/site.zip", "ecnlab/lab/"))])


def _files(step: str, pattern: str, remedy: str) -> list[Path]:
    found = sorted(DIST.glob(pattern))
    if not found:
        raise ReleaseError(f"{step}: dist/ has no {pattern}; fix: {remedy}")
    return found


def target_of_wheel(wheel: Path) -> WheelTarget:
    """The target of a wheel, by the platform in its name. Raises ReleaseError."""
    for name, target in TARGETS.items():
        if re.search(rf"-(many)?{name[:3]}[a-z0-9_.]*_{target.machine}\.whl$", wheel.name):
            return target
    raise ReleaseError(f"{wheel.name}: there is no target with this platform tag")


def require_contents(wheel: Path, files: Sequence[str] = REQUIRED_FILES) -> None:
    """Check the files and the metadata of a wheel. Raises ReleaseError that names everything."""
    target = target_of_wheel(wheel)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
        damaged = archive.testzip()
    texts = {name.rpartition("/")[2] for name in names if ".dist-info/licenses/" in name}
    wrong = [f"lacks {name}" for name in (*files, target.engine, *([GUEST_IN_WHEEL] if target.has_guest else [])) if name not in names]
    wrong += [f"lacks the text {name}" for name in REQUIRED_TEXTS if name not in texts]
    wrong += [f"has {name}, which is for another system" for name in (GUEST_IN_WHEEL,) if name in names and not target.has_guest]
    wrong += [] if f"License-Expression: {LICENCE}\n" in metadata else [f"its licence is not {LICENCE}"]
    wrong += [f"{damaged} is damaged"] if damaged else []
    if wrong:
        raise ReleaseError("\n".join(f"{wheel.name}: {one}" for one in wrong))


def check_tag(wheel: Path) -> None:
    """Check with auditwheel that everything in a wheel for Linux fits its platform tag. Raises ReleaseError."""
    with tempfile.TemporaryDirectory() as folder:
        told = output_of([sys.executable, "-m", "auditwheel", "show", _with_unpacked_guest(wheel, Path(folder))])
    print(" ".join(told.split()))
    tags = re.findall(r'"((?:many|musl)?linux_[0-9a-z_]+)"', told)
    if not tags or not wheel.name.endswith(f"{tags[0]}.whl"):
        raise ReleaseError(f"{wheel.name}: auditwheel finds the tag {tags[0] if tags else 'none'}")


_URLS_REMEDY = "add [project.urls] with Documentation, Source, Issues and Changelog to pyproject.toml, as CONTRIBUTING.md says"


def _project_urls(wheel: Path) -> list[str]:
    """The addresses of the project that an index shows, each with its label."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name)).get_all("Project-URL", [])


def _with_unpacked_guest(wheel: Path, folder: Path) -> Path:
    """A copy of the wheel in the folder whose guest program is not compressed, so that auditwheel sees it."""
    copy = folder / wheel.name
    shutil.copyfile(wheel, copy)
    with zipfile.ZipFile(copy, "a") as archive:
        if GUEST_IN_WHEEL in archive.namelist():
            archive.writestr(GUEST_IN_WHEEL.removesuffix(".gz"), gzip.decompress(archive.read(GUEST_IN_WHEEL)))
    return copy


def check_distributions() -> list[str]:
    """Check everything in dist/; returns what was not checked. Raises ReleaseError."""
    skipped: list[str] = []
    wheels, sdists = _files("check", "ecnlab-*.whl", "python tools/release.py wheel"), sorted(DIST.glob("ecnlab-*.tar.gz"))
    for wheel in wheels:
        require_contents(wheel)
        if "linux" in wheel.name:
            check_tag(wheel)
    for wheel in wheels:
        if _project_urls(wheel) == []:
            skipped.append(f"check: {wheel.name} names no address of the project; fix: {_URLS_REMEDY}")
            break
    if third_party.check():
        raise ReleaseError("check: THIRD-PARTY.txt is stale")
    run([sys.executable, "-m", "twine", "check", "--strict", *wheels, *sdists])
    run(["check-wheel-contents", *wheels])
    run(["abi3audit", "--strict", "--summary", *wheels])
    deny = shutil.which("cargo-deny")
    if deny is None:
        skipped.append("check: cargo-deny is not installed; fix: cargo install cargo-deny")
    else:
        run([deny, "check", "licenses", "bans", "sources"])
        advisories = subprocess.run([deny, "check", "advisories"], cwd=ROOT, capture_output=True, text=True, check=False)
        if "failed to fetch" in advisories.stderr or "failed to clone" in advisories.stderr:
            skipped.append("check: cargo deny cannot fetch the database of advisories; fix: run it with network access")
        elif advisories.returncode:
            raise ReleaseError(f"check: cargo deny check advisories failed:\n{advisories.stderr}")
    return skipped


@contextmanager
def _installed(wheel: Path | None, step: str, extra: str = "") -> Iterator[tuple[Path, Path]]:
    """A wheel in an environment of its own: the folder of its programs, and an empty folder. Prints what this takes."""
    if wheel is None:
        here = TARGETS[host_target_name()]
        found = _files(step, f"ecnlab-*{here.machine}.whl", "python tools/release.py wheel")
        wheel = next(wheel for wheel in found if target_of_wheel(wheel) == here)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "venv", folder / "venv"])
        scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        pip = (str(scripts / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check")
        files = folder / "files"
        run([*pip, "download", "--dest", files, f"{wheel}{extra}"])
        size = sum(file.stat().st_size for file in files.iterdir())
        begin = time.monotonic()
        run([*pip, "install", "--no-index", "--find-links", files, f"{wheel}{extra}"])
        installing_s = time.monotonic() - begin
        print(f"{step}: {size / 1e6:.1f} MB, which take {size * 8 / LINK_RATE_BPS:.1f} s at 50 Mbit/s; installed in {installing_s:.1f} s")
        empty = folder / "empty"
        empty.mkdir()
        yield scripts, empty


def smoke_test(wheel: Path | None = None) -> list[str]:
    """Install a wheel into an environment of its own and run it in an empty folder; checks its dependencies for vulnerabilities.

    Returns what was not checked. Raises ReleaseError.
    """
    with _installed(wheel, "smoke") as (scripts, empty):
        commands = (
            ["--version"],
            ["example"],
            ["run", "example:ecn", "--seed", "1", "--out", "first"],
            ["plot", "first"],
            ["run", "example:ecn", "--seeds", "2"],
            ["lab", "--out", "lab.html", "example:ecn"],
            ["docs", "--path"],
            ["validate", "fingerprints"],
        )
        begin = time.monotonic()
        for words in commands:
            run([scripts / "ecnlab", *words], {"ECNLAB_CACHE": str(empty.parent / "cache")}, folder=empty)
            if words[0] == "plot":
                print(f"smoke: first figure {time.monotonic() - begin:.1f} s after the installation")
        if shutil.which("pip-audit") is None:
            return ["smoke: pip-audit is not installed; fix: pip install -r requirements-release.lock"]
        packages = output_of([scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
        return audit_packages(packages)


def check_crates() -> None:
    """Package the crates for other projects, and compile each from its package. Raises ReleaseError."""
    packages = [word for crate in PUBLISHED_CRATES for word in ("--package", crate)]
    run(["cargo", "package", "--locked", "--quiet", *packages])


@dataclass(frozen=True)
class Emulator:
    """A program that runs another system's Python: its name, the variable that names the Python, and the packages the command needs."""

    program: str
    variable: str
    packages: Sequence[str]

    def python(self) -> str:
        """The Python that it runs; "" without one."""
        place = os.environ.get(self.variable, "")
        if place and self.program.startswith("qemu"):  # the folder of the system's root, which qemu itself reads from this variable
            found = [path for path in Path(place).glob("usr/bin/python3.*") if path.suffix[1:].isdigit()]
            return str(max(found, key=lambda path: int(path.suffix[1:]))) if found else ""
        return place


EMULATORS: Mapping[str, Emulator] = {
    "linux-aarch64": Emulator("qemu-aarch64", "QEMU_LD_PREFIX", ("click",)),
    "windows-x86_64": Emulator("wine", "WINE_PYTHON", ("click", "colorama")),
}


def compare_emulated_fingerprints(name: str) -> None:
    """Compare the fingerprints that the wheel of another system computes with the recorded ones. Raises ReleaseError, MissingTool."""
    emulator, step = EMULATORS[name], f"emulate {name}"
    require_tool(step, emulator.program, f"apt-get install {'qemu-user' if 'qemu' in emulator.program else 'wine64'}")
    if not (python := emulator.python()):
        raise MissingTool(f"{step}: there is no Python for {emulator.program}; fix: set {emulator.variable}, as CONTRIBUTING.md says")
    (wheel,) = _files(step, f"ecnlab-*{TARGETS[name].tag}.whl", f"python tools/release.py wheel {name}")
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        run([*pip, "--target", folder, "--platform", TARGETS[name].tag, "--python-version", "3.11", wheel, *emulator.packages])
        inside = f"Z:{folder}".replace("/", "\\") if emulator.program == "wine" else folder
        environment = {"PYTHONPATH": inside, "ECNLAB_CACHE": f"{inside}/cache"}
        run([emulator.program, python, "-m", "ecnlab", "validate", "fingerprints"], environment)


_NO_DEPENDENCIES = ("ecnlab", "pip", "setuptools")  # of a new environment


def audit_packages(folder: str) -> list[str]:
    """Check the packages in a folder for known vulnerabilities; returns what was not checked. Raises ReleaseError."""
    command = ["pip-audit", "--progress-spinner", "off", "--format", "json", "--path", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = [one for one in json.loads(done.stdout)["dependencies"] if one["name"] not in _NO_DEPENDENCIES]
    except ValueError:
        raise ReleaseError(f"smoke: pip-audit failed: {done.stderr}") from None
    found = [f"{one['name']}: {', '.join(each['id'] for each in one['vulns'])}" for one in packages if one.get("vulns")]
    if found:
        raise ReleaseError(f"smoke: vulnerabilities are known of {'; '.join(found)}; fix: require a version without them")
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    if known := len(packages) - len(unknown):
        print(f"smoke: no vulnerability is known of {known} packages")
    remedy = "run it where the index has data on vulnerabilities, as pypi.org does"
    return [f"smoke: pip-audit finds no data on {', '.join(unknown)}; fix: {remedy}"] if unknown else []


# Python code for the environment of a wheel that runs the cells of a tutorial: each is its kind, a file and its text.
_TUTORIAL = """
import json, pathlib, subprocess, sys
names = {"__name__": "__main__"}
for kind, file, text in json.load(sys.stdin):
    if kind == "file":
        pathlib.Path(file).write_text(text + "\\n", encoding="utf-8")
    elif kind == "bash":
        subprocess.run(["bash", "-e", "-x", "-c", text], check=True)
    elif kind == "picture":
        assert pathlib.Path(file).stat().st_size > 0, file
    else:
        exec(text, names)
"""
# Run by a wheel's Python: whether this machine can run the backends that the arguments name.
_HAS_BACKENDS = """
import sys
from ecnlab.backends import doctor
sys.exit(not all(map(doctor.run_backend_checks().is_backend_usable, sys.argv[1:])))
"""


def run_tutorials(wheel: Path | None = None) -> list[str]:
    """Run every command of the tutorials with a wheel and nothing else; returns what was left out. Raises ReleaseError."""
    import notebooks  # needs a reader of Markdown, which no other step does

    skipped = []
    with _installed(wheel, "tutorials", "[native]") as (scripts, empty):
        environment = {"PATH": os.pathsep.join([str(scripts), os.environ.get("PATH", "")]), "MPLBACKEND": "agg"}
        for page in notebooks.tutorial_pages():
            backends = [name for name in ("live", "uml") if f"--backend {name}" in page.read_text(encoding="utf-8")]
            if backends and subprocess.run([scripts / "python", "-c", _HAS_BACKENDS, *backends], cwd=empty, check=False).returncode:
                skipped.append(f"tutorials: {page.name} needs {' and '.join(backends)}; fix: ecnlab doctor says what is missing")
                continue
            folder = empty / page.stem
            folder.mkdir()
            cells = json.dumps([_tutorial_cell(cell) for cell in notebooks.cells_of(page) if cell.kind == "code"])
            print(f"tutorials: {page.name}", flush=True)
            command = [str(scripts / "python"), "-c", _TUTORIAL]
            if subprocess.run(command, input=cells, text=True, cwd=folder, env={**os.environ, **environment}, check=False).returncode:
                raise ReleaseError(f"tutorials: {page.name} failed")
    return skipped


def _tutorial_cell(cell: notebooks.Cell) -> tuple[str, str, str]:
    """The kind of a cell of a tutorial, its file and its text. No command waits for a quiet machine."""
    head, _, text = cell.source.partition("\n")
    if cell.picture:
        return "picture", cell.source.split('"')[1], ""
    if head.startswith("%%writefile "):
        return "file", head.split()[1], text
    if head.startswith("%%bash"):
        return "bash", "", text.replace("--backend live", "--backend live --lateness-budget '10 s'")
    return "python", "", cell.source


def run_step(step: str, names: Sequence[str], *, strict: bool) -> list[str]:
    """Run a step; returns what was left out. Raises ReleaseError."""
    skipped: list[str] = []
    if step in ("wheel", "emulate"):
        for name in names or (TARGETS if step == "wheel" else EMULATORS):
            try:
                (build_wheel if step == "wheel" else compare_emulated_fingerprints)(name)
            except MissingTool as error:
                skipped.append(str(error))
    elif step == "sdist":
        build_sdist()
    elif step == "rebuild":
        rebuild_from_sdist()
    elif step == "check":
        skipped += check_distributions()
    elif step == "crates":
        check_crates()
    elif step == "smoke":
        skipped += smoke_test(Path(names[0]).resolve() if names else None)
    elif step == "tutorials":
        skipped += run_tutorials(Path(names[0]).resolve() if names else None)
    if skipped and strict:
        raise ReleaseError("\n".join(skipped))
    return skipped


def main(arguments: Sequence[str]) -> int:
    """Run the steps that the arguments name; returns the exit code."""
    parser = argparse.ArgumentParser(description="Builds and checks the files of a release in dist/.")
    parser.add_argument("step", nargs="?", choices=("all", *STEPS), default="all")
    parser.add_argument("names", nargs="*", help="targets of wheel and emulate, or the wheel of smoke and tutorials")
    parser.add_argument("--strict", action="store_true", help="a missing tool is an error")
    given = parser.parse_args(arguments)
    allowed = {"wheel": TARGETS, "emulate": EMULATORS}.get(given.step, dict.fromkeys(given.names))
    unknown = [name for name in given.names if name not in allowed]
    if unknown:
        parser.error(f"unknown target {unknown[0]}; fix: use one of {', '.join(allowed)}")
    skipped: list[str] = []
    try:
        for step in STEPS if given.step == "all" else (given.step,):
            begin, before = time.monotonic(), os.times()
            skipped += run_step(step, given.names, strict=given.strict)
            after = os.times()
            computing_s = sum(after[:4]) - sum(before[:4])
            print(f"{step}: done in {time.monotonic() - begin:.0f} s, with {computing_s:.0f} s of processor time", flush=True)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    for one in skipped:
        print(f"left out: {one}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
