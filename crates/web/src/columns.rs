//! Columns as their places in memory.

use ecnlab_sim::measures::table::{ColumnNameSource, ColumnSlice, NameSource};
use ecnlab_sim::measures::{Column, NetworkNames, Table};
use serde_json::{Value as Json, json};

/// A finished table: the number of its rows, and its columns.
pub fn table_json(table: &Table) -> Json {
    let columns: Vec<Json> = table.columns.iter().map(|(name, column)| column_json(name, column)).collect();
    json!({ "rows": table.height(), "columns": columns })
}

/// Rows of a growing table, with the names that its columns of names point into.
pub fn new_rows_json(from: usize, columns: &[(&'static str, ColumnSlice<'_, ColumnNameSource>)], names: &NetworkNames) -> Json {
    let rows = columns.first().map_or(0, |(_, column)| slice_len(column));
    let columns: Vec<Json> = columns.iter().map(|(name, column)| slice_json(name, column, names)).collect();
    json!({ "from": from, "rows": rows, "columns": columns })
}

fn column_json(name: &str, column: &Column) -> Json {
    match column {
        Column::Real(values) => column_pointer_json(name, "real", values),
        Column::Count(values) => column_pointer_json(name, "count", values),
        Column::Index(values) => column_pointer_json(name, "index", values),
        Column::Name { index, names } => with_name_dictionary(column_pointer_json(name, "name", index), names.iter().map(|name| &**name)),
    }
}

fn slice_json(name: &str, column: &ColumnSlice<'_, ColumnNameSource>, names: &NetworkNames) -> Json {
    match *column {
        ColumnSlice::Real(values) => column_pointer_json(name, "real", values),
        ColumnSlice::Count(values) => column_pointer_json(name, "count", values),
        ColumnSlice::Index(values) => column_pointer_json(name, "index", values),
        ColumnSlice::Name(source, index) => {
            with_name_dictionary(column_pointer_json(name, "name", index), source.names_in_context(names).iter().map(|name| &**name))
        }
    }
}

fn slice_len(column: &ColumnSlice<'_, ColumnNameSource>) -> usize {
    match column {
        ColumnSlice::Real(values) => values.len(),
        ColumnSlice::Count(values) => values.len(),
        ColumnSlice::Index(values) | ColumnSlice::Name(_, values) => values.len(),
    }
}

fn column_pointer_json<T>(name: &str, kind: &str, values: &[T]) -> Json {
    json!({ "name": name, "kind": kind, "ptr": values.as_ptr() as usize, "len": values.len() })
}

fn with_name_dictionary<'a>(mut column: Json, names: impl Iterator<Item = &'a str>) -> Json {
    column["names"] = names.collect();
    column
}
