"""A Markdown extension for the site: the pages in docs/about/ show the text of files in the root folder.

A line `<!-- text of CHANGELOG.md -->` is replaced by the file, without its title, with links that lead to the pages of the site. On GitHub
the line is invisible, and the page links nothing outside of docs/; the sentence above the line names the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# The page of the site that shows a file of the root folder, by a path from docs/about/.
SITE_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "../index.md",
}

_PLACE = re.compile(r"<!-- text of (\w+\.md) -->")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def with_root_pages(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a page in docs/about/, with the text of the files that it names."""
    for line in lines:
        place = _PLACE.fullmatch(line)
        if place is None:
            yield line
        else:
            _, _, text = (ROOT / place[1]).read_text(encoding="utf-8").partition("\n")
            yield from _LINK.sub(_site_link, text).split("\n")


def _site_link(link: re.Match[str]) -> str:
    label, path, anchor = link[1], link[2], link[3] or ""
    if path in SITE_PAGES:
        return f"[{label}]({SITE_PAGES[path]}{anchor})"
    if path.startswith("docs/"):
        return f"[{label}](../{path.removeprefix('docs/')}{anchor})"
    return label


def makeExtension(**options: Any) -> Any:  # noqa: N802
    """The extension; the Markdown package, which only the site needs, looks for this name."""
    from markdown import Extension, Markdown
    from markdown.preprocessors import Preprocessor

    class RootPagePreprocessor(Preprocessor):  # type: ignore[misc]
        def run(self, lines: list[str]) -> list[str]:
            return list(with_root_pages(lines))

    class RootPageExtension(Extension):  # type: ignore[misc]
        def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
            # Code blocks of the files must be found too, so this comes before all other preprocessors.
            md.preprocessors.register(RootPagePreprocessor(md), "root_page", 100)

    return RootPageExtension(**options)
