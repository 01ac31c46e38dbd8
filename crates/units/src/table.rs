//! Tables of results, filled by their declarations.
//!
//! A column is declared once: its name, its unit, a description, and how it is computed from a row. A table is filled by the declarations
//! of its columns alone, so none can be filled without being declared, nor declared without being filled. The pages of the documentation
//! and the units that Python shows come from the same place ([`TableDescription`]).
//!
//! A column of names refers to a list of names by a type `N` of the declaring crate ([`NameSource`]).

use std::borrow::Cow;
use std::sync::Arc;

/// Names that a column of names points into.
pub type NameList = Arc<[Arc<str>]>;

/// Columns of equal length, by name: a declared one, or that of a table that was stored.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub columns: Vec<(Cow<'static, str>, Column)>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Real(Vec<f64>),
    Count(Vec<u64>),
    Index(Vec<u32>),
    /// Names, each told by its place in `names`.
    Name {
        index: Vec<u32>,
        names: NameList,
    },
}

/// Values of a column from a row on, of a table that still grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnSlice<'a, N> {
    Real(&'a [f64]),
    Count(&'a [u64]),
    Index(&'a [u32]),
    /// Indices into the names of a source.
    Name(N, &'a [u32]),
}

/// Declaration of a table, whose rows are computed from an `R`.
pub struct TableSpec<R: 'static, N: 'static> {
    pub name: &'static str,
    /// Description of a row.
    pub doc: &'static str,
    /// The columns, in runs that several tables may share.
    pub columns: &'static [&'static [ColumnSpec<R, N>]],
}

/// Declaration of a column.
pub struct ColumnSpec<R: 'static, N: 'static> {
    pub name: &'static str,
    /// "bit/s", "s", "packets", ...; "1" for a ratio, nothing for a name.
    pub unit: &'static str,
    pub doc: &'static str,
    value: ColumnReader<R, N>,
}

/// How a column's value is read off a row.
enum ColumnReader<R, N> {
    Real(fn(&R) -> f64),
    Count(fn(&R) -> u64),
    Index(fn(&R) -> u32),
    Name(N, fn(&R) -> u32),
}

/// List to which the names of a column belong.
pub trait NameSource: Copy {
    /// Source of names that are known only later.
    type Context;

    fn names_in_context(self, context: &Self::Context) -> NameList;

    /// Values of the column, if they are known beforehand.
    fn fixed_names(self) -> &'static [&'static str] {
        &[]
    }
}

/// A table's declaration as data.
#[derive(Clone, Debug)]
pub struct TableDescription {
    pub name: &'static str,
    pub doc: &'static str,
    pub columns: Vec<ColumnDescription>,
}

/// A column's declaration as data.
#[derive(Clone, Debug)]
pub struct ColumnDescription {
    pub name: &'static str,
    /// "real", "count", "index" or "name".
    pub kind: &'static str,
    pub unit: &'static str,
    pub doc: &'static str,
    /// Values of the column, if they are known beforehand.
    pub words: &'static [&'static str],
}

/// A real number.
pub const fn real_column<R, N>(name: &'static str, unit: &'static str, doc: &'static str, of: fn(&R) -> f64) -> ColumnSpec<R, N> {
    ColumnSpec { name, unit, doc, value: ColumnReader::Real(of) }
}

/// A count of something.
pub const fn count_column<R, N>(name: &'static str, unit: &'static str, doc: &'static str, of: fn(&R) -> u64) -> ColumnSpec<R, N> {
    ColumnSpec { name, unit, doc, value: ColumnReader::Count(of) }
}

/// A small whole number: which flow, or how many packets wait.
pub const fn index_column<R, N>(name: &'static str, unit: &'static str, doc: &'static str, of: fn(&R) -> u32) -> ColumnSpec<R, N> {
    ColumnSpec { name, unit, doc, value: ColumnReader::Index(of) }
}

/// A name, told by its number.
pub const fn name_column<R, N>(name: &'static str, source: N, doc: &'static str, of: fn(&R) -> u32) -> ColumnSpec<R, N> {
    ColumnSpec { name, unit: "", doc, value: ColumnReader::Name(source, of) }
}

impl Table {
    pub fn find(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(known, _)| known == name).map(|(_, column)| column)
    }

    /// # Panics
    /// If the column does not exist.
    pub fn column(&self, name: &str) -> &Column {
        self.find(name).unwrap_or_else(|| panic!("no column {name}"))
    }

    /// How many rows there are.
    pub fn height(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
}

