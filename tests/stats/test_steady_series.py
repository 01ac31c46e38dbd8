import shutil
from pathlib import Path

import pytest

import ecnlab
from ecnlab.errors import ResultsError
from ecnlab.scenarios.load import scenario_from_toml_text
from ecnlab.stats import steady_series
from helpers import EXAMPLES, FIXED


def _scenario_without_record(example: str, record: str = "", **changes: object) -> ecnlab.Scenario:
    return scenario_from_toml_text((EXAMPLES / example).read_text().split("[record]")[0] + record, changes)


def test_what_is_recorded_for_the_check_changes_neither_the_key_nor_the_results() -> None:
    scenario = _scenario_without_record("ecn.toml", duration="30 s")
    watched = steady_series.with_steady_state_recording(scenario)
    assert watched is not None
    assert watched.hash == scenario.hash
    assert (watched.record["queue"], watched.record["rates"]) == ("0.03 s", True)
    plain, seen = ecnlab.run(scenario, 2), ecnlab.run(watched, 2)
    assert plain.fingerprints == seen.fingerprints
    assert plain.total.equals(seen.total)


def test_a_scenario_that_records_already_keeps_its_own_interval() -> None:
    scenario = _scenario_without_record("ecn.toml", '[record]\nqueue = "10 ms"')
    watched = steady_series.with_steady_state_recording(scenario)
    assert watched is not None
    assert (watched.record["queue"], watched.record["rates"]) == ("0.01 s", True)
    assert steady_series.with_steady_state_recording(ecnlab.load(EXAMPLES / "ecn.toml")) is None


def test_bins_of_rates_that_are_off_are_not_those_of_the_check() -> None:
    watched = steady_series.with_steady_state_recording(_scenario_without_record("ecn.toml", '[record]\nrates_interval = "500 ms"'))
    assert watched is not None
    assert (watched.record["rates"], watched.record["rates_interval"]) == (True, "1 s")
    text = '[record]\nrates = true\nrates_interval = "500 ms"'
    watched = steady_series.with_steady_state_recording(_scenario_without_record("ecn.toml", text))
    assert watched is not None
    assert (watched.record["rates"], watched.record["rates_interval"]) == (True, "0.5 s")


_OFF = {"queue": "off", "rates": False}


@pytest.mark.parametrize(
    ("record", "overrides", "seen"),
    [
        ('[record]\nqueue = "off"\nrates = false', {}, None),
        ('record = { queue = "off", rates = false }', {}, None),
        ("", {"record.queue": "off", "record.rates": False}, None),
        ("", {"record": _OFF}, None),
        ('record.queue = "off"', {}, ("off", True)),
        ("", {"record.rates": False}, ("0.03 s", False)),
        ('[record]\nwindow = "off"', {}, ("0.03 s", True)),
    ],
)
def test_a_recording_that_the_scenario_switches_off_stays_off(
    record: str, overrides: dict[str, object], seen: tuple[str, bool] | None
) -> None:
    text = (EXAMPLES / "ecn.toml").read_text().split("[record]")[0]
    whole = text + record if record.startswith("[") else f"{record}\n{text}"
    watched = steady_series.with_steady_state_recording(scenario_from_toml_text(whole, {"duration": "30 s"} | overrides))
    assert seen == (watched and (watched.record["queue"], watched.record["rates"]))


def test_a_scenario_of_dicts_that_switches_recordings_off_keeps_them_off() -> None:
    assert steady_series.with_steady_state_recording(ecnlab.scenario(FIXED | {"record": _OFF})) is None
    assert steady_series.with_steady_state_recording(ecnlab.scenario(FIXED)) is not None


def test_what_would_take_too_much_memory_is_not_recorded() -> None:
    long = steady_series.with_steady_state_recording(_scenario_without_record("ecn.toml", duration="1000000 s"))
    assert long is not None
    assert not long.record["rates"]
    assert long.record["queue"] == "1000 s"
    assert (
        steady_series.with_steady_state_recording(_scenario_without_record("ecn.toml", duration="100 us", measure_from="0 s")).record[
            "queue"
        ]
        == "off"
    )  # type: ignore[union-attr]


def test_a_scenario_whose_own_record_takes_all_memory_runs_without_the_check() -> None:
    rough, fine = 1e-3, 1e-6
    for _ in range(40):  # the shortest interval that the engine admits
        middle = (rough + fine) / 2
        try:
            largest = _scenario_without_record("ecn.toml", duration="30 s", **{"record.window": f"{middle:.12f} s"})
            rough = middle
        except ecnlab.ScenarioError:
            fine = middle
    assert steady_series.with_steady_state_recording(largest) is None


def test_a_scenario_that_changes_its_links_has_no_steady_state() -> None:
    scenario = ecnlab.load(EXAMPLES / "wireless.toml", {"duration": "20 s"})
    assert steady_series.with_steady_state_recording(scenario) is None
    found = ecnlab.run(scenario).steady_state()
    assert (found.from_s, found.reason, found.warnings) == (None, "the scenario changes links at set times", [])


