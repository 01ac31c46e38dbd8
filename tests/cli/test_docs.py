"""`ecnlab docs`: where the pages are, without a browser."""

import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

from ecnlab.cli import docs
from helpers import Outcome


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(docs, "SITE", tmp_path / "site")
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


def test_pages_that_were_not_built_are_one_error_with_its_fix(command: Callable[..., Outcome], site: Path) -> None:
    for options in ([], ["--path"]):
        done = command("docs", *options)
        assert (done.code, done.out) == (2, "")
        assert done.err == "docs: this checkout has no built pages; fix: run make site\n"


def test_the_folder_of_the_pages_is_printed(command: Callable[..., Outcome], site: Path) -> None:
    (site / "index.html").write_text("<h1>ecnlab</h1>")
    assert command("docs", "--path").out == f"{site}\n"


def test_a_browser_opens_the_first_page_as_a_file(command: Callable[..., Outcome], site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site / "index.html").write_text("<h1>ecnlab</h1>")
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(opened.append(url)) or True)
    assert command("docs").code == 0
    assert opened == [(site / "index.html").as_uri()]


def test_without_a_browser_the_error_names_the_page(command: Callable[..., Outcome], site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site / "index.html").write_text("<h1>ecnlab</h1>")
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    done = command("docs")
    assert done.code == 2
    assert (site / "index.html").as_uri() in done.err
