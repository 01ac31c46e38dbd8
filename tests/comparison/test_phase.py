"""The detector of phase effects, on networks with a known phase lock or none."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ecnlab
from ecnlab.comparison.phase import PhaseEffect, phase_effects
from ecnlab.stats.estimates import Estimate, prediction_p_value
from ecnlab.stats.student_t import two_sided_t_quantile
from helpers import SMALL, Outcome

Command = Callable[..., Outcome]


def _two_flow_scenario(delay: str = "10.5 ms", **queue: Any) -> dict[str, Any]:
    """Two connections through one gateway (Floyd and Jacobson 1992); the start delay of the second decides on the lock."""
    flows = [
        {
            "name": name,
            "to": "sink",
            "access": {"to": "gateway", "rate": "8 Mbps", "delay": before},
            "start": start,
            "tcp": {"profile": "ns2", "variant": "tahoe", "handshake": "none", "max_rwnd": 32},
        }
        for name, before, start in (("one", "5 ms", "0 s"), ("two", delay, "1.3 s"))
    ]
    link = {"name": "bottleneck", "from": "gateway", "to": "sink", "rate": "800 kbps", "delay": "100 ms"}
    link["queue"] = {"aqm": "droptail", "limit": 15} | queue  # type: ignore[assignment]
    return {"name": "two flows", "duration": "100 s", "measure_from": "50 s", "link": [link], "flows": flows}


def _phase_effect(tree: dict[str, Any], **more: Any) -> PhaseEffect:
    return ecnlab.phase_effect(ecnlab.scenario(tree), store=None, **more)


def test_a_known_phase_lock_is_found() -> None:
    found = _phase_effect(_two_flow_scenario())
    assert found.found
    assert found.is_deterministic
    moved = {row.dotted_measure_name: row for row in found.moved_rows}
    share = moved["groups.one.goodput_bps"]
    assert share.without.mean > 0.85 * 800e3 > 0.6 * 800e3 > share.with_.mean
    assert share.adjusted_p < 0.01
    assert math.isnan(share.without.half_width)
    assert found.line.startswith(f"phase effect: {len(found.moved_rows)} of {len(found.rows)} measures move: groups.two.goodput_bps +")


def test_random_marks_and_many_round_trip_times_leave_nothing_to_find() -> None:
    tree = _two_flow_scenario(aqm="red", min_th=3, max_th=12, max_p=0.1, w_q=0.002)
    for flow in tree["flows"]:
        flow["count"] = 4
        flow["access"]["delay"] = ["1 ms", "7 ms", "13 ms", "29 ms"]
        flow["start"] = ["0 s", "0.31 s", "0.77 s", "1.13 s"]
    found = _phase_effect(tree)
    assert not found.found, found
    assert not found.is_deterministic
    assert found.line == "phase effect: none found"
    assert len(found.rows) > 8


def test_a_deterministic_network_without_a_lock_is_not_found() -> None:
    tree = _two_flow_scenario()
    del tree["flows"][1]
    found = _phase_effect(tree, measures=["goodput_bps", "utilisation"])
    assert found.is_deterministic
    assert not found.found, found.rows


def test_a_change_of_a_queue_that_is_hardly_used_is_no_finding() -> None:
    tree = _two_flow_scenario()
    first = {"name": "fast", "from": "hosts", "to": "gateway", "rate": "1 Gbps", "delay": "0 ms"}
    tree["link"].append(first | {"queue": {"aqm": "droptail", "limit": 100}})
    for flow in tree["flows"]:
        flow["access"]["to"] = "hosts"
    found = _phase_effect(tree, seeds=5)
    rows = {row.dotted_measure_name: row for row in found.rows}
    assert found.found
    for place in ("queues.fast.length_mean_packets", "queues.fast.sojourn_mean_s", "queues.fast.utilisation"):
        assert not rows[place].moved, rows[place]


def test_only_the_measures_asked_for_are_compared() -> None:
    found = _phase_effect(_two_flow_scenario(), measures=["goodput_bps", "drop_rate"], seeds=3)
    places = {row.dotted_measure_name for row in found.rows}
    assert places == {"total.goodput_bps", "groups.one.goodput_bps", "groups.two.goodput_bps", "queues.bottleneck.drop_rate"}
    with pytest.raises(ecnlab.UsageError, match=r"measures: unknown goodputs; fix: use one of .*goodput_bps"):
        _phase_effect(_two_flow_scenario(), measures=["goodputs"], seeds=2)


def test_a_result_may_be_the_base_and_its_seeds_are_taken() -> None:
    scenario = ecnlab.scenario(_two_flow_scenario())
    base = ecnlab.run(scenario, [3, 4, 5])
    found = ecnlab.phase_effect(scenario, base=base, store=None)
    assert found.seeds == [3, 4, 5]
    assert found.to_dict() == ecnlab.phase_effect(scenario, [3, 4, 5], store=None).to_dict()


def test_the_same_seeds_give_the_same_answer() -> None:
    assert _phase_effect(_two_flow_scenario(), seeds=4).to_dict() == _phase_effect(_two_flow_scenario(), seeds=4).to_dict()


def test_one_seed_is_refused_and_a_scenario_that_has_a_processing_time() -> None:
    with pytest.raises(ecnlab.UsageError, match=r"at least 2 seeds; give more, as in --seeds 10"):
        _phase_effect(_two_flow_scenario(), seeds=[1])
    with pytest.raises(ecnlab.ScenarioError, match=r"processing_jitter: the scenario sets a processing time.*fix: omit it"):
        _phase_effect(_two_flow_scenario() | {"processing_jitter": "1 ms"})


def test_a_processing_time_of_0_is_refused() -> None:
    with pytest.raises(ecnlab.UsageError, match=r"jitter: '0 ms' is not a processing time.*fix: \"packet\", or a time above 0"):
        _phase_effect(_two_flow_scenario(), jitter="0 ms")


def test_only_measures_that_can_be_compared_are_offered() -> None:
    with pytest.raises(ecnlab.UsageError, match="measures: unknown queue; fix: use one of") as error:
        _phase_effect(_two_flow_scenario(), measures=["queue"], seeds=2)
    offered = str(error.value).partition("use one of ")[2].split(", ")
    assert not {"group", "queue", "seed"} & set(offered)


def test_of_a_hundred_measures_without_an_effect_few_are_said_to_move() -> None:
    """A null comparison: the two sides differ by their seeds only, so at most 5 % of such comparisons find a difference."""
    import numpy as np

    from ecnlab.stats.estimates import fdr_adjusted_p_values, mean_with_interval, p_value

    rng = np.random.default_rng(1)
    paired = [[p_value(mean_with_interval(list(changes)), 0.0) for changes in rng.normal(size=(100, 10))] for _ in range(200)]
    one_run = [[prediction_p_value(mean_with_interval(list(row[1:])), row[0]) for row in rng.normal(size=(100, 11))] for _ in range(200)]
    for tries in (paired, one_run):
        plain, adjusted = (sum(any(p <= 0.05 for p in of(ps)) for ps in tries) for of in (list, fdr_adjusted_p_values))
        assert plain > 0.95 * 200
        assert adjusted <= 0.05 * 200 + 4 * math.sqrt(200 * 0.05 * 0.95)


def test_a_value_is_judged_as_one_more_of_a_sample() -> None:
    sample = Estimate(mean=10.0, sd=2.0, half_width=1.0, n=9)
    edge = 10.0 + two_sided_t_quantile(0.95, 8) * 2.0 * math.sqrt(1 + 1 / 9)
    assert prediction_p_value(sample, edge) == pytest.approx(0.05)
    assert prediction_p_value(sample, 10.0) == 1.0
    constant = Estimate(mean=10.0, sd=0.0, half_width=0.0, n=9)
    assert [prediction_p_value(constant, value) for value in (10.0, 10.1)] == [1.0, 0.0]
    assert math.isnan(prediction_p_value(Estimate(10.0, math.nan, math.nan, 1), 10.0))


@pytest.mark.parametrize("n", [2, 5])
def test_a_change_that_is_equal_at_a_few_seeds_does_not_count_as_moved(small: ecnlab.Scenario, n: int) -> None:
    measures = ["length_max_packets", "drops", "timeouts"]
    effects = [ecnlab.phase_effect(small, range(first, first + n), measures=measures) for first in range(1, 8 * n, n)]
    equal = [row for effect in effects for row in effect.rows if row.change.half_width == 0 != row.change.mean]
    assert equal
    assert {row.p for row in equal} == {2.0 ** (1 - n)}
    assert not any(row.moved for row in equal)


def test_several_scenarios_are_judged_together() -> None:
    found = phase_effects([ecnlab.scenario(_two_flow_scenario(delay)) for delay in ("9.5 ms", "10.5 ms")], 4, store=None)
    shares = [{row.dotted_measure_name: row.without.mean for row in one.rows}["groups.one.goodput_bps"] / 800e3 for one in found]
    assert shares[0] < 0.15
    assert shares[1] > 0.85


def test_the_command_reports_scenarios_with_a_phase_effect(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    (as_json,) = json.loads(command("phase", path, "--seeds", "3", "--json").out)
    assert (as_json["source"], as_json["scenario"], as_json["seeds"]) == (str(path), "small", [1, 2, 3])
    done = command("phase", path, "--seeds", "3", "--all")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == f"phase effects in {int(as_json['found'])} of 1 scenarios"
    assert f"{len(as_json['moved'])} of {as_json['measures']}" in done.out
    reason = "3 seeds are too few to find a phase effect: its change would rarely be significant"
    few = f"warning: seeds: {reason}; fix: give at least 5, as in --seeds 5"
    assert (few in done.err.splitlines()) == (not as_json["found"])
    assert "too few" not in command("phase", path, "--seeds", "5", "--all").err
    none = command("phase", "--seeds", "3")
    assert none.code == 2
    assert "the scenario is missing; fix: name a scenario file" in none.err
