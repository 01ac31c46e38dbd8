//! Impairments: what happens to packets at the entry of a link, before its queue. ECN bits are changed or punished, packets are lost at
//! random or by their number, and scripts say what becomes of single ones.
//!
//! What is done to ECN is what was met on the Internet: codepoints cleared by routers (Bauer, Beverly and Berger 2011),
//! and connection setups that middleboxes reset, drop or strip of their flags (RFC 3168, section 6.1.1.1; Medina, Allman and Floyd 2005).

use ecnlab_transport::Role;
use ecnlab_units::{Ecn, Rng, parameters, words};

use crate::packet::Packet;
use crate::probe::MarkOrDrop;
use crate::script::{Fate, Script};

parameters! {
    /// What a link does to packets as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// What the path does to ECN: nothing; clear ECT and CE; drop packets with ECT or CE; clear ECE and CWR of SYN and SYN-ACK; drop
        /// ECN-setup SYNs.
        #[source("Bauer, Beverly and Berger 2011; RFC 3168, section 6.1.1.1")]
        pub ecn: EcnPath = "keep";
        /// Probability that a packet is lost before the queue, each independently of the others.
        #[source("ns-2 2.35, ErrorModel")]
        #[off("1", "every packet is lost")]
        pub loss: f64 = "0", 0..=1;
        /// One packet in so many is lost before the queue: the last of each so many that come; 0 loses none.
        #[source("RFC 3649, section 2: the deterministic model of response functions; ns-2 2.35, ErrorModel/Periodic")]
        #[off("1", "every packet is lost")]
        pub loss_every: u64 = "0", 0..=1e12, "packets";
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

/// What a link does to packets before they wait.
#[derive(Clone, Debug, Default)]
pub struct ImpairmentSpec {
    pub ecn: EcnPath,
    /// Probability of a random loss.
    pub loss: f64,
    /// Of each so many packets the last is lost; 0 loses none.
    pub loss_every: u64,
    pub script: Script,
}

/// The impairments of a link as they run.
pub struct Impairment {
    spec: ImpairmentSpec,
    rng: Rng,
    /// Packets since the last periodic loss.
    passed: u64,
    losses: Losses,
    before: Losses,
}

/// Packets that never came to the queue: lost at random or by their number, and dropped for their ECN bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    pub lost: u64,
    pub ecn: u64,
}

impl ImpairmentSpec {
    /// As a scenario sets it; nothing if packets pass as they are.
    pub fn new(settings: Settings) -> Option<Box<ImpairmentSpec>> {
        let Settings { ecn, loss, loss_every } = settings;
        let impairs = ecn != EcnPath::Keep || loss > 0.0 || loss_every > 0;
        impairs.then(|| Box::new(ImpairmentSpec { ecn, loss, loss_every, script: Script::default() }))
    }

    /// A script and nothing else.
    pub fn scripted(script: Script) -> Option<Box<ImpairmentSpec>> {
        Some(Box::new(ImpairmentSpec { script, ..ImpairmentSpec::default() }))
    }
}

impl Impairment {
    pub fn new(spec: ImpairmentSpec, rng: Rng) -> Impairment {
        Impairment { spec, rng, passed: 0, losses: Losses::default(), before: Losses::default() }
    }

    /// Lets a packet through or not; returns what is to be counted. All but a mark lose it.
    pub fn impair(&mut self, packet: &mut Packet) -> Option<MarkOrDrop> {
        if self.impair_ecn(packet) {
            self.losses.ecn += 1;
            return Some(MarkOrDrop::EcnRefused);
        }
        if self.is_lost() {
            self.losses.lost += 1;
            return Some(MarkOrDrop::Lost);
        }
        match self.spec.script.fate(packet.seq) {
            Fate::Pass => None,
            Fate::Drop => Some(MarkOrDrop::ScriptDropped),
            Fate::Mark(level) => {
                let marked = packet.dialect().mark(packet.ecn, level);
                let before = std::mem::replace(&mut packet.ecn, marked);
                (marked != before).then_some(MarkOrDrop::ScriptMarked)
            }
        }
    }

    fn is_lost(&mut self) -> bool {
        self.passed += 1;
        let due = self.passed == self.spec.loss_every;
        if due {
            self.passed = 0;
        }
        due || self.spec.loss > 0.0 && self.rng.uniform() < self.spec.loss
    }

    /// True if the path drops the packet for what it says of ECN.
    fn impair_ecn(&self, packet: &mut Packet) -> bool {
        let opens = packet.role == Role::Syn;
        match self.spec.ecn {
            EcnPath::Keep => {}
            EcnPath::Bleach => packet.ecn = Ecn::NotEct,
            EcnPath::Drop => return packet.ecn.is_capable(),
            EcnPath::ClearFlags if opens => packet.bits = packet.bits.without_ecn(),
            EcnPath::ClearFlags => {}
            EcnPath::DropSetup => return opens && packet.bits.ece() && packet.bits.cwr(),
        }
        false
    }

    /// Starts the measured interval.
    pub fn begin_measuring(&mut self) {
        self.before = self.losses;
    }

