//! What paths do to ECN, as it was met on the Internet: codepoints cleared by routers (Bauer, Beverly and Berger 2011), and connection setups
//! that middleboxes reset, drop or strip of their flags (RFC 3168, section 6.1.1.1; Medina, Allman and Floyd 2005). And marks written at
//! random, as the deterministic and the probabilistic model of marking have them.

use ecnlab_transport::Role;
use ecnlab_units::{Ecn, Level, Rng, Values, parameters, words};

use super::{Deed, Entry, Part};
use crate::packet::Packet;

pub static ENTRY: Entry = Entry {
    name: "ecn-path",
    title: "A path that tampers with ECN",
    summary: "Clears ECN codepoints or flags, or drops packets for them.",
    source: "Bauer, Beverly and Berger 2011; RFC 3168, section 6.1.1.1",
    parameters: Settings::PARAMETERS,
    ..Entry::with(|values| Part::Ecn(Settings::of(values).path))
};

pub static MARK: Entry = Entry {
    name: "mark",
    title: "Random marks",
    summary: "Marks packets with a probability, each independently of the others; those that cannot be marked pass as they are.",
    source: "RFC 3168, section 5",
    parameters: MarkSettings::PARAMETERS,
    ..Entry::with(|values| Part::Mark(Marking::of(values)))
};

parameters! {
    /// A path that tampers with ECN as a scenario sets it.
    struct Settings {
        /// What it does: clear ECT and CE; drop packets with ECT or CE; clear ECE and CWR of SYN and SYN-ACK; drop ECN-setup SYNs; nothing.
        #[source("Bauer, Beverly and Berger 2011; RFC 3168, section 6.1.1.1")]
        #[must be given]
        #[off("keep", "nothing is done")]
        pub path: EcnPath = "bleach";
    }
}

words! {
    /// What a path does to ECN.
    #[derive(Default)]
    pub enum EcnPath {
        #[default]
        Keep = "keep",
        /// Clears ECT and CE to Not-ECT.
        Bleach = "bleach",
        /// Drops packets that carry ECT or CE.
        Drop = "drop",
        /// Clears ECE and CWR of SYN and SYN-ACK, so that ECN is not agreed upon.
        ClearFlags = "clear-flags",
        /// Drops ECN-setup SYNs.
        DropSetup = "drop-setup",
    }
}

parameters! {
    /// Random marks as a scenario sets them.
    struct MarkSettings {
        /// Probability that a packet is marked.
        #[source("RFC 3168, section 5")]
        #[must be given]
        #[off("0", "no packet is marked")]
        pub rate: f64 = "0.01", 0..=1;
        /// How loud: CE, or MECN's quieter level, which only senders with ecn_echo = "mecn" read.
        #[source("RFC 3168, section 5; Durresi, Sridharan, Liu, Goyal and Jain 2001")]
        pub level: Loudness = "congested";
    }
}

words! {
    /// A level of marks.
    pub enum Loudness { Congested = "congested", Incipient = "incipient" }
}

/// Marks packets at random.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    rate: f64,
    level: Level,
}

impl Marking {
    fn of(values: &Values) -> Marking {
        let MarkSettings { rate, level } = MarkSettings::of(values);
        Marking { rate, level: if level == Loudness::Congested { Level::Congested } else { Level::Incipient } }
    }

    pub fn meet(&self, rng: &mut Rng) -> Deed {
        if rng.uniform() < self.rate { Deed::Mark(self.level) } else { Deed::Pass }
    }
}

impl EcnPath {
    pub fn meet(self, packet: &mut Packet) -> Deed {
        let opens = packet.role() == Role::Syn;
        let before = (packet.ecn, packet.bits);
        match self {
            EcnPath::Bleach => packet.ecn = Ecn::NotEct,
            EcnPath::ClearFlags if opens => packet.bits = packet.bits.without_ecn(),
            EcnPath::Drop if packet.ecn.is_capable() => return Deed::Refuse,
            EcnPath::DropSetup if opens && packet.bits.ece() && packet.bits.cwr() => return Deed::Refuse,
            EcnPath::Keep | EcnPath::ClearFlags | EcnPath::Drop | EcnPath::DropSetup => {}
        }
        if before == (packet.ecn, packet.bits) { Deed::Pass } else { Deed::Clear }
    }
}
