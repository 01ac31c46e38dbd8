//! Result tables for Python: lists, or the bytes of whole columns for numpy and other processes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use ::parquet::errors::Result;
use ::parquet::file::metadata::ParquetMetaData;
use bytes::Bytes;
use ecnlab_sim::measures::{self, Column};
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyType};

use crate::panic;
use crate::parquet::{self, ColumnPieces, RunTables};

/// Table of one run; or of several, which then starts with the columns `key` and `seed`.
#[pyclass(frozen, module = "ecnlab._core")]
pub struct Table(pub measures::Table);

/// A column as its name, kind, values in little-endian bytes, and distinct names for a column of indices into them.
type PlainColumn<'py> = (String, &'static str, Bound<'py, PyBytes>, Vec<String>);

#[pymethods]
impl Table {
    /// Restores a table from `plain`.
    #[new]
    fn from_plain(columns: Vec<(String, String, PyBackedBytes, Vec<String>)>) -> PyResult<Table> {
        let read = |(name, kind, bytes, names): (String, String, PyBackedBytes, Vec<String>)| {
            Ok((name.into(), column_from_bytes(&kind, &bytes, names)?))
        };
        let columns: Vec<(Cow<'static, str>, Column)> = columns.into_iter().map(read).collect::<PyResult<_>>()?;
        let height = columns.first().map_or(0, |(_, column)| column.len());
        if columns.iter().any(|(_, column)| column.len() != height) {
            return Err(PyValueError::new_err("columns of one table must be equally long"));
        }
        Ok(Table(measures::Table { columns }))
    }

    /// Names of the columns, in order.
    #[getter(columns)]
    fn names(&self) -> Vec<&str> {
        self.0.columns.iter().map(|(name, _)| &**name).collect()
    }

    /// Number of rows.
    #[getter]
    fn height(&self) -> usize {
        self.0.height()
    }

    /// Bytes of all values.
    #[getter]
    fn size(&self) -> usize {
        self.0.columns.iter().map(|(_, column)| column.len() * bytes_per_value(column)).sum()
    }

    /// Values of a column as Python objects. Raises KeyError if there is no such column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        match self.0.find(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))? {
            Column::Real(values) => PyList::new(py, values),
            Column::Count(values) => PyList::new(py, values),
            Column::Index(values) => PyList::new(py, values),
            Column::Name { index, names } => {
                let texts: Vec<_> = names.iter().map(|name| PyString::new(py, name)).collect();
                PyList::new(py, index.iter().map(|&at| &texts[at as usize]))
            }
        }
    }

    /// Each column as its name, kind, values in bytes, and distinct names for a column of indices into them.
    #[getter]
    fn plain<'py>(&self, py: Python<'py>) -> Vec<PlainColumn<'py>> {
        let told = |(name, column): &(Cow<'static, str>, Column)| {
            let (kind, bytes, names) = column.to_kind_bytes_and_names();
            (name.to_string(), kind, PyBytes::new(py, &bytes), names)
        };
        self.0.columns.iter().map(told).collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Vec<PlainColumn<'py>>,)) {
        (py.get_type::<Table>(), (self.plain(py),))
    }

    /// Tables of some of the runs in a table of several, without the columns `key` and `seed`; its seeds ascend.
    fn split_by_seed(&self, seeds: Vec<u64>) -> PyResult<Vec<(u64, Table)>> {
        let Some(Column::Count(known)) = self.0.find(parquet::RUN_COLUMNS[1]) else {
            return Err(PyValueError::new_err("this table is of a single run"));
        };
        let own = || self.0.columns.iter().filter(|(name, _)| !parquet::RUN_COLUMNS.contains(&&**name));
        let rows = |seed: u64| known.partition_point(|&one| one < seed)..known.partition_point(|&one| one <= seed);
        let part = |rows: Range<usize>| own().map(|(name, column)| (name.clone(), slice_column(column, rows.clone()))).collect();
        Ok(seeds.into_iter().map(|seed| (seed, Table(measures::Table { columns: part(rows(seed)) }))).collect())
    }
}

/// Footer of a stored file: with it a row group can be read without the rest of the file.
#[pyclass(frozen)]
pub struct Footer(ParquetMetaData);

#[pymethods]
impl Footer {
    /// Parses the bytes after the file's last row group. Raises OSError if they are damaged.
    #[new]
    fn new(tail: &[u8]) -> PyResult<Footer> {
        catch_parquet_errors(|| parquet::parse_footer(tail)).map(Footer)
    }

