from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

import ecnlab
from ecnlab import _core
from ecnlab.runner import Request, run_all
from ecnlab.studies.claims import Change, decide
from ecnlab.studies.model import Need
from ecnlab.studies.rfc2884 import STUDY, published, testbed
from ecnlab.studies.rfc2884.kernels import KERNEL_HOSTS, on_kernels
from ecnlab.studies.rfc2884.testbed import LOADS, MAX_PS, WITH, WITHOUT

# Short enough for a test: transfers of 20 MB do not end, transactions do.
_SHORT_S = 45


def _groups(need: Need) -> dict[str, Mapping[str, Any]]:
    resolved = ecnlab.scenario(need.scenario).resolved
    return {group["name"]: group for group in resolved["flows"]}


def test_the_testbed_is_that_of_section_4() -> None:
    resolved = ecnlab.scenario(testbed.bulk(10, 0.1).scenario).resolved
    links = {link["name"]: link for link in resolved["link"]}
    shaper = links["bottleneck"]["queue"]
    assert (shaper["discipline"], shaper["rate"], shaper["queue"]["aqm"]) == ("cbq", "1500000 bps", "linux-red")
    assert {links[name]["rate"] for name in ("lan", "bottleneck", "on", "off", "c")} == {"10000000 bps"}
    assert {links[name]["delay"] for name in ("on", "off", "c")} == {"0.02 s"}


