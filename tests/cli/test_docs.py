"""`ecnlab docs`: where the pages are, without a browser."""

import gzip
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

import site_archive
from ecnlab import _core
from ecnlab.browser import page
from ecnlab.cli import docs
from ecnlab.errors import UsageError
from ecnlab.storage import atomic
from helpers import Outcome


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the package has its pages; the file does not exist yet."""
    monkeypatch.setattr(docs, "SITE_ARCHIVE", tmp_path / "site.zip")
    monkeypatch.setenv("ECNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(page, "FOLDER", tmp_path / "lab")
    return tmp_path / "site.zip"


@pytest.fixture
def laboratory(archive: Path) -> Path:
    """The folder of the laboratory, with an engine of this build."""
    config = '<script type="application/json" id="ecnlab-config"></script>'
    page.FOLDER.mkdir()
    (page.FOLDER / page.PAGE).write_text(f"<h1>The laboratory</h1>{config}")
    (page.FOLDER / page.WORKER).write_text("start();")
    write_module(_core.BUILD)
    return page.FOLDER


def write_module(build: str) -> None:
    """A WebAssembly module with the section that names its engine's build."""
    section = bytes([len(b"ecnlab-build")]) + b"ecnlab-build" + build.encode()
    (page.FOLDER / page.PACKED_MODULE).write_bytes(gzip.compress(b"\0asm\1\0\0\0\0" + bytes([len(section)]) + section))


@pytest.fixture
def packed(archive: Path, laboratory: Path, tmp_path: Path) -> Path:
    """The packed pages."""
    for name, text in {
        "index.html": "<h1>ecnlab</h1>",
        "search.json": "{}",
        "lab.html": "<h1>The laboratory of another build</h1>",
        "about/index.html": "<h1>About</h1>",
        "how-to/lab.html": "<h1>How to use the laboratory</h1>",
    }.items():
        (tmp_path / "built" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "built" / name).write_text(text)
    site_archive.write_archive(tmp_path / "built", archive)
    return archive


def unpacked(command: Callable[..., Outcome]) -> Path:
    """The folder that the command prints."""
    done = command("docs", "--path")
    assert (done.code, done.err) == (0, "")
    return Path(done.out.rstrip("\n"))


def files(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.*"))


def test_pages_that_were_not_built_are_one_error_with_its_fix(command: Callable[..., Outcome], archive: Path) -> None:
    for options in ([], ["--path"]):
        done = command("docs", *options)
        assert (done.code, done.out) == (2, "")
        assert done.err == "docs: this checkout has no built pages; fix: run make site\n"


def test_the_pages_are_unpacked_once_into_the_printed_folder(command: Callable[..., Outcome], packed: Path) -> None:
    folder = unpacked(command)
    assert folder.is_relative_to(packed.parent / "cache")
    assert files(folder) == ["about/index.html", "how-to/lab.html", "index.html", "lab.html"]
    assert (folder / "lab.html").read_text().startswith("<h1>The laboratory</h1>")
    assert (folder / "how-to" / "lab.html").read_text() == "<h1>How to use the laboratory</h1>"
    (folder / "about" / "index.html").unlink()
    assert unpacked(command) == folder
    assert not (folder / "about" / "index.html").exists()
    assert list(folder.parent.iterdir()) == [folder]


def test_other_pages_replace_those_of_an_earlier_version(command: Callable[..., Outcome], packed: Path, tmp_path: Path) -> None:
    first = unpacked(command)
    (first.parent / "uml").mkdir()
    (tmp_path / "built" / "index.html").write_text("<h1>ecnlab of another version</h1>")
    site_archive.write_archive(tmp_path / "built", packed)
    second = unpacked(command)
    assert (second / "index.html").read_text() == "<h1>ecnlab of another version</h1>"
    assert [folder.name for folder in sorted(first.parent.glob("[!.]*"))] == [second.name, "uml"]


def test_a_laboratory_that_was_built_again_is_unpacked_again(command: Callable[..., Outcome], packed: Path, laboratory: Path) -> None:
    first = unpacked(command)
    (laboratory / page.WORKER).write_text("start_again();")
    second = unpacked(command)
    assert second != first
    assert "start_again();" in (second / "lab.html").read_text()


def test_a_laboratory_of_another_build_is_left_out_until_it_is_built_again(command: Callable[..., Outcome], packed: Path) -> None:
    write_module("0123456789abcdef")
    folder = unpacked(command)
    assert files(folder) == ["about/index.html", "how-to/lab.html", "index.html"]
    write_module(_core.BUILD)
    assert "lab.html" in files(unpacked(command))


def test_pages_without_a_laboratory_are_unpacked(command: Callable[..., Outcome], packed: Path, laboratory: Path) -> None:
    (laboratory / page.PACKED_MODULE).unlink()
    assert files(unpacked(command)) == ["about/index.html", "how-to/lab.html", "index.html"]


def test_pages_that_another_process_unpacks_at_the_same_time_are_used(
    command: Callable[..., Outcome], packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename_after_another(path: Path, target: Path) -> None:
        target.mkdir()
        (target / "index.html").write_text("<h1>ecnlab of the other process</h1>")
        path.replace(target)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "rename_with_retries", rename_after_another)
        folder = unpacked(command)
    assert (folder / "index.html").read_text() == "<h1>ecnlab of the other process</h1>"
    assert list(folder.parent.iterdir()) == [folder]


def test_a_damaged_archive_is_one_error_with_its_fix(command: Callable[..., Outcome], packed: Path) -> None:
    packed.write_bytes(packed.read_bytes()[:-9])
    done = command("docs", "--path")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"{packed}: the archive of the pages is damaged (")
    assert done.err.endswith("); fix: run make site in a checkout, or install ecnlab again\n")
    assert list((packed.parent / "cache").iterdir()) == []


def test_no_damaged_byte_of_an_archive_is_another_exception(packed: Path, tmp_path: Path) -> None:
    whole = packed.read_bytes()
    refused = 0
    for at in range(len(whole)):
        for inverted in (1 << (at % 8), 0xFF):
            try:
                docs._extract_archive(whole[:at] + bytes([whole[at] ^ inverted]) + whole[at + 1 :], tmp_path / "extracted")
            except UsageError:
                refused += 1
    assert refused > len(whole), "of twice as many; times and attributes have no checksum"


def test_a_browser_opens_the_first_page_as_a_file(command: Callable[..., Outcome], packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(opened.append(url)) or True)
    assert command("docs").code == 0
    assert opened == [(unpacked(command) / "index.html").as_uri()]


def test_without_a_browser_the_error_names_the_page(command: Callable[..., Outcome], packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    done = command("docs")
    assert done.code == 2
    assert "/index.html in one" in done.err


def test_a_cache_folder_that_cannot_be_written_is_named(
    command: Callable[..., Outcome], packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ECNLAB_CACHE", str(tmp_path / "file"))
    done = command("docs")
    assert done.code == 2
    assert done.err.endswith("; fix: set ECNLAB_CACHE to another folder\n")
