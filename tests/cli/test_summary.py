import math
import tomllib

import pytest

import ecnlab as lab
from ecnlab.analysis.stats import Estimate
from ecnlab.cli import summary
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
    ],
)
def test_a_number_shows_the_digits_that_its_interval_leaves_meaning_to(value: Estimate, text: str) -> None:
    assert summary.number(value) == text


def _quantities(app: object, loss: float) -> set[str]:
    tree = tomllib.loads(SMALL)
    tree["flows"][0]["app"] = app
    tree["link"][0]["loss"] = loss
    result = lab.run(lab.scenario(tree), seed=1)
    return {row[0] for table in summary.tables(result) for row in table.rows}


def test_transactions_and_losses_on_a_path_are_shown_where_there_are_any() -> None:
    extra = {"transactions", "transaction mean", "transaction p95", "drops lost"}
    assert not extra & _quantities("bulk", 0.0)
    assert extra <= _quantities({"kind": "transactions", "bytes": "5 kB", "gap": "50 ms"}, 0.02)


def test_one_seed_has_no_interval_and_its_counts_are_whole(small: lab.Scenario) -> None:
    groups, _, queues = summary.tables(lab.run(small, seed=1))
    assert groups.title == "small: 1 seed"
    cells = [cell for table in (groups, queues) for row in table.rows for cell in row]
    assert not any("±" in cell for cell in cells)
    assert all(cell.isdecimal() for row in groups.rows if row[0] in ("marks", "drops", "timeouts") for cell in row[2:])


def test_the_bands_of_a_queue_that_has_several_are_a_table_of_their_own() -> None:
    tree = tomllib.loads(SMALL)
    assert [table.title for table in summary.tables(lab.run(lab.scenario(tree), seed=1))] == [
        "small: 1 seed",
        "fairness over all flows",
        "queues",
    ]
    tree["link"][0]["queue"] = {"discipline": "dualpi2", "limit": 60}
    *_, bands = summary.tables(lab.run(lab.scenario(tree), seed=1))
    assert (bands.title, bands.header) == ("bands", ["quantity", "unit", "bottleneck.L", "bottleneck.C"])
    assert next(row for row in bands.rows if row[0] == "departures")[2:] != ["0", "0"]


def test_seeds_that_are_all_alike_have_no_interval_and_the_title_says_so() -> None:
    tree = tomllib.loads(SMALL)
    tree["link"][0]["queue"] = {"aqm": "droptail", "limit": 20}
    for flows in tree["flows"]:
        flows |= {"start": "0 s", "tcp": {"profile": "rfc"}}
    groups, _, _ = summary.tables(lab.run(lab.scenario(tree), seeds=3))
    assert groups.title == "small: 3 seeds, all alike: no interval"
    assert not any("±" in cell for row in groups.rows for cell in row)


def test_a_group_called_all_is_told_from_all_flows() -> None:
    tree = tomllib.loads(SMALL)
    tree["flows"][0]["name"] = "all"
    groups, _, _ = summary.tables(lab.run(lab.scenario(tree), seed=1))
    assert groups.header[2:] == ["all flows", "all", "near"]