    /// What was lost in the measured interval.
    pub fn losses(&self) -> Losses {
        Losses { lost: self.losses.lost - self.before.lost, ecn: self.losses.ecn - self.before.ecn }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_transport::{Ack, Segment};
    use ecnlab_units::{Dialect, Time};

    use super::*;
    use crate::packet::Origin;

    const ORIGIN: Origin = Origin { flow: 0, cursor: 0, connection: 0, dialect: Dialect::Mecn, datagrams: false };

    fn data(ecn: Ecn) -> Packet {
        let segment = Segment { seq: 5, size: 1000, role: Role::Plain, ecn, cwr: true, ece: false, retransmission: false };
        Packet::of_segment(&segment, ORIGIN, Time::ZERO, 0)
    }

    fn syn() -> Packet {
        let segment = Segment { seq: 0, size: 40, role: Role::Syn, ecn: Ecn::NotEct, cwr: true, ece: true, retransmission: false };
        Packet::of_segment(&segment, ORIGIN, Time::ZERO, 0)
    }

    fn syn_ack() -> Packet {
        Packet::of_ack(&Ack { role: Role::Syn, ece: true, ..Ack::plain(1, 40) }, ORIGIN)
    }

    /// What comes out of a path: the IP header's codepoint, CWR and ECE; nothing if it is gone.
    fn behind(ecn: EcnPath, mut packet: Packet) -> Option<(Ecn, bool, bool)> {
        let mut path = Impairment::new(ImpairmentSpec { ecn, ..ImpairmentSpec::default() }, Rng::for_role(1, "loss 0"));
        let gone = path.impair(&mut packet).is_some();
        assert_eq!(u64::from(gone), path.losses().ecn);
        (!gone).then_some((packet.ecn, packet.bits.cwr(), packet.bits.ece()))
    }

    #[test]
    fn each_impairment_touches_its_own_bits_and_no_others() {
        let cases = [
            (EcnPath::Keep, [Some((Ecn::Ect0, true, false)), Some((Ecn::Ce, true, false)), Some((Ecn::NotEct, true, true))]),
            (EcnPath::Bleach, [Some((Ecn::NotEct, true, false)), Some((Ecn::NotEct, true, false)), Some((Ecn::NotEct, true, true))]),
            (EcnPath::Drop, [None, None, Some((Ecn::NotEct, true, true))]),
            (EcnPath::ClearFlags, [Some((Ecn::Ect0, true, false)), Some((Ecn::Ce, true, false)), Some((Ecn::NotEct, false, false))]),
            (EcnPath::DropSetup, [Some((Ecn::Ect0, true, false)), Some((Ecn::Ce, true, false)), None]),
        ];
        for (ecn, expected) in cases {
            assert_eq!(expected, [data(Ecn::Ect0), data(Ecn::Ce), syn()].map(|packet| behind(ecn, packet)), "{ecn:?}");
        }
    }

    #[test]
    fn an_answer_to_a_setup_passes_where_setups_are_dropped_and_loses_its_flags_where_flags_are_cleared() {
        assert_eq!(Some((Ecn::NotEct, false, true)), behind(EcnPath::DropSetup, syn_ack()));
        assert_eq!(Some((Ecn::NotEct, false, false)), behind(EcnPath::ClearFlags, syn_ack()));
    }

    #[test]
    fn random_losses_are_as_frequent_as_declared() {
        let mut path = Impairment::new(ImpairmentSpec { loss: 0.1, ..ImpairmentSpec::default() }, Rng::for_role(1, "loss 0"));
        let lost = (0..100_000).filter(|_| path.impair(&mut data(Ecn::Ect0)) == Some(MarkOrDrop::Lost)).count();
        assert!((9_700..10_300).contains(&lost), "{lost}");
        assert_eq!(Losses { lost: lost as u64, ecn: 0 }, path.losses());
    }

    #[test]
    fn periodic_losses_take_the_last_of_each_so_many() {
        let mut path = Impairment::new(ImpairmentSpec { loss_every: 4, ..ImpairmentSpec::default() }, Rng::for_role(1, "loss 0"));
        let lost: Vec<usize> = (1..=12).filter(|_| path.impair(&mut data(Ecn::Ect0)) == Some(MarkOrDrop::Lost)).collect();
        assert_eq!(vec![4, 8, 12], lost);
        assert_eq!(Losses { lost: 3, ecn: 0 }, path.losses());
    }

    #[test]
    fn a_scripted_mark_is_as_loud_as_the_script_says() {
        use ecnlab_units::Level;
        let script = Script::new(Vec::new(), vec![(5, 0, Level::Incipient), (5, 1, Level::Congested)], Vec::new());
        let mut path = Impairment::new(*ImpairmentSpec::scripted(script).unwrap(), Rng::for_role(1, "loss 0"));
        let marks = [(); 3].map(|()| {
            let mut packet = data(Ecn::Ect0);
            (path.impair(&mut packet), packet.ecn)
        });
        assert_eq!([(Some(MarkOrDrop::ScriptMarked), Ecn::Ect1), (Some(MarkOrDrop::ScriptMarked), Ecn::Ce), (None, Ecn::Ect0)], marks);
    }
}
