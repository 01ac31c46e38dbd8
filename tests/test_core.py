import math
import pickle
import struct
from pathlib import Path

import duckdb
import polars as pl
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


def test_tables_that_are_joined_have_key_and_seed_in_front_and_can_be_taken_apart_again(small: ecnlab.Scenario) -> None:
    runs = [small._core.run(seed) for seed in (2, 4)]
    for name, table in runs[0].tables.items():
        joined = _core.join("k", [(run.seed, run.tables[name]) for run in runs])
        assert joined.columns == ["key", "seed", *table.columns]
        assert set(joined.column("key")) <= {"k"}
        assert joined.column("seed") == [2] * table.height + [4] * runs[1].tables[name].height
        apart = joined.split_by_seed([4, 2, 7])
        assert [seed for seed, _ in apart] == [4, 2, 7]
        assert [_column_values(own) for _, own in apart[:2]] == [_column_values(run.tables[name]) for run in reversed(runs)]
        assert (apart[2][1].columns, apart[2][1].height) == (table.columns, 0)


def test_each_row_group_of_a_parquet_file_is_read_back_from_its_bytes_alone(small: ecnlab.Scenario) -> None:
    runs = [small._core.run(seed) for seed in (4, 2)]
    for name in runs[0].tables:
        scenarios = [(f"k{run.seed}", [(run.seed, run.tables[name])]) for run in runs]
        tables = [_core.join(*scenario) for scenario in scenarios]
        data, extents = _core.write_parquet(scenarios, [])
        footer = _core.Footer(data[sum(extents[-1]) :])
        for at, (begin, size) in enumerate(extents):
            assert _column_values(footer.table(at, data[begin : begin + size])) == _column_values(tables[at])


# A row, several pages with compression, and more names than a dictionary has room for.
@pytest.mark.parametrize(("rows", "number_of_names"), [(0, 1), (1, 1), (1000, 300), (45_001, 7), (70_000, 20_001)])
def test_columns_of_each_kind_and_size_are_read_back(rows: int, number_of_names: int) -> None:
    numbers = range(rows)
    columns: list[tuple[str, str, bytes, list[str]]] = [
        ("time_s", "real", struct.pack(f"<{rows}d", *(row * 0.01 for row in numbers)), []),
        ("root", "real", struct.pack(f"<{rows}d", *(math.sqrt(row) for row in numbers)), []),
        ("most", "count", struct.pack("<Q", 2**64 - 1) * rows, []),
        ("large", "count", struct.pack(f"<{rows}Q", *(row << 40 for row in numbers)), []),
        ("length", "index", struct.pack(f"<{rows}I", *(row * row % 97 for row in numbers)), []),
        (
            "name",
            "name",
            struct.pack(f"<{rows}I", *(row % number_of_names for row in numbers)),
            [f"{name} {'x' * (name % 100)}" for name in range(number_of_names)],
        ),
    ]
    runs = [(seed, _core.Table(columns)) for seed in (3, 2**64 - 1)]
    data, [(begin, size)] = _core.write_parquet([("k", runs)], [])
    assert _column_values(_core.Footer(data[begin + size :]).table(0, data[begin : begin + size])) == _column_values(_core.join("k", runs))
    frame = pl.read_parquet(data)
    assert {name: frame[name].to_list() for name in frame.columns} == {
        name: _core.join("k", runs).column(name) for name in _core.join("k", runs).columns
    }


@pytest.mark.parametrize("seeds", [[7], [1, 2, 3]])
def test_only_real_numbers_are_stored_byte_by_byte_which_older_readers_refuse_for_whole_ones(seeds: list[int], tmp_path: Path) -> None:
    rows = 25_000
    columns: list[tuple[str, str, bytes, list[str]]] = [
        ("time_s", "real", struct.pack(f"<{rows}d", *(row * 0.01 for row in range(rows))), []),
        ("sent", "count", struct.pack(f"<{rows}Q", *range(rows)), []),
        ("length", "index", struct.pack(f"<{rows}I", *range(rows)), []),
        ("queue", "name", struct.pack("<I", 0) * rows, ["bottleneck"]),
    ]
    file = tmp_path / "t.parquet"
    file.write_bytes(_core.write_parquet([("k", [(seed, _core.Table(columns)) for seed in seeds])], [])[0])
    encodings = duckdb.sql(f"select path_in_schema, encodings, stats_min_value, stats_max_value from parquet_metadata('{file}')").fetchall()
    assert {name for name, encoding, *_ in encodings if "BYTE_STREAM_SPLIT" in encoding} == {"time_s"}
    assert {name: (least, most) for name, _, least, most in encodings if name in ("key", "seed")} == {
        "key": ("k", "k"),
        "seed": (str(seeds[0]), str(seeds[-1])),
    }
    assert duckdb.sql(f"select seed, count(*), sum(sent) from '{file}' group by seed order by seed").fetchall() == [
        (seed, rows, sum(range(rows))) for seed in seeds
    ]
    assert file.stat().st_size < len(seeds) * 100_000


