//! The tables of stored batches. Their reader is compiled in from the Python module's crate, which no other crate can link.

#[path = "../../../crates/py/src/panic.rs"]
pub mod panic;
#[allow(dead_code, reason = "tables are read here and not written")]
#[path = "../../../crates/py/src/parquet.rs"]
mod parquet_file;

use ecnlab_sim::measures::Table;
use parquet::file::metadata::ParquetMetaData;

/// Row groups of a file that are read.
const ROW_GROUPS: usize = 4;

/// A file as a store reads it: its footer, then row groups by the bytes that the footer names. A panic of the crate `parquet` is a refusal,
/// as it is in the Python module. Returns how many tables were read.
pub fn parquet(data: &[u8]) -> usize {
    let Some(footer) = read_or_none(|| parquet_file::parse_footer(data)) else { return 0 };
    let mut tables = 0;
    for row_group in 0..footer.num_row_groups().min(ROW_GROUPS) {
        let bytes = read_or_none(|| Ok(bytes_of(&footer, row_group, data))).unwrap_or_default();
        if let Some(table) = read_or_none(|| parquet_file::read_row_group(&footer, row_group, bytes.into(), None)) {
            check(&table);
            tables += 1;
        }
    }
    tables
}

fn read_or_none<T>(read: impl FnOnce() -> parquet::errors::Result<T>) -> Option<T> {
    panic::catch_panic(read).ok()?.ok()
}

/// The bytes from a row group's first to its last that the file has.
fn bytes_of(footer: &ParquetMetaData, row_group: usize, data: &[u8]) -> Vec<u8> {
    let extents = footer.row_group(row_group).columns().iter().map(|column| column.byte_range());
    let (begin, end) = extents.fold((u64::MAX, 0), |(begin, end), (at, size)| (begin.min(at), end.max(at.saturating_add(size))));
    let clipped = |at: u64| (at as usize).min(data.len());
    data.get(clipped(begin)..clipped(end)).unwrap_or_default().to_vec()
}

fn check(table: &Table) {
    let height = table.height();
    assert!(table.columns.iter().all(|(_, column)| column.len() == height), "columns of one table differ in length");
}
