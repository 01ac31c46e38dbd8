//! TCP headers (RFC 9293, section 3.1), with the options of RFC 2018 and RFC 7323.

use std::fmt;
use std::ops::BitOr;

use crate::header::{self, Bytes};

/// A TCP header. Of an ns-2 line, which shows a part of it only, the rest is zero or absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number. ns-2's one-way agents count packets instead, from 0.
    pub seq: u32,
    /// Acknowledgement number; valid if [`Flags::ACK`] is set.
    pub ack: u32,
    pub flags: Flags,
    /// As in the header, not scaled.
    pub window: u16,
    /// Maximum segment size, of a SYN.
    pub mss: Option<u16>,
    /// Window scale, of a SYN.
    pub window_scale: Option<u8>,
    /// Of a SYN.
    pub sack_permitted: bool,
    pub timestamps: Option<Timestamps>,
    pub sacks: SackBlocks,
    /// Accurate ECN option.
    pub accecn: Option<AccEcn>,
}

/// The Accurate ECN option (RFC 9768, section 3.2.3): counters of 24 bits of the bytes received with ECT(1), CE and ECT(0), the last of which
/// may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcn {
    /// The order of kind 172: ECT(0), CE, ECT(1); otherwise that of kind 174: ECT(1), CE, ECT(0).
    pub begins_with_ect0: bool,
    /// Counters in the order of kind 174.
    pub counters: [Option<u32>; 3],
}

impl AccEcn {
    /// An option of kind 174.
    pub fn with_counters(counters: [Option<u32>; 3]) -> AccEcn {
        AccEcn { begins_with_ect0: false, counters }
    }

    /// Counters in the order of the option, up to the first that is absent.
    pub fn counters_in_option_order(&self) -> impl Iterator<Item = u32> {
        let mut counters = self.counters;
        if self.begins_with_ect0 {
            counters.reverse();
        }
        counters.into_iter().map_while(|counter| counter)
    }
}

impl Tcp {
    /// Reads a header with its valid options; `None` if its data offset is too small.
    pub fn read(bytes: &[u8]) -> Option<Tcp> {
        header::tcp::read(Bytes(bytes)).map(|header| header.tcp)
    }
}

/// RFC 7323, section 3.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    pub value: u32,
    pub echo: u32,
}

/// Bits 4 to 15 of the header's 13th and 14th byte.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    pub const FIN: Flags = Flags(0x001);
    pub const SYN: Flags = Flags(0x002);
    pub const RST: Flags = Flags(0x004);
    pub const PSH: Flags = Flags(0x008);
    pub const ACK: Flags = Flags(0x010);
    pub const URG: Flags = Flags(0x020);
    /// RFC 3168, section 6.1.
    pub const ECE: Flags = Flags(0x040);
    pub const CWR: Flags = Flags(0x080);
    /// Accurate ECN (RFC 9768); once the nonce sum of RFC 3540.
    pub const AE: Flags = Flags(0x100);

    const NAMES: [(Flags, &'static str); 9] = [
        (Flags::FIN, "FIN"),
        (Flags::SYN, "SYN"),
        (Flags::RST, "RST"),
        (Flags::PSH, "PSH"),
        (Flags::ACK, "ACK"),
        (Flags::URG, "URG"),
        (Flags::ECE, "ECE"),
        (Flags::CWR, "CWR"),
        (Flags::AE, "AE"),
    ];

    /// Whether all of `others` are set.
    pub const fn has(self, others: Flags) -> bool {
        self.0 & others.0 == others.0
    }

    /// AE, CWR and ECE as one number, as Accurate ECN reads them (RFC 9768, section 3.1).
    pub const fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }

    /// With `others` set as well, if `set`.
    #[must_use]
    pub const fn with_if(self, others: Flags, set: bool) -> Flags {
        if set { Flags(self.0 | others.0) } else { self }
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The names of the flags that are set, as `SYN ACK`.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set: Vec<&str> = Flags::NAMES.iter().filter(|(flag, _)| self.has(*flag)).map(|&(_, name)| name).collect();
        f.pad(&set.join(" "))
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// SACK blocks `[from, to)` in the header's order (RFC 2018, section 3). A header holds four at most.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); SackBlocks::MAX_BLOCKS],
    count: u8,
}

impl SackBlocks {
    pub const MAX_BLOCKS: usize = 4;

    /// Appends a block, unless there are [`SackBlocks::MAX_BLOCKS`].
    pub fn push(&mut self, from: u32, to: u32) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.count)) {
            *block = (from, to);
            self.count += 1;
        }
    }

    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_show_their_names_in_the_header_s_order() {
        assert_eq!("SYN ECE CWR", (Flags::CWR | Flags::SYN | Flags::ECE).to_string());
        assert_eq!("", Flags::default().to_string());
    }

    #[test]
    fn a_fifth_block_is_left_out() {
        let mut blocks = SackBlocks::default();
        (0..5).for_each(|at| blocks.push(at, at + 1));
        assert_eq!([(0, 1), (1, 2), (2, 3), (3, 4)], blocks.as_slice());
    }
}
