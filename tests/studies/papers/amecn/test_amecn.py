import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab.scenarios.load import scenario
from ecnlab.studies import find_study
from ecnlab.studies.framework.model import InadmissibleSetup, RequiredScenario
from ecnlab.studies.framework.runner import run_study
from ecnlab.studies.papers.amecn import STUDY, alternatives, measures, open_parameters
from ecnlab.studies.papers.amecn.networks import (
    CHOSEN_CHOICE,
    CHOSEN_SETTING,
    changing_load_scenario,
    parking_lot_scenario,
    single_link_scenario,
)
from ecnlab.studies.papers.amecn.published import LOAD_NAMES, SCHEMES, UTILISATION_PERCENT


def _resolved_parameters(need: RequiredScenario) -> dict[str, Any]:
    return scenario(need.scenario).resolved


def _groups_by_name(need: RequiredScenario) -> dict[str, dict[str, Any]]:
    return {group["name"]: group for group in _resolved_parameters(need)["flows"]}


def test_the_study_is_found_by_its_name() -> None:
    assert find_study("amecn") is STUDY
    assert [item.heading for item in STUDY.items] == [*(f"Figure {n}" for n in (5, 6, 7, 8, 9, 10, 12)), "Table A", "Table B"]


def test_the_link_whose_load_changes_is_the_papers() -> None:
    link = _resolved_parameters(changing_load_scenario("rise", "AMECN"))["link"][0]
    assert (link["rate"], link["delay"]) == ("1500000 bps", "0.04 s")
    wanted = {"limit": "40 packets", "min_th": 5.0, "mid_th": 10.0, "max_th": 15.0, "w_q": 0.0027}
    assert {key: link["queue"][key] for key in wanted} == wanted
    more = _groups_by_name(changing_load_scenario("rise", "AMECN"))["more"]
    assert (more["count"], more["tcp"]["max_rwnd"], more["start"][:2]) == (20, 25, ["25 s", "25.1 s"])
    assert (more["tcp"]["ecn_response"], more["tcp"]["packet_size"], more["tcp"]["quirks"]["ack_size"]) == ("mecn", 1000, 40)


def test_only_the_flows_that_stop_go_through_the_gate() -> None:
    groups = _groups_by_name(changing_load_scenario("fall", "MECN"))
    assert {name: group["access"]["to"] for name, group in groups.items()} == {"long": "r1", "back": "r2", "more": "gate"}
    assert groups["more"]["start"] == ["0 s"]


def test_flows_that_stop_send_nothing_new_after_25_s() -> None:
    tree = changing_load_scenario("fall", "AMECN").scenario
    result = ecnlab.run(scenario({**tree, "duration": "40 s", "record": {"rates": True}}), seed=1)
    more = result.series.rate.filter(result.series.rate["group"] == "more")
    assert more.filter(more["time_s"] < 25)["throughput_bps"].min() > 0
    assert more.filter(more["time_s"] >= 26)["throughput_bps"].max() == 0


def test_the_link_with_a_target_is_the_papers() -> None:
    groups, link = _groups_by_name(single_link_scenario("ARED", 20)), _resolved_parameters(single_link_scenario("ARED", 20))["link"][0]
    assert (link["rate"], link["queue"]["target_delay"]) == ("7000000 bps", "0.02 s")
    assert groups["long"]["count"] == 100
    flows = ecnlab.run(scenario({**single_link_scenario("ARED", 20).scenario, "duration": "51 s"}), seed=1).flows
    rtts = flows.filter(flows["group"] == "long")["base_rtt_s"]
    assert 0.1 <= rtts.min() < 0.11 < 0.14 < rtts.max() <= 0.155, "100 to 150 ms, and the transmission of a packet"


def test_ared_gets_classic_ecn_and_amecn_its_own() -> None:
    assert _groups_by_name(single_link_scenario("ARED", 20))["long"]["tcp"]["ecn_response"] == "halve"
    assert _groups_by_name(single_link_scenario("AMECN", 20))["long"]["tcp"]["ecn_response"] == "mecn"


def test_the_parking_lot_has_the_flows_of_figure_11() -> None:
    groups = _groups_by_name(parking_lot_scenario("AMECN", 40))
    ways = {name: (group["access"]["to"], group["exit"]["from"]) for name, group in groups.items()}
    across = {"cross1": ("r0", "r1"), "cross2": ("r1", "r2"), "cross3": ("r2", "r3")}
    assert ways == {**across, "three hops": ("r0", "r3"), "two hops": ("r1", "r3")}
    assert all(group["count"] == 20 for group in groups.values())


