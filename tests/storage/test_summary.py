import math
import tomllib

import pytest

import ecnlab as lab
from ecnlab.scenarios import units
from ecnlab.stats.estimates import Estimate
from ecnlab.storage import summary
from helpers import SMALL


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Estimate(9.84971, 0.01, 0.0123, 5), "9.850 ± 0.012"),
        (Estimate(12310.4, 200.0, 251.3, 5), "12310 ± 251"),
        (Estimate(3.0, 0.0, 0.0, 5), "3.0000 ± 0.0000"),
        (Estimate(0.0, 0.0, 0.0, 5), "0 ± 0"),
        (Estimate(0.75, math.nan, math.nan, 1), "0.75000"),
        (Estimate(42.0, math.nan, math.nan, 1), "42"),
        (Estimate(2710.0, 0.0, math.nan, 3), "2710"),
        (Estimate(math.nan, math.nan, math.nan, 5), "-"),
        (Estimate(0.2, 0.45, 0.56, 5), "0.20 (0 to 0.76)"),
        (Estimate(5.0, 5.6, 14.1, 3), "5 (0 to 19)"),
        (Estimate(0.5, 0.4, 0.5, 5), "0.50 ± 0.50"),
    ],
)
def test_a_number_shows_the_digits_that_its_interval_leaves_meaning_to(value: Estimate, text: str) -> None:
    assert summary.format_estimate(value) == text


def test_a_difference_may_be_negative_and_keeps_its_interval() -> None:
    assert summary.format_estimate(Estimate(0.2, 0.45, 0.56, 5), is_signed=True) == "0.20 ± 0.56"


def _shown_quantities(app: object, loss: float) -> set[str]:
    tree = tomllib.loads(SMALL)
    tree["flows"][0]["app"] = app
    tree["link"][0]["loss"] = loss
    result = lab.run(lab.scenario(tree), seed=1)
    return {row[0] for table in summary.result_tables(result) for row in table.rows}


def test_transactions_and_losses_on_a_path_are_shown_where_there_are_any() -> None:
    extra = {"transactions", "transaction mean", "transaction p95", "drops lost"}
    assert not extra & _shown_quantities("bulk", 0.0)
    assert extra <= _shown_quantities({"kind": "transactions", "bytes": "5 kB", "gap": "50 ms"}, 0.02)


def test_one_seed_has_no_interval_and_its_counts_are_whole(small: lab.Scenario) -> None:
    groups, _, queues = summary.result_tables(lab.run(small, seed=1))
    assert groups.title == "small: 1 seed"
    cells = [cell for table in (groups, queues) for row in table.rows for cell in row]
    assert not any("±" in cell for cell in cells)
    assert all(
        cell.isdecimal() for row in groups.rows if row[0] in ("data packets marked", "data packets dropped", "timeouts") for cell in row[2:]
    )


def test_the_bands_of_a_queue_that_has_several_are_a_table_of_their_own() -> None:
    tree = tomllib.loads(SMALL)
    assert [table.title for table in summary.result_tables(lab.run(lab.scenario(tree), seed=1))] == [
        "small: 1 seed",
        "fairness between flows",
        "queues",
    ]
    tree["link"][0]["queue"] = {"discipline": "dualpi2", "limit": 60}
    *_, bands = summary.result_tables(lab.run(lab.scenario(tree), seed=1))
    assert (bands.title, bands.header) == ("bands", ["quantity", "unit", "bottleneck.L", "bottleneck.C"])
    assert next(row for row in bands.rows if row[0] == "departures")[2:] != ["0", "0"]


def test_identical_seeds_have_no_interval_and_the_title_says_so() -> None:
    tree = tomllib.loads(SMALL)
    tree["link"][0]["queue"] = {"aqm": "droptail", "limit": 20}
    for flows in tree["flows"]:
        flows |= {"start": "0 s", "tcp": {"profile": "rfc"}}
    groups, _, _ = summary.result_tables(lab.run(lab.scenario(tree), seeds=3))
    assert groups.title == "small: 3 seeds, all identical: no interval"
    assert not any("±" in cell for row in groups.rows for cell in row)


