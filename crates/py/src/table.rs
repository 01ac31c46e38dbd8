//! A table of results as Python has it: lists. polars reads the Parquet form.

use ecnlab_sim::measures::{self, Column};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// A table of a run, or of a stored file, whose first column is then `seed`.
#[pyclass(frozen)]
pub struct Table(pub measures::Table);

#[pymethods]
impl Table {
    /// The columns' names, in order.
    #[getter(columns)]
    fn names(&self) -> Vec<&str> {
        self.0.columns.iter().map(|(name, _)| &**name).collect()
    }

    /// How many rows there are.
    #[getter]
    fn height(&self) -> usize {
        self.0.height()
    }

    /// A column's values as Python's own. Raises KeyError if there is no such column.
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
}
