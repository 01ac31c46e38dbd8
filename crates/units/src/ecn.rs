//! The two ECN bits of an IP header (RFC 3168, section 5), and the congestion levels that they signal.

/// ECN codepoint of a packet. The numbers are those of the IP header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not take part; congestion can only be signalled by a drop.
    #[default]
    NotEct = 0b00,
    Ect1 = 0b01,
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the two lowest bits of a byte, where IP's Traffic Class has it.
    pub const fn from_bits(byte: u8) -> Ecn {
        match byte & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// As RFC 3168 writes it.
    pub const fn rfc_name(self) -> &'static str {
        match self {
            Ecn::NotEct => "Not-ECT",
            Ecn::Ect1 => "ECT(1)",
            Ecn::Ect0 => "ECT(0)",
            Ecn::Ce => "CE",
        }
    }

    /// Whether a router may mark this packet instead of dropping it.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// Congestion level of a router's signal. Classic ECN has the higher one only; MECN calls it moderate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CongestionLevel {
    Incipient = 0,
    Congested = 1,
}

/// Meaning of the codepoints on a network (RFC 4774: alternate semantics for the ECN field).
///
/// ```text
/// (CE, ECT) of Durresi et al. 2001    here        Classic            Mecn
/// 0 0                                 NotEct      not capable        not capable
/// 0 1                                 Ect0        no congestion      no congestion
/// 1 0                                 Ect1        no congestion      incipient
/// 1 1                                 Ce          congested          moderate
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnSemantics {
    #[default]
    Classic,
    Mecn,
}

impl EcnSemantics {
    /// The congestion level that a codepoint signals.
    pub fn level_of(self, ecn: Ecn) -> Option<CongestionLevel> {
        match (self, ecn) {
            (_, Ecn::Ce) => Some(CongestionLevel::Congested),
            (EcnSemantics::Mecn, Ecn::Ect1) => Some(CongestionLevel::Incipient),
            _ => None,
        }
    }

    /// The codepoint after a mark of this level. A mark never lowers the level, and one that the codepoint cannot carry changes nothing.
    pub fn apply_mark(self, ecn: Ecn, level: CongestionLevel) -> Ecn {
        if !ecn.is_capable() || self.level_of(ecn) >= Some(level) {
            return ecn;
        }
        match (self, level) {
            (_, CongestionLevel::Congested) => Ecn::Ce,
            (EcnSemantics::Mecn, CongestionLevel::Incipient) => Ecn::Ect1,
            (EcnSemantics::Classic, CongestionLevel::Incipient) => ecn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_six_bits_of_the_traffic_class_say_nothing_of_ecn() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            assert_eq!(ecn, Ecn::from_bits(0b1011_1000 | ecn as u8));
        }
    }

    #[test]
    fn a_mark_never_weakens_and_needs_a_capable_packet() {
        for ecn_semantics in [EcnSemantics::Classic, EcnSemantics::Mecn] {
            for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                for level in [CongestionLevel::Incipient, CongestionLevel::Congested] {
                    let marked = ecn_semantics.apply_mark(ecn, level);
                    assert!(ecn_semantics.level_of(marked) >= ecn_semantics.level_of(ecn));
                    assert_eq!(ecn.is_capable(), marked.is_capable());
                }
            }
        }
        assert_eq!(Ecn::Ect1, EcnSemantics::Mecn.apply_mark(Ecn::Ect0, CongestionLevel::Incipient));
        assert_eq!(Ecn::Ect0, EcnSemantics::Classic.apply_mark(Ecn::Ect0, CongestionLevel::Incipient));
        assert_eq!(Ecn::Ce, EcnSemantics::Mecn.apply_mark(Ecn::Ect1, CongestionLevel::Congested));
    }
}
