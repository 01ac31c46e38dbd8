"""The pages of examples and studies are those that tools/gallery.py writes."""

from pathlib import Path

import pytest

import gallery


def test_the_pages_of_examples_and_studies_are_fresh() -> None:
    assert gallery.main(["--check"]) == 0, "run python tools/gallery.py"


def test_every_example_shows_a_plot_of_its_queue() -> None:
    plots = {file.name for file in (gallery.EXAMPLE_PAGES / "figures").glob("*-queue.svg")}
    assert plots == {f"{example.name}-queue.svg" for example in gallery.examples()}


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
