//! Column chunks of Parquet files: pages, dictionary and statistics of one column in one row group.
//!
//! The writer of the crate `parquet` hashes each value of a dictionary and compares each value for the statistics through a function call.
//! Here names are indices already, and small integers are their own index, so both cost a few instructions a value. Real numbers that
//! compression hardly shrinks, such as averages, are stored as they are.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use ecnlab_sim::measures::Column;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

/// Rows of a page.
const PAGE_ROWS: usize = 20_000;

/// Bytes of texts after which a page without a dictionary ends.
const PAGE_TEXT_BYTES: usize = 1 << 20;

/// Largest dictionary in bytes; a column with a larger one has none.
const MAX_DICTIONARY_BYTES: usize = 1 << 20;

/// Integers from this bound on have no dictionary, unless all are equal.
const MAX_DICTIONARY_INTEGER: u64 = 1 << 16;

/// Bytes from the middle of a column by which its compression is decided.
const SAMPLE_BYTES: usize = 1 << 15;

/// Longest text in statistics.
const MAX_STATISTICS_BYTES: usize = 64;

/// Values in a group of bit-packed values, and the shortest run that is written as a run.
const GROUP_VALUES: usize = 8;

/// Most values of bit-packed groups with one header, whose length then has one byte.
const MAX_PACKED_VALUES: usize = 63 * GROUP_VALUES;

/// Encodes chunks, compressed or not.
pub struct ChunkEncoder {
    compressor: Option<Compressor<'static>>,
}

/// A column as pages before compression.
struct EncodedColumn {
    dictionary: Option<PageBytes>,
    pages: Vec<PageBytes>,
    statistics: Option<Statistics>,
}

struct PageBytes {
    bytes: Vec<u8>,
    values: usize,
}

/// Pages of a chunk as they are written.
struct PageSink<'s> {
    writer: SerializedPageWriter<'s, Vec<u8>>,
    compressor: Option<&'s mut Compressor<'static>>,
    uncompressed_bytes: usize,
    compressed_bytes: usize,
}

impl ChunkEncoder {
    /// # Errors
    /// If the memory of the compression is missing.
    pub fn new(compressed: bool) -> Result<ChunkEncoder> {
        let compressor = compressed.then(|| Compressor::new(ZstdLevel::default().compression_level())).transpose();
        Ok(ChunkEncoder { compressor: compressor.map_err(compression_error)? })
    }

    /// The chunk's bytes, and its entry in the footer.
    ///
    /// # Errors
    /// If compression fails.
    pub fn encode(&mut self, column: &Column, descriptor: ColumnDescPtr) -> Result<(Bytes, ColumnCloseResult)> {
        let EncodedColumn { dictionary, pages, statistics } = EncodedColumn::of(column);
        let pays = self.compressor.as_mut().map_or(Ok(false), |compressor| compression_pays(compressor, &pages))?;
        let compressor = self.compressor.as_mut().filter(|_| pays);
        let codec = if compressor.is_some() { Compression::ZSTD(ZstdLevel::default()) } else { Compression::UNCOMPRESSED };
        let (value_encoding, encodings) = match dictionary {
            Some(_) => (Encoding::RLE_DICTIONARY, vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY]),
            None => (Encoding::PLAIN, vec![Encoding::PLAIN, Encoding::RLE]),
        };
        let mut out = TrackedWrite::new(Vec::new());
        let writer = SerializedPageWriter::new(&mut out);
        let mut sink = PageSink { writer, compressor, uncompressed_bytes: 0, compressed_bytes: 0 };
        let dictionary_offset = dictionary.map(|page| sink.write_dictionary(page)).transpose()?;
        let mut data_offset = None;
        for page in pages {
            let offset = sink.write_data(page, value_encoding)?;
            data_offset.get_or_insert(offset);
        }
        let mut metadata = ColumnChunkMetaData::builder(descriptor)
            .set_encodings(encodings)
            .set_compression(codec)
            .set_num_values(column.len() as i64)
            .set_total_uncompressed_size(sink.uncompressed_bytes as i64)
            .set_total_compressed_size(sink.compressed_bytes as i64)
            .set_data_page_offset(data_offset.unwrap_or(0))
            .set_dictionary_page_offset(dictionary_offset);
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let bytes: Bytes = out.into_inner()?.into();
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: column.len() as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes, close))
    }
}

impl PageSink<'_> {
    /// The page's offset in the chunk.
    fn write_dictionary(&mut self, PageBytes { bytes, values }: PageBytes) -> Result<i64> {
        self.write(bytes, |buf| Page::DictionaryPage { buf, num_values: values as u32, encoding: Encoding::PLAIN, is_sorted: false })
    }

    fn write_data(&mut self, PageBytes { bytes, values }: PageBytes, encoding: Encoding) -> Result<i64> {
        self.write(bytes, |buf| Page::DataPage {
            buf,
            num_values: values as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })
    }

    fn write(&mut self, bytes: Vec<u8>, page: impl FnOnce(Bytes) -> Page) -> Result<i64> {
        let size = bytes.len();
        let stored = match &mut self.compressor {
            Some(compressor) => compressor.compress(&bytes).map_err(compression_error)?,
            None => bytes,
        };
        let written = self.writer.write_page(CompressedPage::new(page(stored.into()), size))?;
        self.uncompressed_bytes += written.uncompressed_size;
        self.compressed_bytes += written.compressed_size;
        Ok(written.offset as i64)
    }
}

