from pathlib import Path

import pytest

import ecnlab
from ecnlab.validation import explained, more_seeds
from ecnlab.validation.rows import read_tables
from ecnlab.validation.samples import SampleStatistics, means_agree
from ecnlab.validation.tables import REFERENCE_TABLES

ROW = {"network": "ch4", "era": "235", "mode": "red", "n": "30", "maxp": "0.5", "seeds": "16", "drops": "6000", "drops_sd": "80"}
TABLE = SampleStatistics(6200.0, 8.0, 3)
OUR_SAMPLE = SampleStatistics(6020.0, 80.0, 20)


def _read_text(path: Path, **changed: str) -> more_seeds.FurtherRecordedNs2Seeds:
    row = ROW | changed
    path.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    return more_seeds.read_more_seeds(path)


def _reason_for(
    further: more_seeds.FurtherRecordedNs2Seeds,
    ours: SampleStatistics = OUR_SAMPLE,
    network: str | None = "ch4",
    column: str = "drops",
    **changed: str,
) -> str | None:
    return further.reason_if_more_seeds_agree(network, ROW | changed, column, TABLE, ours)


def test_the_reason_names_both_numbers_of_seeds_and_the_numbers(tmp_path: Path) -> None:
    expected = "ns-2's spread over 3 seeds is too small by chance: 16 further seeds of ns-2 agree with ours (6000 ± 80)"
    assert _reason_for(_read_text(tmp_path / "more.csv")) == expected


def test_only_agreement_with_the_further_seeds_explains(tmp_path: Path) -> None:
    far = SampleStatistics(6150.0, 80.0, 20)
    further = _read_text(tmp_path / "more.csv")
    assert not means_agree(SampleStatistics(6000.0, 80.0, 16), far)
    assert _reason_for(further, far) is None


def test_another_row_network_or_quantity_explains_nothing(tmp_path: Path) -> None:
    further = _read_text(tmp_path / "more.csv")
    assert _reason_for(further, network="ch5") is None
    assert _reason_for(further, network=None) is None
    assert _reason_for(further, column="marks") is None
    for changed in ({"era": "21b7"}, {"mode": "ecn"}, {"n": "60"}, {"maxp": "0.8"}):
        assert _reason_for(further, **changed) is None, changed


def test_thresholds_other_than_10_and_30_explain_nothing(tmp_path: Path) -> None:
    further = _read_text(tmp_path / "more.csv")
    assert _reason_for(further, minth="10", maxth="30")
    assert _reason_for(further, minth="20", maxth="30") is None
    assert _reason_for(further, minth="10", maxth="60") is None


def test_a_row_of_too_few_seeds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError, match="fewer than 8"):
        _read_text(tmp_path / "more.csv", seeds="7")


def test_a_row_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "more.csv"
    lines = [",".join(ROW), ",".join(ROW.values()), ",".join(ROW.values())]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ecnlab.UsageError, match="twice"):
        more_seeds.read_more_seeds(path)


def test_a_file_without_the_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("network,era\nch4,235\n")
    with pytest.raises(ecnlab.UsageError, match="cannot read"):
        more_seeds.read_more_seeds(tmp_path / "more.csv")


def test_our_own_further_seeds_are_all_of_rows_of_our_tables_and_lie_where_these_do() -> None:
    """The same measurement: nearly all means equal those of the table, within the deviation of a few seeds."""
    further = dict(more_seeds.read_more_seeds().rows)
    found, near = set(), []
    for table in read_tables(REFERENCE_TABLES[:3]):
        rows = (row.line.cells for row in table.rows)
        for row in (row for row in rows if float(row.get("minth") or 10) == 10 and float(row.get("maxth") or 30) == 30):
            key = (str(table.network), row["era"], row["mode"], int(row["n"]), float(row["maxp"]))
            if key in further:
                found.add(key)
                near += [means_agree(_sample(row, c), _sample(further[key], c)) for c in further[key] if f"{c}_sd" in further[key]]
    assert found == set(further)
    assert len(near) > 1000
    assert sum(near) > 0.95 * len(near)


def _sample(row, column: str) -> SampleStatistics:
    return SampleStatistics(float(row[column]), float(row[f"{column}_sd"]), int(row["seeds"]))


@pytest.mark.parametrize(
    ("file", "column", "row", "covered"),
    [
        ("thesis-ch4", "jain_1s_goodput", {"mode": "red"}, True),
        ("thesis-ch5", "jain_1s_goodput", {"mode": "red"}, True),
        ("thesis-ch4", "jain_1s_goodput", {"mode": "ecn"}, False),
        ("thesis-ch4", "jain_1s_throughput", {"mode": "red"}, False),
        ("thesis-aecn", "jain_1s_goodput", {"count": "router"}, True),
        ("thesis-aecn", "jain_1s_goodput", {"count": "group"}, False),
    ],
)
def test_our_own_explanations_cover_only_what_was_measured(file: str, column: str, row: dict[str, str], covered: bool) -> None:
    assert (explained.reason_for_difference(explained.read_explanations(), file, column, row, 0.04) is not None) is covered
