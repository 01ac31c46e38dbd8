import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab.stats.estimates import mean_with_interval
from ecnlab.storage.results import RecordedSeries
from helpers import FIXED

# One flow without random draws: drop-tail queue, no spread, one start.


def test_every_frame_begins_with_the_seed_and_uses_names(small_result: ecnlab.Result) -> None:
    for frame in (small_result.flows, small_result.groups, small_result.queues, small_result.total, small_result.series.queue):
        assert frame.columns[0] == "seed"
        assert frame["seed"].unique().sort().to_list() == [1, 2, 3]
    assert small_result.groups["group"].unique().sort().to_list() == ["far", "near"]
    assert small_result.queues["queue"].unique().to_list() == ["bottleneck"]
    assert small_result.flows.height == 18


def test_the_groups_add_up_to_the_total(small_result: ecnlab.Result) -> None:
    summed = small_result.groups.group_by("seed", maintain_order=True).agg(pl.col("sent", "drops", "marks").sum())
    assert summed.rows() == small_result.total.select("seed", "sent", "drops", "marks").rows()


def test_the_summary_gives_the_interval_of_each_quantity(small_result: ecnlab.Result) -> None:
    summary = small_result.summary()
    row = summary.filter((pl.col("table") == "groups") & (pl.col("name") == "near") & (pl.col("quantity") == "goodput_bps"))
    expected = mean_with_interval(small_result.values("goodput_bps", group="near"))
    assert row.select("mean", "sd", "half_width", "n").row(0) == (expected.mean, expected.sd, expected.half_width, 3)
    assert row["unit"].item() == "bit/s"


def test_the_summary_as_json_has_no_nan(small: ecnlab.Scenario) -> None:
    tree = ecnlab.run(small, 1).summary_json()
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    assert tree["total"]["goodput_bps"]["half_width"] is None
    assert tree["groups"]["near"]["goodput_bps"]["unit"] == "bit/s"
    assert tree["queues"]["bottleneck"]["utilisation"]["mean"] > 0


def test_a_result_read_back_equals_the_one_that_was_written(small: ecnlab.Scenario, tmp_path: Path) -> None:
    written = ecnlab.run(small, [1, 2], out=tmp_path / "r")
    read = ecnlab.open_result(tmp_path / "r")
    assert read.summary_json() == written.summary_json() == json.loads((tmp_path / "r" / "summary.json").read_text())
    assert read.series.events.equals(written.series.events)


def test_marks_of_acknowledgements_are_events_and_no_marks_of_data() -> None:
    """With DCTCP acknowledgements are ECN-capable: the AQM of the reverse path marks them, and so does an impairment before it."""
    queue = {"aqm": "step", "limit": 200, "threshold": "5 packets"}
    reverse = {"rate": "400 kbps", "queue": queue, "impair": [{"kind": "mark", "rate": 0.5}]}
    tree = {
        "name": "acks",
        "duration": "2 s",
        "link": [{"name": "path", "from": "a", "to": "b", "rate": "100 Mbps", "delay": "5 ms", "reverse": reverse}],
        "flows": [{"name": "one", "from": "a", "to": "b", "count": 2, "tcp": {"profile": "linux", "variant": "dctcp", "ecn": True}}],
        "record": {"events": True},
    }
    result = ecnlab.run(ecnlab.scenario(tree), seed=1)
    events = result.series.events
    assert events["packet"].unique().to_list() == ["ack"]
    by_cause = dict(events.filter(pl.col("kind") == "mark").group_by("cause").len().iter_rows())
    assert by_cause["early"] == result.queues["marks"].item() > 100
    assert by_cause["path"] > 100
    assert result.total["marks"].item() == result.groups["marks"].item() == 0


ONE_PACKET = '{ kind = "file", bytes = "1 kB" }'


