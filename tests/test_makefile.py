"""The Makefile, in a folder whose tools only note how they were called."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ecnlab.browser import page

ROOT = Path(__file__).parents[1]
NOTES_CALL = '#!/bin/sh\necho "${0##*/} $*" >>calls\n'

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a virtual environment in which nothing is installed."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.lock").write_text("maturin==1\n")
    for file in ("pyproject.toml", "Cargo.toml", "Cargo.lock"):
        (tmp_path / file).touch()
    for tool in (".venv/bin/python", ".venv/bin/maturin", "bin/cargo", "bin/python3"):
        (tmp_path / tool).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / tool).write_text(NOTES_CALL)
        (tmp_path / tool).chmod(0o755)
    return tmp_path


def make(checkout: Path, *arguments: str) -> tuple[int, Sequence[str]]:
    """The exit code of a call of make, and the installations of packages in it but for maturin."""
    (checkout / "calls").unlink(missing_ok=True)
    environment = {**os.environ, "PATH": f"{checkout / 'bin'}:{os.environ['PATH']}"}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):  # of a make that runs the tests
        environment.pop(name, None)
    done = subprocess.run(["make", *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    calls = (checkout / "calls").read_text().splitlines() if (checkout / "calls").exists() else []
    return done.returncode, [call.split("check ", 1)[1] for call in calls if "--requirement" in call]


@pytest.mark.parametrize("jobs", ["-j1", "-j4"])
def test_packages_are_installed_once_and_again_after_a_change_of_the_lock_file(checkout: Path, jobs: str) -> None:
    assert make(checkout, jobs, "setup") == (0, ["--requirement requirements.lock"])
    assert make(checkout, jobs, "setup") == (0, [])
    lock = checkout / "requirements.lock"
    newest = max(file.stat().st_mtime_ns for file in (checkout / ".venv").iterdir())
    os.utime(lock, ns=(newest + 1, newest + 1))
    assert make(checkout, jobs, "setup") == (0, ["--requirement requirements.lock"])
    assert make(checkout, jobs, "setup") == (0, [])


def test_a_guest_program_that_was_written_in_part_is_removed(checkout: Path) -> None:
    guest = checkout / "python" / "ecnlab" / "backends" / "uml" / "guest.so.gz"
    guest.parent.mkdir(parents=True)
    for tool, text in {"uname": "#!/bin/sh\necho Linux x86_64\n", "gzip": "#!/bin/sh\necho half; exit 1\n"}.items():
        (checkout / "bin" / tool).write_text(text)
        (checkout / "bin" / tool).chmod(0o755)
    assert make(checkout, "guest")[0] == 2
    assert not guest.exists()


def test_clean_removes_what_earlier_versions_wrote(checkout: Path) -> None:
    package = checkout / "python" / "ecnlab"
    (package / "site" / "how-to").mkdir(parents=True)
    (package / "backends" / "uml").mkdir(parents=True)
    (package / "backends" / "uml" / "guest.so").touch()
    assert make(checkout, "clean")[0] == 0
    assert [path.name for path in package.rglob("*")] == ["backends", "uml"]


def test_the_site_asks_for_the_laboratory_by_a_function_that_exists() -> None:
    called = re.findall(r"from ecnlab\.browser import page; page\.(\w+)\(\)", (ROOT / "Makefile").read_text())
    assert [callable(getattr(page, name, None)) for name in called] == [True]
