"""What a release contains: licences, notices, the README of an index, and the checks of wheels themselves."""

import gzip
import json
import os
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

import build_backend
import index_readme
import notebooks
import release
import third_party
from ecnlab.backends.uml import recipe

ROOT = release.ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
METADATA = f"Metadata-Version: 2.4\nName: ecnlab\nVersion: 0.1.0\nLicense-Expression: {release.LICENCE}\n"


def _wheel(folder: Path, tag: str, left_out: str = "", more: tuple[str, ...] = (), metadata: str = METADATA) -> Path:
    """A wheel with empty files, as far as the checks look at it."""
    path = folder / f"ecnlab-0.1.0-cp311-abi3-{tag}.whl"
    target = release.target_of_wheel(path)
    names = [*release.REQUIRED_FILES, target.engine, *more]
    names += [f"ecnlab-0.1.0.dist-info/licenses/{name}" for name in release.REQUIRED_TEXTS]
    with zipfile.ZipFile(path, "w") as wheel:
        for name in names:
            if name != left_out:
                wheel.writestr(name, "")
        wheel.writestr("ecnlab-0.1.0.dist-info/METADATA", metadata)
        wheel.writestr("ecnlab-0.1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-abi3-{tag}\n")
        wheel.writestr("ecnlab-0.1.0.dist-info/RECORD", "")
    return path


def test_the_licence_of_the_package_names_the_files_for_the_kernel() -> None:
    assert PROJECT["license"] == release.LICENCE
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])
    assert {Path(name).name for name in PROJECT["license-files"]} == set(release.REQUIRED_TEXTS)
    in_kernel = [path for path in recipe.DATA_FOLDER.iterdir() if path.suffix == ".c"]
    assert in_kernel
    assert all(path.read_text().startswith("// SPDX-License-Identifier: GPL-2.0") for path in in_kernel)
    page = (ROOT / "docs" / "about" / "licence.md").read_text()
    assert all(f"`{path.name}`" in page for path in in_kernel)


def test_the_notices_name_every_crate_that_is_compiled_in() -> None:
    assert third_party.check() == 0


def test_a_crate_without_notice_and_one_that_is_gone_are_found() -> None:
    text = f"{third_party._HEAD}\none 1.0: MIT\ntwo 2.0: MIT\n\n{'=' * 80}\none 1.0\n"
    assert third_party.missing_and_outdated_lines(text, {"one 1.0: MIT", "three 3.0: MIT"}, {"one 1.0", "three 3.0"}) == (
        {"three 3.0: MIT"},
        {"two 2.0: MIT"},
    )


def test_every_notice_with_a_choice_other_than_apache_has_its_text() -> None:
    text = third_party.NOTICES.read_text(encoding="utf-8")
    listed = third_party.listed_crates(text)
    with_text = set(re.findall(r"^={80}\n(.*)\n={80}$", text, re.MULTILINE))
    named = {name for line in with_text for name in line.split(", ")}
    assert {line for line in listed if "Apache-2.0" not in line and line.partition(":")[0] not in named} == set()


def test_the_readme_of_the_index_is_that_of_the_repository_without_its_links() -> None:
    text = index_readme.INDEX_README.read_text(encoding="utf-8")
    assert text == index_readme.index_readme(index_readme.README.read_text(encoding="utf-8")), "run python tools/index_readme.py"
    assert re.findall(r"\]\((?!https?://)[^)]*\)", text) == []
    assert "ecnlab docs" in text
    assert "pip install ecnlab" in text
    assert "make demo" not in text


@pytest.mark.parametrize(
    ("tag", "more"),
    [
        ("manylinux_2_28_x86_64", (release.GUEST_IN_WHEEL,)),
        ("manylinux_2_28_aarch64", ()),
        ("macosx_11_0_arm64", ()),
        ("win_amd64", ()),
    ],
)
def test_a_complete_wheel_passes(tag: str, more: tuple[str, ...], tmp_path: Path) -> None:
    release.require_contents(_wheel(tmp_path, tag, more=more))


@pytest.mark.parametrize(
    ("tag", "changes", "message"),
    [
        ("manylinux_2_28_x86_64", {}, f"lacks {release.GUEST_IN_WHEEL}"),
        ("linux_x86_64", {}, f"lacks {release.GUEST_IN_WHEEL}"),
        ("manylinux_2_28_aarch64", {"more": (release.GUEST_IN_WHEEL,)}, "which is for another system"),
        ("win_amd64", {"left_out": "ecnlab/_core.pyd"}, "lacks ecnlab/_core.pyd"),
        ("macosx_11_0_arm64", {"left_out": "ecnlab/examples/ecn.toml"}, "lacks ecnlab/examples/ecn.toml"),
        ("macosx_11_0_arm64", {"left_out": "ecnlab-0.1.0.dist-info/licenses/THIRD-PARTY.txt"}, "lacks the text THIRD-PARTY.txt"),
        ("macosx_11_0_arm64", {"metadata": METADATA.replace(" AND GPL-2.0-only", "")}, "its licence is not"),
    ],
)
def test_an_incomplete_wheel_is_refused_with_what_it_lacks(tag: str, changes: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(release.ReleaseError, match=re.escape(message)):
        release.require_contents(_wheel(tmp_path, tag, **changes))  # type: ignore[arg-type]


def test_the_wheel_for_windows_has_the_python_files_of_another_and_its_own_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "DIST", tmp_path)
    other = _wheel(tmp_path, "manylinux_2_28_x86_64", more=(release.GUEST_IN_WHEEL,))
    made = release.write_wheel_with_engine(other, b"engine", release.TARGETS["windows-x86_64"])
    release.require_contents(made)
    with zipfile.ZipFile(made) as wheel:
        assert wheel.read("ecnlab/_core.pyd") == b"engine"
        assert b"Tag: cp311-abi3-win_amd64\n" in wheel.read("ecnlab-0.1.0.dist-info/WHEEL")
        recorded = [line.split(",")[0] for line in wheel.read("ecnlab-0.1.0.dist-info/RECORD").decode().splitlines()]
        assert sorted(recorded) == sorted(wheel.namelist())


