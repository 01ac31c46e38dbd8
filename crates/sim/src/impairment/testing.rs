//! Packets for the tests of impairments.

use ecnlab_transport::{Ack, Role, Segment};
use ecnlab_units::{Dialect, Ecn, Time};

use crate::packet::{Bits, Origin, Packet};

fn origin() -> Origin {
    Origin { flow: 0, cursor: 0, connection: 0, bits: Bits::of_sender(Dialect::Mecn, false) }
}

/// Segment 5, with CWR.
pub fn segment(ecn: Ecn) -> Packet {
    let segment = Segment { seq: 5, size: 1000, role: Role::Plain, ecn, cwr: true, ece: false, retransmission: false, push: false };
    Packet::of_segment(&segment, origin(), Time::ZERO, 0)
}

/// An ECN-setup SYN.
pub fn syn() -> Packet {
    let segment = Segment { seq: 0, size: 40, role: Role::Syn, ecn: Ecn::NotEct, cwr: true, ece: true, retransmission: false, push: false };
    Packet::of_segment(&segment, origin(), Time::ZERO, 0)
}

/// The answer to one.
pub fn syn_ack() -> Packet {
    Packet::of_ack(&Ack { role: Role::Syn, ece: true, ..Ack::plain(1, 40) }, origin())
}
