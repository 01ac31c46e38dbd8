"""A Markdown extension for the site: explorables in frames, and links that open a scenario in the laboratory.

A line `<!-- explorable NAME -->` becomes a frame with the laboratory (`lab.html` beside the pages, one file that works offline) at that
explorable. A line `<!-- run of EXAMPLE -->` becomes a link that opens the example there, and `<!-- runs of STUDY -->` a link for each
figure of the study, which opens one of its runs. On GitHub the lines are invisible. A site without the
laboratory has neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ecnlab import studies
from ecnlab.studies.framework.lab_links import link_of_item

ROOT = Path(__file__).parents[1]
ENGINE = ROOT / "python" / "ecnlab" / "lab" / "ecnlab.wasm.gz"
# The laboratory in the site's folder, from a page that is one folder below.
LAB = "../lab.html"

_EXPLORABLE = re.compile(r"<!-- explorable ([\w-]+) -->")
_RUNS = re.compile(r"<!-- runs of ([\w-]+) -->")
_RUN_OF_EXAMPLE = re.compile(r"<!-- run of ([\w-]+) -->")


def with_lab(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a page with frames and links."""
    for line in lines:
        if explorable := _EXPLORABLE.fullmatch(line):
            yield from frame(explorable[1])
        elif runs := _RUNS.fullmatch(line):
            yield from links_of_study(runs[1])
        elif example := _RUN_OF_EXAMPLE.fullmatch(line):
            yield f'<p><a href="{LAB}#example={example[1]}">Open this run in the laboratory</a></p>'
        else:
            yield line


def frame(name: str) -> list[str]:
    """The frame of an explorable, and a link for those who want it larger."""
    address = f"{LAB}#explorable={name}"
    return [
        f'<iframe class="lab" src="{address}&amp;frame" title="Explorable: {name.replace("-", " ")}" loading="lazy"></iframe>',
        "",
        f'<p><a href="{address}">Open this explorable in a window</a></p>',
    ]


def links_of_study(name: str) -> list[str]:
    """A list with a link for each figure and table of a study whose scenarios a link can hold."""
    items = [(item, link_of_item(item, LAB)) for item in studies.find_study(name).items]
    links = [f'<li><a href="{link}">{escape(item.heading)}: {escape(item.title)}</a></li>' for item, link in items if link is not None]
    head = "Open a run of a figure in the laboratory: of the scenarios that the figure compares, the one in the middle."
    return [f"<details><summary>{head}</summary><ul>{''.join(links)}</ul></details>"]


def makeExtension(**options: Any) -> Any:  # noqa: N802
    """The extension; the Markdown package, which only the site needs, looks for this name."""
    from markdown import Extension, Markdown
    from markdown.preprocessors import Preprocessor

    class LabFramePreprocessor(Preprocessor):  # type: ignore[misc]
        def run(self, lines: list[str]) -> list[str]:
            return list(with_lab(lines)) if ENGINE.exists() else lines

    class LabFrameExtension(Extension):  # type: ignore[misc]
        def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
            md.preprocessors.register(LabFramePreprocessor(md), "lab_frame", 99)

    return LabFrameExtension(**options)
