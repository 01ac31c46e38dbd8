//! What a trace consists of: something happened to a packet, at a time and a place.

use ecnlab_units::{Ecn, Time};

use crate::address::End;
use crate::tcp::{Flags, Tcp};

/// One line of an ns-2 trace, one packet of a capture, one row of a table of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Since the start of a simulation, or since 1970 in a capture of a host.
    pub time: Time,
    pub what: What,
    pub place: Place,
    pub packet: Packet,
}

/// What happened, with ns-2's sign for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// `+`: came to a link.
    Enqueued,
    /// `-`: its transmission began.
    Dequeued,
    /// `d`: dropped by a queue or lost on a link.
    Dropped,
    /// `r`: arrived at the link's far end.
    Received,
    /// Seen where a capture was made.
    Seen,
}

/// Where it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
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
    /// Tells packets of one source apart: ns-2's `uid`, IPv4's identification; `None` in an IPv6 packet that is not a fragment.
    pub id: Option<u64>,
    /// Bytes of the IP packet, headers included; the size that ns-2 shows.
    pub size: u32,
    /// Bytes of data behind TCP's or UDP's header. ns-2's lines show no header length but for FullTcp with `show_tcphdr_`: then all of a
    /// packet counts, and nothing of an acknowledgement.
    pub payload: u32,
    pub ecn: Ecn,
    /// Of TCP only.
    pub tcp: Tcp,
    /// What there is to say of the reading.
    pub state: State,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// TCP with data; in an ns-2 trace all that a sender sends, its first packet without data too.
    Data,
    /// TCP without data: an acknowledgement, and in captures a SYN, FIN or RST without data too.
    Ack,
    /// UDP, and what ns-2 sends without a transport (`cbr`, `exp`, `pareto`, ...).
    Datagram,
    Other,
}

/// Whether all of a packet was there to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    #[default]
    Whole,
    /// The capture kept less than the headers; what lies behind is zero or absent.
    Cut,
    /// A part of a fragmented IP packet. Only the first has ports and a TCP header.
    Fragment { first: bool },
}

impl What {
    /// ns-2's sign; what is seen in a capture has none there.
    pub const fn sign(self) -> Option<u8> {
        match self {
            What::Enqueued => Some(b'+'),
            What::Dequeued => Some(b'-'),
            What::Dropped => Some(b'd'),
            What::Received => Some(b'r'),
            What::Seen => None,
        }
    }
}

impl Packet {
    pub fn is_tcp(&self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Ack)
    }

    /// Whether all of `flags` are set; never of what is not TCP.
    pub fn has(&self, flags: Flags) -> bool {
        self.tcp.flags.has(flags)
    }
}
