"""The figures of docs/explanation/l4s.md are those of the run that it names."""

from pathlib import Path

import l4s_figures


def test_the_figures_are_what_the_tool_draws(tmp_path: Path) -> None:
    l4s_figures.main(["--folder", str(tmp_path)])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 2
    for name in names:
        assert (tmp_path / name).read_text(encoding="utf-8") == (l4s_figures.FIGURES_FOLDER / name).read_text(encoding="utf-8"), (
            "run python tools/l4s_figures.py"
        )