impl Column {
    pub fn len(&self) -> usize {
        match self {
            Column::Real(values) => values.len(),
            Column::Count(values) => values.len(),
            Column::Index(values) | Column::Name { index: values, .. } => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its kind, its values in little-endian bytes, and the names that they are places among: what another process makes it again from.
    pub fn to_kind_bytes_and_names(&self) -> (&'static str, Vec<u8>, Vec<String>) {
        match self {
            Column::Real(values) => ("real", values.iter().flat_map(|value| value.to_le_bytes()).collect(), Vec::new()),
            Column::Count(values) => ("count", values.iter().flat_map(|value| value.to_le_bytes()).collect(), Vec::new()),
            Column::Index(values) => ("index", values.iter().flat_map(|value| value.to_le_bytes()).collect(), Vec::new()),
            Column::Name { index, names } => {
                ("name", index.iter().flat_map(|at| at.to_le_bytes()).collect(), names.iter().map(ToString::to_string).collect())
            }
        }
    }
}

impl<R, N: NameSource> TableSpec<R, N> {
    /// The table of these rows.
    pub fn build_table_from_rows(&'static self, names: &N::Context, rows: impl IntoIterator<Item = R>) -> Table {
        let rows = rows.into_iter();
        let mut builder = TableBuilder::with_capacity(self, rows.size_hint().0);
        rows.for_each(|row| builder.push(&row));
        builder.finish(names)
    }

    /// Bytes that a row takes.
    pub fn row_bytes(&self) -> u64 {
        let bytes = |column: &ColumnSpec<R, N>| match column.value {
            ColumnReader::Real(_) | ColumnReader::Count(_) => 8,
            ColumnReader::Index(_) | ColumnReader::Name(..) => 4,
        };
        self.columns().map(bytes).sum()
    }

    /// The declaration as data.
    pub fn describe(&self) -> TableDescription {
        TableDescription { name: self.name, doc: self.doc, columns: self.columns().map(ColumnSpec::describe).collect() }
    }

    fn columns(&self) -> impl Iterator<Item = &'static ColumnSpec<R, N>> + use<R, N> {
        self.columns.iter().copied().flatten()
    }
}

impl<R, N: NameSource> ColumnSpec<R, N> {
    fn describe(&self) -> ColumnDescription {
        let (kind, words): (_, &[_]) = match self.value {
            ColumnReader::Real(_) => ("real", &[]),
            ColumnReader::Count(_) => ("count", &[]),
            ColumnReader::Index(_) => ("index", &[]),
            ColumnReader::Name(source, _) => ("name", source.fixed_names()),
        };
        ColumnDescription { name: self.name, kind, unit: self.unit, doc: self.doc, words }
    }
}

/// A table to which rows are added.
pub struct TableBuilder<R: 'static, N: 'static> {
    spec: &'static TableSpec<R, N>,
    columns: Vec<ColumnBuilder<R, N>>,
    row_bytes: u64,
    rows: u64,
}

enum ColumnBuilder<R, N> {
    Real(fn(&R) -> f64, Vec<f64>),
    Count(fn(&R) -> u64, Vec<u64>),
    Index(fn(&R) -> u32, Vec<u32>),
    Name(N, fn(&R) -> u32, Vec<u32>),
}

impl<R, N: NameSource> TableBuilder<R, N> {
    pub fn new(spec: &'static TableSpec<R, N>) -> TableBuilder<R, N> {
        TableBuilder::with_capacity(spec, 0)
    }

    /// With memory for so many rows.
    pub fn with_capacity(spec: &'static TableSpec<R, N>, rows: usize) -> TableBuilder<R, N> {
        let column = |column: &ColumnSpec<R, N>| match column.value {
            ColumnReader::Real(of) => ColumnBuilder::Real(of, Vec::with_capacity(rows)),
            ColumnReader::Count(of) => ColumnBuilder::Count(of, Vec::with_capacity(rows)),
            ColumnReader::Index(of) => ColumnBuilder::Index(of, Vec::with_capacity(rows)),
            ColumnReader::Name(source, of) => ColumnBuilder::Name(source, of, Vec::with_capacity(rows)),
        };
        TableBuilder { spec, columns: spec.columns().map(column).collect(), row_bytes: spec.row_bytes(), rows: 0 }
    }

