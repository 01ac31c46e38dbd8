import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ecnlab
from ecnlab.plot import series, style
from ecnlab.plot.result import ResultPlots
from helpers import EXAMPLES, SMALL


def test_the_queue_s_figure_labels_its_axes_with_units(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.queue().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "queue length (packets)")
    assert [line.get_label() for line in axes.lines] == ["queue", "average"]


def test_a_queue_without_an_average_needs_no_legend() -> None:
    (axes,) = ecnlab.run(ecnlab.scenario(_figure_named("link") | {"record": {"queue": "100 ms"}}), 1).plot.queue().axes
    assert [line.get_label() for line in axes.lines] == ["queue"]
    assert axes.get_legend() is None


def test_the_gauges_have_a_panel_each_with_their_units_and_what_was_recorded(small_result: ecnlab.Result) -> None:
    (probability,) = small_result.plot.gauge(seed=2).axes
    assert probability.get_ylabel() == "probability p_b"
    assert probability.get_xlabel() == "time (s)"
    recorded = small_result.series.gauge.filter((pl.col("seed") == 2) & (pl.col("gauge") == "probability"))
    assert probability.lines[0].get_ydata().tolist() == recorded["value"].to_list()
    assert probability.get_title(loc="left") == "small: bottleneck, seed 2"
    assert [axes.get_ylabel() for axes in small_result.plot.gauge(["probability"]).axes] == ["probability p_b"]


def test_a_gauge_has_a_line_for_each_queue_that_shows_it() -> None:
    link = _figure_named("link")["link"][0]
    links = [
        link | {"name": "first", "to": "m", "queue": {"aqm": "red", "limit": 20}},
        link | {"name": "second", "from": "m", "to": "n", "queue": {"aqm": "droptail", "limit": 20}},
        link | {"name": "third", "from": "n", "queue": {"aqm": "ecn", "limit": 20}},
    ]
    result = ecnlab.run(ecnlab.scenario(_figure_named("link") | {"link": links, "record": {"queue": "100 ms"}}), seed=1)
    (axes,) = result.plot.gauge().axes
    assert [line.get_label() for line in axes.lines] == ["first", "third"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["first", "third"]
    assert [line.get_label() for line in result.plot.gauge(queues=["third"]).axes[0].lines] == ["third"]
    with pytest.raises(ecnlab.ResultsError, match="no AQM of second has a gauge besides its average"):
        result.plot.gauge(queues=["second"])


@pytest.fixture(scope="module")
def dualpi2() -> ecnlab.Result:
    record = {"record.queue": "10 ms", "record.distributions": "true"}
    return ecnlab.run(ecnlab.load(EXAMPLES / "dualpi2.toml", {"duration": "4 s", "measure_from": "1 s"} | record), seeds=1)


def test_the_gauges_of_dualpi2_are_labelled_as_in_its_rfc(dualpi2: ecnlab.Result) -> None:
    assert [axes.get_ylabel() for axes in dualpi2.plot.gauge().axes] == ["probability p'", "classic p_C", "coupled p_CL"]


def test_a_symbol_is_shown_if_all_queues_of_a_panel_have_it() -> None:
    link = _figure_named("link")["link"][0]
    links = [
        link | {"name": "first", "to": "m", "queue": {"aqm": "red", "limit": 20}},
        link | {"name": "second", "from": "m", "queue": {"aqm": "blue", "limit": 20}},
    ]
    result = ecnlab.run(ecnlab.scenario(_figure_named("link") | {"link": links, "record": {"queue": "100 ms"}}), seed=1)
    assert [axes.get_ylabel() for axes in result.plot.gauge().axes] == ["probability"]


def test_the_queueing_delay_has_a_line_for_each_band(dualpi2: ecnlab.Result) -> None:
    (axes,) = dualpi2.plot.queue_delay().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "queueing delay (ms)")
    lines = [line for line in axes.lines if line.get_linestyle() != "None"]
    assert [line.get_label() for line in lines] == ["L", "C"]
    for line in lines:
        recorded = dualpi2.series.band.filter(pl.col("band") == line.get_label())
        np.testing.assert_array_equal(line.get_ydata(), recorded["sojourn_mean_s"].to_numpy() * 1e3)
        assert np.nanmean(line.get_ydata()) > 0
    (axes,) = dualpi2.plot.distributions("sojourn").axes
    assert [line.get_label() for line in axes.lines] == ["L", "C"]


def test_the_length_of_a_queue_with_bands_has_a_line_for_each(dualpi2: ecnlab.Result) -> None:
    (axes,) = dualpi2.plot.queue().axes
    assert [line.get_label() for line in axes.lines] == ["L", "C"]
    for line in axes.lines:
        recorded = dualpi2.series.band.filter(pl.col("band") == line.get_label())
        np.testing.assert_array_equal(line.get_ydata(), recorded["length_packets"])