def _audit(folder: Path, monkeypatch: pytest.MonkeyPatch, packages: list[dict[str, object]]) -> list[str]:
    """What the check of packages leaves out if pip-audit reports these."""
    program = folder / "pip-audit"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps({'dependencies': packages})}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return release.audit_packages("packages")


def test_a_known_vulnerability_of_a_dependency_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = [{"name": "ecnlab", "skip_reason": "not found"}, {"name": "one", "vulns": [{"id": "PYSEC-1"}]}, {"name": "two", "vulns": []}]
    with pytest.raises(release.ReleaseError, match="vulnerabilities are known of one: PYSEC-1; fix: "):
        _audit(tmp_path, monkeypatch, packages)


def test_packages_without_data_on_vulnerabilities_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = [{"name": "ecnlab", "skip_reason": "not found"}, {"name": "one", "skip_reason": "not found"}, {"name": "two", "vulns": []}]
    (skipped,) = _audit(tmp_path, monkeypatch, packages)
    assert skipped.startswith("smoke: pip-audit finds no data on one; fix: ")
    assert _audit(tmp_path, monkeypatch, [{"name": "setuptools", "vulns": [{"id": "PYSEC-1"}]}, {"name": "two", "vulns": []}]) == []


def test_a_cell_of_a_tutorial_is_a_file_commands_a_picture_or_python() -> None:
    cells = [
        notebooks.Cell("code", "%%writefile a.toml\nb = 1"),
        notebooks.Cell("code", "%%bash -e\necnlab run a.toml"),
        notebooks.Cell("code", 'from IPython.display import SVG\n\nSVG("b.svg")', picture="figures/b.svg"),
        notebooks.Cell("code", "c = 1"),
    ]
    assert [release._tutorial_cell(cell) for cell in cells] == [
        ("file", "a.toml", "b = 1"),
        ("bash", "", "ecnlab run a.toml"),
        ("picture", "b.svg", ""),
        ("python", "", "c = 1"),
    ]


def test_a_missing_tool_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(release.MissingTool, match=r"wheel x: maturin is not installed; fix: pip install -r requirements-release\.lock"):
        release.require_tool("wheel x", "maturin", "pip install -r requirements-release.lock")


def test_a_build_of_the_package_makes_the_guest_program_where_there_is_one() -> None:
    assert build_backend.has_guest("Linux", "x86_64")
    assert not build_backend.has_guest("Linux", "aarch64")
    assert not build_backend.has_guest("Darwin", "x86_64")


def test_the_addresses_of_the_project_are_read_from_the_wheel(tmp_path: Path) -> None:
    assert release._project_urls(_wheel(tmp_path, "win_amd64")) == []
    address = "Source, https://example.org/source"
    assert release._project_urls(_wheel(tmp_path, "win_amd64", metadata=f"{METADATA}Project-URL: {address}\n")) == [address]


def test_auditwheel_sees_the_guest_program_of_a_wheel(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path, "manylinux_2_28_x86_64")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(release.GUEST_IN_WHEEL, gzip.compress(b"program"))
    (tmp_path / "copy").mkdir()
    copy = release._with_unpacked_guest(wheel, tmp_path / "copy")
    assert copy.name == wheel.name
    with zipfile.ZipFile(copy) as archive:
        assert archive.read("ecnlab/backends/uml/guest.so") == b"program"


@pytest.mark.parametrize("status", [0, 1])
def test_the_fingerprints_of_a_wheel_of_another_system_are_compared_by_its_python(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(release, "DIST", tmp_path)
    monkeypatch.setattr(release, "EMULATORS", {"linux-aarch64": release.Emulator("qemu-aarch64", "QEMU_LD_PREFIX", ())})
    _wheel(tmp_path, "manylinux_2_28_aarch64")
    program, python = tmp_path / "qemu-aarch64", tmp_path / "usr" / "bin" / "python3.11"
    program.write_text(f'#!/bin/sh\nls "$PYTHONPATH/ecnlab/py.typed" && echo "$@"\nexit {status}\n')
    program.chmod(0o755)
    python.parent.mkdir(parents=True)
    python.touch()
    monkeypatch.setenv("QEMU_LD_PREFIX", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    if status:
        with pytest.raises(release.ReleaseError, match="qemu-aarch64 failed"):
            release.compare_emulated_fingerprints("linux-aarch64")
    else:
        release.compare_emulated_fingerprints("linux-aarch64")
    assert f"py.typed\n{python} -m ecnlab validate fingerprints\n" in capfd.readouterr().out


def test_an_emulator_without_a_python_is_left_out_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "wine"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WINE_PYTHON", raising=False)
    (skipped,) = release.run_step("emulate", ["windows-x86_64"], strict=False)
    assert skipped == "emulate windows-x86_64: there is no Python for wine; fix: set WINE_PYTHON, as CONTRIBUTING.md says"


def test_the_published_crates_need_no_other_crate_of_the_project() -> None:
    for crate in release.PUBLISHED_CRATES:
        manifest = tomllib.loads((ROOT / "crates" / crate.removeprefix("ecnlab-") / "Cargo.toml").read_text(encoding="utf-8"))
        assert {name for name in manifest["dependencies"] if name.startswith("ecnlab-")} <= set(release.PUBLISHED_CRATES)
        assert {"description", "license", "readme", "keywords", "categories"} <= manifest["package"].keys()
