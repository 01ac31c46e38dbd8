//! Output of a trace, by format.

use std::sync::Arc;

use ecnlab_wire::{IpVersion, PcapngWriter, TraceEventKind};

use super::headers::{HeaderInTraceFormat, PacketHeaders};
use super::nodes::NodeMap;
use super::rows::{EVENTS, TraceRow};
use super::{LinkTraceEvent, TraceFormat};
use crate::index_vec::IndexVec;
use crate::measures::Table;
use crate::measures::table::{NetworkNames, TableBuilder};
use crate::network::LinkName;

/// Name of this program in a capture.
const PCAPNG_APPLICATION: &str = concat!("ecnlab ", env!("CARGO_PKG_VERSION"));

/// Writer of a trace.
pub enum TraceOutput {
    Lines(Vec<u8>),
    PcapngOutput(PcapngOutput),
    TableOutput(TableOutput),
}

/// Writer of a pcapng file.
pub struct PcapngOutput {
    writer: PcapngWriter,
    version: IpVersion,
    bytes: Vec<u8>,
    /// For each link the interface number before its queue; the one after the queue follows.
    interfaces: IndexVec<Option<u32>>,
    interface_count: u32,
}

/// Writer of rows of a table.
pub struct TableOutput {
    rows: TableBuilder<TraceRow>,
    links: Vec<Arc<str>>,
}

impl TraceOutput {
    pub fn new(format: TraceFormat) -> TraceOutput {
        match format {
            TraceFormat::Ns2 => TraceOutput::Lines(Vec::new()),
            TraceFormat::Pcapng { keep, version } => {
                let mut bytes = Vec::new();
                let writer = PcapngWriter::begin(keep, PCAPNG_APPLICATION, &mut bytes);
                TraceOutput::PcapngOutput(PcapngOutput { writer, version, bytes, interfaces: IndexVec::default(), interface_count: 0 })
            }
            TraceFormat::Table => TraceOutput::TableOutput(TableOutput { rows: TableBuilder::new(&EVENTS), links: Vec::new() }),
        }
    }

    /// Adds a link.
    pub fn add_link(&mut self, name: &LinkName, traced: bool) {
        match self {
            TraceOutput::Lines(_) => {}
            TraceOutput::PcapngOutput(capture) => capture.add_link(name, traced),
            TraceOutput::TableOutput(rows) => rows.links.push(name.display_name().into()),
        }
    }

    #[inline]
    pub fn write(&mut self, event: &LinkTraceEvent, headers: &PacketHeaders, nodes: &mut NodeMap) {
        match self {
            TraceOutput::Lines(out) => {
                let note = headers.stored_header(event.id);
                if let HeaderInTraceFormat::Lines(lines) = &note.header {
                    lines.write_event(
                        event.kind,
                        event.time,
                        nodes.nodes_of_link(event.link),
                        event.packet.ecn,
                        note.flags_with_current_ecn(&event.packet),
                        out,
                    );
                }
            }
            TraceOutput::PcapngOutput(capture) => capture.write(event, headers),
            TraceOutput::TableOutput(rows) => {
                let note = headers.stored_header(event.id);
                let row = TraceRow { event: *event, connection: note.connection, number: note.number, payload: note.payload };
                rows.rows.push(&row);
            }
        }
    }

    /// Bytes of the file since they were last moved out.
    pub fn bytes_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            TraceOutput::Lines(out) => Some(out),
            TraceOutput::PcapngOutput(capture) => Some(&mut capture.bytes),
            TraceOutput::TableOutput(_) => None,
        }
    }

    /// Rows since the last drain, if there are at least `least`.
    pub fn drain_rows_if_at_least(&mut self, least: u64) -> Option<Table> {
        let TraceOutput::TableOutput(rows) = self else { return None };
        (rows.rows.rows() >= least).then(|| rows.drain())
    }
}

impl PcapngOutput {
    fn add_link(&mut self, name: &LinkName, traced: bool) {
        self.interfaces.push(traced.then_some(self.interface_count));
        if traced {
            self.interface_count += 2;
            for side in ["before", "after"] {
                self.writer.add_interface(&format!("{side} {}", name.display_name()), self.version, &mut self.bytes);
            }
        }
    }

    /// A packet that enters a link is captured before the queue, one whose transmission begins after it. A drop is not captured.
    fn write(&mut self, event: &LinkTraceEvent, headers: &PacketHeaders) {
        let side = match event.kind {
            TraceEventKind::Enqueued => 0,
            TraceEventKind::Dequeued => 1,
            TraceEventKind::Dropped | TraceEventKind::Received | TraceEventKind::Captured => return,
        };
        if let Some(interface) = self.interfaces[event.link] {
            let note = headers.stored_header(event.id);
            if let HeaderInTraceFormat::Headers(headers) = &note.header {
                let mut now = *headers;
                now.update_ecn_and_flags(event.packet.ecn, note.flags_with_current_ecn(&event.packet));
                self.writer.write_packet_from_headers(interface + side, event.time, &now, &mut self.bytes);
            }
        }
    }
}

impl TableOutput {
    fn drain(&mut self) -> Table {
        let names = NetworkNames { links: self.links.as_slice().into(), ..NetworkNames::default() };
        std::mem::replace(&mut self.rows, TableBuilder::new(&EVENTS)).finish(&names)
    }
}