def test_congestion_is_two_five_or_ten_flows_without_ecn_from_the_start() -> None:
    for load in (2, 5, 10):
        congesting = _groups(testbed.bulk(load, 0.1))["congesting"]
        assert (congesting["count"], congesting["start"], congesting["tcp"]["ecn"], congesting["to"]) == (load, ["0 s"], False, "c")
    assert list(LOADS.values()) == [2, 5, 10]
    assert MAX_PS == (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


def test_one_flow_with_ecn_and_one_without_compete_from_20_s_on() -> None:
    groups = _groups(testbed.bulk(5, 0.1))
    assert [(groups[name]["tcp"]["ecn"], groups[name]["to"]) for name in (WITH, WITHOUT)] == [(True, "on"), (False, "off")]
    assert {groups[name]["start"][0] for name in (WITH, WITHOUT)} == {"20 s"}
    assert groups[WITH]["app"]["bytes"] == 20_000_000


def test_transactions_are_small_requests_and_5_10_or_20_kb() -> None:
    for kb in testbed.RESPONSES_KB:
        need = testbed.transactions(kb, 10, 0.1)
        app = _groups(need)[WITH]["app"]
        assert (app["kind"], app["request"], app["response"], app["connection"]) == ("exchange", "1000 B", f"{1000 * kb} B", "new")
        chosen = ecnlab.scenario(need.scenario)
        assert chosen.duration_s - chosen.measure_from_s == 180


@pytest.mark.parametrize(("hosts", "recovery"), [("Reno", "reno"), ("SACK", "fack"), ("NewReno", "newreno")])
def test_the_hosts_are_those_of_linux(hosts: str, recovery: str) -> None:
    assert {group["tcp"]["recovery"] for group in _groups(testbed.bulk(2, 0.1, hosts)).values()} == {recovery}


def test_the_first_flight_of_linux_2_0_is_two_segments() -> None:
    """Its handshake's ACK raises the window of 1 by 1, so that no response waits for a delayed acknowledgement of a single segment."""
    assert {group["tcp"]["initial_window"] for group in _groups(testbed.transactions(5, 2, 0.1)).values()} == {2}
    alone = dict(testbed.transactions(5, 2, 0.1).scenario)
    alone["flows"] = [group for group in alone["flows"] if group["name"] == WITH]
    result = ecnlab.run(ecnlab.scenario({**alone, "duration": "60 s"}), [1])
    assert result.values("transaction_p95_s", group=WITH)[0] < 0.3


def test_the_background_of_the_fairness_check_is_of_either_kind() -> None:
    kinds = [_groups(testbed.fairness(0.1, background_ecn=ecn))["congesting"]["tcp"]["ecn"] for ecn in (True, False)]
    assert kinds == [True, False]
    halves = _groups(testbed.halves(0.1))
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
    assert {id(need) for claim in STUDY.claims for need in claim.needs()} <= shown


def test_the_published_numbers_are_those_of_the_text() -> None:
    statements = {claim.id: [statement.published for statement in claim.statements] for claim in STUDY.claims}
    assert statements["R1"][:8] == [0.996888, 0.995987, 0.985403, 0.979368, 0.991946, 0.988286, 0.989726, 0.983342]
    assert statements["R1"][8:] == pytest.approx([0.004942, 0.007701, -0.004323, -0.003974])
    assert statements["R13"] == pytest.approx([0.01752, 0.008604])
    assert statements["R3"] == [23, 50, 27, None]
    assert statements["R4"] == [10, 60, 50]
    assert statements["R6"] == [5, 15, 10, 10, 40, 30]
    assert statements["R7"] == [42, 62, 20, 20, 140, 120, 0.8, 2.2, 1.4]
    assert statements["R8"] == [47, 80, 33, 15, 120, 105]
    assert statements["R11"] == [5, 18, -5, -20]
    assert statements["R12"] == [*[None] * 6, 10, 12, 80]
    assert len(published.FAIRNESS) == 8


def test_ranges_without_a_printed_number_follow_from_the_table_of_the_rfc() -> None:
    r1 = next(claim for claim in STUDY.claims if claim.id == "R1")
    assert {(statement.range.low, statement.range.high) for statement in r1.statements[8:12]} == {(-0.007701, 0.007701)}
    assert {statement.range.low for statement in r1.statements[:8]} == {0.979368}
    r11 = next(claim for claim in STUDY.claims if claim.id == "R11")
    assert {(statement.range.low, statement.range.high) for statement in r11.statements} == {(-20, 20)}


def test_captions_name_the_markers_that_figures_have() -> None:
    assert [item.number for item in STUDY.items if "open marker" in item.caption] == []
    assert [item.number for item in STUDY.items if "half-filled" in item.caption] == ["5.2.2", "5.2.3", "5.3.2", "5.3.3", "5.3.4"]


@pytest.fixture(scope="module")
def shortened() -> Mapping[Need, ecnlab.Result]:
    """Two seeds of every scenario, cut short."""
    needs = list(dict.fromkeys(need for item in STUDY.items for need in item.needs.values()))
    cut = {"duration": f"{_SHORT_S} s", "measure_from": "20 s"}
    outcome = run_all([Request(ecnlab.scenario({**need.scenario, **cut}), [1, 2]) for need in needs])
    return dict(zip(needs, getattr(outcome, "results", outcome), strict=True))


def test_every_item_draws(shortened: Mapping[Need, ecnlab.Result]) -> None:
    for item in STUDY.items:
        drawing = item.draw({key: shortened[need] for key, need in item.needs.items()})
        assert drawing.tables
        assert drawing.data is not None
        assert drawing.data.height > 0


def test_every_claim_is_decided_from_the_runs(shortened: Mapping[Need, ecnlab.Result]) -> None:
    for claim in STUDY.claims:
        decision = decide(claim, shortened.__getitem__)
        assert len(decision.weighed) == len(claim.statements)


def test_the_gain_is_by_seed_and_in_the_user_s_metric(shortened: Mapping[Need, ecnlab.Result]) -> None:
    need = testbed.transactions(5, 2, 0.1)
    measured = testbed.gain(testbed.rate, need)
    assert isinstance(measured, Change)
    on, off = (shortened[need].values("transactions", group=group) for group in (WITH, WITHOUT))
    expected = {seed: one / other - 1 for seed, one, other in zip([1, 2], on, off, strict=True)}
    assert measured.values(shortened.__getitem__) == pytest.approx(expected)


def test_the_rate_of_transactions_is_over_the_measured_interval() -> None:
    need = testbed.transactions(5, 2, 0.1)
    short = ecnlab.scenario({**need.scenario, "duration": "40 s", "measure_from": "30 s"})
    result = ecnlab.run(short, [1])
    (rate,) = testbed.rate(need, WITH).values(lambda _: result).values()
    assert rate == result.values("transactions", group=WITH)[0] / 10 > 0


def test_the_user_s_throughput_is_the_file_by_its_time() -> None:
    need = testbed.bulk(2, 0.1)
    small = {**need.scenario, "duration": "60 s"}
    small["flows"] = [{**group, "app": {"kind": "file", "bytes": "200 KB"}} if group["to"] != "c" else group for group in small["flows"]]
    result = ecnlab.run(ecnlab.scenario(small), [1])
    seconds = result.values("transaction_mean_s", group=WITH)[0]
    assert seconds > 1
    found = testbed.user_throughput(need, WITH).values(lambda _: result)
    assert found == {1: pytest.approx(8 * 200_000 / seconds)}


def test_what_is_sent_again_is_a_share_and_nothing_of_nothing_is_none(shortened: Mapping[Need, ecnlab.Result]) -> None:
    need = testbed.bulk(10, 0.1)
    parts, whole = ("retransmitted_timeout",), ("retransmitted_fast", "retransmitted_timeout")
    shares = testbed.share(need, parts, whole, [{"group": WITHOUT}]).values(shortened.__getitem__)
    assert all(0 <= share <= 1 for share in shares.values())
    none = testbed.share(need, ("drops_lost",), ("drops_lost",), [{"queue": testbed.SHAPER}]).values(shortened.__getitem__)
    assert set(none.values()) == {0.0}


def test_a_window_with_several_drops_counts_once() -> None:
    windows_of = testbed.repeated_share
    assert windows_of([], 0.1) == 0
    assert windows_of([1.0, 2.0, 3.0], 0.1) == 0
    # Windows begin at 1.0 and at 2.0; the first has three drops.
    assert windows_of([1.0, 1.01, 1.05, 2.0], 0.1) == 0.5
    # A drop a whole round trip after the window's first begins a new window.
    assert windows_of([1.0, 1.25, 1.5], 0.25) == 0


def test_repeated_drops_are_counted_from_the_recorded_events_of_one_flow(shortened: Mapping[Need, ecnlab.Result]) -> None:
    need = next(need for need in shortened if "record" in need.scenario)
    values = testbed.repeated_drops(need, WITHOUT).values(shortened.__getitem__)
    result = shortened[need]
    flow = result.table("flows").filter(pl.col("group") == WITHOUT)["flow"][0]
    drops = result.series.events.filter((pl.col("flow") == flow) & (pl.col("kind") == "drop"))
    assert set(values) == {1, 2}
    for seed, rtt in zip(result.seeds, result.values("rtt_mean_s", group=WITHOUT), strict=True):
        times = drops.filter(pl.col("seed") == seed)["time_s"].to_list()
        assert times
        assert values[seed] == testbed.repeated_share(times, rtt)


@pytest.mark.parametrize("hosts", list(testbed.HOSTS))
def test_hosts_of_kernels_are_what_one_can_be_set_to(hosts: str) -> None:
    for need in (testbed.bulk(10, 0.1, hosts), testbed.with_events(testbed.bulk(10, 0.1, hosts)), testbed.transactions(5, 10, 0.1, hosts)):
        chosen = ecnlab.scenario(on_kernels(need.scenario))
        assert chosen.warnings == []
        assert _core.refusals(chosen._core, "boxed", ["reno"]) == []


def test_on_kernels_networks_and_queues_stay_and_files_and_runs_are_shorter() -> None:
    for need, seconds in (
        (testbed.bulk(2, 0.1), 140),
        (testbed.bulk(10, 0.5), 820),
        (testbed.halves(0.1), 120),
        (testbed.transactions(5, 2, 0.1), 200),
    ):
        there = ecnlab.scenario(on_kernels(need.scenario))
        here = ecnlab.scenario(need.scenario)
        assert (there.resolved["link"], there.measure_from_s) == (here.resolved["link"], here.measure_from_s)
        assert there.duration_s == seconds
    files = _groups(Need(on_kernels(testbed.bulk(5, 0.1).scenario)))
    assert {files[name]["app"]["bytes"] for name in (WITH, WITHOUT)} == {4_000_000}
    assert files[WITH]["tcp"]["ecn"] is True
    assert files["congesting"]["app"]["kind"] == "bulk"


def test_every_scenario_of_the_study_can_be_written_for_kernels() -> None:
    needs = {id(need): need for item in STUDY.items for need in item.needs.values()}
    for need in needs.values():
        on_kernels(need.scenario)
    assert set(KERNEL_HOSTS) == set(testbed.HOSTS)
