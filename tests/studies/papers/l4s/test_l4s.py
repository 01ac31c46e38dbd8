import csv
import math
from collections.abc import Mapping
from typing import Any

import pytest

import ecnlab
from ecnlab.execution.runner import Request, run_all
from ecnlab.plot.style import PLAIN
from ecnlab.studies.framework.model import RequiredScenario, StudyItem
from ecnlab.studies.papers.l4s import STUDY, network, overload, rate_step, requirement_tests, requirements, step, tables, team, team_claims
from ecnlab.studies.papers.l4s.network import LINUX_HOSTS, OF_2020, PRAGUE, PRAGUE_2020, SCENARIO_1, two_flows
from ecnlab.studies.papers.l4s.published import REFERENCE, Sender, published_rates_of_pair, read_reference_rows

_ECTS = (overload.WITH_ECT, overload.WITHOUT_ECT)


@pytest.fixture(scope="module")
def results() -> dict[RequiredScenario, ecnlab.Result]:
    """Results of all scenarios of the items, with two seeds and 1.5 s each, or until after the step of the rate."""
    needs = list(dict.fromkeys(need for item in STUDY.items for need in item.needs.values()))
    chosen = [ecnlab.scenario(_shortened(need.scenario)) for need in needs]
    return dict(zip(needs, run_all([Request(scenario, [1, 2]) for scenario in chosen]).results_or_raise(), strict=True))