def test_the_check_finds_the_transient_of_sixty_flows_that_begin_together() -> None:
    early = ecnlab.run(ecnlab.load(EXAMPLES / "ecn.toml", {"measure_from": "0 s"}), 5).steady_state()
    assert early.seeds == [1, 2, 3, 4, 5]
    assert early.from_s is not None
    assert 4 <= early.from_s <= 20, "by eye in the figure of the queue: it falls from 120 packets until 5 s"
    assert [warning.place for warning in early.warnings] == ["measure_from"]
    late = ecnlab.run(ecnlab.load(EXAMPLES / "ecn.toml"), 5).steady_state()
    assert (late.from_s, late.warnings) == (early.from_s, [])


def test_traffic_that_ends_has_no_steady_state() -> None:
    flows = {"name": "f", "from": "a", "to": "b", "tcp": {"profile": "rfc"}, "app": {"kind": "file", "bytes": "200 KB"}}
    link = {"name": "l", "from": "a", "to": "b", "rate": "1 Mbps", "delay": "1 ms", "queue": {"aqm": "droptail", "limit": 10}}
    scenario = ecnlab.scenario({"name": "ends", "duration": "60 s", "link": [link], "flows": [flows], "record": {"rates": True}})
    assert ecnlab.run(scenario).steady_state().reason == "its traffic ends before the run does"


def test_of_many_seeds_the_first_five_with_series_are_used(tmp_path: object) -> None:
    scenario = _scenario_without_record("ecn.toml", duration="30 s", measure_from="5 s")
    watched = steady_series.with_steady_state_recording(scenario)
    assert watched is not None
    ecnlab.run(watched, [3, 4], out=f"{tmp_path}/r")
    whole = ecnlab.run(scenario, 6, out=f"{tmp_path}/r")
    assert whole.steady_state().seeds == [3, 4]
    assert ecnlab.open_result(f"{tmp_path}/r").steady_state() == whole.steady_state()


def test_without_series_there_is_no_steady_state() -> None:
    result = ecnlab.run(_scenario_without_record("ecn.toml", duration="10 s", measure_from="1 s"))
    with pytest.raises(ResultsError, match=r"fix: set record\.queue"):
        result.steady_state()


def test_a_recorded_interval_that_is_none_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    result = ecnlab.run(ecnlab.load(EXAMPLES / "ecn.toml", {"duration": "10 s", "measure_from": "1 s", "record.queue": "10 ms"}))
    recording = {**result.recording(1), "queue": "often"}
    monkeypatch.setattr(type(result), "recording", lambda _result, _seed: recording)
    with pytest.raises(ResultsError, match=r'record\.queue of seed 1 is "often" and not an interval; fix: run the seed again'):
        result.steady_state()


def test_a_run_that_is_observed_records_five_seeds_and_changes_nothing_else(tmp_path: object) -> None:
    scenario = _scenario_without_record("ecn.toml", duration="30 s", measure_from="5 s")
    seen = ecnlab.run(scenario, 7, observe=True, out=f"{tmp_path}/r")
    plain = ecnlab.run(scenario, 7)
    assert seen.fingerprints == plain.fingerprints
    assert seen.summary().equals(plain.summary(), null_equal=True)
    assert [seed for seed in seen.seeds if seen.recording(seed)["rates"]] == [1, 2, 3, 4, 5]
    assert seen.steady_state().seeds == [1, 2, 3, 4, 5]
    assert ecnlab.open_result(f"{tmp_path}/r").header["parameters"]["record"]["queue"] == "off", (
        "the folder has the scenario as it was written"
    )


def test_tables_of_observed_seeds_are_in_memory_and_equal_those_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    seen = ecnlab.run(_scenario_without_record("ecn.toml", duration="30 s", measure_from="5 s"), 6, observe=True, out=folder)
    stored = ecnlab.open_result(folder)
    for seed in seen.seeds:
        for name in seen.only(seed).tables:
            kept, read = seen.table_of_seed(seed, name), stored.table_of_seed(seed, name)
            assert repr([(one, kept.column(one)) for one in kept.columns]) == repr([(one, read.column(one)) for one in read.columns])
    shutil.rmtree(folder)
    assert seen.steady_state().seeds == [1, 2, 3, 4, 5]
    with pytest.raises(ResultsError, match="does not exist"):
        seen.table_of_seed(6, "total")


def test_seeds_that_are_stored_are_not_run_again_to_be_observed(tmp_path: object) -> None:
    scenario = _scenario_without_record("ecn.toml", duration="30 s", measure_from="5 s")
    ecnlab.run(scenario, 4, out=f"{tmp_path}/r")
    seen = ecnlab.run(scenario, 6, observe=True, out=f"{tmp_path}/r")
    assert seen.steady_state().seeds == [5]


def test_the_advised_duration_is_enough_for_the_begin_that_is_advised_beside_it() -> None:
    def advice(duration: str, measure_from: str) -> dict[str, str]:
        scenario = ecnlab.load("example:red_ecn_udp", {"duration": duration, "measure_from": measure_from})
        warnings = ecnlab.run(scenario, observe=True).steady_state().warnings
        return {warning.place: warning.message.split('"')[1] for warning in warnings}

    first = advice("20 s", "5 s")
    assert first.keys() == {"measure_from", "duration"}
    assert advice(**first) == {}
