//! Totals of a case, for cases whose single packets depend on the memory layout of the kernel's build.

use ecnlab_units::Time;

use super::case::{Case, Packet, Side};

/// Counters agree within this share of the kernel's, or within so many packets.
const RELATIVE_TOLERANCE: f64 = 0.05;
const ABSOLUTE_TOLERANCE_PACKETS: f64 = 2.0;

/// Numbers of packets, and the completion time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseCounters {
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

impl CaseCounters {
    /// Of packets of either side or of both.
    pub fn of<'a>(case: &Case, packets: impl Iterator<Item = &'a Packet>) -> CaseCounters {
        let all = case.sent_by(Side::A).map(Packet::end_seq).max().unwrap_or(0);
        // Of a connection that had not sent all when the record ended none is complete.
        let ends = all > case.bytes_written_by_side(Side::A);
        let mut counters = CaseCounters::default();
        let mut completed: [Option<Time>; 2] = [None, None];
        for packet in packets {
            let complete = ends && if packet.side == Side::B { packet.ack >= Some(all) } else { packet.end_seq() >= all };
            let first = &mut completed[packet.side.index()];
            *first = first.or(complete.then_some(packet.sent));
            counters.count_packet(packet);
        }
        counters.completed = completed[Side::B.index()].or(completed[Side::A.index()]).map_or(f64::INFINITY, Time::seconds);
        counters
    }

    fn count_packet(&mut self, packet: &Packet) {
        if packet.side == Side::B {
            self.acks += 1;
            self.echoes += u64::from(packet.has_flag('E'));
        } else if packet.len > 0 {
            self.segments += 1;
            self.retransmissions += u64::from(packet.nth.is_some_and(|nth| nth > 0));
            self.reductions += u64::from(packet.has_flag('C'));
        }
    }

    fn counts_with_tolerances(&self) -> [(&'static str, f64, f64); 6] {
        [
            ("segments", self.segments as f64, ABSOLUTE_TOLERANCE_PACKETS),
            ("retransmissions", self.retransmissions as f64, ABSOLUTE_TOLERANCE_PACKETS),
            ("acknowledgements", self.acks as f64, ABSOLUTE_TOLERANCE_PACKETS),
            ("echoes", self.echoes as f64, ABSOLUTE_TOLERANCE_PACKETS),
            ("reductions", self.reductions as f64, ABSOLUTE_TOLERANCE_PACKETS),
            ("completion, s", self.completed, 0.0),
        ]
    }
}

/// The first total that lies apart.
pub fn first_counter_difference(ours: &CaseCounters, theirs: &CaseCounters) -> Option<String> {
    let pairs = ours.counts_with_tolerances().into_iter().zip(theirs.counts_with_tolerances());
    pairs.into_iter().find_map(|((name, our, at_least), (_, their, _))| {
        let agrees = our == their || (our - their).abs() <= (RELATIVE_TOLERANCE * their).max(at_least);
        (!agrees).then(|| format!("{name}: expected {}, got {}", format_count_or_seconds(their), format_count_or_seconds(our)))
    })
}

/// All counters, the kernel's and ours.
pub fn format_all_counters(ours: &CaseCounters, theirs: &CaseCounters) -> String {
    let pairs = ours
        .counts_with_tolerances()
        .into_iter()
        .zip(theirs.counts_with_tolerances())
        .filter(|((_, our, _), (_, their, _))| *our > 0.0 || *their > 0.0);
    pairs
        .map(|((name, our, _), (_, their, _))| format!("{name} {} of {}", format_count_or_seconds(our), format_count_or_seconds(their)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A count as it is, a time to the microsecond.
fn format_count_or_seconds(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { format!("{value:.6}") }
}
