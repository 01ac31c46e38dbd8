"""The package on systems other than Linux: nothing that they lack is imported or called, and kernel hosts are refused with the reason."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import ecnlab
from ecnlab import _core
from ecnlab.backends.uml import build, kernels
from ecnlab.backends.uml.backend import Uml
from ecnlab.cli.root import root
from ecnlab.errors import BackendError
from ecnlab.netshell import run_in_running_shell

ABSENT_ON_WINDOWS = ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty")

# Imports the package a second time as on Windows, after the standard library and other packages were imported as on this system.
ON_WINDOWS = """
import importlib, os, pkgutil, signal, sys
import ecnlab
SKIPPED = ("ecnlab.backends.uml.guest", "ecnlab.backends.probe", "ecnlab.netshell.init")  # the first is no module of Python
def import_all():
    for module in pkgutil.walk_packages(ecnlab.__path__, "ecnlab."):
        if module.name not in SKIPPED and not module.name.startswith("ecnlab.examples"):
            importlib.import_module(module.name)
import_all()
engine = sys.modules["ecnlab._core"]
for name in [name for name in sys.modules if name.partition(".")[0] == "ecnlab"]:
    del sys.modules[name]
for name in ABSENT_ON_WINDOWS:
    sys.modules[name] = None
KEPT = ("SIGINT", "SIGTERM", "SIGABRT", "SIG_DFL", "SIG_IGN")
for name in [name for name in vars(signal) if name.startswith("SIG") and name not in KEPT]:
    delattr(signal, name)
for name in ("register_at_fork", "fork", "uname", "getuid", "geteuid", "sched_getaffinity", "O_NONBLOCK", "O_NOFOLLOW", "O_DIRECTORY",
             "memfd_create", "pidfd_open", "killpg"):
    delattr(os, name)
sys.platform = "win32"
engine.EMULATOR = None
sys.modules["ecnlab._core"] = engine
import ecnlab
"""

WRITES_FILES = """
from pathlib import Path
from ecnlab.storage import atomic
folder = Path(sys.argv[1])
atomic.is_process_alive = lambda process: process == os.getpid()
with atomic.locked_temporary_path(atomic.partial_path(folder / "kept"), folder=True) as kept, atomic.locked_temporary_path(
    folder / f".gone.1-00000000-1-{atomic.host_name_for_files()}.partial"
) as gone:
    atomic.remove_abandoned_partials(folder)
    print(kept.exists(), gone.exists())
    atomic.rename_with_retries(kept, folder / "kept")
atomic.write_atomically(folder / "file", b"1\\r\\n\\x1a2")
atomic.write_if_absent(folder / "file", b"other")
print(atomic.read_regular_file(folder / "file"))
print(sorted(path.name for path in folder.iterdir()))
"""


def _output_on_windows(script: str, *arguments: str) -> str:
    code = f"ABSENT_ON_WINDOWS = {ABSENT_ON_WINDOWS}\n{ON_WINDOWS}{script}"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_can_be_imported_without_what_windows_lacks() -> None:
    assert _output_on_windows("import_all()\nprint(ecnlab.storage.atomic.__name__)") == "ecnlab.storage.atomic\n"


def test_no_module_of_tests_imports_what_windows_lacks() -> None:
    for file in Path(__file__).parent.rglob("*.py"):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        imported = {name.name for statement in body if isinstance(statement, ast.Import) for name in statement.names}
        imported |= {statement.module for statement in body if isinstance(statement, ast.ImportFrom) and statement.module}
        assert not imported.intersection(ABSENT_ON_WINDOWS), file


def test_files_are_written_whole_without_locks_of_files(tmp_path: Path) -> None:
    assert _output_on_windows(WRITES_FILES, str(tmp_path)).splitlines() == [
        "True False",
        repr(b"1\r\n\x1a2"),
        "['file', 'kept']",
    ]


@pytest.fixture
def without_kernel_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "EMULATOR", None)


@pytest.mark.usefixtures("without_kernel_hosts")
@pytest.mark.parametrize("backend", ["live", "uml"])
def test_a_backend_with_kernel_hosts_is_refused_by_its_name(backend: str) -> None:
    result = CliRunner().invoke(root, ["run", "example:ecn", "--backend", backend])
    assert isinstance(result.exception, BackendError)
    assert str(result.exception).startswith(f"backend: {backend}: needs Linux, ")
    assert "; fix: " in str(result.exception)


def test_a_uml_kernel_is_refused_on_another_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    monkeypatch.setenv("ECNLAB_CACHE", str(tmp_path))
    message = "needs Linux on x86-64, and this machine is aarch64; fix: "
    with pytest.raises(BackendError, match=f"backend: uml: {message}"):
        Uml().identity()
    with pytest.raises(BackendError, match=f"uml build-kernel: {message}"):
        build.build_kernel(kernels.find_buildable_kernel("6.1"))


@pytest.mark.usefixtures("without_kernel_hosts")
def test_backends_as_objects_are_refused_too() -> None:
    scenario = ecnlab.load("example:ecn")
    with pytest.raises(BackendError, match="backend: live: needs Linux"):
        ecnlab.Live().refusals(scenario)
    with pytest.raises(BackendError, match="backend: live: needs Linux"):
        ecnlab.Live().identity()
    with pytest.raises(BackendError, match="backend: uml: needs Linux"):
        Uml().identity()


@pytest.mark.usefixtures("without_kernel_hosts")
def test_shells_and_the_build_of_a_kernel_are_refused() -> None:
    result = CliRunner().invoke(root, ["shell", "--rate", "10Mbps", "--", "true"])
    assert isinstance(result.exception, BackendError)
    assert str(result.exception).startswith("shell: needs Linux")
    with pytest.raises(BackendError, match="shell attach: needs Linux"):
        run_in_running_shell(1, "client", ["true"])
    with pytest.raises(BackendError, match="uml build-kernel: needs Linux"):
        build.build_kernel(kernels.find_buildable_kernel("6.1"))


@pytest.mark.usefixtures("without_kernel_hosts")
def test_the_simulator_needs_no_kernel(tmp_path: Path) -> None:
    result = CliRunner().invoke(root, ["run", "example:rfc2884", "--seeds", "1", "--out", str(tmp_path / "out"), "--quiet"])
    assert result.exit_code == 0, result.output
