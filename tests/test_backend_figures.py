from pathlib import Path

import pytest

import backend_figures


@pytest.mark.parametrize("name", backend_figures.FIGURES)
def test_a_figure_of_the_pages_is_what_its_tool_draws(name: str, tmp_path: Path) -> None:
    backend_figures.main(["--folder", str(tmp_path)])
    assert (tmp_path / name).read_text(encoding="utf-8") == (backend_figures.FIGURES_FOLDER / name).read_text(encoding="utf-8")