@pytest.mark.parametrize(
    ("overrides", "place", "part"),
    [
        ({"link.bottleneck.rate": "1 bps"}, "duration", "take at least 8"),
        ({"link.bottleneck.delay": "50 s"}, "duration", "take at least 1"),
        ({"measure_from": "4 s", "flows.near.app": ONE_PACKET, "flows.far.app": ONE_PACKET}, "measure_from", "no sender sent"),
    ],
)
def test_a_run_that_delivers_nothing_is_warned_of_with_the_reason(
    small_file: Path, overrides: dict[str, Any], place: str, part: str
) -> None:
    result = ecnlab.run(ecnlab.load(small_file, overrides), 1)
    (warning,) = [one for one in result.warnings if one.message.startswith("no data packet reached a sink between ")]
    assert warning.place == place
    assert part in warning.message
    assert "fix: " in warning.message


def test_a_quantity_that_is_not_there_is_an_error(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.UnknownName, match="unknown quantity of the table total 'godput_bps'; did you mean 'goodput_bps'"):
        small_result.estimate("godput_bps")


@pytest.mark.parametrize("key", ["seed", "group"])
def test_a_key_is_not_a_quantity(small_result: ecnlab.Result, key: str) -> None:
    with pytest.raises(ecnlab.UnknownName):
        small_result.values(key, group="near")


def test_a_queue_that_is_not_there_is_an_error(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.UnknownName, match=r"quantity of the table total 'sojourn_mean_s'; fix: give queue=\"bottleneck\"$"):
        small_result.estimate("sojourn_mean_s")
    with pytest.raises(ecnlab.UnknownName, match="unknown queue 'botleneck'; did you mean 'bottleneck'"):
        small_result.estimate("utilisation", queue="botleneck")


def test_a_group_and_a_queue_exclude_each_other(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.UsageError, match="exclude each other"):
        small_result.estimate("marks", group="near", queue="bottleneck")


def test_a_group_that_is_not_there_is_an_error(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.UnknownName, match="did you mean 'near'"):
        small_result.estimate("goodput_bps", group="neer")


def test_one_seed_of_a_result_is_a_result(small_result: ecnlab.Result) -> None:
    assert small_result.only(2).flows["seed"].unique().to_list() == [2]
    assert small_result.only(2).values("goodput_bps") == [small_result.values("goodput_bps")[1]]
    with pytest.raises(ecnlab.UnknownName, match="unknown seed '9'"):
        small_result.only(9)


def _scenario_with_bands() -> ecnlab.Result:
    """DualPI2 with its bands L and C and senders of both kinds; the link before it has no bands."""
    link = {"from": "a", "to": "b", "rate": "5 Mbps", "delay": "1 ms", "queue": {"aqm": "droptail", "limit": 50}}
    dual = {"name": "dual", "from": "b", "to": "c", "rate": "4 Mbps", "queue": {"discipline": "dualpi2", "limit": 100}}
    tcp = {"profile": "linux", "ecn": True}
    classic = {"name": "classic", "count": 2, "from": "a", "to": "c", "tcp": tcp}
    scalable = classic | {"name": "scalable", "tcp": tcp | {"variant": "dctcp", "ect_codepoint": "ect1"}}
    tree = {"name": "bands", "duration": "4 s", "measure_from": "1 s", "link": [link | {"name": "plain"}, link | dual]}
    return ecnlab.run(ecnlab.scenario(tree | {"flows": [classic, scalable]}), seeds=[1, 2])


def test_the_bands_of_a_queue_have_their_own_measures_and_add_up_to_it() -> None:
    result = _scenario_with_bands()
    assert result.band_names == [("dual", "L"), ("dual", "C")]
    assert result.bands.select("seed", "queue", "band").rows() == [(seed, "dual", band) for seed in (1, 2) for band in ("L", "C")]
    low, classic = (result.values("departures", queue="dual", band=band) for band in ("L", "C"))
    assert [sum(pair) for pair in zip(low, classic, strict=True)] == result.values("departures", queue="dual")
    sojourn = [result.estimate("sojourn_mean_s", queue="dual", band=band).mean for band in ("L", "C")]
    assert sojourn[0] < sojourn[1]
    summary = result.summary().filter(pl.col("table") == "bands")
    assert summary["name"].unique(maintain_order=True).to_list() == ["dual.L", "dual.C"]
    assert result.summary_json()["bands"]["dual.L"]["departures"]["mean"] == sum(low) / 2


