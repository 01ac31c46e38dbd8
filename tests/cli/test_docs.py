"""`ecnlab docs`: where the pages are, without a browser."""

import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

import site_archive
from ecnlab.browser import page
from ecnlab.cli import docs
from helpers import Outcome


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the package has its pages; the file does not exist yet."""
    monkeypatch.setattr(docs, "SITE_ARCHIVE", tmp_path / "site.zip")
    monkeypatch.setenv("ECNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(page, "single_file", lambda config: "<h1>The laboratory</h1>")
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    (tmp_path / page.MODULE).touch()
    return tmp_path / "site.zip"


@pytest.fixture
def packed(archive: Path, tmp_path: Path) -> Path:
    """The packed pages."""
    (tmp_path / "built" / "about").mkdir(parents=True)
    (tmp_path / "built" / "index.html").write_text("<h1>ecnlab</h1>")
    (tmp_path / "built" / "search.json").write_text("{}")
    (tmp_path / "built" / "lab.html").write_text("<h1>The laboratory of another build</h1>")
    (tmp_path / "built" / "about" / "index.html").write_text("<h1>About</h1>")
    site_archive.write_archive(tmp_path / "built", archive)
    return archive


def test_pages_that_were_not_built_are_one_error_with_its_fix(command: Callable[..., Outcome], archive: Path) -> None:
    for options in ([], ["--path"]):
        done = command("docs", *options)
        assert (done.code, done.out) == (2, "")
        assert done.err == "docs: this checkout has no built pages; fix: run make site\n"


def test_the_pages_are_unpacked_once_into_the_printed_folder(command: Callable[..., Outcome], packed: Path) -> None:
    folder = Path(command("docs", "--path").out.rstrip("\n"))
    assert folder.is_relative_to(packed.parent / "cache")
    assert sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.*")) == ["about/index.html", "index.html", "lab.html"]
    assert (folder / "lab.html").read_text() == "<h1>The laboratory</h1>"
    (folder / "about" / "index.html").unlink()
    assert command("docs", "--path").out == f"{folder}\n"
    assert not (folder / "about" / "index.html").exists()
    assert list(folder.parent.iterdir()) == [folder]


def test_other_pages_have_another_folder(command: Callable[..., Outcome], packed: Path, tmp_path: Path) -> None:
    first = command("docs", "--path").out
    (tmp_path / "built" / "index.html").write_text("<h1>ecnlab of another version</h1>")
    site_archive.write_archive(tmp_path / "built", packed)
    assert command("docs", "--path").out != first


def test_a_browser_opens_the_first_page_as_a_file(command: Callable[..., Outcome], packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(opened.append(url)) or True)
    assert command("docs").code == 0
    assert opened == [(Path(command("docs", "--path").out.rstrip("\n")) / "index.html").as_uri()]


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
