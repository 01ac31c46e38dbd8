"""The pictures of the reference are those that tools/reference_figures.py draws."""

from pathlib import Path

import pytest

import reference_figures


def test_the_pictures_of_the_reference_are_fresh_and_a_page_shows_each() -> None:
    assert reference_figures.main(["--check"]) == 0, "run python tools/reference_figures.py"
    docs = reference_figures.ROOT / "docs"
    text = "".join(page.read_text(encoding="utf-8") for folder in ("reference", "trust", "how-to") for page in (docs / folder).glob("*.md"))
    assert [name for name in reference_figures.FIGURES if f"figures/{name})" not in text] == []


def test_a_stale_picture_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(reference_figures, "ROOT", tmp_path)
    monkeypatch.setattr(reference_figures, "FIGURES_FOLDER", tmp_path)
    monkeypatch.setattr(reference_figures, "FIGURES", {"link.svg": reference_figures.link})
    assert reference_figures.main([]) == 0
    assert reference_figures.main(["--check"]) == 0
    (tmp_path / "link.svg").write_text("old")
    assert reference_figures.main(["--check"]) == 1
    assert capsys.readouterr().err == "link.svg is stale; fix: run python tools/reference_figures.py\n"
