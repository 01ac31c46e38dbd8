//! Events of a trace: the kind of event, the packet, the time and the location.

use ecnlab_units::{Ecn, Time};

use crate::address::End;
use crate::tcp::{Flags, Tcp};

/// Event of a trace: one line of an ns-2 trace, one packet of a capture, one row of a table of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Since the start of a simulation, or since 1970 in a capture of a host.
    pub time: Time,
    pub kind: TraceEventKind,
    pub location: Location,
    pub packet: Packet,
}

/// Kind of an event, with ns-2's sign for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceEventKind {
    /// `+`: arrived at a link's queue.
    Enqueued,
    /// `-`: its transmission began.
    Dequeued,
    /// `d`: dropped by a queue or lost on a link.
    Dropped,
    /// `r`: arrived at the link's far end.
    Received,
    /// Seen at an interface of a capture.
    Captured,
}

/// Location of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Location {
    /// A directed link, by its nodes' numbers.
    Link { from: u32, to: u32 },
    /// An interface of a capture, by its number in the file.
    Interface(u32),
}

/// A packet as it was at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub kind: Kind,
    pub source: End,
    pub destination: End,
    /// ns-2's number of the flow (`fid_`), which captures do not have.
    pub flow: Option<u32>,
    /// Distinguishes packets of one source: ns-2's `uid`, IPv4's identification; `None` in an IPv6 packet that is not a fragment.
    pub id: Option<u64>,
    /// Bytes of the IP packet, headers included; the size that ns-2 shows.
    pub size: u32,
    /// Bytes of data behind TCP's or UDP's header. ns-2's lines show no header length but for FullTcp with `show_tcphdr_`: then all of a
    /// packet counts, and nothing of an acknowledgement.
    pub payload: u32,
    pub ecn: Ecn,
    /// Of TCP only.
    pub tcp: Tcp,
    /// Whether the packet was complete in the file.
    pub truncation: Truncation,
}

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// TCP with data; in an ns-2 trace every packet of a sender, its first packet without data too.
    Data,
    /// TCP without data: an acknowledgement, and in captures a SYN, FIN or RST without data too.
    Ack,
    /// UDP, and what ns-2 sends without a transport (`cbr`, `exp`, `pareto`, ...).
    Datagram,
    Other,
}

/// Completeness of a packet in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Truncation {
    #[default]
    Complete,
    /// The capture kept less than the headers; missing fields are zero or absent.
    Truncated,
    /// A part of a fragmented IP packet. Only the first has ports and a TCP header.
    Fragment { is_first: bool },
}

impl TraceEventKind {
    /// ns-2's sign; [`TraceEventKind::Captured`] has none.
    pub const fn sign(self) -> Option<u8> {
        match self {
            TraceEventKind::Enqueued => Some(b'+'),
            TraceEventKind::Dequeued => Some(b'-'),
            TraceEventKind::Dropped => Some(b'd'),
            TraceEventKind::Received => Some(b'r'),
            TraceEventKind::Captured => None,
        }
    }
}

impl Packet {
    pub fn is_tcp(&self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Ack)
    }

    /// Whether all of `flags` are set; false for packets that are not TCP.
    pub fn has(&self, flags: Flags) -> bool {
        self.tcp.flags.has(flags)
    }
}
