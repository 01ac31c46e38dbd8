"""Building a UML kernel, up to the compiler's work."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep

import pytest
from click.testing import CliRunner

from ecnlab import _core
from ecnlab.backends.uml import build, kernels, process, recipe, source
from ecnlab.cli.root import root
from ecnlab.errors import BackendError, UnknownName

MAKEFILE = "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\nEXTRAVERSION =\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECNLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "uml"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return source_of("6.1", tmp_path / "linux-6.1.7")


def source_of(kernel: str, root: Path) -> Path:
    """The files of a kernel's source that the recipe reads."""
    for edit in recipe.source_edits(kernel):
        file = root / edit["file"]
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as text:
            text.write(edit["find"] + "\n")
    for name, content in {"Makefile": MAKEFILE, "Kconfig": "", "COPYING": ""}.items():
        (root / name).write_text(content)
    return root


def built_image(home: Path, name: str, built_s: float = 1.0, kernel: str = "6.1") -> Path:
    folder = home / name
    folder.mkdir(parents=True)
    about = {"kernel": kernel, "built_s": built_s, "version": "1", "sha256": ""}
    (folder / kernels.DESCRIPTION_FILE).write_text(json.dumps(about))
    (folder / kernels.KERNEL_FILE).write_text("a kernel")
    (folder / kernels.KERNEL_FILE).chmod(0o755)
    return folder


def test_the_newest_kernel_of_a_name_is_chosen_and_partial_ones_are_ignored(home: Path) -> None:
    built_image(home, "6.1.1-aa", 2.0)
    built_image(home, "6.1.2-bb", 1.0)
    (home / ".build.partial").mkdir()
    (home / "6.1.3-cc").mkdir()
    assert [one.name for one in kernels.built_kernels()] == ["6.1.2-bb", "6.1.1-aa"]
    assert kernels.find_built_kernel().name == "6.1.1-aa"
    assert kernels.find_built_kernel("6.1.2-bb").name == "6.1.2-bb"


def _kernel_with_digest(folder: Path) -> None:
    about = json.loads((folder / kernels.DESCRIPTION_FILE).read_text())
    digest = sha256((folder / kernels.KERNEL_FILE).read_bytes()).hexdigest()
    (folder / kernels.DESCRIPTION_FILE).write_text(json.dumps(about | {"program": digest}))


@pytest.mark.parametrize("damage", [lambda file: file.write_text("half a"), lambda file: file.unlink(), lambda file: file.chmod(0o644)])
def test_a_modified_kernel_is_refused_with_a_remedy(home: Path, damage: Callable[[Path], object]) -> None:
    folder = built_image(home, "6.1.1-aa")
    _kernel_with_digest(folder)
    assert kernels.find_built_kernel().is_image_intact
    damage(folder / kernels.KERNEL_FILE)
    with pytest.raises(
        BackendError, match=r"linux: differs from the kernel that was built; fix: run `ecnlab uml build-kernel --kernel 6\.1`"
    ):
        kernels.find_built_kernel()
    assert "(damaged)" in CliRunner().invoke(root, ["uml", "list"]).output


def test_a_kernel_that_is_built_again_takes_the_place_of_one_that_is_damaged(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".config").write_text("")
    (tmp_path / "COPYING").write_text("")
    shutil.copy(shutil.which("true") or "", tmp_path / "linux")
    about = {"kernel": "6.1", "built_s": 1.0, "version": "1", "sha256": ""}
    for number, damage in enumerate((None, kernels.DESCRIPTION_FILE, kernels.KERNEL_FILE)):
        if damage:
            (home / "6.1.1-aa" / damage).write_text("{")
        home.mkdir(parents=True, exist_ok=True)
        made = build._install_kernel(tmp_path, home / f".finished-{number}", home / "6.1.1-aa", dict(about))
        assert kernels.find_built_kernel() == made
    assert [folder.name for folder in home.glob("[!.]*")] == ["6.1.1-aa"]


@pytest.mark.parametrize(
    "about", ["[1]", '{"kernel": "6.1", "built_s": null}', '{"kernel": 6.1, "built_s": 1}', '{"kernel": "6.1", "built_s": 1}']
)
def test_a_kernel_whose_description_is_damaged_is_reported_and_hides_no_other(home: Path, about: str) -> None:
    built_image(home, "6.1.1-aa")
    (built_image(home, "6.1.2-bb", 3.0) / kernels.DESCRIPTION_FILE).write_text(about)
    assert kernels.find_built_kernel().name == "6.1.1-aa"
    assert kernels.kernel_folders_with_unreadable_description() == [home / "6.1.2-bb"]
    for words in (["uml", "list"], ["uml", "list", "--json"]):
        listed = CliRunner().invoke(root, words)
        assert (listed.exit_code, "6.1.1-aa" in listed.stdout, "6.1.2-bb" in listed.stdout) == (0, True, False)
        assert "about.json is damaged; fix: remove the folder" in " ".join(listed.stderr.split())


