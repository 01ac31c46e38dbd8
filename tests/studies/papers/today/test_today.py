import pytest

import ecnlab
from ecnlab import diagram
from ecnlab.execution.runner import Request, run_all
from ecnlab.plot.style import PLAIN
from ecnlab.studies.framework.model import RequiredScenario, StudyItem
from ecnlab.studies.papers.today import STUDY, measures, scenarios
from ecnlab.studies.papers.today.scenarios import CUBIC, CUBIC_ECN, DCTCP


@pytest.fixture(scope="module")
def results() -> dict[RequiredScenario, ecnlab.Result]:
    """Results of all scenarios of the items, with two seeds and 8 s each."""
    needs = list(dict.fromkeys(need for item in STUDY.items for need in item.needs.values()))
    chosen = [ecnlab.scenario({**need.scenario, "duration": "8 s", "measure_from": "3 s"}) for need in needs]
    return dict(zip(needs, run_all([Request(scenario, [1, 2]) for scenario in chosen]).results_or_raise(), strict=True))


@pytest.mark.parametrize("item", STUDY.items, ids=lambda item: item.heading)
def test_every_item_becomes_a_figure_or_a_table_with_its_data(item: StudyItem, results: dict[RequiredScenario, ecnlab.Result]) -> None:
    with PLAIN.matplotlib_rc_context():
        drawing = item.draw({key: results[need] for key, need in item.needs.items()})
    assert (drawing.figure is None) == (item.kind == "Table")
    assert drawing.data is not None
    assert drawing.data.height > 0
    assert all(len(row) == len(table.header) for table in drawing.tables for row in table.rows)


def test_every_question_has_statements_and_says_where_it_is_drawn() -> None:
    known = {item.number for item in STUDY.items} | {item.heading for item in STUDY.items}
    assert [claim.id for claim in STUDY.claims] == [f"T{at}" for at in range(1, 12)]
    for claim in STUDY.claims:
        assert claim.statements, claim.id
        assert claim.own, claim.id
        assert set(claim.figures) <= known, claim.id


def test_links_packets_and_buffers_are_the_thesis_s() -> None:
    for queue in scenarios.QUEUE_BY_NAME:
        resolved = ecnlab.scenario(scenarios.hosts_over_queue_scenario(CUBIC, queue).scenario).resolved
        link, flows = resolved["link"][0], resolved["flows"]
        assert (link["rate"], link["delay"], link["queue"]["limit"]) == ("10000000 bps", "0.005 s", "120 packets"), queue
        assert {flow["tcp"]["packet_size"] for flow in flows} == {1000}
        assert sum(flow["count"] for flow in flows) == 60


@pytest.mark.parametrize(
    ("queue", "settings"),
    [
        ("CoDel", {"target": "0.005 s", "interval": "0.1 s", "ecn": True}),
        ("PIE", {"target": "0.015 s", "t_update": "0.015 s", "mark_limit": 0.1}),
        ("DualPI2", {"target": "0.015 s", "t_update": "0.016 s", "coupling": 2.0}),
        ("RED", {"min_th": 10.0, "max_th": 30.0, "max_p": 0.5, "w_q": 0.002}),
    ],
)
def test_queues_have_what_their_rfcs_or_the_thesis_set(queue: str, settings: dict[str, object]) -> None:
    found = ecnlab.scenario(scenarios.hosts_over_queue_scenario(CUBIC, queue).scenario).resolved["link"][0]["queue"]
    assert {key: found[key] for key in settings} == settings


def test_hosts_are_linux_and_dctcp_says_so_to_dualpi2_alone() -> None:
    cubic, dctcp = (
        ecnlab.scenario(scenarios.hosts_over_queue_scenario(host, "DualPI2").scenario).resolved["flows"][0]["tcp"]
        for host in (CUBIC_ECN, DCTCP)
    )
    assert (cubic["profile"], cubic["congestion_control"], cubic["recovery"], cubic["ecn"]) == ("linux-6.1", "cubic", "rack", True)
    assert (dctcp["ecn_response"], dctcp["ect_codepoint"]) == ("dctcp", "ect1")
    assert scenarios.sender_tcp(DCTCP, "step").get("ect_codepoint") is None


def test_the_engine_warns_of_recoveries_that_no_judge_has_checked_over_linux_and_of_nothing_else() -> None:
    for item in STUDY.items:
        for need in item.needs.values():
            scenario = ecnlab.scenario(need.scenario)
            unchecked = [flow for flow in scenario.resolved["flows"] if flow.get("tcp", {}).get("recovery") in ("newreno", "sack")]
            combinations = {(flow["tcp"]["recovery"], flow["tcp"]["ecn"]) for flow in unchecked}
            assert len(scenario.warnings) == len(combinations), need.scenario["name"]
            assert all("is unchecked over profile linux-6.1" in warning.message for warning in scenario.warnings)


def test_a_change_is_paired_by_seed(results: dict[RequiredScenario, ecnlab.Result]) -> None:
    a, b = (results[scenarios.hosts_over_queue_scenario(host, "RED")] for host in (CUBIC_ECN, CUBIC))
    gains = [one / other - 1 for one, other in zip(a.values("goodput_bps"), b.values("goodput_bps"), strict=True)]
    assert measures.percent_change_of_measure(measures.GOODPUT, a, b).mean == pytest.approx(100 * sum(gains) / len(gains))


def test_a_figure_and_a_table_of_one_number_are_distinguished() -> None:
    assert [item.heading for item in STUDY.choose_items(["Figure 1"])] == ["Figure 1"]
    assert [item.heading for item in STUDY.choose_items(["table 1"])] == ["Table 1"]
    assert [item.heading for item in STUDY.choose_items(["1"])] == ["Figure 1"]


def test_the_networks_are_drawn_with_their_queue_and_their_groups() -> None:
    pictures = [diagram.network_svg(ecnlab.scenario(need.scenario)) for need in STUDY.networks.values()]
    assert [all(word in picture for word in ("bottleneck", "fragile", "robust")) for picture in pictures] == [True] * 3
    found = [("without ECN ×10" in picture, "datagrams ×10" in picture) for picture in pictures]
    assert found == [(False, False), (True, False), (False, True)]


def test_no_set_up_of_the_questions_is_open_and_each_question_is_our_own() -> None:
    assert not STUDY.open_parameters
    assert not STUDY.alternatives
    assert not any(claim.quote for claim in STUDY.claims)
