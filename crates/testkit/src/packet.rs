//! The packet of the suite: it knows its number, so that order and identity can be checked.

use ecnlab_units::{Ecn, EcnSemantics, Span};

use ecnlab_queue::QueueItem;

/// A packet with everything that a queue may see of one, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub number: u64,
    pub flow: u64,
    pub size: u32,
    pub ecn: Ecn,
    /// Meaning of the codepoints on its network.
    pub ecn_semantics: EcnSemantics,
    pub rtt: Span,
}

impl Packet {
    /// A packet of 1000 bytes that is ECN-capable, of flow 0 and without a round-trip time.
    pub const ECT0_1000_BYTES: Packet =
        Packet { number: 0, flow: 0, size: 1000, ecn: Ecn::Ect0, ecn_semantics: EcnSemantics::Classic, rtt: Span::ZERO };

    /// Whether `later` is this packet with a mark that a router may write: it is ECN-capable, and the mark has a higher level than it carried.
    pub fn may_be_marked_as(&self, later: &Packet) -> bool {
        let louder = self.ecn_semantics.level_of(later.ecn) > self.ecn_semantics.level_of(self.ecn);
        *later == Packet { ecn: later.ecn, ..*self } && self.ecn.is_capable() && later.ecn.is_capable() && louder
    }
}

impl QueueItem for Packet {
    fn size(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn ecn_semantics(&self) -> EcnSemantics {
        self.ecn_semantics
    }

    fn flow_key(&self) -> u64 {
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
    fn a_packet_may_only_get_a_stronger_mark() {
        let packet = |ecn_semantics, ecn| Packet { ecn_semantics, ecn, ..Packet::ECT0_1000_BYTES };
        let may = |ecn_semantics, from, to| packet(ecn_semantics, from).may_be_marked_as(&packet(ecn_semantics, to));
        assert!(may(EcnSemantics::Classic, Ecn::Ect0, Ecn::Ce) && may(EcnSemantics::Classic, Ecn::Ect1, Ecn::Ce));
        assert!(may(EcnSemantics::Mecn, Ecn::Ect0, Ecn::Ect1) && may(EcnSemantics::Mecn, Ecn::Ect1, Ecn::Ce));
        assert!(!may(EcnSemantics::Classic, Ecn::Ect0, Ecn::Ect1) && !may(EcnSemantics::Classic, Ecn::NotEct, Ecn::Ce));
        assert!(!may(EcnSemantics::Mecn, Ecn::Ce, Ecn::Ect1) && !may(EcnSemantics::Classic, Ecn::Ce, Ecn::Ce));
        assert!(!Packet::ECT0_1000_BYTES.may_be_marked_as(&Packet { ecn: Ecn::Ce, size: 999, ..Packet::ECT0_1000_BYTES }));
    }
}
