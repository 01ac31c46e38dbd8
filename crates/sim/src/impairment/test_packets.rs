//! Packets for the tests of impairments.

use ecnlab_transport::{Ack, Segment, SegmentType};
use ecnlab_units::{Ecn, EcnSemantics, Time};

use crate::packet::{Packet, PacketFlags, PacketOrigin};

fn test_origin() -> PacketOrigin {
    PacketOrigin { flow: 0, hop_index: 0, connection_id: 0, flags: PacketFlags::for_sender(EcnSemantics::Mecn, false) }
}

/// Segment 5, with CWR.
pub fn cwr_segment(ecn: Ecn) -> Packet {
    let segment =
        Segment { seq: 5, size: 1000, segment_type: SegmentType::Plain, ecn, cwr: true, ece: false, retransmission: false, push: false };
    Packet::from_segment(&segment, test_origin(), Time::ZERO, 0)
}

/// An ECN-setup SYN.
pub fn ecn_setup_syn() -> Packet {
    let segment = Segment {
        seq: 0,
        size: 40,
        segment_type: SegmentType::Syn,
        ecn: Ecn::NotEct,
        cwr: true,
        ece: true,
        retransmission: false,
        push: false,
    };
    Packet::from_segment(&segment, test_origin(), Time::ZERO, 0)
}

/// The answer to an ECN-setup SYN.
pub fn ecn_setup_syn_ack() -> Packet {
    Packet::from_ack(&Ack { segment_type: SegmentType::Syn, ece: true, ..Ack::plain(1, 40) }, test_origin())
}