@pytest.mark.parametrize("example", ["dualpi2", "fq"])
def test_the_lengths_of_the_bands_are_together_that_of_the_queue(example: str) -> None:
    short = {"duration": "2 s", "measure_from": "0 s", "record.queue": "10 ms"}
    recorded = ecnlab.run(ecnlab.load(EXAMPLES / f"{example}.toml", short), seed=1).series
    at = ["queue", "time_s"]
    sums = recorded.band.group_by(at).agg(pl.col("length_packets").sum().alias("in_bands"))
    joined = recorded.queue.join(sums, on=at, validate="1:1")
    assert joined.height == sums.height > 100
    assert joined["in_bands"].max() > 5
    assert joined["in_bands"].to_list() == joined["length_packets"].to_list()


def test_a_sample_between_intervals_without_departures_is_a_dot() -> None:
    nan = float("nan")
    columns = {
        "time_s": range(6),
        "sojourn_mean_s": [nan, 0.001, nan, 0.002, 0.003, nan],
        "sojourn_max_s": [nan, 0.001, nan, 0.002, 0.003, nan],
    }
    _, (axes,) = style.figure_with_panels()
    series.draw_queue_delay(axes, pl.DataFrame(columns), [])
    line, dots = axes.lines
    assert (list(dots.get_xdata()), list(dots.get_ydata()), dots.get_linestyle()) == ([1], [1.0], "None")
    style.legend_above(axes)
    entries = dict(zip([text.get_text() for text in axes.get_legend().get_texts()], axes.get_legend().legend_handles, strict=True))
    assert list(entries) == ["mean", "up to the largest"]
    assert (line.get_marker(), entries["mean"].get_marker()) == ("None", "None")
    np.testing.assert_array_equal(entries["up to the largest"].get_facecolor(), axes.collections[0].get_facecolor()[0])


def test_the_queueing_delay_of_a_queue_without_bands_is_one_line(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.queue_delay(seed=2).axes
    assert [line.get_label() for line in axes.lines if line.get_linestyle() != "None"] == ["mean"]
    recorded = small_result.series.queue.filter(pl.col("seed") == 2)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), recorded["sojourn_mean_s"].to_numpy() * 1e3)


def test_gauges_are_no_figure_of_a_queue_that_shows_none(tmp_path: Path) -> None:
    tree = _figure_named("link") | {"record": {"queue": "100 ms"}}
    plot = ecnlab.run(ecnlab.scenario(tree), 1).plot
    assert [kind.name for kind in plot.possible_figure_kinds()] == ["queue", "queue_delay"]
    assert plot.save_all(tmp_path) == ["queue-link", "queue_delay-link"]
    with pytest.raises(ecnlab.ResultsError, match="no AQM of link has a gauge"):
        plot.save_all(tmp_path, ["gauges"])


