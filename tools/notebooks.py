"""Writes each tutorial as a notebook, and executes it.

`python tools/notebooks.py` writes docs/tutorials/NAME.ipynb, without outputs, from NAME.md. `--check` compares and exits with 1 if one is
stale. `--execute [NAME ...]` also executes the notebooks, in an empty folder, and copies the pictures of the pages from there.

A page becomes a notebook by these rules:

- A block after "Save this as `FILE`" becomes a cell that writes FILE.
- A block of `python` becomes a cell. So does a block of `sh`, and an indented block whose lines are `ecnlab ...`.
- A picture has a title, which is the file that a cell before it has written: `![text](figures/a.svg "first/figures/queue.svg")`. It becomes
  a cell that shows this file.
- An indented block after a cell of the same section is output of these cells, so the notebook does not have it. Each line must be one
  that they print, and a line `...` stands for others. Two indented blocks without text between them are one for Markdown, so commands end
  at an empty line. A block of `text` is output too, but may differ from run to run.
- Text remains, without links to other pages. A paragraph that links the notebook itself says there what the notebook needs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
CELL_TIMEOUT_S = 600

_NEEDS = "This notebook needs `ecnlab` in the environment of its kernel. It writes its files into the folder in which it is."
_SHELL_LANGUAGES = {"sh", "bash"}
_SAVED = re.compile(r"\b[Ss]ave \w+ as `([^`]+)`")
_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?!\w+:)[^()]*\)")
_FILE_TYPES = {".svg": "SVG", ".png": "Image"}


class PageError(ValueError):
    """A page that cannot become a notebook."""


@dataclass(frozen=True)
class Cell:
    """A cell; `expected` are lines of the page that it or a cell before it prints, `picture` is the page's file of what it shows."""

    kind: str
    source: str
    expected: list[str] = field(default_factory=list)
    picture: str = ""


def cells_of(page: Path) -> list[Cell]:
    """The cells of the notebook of a page."""
    return list(_Reader(page).cells())


class _Reader:
    """Reads the blocks of a page in their order."""

    def __init__(self, page: Path) -> None:
        self._page = page
        self._lines = page.read_text(encoding="utf-8").splitlines()
        self._text: list[str] = []
        self._paragraph = ""
        self._section_cell: Cell | None = None
        self._imported: set[str] = set()

    def cells(self) -> Iterator[Cell]:
        for block, inline in self._blocks():
            cell = self._code_cell(block, inline)
            if cell is not None:
                yield from self._text_cell()
                self._section_cell = cell
                yield cell
            elif block.type in {"fence", "code_block"} and self._section_cell is not None:
                if block.type == "code_block":
                    self._section_cell.expected.extend(_lines_shown(block.content))
            elif block.type != "html_block":
                self._keep(block)
            if block.type == "heading_open":
                self._section_cell = None
            self._paragraph = inline.content if inline and block.type == "paragraph_open" else ""
        yield from self._text_cell()

    def _blocks(self) -> Iterator[tuple[Token, Token | None]]:
        """Each block of the page with its text, if it is a paragraph or a heading."""
        tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(self._lines))
        for position, token in enumerate(tokens):
            if token.level == 0 and token.nesting >= 0:
                following = tokens[position + 1] if token.nesting else None
                yield token, following if following and following.type == "inline" else None

    def _code_cell(self, block: Token, inline: Token | None) -> Cell | None:
        saved = _SAVED.findall(self._paragraph)
        content = block.content.rstrip("\n")
        if block.type == "fence" and saved:
            return Cell("code", f"%%writefile {saved[-1]}\n{content}")
        if block.type == "fence" and block.info == "python":
            return Cell("code", content)
        if block.type == "fence" and block.info in _SHELL_LANGUAGES:
            return Cell("code", f"%%bash -e\n{content}")
        commands, _, output = content.partition("\n\n")
        if block.type == "code_block" and all(line.startswith("ecnlab ") for line in commands.splitlines()):
            return Cell("code", f"%%bash -e\n{commands}", _lines_shown(output))
        if inline is not None and [child.type for child in inline.children or []] == ["image"]:
            return self._picture_cell((inline.children or [])[0])
        return None

    def _picture_cell(self, image: Token) -> Cell:
        shown, file = str(image.attrs["src"]), str(image.attrs.get("title", ""))
        class_name = _FILE_TYPES.get(Path(file).suffix)
        if class_name is None:
            fix = 'name the file that the commands write: ![text](figures/a.svg "FILE.svg")'
            raise PageError(f"{self._page.name}: the picture {shown} has no title; fix: {fix}")
        needed = "" if class_name in self._imported else f"from IPython.display import {class_name}\n\n"
        self._imported.add(class_name)
        return Cell("code", f'{needed}{class_name}("{file}")', picture=shown)

    def _keep(self, block: Token) -> None:
        begin, end = block.map or (0, 0)
        text = "\n".join(self._lines[begin:end]).rstrip()
        if f"]({self._page.stem}.ipynb)" in text:
            text = _NEEDS
        self._text.append(text if block.type in {"fence", "code_block"} else _LINK.sub(r"\1", text))

    def _text_cell(self) -> Iterator[Cell]:
        if self._text:
            yield Cell("markdown", "\n\n".join(self._text))
        self._text = []


