//! Trace file written by a run, under a temporary name until it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use ecnlab_sim::{IpVersion, TraceFormat, TraceSpec, Tracer};
use flate2::Compression;
use flate2::write::GzEncoder;
use pyo3::prelude::*;

use crate::parquet::{TableWriter, columns_of_table};

/// Rows per row group.
const ROW_GROUP_ROWS: u64 = 1 << 18;

/// Options of a trace file, already checked by Python.
#[derive(FromPyObject)]
pub struct TraceFileOptions {
    /// Final path, and path until the file is complete.
    path: PathBuf,
    partial: PathBuf,
    /// "ns2", "pcapng" or "parquet".
    form: String,
    /// "gzip", "zstd", or empty.
    compression: String,
    /// Selected links; empty for the default selection.
    pub links: Vec<String>,
    /// Maximum bytes of each packet in a capture.
    pub keep: u32,
    /// IP version of a capture, 4 or 6.
    ip: u32,
}

/// A trace file in progress; it is deleted if dropped before it is complete.
pub struct TraceFile {
    path: PathBuf,
    partial: PathBuf,
    sink: Option<TraceFormatWriter>,
}

/// Writer of a trace's format.
enum TraceFormatWriter {
    Bytes(CompressedWriter),
    Rows(Box<TableWriter<BufWriter<File>>>),
    /// Rows, until the first of them determines the columns.
    EmptyRows(BufWriter<File>),
}

/// Writer of bytes into a file, with or without compression.
enum CompressedWriter {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl TraceFileOptions {
    pub fn spec(&self) -> TraceSpec {
        let format = match self.form.as_str() {
            "ns2" => TraceFormat::Ns2,
            "parquet" => TraceFormat::Table,
            _ => TraceFormat::Pcapng { keep: self.keep, version: if self.ip == 6 { IpVersion::V6 } else { IpVersion::V4 } },
        };
        TraceSpec { format, links: self.links.clone() }
    }

    /// Creates the file under a temporary name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(&self) -> io::Result<TraceFile> {
        let out = BufWriter::with_capacity(1 << 20, File::create(&self.partial)?);
        let sink = match (self.form.as_str(), self.compression.as_str()) {
            ("parquet", _) => TraceFormatWriter::EmptyRows(out),
            (_, "gzip") => TraceFormatWriter::Bytes(CompressedWriter::Gzip(GzEncoder::new(out, Compression::fast()))),
            (_, "zstd") => TraceFormatWriter::Bytes(CompressedWriter::Zstd(zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?)),
            _ => TraceFormatWriter::Bytes(CompressedWriter::Plain(out)),
        };
        Ok(TraceFile { path: self.path.clone(), partial: self.partial.clone(), sink: Some(sink) })
    }
}

/// Copies a finished capture to the path of a run's trace, compressed as requested. Raises OSError.
#[pyfunction]
pub fn copy_capture_compressed(py: Python<'_>, source: PathBuf, to: TraceFileOptions) -> PyResult<()> {
    Ok(py.detach(|| {
        let (mut source, mut file) = (File::open(source)?, to.create()?);
        let mut chunk = vec![0; 1 << 20];
        loop {
            match source.read(&mut chunk)? {
                0 => return file.close_and_rename(),
                length => file.write_capture_bytes(&chunk[..length])?,
            }
        }
    })?)
}

impl TraceFile {
    /// Writes the pending output of a tracer.
    pub fn write_pending(&mut self, tracer: &mut Tracer) -> io::Result<()> {
        self.write_rows(tracer, ROW_GROUP_ROWS)?;
        let (Some(bytes), Some(TraceFormatWriter::Bytes(out))) = (tracer.bytes_mut(), &mut self.sink) else { return Ok(()) };
        out.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }

    /// Writes the rest of the output, and renames the file to its final path.
    pub fn finish(mut self, tracer: &mut Tracer) -> io::Result<()> {
        self.write_pending(tracer)?;
        self.write_rows(tracer, 0)?;
        self.close_and_rename()
    }

    /// Writes bytes that do not come from a tracer, into a file of bytes.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_capture_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.sink {
            Some(TraceFormatWriter::Bytes(out)) => out.write_all(bytes),
            _ => Err(io::Error::other("only a capture accepts raw bytes")),
        }
    }

    /// Completes the file, and renames it to its final path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn close_and_rename(mut self) -> io::Result<()> {
        let out = match self.sink.take() {
            Some(TraceFormatWriter::Bytes(out)) => out.finish()?,
            Some(TraceFormatWriter::Rows(rows)) => rows.finish()?,
            Some(TraceFormatWriter::EmptyRows(out)) => out,
            None => return Ok(()),
        };
        out.into_inner()?.sync_all()?;
        fs::rename(&self.partial, &self.path)?;
        self.partial = PathBuf::new();
        Ok(())
    }

    fn write_rows(&mut self, tracer: &mut Tracer, min_rows: u64) -> io::Result<()> {
        let Some(table) = tracer.drain_rows_if_at_least(min_rows) else { return Ok(()) };
        let mut rows = match self.sink.take() {
            Some(TraceFormatWriter::Rows(rows)) => rows,
            Some(TraceFormatWriter::EmptyRows(out)) => Box::new(TableWriter::with_columns_of(&table, out)?),
            other => {
                self.sink = other;
                return Ok(());
            }
        };
        rows.write_row_group(&columns_of_table(&table))?;
        self.sink = Some(TraceFormatWriter::Rows(rows));
        Ok(())
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        self.sink = None;
        if self.partial != Path::new("") {
            // A partial trace is useless, and a failed deletion is ignored.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

impl CompressedWriter {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            CompressedWriter::Plain(out) => out.write_all(bytes),
            CompressedWriter::Gzip(out) => out.write_all(bytes),
            CompressedWriter::Zstd(out) => out.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<BufWriter<File>> {
        match self {
            CompressedWriter::Plain(out) => Ok(out),
            CompressedWriter::Gzip(out) => out.finish(),
            CompressedWriter::Zstd(out) => out.finish(),
        }
    }
}
