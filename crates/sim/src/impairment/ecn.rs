//! ECN path problems as measured on the Internet, and random marks.
//!
//! Routers clear codepoints (Bauer, Beverly and Berger 2011). Middleboxes reset, drop or strip the flags of connection setups (RFC 3168,
//! section 6.1.1.1; Medina, Allman and Floyd 2005). Random marks follow the deterministic and the probabilistic model of marking.

use ecnlab_transport::SegmentType;
use ecnlab_units::{CongestionLevel, Ecn, Rng, Values, parameters, words};

use super::{Impairment, ImpairmentAction, ImpairmentKind};
use crate::packet::Packet;

pub static ECN_PATH: ImpairmentKind = ImpairmentKind {
    name: "ecn-path",
    title: "A path that tampers with ECN",
    summary: "Clears ECN codepoints or flags, or drops packets because of them.",
    source: "Bauer, Beverly and Berger 2011; RFC 3168, section 6.1.1.1",
    parameters: EcnPathSettings::PARAMETERS,
    ..ImpairmentKind::with_constructor(|values| Impairment::Ecn(EcnPathSettings::from_values(values).path))
};

pub static RANDOM_MARKS: ImpairmentKind = ImpairmentKind {
    name: "mark",
    title: "Random marks",
    summary: "Marks packets with a probability, each independently of the others; packets that are not ECN-capable pass unchanged.",
    source: "RFC 3168, section 5",
    parameters: RandomMarkSettings::PARAMETERS,
    ..ImpairmentKind::with_constructor(|values| Impairment::RandomMarks(RandomMarks::from_parameter_values(values)))
};

parameters! {
    /// Settings of a path that tampers with ECN.
    struct EcnPathSettings {
        /// Treatment of ECN: clear ECT and CE; drop packets with ECT or CE; clear ECE and CWR of SYN and SYN-ACK; drop ECN-setup SYNs;
        /// none.
        #[source("Bauer, Beverly and Berger 2011; RFC 3168, section 6.1.1.1")]
        #[required]
        #[off("keep", "nothing is done")]
        pub path: EcnPath = "bleach";
    }
}

words! {
    /// Treatment of ECN by a path.
    #[derive(Default)]
    pub enum EcnPath {
        #[default]
        Keep = "keep",
        /// Clears ECT and CE to Not-ECT.
        Bleach = "bleach",
        /// Drops packets that carry ECT or CE.
        Drop = "drop",
        /// Clears ECE and CWR of SYN and SYN-ACK, so that ECN is not negotiated.
        ClearFlags = "clear-flags",
        /// Drops ECN-setup SYNs.
        DropSetup = "drop-setup",
    }
}

parameters! {
    /// Settings of random marks.
    struct RandomMarkSettings {
        /// Probability that a packet is marked.
        #[source("RFC 3168, section 5")]
        #[required]
        #[off("0", "no packet is marked")]
        #[usual(0.0001..=0.5, log)]
        pub rate: f64 = "0.01", 0..=1;
        /// Level of the marks: CE, or MECN's lower level, which only senders with ecn_echo = "mecn" read.
        #[source("RFC 3168, section 5; Durresi, Sridharan, Liu, Goyal and Jain 2001")]
        pub level: MarkLevel = "congested";
    }
}

words! {
    /// Congestion level of a mark.
    pub enum MarkLevel { Congested = "congested", Incipient = "incipient" }
}

/// Marks packets at random.
#[derive(Clone, Copy, Debug)]
pub struct RandomMarks {
    rate: f64,
    level: CongestionLevel,
}

impl RandomMarks {
    fn from_parameter_values(values: &Values) -> RandomMarks {
        let RandomMarkSettings { rate, level } = RandomMarkSettings::from_values(values);
        RandomMarks { rate, level: if level == MarkLevel::Congested { CongestionLevel::Congested } else { CongestionLevel::Incipient } }
    }

    pub fn apply(&self, rng: &mut Rng) -> ImpairmentAction {
        if rng.uniform() < self.rate { ImpairmentAction::Mark(self.level) } else { ImpairmentAction::Pass }
    }
}

impl EcnPath {
    pub fn apply(self, packet: &mut Packet) -> ImpairmentAction {
        let opens = packet.segment_type() == SegmentType::Syn;
        let before = (packet.ecn, packet.flags);
        match self {
            EcnPath::Bleach => packet.ecn = Ecn::NotEct,
            EcnPath::ClearFlags if opens => packet.flags = packet.flags.without_ecn(),
            EcnPath::Drop if packet.ecn.is_capable() => return ImpairmentAction::DropForEcn,
            EcnPath::DropSetup if opens && packet.flags.ece() && packet.flags.cwr() => return ImpairmentAction::DropForEcn,
            EcnPath::Keep | EcnPath::ClearFlags | EcnPath::Drop | EcnPath::DropSetup => {}
        }
        if before == (packet.ecn, packet.flags) { ImpairmentAction::Pass } else { ImpairmentAction::ClearEcn }
    }
}
