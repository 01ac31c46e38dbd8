from pathlib import Path

import pytest

import ecnlab as lab
from ecnlab.plot.drawn import DrawnFigure

TRACES = Path(__file__).parents[1] / "traces"


@pytest.fixture(scope="module")
def small() -> lab.Trace:
    return lab.trace(TRACES / "small.tr.gz", sequence=[0])


def _legend_labels(figure: DrawnFigure) -> list[str]:
    return figure.axes[0].get_legend_handles_labels()[1]


def test_a_time_sequence_graph_shows_segments_acknowledgements_marks_and_retransmissions(small: lab.Trace) -> None:
    figure = small.plot.sequence()
    assert _legend_labels(figure) == ["acknowledged", "segment", "retransmission", "marked", "dropped", "ECN-Echo", "CWR"]
    assert figure.axes[0].get_ylabel() == "sequence number (packets)"


def test_a_capture_s_time_sequence_graph_has_the_window_and_sack_blocks() -> None:
    figure = lab.trace(TRACES / "spurious-timeout.pcapng.gz", sequence=[0]).plot.sequence()
    assert {"receiver's window", "acknowledged", "SACK", "segment", "retransmission"} <= set(_legend_labels(figure))
    assert figure.axes[0].get_ylabel() == "sequence number (bytes)"


def test_a_graph_that_was_not_asked_for_is_refused_with_the_remedy() -> None:
    trace = lab.trace(TRACES / "small.tr.gz")
    with pytest.raises(lab.TraceError, match="--flow 0 --figures DIR"):
        trace.plot.sequence()


def test_rates_are_drawn_for_all_flows_and_for_each(small: lab.Trace) -> None:
    assert _legend_labels(small.plot.rates()) == ["all flows", "flow 0", "flow 1"]


def test_marks_and_drops_have_a_dot_each(small: lab.Trace) -> None:
    for kind in ("mark", "drop"):
        dots = small.plot.events(kind).axes[0].collections[0].get_offsets()
        assert len(dots) == small.total[f"{kind}s"]  # type: ignore[arg-type]


def test_of_chosen_flows_each_has_a_row_with_its_own_number() -> None:
    axes = lab.trace(TRACES / "small.tr.gz", flows=[1]).plot.events("drop").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1"]
    assert set(axes.collections[0].get_offsets()[:, 1]) == {0}  # type: ignore[index]


def test_a_trace_without_marks_has_no_figure_of_them(tmp_path: Path) -> None:
    trace = lab.trace(TRACES / "two-drops.pcapng.gz", sequence=[0])
    assert trace.plot.save_all(tmp_path) == ["sequence-0", "drops"]
