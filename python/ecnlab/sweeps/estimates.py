"""Estimates of a quantity at every point, from the summary or from a table that the summary omits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ecnlab.errors import ResultsError, UnknownName
from ecnlab.scenarios import catalog
from ecnlab.stats.estimates import mean_with_interval

if TYPE_CHECKING:
    import polars as pl

    from ecnlab.sweeps.sweep import Sweep

# Tables with measures: those of the summary, in the order of the search for a quantity, then the others.
SUMMARISED_TABLES = ("total", "queues", "groups", "bands")
OTHER_TABLES = ("impairments", "completions", "flows")


def tables_with_quantity(sweep: Sweep, quantity: str) -> list[str]:
    """The tables that have a quantity, `total` first. Raises UnknownName, and ResultsError without any run."""
    if "total" not in sweep.tables:
        raise ResultsError(f"the sweep {sweep.name} has no finished run")
    having = {table: _quantity_columns_of_table(table) for table in (*SUMMARISED_TABLES, *OTHER_TABLES) if table in sweep.tables}
    found = [table for table, quantities in having.items() if quantity in quantities]
    if not found:
        raise UnknownName("quantity", quantity, {name for quantities in having.values() for name in quantities})
    return found


def estimates_at_points(sweep: Sweep, table: str, quantity: str) -> pl.DataFrame:
    """Estimates per point and row of a table: point, the parameters, name, quantity, unit, mean, sd, half_width, n."""
    import polars as pl

    if table in SUMMARISED_TABLES:
        return sweep.summary().filter((pl.col("table") == table) & (pl.col("quantity") == quantity)).drop("table")
    front = ["point", *(one.name for one in sweep.parameters)]
    own = {one.name: f"{table}.{one.name}" for one in sweep.parameters}
    value = own.get(quantity, quantity)
    named = _table_with_row_names(sweep, table)
    grouped = named.group_by([*front, "name"], maintain_order=True).agg(pl.col(value))
    alike = dict(sweep.points.select("point", "alike").iter_rows())
    rows = [_replace_values_with_estimate(row, value, quantity, alike=alike[row["point"]]) for row in grouped.iter_rows(named=True)]
    return pl.DataFrame(rows, schema_overrides=grouped.select(front).schema, infer_schema_length=None)


def row_names_of_table(sweep: Sweep, table: str) -> list[str]:
    """Row names of a table over all points."""
    return _table_with_row_names(sweep, table)["name"].unique(maintain_order=True).to_list()


def _table_with_row_names(sweep: Sweep, table: str) -> pl.DataFrame:
    """A table with a column of row names."""
    import polars as pl

    own = {one.name: f"{table}.{one.name}" for one in sweep.parameters}
    keys = [own.get(key, key) for key in _row_name_column_names(table)]
    return sweep.table(table).with_columns(pl.concat_str(keys, separator=".").alias("name"))


def _replace_values_with_estimate(row: dict[str, Any], value: str, quantity: str, *, alike: bool) -> dict[str, Any]:
    values = row.pop(value)
    found = mean_with_interval(values)
    found = found.without_interval() if alike else found
    unit = next(column.unit for table in catalog.tables() for column in table.columns if column.name == quantity)
    return {**row, "quantity": quantity, "unit": unit, **vars(found)}


def _row_name_column_names(table: str) -> list[str]:
    """Key columns of a table."""
    return [column.name for column in catalog.table(table).columns if column.kind in ("name", "index") or column.name.startswith("size_")]


def _quantity_columns_of_table(table: str) -> set[str]:
    return {column.name for column in catalog.table(table).columns} - set(_row_name_column_names(table))
