from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab import _core
from ecnlab.execution.runner import Request, run_all
from ecnlab.studies.framework.claims import RelativeChange
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.rfc2884 import STUDY, published, testbed
from ecnlab.studies.papers.rfc2884.kernels import KERNEL_HOSTS, scenario_on_kernels
from ecnlab.studies.papers.rfc2884.testbed import CONGESTION_LEVELS, MAX_PS, WITH_ECN, WITHOUT_ECN
from tiny_study import decide_claim

# Short enough for a test: transfers of 20 MB do not end, transactions do.
_SHORT_S = 45


def _groups_by_name(need: RequiredScenario) -> dict[str, Mapping[str, Any]]:
    resolved = ecnlab.scenario(need.scenario).resolved
    return {group["name"]: group for group in resolved["flows"]}


def test_the_testbed_is_that_of_section_4() -> None:
    resolved = ecnlab.scenario(testbed.competing_bulk_transfers_scenario(10, 0.1).scenario).resolved
    links = {link["name"]: link for link in resolved["link"]}
    shaper = links["bottleneck"]["queue"]
    assert (shaper["discipline"], shaper["rate"], shaper["queue"]["aqm"]) == ("cbq", "1500000 bps", "linux-red")
    assert {links[name]["rate"] for name in ("lan", "bottleneck", "on", "off", "c")} == {"10000000 bps"}
    assert {links[name]["delay"] for name in ("on", "off", "c")} == {"0.02 s"}


