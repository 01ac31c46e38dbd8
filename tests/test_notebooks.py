"""Each tutorial is also a notebook, which runs in an empty folder and makes the pictures and output that the page shows."""

import json
from pathlib import Path
from typing import Any

import pytest

import notebooks
from ecnlab.backends import doctor

PAGES = notebooks.tutorial_pages()
# A run in real time is shorter here, and no busy machine rejects it.
IN_TESTS = {"--backend live": "--backend live --set 'duration=8 s' --lateness-budget '10 s'"}


def _backends(page: Path) -> list[str]:
    return [name for name in ("live", "uml") if f"--backend {name}" in page.read_text(encoding="utf-8")]


def _page(page: Path) -> Any:
    return pytest.param(page, id=page.stem, marks=[pytest.mark.real_time] if _backends(page) else [])


def test_the_notebooks_are_fresh() -> None:
    assert notebooks.main(["--check"]) == 0, "run python tools/notebooks.py"


@pytest.mark.parametrize("page", [_page(page) for page in PAGES])
def test_a_notebook_produces_the_output_of_its_page(page: Path, tmp_path: Path) -> None:
    backends = _backends(page)
    if backends and not all(map(doctor.run_backend_checks().is_backend_usable, backends)):
        pytest.skip(f"needs the backends {backends}")
    assert notebooks.execute(page, tmp_path, IN_TESTS) == [], (
        "the page shows other output; python tools/notebooks.py --execute prints each line"
    )
    pictures = notebooks.pictures_of(page)
    assert len(pictures) > 0
    differ = [shown for shown, made in pictures.items() if (page.parent / shown).read_bytes() != (tmp_path / made).read_bytes()]
    assert backends or differ == [], "run python tools/notebooks.py --execute"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_links_its_notebook(page: Path) -> None:
    assert f"]({page.stem}.ipynb)" in page.read_text(encoding="utf-8")


def _cells(folder: Path, text: str) -> list[tuple[str, str]]:
    page = folder / "page.md"
    page.write_text(text)
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(notebooks.notebook_of(page))["cells"]]


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("# A\n\nText.", [("markdown", "# A\n\nText.")]),
        (
            "Save this as `a.toml`:\n\n```toml\na = 1\n```\n",
            [("markdown", "Save this as `a.toml`:"), ("code", "%%writefile a.toml\na = 1")],
        ),
        ("Save it as `a.py`:\n\n```python\na = 1\n```\n", [("markdown", "Save it as `a.py`:"), ("code", "%%writefile a.py\na = 1")]),
        ("```toml\na = 1\n```\n", [("markdown", "```toml\na = 1\n```")]),
        ("```python\na = 1\n```\n", [("code", "a = 1")]),
        ("```sh\ncp a b\n```\n", [("code", "%%bash -e\ncp a b")]),
        ("    ecnlab list\n    ecnlab show red\n", [("code", "%%bash -e\necnlab list\necnlab show red")]),
        ("    ecnlab list\n\nPrints:\n\n    red\n", [("code", "%%bash -e\necnlab list"), ("markdown", "Prints:")]),
        ("    ecnlab list\n\n    red\n", [("code", "%%bash -e\necnlab list")]),
        ("    ecnlab list\n\n```text\nred\n```\n", [("code", "%%bash -e\necnlab list")]),
        ("    ecnlab list\n\n# B\n\n    red\n", [("code", "%%bash -e\necnlab list"), ("markdown", "# B\n\n    red")]),
        ('![a](a.svg "r/b.svg")', [("code", 'from IPython.display import SVG\n\nSVG("r/b.svg")')]),
        ("See [a](../b.md#c) or [d](https://example.org).", [("markdown", "See a or [d](https://example.org).")]),
        ("The notebook: [page.ipynb](page.ipynb).", [("markdown", notebooks._NEEDS)]),
    ],
)
def test_a_block_of_a_page_becomes_these_cells(tmp_path: Path, text: str, cells: list[tuple[str, str]]) -> None:
    assert _cells(tmp_path, text) == cells


def test_a_picture_that_no_cell_makes_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(notebooks.PageError, match=r"page.md: the picture a.svg has no title; fix: "):
        _cells(tmp_path, "![a](a.svg)")


def test_a_command_that_fails_and_output_that_differs_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('one\\ntwo')\n```\n\n    one\n    ...\n    three\n")
    assert notebooks.execute(page, tmp_path) == ["three"]
    page.write_text("```sh\nfalse\ntrue\n```\n")
    with pytest.raises(Exception, match="CalledProcessError"):
        notebooks.execute(page, tmp_path)