def test_a_band_that_is_not_there_is_an_unknown_name_and_one_without_a_queue_a_fault_of_usage(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.UnknownName, match=r"unknown band 'dual\.M'; did you mean 'dual\.[LC]'"):
        _scenario_with_bands().values("marks", queue="dual", band="M")
    with pytest.raises(ecnlab.UsageError, match="band= requires queue="):
        small_result.values("marks", band="L")
    assert small_result.bands.height == 0
    assert small_result.band_names == []


def test_gauges_are_a_series_and_the_average_is_beside_the_length(small_result: ecnlab.Result) -> None:
    gauges = small_result.series.gauge
    assert gauges.columns == ["seed", "time_s", "queue", "gauge", "value"]
    assert gauges["gauge"].unique().to_list() == ["probability"]
    assert gauges.select("seed", "time_s").equals(small_result.series.queue.select("seed", "time_s"))
    assert not small_result.series.queue["average_packets"].is_nan().any()


def test_a_series_that_was_not_recorded_says_how_to_ask_for_it(small_file: Path) -> None:
    small_file.write_text(small_file.read_text().split("[record]")[0])
    result = ecnlab.run(ecnlab.load(small_file), 1)
    with pytest.raises(ecnlab.ResultsError, match=r"record\.events = true"):
        _ = result.series.events


def test_a_series_of_some_seeds_is_read_from_those(partly_recorded: ecnlab.Result) -> None:
    assert partly_recorded.seeds == [1, 2, 3, 4, 5, 6, 7]
    assert partly_recorded.series.rate["seed"].unique().to_list() == partly_recorded.seeds_with("series_rate") == [1, 2, 3, 4, 5]
    assert "queue" in partly_recorded.series
    assert repr(partly_recorded.series) == "<Series of 'small': queue, band, gauge, rate of seeds 1..5 of 7>"
    with pytest.raises(
        ecnlab.ResultsError, match=r"there is no table 'series_rate' of seed 6; fix: run all seeds with record\.rates = true"
    ):
        partly_recorded.tables_of_seeds([5, 6], "series_rate")
    with pytest.raises(ecnlab.ResultsError, match=r"the series 'rate' was not recorded; fix: set record\.rates = true"):
        _ = partly_recorded.only(6).series.rate


def test_an_unknown_series_is_an_unknown_name(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.UnknownName, match="unknown series 'quue'; did you mean 'queue'"):
        _ = "quue" in small_result.series


def test_an_editor_sees_the_series() -> None:
    assert {"queue", "gauge", "rate", "window", "events", "lockouts", "distributions"} <= set(dir(RecordedSeries))


def test_a_wider_confidence_gives_a_wider_interval(small_result: ecnlab.Result) -> None:
    usual, wide = small_result.estimate("goodput_bps"), small_result.estimate("goodput_bps", confidence=0.99)
    assert wide.half_width > usual.half_width
    assert wide.mean == usual.mean


@pytest.mark.parametrize("confidence", [0, 1, -1, 2.0, float("nan")])
def test_a_confidence_out_of_range_is_refused(small_result: ecnlab.Result, confidence: float) -> None:
    with pytest.raises(ecnlab.UsageError, match=r"confidence: .* must be above 0 and below 1"):
        small_result.estimate("goodput_bps", confidence=confidence)


def test_identical_seeds_have_no_interval_and_a_warning() -> None:
    result = ecnlab.run(ecnlab.scenario(FIXED), 3)
    found = result.estimate("goodput_bps")
    assert result.alike
    assert (found.n, found.sd) == (3, 0.0)
    assert math.isnan(found.half_width)
    assert result.summary()["half_width"].is_nan().all()
    assert "all seeds are identical" in result.summary_json()["warnings"][-1]["message"]
    assert "one seed" in result.warnings[-1].message


def test_seeds_that_differ_in_marks_alone_are_not_identical() -> None:
    scenario = ecnlab.scenario(
        {
            "name": "marked datagrams",
            "duration": "5 s",
            "link": [
                {
                    "name": "bottleneck",
                    "from": "a",
                    "to": "b",
                    "rate": "8 Mbps",
                    "delay": "5 ms",
                    "queue": {"aqm": "ecn", "limit": 100, "min_th": 5, "max_th": 90, "max_p": 0.1},
                }
            ],
            "flows": [
                {
                    "name": "f",
                    "from": "a",
                    "to": "b",
                    "udp": {"packet_size": 1000, "ecn": "ect0"},
                    "app": {"kind": "cbr", "rate": "8.05 Mbps"},
                }
            ],
        }
    )
    result = ecnlab.run(scenario, seeds=3)
    assert len(set(result.fingerprints.values())) == 1, "marks do not change the time of any packet here"
    assert len(set(result.values("marks"))) > 1
    assert not result.alike
    assert result.estimate("marks").half_width > 0


