//! Tables as Parquet, so that storing and reading back a result needs no Python library.
//!
//! A file holds one table of several seeds, with the column `seed` in front, in one row group. No value is ever absent: what a run does
//! not have is NaN. Names are dictionary-encoded text, counts and indices unsigned integers.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use ecnlab_sim::measures::{Column, Table};
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

/// Rows from which on a file is compressed.
const FEWEST_COMPRESSED: usize = 4096;

/// Rows of names that are written at a time, which bounds what their texts take.
const NAMES_AT_ONCE: usize = 1 << 16;

/// The tables one after the other as one file. All have the same columns; `metadata` is kept in the file's footer.
///
/// # Errors
/// If the tables' columns differ.
pub fn write(tables: &[(u64, &Table)], metadata: Vec<(String, String)>) -> Result<Vec<u8>> {
    let Some((_, first)) = tables.first() else { return Err(ParquetError::General("no table to write".to_owned())) };
    if tables.iter().any(|(_, table)| !alike(first, table)) {
        return Err(ParquetError::General("tables of one file must have the same columns".to_owned()));
    }
    let height = tables.iter().map(|(_, table)| table.height()).sum();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(first)?, properties(first, height, metadata))?;
    let mut rows = writer.next_row_group()?;
    let mut at = 0;
    while let Some(mut column) = rows.next_column()? {
        for (seed, table) in tables {
            match at {
                0 => write_column(column.untyped(), &Column::Count(vec![*seed; table.height()]))?,
                _ => write_column(column.untyped(), &table.columns[at - 1].1)?,
            }
        }
        column.close()?;
        at += 1;
    }
    rows.close()?;
    writer.into_inner()
}

fn alike(one: &Table, other: &Table) -> bool {
    let kinds = one.columns.iter().zip(&other.columns);
    one.columns.len() == other.columns.len()
        && kinds.into_iter().all(|((name, a), (known, b))| name == known && std::mem::discriminant(a) == std::mem::discriminant(b))
}

fn schema(table: &Table) -> Result<TypePtr> {
    let seed = field("seed", &Column::Count(Vec::new()));
    schema_of(std::iter::once(seed).chain(fields(table)).collect::<Result<_>>()?)
}

fn schema_of(fields: Vec<TypePtr>) -> Result<TypePtr> {
    Ok(Arc::new(Type::group_type_builder("table").with_fields(fields).build()?))
}

fn fields(table: &Table) -> impl Iterator<Item = Result<TypePtr>> {
    table.columns.iter().map(|(name, column)| field(name, column))
}

/// A file of one table that grows by a row group at a time.
pub struct RowGroups<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> RowGroups<W> {
    /// Begins a file of tables with the columns of this one.
    pub fn begin(like: &Table, out: W) -> Result<RowGroups<W>> {
        let schema = schema_of(fields(like).collect::<Result<_>>()?)?;
        let properties = properties(like, FEWEST_COMPRESSED, Vec::new());
        Ok(RowGroups { writer: SerializedFileWriter::new(out, schema, properties)? })
    }

    /// Appends a table as a row group.
    pub fn push(&mut self, table: &Table) -> Result<()> {
        let mut rows = self.writer.next_row_group()?;
        for (_, column) in &table.columns {
            if let Some(mut writer) = rows.next_column()? {
                write_column(writer.untyped(), column)?;
                writer.close()?;
            }
        }
        rows.close().map(drop)
    }

    /// Ends the file; hands over what it was written to.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner()
    }
}

