"""Checks links without network: those of the pages' sources, and those of the built site.

`python tools/links.py` checks the sources. `python tools/links.py FOLDER` checks the site that was built there. Each prints a line for each
broken link and exits with 1 if there is one.

A page in docs/ links to files in docs/ alone, since the site has no others. The anchor of a heading must be the same on GitHub and on the
site. The built site loads nothing from another server, so that it works offline.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
# The laboratory of the site: its fragments are states of the page (web/link.js), not anchors.
_LAB = "lab.html"
# Attributes that load a file, by element; `href` of an element `a` is a link that a reader follows.
_LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}


def source_pages(root: Path = ROOT) -> list[Path]:
    """All pages in Markdown, except the text that `ecnlab validate formulas` copies into docs/."""
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "crates").glob("*/README.md"), *(root / "python").rglob("*.md")]
    return sorted(page for page in pages if page.name != "formulas.md" or page.is_relative_to(root / "docs"))


def broken_in_sources(pages: Sequence[Path], root: Path = ROOT) -> list[str]:
    """A line for each broken link of the pages."""
    return [f"{page.relative_to(root)}: {problem}" for page in pages for problem in _problems_of_page(page, root)]


def broken_in_site(site: Path) -> list[str]:
    """A line for each broken link of the built site, and for each file that it loads from another server."""
    parsed = {page: _Page(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    found = []
    for page, content in parsed.items():
        for target, is_loaded in content.targets:
            problem = _problem_of_target(page, target, is_loaded, site, parsed)
            if problem is not None:
                found.append(f"{page.relative_to(site)}: {problem}")
    return found


def _problems_of_page(page: Path, root: Path) -> Iterator[str]:
    for target in _links(page.read_text(encoding="utf-8")):
        split = urlsplit(target)
        if split.scheme or target.startswith("//"):
            continue
        file = page if not split.path else (page.parent / unquote(split.path)).resolve()
        if not file.exists():
            yield f"{target}: no such file"
        elif page.is_relative_to(root / "docs") and not file.is_relative_to(root / "docs"):
            yield f"{target}: outside of docs/; fix: link to a page of the site"
        elif split.fragment and split.fragment not in anchors(file.read_text(encoding="utf-8")):
            yield f"{target}: no such heading"


def _links(text: str) -> Iterator[str]:
    for block in MarkdownIt("commonmark").enable("table").parse(text):
        for token in block.children or ():
            target = token.attrGet("href") if token.type == "link_open" else token.attrGet("src") if token.type == "image" else None
            if target is not None:
                yield str(target)


def anchors(text: str) -> set[str]:
    """The anchors of headings that are the same on GitHub and on the site."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = [_plain(inline.content) for opened, inline in pairwise(tokens) if opened.type == "heading_open"]
    there = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    here = [_site_slug(heading) for heading in headings]
    return {slug for slug, other in zip(there, here, strict=True) if slug == other and there.count(slug) == 1}


def _plain(heading: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip()


def _site_slug(heading: str) -> str:
    ascii_only = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


class _Page(HTMLParser):
    """The ids and the targets of a page, each target with whether it is loaded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids = {""}
        self.targets: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what the element names, and the name that it has."""
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.targets.append((given["href"], False))
        if tag in _LOADED and _LOADED[tag] in given and given.get("rel") != "canonical":
            self.targets.append((given[_LOADED[tag]], True))


def _problem_of_target(page: Path, target: str, is_loaded: bool, site: Path, parsed: dict[Path, _Page]) -> str | None:
    split = urlsplit(target)
    if split.scheme in ("http", "https") or target.startswith("//"):
        return f"{target}: loaded from another server" if is_loaded else None
    if split.scheme:
        return None
    file = page if not split.path else (page.parent / unquote(split.path)).resolve()
    if file.is_dir():
        return f"{target}: a folder, which a browser does not open from file://"
    if not file.is_relative_to(site) or not file.exists():
        return f"{target}: no such file"
    if split.fragment and file != site / _LAB and file in parsed and unquote(split.fragment) not in parsed[file].ids:
        return f"{target}: no such anchor"
    return None


def main(arguments: Sequence[str]) -> int:
    """Print the broken links; returns the exit code."""
    broken = broken_in_site(Path(arguments[0]).resolve()) if arguments else broken_in_sources(source_pages())
    for line in broken:
        print(line, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
