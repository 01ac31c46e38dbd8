//! Where a trace is written to, form by form.

use std::sync::Arc;

use ecnlab_wire::{PcapngWriter, Version, What};

use super::headers::{Headers, Written};
use super::nodes::Nodes;
use super::rows::{EVENTS, Row};
use super::{Event, TraceFormat};
use crate::measures::Table;
use crate::measures::table::{Filling, NetworkNames};
use crate::network::LinkName;

/// The program that a capture names as its author.
const APPLICATION: &str = concat!("ecnlab ", env!("CARGO_PKG_VERSION"));

/// A trace that is written.
pub enum Output {
    Lines(Vec<u8>),
    Capture(Capture),
    Rows(Rows),
}

/// A pcapng file.
pub struct Capture {
    writer: PcapngWriter,
    version: Version,
    bytes: Vec<u8>,
    /// Of each link the number of the interface before it; the one after it follows.
    interfaces: Vec<Option<u32>>,
    count: u32,
}

/// Rows of a table.
pub struct Rows {
    filling: Filling<Row>,
    links: Vec<Arc<str>>,
}

impl Output {
    pub fn new(format: TraceFormat) -> Output {
        match format {
            TraceFormat::Ns2 => Output::Lines(Vec::new()),
            TraceFormat::Pcapng { keep, version } => {
                let mut bytes = Vec::new();
                let writer = PcapngWriter::begin(keep, APPLICATION, &mut bytes);
                Output::Capture(Capture { writer, version, bytes, interfaces: Vec::new(), count: 0 })
            }
            TraceFormat::Table => Output::Rows(Rows { filling: Filling::new(&EVENTS), links: Vec::new() }),
        }
    }

    /// There is one more link.
    pub fn add_link(&mut self, name: &LinkName, traced: bool) {
        match self {
            Output::Lines(_) => {}
            Output::Capture(capture) => capture.add_link(name, traced),
            Output::Rows(rows) => rows.links.push(name.shown().into()),
        }
    }

    #[inline]
    pub fn write(&mut self, event: &Event, headers: &Headers, nodes: &mut Nodes) {
        match self {
            Output::Lines(out) => {
                let note = headers.note(event.id);
                if let Written::Lines(lines) = &note.written {
                    lines.event(event.what, event.time, nodes.of_link(event.link), event.packet.ecn, note.flags(&event.packet), out);
                }
            }
            Output::Capture(capture) => capture.write(event, headers),
            Output::Rows(rows) => {
                let note = headers.note(event.id);
                let row = Row { event: *event, connection: note.connection, number: note.number, payload: note.payload };
                rows.filling.push(&row);
            }
        }
    }

    /// What has been written of a file of bytes since this was emptied.
    pub fn bytes(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Output::Lines(out) => Some(out),
            Output::Capture(capture) => Some(&mut capture.bytes),
            Output::Rows(_) => None,
        }
    }

    /// The rows of a table since this was asked last, if they are so many.
    pub fn rows(&mut self, least: u64) -> Option<Table> {
        let Output::Rows(rows) = self else { return None };
        (rows.filling.rows() >= least).then(|| rows.take())
    }
}

impl Capture {
    fn add_link(&mut self, name: &LinkName, traced: bool) {
        self.interfaces.push(traced.then_some(self.count));
        if traced {
            self.count += 2;
            for side in ["before", "after"] {
                self.writer.interface(&format!("{side} {}", name.shown()), self.version, &mut self.bytes);
            }
        }
    }

    /// A packet that comes to a link is seen before it, one whose transmission begins behind it. One that is dropped is not seen again.
    fn write(&mut self, event: &Event, headers: &Headers) {
        let side = match event.what {
            What::Enqueued => 0,
            What::Dequeued => 1,
            What::Dropped | What::Received | What::Seen => return,
        };
        if let Some(interface) = self.interfaces[event.link as usize] {
            let note = headers.note(event.id);
            if let Written::Headers(headers) = &note.written {
                let mut now = *headers;
                now.changed(event.packet.ecn, note.flags(&event.packet));
                self.writer.headers(interface + side, event.time, &now, &mut self.bytes);
            }
        }
    }
}

impl Rows {
    fn take(&mut self) -> Table {
        let names = NetworkNames { links: self.links.as_slice().into(), ..NetworkNames::default() };
        std::mem::replace(&mut self.filling, Filling::new(&EVENTS)).finish(&names)
    }
}