def test_what_is_printed_is_complete() -> None:
    assert set(UTILISATION_PERCENT) == {(kind, scheme) for kind in LOAD_NAMES for scheme in SCHEMES}
    assert list(UTILISATION_PERCENT.values()) == [94.5, 96.3, 93.4, 94.5]


def test_each_claim_of_the_paper_has_statements() -> None:
    assert [claim.id for claim in STUDY.claims] == ["M1", "M2", "M3", "M4", "M5"]
    assert all(claim.statements for claim in STUDY.claims)
    published = {claim.id: [s.published for s in claim.statements if s.published is not None] for claim in STUDY.claims}
    assert published["M1"] == [15]
    assert published["M2"] == [94.5, 96.3, 1.8]
    assert published["M3"] == [15, 93.4, 94.5, 1.1]


def test_ranges_follow_from_printed_numbers() -> None:
    ranges = {claim.id: [(s.range.low, s.range.high) for s in claim.statements] for claim in STUDY.claims}
    assert ranges["M1"] == [(3, math.inf), (3, math.inf), (0, math.inf), (-50, 50), (12, math.inf), (7.5, 22.5), (90, math.inf)]
    assert ranges["M2"][:3] == [(93.6, 95.4), (95.4, 97.2), (0, 2.7)], "nearer to its own number than to the other's"
    assert ranges["M2"][3:] == [(-5, 0), (-math.inf, 0)]
    assert ranges["M3"][:5] == [(-math.inf, 0), (-50, 50), (-math.inf, 9), (-math.inf, 15), (90, math.inf)]
    assert ranges["M3"][5:] == [(92.85, 93.95), (93.95, 95.05), (0, 1.65)]
    assert set(ranges["M4"]) == {(-10, 10)}, "0.4 and 0.6 of the way from min_th to three times that, about twice min_th"


def test_each_claim_quotes_the_paper() -> None:
    assert all(claim.quote.startswith("“") and "(section 4." in claim.quote for claim in STUDY.claims)


def _queues_by_name(need: RequiredScenario) -> list[dict[str, Any]]:
    return [link["queue"] for link in _resolved_parameters(need)["link"] if link["queue"].get("aqm") in ("mecn", "amecn", "ared")]


@pytest.mark.parametrize(
    "need",
    [
        changing_load_scenario("rise", "MECN"),
        changing_load_scenario("fall", "AMECN"),
        single_link_scenario("AMECN", 20),
        parking_lot_scenario("AMECN", 20),
    ],
)
def test_marks_of_mecn_and_amecn_are_spaced_as_a_set_up_has_it(need: RequiredScenario) -> None:
    assert all((queue["gaps"], queue["wait"]) == ("uniform", False) for queue in _queues_by_name(need))
    others = {name: RequiredScenario(rewriting(need.scenario)) for name, rewriting in open_parameters.SPACING.values.items()}
    assert all(queue["wait"] for queue in _queues_by_name(others["ns-2's wait"]))
    assert all(queue["gaps"] == "geometric" for queue in _queues_by_name(others["independent draws"]))
    assert open_parameters.ARED_SPACING.values["uniform gaps"](need.scenario) == need.scenario


def test_ared_is_ns_2_s_unless_a_set_up_turns_its_wait_off() -> None:
    need = single_link_scenario("ARED", 20)
    assert all(queue["wait"] for queue in _queues_by_name(need))
    assert not any(
        queue["wait"] for queue in _queues_by_name(RequiredScenario(open_parameters.ARED_SPACING.values["uniform gaps"](need.scenario)))
    )
    assert all(rewriting(need.scenario) == need.scenario for rewriting in open_parameters.SPACING.values.values())


def test_windows_and_flows_back_change_the_scenarios_of_their_figures_alone() -> None:
    windows, back = open_parameters.LONG_WINDOWS.values["no limit"], open_parameters.FLOWS_BACK.values["50 flows"]
    changed = _groups_by_name(RequiredScenario(windows(changing_load_scenario("rise", "MECN").scenario)))
    assert {name: group["tcp"]["max_rwnd"] for name, group in changed.items()} == {"long": 1000, "back": 1000, "more": 25}
    assert {
        name: group["count"] for name, group in _groups_by_name(RequiredScenario(back(single_link_scenario("ARED", 20).scenario))).items()
    } == {
        "long": 100,
        "web": 20,
        "back": 50,
    }
    assert windows(single_link_scenario("ARED", 20).scenario) == single_link_scenario("ARED", 20).scenario
    assert back(changing_load_scenario("rise", "MECN").scenario) == changing_load_scenario("rise", "MECN").scenario


