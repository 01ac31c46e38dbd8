//! Competing flows, and Jain's index of their shares of the path.
//!
//! The direction of a connection with more data competes: the other carries its requests or ACKs. A flow that was short and small does not
//! compete: it carried less than 1 % of the largest flow's data, and its packets span less than half of the measured interval. A flow that
//! spans half of it counts with any amount of data, since it may be starved instead of small.

use ecnlab_units::Time;
use ecnlab_units::fairness::JainIndex;

/// A flow with less data than the largest's, divided by this, is small.
const SMALL_FLOW_DIVISOR: u64 = 100;

/// Flows that are kept until the end of the file, when it is known which of them compete.
const MAX_CANDIDATES: usize = 1 << 17;

/// One flow's figures for Jain's index: its first and last packet, and its bytes as in [`crate::flow::FlowCounters`].
#[derive(Clone, Copy, Debug)]
pub struct FairnessCandidate {
    pub flow: u32,
    pub begin: Time,
    pub end: Time,
    pub bytes: [u64; 3],
}

#[derive(Debug, Default)]
pub struct FairnessCandidates {
    candidates: Vec<FairnessCandidate>,
    largest: u64,
    /// Candidates left out because the list was full, and how many more until it is searched for those that cannot compete.
    pub left_out: u64,
    until_prune: usize,
}

/// The flows that compete, in the order of their numbers, and Jain's index of their bytes; no number for fewer than two.
#[derive(Clone, Debug)]
pub struct FairnessSummary {
    pub flows: Vec<u32>,
    pub jain: [f64; 3],
}

impl FairnessCandidate {
    /// Data that arrived newly and in order.
    fn goodput_bytes(&self) -> u64 {
        self.bytes[1]
    }

    fn competes(&self, largest: u64, from: Time, to: Time) -> bool {
        let overlap = self.end.min(to).since(self.begin.max(from));
        let is_inside = self.begin <= to && from <= self.end;
        is_inside && (self.goodput_bytes().saturating_mul(SMALL_FLOW_DIVISOR) >= largest || overlap.picos() >= to.since(from).picos() / 2)
    }
}

impl FairnessCandidates {
    /// Adds a connection that has ended, by its flows. The measured interval is from `from` to `now` or later.
    pub fn add_connection(&mut self, flows: &[FairnessCandidate], from: Time, now: Time) {
        let Some(larger) = flows.iter().copied().reduce(|one, other| if other.goodput_bytes() > one.goodput_bytes() { other } else { one })
        else {
            return;
        };
        self.largest = self.largest.max(larger.goodput_bytes());
        if self.candidates.len() == MAX_CANDIDATES && self.until_prune == 0 {
            let largest = self.largest;
            self.candidates.retain(|candidate| candidate.competes(largest, from, now));
            self.until_prune = MAX_CANDIDATES;
        }
        self.until_prune = self.until_prune.saturating_sub(1);
        if self.candidates.len() < MAX_CANDIDATES {
            self.candidates.push(larger);
        } else {
            self.left_out += 1;
        }
    }

    /// The flows that compete in the measured interval.
    pub fn into_competing(mut self, from: Time, to: Time) -> FairnessSummary {
        let largest = self.largest;
        self.candidates.retain(|candidate| candidate.competes(largest, from, to));
        let mut jain = [JainIndex::default(); 3];
        for candidate in &self.candidates {
            (0..3).for_each(|kind| jain[kind].add_share(candidate.bytes[kind] as f64));
        }
        let mut flows: Vec<u32> = self.candidates.iter().map(|candidate| candidate.flow).collect();
        flows.sort_unstable();
        let jain = if flows.len() < 2 { [f64::NAN; 3] } else { jain.map(|shares| shares.value()) };
        FairnessSummary { flows, jain }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn flow(flow: u32, begin: u64, end: u64, data: u64) -> FairnessCandidate {
        FairnessCandidate { flow, begin: at(begin), end: at(end), bytes: [data + 40, data, data] }
    }

    fn competing_flows(connections: &[&[FairnessCandidate]]) -> FairnessSummary {
        let mut candidates = FairnessCandidates::default();
        connections.iter().for_each(|flows| candidates.add_connection(flows, at(0), at(100)));
        candidates.into_competing(at(0), at(100))
    }

    #[test]
    fn the_direction_of_requests_does_not_compete() {
        let alone = competing_flows(&[&[flow(0, 0, 100, 400), flow(1, 0, 100, 9000)]]);
        assert_eq!(vec![1], alone.flows);
        assert!(alone.jain.iter().all(|index| index.is_nan()));
        let two = competing_flows(&[&[flow(0, 0, 100, 400), flow(1, 0, 100, 9000)], &[flow(2, 0, 100, 3000), flow(3, 0, 100, 30)]]);
        assert_eq!(vec![1, 2], two.flows);
        assert_eq!(12000.0 * 12000.0 / (2.0 * (9000.0 * 9000.0 + 3000.0 * 3000.0)), two.jain[1]);
    }

    #[test]
    fn a_short_small_flow_does_not_compete_and_a_starved_one_does() {
        let flows = [flow(0, 0, 100, 100_000), flow(1, 10, 12, 999), flow(2, 10, 12, 1000), flow(3, 40, 90, 0), flow(4, 41, 90, 0)];
        let connections = flows.each_ref().map(std::slice::from_ref);
        assert_eq!(vec![0, 2, 3], competing_flows(&connections).flows);
    }

    #[test]
    fn a_flow_outside_of_the_interval_does_not_compete() {
        let mut candidates = FairnessCandidates::default();
        candidates.add_connection(&[flow(0, 0, 10, 0)], at(20), at(100));
        candidates.add_connection(&[flow(1, 0, 100, 0)], at(20), at(100));
        candidates.add_connection(&[flow(2, 60, 100, 0)], at(20), at(50));
        assert_eq!(vec![1], candidates.into_competing(at(20), at(50)).flows);
    }

    /// Two hundred thousand short flows and then three large ones: all of these are kept.
    #[test]
    fn many_small_flows_do_not_displace_those_that_compete() {
        let mut candidates = FairnessCandidates::default();
        for number in 0..200_000 {
            candidates.add_connection(&[flow(number, 1, 2, 5)], at(0), at(100));
            if number == 100_000 {
                candidates.add_connection(&[flow(1_000_000, 0, 100, 1_000_000)], at(0), at(100));
            }
        }
        (1..3).for_each(|number| candidates.add_connection(&[flow(1_000_000 + number, 0, 100, 1_000_000)], at(0), at(100)));
        assert_eq!(0, candidates.left_out);
        assert_eq!(vec![1_000_000, 1_000_001, 1_000_002], candidates.into_competing(at(0), at(100)).flows);
    }
}
