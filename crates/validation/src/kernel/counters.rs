//! Totals of a case, for cases whose single packets depend on the memory layout of the kernel's build.

use ecnlab_units::Time;

use super::case::{Case, Packet, Side};

/// Counters agree within this share of the kernel's, or within so many packets.
const TOLERANCE: f64 = 0.05;
const COUNT_TOLERANCE: f64 = 2.0;

/// Numbers of packets, and the completion time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    segments: u64,
    retransmissions: u64,
    acks: u64,
    /// Acknowledgements with an echo of a mark.
    echoes: u64,
    /// Segments with CWR.
    reductions: u64,
    /// Time at which the last data was first acknowledged, or sent where nothing is acknowledged.
    completed: f64,
}

impl Counters {
    /// Of packets of either side or of both.
    pub fn of<'a>(case: &Case, packets: impl Iterator<Item = &'a Packet>) -> Counters {
        let all = case.sent_by(Side::A).map(Packet::end).max().unwrap_or(0);
        // Of a connection that had not sent all when the record ended none is complete.
        let ends = all > case.written_by(Side::A);
        let mut counters = Counters::default();
        let mut completed: [Option<Time>; 2] = [None, None];
        for packet in packets {
            let complete = ends && if packet.side == Side::B { packet.ack >= Some(all) } else { packet.end() >= all };
            let first = &mut completed[packet.side.index()];
            *first = first.or(complete.then_some(packet.sent));
            counters.count(packet);
        }
        counters.completed = completed[Side::B.index()].or(completed[Side::A.index()]).map_or(f64::INFINITY, Time::seconds);
        counters
    }

    fn count(&mut self, packet: &Packet) {
        if packet.side == Side::B {
            self.acks += 1;
            self.echoes += u64::from(packet.has('E'));
        } else if packet.len > 0 {
            self.segments += 1;
            self.retransmissions += u64::from(packet.nth.is_some_and(|nth| nth > 0));
            self.reductions += u64::from(packet.has('C'));
        }
    }

    fn rows(&self) -> [(&'static str, f64, f64); 6] {
        [
            ("segments", self.segments as f64, COUNT_TOLERANCE),
            ("retransmissions", self.retransmissions as f64, COUNT_TOLERANCE),
            ("acknowledgements", self.acks as f64, COUNT_TOLERANCE),
            ("echoes", self.echoes as f64, COUNT_TOLERANCE),
            ("reductions", self.reductions as f64, COUNT_TOLERANCE),
            ("completion, s", self.completed, 0.0),
        ]
    }
}

/// The first total that lies apart.
pub fn first_apart(ours: &Counters, theirs: &Counters) -> Option<String> {
    let pairs = ours.rows().into_iter().zip(theirs.rows());
    pairs.into_iter().find_map(|((name, our, at_least), (_, their, _))| {
        let agrees = our == their || (our - their).abs() <= (TOLERANCE * their).max(at_least);
        (!agrees).then(|| format!("{name}: expected {}, got {}", short(their), short(our)))
    })
}

/// All counters, the kernel's and ours.
pub fn shown(ours: &Counters, theirs: &Counters) -> String {
    let pairs = ours.rows().into_iter().zip(theirs.rows()).filter(|((_, our, _), (_, their, _))| *our > 0.0 || *their > 0.0);
    pairs.map(|((name, our, _), (_, their, _))| format!("{name} {} of {}", short(our), short(their))).collect::<Vec<_>>().join(", ")
}

/// A count as it is, a time to the microsecond.
fn short(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { format!("{value:.6}") }
}