@pytest.mark.parametrize("place", [".", "6.1.1-aa", f"6.1.1-aa/{kernels.KERNEL_FILE}", f"6.1.1-aa/{kernels.DESCRIPTION_FILE}"])
def test_a_kernel_that_others_may_change_is_never_run(home: Path, place: str) -> None:
    built_image(home, "6.1.1-aa")
    path = home / place
    mode = path.stat().st_mode
    path.chmod(mode | 0o020)
    with pytest.raises(BackendError, match=r"others may write to it, .*; fix: chmod go-w"):
        kernels.find_built_kernel()
    path.chmod(mode)
    assert kernels.find_built_kernel().name == "6.1.1-aa"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("place", [".", "6.1.1-aa", f"6.1.1-aa/{kernels.KERNEL_FILE}"])
def test_a_kernel_of_another_user_is_never_run(home: Path, place: str) -> None:
    built_image(home, "6.1.1-aa")
    os.chown(home / place, 65534, 65534)
    with pytest.raises(
        BackendError, match=r"belongs to user 65534, .*; fix: build your own kernels, in the folder that ECNLAB_CACHE names"
    ):
        kernels.find_built_kernel()


def test_a_stale_package_is_named(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "linux-source-6.1_6.1.1-1_all.deb").write_text("stale")

    def download(command: list[str], folder: Path, remedy: str) -> None:
        (folder / "linux-source-6.1_6.1.2-1_all.deb").write_text("new")

    monkeypatch.setattr(source, "_run_source_command", download)
    monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/bin/{tool}")
    with pytest.raises(BackendError, match=r"one file linux-source-6\.1_VERSION_all\.deb.*6\.1\.1-1_all\.deb, .*6\.1\.2-1_all\.deb"):
        source.fetch_source(kernels.find_buildable_kernel("6.1"), tmp_path)


def test_a_kernel_that_is_not_built_says_how_it_is(home: Path) -> None:
    with pytest.raises(BackendError, match="ecnlab uml build-kernel"):
        kernels.find_built_kernel()
    with pytest.raises(BackendError, match=r"kernel: 7\.2 is not built yet; fix: run `ecnlab uml build-kernel --kernel 7\.2`"):
        kernels.find_built_kernel("7.2")
    with pytest.raises(UnknownName, match="UML kernel"):
        kernels.find_built_kernel("5.2")


def test_the_recipe_is_written_into_a_source_that_fits(tree: Path) -> None:
    recipe.apply_source_edits(tree, "6.1")
    assert "default 250" in (tree / "arch/um/Kconfig").read_text()
    assert "RFC 8511" in (tree / "net/ipv4/tcp_abe.c").read_text()


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_there_is_one_recipe_with_what_kernels_differ_in(kernel: str, tmp_path: Path) -> None:
    recipe.apply_source_edits(source_of(kernel, tmp_path / "linux"), kernel)
    others = [other for other in kernels.KERNELS if other != kernel]
    assert all(recipe.recipe_digest(other) != recipe.recipe_digest(kernel) for other in others)
    changed = [{edit["file"] for edit in recipe.source_edits(one)} for one in (kernel, *others)]
    assert all(files == changed[0] for files in changed)
    assert ("CONFIG_NET_SCH_DUALPI2=y" in recipe.kernel_config_lines(kernel)) == (kernel == "7.2")


def test_the_recipe_speaks_of_kernels_that_there_are() -> None:
    import tomllib

    edits = tomllib.loads((recipe.DATA_FOLDER / "edits.toml").read_text())["edit"]
    named = {kernel for edit in edits for kernel in edit.get("kernels", [])}
    named |= {
        kernel for line in (recipe.DATA_FOLDER / "box.config").read_text().splitlines() for kernel in line.partition("  # ")[2].split(", ")
    }
    assert named - {""} <= set(kernels.KERNELS)


def test_every_place_that_does_not_fit_is_named(tree: Path) -> None:
    (tree / "arch/um/Kconfig").write_text("")
    (tree / "init/main.c").unlink()
    with pytest.raises(BackendError) as refused:
        recipe.apply_source_edits(tree, "6.1")
    assert "arch/um/Kconfig" in str(refused.value)
    assert "init/main.c" in str(refused.value)


def test_an_option_that_the_configuration_dropped_is_named(tmp_path: Path) -> None:
    lines = recipe.kernel_config_lines("6.1")
    (tmp_path / "whole").write_text("\n".join(lines))
    (tmp_path / "less").write_text("\n".join(line for line in lines if "CODEL" not in line))
    recipe.require_config_matches_recipe(tmp_path / "whole", "6.1")
    with pytest.raises(BackendError, match="CONFIG_NET_SCH_FQ_CODEL=y"):
        recipe.require_config_matches_recipe(tmp_path / "less", "6.1")
    (tmp_path / "more").write_text("\n".join([*lines, "CONFIG_PTP_1588_CLOCK=y"]))
    with pytest.raises(BackendError, match="unwanted options are set: CONFIG_PTP_1588_CLOCK=y"):
        recipe.require_config_matches_recipe(tmp_path / "more", "6.1")


