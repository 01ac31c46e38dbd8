//! A trace that a run writes: a file beside its name until it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use ecnlab_sim::{IpVersion, TraceFormat, TraceSpec, Tracer};
use flate2::Compression;
use flate2::write::GzEncoder;
use pyo3::prelude::*;

use crate::parquet::RowGroups;

/// Rows of a row group.
const ROWS: u64 = 1 << 18;

/// What to write, as Python has checked it.
#[derive(FromPyObject)]
pub struct TraceTo {
    /// Where it is to stand, and where it stands until it is whole.
    path: PathBuf,
    partial: PathBuf,
    /// "ns2", "pcapng" or "parquet".
    form: String,
    /// "gzip", "zstd", or empty.
    compression: String,
    links: Vec<String>,
    /// Bytes of each packet that a capture keeps.
    keep: u32,
    /// The version of IP that a capture shows, 4 or 6.
    ip: u32,
}

/// A file under construction, which goes when it is dropped before it is whole.
pub struct TraceFile {
    path: PathBuf,
    partial: PathBuf,
    into: Option<Into>,
}

/// What takes a trace in.
enum Into {
    Bytes(Packed),
    Rows(Box<RowGroups<BufWriter<File>>>),
    /// Rows, before the first of them says what columns there are.
    NoRows(BufWriter<File>),
}

/// Bytes on their way into a file.
enum Packed {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl TraceTo {
    pub fn spec(&self) -> TraceSpec {
        let format = match self.form.as_str() {
            "ns2" => TraceFormat::Ns2,
            "parquet" => TraceFormat::Table,
            _ => TraceFormat::Pcapng { keep: self.keep, version: if self.ip == 6 { IpVersion::V6 } else { IpVersion::V4 } },
        };
        TraceSpec { format, links: self.links.clone() }
    }

    /// The links that are shown; where none is named, those that are usual.
    pub fn links(&self) -> &[String] {
        &self.links
    }

    /// Bytes of each packet that a capture keeps.
    pub fn keep(&self) -> u32 {
        self.keep
    }

    /// # Errors
    /// If the file cannot be written.
    pub fn create(&self) -> io::Result<TraceFile> {
        let out = BufWriter::with_capacity(1 << 20, File::create(&self.partial)?);
        let into = match (self.form.as_str(), self.compression.as_str()) {
            ("parquet", _) => Into::NoRows(out),
            (_, "gzip") => Into::Bytes(Packed::Gzip(GzEncoder::new(out, Compression::fast()))),
            (_, "zstd") => Into::Bytes(Packed::Zstd(zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?)),
            _ => Into::Bytes(Packed::Plain(out)),
        };
        Ok(TraceFile { path: self.path.clone(), partial: self.partial.clone(), into: Some(into) })
    }
}

/// Puts a capture that is a file already where a run's is to stand, compressed as was asked. Raises OSError.
#[pyfunction]
pub fn put_capture(py: Python<'_>, source: PathBuf, to: TraceTo) -> PyResult<()> {
    Ok(py.detach(|| {
        let (mut source, mut file) = (File::open(source)?, to.create()?);
        let mut chunk = vec![0; 1 << 20];
        loop {
            match source.read(&mut chunk)? {
                0 => return file.close(),
                length => file.put(&chunk[..length])?,
            }
        }
    })?)
}

impl TraceFile {
    /// Takes what a tracer has written so far.
    pub fn take(&mut self, tracer: &mut Tracer) -> io::Result<()> {
        self.take_rows(tracer, ROWS)?;
        let (Some(bytes), Some(Into::Bytes(out))) = (tracer.bytes_mut(), &mut self.into) else { return Ok(()) };
        out.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }

    /// Takes the rest, and puts the file where it is to stand.
    pub fn finish(mut self, tracer: &mut Tracer) -> io::Result<()> {
        self.take(tracer)?;
        self.take_rows(tracer, 0)?;
        self.close()
    }

    /// Takes bytes that are not a tracer's, into a file of bytes.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.into {
            Some(Into::Bytes(out)) => out.write_all(bytes),
            _ => Err(io::Error::other("only a capture accepts raw bytes")),
        }
    }

    /// Puts the file where it is to stand, with what it has taken.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn close(mut self) -> io::Result<()> {
        let out = match self.into.take() {
            Some(Into::Bytes(out)) => out.finish()?,
            Some(Into::Rows(rows)) => rows.finish()?,
            Some(Into::NoRows(out)) => out,
            None => return Ok(()),
        };
        out.into_inner()?.sync_all()?;
        fs::rename(&self.partial, &self.path)?;
        self.partial = PathBuf::new();
        Ok(())
    }

    fn take_rows(&mut self, tracer: &mut Tracer, least: u64) -> io::Result<()> {
        let Some(table) = tracer.drain_rows(least) else { return Ok(()) };
        let mut rows = match self.into.take() {
            Some(Into::Rows(rows)) => rows,
            Some(Into::NoRows(out)) => Box::new(RowGroups::begin(&table, out)?),
            other => {
                self.into = other;
                return Ok(());
            }
        };
        rows.push(&table)?;
        self.into = Some(Into::Rows(rows));
        Ok(())
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        self.into = None;
        if self.partial != Path::new("") {
            // What is left of a trace that failed is of no use; that it cannot be deleted changes nothing about that.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

impl Packed {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Packed::Plain(out) => out.write_all(bytes),
            Packed::Gzip(out) => out.write_all(bytes),
            Packed::Zstd(out) => out.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<BufWriter<File>> {
        match self {
            Packed::Plain(out) => Ok(out),
            Packed::Gzip(out) => out.finish(),
            Packed::Zstd(out) => out.finish(),
        }
    }
}
