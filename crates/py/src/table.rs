//! A table of results: columns of equal length, as a run or a Parquet file gives them. Python sees lists; polars reads the Parquet form.

use std::sync::Arc;

use ecnlab_sim::measures;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// A column's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Real(Vec<f64>),
    Count(Vec<u64>),
    Index(Vec<u32>),
    /// Each row's name, as its place among the names that there are.
    Name {
        index: Vec<u32>,
        names: Arc<[String]>,
    },
}

impl Column {
    pub fn len(&self) -> usize {
        match self {
            Column::Real(values) => values.len(),
            Column::Count(values) => values.len(),
            Column::Index(values) | Column::Name { index: values, .. } => values.len(),
        }
    }
}

/// A table of a run, or of a stored file, whose first column is then `seed`.
#[pyclass(frozen)]
pub struct Table {
    pub columns: Vec<(String, Column)>,
}

impl From<measures::Table> for Table {
    fn from(table: measures::Table) -> Table {
        let column = |column| match column {
            measures::Column::Real(values) => Column::Real(values),
            measures::Column::Count(values) => Column::Count(values),
            measures::Column::Index(values) => Column::Index(values),
            measures::Column::Name { index, names } => Column::Name { index, names: names.iter().map(ToString::to_string).collect() },
        };
        Table { columns: table.columns.into_iter().map(|(name, values)| (name.to_owned(), column(values))).collect() }
    }
}

#[pymethods]
impl Table {
    /// The columns' names, in order.
    #[getter(columns)]
    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// How many rows there are.
    #[getter]
    pub fn height(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// A column's values as Python's own. Raises KeyError if there is no such column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let found = self.columns.iter().find(|(known, _)| known == name);
        let (_, column) = found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        match column {
            Column::Real(values) => PyList::new(py, values),
            Column::Count(values) => PyList::new(py, values),
            Column::Index(values) => PyList::new(py, values),
            Column::Name { index, names } => {
                let texts: Vec<_> = names.iter().map(|name| PyString::new(py, name)).collect();
                PyList::new(py, index.iter().map(|&at| &texts[at as usize]))
            }
        }
    }
}