def test_a_source_is_taken_from_a_folder_or_an_archive_and_stays_as_it_is(tree: Path, tmp_path: Path) -> None:
    archive = tmp_path / "linux-6.1.7.tar.xz"
    with tarfile.open(archive, "w:xz") as file:
        file.add(tree, arcname="linux-6.1.7")
    for given in (tree, archive):
        room = tmp_path / f"room-{given.name}"
        room.mkdir()
        taken = source.unpack_or_copy_user_source(given, room)
        assert source.kernel_release(taken.tree) == "6.1.7"
        recipe.apply_source_edits(taken.tree, "6.1")
    assert "default 250" not in (tree / "arch/um/Kconfig").read_text()


def test_an_invalid_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged.tar.xz").write_bytes(b"nonsense")
    for name, says in {
        "empty": "not a Linux source tree; missing: Makefile",
        "damaged.tar.xz": "is not a tar archive, or is damaged",
        "missing": "missing does not exist",
    }.items():
        room = tmp_path / f"room-{name}"
        room.mkdir()
        with pytest.raises(BackendError, match=says):
            source.unpack_or_copy_user_source(tmp_path / name, room)


MAKE_SCRIPT = """
import os, sys
from pathlib import Path
from ecnlab.backends.uml import build
build._run_make(Path.cwd(), ["linux"], 1, None)
print("made", flush=True)
"""


@pytest.mark.real_time
def test_the_compiler_ends_with_its_parent_and_its_failure_is_reported(tmp_path: Path) -> None:
    def make(text: str) -> subprocess.Popen[str]:
        (tmp_path / "make").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "make").chmod(0o755)
        environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        command = [sys.executable, "-c", MAKE_SCRIPT]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    assert make("echo '  CC one.o'").communicate()[0] == "made\n"
    assert "`:\nno such file: error\n" in make("echo 'no such file: error'; exit 2").communicate()[1]
    # A process with children, like make, that writes its PID.
    with make("sleep 600 & echo $$ $! > running.partial; mv running.partial running; wait") as ended:
        wait_until(lambda: (tmp_path / "running").exists())
        ended.kill()
    wait_until(lambda: not any(map(is_running, (tmp_path / "running").read_text().split())))


def is_running(process: str) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds: Callable[[], bool]) -> None:
    end = monotonic() + 20
    while not holds():
        assert monotonic() < end
        sleep(0.02)


def test_what_building_needs_and_is_not_there_is_named_with_its_package(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackendError, match=r"apt-get install .*flex .*xz-utils"):
        build.build_kernel(kernels.find_buildable_kernel("6.1"))
    assert not home.exists()


def test_a_failed_build_reports_its_last_output_and_leaves_no_files(home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "Makefile").write_text(MAKEFILE + "tinyconfig:\n\t@echo the compiler is unwell; exit 1\n")
    monkeypatch.setattr(build, "package_by_missing_requirement", dict)
    with pytest.raises(BackendError, match="the compiler is unwell"):
        build.build_kernel(kernels.find_buildable_kernel("6.1"), tree)
    assert list(home.iterdir()) == []


