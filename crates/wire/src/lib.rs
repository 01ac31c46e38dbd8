//! Packets as other tools write and read them: ns-2's trace lines, pcap and pcapng, IPv4 and IPv6, TCP and UDP.
//!
//! Readers and writers share one type, the [`TraceEvent`]. This crate opens no file: a reader gets a `Read` of the caller, and a writer appends to
//! a buffer that the caller empties.

mod address;
mod capture;
mod error;
mod event;
mod header;
pub mod ns2;
mod reader;
mod record;
mod source;
mod tcp;

pub use address::{Address, End};
pub use capture::Interface;
pub use capture::write::{IpVersion, PcapngWriter};
pub use error::{ReadError, ReadErrorKind};
pub use event::{Kind, Location, Packet, TraceEvent, TraceEventKind, Truncation};
pub use header::ip::Malformed;
pub use header::link::LinkType;
pub use header::rewrite::{rewrite_ece_cwr, rewrite_ecn};
pub use header::view::{ParsedHeaders, TcpHeaderWithPorts, TransportHeader};
pub use header::write::Headers;
pub use header::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, UDP_HEADER_BYTES, extension, protocol};
pub use reader::{BackwardTimes, Format, Reader};
pub use tcp::{AccEcn, Flags, SackBlocks, Tcp, Timestamps};
