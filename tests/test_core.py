import pytest

import ecnlab
from ecnlab import _core


def test_a_table_gives_its_columns_as_plain_lists(small: ecnlab.Scenario) -> None:
    run = small._core.run(3)
    groups = run.tables["groups"]
    assert (run.seed, groups.height) == (3, 2)
    assert groups.column("group") == ["far", "near"]
    assert sum(groups.column("sent")) == run.tables["total"].column("sent")[0]
    with pytest.raises(KeyError):
        groups.column("goodputt_bps")


def test_a_table_is_read_back_from_parquet_as_it_was(small: ecnlab.Scenario) -> None:
    runs = [small._core.run(seed) for seed in (4, 2)]
    for name, table in runs[0].tables.items():
        read = _core.read_parquet(_core.write_parquet([(run.seed, run.tables[name]) for run in runs], []))
        assert read.columns == ["seed", *table.columns]
        assert read.column("seed") == [4] * table.height + [2] * runs[1].tables[name].height
        for column in table.columns:
            assert repr(read.column(column)) == repr([value for run in runs for value in run.tables[name].column(column)])


def test_tables_with_unlike_columns_do_not_go_into_one_file(small: ecnlab.Scenario) -> None:
    run = small._core.run(1)
    with pytest.raises(ValueError, match="the same columns"):
        _core.write_parquet([(1, run.tables["total"]), (2, run.tables["queues"])], [])
    with pytest.raises(ValueError, match="no table"):
        _core.write_parquet([], [])


@pytest.mark.parametrize("cut", [0, 3, 100, -1, -9])
def test_a_parquet_file_that_was_cut_is_an_os_error(small: ecnlab.Scenario, cut: int) -> None:
    data = _core.write_parquet([(1, small._core.run(1).tables["total"])], [])
    with pytest.raises(OSError, match=r"."):
        _core.read_parquet(data[:cut])


def test_no_damage_to_a_parquet_file_takes_the_process_down(small: ecnlab.Scenario) -> None:
    data = _core.write_parquet([(1, small._core.run(1).tables["queues"])], [])
    refused = 0
    for at in range(0, len(data), 7):
        try:
            _core.read_parquet(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        except OSError:
            refused += 1
    assert refused > 0


def test_a_seed_below_zero_is_a_value_error(small: ecnlab.Scenario) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        small._core.run(-1)