def test_a_build_moves_the_finished_kernel_into_the_cache_atomically(home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = "tinyconfig:\n\ttrue > .config\nolddefconfig:\n\ttrue\nlinux:\n\tcp /bin/true linux\n"
    (tree / "Makefile").write_text(MAKEFILE + made)
    monkeypatch.setattr(build, "package_by_missing_requirement", dict)
    told: list[float] = []
    first = build.build_kernel(kernels.find_buildable_kernel("6.1"), tree, watch=lambda done, _total: told.append(done))
    assert (first.about["release"], first.about["known"]) == ("6.1.7", False)
    assert kernels.find_built_kernel() == first
    assert os.access(first.kernel_image_path, os.X_OK)
    assert sorted(file.name for file in first.folder.iterdir()) == ["COPYING", "about.json", "config", "linux", "tree.tar.gz"]
    assert [file.name for file in home.iterdir()] == [first.name]
    assert build.build_kernel(kernels.find_buildable_kernel("6.1"), tree) == first
    assert kernels.remove_built_kernel(first.name) == first
    assert kernels.built_kernels() == []


def test_a_kernel_of_the_recipe_is_found_and_one_of_another_recipe_is_built_again(
    home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "tinyconfig:\n\ttrue > .config\nolddefconfig:\n\ttrue\nlinux:\n\tcp /bin/true linux\n"
    (tree / "Makefile").write_text(MAKEFILE + made)
    monkeypatch.setattr(build, "package_by_missing_requirement", dict)
    assert not kernels.newest_plain_kernel("6.1")
    first = build.build_kernel(kernels.find_buildable_kernel("6.1"), tree)
    assert kernels.newest_plain_kernel("6.1")
    assert not kernels.newest_plain_kernel("6.12")
    with monkeypatch.context() as changed:
        options = recipe.kernel_config_lines
        changed.setattr(recipe, "kernel_config_lines", lambda kernel: [*options(kernel), "# CONFIG_OTHER is not set"])
        assert not kernels.newest_plain_kernel("6.1")
        assert kernels.find_built_kernel() == first, "which is not refused: it is what its description says"
        second = build.build_kernel(kernels.find_buildable_kernel("6.1"), tree)
        assert second.name != first.name
        assert kernels.newest_plain_kernel("6.1")
        assert kernels.find_built_kernel() == second
    assert kernels.newest_plain_kernel("6.1")
    assert kernels.find_built_kernel() == first, "although another is newer"
    first.kernel_image_path.write_text("half a")
    assert not kernels.newest_plain_kernel("6.1")


def test_the_command_lists_kernels(home: Path) -> None:
    from ecnlab.cli.root import root

    assert "ecnlab uml build-kernel" in CliRunner().invoke(root, ["uml", "list"]).output
    built_image(home, "6.1.1-aa")
    assert json.loads(CliRunner().invoke(root, ["uml", "list", "--json"]).output)[0]["name"] == "6.1.1-aa"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source checkout in which nothing is built."""
    folder = tmp_path / "checkout"
    (folder / "crates" / "uml_guest").mkdir(parents=True)
    (folder / "crates" / "uml_guest" / "Cargo.toml").touch()
    monkeypatch.setattr(process, "_SOURCE_CHECKOUT", folder)
    monkeypatch.setattr(process, "GUEST_PROGRAM", folder / "guest.so.gz")
    return folder


ENGINE_BUILDS = f"{_core.BUILD}{_core.EMULATOR}{_core.GUEST}"


def _makefile_of_program(builds: str) -> str:
    return f"guest:\n\t@test ! -e guest.so.gz && printf 'program: ecnlab guest of {builds}.' | gzip > guest.so.gz\n"


def test_the_guest_program_is_built_once_in_a_source_checkout(checkout: Path) -> None:
    (checkout / "Makefile").write_text(_makefile_of_program(ENGINE_BUILDS))
    assert [build.build_guest_program_if_outdated(), build.build_guest_program_if_outdated()] == [True, False]
    assert process.read_guest_program() == f"program: ecnlab guest of {ENGINE_BUILDS}.".encode()


def test_a_guest_program_of_other_sources_is_built_again(checkout: Path) -> None:
    (checkout / "Makefile").write_text(_makefile_of_program(ENGINE_BUILDS))
    others = [f"ecnlab guest of {ENGINE_BUILDS[:at]}{'0' * 16}{ENGINE_BUILDS[at + 16 :]}" for at in (0, 16, 32)]
    for other in (*map(gzip.compress, map(str.encode, [*others, "of no build"])), b"damaged"):
        (checkout / "guest.so.gz").write_bytes(other)
        assert build.build_guest_program_if_outdated()
        assert process.is_program_current()


def test_an_engine_of_other_sources_than_the_checkout_is_reported_with_both_builds(checkout: Path) -> None:
    (checkout / "Makefile").write_text(_makefile_of_program("0123456789abcdef" * 3))
    engine = f"{_core.BUILD}-{_core.EMULATOR}-{_core.GUEST}"
    built = "-".join(["0123456789abcdef"] * 3)
    expected = f"is of build {built}, and the engine of {engine}; fix: run `make setup guest` in {checkout}"
    with pytest.raises(BackendError, match=re.escape(expected)):
        build.build_guest_program_if_outdated()


def test_a_failed_build_of_the_guest_program_is_reported_with_its_output(checkout: Path) -> None:
    (checkout / "Makefile").write_text("guest:\n\t@echo no compiler >&2; exit 1\n")
    with pytest.raises(BackendError, match=r"building the guest program failed; output of `make guest` in .*:\nno compiler"):
        build.build_guest_program_if_outdated()


def test_a_missing_guest_program_has_a_remedy_for_checkouts_and_for_installed_packages(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert process.missing_program_remedy() == f"run `make guest` in {checkout}"
    monkeypatch.setattr(process, "_SOURCE_CHECKOUT", checkout.parent)
    assert not build.build_guest_program_if_outdated()
    assert str(process.missing_program_error()).endswith("the guest program is missing; fix: install a wheel of ecnlab for Linux on x86-64")
