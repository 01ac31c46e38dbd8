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
    /// Whether a router may mark this packet instead of dropping it.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }

    /// Whether a mark would still change this packet.
    pub fn is_unmarked(self) -> bool {
        matches!(self, Ecn::Ect0 | Ecn::Ect1)
    }
}

/// How loud a router's congestion signal is. Classic ECN knows the loud one only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Congested,
}