    pub fn push(&mut self, row: &R) {
        self.rows += 1;
        for column in &mut self.columns {
            match column {
                ColumnBuilder::Real(of, values) => values.push(of(row)),
                ColumnBuilder::Count(of, values) => values.push(of(row)),
                ColumnBuilder::Index(of, values) | ColumnBuilder::Name(_, of, values) => values.push(of(row)),
            }
        }
    }

    /// Bytes that a row takes.
    pub fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of the rows so far.
    pub fn bytes(&self) -> u64 {
        self.rows * self.row_bytes
    }

    /// Names and values of all columns from this row on; no value is copied.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub fn columns_from(&self, row: usize) -> impl Iterator<Item = (&'static str, ColumnSlice<'_, N>)> {
        self.spec.columns().map(|spec| spec.name).zip(self.columns.iter().map(move |column| column.slice_from(row)))
    }

    /// The table that has been filled.
    pub fn finish(self, names: &N::Context) -> Table {
        let column = |column: ColumnBuilder<R, N>| match column {
            ColumnBuilder::Real(_, values) => Column::Real(values),
            ColumnBuilder::Count(_, values) => Column::Count(values),
            ColumnBuilder::Index(_, values) => Column::Index(values),
            ColumnBuilder::Name(source, _, index) => Column::Name { index, names: source.names_in_context(names) },
        };
        Table { columns: self.spec.columns().map(|spec| spec.name.into()).zip(self.columns.into_iter().map(column)).collect() }
    }
}

impl<R, N: Copy> ColumnBuilder<R, N> {
    fn slice_from(&self, row: usize) -> ColumnSlice<'_, N> {
        match self {
            ColumnBuilder::Real(_, values) => ColumnSlice::Real(&values[row..]),
            ColumnBuilder::Count(_, values) => ColumnSlice::Count(&values[row..]),
            ColumnBuilder::Index(_, values) => ColumnSlice::Index(&values[row..]),
            ColumnBuilder::Name(source, _, index) => ColumnSlice::Name(*source, &index[row..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Parity;

    impl NameSource for Parity {
        type Context = ();

        fn names_in_context(self, (): &()) -> NameList {
            self.fixed_names().iter().map(|&word| word.into()).collect()
        }

        fn fixed_names(self) -> &'static [&'static str] {
            &["even", "odd"]
        }
    }

    static SQUARES: TableSpec<u32, Parity> = TableSpec {
        name: "squares",
        doc: "a row for each number",
        columns: &[
            &[index_column("number", "1", "The number.", |&n| n), name_column("parity", Parity, "Of which kind.", |n| n % 2)],
            &[count_column("square", "1", "Its square.", |&n| u64::from(n * n))],
        ],
    };

    #[test]
    fn a_table_is_filled_by_its_declaration() {
        let table = SQUARES.build_table_from_rows(&(), 1..=3);
        let names: Vec<_> = table.columns.iter().map(|(name, _)| &**name).collect();
        assert_eq!(vec!["number", "parity", "square"], names);
        assert_eq!(Column::Count(vec![1, 4, 9]), *table.column("square"));
        assert_eq!(Column::Name { index: vec![1, 0, 1], names: ["even".into(), "odd".into()].into() }, *table.column("parity"));
        assert_eq!((3, 16), (table.height(), SQUARES.row_bytes()));
    }

    #[test]
    fn a_growing_table_shows_its_columns_from_a_row_on() {
        let mut builder = TableBuilder::new(&SQUARES);
        (1..=3).for_each(|number| builder.push(&number));
        let columns: Vec<_> = builder.columns_from(1).collect();
        assert_eq!(("number", ColumnSlice::Index(&[2, 3][..])), columns[0]);
        assert_eq!(("parity", ColumnSlice::Name(Parity, &[0, 1][..])), columns[1]);
        assert_eq!(("square", ColumnSlice::Count(&[4, 9][..])), columns[2]);
        assert!(
            builder
                .columns_from(3)
                .all(|(_, column)| matches!(column, ColumnSlice::Index([]) | ColumnSlice::Count([]) | ColumnSlice::Name(_, [])))
        );
    }

    #[test]
    fn a_declaration_is_data_too() {
        let text = SQUARES.describe();
        assert_eq!(("squares", 3), (text.name, text.columns.len()));
        assert_eq!(("parity", "name", &["even", "odd"][..]), (text.columns[1].name, text.columns[1].kind, text.columns[1].words));
    }
}
