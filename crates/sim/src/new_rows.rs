//! Reads the rows of a recorder while the run goes on: each call hands out what was recorded since the call before.

use crate::recorder::{NewRows, Recorder, RowCounts};

/// How many rows of each table of a recorder have been handed out. The rows stay in their tables, so reading them costs the run nothing.
#[derive(Default)]
pub struct NewRowsReader(RowCounts);

impl NewRowsReader {
    /// Rows that were recorded since the last call, of each table that grows during the run and is recorded.
    pub fn new_rows<'a>(&mut self, recorder: &'a Recorder) -> Vec<NewRows<'a>> {
        recorder.rows_from(std::mem::replace(&mut self.0, recorder.row_counts()))
    }
}
