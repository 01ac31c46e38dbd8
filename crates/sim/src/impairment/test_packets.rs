//! Packets for the tests of impairments.

use ecnlab_transport::{Ack, Segment, SegmentType};
use ecnlab_units::{Ecn, EcnSemantics, Time};

use crate::packet::{Packet, PacketFlags, PacketOrigin};

fn test_origin() -> PacketOrigin {
    PacketOrigin { flow: 0, hop_index: 0, connection_id: 0, flags: PacketFlags::common_flags_of_sender(EcnSemantics::Mecn, false) }
}

/// Segment 5, with CWR.
pub fn cwr_segment(ecn: Ecn) -> Packet {
    let segment = Segment { ecn, cwr: true, ..Segment::plain(5, 1000) };
    Packet::from_segment(&segment, test_origin(), Time::ZERO, 0)
}

/// An ECN-setup SYN.
pub fn ecn_setup_syn() -> Packet {
    let segment = Segment { segment_type: SegmentType::Syn, cwr: true, ece: true, ..Segment::plain(0, 40) };
    Packet::from_segment(&segment, test_origin(), Time::ZERO, 0)
}

/// The answer to an ECN-setup SYN.
pub fn ecn_setup_syn_ack() -> Packet {
    Packet::from_ack(&Ack { segment_type: SegmentType::Syn, ece: true, ..Ack::plain(1, 40) }, test_origin())
}