def test_a_table_goes_through_pickle(small: ecnlab.Scenario) -> None:
    for table in small._core.run(1).tables.values():
        assert _column_values(pickle.loads(pickle.dumps(table))) == _column_values(table)
    assert small._core.run(1).tables["groups"].size == 2 * (8 * 23 + 4)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ([("a", "real", bytes(8), []), ("b", "index", bytes(8), [])], "equally long"),
        ([("a", "name", bytes(4), [])], "no name 0"),
        ([("a", "text", b"", [])], "'text' is not a kind|\"text\" is not a kind"),
    ],
)
def test_columns_that_are_no_table_are_a_value_error(columns: list[tuple[str, str, bytes, list[str]]], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        _core.Table(columns)


def test_tables_with_unlike_columns_do_not_go_into_one_file_or_table(small: ecnlab.Scenario) -> None:
    run = small._core.run(1)
    with pytest.raises(ValueError, match="the same columns"):
        _core.write_parquet([("k", [(1, run.tables["total"])]), ("l", [(1, run.tables["queues"])])], [])
    with pytest.raises(ValueError, match="the same columns"):
        _core.join("k", [(1, run.tables["total"]), (2, run.tables["queues"])])
    with pytest.raises(ValueError, match="no table"):
        _core.write_parquet([], [])
    with pytest.raises(ValueError, match="no table"):
        _core.join("k", [])
    with pytest.raises(ValueError, match="of a single run"):
        run.tables["total"].split_by_seed([1])


@pytest.mark.parametrize("cut", [0, 3, 100, -1, -9])
def test_a_parquet_file_that_was_cut_is_an_os_error(small: ecnlab.Scenario, cut: int) -> None:
    data, (extent,) = _core.write_parquet([("k", [(1, small._core.run(1).tables["total"])])], [])
    with pytest.raises(OSError, match=r"."):
        _core.Footer(data[sum(extent) :][:cut])
    footer = _core.Footer(data[sum(extent) :])
    with pytest.raises(OSError, match=r"."):
        footer.table(0, data[extent[0] : sum(extent)][:cut])
    with pytest.raises(OSError, match="no row group 1"):
        footer.table(1, data[extent[0] : sum(extent)])


# Few rows are not compressed; with many, real numbers are stored byte by byte.
@pytest.mark.parametrize("rows", [1, 5000])
def test_no_damage_to_a_parquet_file_takes_the_process_down(rows: int) -> None:
    columns: list[tuple[str, str, bytes, list[str]]] = [
        ("time_s", "real", struct.pack("<d", 0.01) * rows, []),
        ("queue", "name", struct.pack("<I", 0) * rows, ["bottleneck"]),
    ]
    data, ((begin, size),) = _core.write_parquet([("k", [(1, _core.Table(columns))])], [])
    refused = 0
    for at in range(0, len(data), 7):
        damaged = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        try:
            _core.Footer(damaged[begin + size :]).table(0, damaged[begin : begin + size])
        except OSError:
            refused += 1
    assert refused > 0


def _column_values(table: _core.Table) -> str:
    return repr({column: table.column(column) for column in table.columns})


def test_a_seed_below_zero_is_a_value_error(small: ecnlab.Scenario) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        small._core.run(-1)


@pytest.mark.parametrize("rows", [4, 1 << 33, 1 << 62])
def test_a_footer_that_promises_more_rows_than_there_are_is_damaged_and_takes_no_memory(rows: int) -> None:
    data, [(begin, size)] = _core.write_parquet([("k", [(1, _core.Table([("x", "real", struct.pack("<3d", 1, 2, 3), [])]))])], [])
    footer = data[begin + size : -8]
    # The third field of a row group, a zigzag number (parquet.thrift, RowGroup; Thrift's compact protocol).
    at = footer.rindex(b"\x16\x06") + 1
    forged = footer[:at] + _encode_varint(2 * rows) + footer[at + 1 :]
    tail = forged + struct.pack("<I", len(forged)) + b"PAR1"
    with pytest.raises(OSError, match=r"3 of \d+ rows are there"):
        _core.Footer(tail).table(0, data[begin : begin + size])


@pytest.mark.parametrize(
    ("field", "what"),
    [
        # Field 100: a list of 2^31 - 1 booleans, whose elements the decoder would count one by one without reading a byte.
        (b"\x09\xc8\x01\xf1\xff\xff\xff\xff\x07", "a field that tables do not have"),
        # Field 2 + 2^16, which the decoder takes for field 2: 16 bits of a field's number count.
        (b"\x09\x84\x80\x08\x1c\x15\xfe\xff\xff\xff\x0f\x00", "a field that tables do not have"),
        # Field 3, the number of rows, as a text: the decoder reads a number whatever the type is.
        (b"\x08\x06\x00", "a field of another type than its own"),
        # Field 2, the schema: a second root.
        (b"\x09\x04\x1c\x55\x02\x00", "columns in a column"),
        (b"\x09\x04\x15\x02", "a list of another type than its own"),
        # Field 1, a number of 64 bits and more.
        (b"\x05\x02" + b"\x80" * 10 + b"\x01", "a number that is too long"),
    ],
)
def test_a_footer_with_a_field_that_no_table_has_is_damaged(field: bytes, what: str) -> None:
    data, [(begin, size)] = _core.write_parquet([("k", [(1, _core.Table([("x", "real", struct.pack("<3d", 1, 2, 3), [])]))])], [])
    footer = data[begin + size : -8]
    forged = footer[:-1] + field + footer[-1:]
    with pytest.raises(OSError, match=what):
        _core.Footer(forged + struct.pack("<I", len(forged)) + b"PAR1")


def _encode_varint(number: int) -> bytes:
    low = [number >> at & 127 for at in range(0, max(number.bit_length(), 1), 7)]
    return bytes([*(part | 128 for part in low[:-1]), low[-1]])
