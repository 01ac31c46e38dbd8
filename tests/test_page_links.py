"""No link of a page is broken, in the sources and on the site."""

import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml

import ecnlab
import links

PAGES = links.ROOT / "docs"


def test_no_link_of_a_page_is_broken() -> None:
    assert links.broken_in_sources(links.source_pages()) == []


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("[a](missing.md)", "missing.md: no such file"),
        ("![a](missing.svg)", "missing.svg: no such file"),
        ("[a](other.md#nothing)", "other.md#nothing: no such heading"),
        ("[a](#nothing)", "#nothing: no such heading"),
        ("[a](../README.md)", "../README.md: outside of docs/; fix: link to a page of the site"),
        ("| a |\n| - |\n| [a](missing.md) |", "missing.md: no such file"),
        ("[a](other.md#twice)", "other.md#twice: no such heading"),
        ("[a](other.md#a--b)", "other.md#a--b: no such heading"),
    ],
)
def test_a_broken_link_of_a_source_is_found(tmp_path: Path, link: str, problem: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Read me")
    (tmp_path / "docs" / "other.md").write_text("# Other\n## `one`, two\n## Twice\n## Twice\n## A & B\n")
    page = tmp_path / "docs" / "page.md"
    sound = "[a](other.md#one-two) [b](#page) [c](https://example.org/x) `[d](no.md)`\n\n    [e](no.md)\n"
    page.write_text(f"# Page\n\n{sound}")
    assert links.broken_in_sources([page], tmp_path) == []
    page.write_text(f"# Page\n\n{sound}\n{link}\n")
    assert links.broken_in_sources([page], tmp_path) == [f"docs/page.md: {problem}"]


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ("<a href='missing.html'>", "missing.html: no such file"),
        ("<a href='other.html#nothing'>", "other.html#nothing: no such anchor"),
        ("<a href='sub/'>", "sub/: a folder, which a browser does not open from file://"),
        ("<img src='missing.svg'>", "missing.svg: no such file"),
        ("<script src='https://example.org/x.js'></script>", "https://example.org/x.js: loaded from another server"),
        ("<link rel='stylesheet' href='//example.org/x.css'>", "//example.org/x.css: loaded from another server"),
    ],
)
def test_a_broken_link_of_the_site_is_found(tmp_path: Path, element: str, problem: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "other.html").write_text("<h2 id='one'>One</h2>")
    page = tmp_path / "page.html"
    sound = "<a href='other.html#one'></a><a href='https://example.org'></a><a href='mailto:a@example.org'></a>"
    page.write_text(sound)
    assert links.broken_in_site(tmp_path) == []
    page.write_text(sound + element)
    assert links.broken_in_site(tmp_path) == [f"page.html: {problem}"]


def test_the_navigation_has_each_page_once() -> None:
    config = yaml.safe_load((links.ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    named = list(_pages_of(config["nav"]))
    assert sorted(named) == sorted(page.relative_to(PAGES).as_posix() for page in PAGES.rglob("*.md"))


def _names_on_api_pages() -> list[str]:
    pages = (page.read_text(encoding="utf-8") for page in sorted((PAGES / "reference" / "python").glob("*.md")))
    return [name for text in pages for name in re.findall(r"^::: (ecnlab(?:\.\w+)+)$", text, re.MULTILINE)]


def _pages_of(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    below = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else []
    return [page for one in below for page in _pages_of(one)]


def test_the_pages_of_the_python_api_have_each_public_name_once() -> None:
    named = _names_on_api_pages()
    assert sorted(name.removeprefix("ecnlab.") for name in named if name.count(".") == 1) == sorted(ecnlab.__all__)


@pytest.mark.parametrize("name", [name for name in _names_on_api_pages() if name.count(".") > 1])
def test_a_name_of_a_module_on_the_pages_of_the_python_api_exists(name: str) -> None:
    module, _, member = name.rpartition(".")
    assert hasattr(import_module(module), member)
