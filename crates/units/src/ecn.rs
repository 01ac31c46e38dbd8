//! The two ECN bits of an IP header (RFC 3168, section 5) and how loud a congestion signal is.

/// ECN codepoint of a packet. The numbers are those of the IP header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not take part; congestion can only be told by dropping.
    #[default]
    NotEct = 0b00,
    Ect1 = 0b01,
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the two lowest bits of a byte, where IP's Traffic Class has it.
    pub const fn of_bits(byte: u8) -> Ecn {
        match byte & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a router may mark this packet instead of dropping it.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// How loud a router's congestion signal is. Classic ECN knows the loud one only; MECN calls it moderate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Incipient = 0,
    Congested = 1,
}

/// What the codepoints mean on a network.
///
/// ```text
/// (CE, ECT) of Durresi et al. 2001    here        Classic            Mecn
/// 0 0                                 NotEct      not capable        not capable
/// 0 1                                 Ect0        no congestion      no congestion
/// 1 0                                 Ect1        no congestion      incipient
/// 1 1                                 Ce          congested          moderate
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    #[default]
    Classic,
    Mecn,
}

impl Dialect {
    /// The level that a packet carries.
    pub fn level(self, ecn: Ecn) -> Option<Level> {
        match (self, ecn) {
            (_, Ecn::Ce) => Some(Level::Congested),
            (Dialect::Mecn, Ecn::Ect1) => Some(Level::Incipient),
            _ => None,
        }
    }

    /// The packet with the level written into it. A mark never weakens, and one that cannot be carried changes nothing.
    pub fn mark(self, ecn: Ecn, level: Level) -> Ecn {
        if !ecn.is_capable() || self.level(ecn) >= Some(level) {
            return ecn;
        }
        match (self, level) {
            (_, Level::Congested) => Ecn::Ce,
            (Dialect::Mecn, Level::Incipient) => Ecn::Ect1,
            (Dialect::Classic, Level::Incipient) => ecn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_six_bits_of_the_traffic_class_say_nothing_of_ecn() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            assert_eq!(ecn, Ecn::of_bits(0b1011_1000 | ecn as u8));
        }
    }

    #[test]
    fn a_mark_never_weakens_and_needs_a_capable_packet() {
        for dialect in [Dialect::Classic, Dialect::Mecn] {
            for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                for level in [Level::Incipient, Level::Congested] {
                    let marked = dialect.mark(ecn, level);
                    assert!(dialect.level(marked) >= dialect.level(ecn));
                    assert_eq!(ecn.is_capable(), marked.is_capable());
                }
            }
        }
        assert_eq!(Ecn::Ect1, Dialect::Mecn.mark(Ecn::Ect0, Level::Incipient));
        assert_eq!(Ecn::Ect0, Dialect::Classic.mark(Ecn::Ect0, Level::Incipient));
        assert_eq!(Ecn::Ce, Dialect::Mecn.mark(Ecn::Ect1, Level::Congested));
    }
}