fn field(name: &str, column: &Column) -> Result<TypePtr> {
    let (physical, converted, logical) = match column {
        Column::Real(_) => (Physical::DOUBLE, ConvertedType::NONE, None),
        Column::Count(_) => (Physical::INT64, ConvertedType::UINT_64, Some(LogicalType::integer(64, false))),
        Column::Index(_) => (Physical::INT32, ConvertedType::UINT_32, Some(LogicalType::integer(32, false))),
        Column::Name { .. } => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
    Ok(Arc::new(builder.with_converted_type(converted).with_logical_type(logical).build()?))
}

/// Real numbers seldom repeat, so they go without a dictionary; of few rows compression saves less than it costs.
fn properties(table: &Table, rows: usize, metadata: Vec<(String, String)>) -> WriterPropertiesPtr {
    let compression = if rows < FEWEST_COMPRESSED { Compression::UNCOMPRESSED } else { Compression::ZSTD(ZstdLevel::default()) };
    let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let mut builder = WriterProperties::builder().set_compression(compression).set_key_value_metadata(Some(metadata));
    for (name, column) in &table.columns {
        if matches!(column, Column::Real(_)) {
            builder = builder.set_column_dictionary_enabled(ColumnPath::new(vec![name.to_string()]), false);
        }
    }
    Arc::new(builder.build())
}

fn write_column(writer: &mut ColumnWriter, column: &Column) -> Result<()> {
    match (writer, column) {
        (ColumnWriter::DoubleColumnWriter(writer), Column::Real(values)) => {
            writer.write_batch(values, None, None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Column::Count(values)) => {
            let signed: Vec<i64> = values.iter().map(|&value| value as i64).collect();
            writer.write_batch(&signed, None, None)?;
        }
        (ColumnWriter::Int32ColumnWriter(writer), Column::Index(values)) => {
            let signed: Vec<i32> = values.iter().map(|&value| value as i32).collect();
            writer.write_batch(&signed, None, None)?;
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Column::Name { index, names }) => {
            let texts: Vec<ByteArray> = names.iter().map(|name| ByteArray::from(&**name)).collect();
            for part in index.chunks(NAMES_AT_ONCE) {
                let rows: Vec<ByteArray> = part.iter().map(|&at| texts[at as usize].clone()).collect();
                writer.write_batch(&rows, None, None)?;
            }
        }
        _ => unreachable!("the schema is made from the columns"),
    }
    Ok(())
}

/// Reads a file that [`write`] wrote.
///
/// # Errors
/// If it is damaged, or has columns that `write` does not write.
pub fn read(data: Vec<u8>) -> Result<Table> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(data))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let rows = reader.get_row_group(0)?;
    let height = usize::try_from(rows.metadata().num_rows())?;
    let names = schema.columns().iter().map(|column| column.name().to_owned().into());
    let columns = names.enumerate().map(|(at, name)| Ok((name, read_column(rows.as_ref(), at, height)?))).collect::<Result<_>>()?;
    Ok(Table { columns })
}

fn read_column(rows: &dyn RowGroupReader, at: usize, height: usize) -> Result<Column> {
    match rows.get_column_reader(at)? {
        ColumnReader::DoubleColumnReader(reader) => Ok(Column::Real(values(reader, height)?)),
        ColumnReader::Int64ColumnReader(reader) => {
            Ok(Column::Count(values(reader, height)?.into_iter().map(|value| value as u64).collect()))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            Ok(Column::Index(values(reader, height)?.into_iter().map(|value| value as u32).collect()))
        }
        ColumnReader::ByteArrayColumnReader(reader) => names(&values(reader, height)?),
        _ => Err(ParquetError::General(format!("column {at} is of a type that no table has"))),
    }
}

fn values<T: DataType>(mut reader: ColumnReaderImpl<T>, height: usize) -> Result<Vec<T::T>> {
    let mut values = Vec::with_capacity(height);
    while values.len() < height {
        let (_, read, _) = reader.read_records(height - values.len(), None, None, &mut values)?;
        if read == 0 {
            return Err(ParquetError::EOF(format!("{} of {height} rows are there", values.len())));
        }
    }
    Ok(values)
}

/// Texts as places among the distinct ones, in the order in which they come.
fn names(texts: &[ByteArray]) -> Result<Column> {
    let mut places: BTreeMap<&[u8], u32> = BTreeMap::new();
    let mut names = Vec::new();
    let mut index = Vec::with_capacity(texts.len());
    for text in texts {
        let next = names.len() as u32;
        let place = *places.entry(text.data()).or_insert(next);
        if place == next {
            names.push(text.as_utf8()?.into());
        }
        index.push(place);
    }
    Ok(Column::Name { index, names: names.into() })
}