def _shortened(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {**tree, "duration": "30.5 s"} if "change" in tree else {**tree, "duration": "1.5 s", "measure_from": "1 s"}


@pytest.mark.parametrize("item", STUDY.items, ids=lambda item: item.heading)
def test_every_item_becomes_a_figure_or_a_table_with_its_data(item: StudyItem, results: dict[RequiredScenario, ecnlab.Result]) -> None:
    with PLAIN.matplotlib_rc_context():
        drawing = item.draw({key: results[need] for key, need in item.needs.items()})
    assert (drawing.figure is None) == (item.kind == "Table")
    assert drawing.data is not None
    assert drawing.data.height > 0
    assert all(len(row) == len(table.header) for table in drawing.tables for row in table.rows)


@pytest.mark.parametrize(
    ("table", "rows"), [("fairness", 144), ("shared-queue", 24), ("linux-7.2-hosts", 68), ("linux-7.2-hosts-repeated", 60)]
)
def test_the_tables_have_all_rows_and_only_queues_and_controls_that_are_simulated(table: str, rows: int) -> None:
    found = read_reference_rows(table)
    assert len(found) == len({row.key for row in found}) == rows
    for row in found:
        assert network.queue_tree(row.queue, row.rate_mbps)
        assert {sender.control for sender in row.senders} <= set(network.CONTROLS)
        assert sum(row.rates_mbps) < row.rate_mbps


def test_each_published_row_is_in_a_table_with_the_prague_of_its_year() -> None:
    compared = [*tables.DUALPI2_ROWS, *tables.DROP_TAIL_ROWS, *tables.FQ_CODEL_ROWS, *tables.SHARED_QUEUE_ROWS]
    of_2020 = [row.reference for row in compared if (row.source, row.simulated) == ("published", "Prague of 2020")]
    assert of_2020 == [
        *sorted(read_reference_rows("fairness"), key=lambda row: ["dualpi2", "pfifo", "fq_codel"].index(row.queue)),
        *read_reference_rows("shared-queue"),
    ]
    with_prague = [row for row in of_2020 if PRAGUE in {sender.control for sender in row.senders}]
    assert [row.reference for row in compared if (row.source, row.simulated) == ("published", "Prague 0.7")] == with_prague
    with_steps = [*compared, *tables.STEP_ROWS]
    for source, table in ((tables.LINUX_RUN, "linux-7.2-hosts"), (tables.LINUX_MEAN, "linux-7.2-hosts-repeated")):
        assert {row.reference.key for row in with_steps if row.source == source} == {row.key for row in read_reference_rows(table)}


def test_both_orders_of_two_senders_are_one_scenario_with_each_goodput_in_its_place(
    results: dict[RequiredScenario, ecnlab.Result],
) -> None:
    one, other = Sender(PRAGUE_2020, 80), Sender("cubic", 20)
    a, b = (two_flows(OF_2020, 10, pair, SCENARIO_1) for pair in ((one, other), (other, one)))
    assert a.need is b.need
    found = [[goodput.values_by_seed(results.__getitem__) for goodput in flows.goodput_measures()] for flows in (a, b)]
    assert found[0] == found[1][::-1]
    flows = ecnlab.scenario(a.need.scenario).resolved["flows"]
    assert [flow["access"]["delay"] for flow in flows] == [["0.0399 s"], ["0.0099 s"]]
    assert [flow["tcp"]["congestion_control"] for flow in flows] == ["prague", "cubic"]


def test_published_rates_of_a_pair_are_the_mean_of_both_orders() -> None:
    prague, cubic = Sender(PRAGUE, 10), Sender("cubic", 10)
    assert published_rates_of_pair("dualpi2", 50, prague, cubic) == pytest.approx(((34.57 + 34.09) / 2, (12.65 + 13.04) / 2))
    assert published_rates_of_pair("dualpi2", 50, cubic, prague) == pytest.approx(((12.65 + 13.04) / 2, (34.57 + 34.09) / 2))
    assert published_rates_of_pair("dualpi2", 50, Sender(PRAGUE, 160), prague) == (1.56, 45.46)


def test_only_runs_of_2020_get_another_queue_in_the_alternative() -> None:
    pair = (Sender(PRAGUE, 10), Sender(PRAGUE, 20))
    of_2020, of_linux = two_flows(OF_2020, 50, pair, SCENARIO_1), two_flows("dualpi2 min_qlen_step 2", 50, pair, LINUX_HOSTS)
    (alternative,) = STUDY.alternatives
    changed = ecnlab.scenario(alternative.rewriting(of_2020.need.scenario)).resolved
    before = ecnlab.scenario(of_2020.need.scenario).resolved
    assert (before["link"][0]["queue"]["th_len"], changed["link"][0]["queue"]["th_len"]) == (2, 0)
    assert changed["flows"] == before["flows"]
    assert alternative.rewriting(of_linux.need.scenario) == of_linux.need.scenario


def test_the_engine_warns_of_nothing_but_ecn_over_drop_tail() -> None:
    for need in {need for item in STUDY.items for need in item.needs.values()}:
        messages = [warning.message for warning in ecnlab.scenario(need.scenario).warnings]
        assert all("no queue on their route marks" in message for message in messages)
        assert bool(messages) == need.scenario["name"].endswith(("pfifo", *requirements.LOSS_QUEUES))


def test_a_step_is_measured_from_the_step_on() -> None:
    tree = dict(rate_step.rate_step_scenario(PRAGUE, 20, 5).scenario)
    result = ecnlab.run(ecnlab.scenario({**tree, "duration": "31 s"}), seeds=[1, 2])
    wait, long_waits = (
        measure(PRAGUE, 20, 5).values_by_seed(lambda _: result) for measure in (rate_step.largest_wait, rate_step.time_of_long_waits)
    )
    series = result.series.queue
    for seed in (1, 2):
        samples = series.filter((series["seed"] == seed) & (series["queue"] == network.BOTTLENECK) & (series["time_s"] > 30))
        assert 0.1 < wait[seed] == samples["sojourn_max_s"].max()
        assert 0.8 <= long_waits[seed] <= 1
        before = series.filter((series["seed"] == seed) & (series["time_s"] > 25) & (series["time_s"] <= 30))
        assert before["sojourn_max_s"].max() < rate_step.LONG_WAIT_S


def test_the_stored_steps_of_linux_hosts_are_those_of_the_table() -> None:
    hosts = rate_step.steps_of_linux_hosts()
    assert set(hosts) == {case for case in rate_step.RATE_STEP_CASES if case[0] != PRAGUE_2020}
    assert (hosts[PRAGUE, 80, 1].largest_wait_ms, hosts[PRAGUE, 80, 1].long_waits_s) == (4212, 30.01)


def test_ect_of_datagrams_and_responsive_flows_is_ect1_over_dualpi2_alone() -> None:
    for queue in overload.QUEUES:
        resolved = [ecnlab.scenario(overload.overload_scenario(queue, 110, ect).scenario).resolved["flows"] for ect in _ECTS]
        codepoints = [flows[2]["udp"]["ecn"] for flows in resolved]
        assert codepoints == (["ect1", "not-ect"] if queue == overload.DUALPI2 else ["ect0", "not-ect"])
        assert [flow["tcp"]["ecn"] for flow in resolved[0][:2]] == [False, True]
        assert resolved[0][1]["tcp"]["congestion_control"] == ("prague" if queue == overload.DUALPI2 else "cubic")
        assert resolved[0][2]["app"]["rate"] == "110000000 bps"


def test_the_wait_of_datagrams_is_that_of_their_band() -> None:
    found = {ect: overload.mean_datagram_wait(overload.DUALPI2, 110, ect).band for ect in _ECTS}
    assert found == {overload.WITH_ECT: "L", overload.WITHOUT_ECT: "C"}
    assert overload.mean_datagram_wait(overload.PIE, 110, overload.WITH_ECT).band is None


def test_the_runs_of_the_l4s_team_have_the_published_flows() -> None:
    runs = team.team_runs()
    assert (len(runs), sum(len(run.flows) for run in runs.values())) == (29, 37)
    four = runs["Prague0d5_Prague1_Prague10_Prague30 400"]
    assert [(flow.sender.rtt_ms, flow.mbps) for flow in four.flows] == [(0.5, 92.162), (1, 101.389), (10, 104.23), (30, 84.682)]
    resolved = ecnlab.scenario(team.team_run_scenario(four.name, PRAGUE_2020).scenario).resolved
    assert [flow["access"]["delay"] for flow in resolved["flows"]] == [["0.00015 s"], ["0.0004 s"], ["0.0049 s"], ["0.0149 s"]]
    assert (resolved["link"][0]["queue"]["th_len"], resolved["link"][0]["rate"]) == (2, "400000000 bps")
    assert [flow["tcp"]["quirks"]["prague_rtt_target"] for flow in resolved["flows"]] == ["0 s"] * 4


def test_a_run_without_prague_has_one_scenario() -> None:
    one, other = (team.goodput_measures_of_run("Cubic 100 20", prague) for prague in (PRAGUE, PRAGUE_2020))
    assert one[0].need is other[0].need
    assert [need.scenario["name"] for key, need in team.TEAM_ITEM.needs.items() if key[0] == "Cubic 100 20"] == [
        "Cubic 100 20, fq_codel(1q)"
    ]


def test_the_verdicts_on_requirements_follow_from_the_numbers(results: dict[RequiredScenario, ecnlab.Result]) -> None:
    item = requirement_tests.REQUIREMENTS_ITEM
    verdicts, numbers = item.draw({key: results[need] for key, need in item.needs.items()}).tables
    cells = {(row[0], row[1]): row[3:] for row in verdicts.rows}
    assert cells["4.1", "ECT(1) asks for L4S treatment"] == ["pass: 100.0 ± 0.0 %", "pass: 100.0 ± 0.0 %", ""]
    assert cells["4.2", "accurate feedback is a prerequisite of ECT(1)"] == [
        "pass: 0.0 ± 0.0 %",
        "fail: 100.0 ± 0.0 %",
        "pass: 0.0 ± 0.0 %",
    ]
    assert len(verdicts.rows) == len(requirement_tests.TESTS) == len(requirement_tests.REQUIREMENT_CLAIMS) == 13
    assert len(numbers.rows) == sum(len(test.quantities(PRAGUE)) for test in requirement_tests.TESTS)


def test_the_claims_on_requirements_are_prague_s_column_of_the_table() -> None:
    for test, claim in zip(requirement_tests.TESTS, requirement_tests.REQUIREMENT_CLAIMS, strict=True):
        assert claim.id == test.claim
        assert len(claim.statements) == len(test.quantities(PRAGUE))
        assert {statement.range for statement in claim.statements} == {test.condition}
    needs = {need for claim in requirement_tests.REQUIREMENT_CLAIMS for need in claim.required_scenarios()}
    assert needs <= set(requirement_tests.REQUIREMENTS_ITEM.needs.values())


def test_the_claims_on_the_l4s_team_s_runs_have_each_single_flow_once() -> None:
    of_2020, of_0_7, four_rtts, beside = team_claims.TEAM_CLAIMS
    alone = [run for run in team.team_runs().values() if run.is_alone]
    assert len(of_2020.statements) == len(alone) == 25
    assert len(of_0_7.statements) == sum(run.flows[0].sender.control == PRAGUE for run in alone) == 12
    assert [statement.published for statement in four_rtts.statements] == [5.65, 1.23]
    assert [statement.published for statement in beside.statements] == [2.9, 2.9, 25.02, 25.02]
    needs = {need for claim in team_claims.TEAM_CLAIMS for need in claim.required_scenarios()}
    assert needs <= set(team.TEAM_ITEM.needs.values())


def test_the_exponent_is_the_slope_of_logarithms_and_undefined_without_marks() -> None:
    assert requirements.slope_of_logarithms([1, 10, 100, 3, 30, 300]) == pytest.approx(1)
    assert requirements.slope_of_logarithms([1, 10, 100, 7, 7, 7]) == pytest.approx(0)
    assert math.isnan(requirements.slope_of_logarithms([1, 10, 100, 7, 0, 7]))


def test_a_sender_that_counts_duplicate_acknowledgements_retransmits_late_packets() -> None:
    (measured,) = [
        found
        for name, found in requirements.spurious_retransmissions_under_reordering("cubic").items()
        if name == "10 Mbit/s, a quarter of the RTT"
    ]
    (need,) = set(measured.required_scenarios())

    def spurious(**tcp: str) -> float:
        flows = [{**flow, "tcp": {**flow["tcp"], **tcp}} for flow in need.scenario["flows"]]
        result = ecnlab.run(ecnlab.scenario({**need.scenario, "flows": flows, "duration": "20 s"}), seeds=[1])
        return measured.values_by_seed(lambda _: result)[1]

    assert spurious() == 0
    assert spurious(recovery="sack") > 10


def test_the_queue_of_bursts_is_zero_only_for_paced_senders() -> None:
    found = {}
    for control in (PRAGUE, "cubic"):
        measured = requirements.largest_wait_of_bursts(control)["10 Mbit/s"]
        need = next(iter(measured.required_scenarios()))
        result = ecnlab.run(ecnlab.scenario({**need.scenario, "duration": "12 s"}), seeds=[1])
        found[control] = measured.values_by_seed(lambda _, result=result: result)[1]
    # CUBIC sends two packets for a delayed acknowledgement, and three if the window grows. A packet takes 1.2 ms.
    assert found[PRAGUE] == 0
    assert found["cubic"] == pytest.approx(2 * 0.0012, rel=0.05)


def test_jain_s_index_of_two_rates_is_that_of_the_published_table() -> None:
    assert network.jain_of_two(12.65, 34.57) == pytest.approx(0.823, abs=5e-4)
    assert network.jain_of_two(3.0, 3.0) == 1


def test_the_figure_of_the_step_has_the_hosts_of_linux_7_2_beside_it(results: dict[RequiredScenario, ecnlab.Result]) -> None:
    item = step.STEP_ITEM
    with PLAIN.matplotlib_rc_context():
        data = item.draw({key: results[need] for key, need in item.needs.items()}).data
    assert data is not None
    known = data.drop_nulls("Linux 7.2 hosts").select("panel", "curve", "Linux 7.2 hosts").rows()
    assert ("80 ms", "Linux 7.2, default", pytest.approx(0.974 / 8.533)) in known
    assert len(known) == 4, "at 20 ms no row with another step is stored"


def test_the_readme_of_the_tables_counts_their_rows() -> None:
    text = (REFERENCE / "README.md").read_text()
    for file in REFERENCE.glob("*.csv"):
        with file.open(newline="") as lines:
            assert f"| `{file.name}` | {len(list(csv.DictReader(lines)))} |" in text
