import pytest

from ecnlab import Result, UnknownName
from ecnlab.scenarios import catalog
from ecnlab.scenarios.units import column_display_factor_and_unit, unit_of


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("goodput_first_bps", "bit/s"),
        ("delay_p95_s", "s"),
        ("length_mean_packets", "packets"),
        ("jain_goodput", "1"),
        ("group", ""),
        ("seed", ""),
    ],
)
def test_a_column_has_the_unit_that_the_engine_declares(column: str, unit: str) -> None:
    assert unit_of(column) == unit


def test_one_name_has_one_unit_in_whichever_table_it_is() -> None:
    units: dict[str, set[str]] = {}
    for table in catalog.tables():
        for column in table.columns:
            units.setdefault(column.name, set()).add(column.unit)
    assert {name: found for name, found in units.items() if len(found) > 1} == {}


def test_a_missing_column_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'goodput_bps'"):
        unit_of("godput_bps")


def test_rates_are_shown_in_mbit_and_times_in_ms() -> None:
    assert column_display_factor_and_unit("goodput_bps") == (1e-6, "Mbit/s")
    assert column_display_factor_and_unit("delay_mean_s") == (1e3, "ms")
    assert column_display_factor_and_unit("marks") == (1.0, "packets")


def test_only_ratios_have_the_unit_one(small_result: Result) -> None:
    ratios = {row["quantity"] for row in small_result.summary().iter_rows(named=True) if row["unit"] == "1"}
    assert all(name.startswith("jain_") or name in {"min_max_goodput_ratio", "empty_fraction", "utilisation"} for name in ratios), ratios