def test_congestion_is_two_five_or_ten_flows_without_ecn_from_the_start() -> None:
    for load in (2, 5, 10):
        congesting = _groups_by_name(testbed.competing_bulk_transfers_scenario(load, 0.1))["congesting"]
        assert (congesting["count"], congesting["start"], congesting["tcp"]["ecn"], congesting["to"]) == (load, ["0 s"], False, "c")
    assert list(CONGESTION_LEVELS.values()) == [2, 5, 10]
    assert MAX_PS == (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


def test_one_flow_with_ecn_and_one_without_compete_from_20_s_on() -> None:
    groups = _groups_by_name(testbed.competing_bulk_transfers_scenario(5, 0.1))
    assert [(groups[name]["tcp"]["ecn"], groups[name]["to"]) for name in (WITH_ECN, WITHOUT_ECN)] == [(True, "on"), (False, "off")]
    assert {groups[name]["start"][0] for name in (WITH_ECN, WITHOUT_ECN)} == {"20 s"}
    assert groups[WITH_ECN]["app"]["bytes"] == 20_000_000


def test_transactions_are_small_requests_and_5_10_or_20_kb() -> None:
    for kb in testbed.RESPONSES_KB:
        need = testbed.competing_transactions_scenario(kb, 10, 0.1)
        app = _groups_by_name(need)[WITH_ECN]["app"]
        assert (app["kind"], app["request"], app["response"], app["connection"]) == ("exchange", "1000 B", f"{1000 * kb} B", "new")
        chosen = ecnlab.scenario(need.scenario)
        assert chosen.duration_s - chosen.measure_from_s == 180


@pytest.mark.parametrize(("hosts", "recovery"), [("Reno", "reno"), ("SACK", "fack"), ("NewReno", "newreno")])
def test_the_hosts_are_those_of_linux(hosts: str, recovery: str) -> None:
    assert {group["tcp"]["recovery"] for group in _groups_by_name(testbed.competing_bulk_transfers_scenario(2, 0.1, hosts)).values()} == {
        recovery
    }


def test_the_first_flight_of_linux_2_0_is_two_segments() -> None:
    """Its handshake's ACK raises the window of 1 by 1, so that no response waits for a delayed acknowledgement of a single segment."""
    assert {group["tcp"]["initial_window"] for group in _groups_by_name(testbed.competing_transactions_scenario(5, 2, 0.1)).values()} == {2}
    alone = dict(testbed.competing_transactions_scenario(5, 2, 0.1).scenario)
    alone["flows"] = [group for group in alone["flows"] if group["name"] == WITH_ECN]
    result = ecnlab.run(ecnlab.scenario({**alone, "duration": "60 s"}), [1])
    assert result.values("transaction_p95_s", group=WITH_ECN)[0] < 0.3


def test_the_background_of_the_fairness_check_is_of_either_kind() -> None:
    kinds = [_groups_by_name(testbed.fairness_scenario(0.1, background_ecn=ecn))["congesting"]["tcp"]["ecn"] for ecn in (True, False)]
    assert kinds == [True, False]
    halves = _groups_by_name(testbed.half_ecn_flows_scenario(0.1))
    assert sorted((group["tcp"]["ecn"], group["start"][0], group["count"]) for group in halves.values()) == [
        (ecn, start, 1) for ecn in (False, True) for start in ("0 s", "20 s")
    ]


def test_every_scenario_of_the_study_is_sound_and_warns_of_nothing() -> None:
    for need in {need for item in STUDY.items for need in item.needs.values()}:
        assert ecnlab.scenario(need.scenario).warnings == []


def test_the_claims_are_r1_to_r13_and_each_quotes_the_rfc() -> None:
    assert [claim.id for claim in STUDY.claims] == [f"R{number}" for number in range(1, 14)]
    assert all(claim.statements and claim.quote for claim in STUDY.claims)
    headings = {item.number for item in STUDY.items}
    assert {figure for claim in STUDY.claims for figure in claim.figures} <= headings


def test_claims_need_no_scenario_that_no_figure_shows() -> None:
    shown = {id(need) for item in STUDY.items for need in item.needs.values()}
    assert {id(need) for claim in STUDY.claims for need in claim.required_scenarios()} <= shown


def test_the_published_numbers_are_those_of_the_text() -> None:
    statements = {claim.id: [statement.published for statement in claim.statements] for claim in STUDY.claims}
    assert list(published.FAIRNESS.values()) == [0.996888, 0.995987, 0.985403, 0.979368, 0.991946, 0.988286, 0.989726, 0.983342]
    assert statements["R1"][:6] == pytest.approx([0.000901, 0.011485, 0.01752, 0.010584, 0.016619, 0.006035])
    assert statements["R1"][6:12] == pytest.approx([0.00366, 0.00222, 0.008604, -0.00144, 0.004944, 0.006384])
    assert statements["R1"][12:] == pytest.approx([0.004942, 0.007701, -0.004323, -0.003974])
    assert statements["R13"] == pytest.approx([0.01752, 0.008604])
    assert statements["R3"] == [23, 50, 27, *[None] * 30]
    assert statements["R4"] == [10, 60, 50]
    assert statements["R6"] == [5, 15, 10, 10, 40, 30]
    assert statements["R7"] == [42, 62, 20, 20, 140, 120, 0.8, 2.2, 1.4]
    assert statements["R8"] == [47, 80, 33, 15, 120, 105]
    assert statements["R11"] == [5, 18, -5, -20, *[None] * 4]
    reno = [23, 50, 10, 60, 42, 62, 20, 140, 12, 10, 80]
    sack = [5, 15, 10, 40, 47, 80, 15, 120, 65, 5, 80]
    assert statements["R12"] == [*reno, *sack]


def _claimed_ranges(id_: str) -> list[tuple[float, float]]:
    claim = next(claim for claim in STUDY.claims if claim.id == id_)
    return [(statement.range.low, statement.range.high) for statement in claim.statements]


def test_ranges_without_a_printed_number_follow_from_the_table_of_the_rfc() -> None:
    assert set(_claimed_ranges("R1")[:12]) == {(-0.02628, 0.02628)}, "one and a half of the largest difference within a column"
    assert set(_claimed_ranges("R1")[12:]) == {(-0.01155, 0.01155)}, "and between the columns"
    assert _claimed_ranges("R3")[2] == (13.5, 40.5)
    assert _claimed_ranges("R11") == [(-7.5, 7.5), (-27, 27), (-7.5, 7.5), (-30, 30)] * 2
    ends = [end for ends in _claimed_ranges("R13") for end in ends]
    assert ends == pytest.approx([0.00876, 0.02628, 0.004302, 0.012906])


def test_sentences_about_all_bulk_transfers_are_asked_at_each_level_and_each_max_p() -> None:
    claims = {claim.id: claim for claim in STUDY.claims}
    for id_ in ("R3", "R5", "R10"):
        scenarios = {str(need.scenario["name"]) for need in claims[id_].required_scenarios()}
        assert scenarios == {f"20 MB, Reno, {load} congesting flows, max_p {max_p:g}" for load in (2, 5, 10) for max_p in MAX_PS}, id_
    texts = [statement.text for statement in claims["R5"].statements]
    assert len(texts) == 17 + 2 + 18
    assert [text for text in texts if "high congestion, max_p 0.02" in text] == [
        "runs in which ECN's flow retransmits, high congestion, max_p 0.02",
        "packets dropped with ECN in a transfer, high congestion, max_p 0.02",
        "retransmissions without ECN that follow a timeout, high congestion, max_p 0.02",
    ]


def test_captions_name_the_markers_that_figures_have() -> None:
    assert [item.number for item in STUDY.items if "open marker" in item.caption] == []
    assert [item.number for item in STUDY.items if "half-filled" in item.caption] == ["5.2.2", "5.2.3", "5.3.2", "5.3.3", "5.3.4"]


@pytest.fixture(scope="module")
def shortened() -> Mapping[RequiredScenario, ecnlab.Result]:
    """Results of every scenario, shortened, with two seeds."""
    needs = list(dict.fromkeys(need for item in STUDY.items for need in item.needs.values()))
    cut = {"duration": f"{_SHORT_S} s", "measure_from": "20 s"}
    outcome = run_all([Request(ecnlab.scenario({**need.scenario, **cut}), [1, 2]) for need in needs])
    return dict(zip(needs, getattr(outcome, "results", outcome), strict=True))


def test_every_item_draws(shortened: Mapping[RequiredScenario, ecnlab.Result]) -> None:
    for item in STUDY.items:
        drawing = item.draw({key: shortened[need] for key, need in item.needs.items()})
        assert drawing.tables
        assert drawing.data is not None
        assert drawing.data.height > 0


def test_every_claim_is_decided_from_the_runs(shortened: Mapping[RequiredScenario, ecnlab.Result]) -> None:
    for claim in STUDY.claims:
        decision = decide_claim(claim, shortened.__getitem__)
        assert len(decision.estimates) == len(claim.statements)


def test_the_gain_is_by_seed_and_in_the_user_s_metric(shortened: Mapping[RequiredScenario, ecnlab.Result]) -> None:
    need = testbed.competing_transactions_scenario(5, 2, 0.1)
    measured = testbed.ecn_gain(testbed.transaction_rate_measure, need)
    assert isinstance(measured, RelativeChange)
    on, off = (shortened[need].values("transactions", group=group) for group in (WITH_ECN, WITHOUT_ECN))
    expected = {seed: one / other - 1 for seed, one, other in zip([1, 2], on, off, strict=True)}
    assert measured.values_by_seed(shortened.__getitem__) == pytest.approx(expected)


def test_the_rate_of_transactions_is_over_the_measured_interval() -> None:
    need = testbed.competing_transactions_scenario(5, 2, 0.1)
    short = ecnlab.scenario({**need.scenario, "duration": "40 s", "measure_from": "30 s"})
    result = ecnlab.run(short, [1])
    (rate,) = testbed.transaction_rate_measure(need, WITH_ECN).values_by_seed(lambda _: result).values()
    assert rate == result.values("transactions", group=WITH_ECN)[0] / 10 > 0


def test_the_user_s_throughput_is_the_file_by_its_time() -> None:
    need = testbed.competing_bulk_transfers_scenario(2, 0.1)
    small = {**need.scenario, "duration": "60 s"}
    small["flows"] = [{**group, "app": {"kind": "file", "bytes": "200 KB"}} if group["to"] != "c" else group for group in small["flows"]]
    result = ecnlab.run(ecnlab.scenario(small), [1])
    seconds = result.values("transaction_mean_s", group=WITH_ECN)[0]
    assert seconds > 1
    found = testbed.file_throughput_measure(need, WITH_ECN).values_by_seed(lambda _: result)
    assert found == {1: pytest.approx(8 * 200_000 / seconds)}


def test_what_is_sent_again_is_a_share_and_nothing_of_nothing_is_none(shortened: Mapping[RequiredScenario, ecnlab.Result]) -> None:
    need = testbed.competing_bulk_transfers_scenario(10, 0.1)
    parts, whole = ("retransmitted_timeout",), ("retransmitted_fast", "retransmitted_timeout")
    shares = testbed.share_of_columns(need, parts, whole, [{"group": WITHOUT_ECN}]).values_by_seed(shortened.__getitem__)
    assert all(0 <= share <= 1 for share in shares.values())
    none = testbed.share_of_columns(need, ("drops_lost",), ("drops_lost",), [{"queue": testbed.SHAPER_LINK}]).values_by_seed(
        shortened.__getitem__
    )
    assert set(none.values()) == {0.0}


def test_a_window_with_several_drops_counts_once() -> None:
    windows_of = testbed.count_windows_with_several_drops
    assert windows_of([], 0.1) == 0
    assert windows_of([1.0, 2.0, 3.0], 0.1) == 0
    # Windows begin at 1.0 and at 2.0; the first has three drops.
    assert windows_of([1.0, 1.01, 1.05, 2.0], 0.1) == 1
    assert windows_of([1.0, 1.01, 2.0, 2.05], 0.1) == 2
    # A drop a whole round trip after the window's first begins a new window.
    assert windows_of([1.0, 1.25, 1.5], 0.25) == 0


def test_repeated_drops_are_counted_from_the_recorded_events_of_one_flow(shortened: Mapping[RequiredScenario, ecnlab.Result]) -> None:
    need = testbed.with_event_recording(testbed.competing_bulk_transfers_scenario(10, 0.5))
    values = testbed.windows_with_several_drops(need, WITHOUT_ECN).values_by_seed(shortened.__getitem__)
    result = shortened[need]
    flow = result.table("flows").filter(pl.col("group") == WITHOUT_ECN)["flow"][0]
    drops = result.series.events.filter((pl.col("flow") == flow) & (pl.col("kind") == "drop"))
    assert set(values) == {1, 2}
    for seed, rtt in zip(result.seeds, result.values("rtt_mean_s", group=WITHOUT_ECN), strict=True):
        times = drops.filter(pl.col("seed") == seed)["time_s"].to_list()
        assert times
        assert values[seed] == testbed.count_windows_with_several_drops(times, rtt)


@pytest.mark.parametrize("hosts", list(testbed.HOST_TCP))
def test_scenarios_on_kernels_have_neither_warnings_nor_refusals(hosts: str) -> None:
    for need in (
        testbed.competing_bulk_transfers_scenario(10, 0.1, hosts),
        testbed.with_event_recording(testbed.competing_bulk_transfers_scenario(10, 0.1, hosts)),
        testbed.competing_transactions_scenario(5, 10, 0.1, hosts),
    ):
        chosen = ecnlab.scenario(scenario_on_kernels(need.scenario))
        assert chosen.warnings == []
        assert _core.refusals(chosen._core, "uml", ["reno"]) == []


def test_on_kernels_networks_and_queues_stay_and_files_and_runs_are_shorter() -> None:
    for need, seconds in (
        (testbed.competing_bulk_transfers_scenario(2, 0.1), 140),
        (testbed.competing_bulk_transfers_scenario(10, 0.5), 820),
        (testbed.half_ecn_flows_scenario(0.1), 120),
        (testbed.competing_transactions_scenario(5, 2, 0.1), 200),
    ):
        there = ecnlab.scenario(scenario_on_kernels(need.scenario))
        here = ecnlab.scenario(need.scenario)
        assert (there.resolved["link"], there.measure_from_s) == (here.resolved["link"], here.measure_from_s)
        assert there.duration_s == seconds
    files = _groups_by_name(RequiredScenario(scenario_on_kernels(testbed.competing_bulk_transfers_scenario(5, 0.1).scenario)))
    assert {files[name]["app"]["bytes"] for name in (WITH_ECN, WITHOUT_ECN)} == {4_000_000}
    assert files[WITH_ECN]["tcp"]["ecn"] is True
    assert files["congesting"]["app"]["kind"] == "bulk"


def test_every_scenario_of_the_study_can_be_written_for_kernels() -> None:
    needs = {id(need): need for item in STUDY.items for need in item.needs.values()}
    for need in needs.values():
        scenario_on_kernels(need.scenario)
    assert set(KERNEL_HOSTS) == set(testbed.HOST_TCP)
