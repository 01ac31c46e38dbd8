//! Reads TCP's header (RFC 9293, section 3.1) and its options.

use super::Bytes;
use crate::tcp::{AccEcn, Flags, Tcp, Timestamps};

/// Length of the header without options.
pub const MIN_HEADER_BYTES: usize = 20;

/// Kinds of options (RFC 9293, section 3.1; RFC 7323, sections 2 and 3; RFC 2018, sections 2 and 3).
pub mod option {
    pub const END: u8 = 0;
    pub const NOTHING: u8 = 1;
    pub const MSS: u8 = 2;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
    /// Accurate ECN with the counter of ECT(0) first, and with that of ECT(1) first (RFC 9768, section 3.2.3).
    pub const ACCECN_ECT0_FIRST: u8 = 172;
    pub const ACCECN_ECT1_FIRST: u8 = 174;
}

/// A header as far as it was kept.
pub struct Header {
    pub tcp: Tcp,
    /// With its options.
    pub length: usize,
    pub whole: bool,
}

/// Reads a header; `None` if it says that it is shorter than one.
pub fn read(bytes: Bytes) -> Option<Header> {
    let Some(offset_and_flags) = bytes.u16(12) else {
        let tcp = Tcp { seq: bytes.u32(4).unwrap_or(0), ack: bytes.u32(8).unwrap_or(0), ..Tcp::default() };
        return Some(Header { tcp, length: MIN_HEADER_BYTES, whole: false });
    };
    let length = usize::from(offset_and_flags >> 12) * 4;
    if length < MIN_HEADER_BYTES {
        return None;
    }
    let mut tcp = Tcp {
        seq: bytes.u32(4)?,
        ack: bytes.u32(8)?,
        flags: Flags(offset_and_flags & 0x1ff),
        window: bytes.u16(14).unwrap_or(0),
        ..Tcp::default()
    };
    read_options(bytes.truncated(length).from(MIN_HEADER_BYTES), &mut tcp);
    Some(Header { tcp, length, whole: bytes.0.len() >= length })
}

/// Reads the options up to their end, to one that is cut, or to one whose length makes no sense.
fn read_options(mut options: Bytes, tcp: &mut Tcp) {
    while let Some(kind) = options.u8(0) {
        let length = match kind {
            option::END => return,
            option::NOTHING => 1,
            _ => match options.u8(1) {
                Some(length) if length >= 2 && usize::from(length) <= options.0.len() => usize::from(length),
                _ => return,
            },
        };
        read_option(kind, options.truncated(length).from(2), tcp);
        options = options.from(length);
    }
}

fn read_option(kind: u8, value: Bytes, tcp: &mut Tcp) {
    match (kind, value.0.len()) {
        (option::MSS, 2) => tcp.mss = value.u16(0),
        (option::WINDOW_SCALE, 1) => tcp.window_scale = value.u8(0),
        (option::SACK_PERMITTED, 0) => tcp.sack_permitted = true,
        (option::TIMESTAMPS, 8) => {
            tcp.timestamps = value.u32(0).zip(value.u32(4)).map(|(value, echo)| Timestamps { value, echo });
        }
        (option::SACK, _) => read_sacks(value, tcp),
        (option::ACCECN_ECT0_FIRST | option::ACCECN_ECT1_FIRST, 0 | 3 | 6 | 9) => {
            tcp.accecn = Some(read_accecn(value, kind == option::ACCECN_ECT0_FIRST));
        }
        _ => {}
    }
}

fn read_accecn(value: Bytes, begins_with_ect0: bool) -> AccEcn {
    let counter = |at: usize| match value.0.get(3 * at..3 * at + 3) {
        Some(&[high, middle, low]) => Some(u32::from_be_bytes([0, high, middle, low])),
        _ => None,
    };
    let mut counters = [counter(0), counter(1), counter(2)];
    if begins_with_ect0 {
        counters.reverse();
    }
    AccEcn { begins_with_ect0, counters }
}

fn read_sacks(value: Bytes, tcp: &mut Tcp) {
    for block in value.0.chunks_exact(8) {
        if let (Some(from), Some(to)) = (Bytes(block).u32(0), Bytes(block).u32(4)) {
            tcp.sacks.push(from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN with MSS 1460, SACK permitted, timestamps 10 and 0, window scale 7, as Linux orders them.
    const SYN: [u8; 40] = [
        0x9c, 0x40, 0x00, 0x50, 0, 0, 0, 1, 0, 0, 0, 0, 0xa0, 0xc2, 0xfa, 0xf0, 0, 0, 0, 0, //
        2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 10, 0, 0, 0, 0, 1, 3, 3, 7,
    ];

    #[test]
    fn a_host_s_syn_is_read_with_its_options() {
        let header = read(Bytes(&SYN)).unwrap();
        let expected = Tcp {
            seq: 1,
            flags: Flags::SYN | Flags::ECE | Flags::CWR,
            window: 64_240,
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 10, echo: 0 }),
            ..Tcp::default()
        };
        assert_eq!((expected, 40, true), (header.tcp, header.length, header.whole));
    }

    #[test]
    fn an_accurate_ecn_option_is_read_in_either_order_and_with_fewer_counters() {
        let read_option = |option: &[u8]| {
            let mut tcp = Tcp::default();
            read_options(Bytes(option), &mut tcp);
            tcp.accecn
        };
        let whole = AccEcn { begins_with_ect0: false, counters: [Some(1), Some(0x0001_0203), Some(9)] };
        assert_eq!(Some(whole), read_option(&[174, 11, 0, 0, 1, 1, 2, 3, 0, 0, 9, 1]));
        assert_eq!(Some(AccEcn { begins_with_ect0: true, ..whole }), read_option(&[172, 11, 0, 0, 9, 1, 2, 3, 0, 0, 1, 1]));
        let part = AccEcn { begins_with_ect0: true, counters: [None, None, Some(9)] };
        assert_eq!((Some(part), vec![9]), (read_option(&[172, 5, 0, 0, 9]), part.counters_in_option_order().collect::<Vec<_>>()));
        assert_eq!([Some(AccEcn::default()), None], [read_option(&[174, 2]), read_option(&[174, 4, 0, 0])]);
    }

    #[test]
    fn what_was_not_kept_is_absent() {
        let header = read(Bytes(&SYN[..30])).unwrap();
        assert_eq!((Some(1460), None, false), (header.tcp.mss, header.tcp.timestamps, header.whole));
        assert_eq!((1, 20, false), read(Bytes(&SYN[..8])).map(|header| (header.tcp.seq, header.length, header.whole)).unwrap());
    }

    #[test]
    fn a_length_that_makes_no_sense_ends_the_options() {
        let mut bytes = SYN;
        bytes[21] = 0;
        assert_eq!(None, read(Bytes(&bytes)).unwrap().tcp.mss);
        bytes[12] = 0x40;
        assert!(read(Bytes(&bytes)).is_none());
    }
}