def _lines_shown(output: str) -> list[str]:
    """The lines of a block of output, without the lines of an ellipsis."""
    return [line for line in output.splitlines() if line.strip() not in {"", "..."}]


def notebook_of(page: Path) -> str:
    """The notebook of a page as JSON, without outputs."""
    cells: list[dict[str, Any]] = [
        {"cell_type": cell.kind, "id": f"cell-{number}", "metadata": {}}
        | ({"execution_count": None, "outputs": []} if cell.kind == "code" else {})
        | {"source": cell.source.splitlines(keepends=True)}
        for number, cell in enumerate(cells_of(page), 1)
    ]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def tutorial_pages() -> list[Path]:
    """The pages that have a notebook."""
    return sorted(TUTORIALS.glob("*.md"))


def execute(page: Path, folder: Path, replacements: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Execute the notebook of a page in an empty folder with the package of this checkout, with words of its cells replaced.

    Returns the lines of output that the page shows and no cell has printed so far. Raises nbclient's CellExecutionError if a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    notebook = nbformat.reads(notebook_of(page), as_version=4)
    for cell in notebook.cells:
        for old, new in replacements.items():
            cell.source = cell.source.replace(old, new)
    with tempfile.TemporaryDirectory() as settings:
        own = dict.fromkeys(("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "MPLCONFIGDIR"), settings)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "MPLBACKEND"}}
        environment |= own | {"PATH": path, "PYTHONPATH": str(ROOT / "python"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        # Makes the pictures of a cell identical in every run.
        Path(settings, "matplotlibrc").write_text("svg.hashsalt: ecnlab\nsavefig.facecolor: white\n", encoding="utf-8")
        environment["SOURCE_DATE_EPOCH"] = "0"
        kernel = Config(AsyncKernelManager={"transport": "ipc", "connection_file": str(Path(settings, "kernel.json"))})
        client = NotebookClient(notebook, config=kernel, timeout=CELL_TIMEOUT_S, resources={"metadata": {"path": str(folder)}})
        client.execute(env=environment)
    return list(_missing_lines(cells_of(page), notebook.cells))


def _missing_lines(cells: Sequence[Cell], executed: Sequence[Any]) -> Iterator[str]:
    printed: set[str] = set()
    for cell, done in zip(cells, executed, strict=True):
        text = "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in done.get("outputs", []))
        printed |= {line.rstrip() for line in text.splitlines()}
        yield from (line for line in cell.expected if line.rstrip() not in printed)


def copy_pictures(page: Path, folder: Path) -> None:
    """Copy the pictures of an execution in a folder to the files that the page shows."""
    for shown, made in pictures_of(page).items():
        target = page.parent / shown
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(folder / made, target)


def pictures_of(page: Path) -> dict[str, str]:
    """The file of an execution for each picture that a page shows."""
    return {cell.picture: cell.source.split('"')[1] for cell in cells_of(page) if cell.picture}


def main(arguments: Sequence[str]) -> int:
    """Write, compare or execute the notebooks; returns the exit code."""
    names = {name for name in arguments if not name.startswith("-")}
    stale = 0
    for page in tutorial_pages():
        target, text = page.with_suffix(".ipynb"), notebook_of(page)
        if "--check" in arguments:
            if not target.is_file() or target.read_text(encoding="utf-8") != text:
                print(f"{target} is stale: run python tools/notebooks.py", file=sys.stderr)
                stale += 1
            continue
        target.write_text(text, encoding="utf-8")
        if "--execute" in arguments and (not names or page.stem in names):
            with tempfile.TemporaryDirectory() as folder:
                for line in execute(page, Path(folder)):
                    print(f"{page.name}: not printed: {line}", file=sys.stderr)
                    stale += 1
                copy_pictures(page, Path(folder))
    return min(stale, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
