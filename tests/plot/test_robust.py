from pathlib import Path

import numpy as np
import pytest

import ecnlab
import robust_figures
from ecnlab.errors import ResultsError, UnknownName, UsageError
from ecnlab.plot import robust, style
from helpers import EXAMPLES, FIXED

DOCS = Path(robust_figures.__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def observed() -> ecnlab.Result:
    """A result whose queue settles at some time after 1 s."""
    return ecnlab.run(ecnlab.load(EXAMPLES / "ecn.toml", {"duration": "40 s", "measure_from": "1 s"}), 3)


def test_the_transient_is_drawn_with_its_end_and_the_begin_of_measuring(observed: ecnlab.Result) -> None:
    above, below = observed.plot.steady("bottleneck").axes
    (queue,) = (one for one in observed.steady_state().quantities if one.name == "queue bottleneck")
    assert [line.get_xdata()[0] for line in above.lines[1:]] == [queue.from_s, 1.0]
    assert [text.get_text() for text in above.get_legend().get_texts()] == [
        "mean of 3 seeds",
        f"steady from {queue.from_s:g} s (MSER-5)",
        "measured from 1 s",
    ]
    errors, cut = below.lines
    assert errors.get_xdata()[np.argmin(errors.get_ydata())] == pytest.approx(cut.get_xdata()[0]) == queue.from_s


def test_a_transient_that_was_not_recorded_cannot_be_drawn(observed: ecnlab.Result) -> None:
    for recording in (FIXED.get("record", {}), {}, {"rates": True}):
        with pytest.raises(ResultsError, match=r'fix: set record\.queue = "100 ms"'):
            ecnlab.run(ecnlab.scenario(FIXED | {"record": recording})).plot.steady()
    with pytest.raises(UnknownName, match="queue"):
        observed.plot.steady("nowhere")


def test_half_widths_are_those_of_the_first_seeds(small: ecnlab.Scenario) -> None:
    result = ecnlab.run(small, 12)
    (axes,) = result.plot.precision(["goodput", "near.goodput"], bound=0.02).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["goodput", "goodput of near", "bound of 2 %"]
    found = ecnlab.run(small, 7).estimate("goodput_bps")
    line = axes.lines[0]
    assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True))[7] == pytest.approx(100 * found.half_width / found.mean)


def test_half_widths_need_ten_seeds_that_differ(small: ecnlab.Scenario) -> None:
    with pytest.raises(UsageError, match="seeds: 3 show no trend; fix: run 10 or more"):
        ecnlab.run(small, 3).plot.precision()
    with pytest.raises(UsageError, match="not identical"):
        ecnlab.run(ecnlab.scenario(FIXED), 10).plot.precision()


def test_p_values_are_drawn_in_ascending_order_against_both_bounds() -> None:
    _, (axes,) = style.figure_with_panels()
    robust.draw_p_values_by_rank(axes, [("some", [0.5, 0.001, 0.03, 0.2])])
    dots, alone, together = axes.lines
    assert list(dots.get_ydata()) == [0.001, 0.03, 0.2, 0.5]
    assert list(alone.get_ydata()) == pytest.approx([0.05, 0.05])
    assert list(together.get_ydata()) == pytest.approx([0.0125, 0.025, 0.0375, 0.05])


def test_the_page_s_figures_are_drawn_from_runs(tmp_path: Path) -> None:
    robust_figures.draw_robustness_page_figures(tmp_path, seeds=10)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {path.name for path in (DOCS / "figures").glob("robust-*.svg")}
    assert all(f"figures/{name}" in (DOCS / "explanation" / "robust.md").read_text() for name in names)


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    (code,) = (DOCS / "explanation" / "robust.md").read_text().split("```python\n")[1:]
    exec(code.split("```")[0], {})
