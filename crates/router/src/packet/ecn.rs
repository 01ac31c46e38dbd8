//! Writes the ECN field of IP and TCP's two flags of ECN (RFC 3168), and the checksums that cover them (RFC 1624: HC' = ~(~HC + ~m + m')).

use ecnlab_units::Ecn;

use super::ip::fold;

const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// Writes a codepoint into a packet that [`View::of`](super::View::of) has read. What it may be changed to is the queue's to say, whose
/// marks never weaken (`Dialect::mark`), and that of an impairment that changes the field.
pub fn write_ecn(packet: &mut [u8], ecn: Ecn) {
    if packet[0] >> 4 == 6 {
        packet[1] = packet[1] & !(0b11 << 4) | (ecn as u8) << 4;
    } else {
        change_word(packet, 0, [packet[0], packet[1] & !0b11 | ecn as u8], 10);
    }
}

/// Writes the flags by which the hosts of a connection speak of marks into a packet whose TCP header begins at a place. Only an impairment
/// changes them.
pub fn write_echo(packet: &mut [u8], tcp_at: usize, ece: bool, cwr: bool) {
    let flags = packet[tcp_at + 13] & !(ECE | CWR) | if ece { ECE } else { 0 } | if cwr { CWR } else { 0 };
    change_word(packet, tcp_at + 12, [packet[tcp_at + 12], flags], tcp_at + 16);
}

/// Puts another word at a place, and what that makes of the checksum at another.
fn change_word(packet: &mut [u8], at: usize, after: [u8; 2], checksum_at: usize) {
    let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let (before, now, checksum) = (word(at), u16::from_be_bytes(after), word(checksum_at));
    if now != before {
        let checksum = !fold(u32::from(!checksum) + u32::from(!before) + u32::from(now));
        packet[at..at + 2].copy_from_slice(&after);
        packet[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}