def test_a_group_called_all_is_distinguished_from_all_flows() -> None:
    tree = tomllib.loads(SMALL)
    tree["flows"][0]["name"] = "all"
    groups, _, _ = summary.result_tables(lab.run(lab.scenario(tree), seed=1))
    assert groups.header[2:] == ["all flows", "all", "near"]


def test_groups_count_data_packets_and_queues_all_and_the_rows_say_so() -> None:
    tree = tomllib.loads(SMALL)
    groups, _, queues = summary.result_tables(lab.run(lab.scenario(tree), seed=1))
    assert {"data packets marked", "data packets dropped"} <= {row[0] for row in groups.rows}
    assert not {"marks", "drops"} & {row[0] for row in groups.rows}
    assert {"marks", "drops early"} <= {row[0] for row in queues.rows}


def test_rates_of_bits_and_times_of_microseconds_are_in_their_own_units() -> None:
    tree = tomllib.loads(SMALL)
    tree["link"][0]["rate"] = "1 bps"
    groups, _, _ = summary.result_tables(lab.run(lab.scenario(tree), seed=1))
    rates = {row[0]: row[1:3] for row in groups.rows if row[0] in ("throughput", "goodput")}
    assert {unit for unit, _ in rates.values()} <= {"bit/s", "Mbit/s"}
    assert not any(cell.startswith("0.0000") for _, cell in rates.values())
    assert [units.display_unit_for_values("goodput_bps", [value, 0.0, math.nan])[1] for value in (1.0, 9e4, 2e5, 0.0)] == [
        "bit/s",
        "kbit/s",
        "Mbit/s",
        "Mbit/s",
    ]
    assert units.display_unit_for_values("delay_mean_s", [20e-6, 90e-6]) == (1e6, "µs")
    assert units.display_unit_for_values("delay_mean_s", [20e-6, 2e-3]) == (1e3, "ms")


def _jain_rows(values: list[float]) -> float:
    return math.fsum(values) ** 2 / (len(values) * math.fsum(value * value for value in values))


def test_fairness_of_bulk_groups_is_over_all_flows_and_over_those_of_each_group(small_result: lab.Result) -> None:
    fairness = summary.result_tables(small_result)[1]
    assert fairness.header == ["quantity", "all", "far", "near"]
    assert [row[0] for row in fairness.rows][:2] == ["jain_goodput", "jain_goodput_first"]
    for group in ("far", "near"):
        flows = small_result.flows.filter(small_result.flows["group"] == group)
        by_seed = [flows.filter(flows["seed"] == seed)["goodput_bps"].to_list() for seed in small_result.seeds]
        assert small_result.jain("goodput_bps", [group]) == pytest.approx([_jain_rows(values) for values in by_seed])
        shown = summary.format_estimate(small_result.estimate_of(small_result.jain("goodput_bps", [group])))
        assert fairness.rows[0][fairness.header.index(group)] == shown
    assert small_result.jain("goodput_bps") == pytest.approx(small_result.values("jain_goodput"))
    with pytest.raises(lab.UnknownName, match="did you mean 'far'"):
        small_result.jain("goodput_bps", ["fra"])


def test_no_index_is_over_flows_of_which_some_pause() -> None:
    tree = tomllib.loads(SMALL)
    tree["flows"].append(
        tree["flows"][1] | {"name": "pages", "app": {"kind": "exchange", "request": "1 KB", "response": "2 KB", "think": "2 s"}}
    )
    result = lab.run(lab.scenario(tree), seed=1)
    fairness = summary.result_tables(result)[1]
    assert fairness.header == ["quantity", "far", "near", "pages", "all bulk flows"]
    assert [row[0] for row in fairness.rows] == ["jain_goodput", "jain_goodput_first"]
    (over_bulk,) = result.jain("goodput_bps", ["far", "near"])
    (over_all,) = result.values("jain_goodput")
    assert over_all < 0.9 * over_bulk, "which is why it is not shown first"
    assert fairness.rows[0][-1] == summary.format_estimate(result.estimate_of([over_bulk]))
