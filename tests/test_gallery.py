"""The pages of examples and studies are those that tools/gallery.py writes."""

import re
from pathlib import Path

import pytest

import gallery


def test_the_pages_of_examples_and_studies_are_fresh() -> None:
    assert gallery.main(["--check"]) == 0, "run python tools/gallery.py"


def test_every_example_shows_a_plot_of_its_queue() -> None:
    plots = {file.name for file in (gallery.EXAMPLE_PAGES / "figures").glob("*-queue.svg")}
    assert plots == {f"{name}-queue.svg" for name in [*(example.name for example in gallery.examples()), *gallery.PYTHON_EXAMPLES]}


def test_every_page_of_an_example_has_a_network_a_command_and_a_plot() -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in gallery.EXAMPLE_PAGES.glob("*.md") if page.name != "index.md"}
    assert len(pages) == len(list(gallery.EXAMPLES_FOLDER.rglob("*.toml"))) + len(gallery.PYTHON_EXAMPLES)
    incomplete = {
        page.name
        for page, text in pages.items()
        if not all(
            re.search(pattern, text) for pattern in (r"!\[.*-network\.svg\)", r"    ecnlab (run|sweep) ", r"!\[.*(-queue|sweep-\w+)\.svg\)")
        )
    }
    assert incomplete == set()


def test_a_page_that_differs_and_a_page_without_a_source_are_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "one.md"
    monkeypatch.setattr(gallery, "ROOT", tmp_path)
    monkeypatch.setattr(gallery, "EXAMPLE_PAGES", tmp_path)
    monkeypatch.setattr(gallery, "STUDY_PAGES", tmp_path)
    monkeypatch.setattr(gallery, "fresh_files", lambda: {page: "fresh"})
    page.write_text("fresh")
    assert gallery.main(["--check"]) == 0
    page.write_text("old")
    (tmp_path / "left.md").write_text("of an example that was removed")
    assert gallery.main(["--check"]) == 1
    assert [line.partition(" ")[0] for line in capsys.readouterr().err.splitlines()] == ["one.md", "left.md"]
