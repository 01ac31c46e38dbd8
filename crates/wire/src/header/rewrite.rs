//! Rewrites the ECN field of IP and TCP's two flags of ECN (RFC 3168) in a packet, with the checksums that cover them.

use ecnlab_units::Ecn;

use super::checksum::write_word_and_update_checksum;
use crate::tcp::Flags;

/// Writes a codepoint into a packet that [`ParsedHeaders::parse`](super::view::PacketView::parse) has accepted. The queue decides what it may be
/// changed to: its marks never weaken (`EcnSemantics::mark`). An impairment may change it to anything.
pub fn rewrite_ecn(packet: &mut [u8], ecn: Ecn) {
    if packet[0] >> 4 == 6 {
        packet[1] = packet[1] & !(0b11 << 4) | (ecn as u8) << 4;
    } else {
        write_word_and_update_checksum(packet, 0, u16::from_be_bytes([packet[0], packet[1] & !0b11 | ecn as u8]), 10);
    }
}

/// Writes ECE and CWR into a packet whose TCP header begins at a place. Only an impairment changes them.
pub fn rewrite_ece_cwr(packet: &mut [u8], tcp_at: usize, ece: bool, cwr: bool) {
    let before = Flags(u16::from_be_bytes([packet[tcp_at + 12], packet[tcp_at + 13]]));
    let cleared = Flags(before.0 & !(Flags::ECE | Flags::CWR).0);
    let flags = cleared.with_if(Flags::ECE, ece).with_if(Flags::CWR, cwr);
    write_word_and_update_checksum(packet, tcp_at + 12, flags.0, tcp_at + 16);
}
