from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab.execution.runner import Request, run_all
from ecnlab.plot.style import PLAIN
from ecnlab.studies.framework.model import RequiredScenario, StudyItem
from ecnlab.studies.papers.aecn import STUDY, beyond
from ecnlab.studies.papers.aecn.beyond import scenarios

Tree = Mapping[str, Any]


def _shortened_needs(need: RequiredScenario) -> ecnlab.Scenario:
    return ecnlab.scenario({**need.scenario, "duration": "8 s", "measure_from": "3 s"})


@pytest.fixture(scope="module")
def results() -> dict[RequiredScenario, ecnlab.Result]:
    """Results of all scenarios of the items, with two seeds and 8 s each."""
    needs = list(dict.fromkeys(need for item in beyond.ITEMS for need in item.needs.values()))
    return dict(zip(needs, run_all([Request(_shortened_needs(need), [1, 2]) for need in needs]).results_or_raise(), strict=True))


@pytest.mark.parametrize("item", beyond.ITEMS, ids=lambda item: item.number)
def test_every_item_draws_its_figure_with_a_table_and_its_data(item: StudyItem, results: dict[RequiredScenario, ecnlab.Result]) -> None:
    with PLAIN.matplotlib_rc_context():
        drawing = item.draw({key: results[need] for key, need in item.needs.items()})
    assert drawing.figure is not None
    assert drawing.data is not None
    assert drawing.data.height > 0
    assert all(len(row) == len(table.header) for table in drawing.tables for row in table.rows)


def test_the_part_is_the_study_s_last_and_its_claims_are_named_f() -> None:
    assert [item.number for item in STUDY.items if item.part == "Beyond the thesis"] == [f"B{at}" for at in range(1, 10)]
    assert [claim.id for claim in STUDY.claims if claim.own] == [f"F{at}" for at in range(1, 14)]


def test_every_claim_has_statements_and_names_figures_of_the_part() -> None:
    numbers = {item.number for item in beyond.ITEMS}
    for claim in beyond.CLAIMS:
        assert claim.statements, claim.id
        assert set(claim.figures) <= numbers, claim.id


def test_a_thesis_network_is_the_same_run_here_and_in_the_chapters() -> None:
    chapters = {ecnlab.scenario(need.scenario).hash for item in STUDY.items if item not in beyond.ITEMS for need in item.needs.values()}
    assert {ecnlab.scenario(scenarios.thesis_network(scheme)).hash for scheme in ("RED", "ECN", "AECN")} <= chapters


def test_resized_groups_share_the_access_capacity_as_before() -> None:
    tree = scenarios.group_sizes_change({"fragile": 40, "average": 10, "robust": 10})(scenarios.thesis_network("AECN"))
    assert {flow["name"]: flow["count"] for flow in tree["flows"]} == {"fragile": 40, "average": 10, "robust": 10}
    assert {flow["access"]["rate"] for flow in tree["flows"]} == {"1.5 Mbps"}


def test_a_spread_of_half_is_half_of_the_group_s_delay_to_either_side() -> None:
    delays = [flow["access"]["delay"] for flow in scenarios.spread_access_delays_change(0.5)(scenarios.thesis_network("AECN"))["flows"]]
    assert delays == ["uniform 47.5 ms to 142.5 ms", "uniform 22.5 ms to 67.5 ms", "uniform 10 ms to 30 ms"]


@pytest.mark.parametrize("kind", ["cbr", "pareto"])
def test_datagrams_offer_their_share_of_the_link(kind: str) -> None:
    tree = scenarios.datagram_sources_change(kind, 0.3)(scenarios.thesis_network("AECN"))
    tree = {**tree, "flows": tree["flows"][-1:], "duration": "1000 s"}
    offered = ecnlab.run(ecnlab.scenario(tree), seed=1).estimate("throughput_bps").mean
    assert offered == pytest.approx(3e6, rel=0.01 if kind == "cbr" else 0.15)


def test_of_mixed_groups_half_asks_for_ecn_and_plain_flows_of_amecn_are_plain() -> None:
    flows = ecnlab.scenario(scenarios.share_of_ecn_flows_change(0.5)(scenarios.thesis_network("AMECN"))).resolved["flows"]
    assert [(flow["name"], flow["count"]) for flow in flows[:2]] == [("fragile", 10), ("fragile plain", 10)]
    assert (flows[0]["tcp"]["ecn_response"], flows[1]["tcp"]["ecn_response"]) == ("mecn", "halve")
    assert [flow["tcp"]["ecn"] for flow in flows] == [True, False] * 3


def test_the_target_gives_adaptive_red_and_amecn_the_thesis_s_thresholds() -> None:
    packets_per_s = 10e6 / 8000
    target = float(scenarios.TARGET_DELAY.split()[0]) / 1e3 * packets_per_s
    assert (target, target / 2, 3 * target / 2) == (20, 10, 30)


def test_long_flows_cross_three_links_and_are_average_by_aecn_s_bounds() -> None:
    tree = scenarios.several_routers_network("AECN")
    result = ecnlab.run(ecnlab.scenario({**tree, "duration": "6 s", "measure_from": "3 s"}), seed=1)
    rtts = dict(result.flows.group_by("group").agg(pl.col("base_rtt_s").min()).iter_rows())
    assert 0.130 <= rtts["long"] < 0.150
    assert all(0.050 <= rtts[name] < 0.075 for name in scenarios.cross_group_names())
    assert result.queue_names == ["hop 1", "hop 2", "hop 3"]
