//! The packet of the suite: it knows its number, so that order and identity can be checked.

use ecnlab_units::{Dialect, Ecn, Span};

use crate::Frame;

/// A packet with everything that a queue may see of one, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub number: u64,
    pub flow: u64,
    pub size: u32,
    pub ecn: Ecn,
    /// What the codepoints mean on its network.
    pub dialect: Dialect,
    pub rtt: Span,
}

impl Packet {
    /// A packet of 1000 bytes that is ECN-capable, of flow 0 and without a round-trip time.
    pub const PLAIN: Packet = Packet { number: 0, flow: 0, size: 1000, ecn: Ecn::Ect0, dialect: Dialect::Classic, rtt: Span::ZERO };

    /// Whether `later` is this packet with a mark that a router may write: it is ECN-capable, and the mark is louder than what it carried.
    pub fn may_become(&self, later: &Packet) -> bool {
        let louder = self.dialect.level(later.ecn) > self.dialect.level(self.ecn);
        *later == Packet { ecn: later.ecn, ..*self } && self.ecn.is_capable() && later.ecn.is_capable() && louder
    }
}

impl Frame for Packet {
    fn size(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn rtt(&self) -> Span {
        self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_may_become_louder_and_nothing_else() {
        let packet = |dialect, ecn| Packet { dialect, ecn, ..Packet::PLAIN };
        let may = |dialect, from, to| packet(dialect, from).may_become(&packet(dialect, to));
        assert!(may(Dialect::Classic, Ecn::Ect0, Ecn::Ce) && may(Dialect::Classic, Ecn::Ect1, Ecn::Ce));
        assert!(may(Dialect::Mecn, Ecn::Ect0, Ecn::Ect1) && may(Dialect::Mecn, Ecn::Ect1, Ecn::Ce));
        assert!(!may(Dialect::Classic, Ecn::Ect0, Ecn::Ect1) && !may(Dialect::Classic, Ecn::NotEct, Ecn::Ce));
        assert!(!may(Dialect::Mecn, Ecn::Ce, Ecn::Ect1) && !may(Dialect::Classic, Ecn::Ce, Ecn::Ce));
        assert!(!Packet::PLAIN.may_become(&Packet { ecn: Ecn::Ce, size: 999, ..Packet::PLAIN }));
    }
}
