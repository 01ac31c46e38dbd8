import re
from pathlib import Path

import pytest

import ecnlab
from ecnlab.plot.result import FIGURE_KINDS
from ecnlab.storage.filenames import safe_file_name
from helpers import EXAMPLES

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "figures.md").read_text()


def test_the_page_of_figures_has_a_row_for_each_kind() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (?:`(\w+) = |nothing more)", PAGE, re.MULTILINE)
    assert [(name, shows) for name, shows, _ in rows] == [(kind.name, kind.shows) for kind in FIGURE_KINDS]
    recorded = {"completions": "", "series_queue": "queue", "series_gauge": "queue", "series_rate": "rates", "series_window": "window"}
    assert [key for _, _, key in rows] == [recorded.get(kind.table, kind.table) for kind in FIGURE_KINDS]


def test_the_page_s_file_name_is_what_a_queue_of_that_name_gets() -> None:
    assert f"`queue-{safe_file_name('a/b')}.svg`" in PAGE


def test_the_page_s_python_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    exec("\n".join(blocks), {})
    written = {path.name for path in (tmp_path / "figures").iterdir()}
    assert written == {
        f"{name}.pdf"
        for name in ("queue-bottleneck", "queue_delay-bottleneck", "gauges", "throughput", "goodput", "window", "marks", "drops")
    }
    assert (tmp_path / "queue.pdf").read_bytes().startswith(b"%PDF")


def test_each_figure_of_the_command_is_a_method_of_the_same_name(small_result: ecnlab.Result) -> None:
    assert [kind.name for kind in FIGURE_KINDS if not callable(getattr(small_result.plot, kind.name, None))] == []
    plain = small_result.plot.styled(titles=False)
    for kind in plain.possible_figure_kinds():
        (_, draw), *_ = kind.draw_functions(plain, small_result.queue_names)
        assert getattr(plain, kind.name)().render(["svg"]) == draw().render(["svg"]), kind.name