    /// One of the file's row groups, from its bytes, with all columns or those of some names. Raises OSError if they are damaged.
    #[pyo3(signature = (row_group, data, columns=None))]
    fn table(&self, py: Python<'_>, row_group: usize, data: PyBackedBytes, columns: Option<Vec<String>>) -> PyResult<Table> {
        py.detach(|| catch_parquet_errors(|| parquet::read_row_group(&self.0, row_group, Bytes::from_owner(data), columns.as_deref())))
            .map(Table)
    }
}

fn catch_parquet_errors<T>(read: impl FnOnce() -> Result<T>) -> PyResult<T> {
    let outcome = panic::catch_panic(|| read().map_err(|error| error.to_string()));
    outcome.and_then(|value| value).map_err(PyOSError::new_err)
}

/// Tables by their names.
pub fn tables_to_dict(py: Python<'_>, tables: impl IntoIterator<Item = (&'static str, measures::Table)>) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    for (name, table) in tables {
        dict.set_item(name, Py::new(py, Table(table))?)?;
    }
    Ok(dict.unbind())
}

/// The tables of several runs in one, with the columns `key` and `seed` in front.
pub fn concatenate_run_tables(runs: &RunTables<'_>) -> measures::Table {
    let whole = |column: ColumnPieces<'_>| (column.name.to_owned().into(), concatenate_columns(column.pieces.into_iter()));
    measures::Table { columns: runs.columns().into_iter().map(whole).collect() }
}

/// Concatenates columns of one kind.
fn concatenate_columns<'a>(columns: impl Iterator<Item = &'a Column> + Clone) -> Column {
    macro_rules! values {
        ($kind:ident) => {
            columns
                .filter_map(|column| if let Column::$kind(values) = column { Some(&values[..]) } else { None })
                .collect::<Vec<_>>()
                .concat()
        };
    }
    match columns.clone().next() {
        None | Some(Column::Real(_)) => Column::Real(values!(Real)),
        Some(Column::Count(_)) => Column::Count(values!(Count)),
        Some(Column::Index(_)) => Column::Index(values!(Index)),
        Some(Column::Name { .. }) => concatenate_names(columns),
    }
}

fn concatenate_names<'a>(columns: impl Iterator<Item = &'a Column>) -> Column {
    let mut places: BTreeMap<Arc<str>, u32> = BTreeMap::new();
    let (mut all, mut index) = (Vec::new(), Vec::new());
    for column in columns {
        let Column::Name { index: own, names } = column else { continue };
        let place = |name: &Arc<str>| {
            *places.entry(name.clone()).or_insert_with(|| {
                all.push(name.clone());
                all.len() as u32 - 1
            })
        };
        let moved: Vec<u32> = names.iter().map(place).collect();
        index.extend(own.iter().map(|&at| moved[at as usize]));
    }
    Column::Name { index, names: all.into() }
}

fn slice_column(column: &Column, rows: Range<usize>) -> Column {
    match column {
        Column::Real(values) => Column::Real(values[rows].to_vec()),
        Column::Count(values) => Column::Count(values[rows].to_vec()),
        Column::Index(values) => Column::Index(values[rows].to_vec()),
        Column::Name { index, names } => Column::Name { index: index[rows].to_vec(), names: names.clone() },
    }
}

fn bytes_per_value(column: &Column) -> usize {
    match column {
        Column::Real(_) | Column::Count(_) => 8,
        Column::Index(_) | Column::Name { .. } => 4,
    }
}

fn column_from_bytes(kind: &str, bytes: &[u8], names: Vec<String>) -> PyResult<Column> {
    match kind {
        "real" => Ok(Column::Real(numbers_from_bytes(bytes, f64::from_le_bytes))),
        "count" => Ok(Column::Count(numbers_from_bytes(bytes, u64::from_le_bytes))),
        "index" => Ok(Column::Index(numbers_from_bytes(bytes, u32::from_le_bytes))),
        "name" => {
            let index = numbers_from_bytes(bytes, u32::from_le_bytes);
            match index.iter().find(|&&at| at as usize >= names.len()) {
                Some(at) => Err(PyValueError::new_err(format!("no name {at}"))),
                None => Ok(Column::Name { index, names: names.into_iter().map(Arc::from).collect() }),
            }
        }
        _ => Err(PyValueError::new_err(format!("{kind:?} is not a kind of column"))),
    }
}

fn numbers_from_bytes<const WIDTH: usize, T>(bytes: &[u8], read: impl Fn([u8; WIDTH]) -> T) -> Vec<T> {
    bytes.chunks_exact(WIDTH).filter_map(|part| part.try_into().ok()).map(read).collect()
}
