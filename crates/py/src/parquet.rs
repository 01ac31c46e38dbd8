//! Tables as Parquet, so that storing and reading a result needs no Python library.
//!
//! A file has a row group for each scenario. The writer returns offset and length of each, so that one can be read, and its digest compared,
//! without the rest of the file. No value is null: a missing value is NaN. Names are dictionary-encoded text, counts and indices unsigned
//! integers.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use ecnlab_sim::measures::{Column, Table};
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{
    DEFAULT_DATA_PAGE_ROW_COUNT_LIMIT, EnabledStatistics, ReaderProperties, WriterProperties, WriterPropertiesPtr,
};
use parquet::file::reader::{ChunkReader, Length, RowGroupReader};
use parquet::file::serialized_reader::SerializedRowGroupReader;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type, TypePtr};

/// Columns in front of those of a run in a file of several runs: the scenario's key, and the seed.
pub const RUN_COLUMNS: [&str; 2] = ["key", "seed"];

/// Minimum number of rows for compression.
const MIN_COMPRESSED_ROWS: usize = 4096;

/// Rows of names that are written at a time, which bounds the memory of their texts.
const NAME_BATCH_ROWS: usize = 1 << 12;

/// Maximum number of rows allocated before the first row is read.
const MAX_PREALLOCATED_ROWS: usize = 1 << 16;

/// Bytes after a footer: its length and the magic number.
const FOOTER_TRAILER_BYTES: usize = 8;

/// Offset and length of a row group in its file.
pub type RowGroupExtent = (u64, u64);

/// A column of a row group: its name, and its values in one or several pieces, which are all of one kind.
pub struct ColumnPieces<'t> {
    pub name: &'t str,
    pub pieces: Vec<&'t Column>,
}

/// The tables of several runs of one scenario as one, with the columns `key` and `seed` in front.
pub struct RunTables<'t> {
    run_columns: [Column; RUN_COLUMNS.len()],
    /// Of each run. There is at least one.
    pub tables: Vec<&'t Table>,
}