def test_the_rates_figure_has_a_line_and_a_band_for_each_group(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.rates().axes
    assert [line.get_label() for line in axes.lines] == ["far", "near"]
    assert len(axes.collections) == 2
    assert axes.get_ylabel() == "goodput (Mbit/s)"


def test_a_series_of_some_seeds_is_drawn_and_the_figure_names_them(partly_recorded: ecnlab.Result) -> None:
    titled, plain = (partly_recorded.plot.styled(titles=titles).goodput().axes[0] for titles in (True, False))
    assert titled.get_title(loc="left") == "small: seeds 1..5 of 7"
    assert [axes.get_legend().get_title().get_text() for axes in (titled, plain)] == ["", "seeds 1..5 of 7"]
    assert partly_recorded.plot.queue(seed=5).axes[0].get_title(loc="left") == "small: bottleneck, seed 5"
    with pytest.raises(
        ecnlab.ResultsError,
        match=r"seed 6 lacks the series; only seeds 1\.\.5 of 7 have it; fix: draw another seed, or run all seeds with record\.queue",
    ):
        partly_recorded.plot.queue(seed=6)
    with pytest.raises(ecnlab.ResultsError, match=r"seed 6 lacks the series; only seed 5 of 3 has it; fix: draw another seed, or run"):
        partly_recorded._only_seeds([5, 6, 7]).plot.queue(seed=6)


def test_a_run_of_one_second_has_a_marker_for_each_group() -> None:
    tree = tomllib.loads(SMALL) | {"duration": "1 s", "measure_from": "0 s", "record": {"rates": True}}
    (axes,) = ecnlab.run(ecnlab.scenario(tree), seeds=2).plot.rates().axes
    assert [bars.lines[0].get_marker() for bars in axes.containers] == ["o", "o"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["far", "near"]


def test_the_marks_figure_has_a_dot_for_each_mark(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.marks("mark", seed=2).axes
    events = small_result.series.events
    expected = events.filter((events["seed"] == 2) & (events["kind"] == "mark")).height
    assert expected > 0
    assert [len(dots.get_offsets()) for dots in axes.collections[-2:]] == [expected, 0]


def test_the_dots_have_a_row_for_each_flow_and_say_what_the_bars_are(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.marks("drop").axes
    assert axes.get_ylim() == (-0.5, 5.5)
    assert axes.get_xlim() == (0.0, 6.0)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["locked out: nothing delivered for max(1 s, 10 RTT)", "dropped packet"]


def test_windows_are_means_over_a_group_and_over_seeds(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.window().axes
    far, near = axes.lines
    assert (far.get_label(), near.get_label()) == ("far", "near")
    frame = small_result.series.window
    at = frame.filter((pl.col("time_s") == pl.col("time_s").max()) & (pl.col("flow") < 3))
    assert far.get_ydata()[-1] == pytest.approx(at["cwnd_packets"].mean())
    assert axes.get_ylabel() == "congestion window (packets)"


def test_the_window_of_single_flows_is_that_of_one_seed(small_result: ecnlab.Result) -> None:
    (axes,) = small_result.plot.window(flows=[0, 4], seed=2).axes
    assert [line.get_label() for line in axes.lines] == ["flow 0", "flow 4"]
    frame = small_result.series.window.filter((pl.col("seed") == 2) & (pl.col("flow") == 4))
    assert axes.lines[1].get_ydata().tolist() == frame["cwnd_packets"].to_list()


def test_unrecorded_distributions_are_reported_with_the_key(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.ResultsError, match=r"record\.distributions = true"):
        small_result.plot.distributions("delay")


def test_distributions_of_a_run_have_its_median(tmp_path: Path) -> None:
    tree = tomllib.loads(SMALL) | {"record": {"distributions": True}}
    result = ecnlab.run(ecnlab.scenario(tree), seed=1)
    assert result.plot.save_all(tmp_path) == ["delay", "rtt", "sojourn"]
    far, near = result.plot.distributions("delay").axes[0].lines
    for line, group in ((far, "far"), (near, "near")):
        median_ms = result.estimate("delay_p50_s", group=group).mean * 1e3
        assert np.interp(0.5, line.get_ydata(), line.get_xdata()) == pytest.approx(median_ms, rel=0.01)
    sojourn = result.plot.distributions("sojourn").axes[0].lines[0]
    assert (sojourn.get_label(), sojourn.get_ydata()[-1]) == ("bottleneck", 1.0)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda plot: plot.queue("botleneck"), "unknown queue 'botleneck'; did you mean 'bottleneck'"),
        (lambda plot: plot.gauge(["probabilty"]), "unknown gauge 'probabilty'; did you mean 'probability'"),
        (lambda plot: plot.gauge(queues=["botleneck"]), "unknown queue 'botleneck'; did you mean 'bottleneck'"),
        (lambda plot: plot.rates("goodputs_bps"), "did you mean 'goodput_bps'"),
        (lambda plot: plot.rates(groups=["fat"]), "unknown group 'fat'; did you mean 'far'"),
        (lambda plot: plot.window("cwnd"), "did you mean 'cwnd_packets'"),
        (lambda plot: plot.window(flows=[6]), "unknown flow '6'"),
        (lambda plot: plot.marks("marks"), "did you mean 'mark'"),
        (lambda plot: plot.distributions("delays"), "did you mean 'delay'"),
        (lambda plot: plot.queue(seed=9), "unknown seed '9'"),
        (lambda plot: plot.save_all(Path("none"), ["queues"]), "unknown figure 'queues'; did you mean 'queue'"),
        (lambda plot: plot.save_all(Path("none"), formats=["gif"]), "unknown format of figures 'gif'"),
    ],
)
def test_a_name_that_is_not_there_is_refused(small_result: ecnlab.Result, draw: Callable[[ResultPlots], object], message: str) -> None:
    with pytest.raises(ecnlab.UnknownName, match=message):
        draw(small_result.plot)
    assert not Path("none").exists()


def test_an_empty_path_of_figures_is_not_the_current_folder(small_result: ecnlab.Result) -> None:
    trace = ecnlab.trace(Path(__file__).parent.parent / "traces/two-drops.pcapng.gz", sequence=[0])
    for save in (small_result.plot.save_all, trace.plot.save_all, trace.save):
        with pytest.raises(ecnlab.UsageError, match=r"^folder: is empty; fix: name a file or folder"):
            save("")
    with pytest.raises(ecnlab.UsageError, match=r"^stem: is empty; fix: name a file or folder"):
        small_result.plot.queue().save("")


def test_a_figure_has_its_title_where_it_is_shown_and_none_where_it_is_saved(small_result: ecnlab.Result, tmp_path: Path) -> None:
    assert small_result.plot.queue().axes[0].get_title(loc="left") == "small: bottleneck, seed 1"
    assert small_result.plot.rates().axes[0].get_title(loc="left") == "small: 3 seeds"
    assert small_result.only(2).plot.rates().axes[0].get_title(loc="left") == "small: seed 2"
    small_result.plot.save_all(tmp_path / "without", ["queue"])
    small_result.plot.save_all(tmp_path / "with", ["queue"], titles=True)
    plain, titled = ((tmp_path / folder / "queue-bottleneck.svg").stat().st_size for folder in ("without", "with"))
    assert titled > plain


def test_every_figure_that_the_tables_allow_is_saved(small_result: ecnlab.Result, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    names = small_result.plot.save_all(tmp_path, formats=["svg", "pdf"], width=3.3, progress=lambda done, of: told.append((done, of)))
    assert names == ["queue-bottleneck", "queue_delay-bottleneck", "gauges", "throughput", "goodput", "window", "marks", "drops"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{n}.{kind}" for n in names for kind in ("svg", "pdf"))
    assert told == [(done, 8) for done in range(9)]


def test_the_width_that_was_asked_for_is_the_width_that_is_saved(small_result: ecnlab.Result, tmp_path: Path) -> None:
    small_result.plot.save_all(tmp_path, ["goodput"], width=3.5)
    assert 'width="252pt"' in (tmp_path / "goodput.svg").read_text()


def test_a_figure_of_a_series_that_was_not_recorded_is_reported_with_the_key(tmp_path: Path) -> None:
    plot = ecnlab.run(ecnlab.scenario(_figure_named("link")), 1).plot
    assert plot.possible_figure_kinds() == []
    with pytest.raises(ecnlab.ResultsError, match="no series was recorded for figures"):
        plot.save_all(tmp_path / "none")
    with pytest.raises(ecnlab.ResultsError, match=r'record\.queue = "10 ms"'):
        plot.save_all(tmp_path / "none", ["queue"])
    assert not (tmp_path / "none").exists()


def test_figures_without_a_finished_seed_are_refused(small_result: ecnlab.Result) -> None:
    plot = ecnlab.Result(small_result.header, {}).plot
    for names in (None, ["queue"], ["marks"]):
        with pytest.raises(ecnlab.ResultsError, match="no seed has finished; fix: run the scenario again"):
            plot.save_all("none", names)


@pytest.mark.parametrize("name", ["a$\\frac$b", "x^2_$", "_hidden", "[/nope]", "a/b", "x" * 100, "{}", "é"], ids=ascii)
def test_a_name_can_neither_stop_nor_falsify_a_figure(name: str, tmp_path: Path) -> None:
    tree = _figure_named(name) | {"record": {"queue": "100 ms", "rates": True, "window": "100 ms", "events": True}}
    result = ecnlab.run(ecnlab.scenario(tree), 1)
    names = result.plot.save_all(tmp_path / "figures", titles=True)
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(f"{name}.svg" for name in names)
    assert [path.name for path in tmp_path.iterdir()] == ["figures"]
    assert len(result.plot.rates().axes[0].get_legend().get_texts()) == 2


def test_a_figure_of_many_groups_says_how_many_it_leaves_out() -> None:
    tree = _figure_named("link") | {"record": {"rates": True}}
    tree["flows"] = [tree["flows"][0] | {"name": f"group {at}"} for at in range(12)]
    plot = ecnlab.run(ecnlab.scenario(tree), 1).plot
    legend = plot.rates().axes[0].get_legend()
    assert (legend.get_title().get_text(), len(legend.get_texts())) == ("the first 10 of 12 groups", 10)
    assert len(plot.rates(groups=["group 11", "group 3"]).axes[0].lines) == 2


def _figure_named(name: str) -> dict[str, Any]:
    queue = {"aqm": "droptail", "limit": 10}
    link = {"name": name, "from": "a", "to": "b", "rate": "1 Mbps", "delay": "1 ms", "queue": queue}
    flows = [{"name": group, "from": "a", "to": "b", "tcp": {"profile": "ns2"}} for group in (name, "other")]
    return {"name": name, "duration": "2 s", "link": [link], "flows": flows}