impl EncodedColumn {
    fn of(column: &Column) -> EncodedColumn {
        match column {
            Column::Real(values) => EncodedColumn {
                dictionary: None,
                pages: plain_pages(values, |value| value.to_le_bytes()),
                statistics: real_statistics(values),
            },
            Column::Count(values) => {
                let range = values.iter().min().zip(values.iter().max());
                let statistics = range.map(|(&min, &max)| Statistics::Int64(exact::<Int64Type>(min as i64, max as i64)));
                EncodedColumn { statistics, ..EncodedColumn::integers(values, |value| value.to_le_bytes()) }
            }
            Column::Index(values) => {
                let range = values.iter().min().zip(values.iter().max());
                let statistics = range.map(|(&min, &max)| Statistics::Int32(exact::<Int32Type>(min as i32, max as i32)));
                EncodedColumn { statistics, ..EncodedColumn::integers(values, |value| value.to_le_bytes()) }
            }
            Column::Name { index, names } => EncodedColumn::names(index, names),
        }
    }

    /// Integers, with a dictionary if they repeat and are small, or all equal.
    fn integers<T: Copy + Eq + Into<u64>, const N: usize>(values: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> EncodedColumn {
        let is_constant = values.split_first().is_some_and(|(first, rest)| rest.iter().all(|value| value == first));
        let (index, dictionary) = if is_constant {
            (vec![0; values.len()], vec![values[0]])
        } else {
            let small: Option<Vec<u32>> = values.iter().map(|&value| small_integer(value.into())).collect();
            let Some((index, rows)) = small.map(|small| renumber(&small)) else {
                return EncodedColumn { dictionary: None, pages: plain_pages(values, to_bytes), statistics: None };
            };
            (index, rows.into_iter().map(|row| values[row]).collect())
        };
        if dictionary.len() > 1 && dictionary.len() * 2 > values.len() {
            return EncodedColumn { dictionary: None, pages: plain_pages(values, to_bytes), statistics: None };
        }
        let bytes = dictionary.iter().flat_map(|&value| to_bytes(value)).collect();
        EncodedColumn::indexed(&index, PageBytes { bytes, values: dictionary.len() })
    }

    fn names(places: &[u32], names: &[Arc<str>]) -> EncodedColumn {
        let (index, rows) = renumber(places);
        let used: Vec<&str> = rows.into_iter().map(|row| &*names[places[row] as usize]).collect();
        let range = used.iter().min().zip(used.iter().max()).filter(|(min, max)| min.len().max(max.len()) <= MAX_STATISTICS_BYTES);
        let statistics =
            range.map(|(&min, &max)| Statistics::ByteArray(exact::<ByteArrayType>(ByteArray::from(min), ByteArray::from(max))));
        let mut dictionary = Vec::new();
        used.iter().for_each(|text| push_text(&mut dictionary, text));
        if dictionary.len() > MAX_DICTIONARY_BYTES {
            let texts = places.iter().map(|&place| &*names[place as usize]);
            return EncodedColumn { dictionary: None, pages: text_pages(texts), statistics };
        }
        EncodedColumn { statistics, ..EncodedColumn::indexed(&index, PageBytes { bytes: dictionary, values: used.len() }) }
    }

    fn indexed(index: &[u32], dictionary: PageBytes) -> EncodedColumn {
        let width = (dictionary.values.saturating_sub(1) as u32 | 1).ilog2() + 1;
        let page = |rows: &[u32]| PageBytes { bytes: encode_indices(rows, width), values: rows.len() };
        EncodedColumn { dictionary: Some(dictionary), pages: index.chunks(PAGE_ROWS).map(page).collect(), statistics: None }
    }
}

fn small_integer(value: u64) -> Option<u32> {
    (value < MAX_DICTIONARY_INTEGER).then_some(value as u32)
}

/// Numbers in order of first occurrence, and the row of each first occurrence.
fn renumber(places: &[u32]) -> (Vec<u32>, Vec<usize>) {
    const NONE: u32 = u32::MAX;
    let mut numbers = vec![NONE; places.iter().max().map_or(0, |&max| max as usize + 1)];
    let mut rows = Vec::new();
    let mut number_of = |(row, &place): (usize, &u32)| {
        let number = &mut numbers[place as usize];
        if *number == NONE {
            *number = rows.len() as u32;
            rows.push(row);
        }
        *number
    };
    let index = places.iter().enumerate().map(&mut number_of).collect();
    (index, rows)
}

fn plain_pages<T: Copy, const N: usize>(values: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> Vec<PageBytes> {
    let page = |rows: &[T]| {
        let mut bytes = vec![0; rows.len() * N];
        bytes.chunks_exact_mut(N).zip(rows).for_each(|(into, &value)| into.copy_from_slice(&to_bytes(value)));
        PageBytes { bytes, values: rows.len() }
    };
    values.chunks(PAGE_ROWS).map(page).collect()
}

fn text_pages<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<PageBytes> {
    let mut pages: Vec<PageBytes> = Vec::new();
    for text in texts {
        if pages.last().is_none_or(|page| page.values == PAGE_ROWS || page.bytes.len() + text.len() > PAGE_TEXT_BYTES) {
            pages.push(PageBytes { bytes: Vec::new(), values: 0 });
        }
        if let Some(page) = pages.last_mut() {
            push_text(&mut page.bytes, text);
            page.values += 1;
        }
    }
    pages
}

/// A text in the encoding PLAIN.
fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Indices into a dictionary: their width in bits, then runs and groups of bit-packed values (the encoding RLE of Parquet's specification).
fn encode_indices(index: &[u32], width: u32) -> Vec<u8> {
    let mut bytes = vec![width as u8];
    let (mut packed_from, mut at) = (0, 0);
    while at < index.len() {
        let run = index[at..].iter().take_while(|&&value| value == index[at]).count();
        if run >= GROUP_VALUES {
            pack_groups(&mut bytes, &index[packed_from..at], width);
            push_varint(&mut bytes, (run as u64) << 1);
            bytes.extend_from_slice(&index[at].to_le_bytes()[..width.div_ceil(8) as usize]);
            at += run;
            packed_from = at;
        } else {
            at = (at + GROUP_VALUES).min(index.len());
        }
    }
    pack_groups(&mut bytes, &index[packed_from..], width);
    bytes
}

/// Bit-packed groups, the last one filled with zeros.
fn pack_groups(bytes: &mut Vec<u8>, values: &[u32], width: u32) {
    for part in values.chunks(MAX_PACKED_VALUES) {
        let groups = part.len().div_ceil(GROUP_VALUES);
        push_varint(bytes, (groups as u64) << 1 | 1);
        let end = bytes.len() + groups * width as usize;
        let (mut bits, mut waiting) = (0, 0);
        for &value in part {
            bits |= u64::from(value) << waiting;
            waiting += width;
            while waiting >= 8 {
                bytes.push(bits as u8);
                bits >>= 8;
                waiting -= 8;
            }
        }
        if waiting > 0 {
            bytes.push(bits as u8);
        }
        bytes.resize(end, 0);
    }
}

fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Whether compression saves an eighth of a sample. It is slow for values that it hardly shrinks.
fn compression_pays(compressor: &mut Compressor<'static>, pages: &[PageBytes]) -> Result<bool> {
    let Some(page) = pages.get(pages.len() / 2) else { return Ok(false) };
    let begin = page.bytes.len().saturating_sub(SAMPLE_BYTES) / 2;
    let sample = &page.bytes[begin..page.bytes.len().min(begin + SAMPLE_BYTES)];
    let compressed = compressor.compress(sample).map_err(compression_error)?;
    Ok(compressed.len() * 8 < sample.len() * 7)
}

/// Statistics of real numbers that are numbers, with the signs of zeros that the specification asks for.
fn real_statistics(values: &[f64]) -> Option<Statistics> {
    let range = (f64::INFINITY, f64::NEG_INFINITY);
    let (min, max) =
        values.iter().fold(range, |(min, max), &value| (if value < min { value } else { min }, if value > max { value } else { max }));
    let (min, max) = (if min == 0.0 { -0.0 } else { min }, if max == 0.0 { 0.0 } else { max });
    (min <= max).then(|| Statistics::Double(exact::<DoubleType>(min, max)))
}

fn exact<D: DataType>(min: D::T, max: D::T) -> ValueStatistics<D::T> {
    ValueStatistics::new(Some(min), Some(max), None, Some(0), false).with_min_is_exact(true).with_max_is_exact(true)
}

fn compression_error(error: io::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_runs_and_bit_packed_groups() {
        let index: Vec<u32> = [vec![5; 20], vec![0, 1, 2, 3]].concat();
        assert_eq!(vec![3, 40, 5, 3, 0b1000_1000, 0b0000_0110, 0], encode_indices(&index, 3));
    }

    #[test]
    fn numbers_follow_the_first_occurrence() {
        assert_eq!((vec![0, 1, 0, 2], vec![0, 1, 3]), renumber(&[7, 3, 7, 0]));
    }

    #[test]
    fn statistics_of_real_numbers_leave_out_what_is_no_number() {
        assert!(real_statistics(&[f64::NAN]).is_none());
        let Some(Statistics::Double(told)) = real_statistics(&[f64::NAN, 0.0, 2.5]) else { panic!("no statistics") };
        assert_eq!((Some((-0.0f64).to_bits()), Some(2.5)), (told.min_opt().map(|min| min.to_bits()), told.max_opt().copied()));
    }
}