def test_the_main_value_of_each_open_parameter_leaves_scenarios_as_they_are() -> None:
    needs = [need for claim in STUDY.claims for need in claim.required_scenarios()]
    for parameter in STUDY.open_parameters:
        assert all(parameter.values[parameter.main](need.scenario) is need.scenario for need in needs)
        others = [rewriting for value, rewriting in parameter.values.items() if value != parameter.main]
        assert all(any(rewriting(need.scenario) != need.scenario for need in needs) for rewriting in others), parameter.name


@pytest.mark.parametrize("alternative", STUDY.alternatives, ids=lambda alternative: alternative.name)
def test_an_alternative_is_a_scenario(alternative: InadmissibleSetup) -> None:
    needs = [changing_load_scenario("rise", "AMECN"), single_link_scenario("AMECN", 20)]
    changed = [need for need in needs if alternative.rewriting(need.scenario) != need.scenario]
    assert changed
    assert all(_resolved_parameters(RequiredScenario(alternative.rewriting(need.scenario))) for need in changed)


def test_alternatives_vary_one_thing_at_a_time() -> None:
    for chosen, others in ((CHOSEN_CHOICE, alternatives.ALTERNATIVE_CHOICES), (CHOSEN_SETTING, alternatives.ALTERNATIVE_SETTINGS)):
        assert others[0] is chosen
        for other in others[1:]:
            parts = [part for part in vars(chosen) if part != "name"]
            assert sum(getattr(other, part) != getattr(chosen, part) for part in parts) == 1, other.name


def test_the_average_queue_is_measured_over_its_span_only() -> None:
    result = ecnlab.run(scenario({**changing_load_scenario("rise", "MECN").scenario, "duration": "30 s"}), seeds=2)
    before, after = measures.average_queue_over_span(10, 25)(result), measures.average_queue_over_span(26, 30)(result)
    assert len(before) == len(after) == 2
    assert all(6 < early < 11.5 < late for early, late in zip(before, after, strict=True))


def _result_with_averages(*seeds: list[float]) -> Any:
    """A result with these averages of the queue, one per second from 0 s on."""
    rows = [("bottleneck", seed, float(time), value) for seed, values in enumerate(seeds, 1) for time, value in enumerate(values)]
    frame = pl.DataFrame(rows, schema=["queue", "seed", "time_s", "average_packets"], orient="row")
    header = {"duration_s": float(len(seeds[0]))}
    return SimpleNamespace(series=SimpleNamespace(queue=frame), seeds=list(range(1, len(seeds) + 1)), header=header)


def test_the_largest_and_the_smallest_average_are_those_of_the_span() -> None:
    result = _result_with_averages([20, 8, 15, 11, 1], [20, 3, 3, 4, 30])
    assert measures.average_queue_over_span(1, 4, max)(result) == [15, 4]
    assert measures.average_queue_over_span(1, 4, min)(result) == [8, 3]
    assert measures.average_queue_time_share_in_range(8, 11, 1, 4)(result) == pytest.approx([2 / 3, 0])


def test_the_average_is_back_when_it_is_in_the_range_again_after_its_peak() -> None:
    rises = measures.average_queue_return_time(9, 12, 2, 6, rises=True)
    through_the_range = [7, 7, 8, 10, 16, 14, 12, 11]
    never_out = [10, 10, 11, 12, 11, 10, 10, 10]
    not_back = [10, 10, 13, 14, 14, 14, 14, 14]
    a_dip_below = [10, 10, 13, 14, 8, 8, 10, 10]
    assert rises(_result_with_averages(through_the_range, never_out, not_back, a_dip_below)) == [4, 0, 6, 4]
    falls = measures.average_queue_return_time(9, 12, 2, 6, rises=False)
    assert falls(_result_with_averages([14, 14, 13, 11, 2, 5, 9, 9], never_out, [14, 14, 3, 3, 3, 3, 3, 3])) == [4, 0, 6]


def test_two_schemes_are_compared_at_one_delay_on_the_rivals_line() -> None:
    points = [(10.0, 0.9), (30.0, 0.96), (20.0, 0.94)]
    assert measures._interpolate_linearly(points, 15.0) == pytest.approx(0.92)
    assert measures._interpolate_linearly(points, 25.0) == pytest.approx(0.95)
    assert math.isnan(measures._interpolate_linearly(points, 31.0)), "nothing is measured there"


@pytest.mark.parametrize("number", ["6", "8"])
def test_a_figure_of_a_load_that_changes_draws(number: str, tmp_path: Path) -> None:
    html = run_study(STUDY, tmp_path / "s", [1, 2], [number]).report.read_text()
    assert f"Figure {number}:" in html
    assert not re.search(r"\bnan\b", html)
