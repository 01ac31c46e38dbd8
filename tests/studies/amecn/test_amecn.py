import math
import re
from pathlib import Path
from typing import Any

import pytest

import ecnlab
from ecnlab.scenarios import scenario
from ecnlab.studies import find
from ecnlab.studies.amecn import STUDY, alternatives, measures
from ecnlab.studies.amecn.networks import CHOSEN, SET, load, parking_lot, single
from ecnlab.studies.amecn.published import LOADS, SCHEMES, UTILISATION_PERCENT
from ecnlab.studies.model import Need
from ecnlab.studies.runner import run_study


def _resolved(need: Need) -> dict[str, Any]:
    return scenario(need.scenario).resolved


def _groups(need: Need) -> dict[str, dict[str, Any]]:
    return {group["name"]: group for group in _resolved(need)["flows"]}


def test_the_study_is_found_by_its_name() -> None:
    assert find("amecn") is STUDY
    assert [item.heading for item in STUDY.items] == [*(f"Figure {n}" for n in (5, 6, 7, 8, 9, 10, 12)), "Table A", "Table B"]


def test_the_link_whose_load_changes_is_the_papers() -> None:
    link = _resolved(load("rise", "AMECN"))["link"][0]
    assert (link["rate"], link["delay"]) == ("1500000 bps", "0.04 s")
    wanted = {"limit": "40 packets", "min_th": 5.0, "mid_th": 10.0, "max_th": 15.0, "w_q": 0.0027}
    assert {key: link["queue"][key] for key in wanted} == wanted
    more = _groups(load("rise", "AMECN"))["more"]
    assert (more["count"], more["tcp"]["max_window"], more["start"][:2]) == (20, 25, ["25 s", "25.1 s"])
    assert (more["tcp"]["response"], more["tcp"]["packet_size"], more["tcp"]["ack_size"]) == ("mecn", 1000, 40)


def test_only_the_flows_that_stop_go_through_the_gate() -> None:
    groups = _groups(load("fall", "MECN"))
    assert {name: group["access"]["to"] for name, group in groups.items()} == {"long": "r1", "back": "r2", "more": "gate"}
    assert groups["more"]["start"] == ["0 s"]


def test_flows_that_stop_send_nothing_new_after_25_s() -> None:
    tree = load("fall", "AMECN").scenario
    result = ecnlab.run(scenario({**tree, "duration": "40 s", "record": {"rates": True}}), seed=1)
    more = result.series.rate.filter(result.series.rate["group"] == "more")
    assert more.filter(more["time_s"] < 25)["throughput_bps"].min() > 0
    assert more.filter(more["time_s"] >= 26)["throughput_bps"].max() == 0


def test_the_link_with_a_target_is_the_papers() -> None:
    groups, link = _groups(single("ARED", 20)), _resolved(single("ARED", 20))["link"][0]
    assert (link["rate"], link["queue"]["target_delay"]) == ("7000000 bps", "0.02 s")
    assert groups["long"]["count"] == 100
    flows = ecnlab.run(scenario({**single("ARED", 20).scenario, "duration": "51 s"}), seed=1).flows
    rtts = flows.filter(flows["group"] == "long")["base_rtt_s"]
    assert 0.1 <= rtts.min() < 0.11 < 0.14 < rtts.max() <= 0.155, "100 to 150 ms, and the transmission of a packet"


def test_ared_gets_classic_ecn_and_amecn_its_own() -> None:
    assert _groups(single("ARED", 20))["long"]["tcp"]["response"] == "halve"
    assert _groups(single("AMECN", 20))["long"]["tcp"]["response"] == "mecn"


def test_the_parking_lot_has_the_flows_of_figure_11() -> None:
    groups = _groups(parking_lot("AMECN", 40))
    ways = {name: (group["access"]["to"], group["exit"]["from"]) for name, group in groups.items()}
    across = {"cross1": ("r0", "r1"), "cross2": ("r1", "r2"), "cross3": ("r2", "r3")}
    assert ways == {**across, "three hops": ("r0", "r3"), "two hops": ("r1", "r3")}
    assert all(group["count"] == 20 for group in groups.values())


def test_what_is_printed_is_complete() -> None:
    assert set(UTILISATION_PERCENT) == {(kind, scheme) for kind in LOADS for scheme in SCHEMES}
    assert list(UTILISATION_PERCENT.values()) == [94.5, 96.3, 93.4, 94.5]


def test_each_claim_of_the_paper_has_statements() -> None:
    assert [claim.id for claim in STUDY.claims] == ["M1", "M2", "M3", "M4", "M5"]
    assert all(claim.statements for claim in STUDY.claims)
    published = {claim.id: [s.published for s in claim.statements if s.published is not None] for claim in STUDY.claims}
    assert published["M2"] == [5.5, 3.7, 1.8]
    assert published["M3"] == [6.6, 5.5, 1.1]


def test_alternatives_vary_one_thing_at_a_time() -> None:
    for chosen, others in ((CHOSEN, alternatives.CHOICES), (SET, alternatives.SETTINGS)):
        assert others[0] is chosen
        for other in others[1:]:
            parts = [part for part in vars(chosen) if part != "name"]
            assert sum(getattr(other, part) != getattr(chosen, part) for part in parts) == 1, other.name


def test_the_average_queue_is_measured_over_its_span_only() -> None:
    result = ecnlab.run(scenario({**load("rise", "MECN").scenario, "duration": "30 s"}), seeds=2)
    before, after = measures.average_queue(10, 25)(result), measures.average_queue(26, 30)(result)
    assert len(before) == len(after) == 2
    assert all(8 < early < 12 < late for early, late in zip(before, after, strict=True))


def test_two_schemes_are_compared_at_one_delay_on_the_rivals_line() -> None:
    points = [(10.0, 0.9), (30.0, 0.96), (20.0, 0.94)]
    assert measures._between(points, 15.0) == pytest.approx(0.92)
    assert measures._between(points, 25.0) == pytest.approx(0.95)
    assert math.isnan(measures._between(points, 31.0)), "nothing is measured there"


@pytest.mark.parametrize("number", ["6", "8"])
def test_a_figure_of_a_load_that_changes_draws(number: str, tmp_path: Path) -> None:
    html = run_study(STUDY, tmp_path / "s", [1, 2], [number]).report.read_text()
    assert f"Figure {number}:" in html
    assert not re.search(r"\bnan\b", html)