impl<'t> RunTables<'t> {
    /// # Errors
    /// Without tables, and if their columns differ.
    pub fn new(key: &str, runs: &[(u64, &'t Table)]) -> Result<RunTables<'t>> {
        let tables: Vec<_> = runs.iter().map(|(_, table)| *table).collect();
        let Some(first) = tables.first() else { return Err(ParquetError::General("no table to join".to_owned())) };
        if tables.iter().any(|table| !have_same_columns(first, table)) {
            return Err(ParquetError::General("tables that are joined must have the same columns".to_owned()));
        }
        let seeds: Vec<u64> = runs.iter().flat_map(|(seed, table)| std::iter::repeat_n(*seed, table.height())).collect();
        let keys = Column::Name { index: vec![0; seeds.len()], names: [key.into()].into() };
        Ok(RunTables { run_columns: [keys, Column::Count(seeds)], tables })
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.run_columns[0].len()
    }

    /// The columns, each in a piece for each run where it is of their tables.
    pub fn columns(&self) -> Vec<ColumnPieces<'_>> {
        let of_runs = RUN_COLUMNS.into_iter().zip(&self.run_columns).map(|(name, column)| ColumnPieces { name, pieces: vec![column] });
        let pieces = |at: usize| self.tables.iter().map(|table| &table.columns[at].1).collect();
        let own = self.tables[0].columns.iter().enumerate().map(|(at, (name, _))| ColumnPieces { name, pieces: pieces(at) });
        of_runs.chain(own).collect()
    }
}

/// Writes the tables as one file with a row group for each scenario; returns the file and the row groups' extents. All tables have the same
/// columns; `metadata` is stored in the footer.
///
/// # Errors
/// If the tables' columns differ.
pub fn write_tables(scenarios: &[RunTables<'_>], metadata: Vec<(String, String)>) -> Result<(Vec<u8>, Vec<RowGroupExtent>)> {
    let Some(first) = scenarios.first() else { return Err(ParquetError::General("no table to write".to_owned())) };
    if scenarios.iter().any(|scenario| !have_same_columns(first.tables[0], scenario.tables[0])) {
        return Err(ParquetError::General("tables of one file must have the same columns".to_owned()));
    }
    let height = scenarios.iter().map(RunTables::height).sum();
    let mut file = TableWriter::of(&first.columns(), height, metadata, Vec::new())?;
    let extents = scenarios.iter().map(|scenario| file.write_row_group(&scenario.columns())).collect::<Result<_>>()?;
    Ok((file.finish()?, extents))
}

/// The columns of a table, each in one piece.
pub fn columns_of_table(table: &Table) -> Vec<ColumnPieces<'_>> {
    table.columns.iter().map(|(name, column)| ColumnPieces { name, pieces: vec![column] }).collect()
}

/// Whether two tables have the same columns.
pub fn have_same_columns(one: &Table, other: &Table) -> bool {
    let kinds = one.columns.iter().zip(&other.columns);
    one.columns.len() == other.columns.len()
        && kinds.into_iter().all(|((name, a), (known, b))| name == known && std::mem::discriminant(a) == std::mem::discriminant(b))
}

fn schema(columns: &[ColumnPieces<'_>]) -> Result<TypePtr> {
    let fields = columns.iter().map(|column| parquet_field(column.name, column.pieces[0])).collect::<Result<_>>()?;
    Ok(Arc::new(Type::group_type_builder("table").with_fields(fields).build()?))
}

/// Writer of a file that grows by one row group at a time.
pub struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a file of tables with the columns of `template` and many rows.
    pub fn with_columns_of(template: &Table, out: W) -> Result<TableWriter<W>> {
        TableWriter::of(&columns_of_table(template), MIN_COMPRESSED_ROWS, Vec::new(), out)
    }

    fn of(columns: &[ColumnPieces<'_>], rows: usize, metadata: Vec<(String, String)>, out: W) -> Result<TableWriter<W>> {
        Ok(TableWriter { writer: SerializedFileWriter::new(out, schema(columns)?, writer_properties(columns, rows, metadata))? })
    }

    /// Appends columns as a row group.
    pub fn write_row_group(&mut self, columns: &[ColumnPieces<'_>]) -> Result<RowGroupExtent> {
        let descriptors = self.writer.schema_descr().columns().to_vec();
        let mut rows = self.writer.next_row_group()?;
        for (column, descriptor) in columns.iter().zip(descriptors) {
            if let Some(value) = column.repeated_value() {
                let (bytes, chunk) = encode_repeated_value(value, column.height(), descriptor)?;
                rows.append_column(&bytes, chunk)?;
            } else if let Some(mut writer) = rows.next_column()? {
                column.pieces.iter().try_for_each(|piece| write_column(writer.untyped(), piece))?;
                writer.close()?;
            }
        }
        let written = rows.close()?;
        let chunks = written.columns().iter().map(|column| column.byte_range());
        let (begin, end) = chunks.fold((u64::MAX, 0), |(begin, end), (at, size)| (begin.min(at), end.max(at + size)));
        Ok((begin.min(end), end - begin.min(end)))
    }

    /// Completes the file; returns the underlying writer.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner()
    }
}

fn parquet_field(name: &str, column: &Column) -> Result<TypePtr> {
    let (physical, converted, logical) = match column {
        Column::Real(_) => (Physical::DOUBLE, ConvertedType::NONE, None),
        Column::Count(_) => (Physical::INT64, ConvertedType::UINT_64, Some(LogicalType::integer(64, false))),
        Column::Index(_) => (Physical::INT32, ConvertedType::UINT_32, Some(LogicalType::integer(32, false))),
        Column::Name { .. } => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
    Ok(Arc::new(builder.with_converted_type(converted).with_logical_type(logical).build()?))
}

/// Writer properties. Only names and, in large tables, the seed have a dictionary: a dictionary of other numbers takes more time than it saves,
/// since compression shrinks repeated numbers as well. A page of real numbers has the first bytes of all of them, then the second bytes, and so
/// on, which are compressed in half of the time. Whole numbers are not laid out so: pyarrow 15 and DuckDB 1 do not read it. For few rows
/// compression does not pay.
fn writer_properties(columns: &[ColumnPieces<'_>], rows: usize, metadata: Vec<(String, String)>) -> WriterPropertiesPtr {
    let compression = if rows < MIN_COMPRESSED_ROWS { Compression::UNCOMPRESSED } else { Compression::ZSTD(ZstdLevel::default()) };
    let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let mut builder = WriterProperties::builder()
        .set_compression(compression)
        .set_key_value_metadata(Some(metadata))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    for ColumnPieces { name, pieces } in columns {
        let path = ColumnPath::new(vec![(*name).to_owned()]);
        let is_large = compression != Compression::UNCOMPRESSED;
        match pieces[0] {
            Column::Name { .. } => builder = builder.set_column_dictionary_enabled(path.clone(), true),
            Column::Real(_) if is_large => builder = builder.set_column_encoding(path.clone(), Encoding::BYTE_STREAM_SPLIT),
            Column::Count(_) if is_large && RUN_COLUMNS.contains(name) => {
                builder = builder.set_column_dictionary_enabled(path.clone(), true)
            }
            _ => {}
        }
        // Readers skip the row groups of other runs by these statistics.
        if RUN_COLUMNS.contains(name) {
            builder = builder.set_column_statistics_enabled(path, EnabledStatistics::Chunk);
        }
    }
    Arc::new(builder.build())
}

fn write_column(writer: &mut ColumnWriter, column: &Column) -> Result<()> {
    match (writer, column) {
        (ColumnWriter::DoubleColumnWriter(writer), Column::Real(read_values)) => {
            writer.write_batch(read_values, None, None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Column::Count(read_values)) => {
            let signed: Vec<i64> = read_values.iter().map(|&value| value as i64).collect();
            writer.write_batch(&signed, None, None)?;
        }
        (ColumnWriter::Int32ColumnWriter(writer), Column::Index(read_values)) => {
            let signed: Vec<i32> = read_values.iter().map(|&value| value as i32).collect();
            writer.write_batch(&signed, None, None)?;
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Column::Name { index, names }) => {
            let texts: Vec<ByteArray> = names.iter().map(|name| ByteArray::from(&**name)).collect();
            for part in index.chunks(NAME_BATCH_ROWS) {
                let rows: Vec<ByteArray> = part.iter().map(|&at| texts[at as usize].clone()).collect();
                writer.write_batch(&rows, None, None)?;
            }
        }
        _ => unreachable!("the schema is made from the columns"),
    }
    Ok(())
}

/// A value that all rows of a column have.
struct RepeatedValue {
    /// Its bytes in the encoding PLAIN.
    plain: Vec<u8>,
    statistics: Statistics,
}

impl From<&str> for RepeatedValue {
    fn from(name: &str) -> RepeatedValue {
        let value = Some(ByteArray::from(name));
        let plain = [&(name.len() as u32).to_le_bytes(), name.as_bytes()].concat();
        RepeatedValue { plain, statistics: Statistics::byte_array(value.clone(), value, None, Some(0), false) }
    }
}

impl From<u64> for RepeatedValue {
    fn from(count: u64) -> RepeatedValue {
        let value = Some(count as i64);
        RepeatedValue { plain: count.to_le_bytes().to_vec(), statistics: Statistics::int64(value, value, None, Some(0), false) }
    }
}

impl ColumnPieces<'_> {
    fn height(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// The name or count that all rows have; None for other columns, and without rows.
    fn repeated_value(&self) -> Option<RepeatedValue> {
        match self.pieces[0] {
            Column::Name { .. } => self.repeated_name().map(RepeatedValue::from),
            Column::Count(_) => self.repeated_count().map(RepeatedValue::from),
            Column::Real(_) | Column::Index(_) => None,
        }
    }

    fn repeated_count(&self) -> Option<u64> {
        let mut counts = self.pieces.iter().flat_map(|piece| if let Column::Count(values) = piece { &values[..] } else { &[] });
        let &first = counts.next()?;
        counts.all(|&count| count == first).then_some(first)
    }

    fn repeated_name(&self) -> Option<&str> {
        let mut repeated = None;
        for piece in &self.pieces {
            let Column::Name { index, names } = piece else { return None };
            let Some(&first) = index.first() else { continue };
            let name = &*names[first as usize];
            if *repeated.get_or_insert(name) != name || index.iter().any(|&at| at != first) {
                return None;
            }
        }
        repeated
    }
}

/// Encodes a column whose rows all have one value: a dictionary of it, and pages of one run each. Most columns of names in series are such, and
/// the seed of a single run is. [`ColumnWriter`] looks up each row in the dictionary, which takes as long as all else.
fn encode_repeated_value(value: RepeatedValue, height: usize, descriptor: ColumnDescPtr) -> Result<(Bytes, ColumnCloseResult)> {
    let mut sink = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut sink);
    let length = value.plain.len();
    let dictionary = Page::DictionaryPage { buf: value.plain.into(), num_values: 1, encoding: Encoding::PLAIN, is_sorted: false };
    let data_page_offset = pages.write_page(CompressedPage::new(dictionary, length))?.bytes_written;
    let mut remaining = height;
    while remaining > 0 {
        let rows = remaining.min(DEFAULT_DATA_PAGE_ROW_COUNT_LIMIT);
        let buf = repeated_index_page(rows);
        let length = buf.len();
        let page = Page::DataPage {
            buf,
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        pages.write_page(CompressedPage::new(page, length))?;
        remaining -= rows;
    }
    let bytes = sink.into_inner()?;
    let size = bytes.len() as i64;
    let mut metadata = ColumnChunkMetaData::builder(descriptor.clone())
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
        .set_num_values(height as i64)
        .set_total_compressed_size(size)
        .set_total_uncompressed_size(size)
        .set_dictionary_page_offset(Some(0))
        .set_data_page_offset(data_page_offset as i64);
    if RUN_COLUMNS.contains(&descriptor.name()) {
        metadata = metadata.set_statistics(value.statistics);
    }
    let chunk = ColumnCloseResult {
        bytes_written: size as u64,
        rows_written: height as u64,
        metadata: metadata.build()?,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    Ok((bytes.into(), chunk))
}

/// Data of a page of indices that are all 0: an index takes 0 bits, and the one run has its length as a varint, shifted to the left by one
/// (Parquet's "Data Pages" of RLE_DICTIONARY, and its "RLE / Bit-Packing Hybrid").
fn repeated_index_page(rows: usize) -> Bytes {
    let mut data = vec![0];
    let mut remaining = rows << 1;
    while remaining > 127 {
        data.push(remaining as u8 | 128);
        remaining >>= 7;
    }
    data.push(remaining as u8);
    data.into()
}

/// Parses the footer of a file written by [`write_tables`], from the bytes after its last row group.
///
/// # Errors
/// If it is damaged.
pub fn parse_footer(tail: &[u8]) -> Result<ParquetMetaData> {
    let short = || ParquetError::EOF("a footer is longer than that".to_owned());
    let end = tail.len().checked_sub(FOOTER_TRAILER_BYTES).ok_or_else(short)?;
    let length = tail[end..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let begin = end.checked_sub(length as usize).ok_or_else(short)?;
    let footer = &tail[begin..end];
    ThriftChecker::new(footer).check_struct(FILE_METADATA).map_err(|what| ParquetError::General(format!("the footer has {what}")))?;
    ParquetMetaDataReader::decode_metadata(footer)
}

/// Largest page before compression. [`write_tables`] begins a new page at 1 MB, the default of the crate `parquet`.
const MAX_ACCEPTED_PAGE_BYTES: i64 = 2 << 20;

/// Encodings of pages of [`write_tables`]: PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY and BYTE_STREAM_SPLIT of `parquet.thrift`.
const ACCEPTED_PAGE_ENCODINGS: [i64; 4] = [0, 2, 8, 9];

/// Most values in a page. [`write_tables`] begins a new page at 20 000 rows, the default of the crate `parquet`.
const MAX_ACCEPTED_PAGE_VALUES: i64 = 1 << 16;

/// Bytes of the smallest value in a dictionary: a 32-bit number, or the length of an empty text.
const SMALLEST_DICTIONARY_VALUE_BYTES: i64 = 4;

/// Most columns of a table.
const MAX_COLUMNS: i64 = 4096;

/// Field of a structure in `parquet.thrift`.
struct ThriftField {
    id: i16,
    kind: FieldKind,
}

enum FieldKind {
    Flag,
    /// A value of this type of Thrift's compact protocol.
    Value(u8),
    /// A list of values of one type.
    Values(u8),
    Struct(&'static [ThriftField]),
    /// A list of structures.
    Structs(&'static [ThriftField]),
    /// The columns of a table. The decoder allocates them.
    Columns,
    /// The bytes of a page before compression. The decoder allocates them.
    PageBytes,
    /// The values of a page of data. The decoder allocates them.
    PageValues,
    /// The encoding of a page. The decoders of other encodings allocate what the values' bytes declare.
    PageEncoding,
    /// The values of a dictionary. The decoder allocates them, so they must have room in the page.
    DictionaryValues,
}

/// Types of values in Thrift's compact protocol.
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const TEXT: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

const fn field(id: i16, kind: FieldKind) -> ThriftField {
    ThriftField { id, kind }
}

const fn value_field(id: i16, thrift_type: u8) -> ThriftField {
    field(id, FieldKind::Value(thrift_type))
}

const fn structure(id: i16, fields: &'static [ThriftField]) -> ThriftField {
    field(id, FieldKind::Struct(fields))
}

const fn structures(id: i16, fields: &'static [ThriftField]) -> ThriftField {
    field(id, FieldKind::Structs(fields))
}

/// `FileMetaData` of `parquet.thrift`, as far as [`write_tables`] writes it.
const FILE_METADATA: &[ThriftField] = &[
    value_field(1, I32),
    structures(2, SCHEMA_ELEMENT),
    value_field(3, I64),
    structures(4, ROW_GROUP),
    structures(5, &[value_field(1, TEXT), value_field(2, TEXT)]),
    value_field(6, TEXT),
    structures(7, &[structure(1, &[])]),
];

const SCHEMA_ELEMENT: &[ThriftField] = &[
    value_field(1, I32),
    value_field(3, I32),
    value_field(4, TEXT),
    field(5, FieldKind::Columns),
    value_field(6, I32),
    // Text, and an integer's width and sign.
    structure(10, &[structure(1, &[]), structure(10, &[value_field(1, BYTE), field(2, FieldKind::Flag)])]),
];

const ROW_GROUP: &[ThriftField] =
    &[structures(1, COLUMN_CHUNK), value_field(2, I64), value_field(3, I64), value_field(5, I64), value_field(6, I64), value_field(7, I16)];

const COLUMN_CHUNK: &[ThriftField] = &[value_field(2, I64), structure(3, COLUMN_METADATA)];

const COLUMN_METADATA: &[ThriftField] = &[
    value_field(1, I32),
    field(2, FieldKind::Values(I32)),
    field(3, FieldKind::Values(TEXT)),
    value_field(4, I32),
    value_field(5, I64),
    value_field(6, I64),
    value_field(7, I64),
    value_field(9, I64),
    value_field(11, I64),
    structure(12, STATISTICS),
    structures(13, &[value_field(1, I32), value_field(2, I32), value_field(3, I32)]),
    structure(16, &[value_field(1, I64), field(2, FieldKind::Values(I64)), field(3, FieldKind::Values(I64))]),
];

const STATISTICS: &[ThriftField] = &[
    value_field(1, TEXT),
    value_field(2, TEXT),
    value_field(3, I64),
    value_field(4, I64),
    value_field(5, TEXT),
    value_field(6, TEXT),
    field(7, FieldKind::Flag),
    field(8, FieldKind::Flag),
];

/// `PageHeader` of `parquet.thrift`: a page of data or a dictionary.
const PAGE_HEADER: &[ThriftField] = &[
    value_field(1, I32),
    field(2, FieldKind::PageBytes),
    value_field(3, I32),
    value_field(4, I32),
    structure(
        5,
        &[
            field(1, FieldKind::PageValues),
            field(2, FieldKind::PageEncoding),
            value_field(3, I32),
            value_field(4, I32),
            structure(5, STATISTICS),
        ],
    ),
    structure(7, &[field(1, FieldKind::DictionaryValues), field(2, FieldKind::PageEncoding), field(3, FieldKind::Flag)]),
];

/// Checks a footer or a page header before it is decoded (Thrift's compact protocol): each field is one that [`write_tables`] writes, of its own
/// type, and numbers that the decoder allocates are bounded. The decoder reads a known field by its number, whichever type the file
/// declares, and skips an unknown one element by element, which may take no bytes. A few bytes could then keep it busy for an arbitrary
/// time, or hide a number from this check.
struct ThriftChecker<'f> {
    remaining: &'f [u8],
    /// Of a page's header: the bytes of the page before compression.
    page_bytes: i64,
    /// Of a footer: whether the root of the schema was there. Columns have no columns.
    has_columns: bool,
}

type Checked<T> = std::result::Result<T, &'static str>;

impl ThriftChecker<'_> {
    fn new(bytes: &[u8]) -> ThriftChecker<'_> {
        ThriftChecker { remaining: bytes, page_bytes: 0, has_columns: false }
    }

    fn next_byte(&mut self) -> Checked<u8> {
        let (&first, rest) = self.remaining.split_first().ok_or("no end")?;
        self.remaining = rest;
        Ok(first)
    }

    fn next_varint(&mut self) -> Checked<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.next_byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err("a number that is too long")
    }

    fn zigzag(&mut self) -> Checked<i64> {
        let number = self.next_varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn check_struct(&mut self, fields: &[ThriftField]) -> Checked<()> {
        let mut id = 0i16;
        loop {
            let head = self.next_byte()?;
            if head == 0 {
                return Ok(());
            }
            let number = if head >> 4 == 0 { self.zigzag()? } else { i64::from(id) + i64::from(head >> 4) };
            let known = fields.iter().find(|field| i64::from(field.id) == number).ok_or("a field that tables do not have")?;
            id = known.id;
            self.check_field(&known.kind, head & 15)?;
        }
    }

    fn check_field(&mut self, kind: &FieldKind, thrift_type: u8) -> Checked<()> {
        match (kind, thrift_type) {
            // A boolean field has its value in its header.
            (FieldKind::Flag, 1 | 2) => Ok(()),
            (FieldKind::Value(own), declared) if *own == declared => self.check_value(declared),
            (FieldKind::Values(own), LIST) => {
                let length = self.list_length(*own)?;
                (0..length).try_for_each(|_| self.check_value(*own))
            }
            (FieldKind::Struct(fields), STRUCT) => self.check_struct(fields),
            (FieldKind::Structs(fields), LIST) => {
                let length = self.list_length(STRUCT)?;
                (0..length).try_for_each(|_| self.check_struct(fields))
            }
            (FieldKind::Columns, I32) => match self.zigzag()? {
                columns if !(0..=MAX_COLUMNS).contains(&columns) => Err("more columns than a table has"),
                _ if std::mem::replace(&mut self.has_columns, true) => Err("columns in a column"),
                _ => Ok(()),
            },
            (FieldKind::PageBytes, I32) => {
                self.page_bytes = self.zigzag()?;
                (0..=MAX_ACCEPTED_PAGE_BYTES).contains(&self.page_bytes).then_some(()).ok_or("a page that is too large")
            }
            (FieldKind::PageValues, I32) => {
                (0..=MAX_ACCEPTED_PAGE_VALUES).contains(&self.zigzag()?).then_some(()).ok_or("more values than a page has")
            }
            (FieldKind::PageEncoding, I32) => {
                ACCEPTED_PAGE_ENCODINGS.contains(&self.zigzag()?).then_some(()).ok_or("an encoding that tables do not have")
            }
            (FieldKind::DictionaryValues, I32) => {
                let most = self.page_bytes / SMALLEST_DICTIONARY_VALUE_BYTES;
                (0..=most).contains(&self.zigzag()?).then_some(()).ok_or("a dictionary that does not fit its page")
            }
            _ => Err("a field of another type than its own"),
        }
    }

    fn list_length(&mut self, element_type: u8) -> Checked<u64> {
        let head = self.next_byte()?;
        let length = if head >> 4 == 15 { self.next_varint()? } else { u64::from(head >> 4) };
        if length > 0 && head & 15 != element_type { Err("a list of another type than its own") } else { Ok(length) }
    }

    fn check_value(&mut self, thrift_type: u8) -> Checked<()> {
        match thrift_type {
            BYTE => self.next_byte().map(drop),
            TEXT => {
                let length = usize::try_from(self.next_varint()?).map_err(|_| "no end")?;
                self.remaining = self.remaining.get(length..).ok_or("no end")?;
                Ok(())
            }
            _ => self.next_varint().map(drop),
        }
    }
}

/// Reads one row group of a file, from its bytes only: all columns, or those with the wanted names.
///
/// # Errors
/// If it is damaged, does not belong to this file, or has columns that `write_tables` does not write.
pub fn read_row_group(metadata: &ParquetMetaData, row_group: usize, data: Bytes, wanted: Option<&[String]>) -> Result<Table> {
    let none = || ParquetError::General(format!("no row group {row_group}"));
    let told = metadata.row_groups().get(row_group).ok_or_else(none)?;
    let begin = told.columns().iter().map(|column| column.byte_range().0).min().unwrap_or(0);
    let part = Arc::new(FileSlice { begin, bytes: data });
    let rows = SerializedRowGroupReader::new(part, told, None, Arc::new(ReaderProperties::builder().build()))?;
    let height = usize::try_from(told.num_rows())?;
    let schema = metadata.file_metadata().schema_descr_ptr();
    let names = schema.columns().iter().map(|column| column.name().to_owned()).enumerate();
    let read = names.filter(|(_, name)| wanted.is_none_or(|wanted| wanted.contains(name)));
    let columns = read.map(|(at, name)| Ok((name.into(), read_column(&rows, at, height)?))).collect::<Result<_>>()?;
    Ok(Table { columns })
}

/// A part of a file: its bytes and their offset.
struct FileSlice {
    begin: u64,
    bytes: Bytes,
}

impl Length for FileSlice {
    fn len(&self) -> u64 {
        self.begin + self.bytes.len() as u64
    }
}

impl ChunkReader for FileSlice {
    type T = Reader<Bytes>;

    /// The file from the header of a page on.
    fn get_read(&self, start: u64) -> Result<Reader<Bytes>> {
        let remaining = self.len().saturating_sub(start);
        let bytes = self.get_bytes(start, usize::try_from(remaining)?)?;
        ThriftChecker::new(&bytes)
            .check_struct(PAGE_HEADER)
            .map_err(|what| ParquetError::General(format!("a page's header has {what}")))?;
        Ok(bytes.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let missing = || ParquetError::EOF(format!("{length} bytes from {start} on are not there"));
        let from = usize::try_from(start.checked_sub(self.begin).ok_or_else(missing)?)?;
        let to = from.checked_add(length).filter(|&to| to <= self.bytes.len()).ok_or_else(missing)?;
        Ok(self.bytes.slice(from..to))
    }
}

fn read_column(rows: &dyn RowGroupReader, at: usize, height: usize) -> Result<Column> {
    match rows.get_column_reader(at)? {
        ColumnReader::DoubleColumnReader(reader) => Ok(Column::Real(read_values(reader, height)?)),
        ColumnReader::Int64ColumnReader(reader) => {
            Ok(Column::Count(read_values(reader, height)?.into_iter().map(|value| value as u64).collect()))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            Ok(Column::Index(read_values(reader, height)?.into_iter().map(|value| value as u32).collect()))
        }
        ColumnReader::ByteArrayColumnReader(reader) => name_column_from_texts(&read_values(reader, height)?),
        _ => Err(ParquetError::General(format!("column {at} is of a type that tables do not have"))),
    }
}

fn read_values<T: DataType>(mut reader: ColumnReaderImpl<T>, height: usize) -> Result<Vec<T::T>> {
    // A damaged footer may claim more rows than fit into memory, so the allocation follows the data.
    let mut read_values = Vec::with_capacity(height.min(MAX_PREALLOCATED_ROWS));
    while read_values.len() < height {
        let (_, read, _) = reader.read_records(height - read_values.len(), None, None, &mut read_values)?;
        if read == 0 {
            return Err(ParquetError::EOF(format!("{} of {height} rows are there", read_values.len())));
        }
    }
    Ok(read_values)
}

/// Texts as indices into the distinct ones, in order of first occurrence.
fn name_column_from_texts(texts: &[ByteArray]) -> Result<Column> {
    let mut places: BTreeMap<&[u8], u32> = BTreeMap::new();
    let mut names = Vec::new();
    let mut index = Vec::with_capacity(texts.len());
    // equal texts come from one place in the dictionary, and often one after the other
    let mut last: Option<(&[u8], u32)> = None;
    for text in texts {
        let data = text.data();
        let place = match last {
            Some((known, place)) if std::ptr::eq(known, data) => place,
            _ => {
                let next = names.len() as u32;
                let place = *places.entry(data).or_insert(next);
                if place == next {
                    names.push(text.as_utf8()?.into());
                }
                last = Some((data, place));
                place
            }
        };
        index.push(place);
    }
    Ok(Column::Name { index, names: names.into() })
}
