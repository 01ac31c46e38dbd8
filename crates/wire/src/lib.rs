//! Packets as other tools write and read them: ns-2's trace lines, pcap and pcapng, IPv4 and IPv6, TCP and UDP.
//!
//! Both ways share one type, the [`Event`]: what a reader yields, a writer takes. This crate opens no file: bytes come in through a
//! `Read` that the caller has, and go out into a buffer that the caller empties.

mod address;
mod capture;
mod event;
mod fault;
mod header;
pub mod ns2;
mod reader;
mod source;
mod tcp;

pub use address::{Address, End};
pub use capture::Interface;
pub use capture::write::{PcapngWriter, Version};
pub use event::{Event, Kind, Packet, Place, State, What};
pub use fault::{Fault, Why};
pub use header::ip::Malformed;
pub use header::link::LinkType;
pub use header::rewrite::{rewrite_ece_cwr, rewrite_ecn};
pub use header::view::{PacketView, TcpSegment, TransportHeader};
pub use header::write::Headers;
pub use header::{LENGTH_UDP, LENGTH_V4, LENGTH_V6, extension, protocol};
pub use reader::{Backwards, Format, Reader};
pub use tcp::{Flags, SackRuns, Tcp, Timestamps};