def test_the_warnings_of_the_scenario_are_those_of_its_result_and_its_summary(small_file: Path, tmp_path: Path) -> None:
    doubtful = ecnlab.load(small_file, {"link.bottleneck.queue.max_p": 0})
    result = ecnlab.run(doubtful, out=tmp_path / "r")
    assert result.warnings == doubtful.warnings != []
    assert ecnlab.open_result(tmp_path / "r").warnings == doubtful.warnings
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["warnings"][0]["place"] == doubtful.warnings[0].place


def test_distributions_are_a_series(small_file: Path) -> None:
    found = ecnlab.run(ecnlab.load(small_file, {"record.distributions": True})).series.distributions
    assert found.columns == ["seed", "quantity", "group_or_queue", "band", "low_s", "high_s", "count"]
    assert set(found["group_or_queue"]) == {"far", "near", "bottleneck"}


def test_one_seed_and_different_seeds_are_not_identical(small_result: ecnlab.Result) -> None:
    assert not small_result.alike
    assert not small_result.only(1).alike
    assert small_result.warnings == []


def test_plain_columns_agree_with_the_frames(small_result: ecnlab.Result) -> None:
    for quantity in ("goodput_bps", "sent", "delay_p95_s"):
        frame = small_result.groups.filter(pl.col("group") == "far").sort("seed")
        assert small_result.values(quantity, group="far") == frame[quantity].cast(pl.Float64).to_list()


def test_one_seed_has_a_mean_but_no_interval(small: ecnlab.Scenario) -> None:
    found = ecnlab.run(small, 1).estimate("goodput_bps")
    assert found.mean > 0
    assert math.isnan(found.half_width)


def test_marks_and_drops_recorded_singly_are_as_many_as_counted(small_result: ecnlab.Result) -> None:
    late = small_result.series.events.filter(pl.col("time_s") >= 1.0)
    queue = small_result.queues
    assert late.filter(pl.col("kind") == "mark").height == queue["marks"].sum()
    assert (
        late.filter(pl.col("kind") == "drop").height
        == queue.select(pl.sum_horizontal("drops_early", "drops_forced", "drops_overflow").sum()).item()
    )


def test_a_missing_table_is_an_unknown_name_and_an_unrecorded_one_is_absent(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.UnknownName, match="unknown table 'grups'; did you mean 'groups'"):
        small_result.table("grups")
    with pytest.raises(ecnlab.ResultsError, match="no finished seed has a table 'distributions'; there are bands"):
        small_result.table("distributions")


def test_a_column_that_the_table_does_not_have_is_refused_with_the_nearest_name(small_result: ecnlab.Result) -> None:
    with pytest.raises(ecnlab.UnknownName, match=r"unknown column of the table series_queue 'length'.*length_packets"):
        small_result.table_of_seed(1, "series_queue", ["time_s", "length"])
    with pytest.raises(ecnlab.UnknownName, match="unknown table"):
        small_result.table_of_seed(1, "series", ["length"])
    columns = small_result.table_of_seed(1, "series_queue", ["time_s", "length_packets"]).columns
    assert {"time_s", "length_packets"} <= set(columns)


@pytest.mark.parametrize("path", [None, 7])
def test_an_argument_that_is_not_a_path_is_refused_as_results_folder(path: object) -> None:
    with pytest.raises(ecnlab.UsageError, match="path: must be the path of a folder"):
        ecnlab.open_result(path)  # type: ignore[arg-type]


def test_one_seed_is_in_the_singular(small: ecnlab.Scenario) -> None:
    assert repr(ecnlab.run(small, seed=1)).endswith(", 1 seed>")
    assert repr(ecnlab.sweep(small, {"flows.far.count": [1]}, seeds=[1])).endswith(", 1 point, 1 seed>")
