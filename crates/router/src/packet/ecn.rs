//! Writes the ECN field (RFC 3168, section 5), and IPv4's header checksum with it (RFC 1624: HC' = ~(~HC + ~m + m')).

use ecnlab_units::Ecn;

use super::ip::fold;

/// Writes a codepoint into a packet that [`View::of`](super::View::of) has read. What it may be changed to is the queue's to say, whose
/// marks never weaken (`Dialect::mark`), and that of an impairment that changes the field.
pub fn write_ecn(packet: &mut [u8], ecn: Ecn) {
    if packet[0] >> 4 == 6 {
        packet[1] = packet[1] & !(0b11 << 4) | (ecn as u8) << 4;
        return;
    }
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let (before, checksum) = (word(packet, 0), word(packet, 10));
    packet[1] = packet[1] & !0b11 | ecn as u8;
    let after = word(packet, 0);
    if after != before {
        let checksum = !fold(u32::from(!checksum) + u32::from(!before) + u32::from(after));
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
}
