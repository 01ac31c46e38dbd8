import math

import pytest

from ecnlab.studies.framework import reference
from ecnlab.studies.framework.reference import THESIS_TABLES, Ns2ReferenceRow, find_ns2_row

ECN_60 = {"network": "ch5", "era": "21b7", "mode": "ecn", "n": 60, "maxp": 0.5, "minth": 10, "maxth": 30}


def test_a_quantity_of_ns2_s_has_our_name_and_our_unit() -> None:
    row = find_ns2_row(["thesis-ch5"], ECN_60)
    assert row is not None
    goodput, delay = row.estimate_of_quantity("goodput_first_bps"), row.estimate_of_quantity("delay_mean_s", group="fragile")
    assert goodput is not None
    assert delay is not None
    assert goodput.mean == pytest.approx(9.8497e6, rel=1e-4)  # README of the reference data: ECN 60, G noretx
    assert goodput.n == 5
    assert goodput.half_width == pytest.approx(2.776 * goodput.sd / math.sqrt(5), rel=1e-3)
    assert 0.100 < delay.mean < 0.130


def test_a_quantity_that_the_table_lacks_is_none() -> None:
    row = Ns2ReferenceRow({"seeds": "3", "marks": "7"})
    assert row.estimate_of_quantity("drops") is None
    assert row.estimate_of_quantity("no such quantity") is None
    assert row.estimate_of_column("marks", 2.0) is not None


def test_a_mean_without_a_spread_has_no_interval() -> None:
    found = Ns2ReferenceRow({"seeds": "3", "marks": "7"}).estimate_of_column("marks")
    assert found is not None
    assert (found.mean, found.n) == (7, 3)
    assert math.isnan(found.half_width)


def test_of_rows_that_fit_the_one_with_most_seeds_is_taken() -> None:
    few = find_ns2_row(["thesis-ch4"], {"era": "21b7", "mode": "ecn", "n": 30, "maxp": 0.5})
    most = find_ns2_row(THESIS_TABLES, {"network": "ch4", "era": "21b7", "mode": "ecn", "n": 30, "maxp": 0.5, "minth": 10, "maxth": 30})
    assert few is not None
    assert most is not None
    assert (few.seed_count, most.seed_count) == (5, 16)


def test_what_was_not_measured_is_not_found() -> None:
    assert find_ns2_row(THESIS_TABLES, ECN_60 | {"minth": 5}) is None
    assert find_ns2_row(["thesis-ch5"], ECN_60 | {"n": 61}) is None
    assert find_ns2_row(["thesis-ch5"], ECN_60 | {"no such column": 1}) is None


def test_every_row_of_the_thesis_tables_says_what_it_was_measured_under() -> None:
    for table in THESIS_TABLES:
        assert all(row.cells.keys() >= ECN_60.keys() for row in reference.read_ns2_rows(table))
