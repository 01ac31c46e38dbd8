//! What a connection has to send, segment by segment: which ones open and close it, and how much application data each carries.
//!
//! ```text
//! segment   0       1 .. n-1               n           n + 1
//!           SYN     full payload each      the rest    FIN
//!           carries 0                                  carries 0
//! ```
//!
//! There is a SYN where the handshake has one, and a FIN behind the last demand of a connection that closes. A connection that is kept has a
//! short segment at the end of each transfer. The sender keeps the plan; who asks at the sink asks it too, as what is passed there has arrived.

use std::collections::VecDeque;

use crate::application::Demand;
use crate::segment::Role;
use crate::settings::Settings;

/// No segment has this number.
const NEVER: u64 = u64::MAX;

/// The segments of a connection, as far as it is known what there is to send. What every segment reads stands first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Plan {
    /// The first segment that is not passed and carries less than a full payload.
    first_short: u64,
    segments: u64,
    /// What an endless flow has none of, so that it takes no room among what every segment reads.
    ends: Option<Box<Ends>>,
    /// Bytes of application data in a full segment.
    full: u32,
    syn: bool,
    has_fin: bool,
}

/// The ends of transfers and of the connection.
#[derive(Clone, Debug, Default)]
struct Ends {
    fin: Option<u64>,
    /// Segments that are not passed and carry less, with what they carry: the last ones of transfers and the FIN. The SYN needs no entry.
    short: VecDeque<(u64, u32)>,
    /// By how much the short segments that are passed fall short of full ones, in bytes, and how many they are.
    shortfall: u64,
    passed: u64,
}

impl Plan {
    pub fn new(settings: &Settings, demand: &Demand) -> Plan {
        let (syn, full) = (settings.syn(), settings.payload());
        let mut plan =
            Plan { first_short: if syn { 0 } else { NEVER }, segments: u64::from(syn), ends: None, full, syn, has_fin: settings.fin };
        plan.add(demand);
        plan
    }

    /// There is more to send. The last demand of a connection that closes brings its FIN.
    pub fn add(&mut self, demand: &Demand) {
        self.segments = self.segments.saturating_add(demand.bytes.div_ceil(u64::from(self.full)));
        let rest = (demand.bytes % u64::from(self.full)) as u32;
        if rest > 0 && demand != &Demand::ENDLESS {
            self.ends.get_or_insert_default().short.push_back((self.segments - 1, rest));
        }
        if demand.closes && self.has_fin {
            let ends = self.ends.get_or_insert_default();
            ends.fin = Some(self.segments);
            ends.short.push_back((self.segments, 0));
            self.segments += 1;
        }
        if self.first_short == NEVER {
            self.find_first_short();
        }
    }

    /// Segments there are to send, SYN and FIN counted.
    #[inline]
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Bytes of application data in a full segment.
    #[inline]
    pub fn full_payload(&self) -> u32 {
        self.full
    }

    /// Whether all segments before `end` that are not passed are full.
    #[inline]
    pub fn is_full_before(&self, end: u64) -> bool {
        end <= self.first_short
    }

    /// Bytes of application data in a segment that is not passed.
    pub fn payload(&self, seq: u64) -> u32 {
        if self.syn && seq == 0 {
            return 0;
        }
        self.short().find(|&&(short, _)| short == seq).map_or(self.full, |&(_, payload)| payload)
    }

    /// Bytes of application data in all segments before one that is not passed.
    pub fn bytes_before(&self, seq: u64) -> u64 {
        let ahead = self.short().take_while(|&&(short, _)| short < seq).map(|&(_, payload)| u64::from(self.full - payload));
        let syn = if self.syn { u64::from(self.full) } else { 0 };
        let passed = self.ends.as_ref().map_or(0, |ends| ends.shortfall);
        (seq * u64::from(self.full)).saturating_sub(syn + passed + ahead.sum::<u64>())
    }

    /// Segments with a full payload among all before one that is not passed.
    pub fn full_before(&self, seq: u64) -> u64 {
        let ahead = self.short().take_while(|&&(short, _)| short < seq).count() as u64;
        let passed = self.ends.as_ref().map_or(0, |ends| ends.passed);
        seq.saturating_sub(u64::from(self.syn) + passed + ahead)
    }

    /// Whether the FIN is one of the segments before this one.
    pub fn is_closed_before(&self, seq: u64) -> bool {
        self.ends.as_ref().and_then(|ends| ends.fin).is_some_and(|fin| fin < seq)
    }

    /// What a segment does to the connection.
    pub fn role(&self, seq: u64) -> Role {
        match seq {
            0 if self.syn => Role::Syn,
            _ if self.ends.as_ref().is_some_and(|ends| ends.fin == Some(seq)) => Role::Fin,
            _ => Role::Plain,
        }
    }

    /// What a segment brings that has arrived, when `delivered` more segments can be read, the last of them before `next`: the bytes that can be
    /// read, and those that it carries itself. Of a segment that is passed its `size` tells the latter.
    #[inline]
    pub fn brought(&self, seq: u64, delivered: u64, next: u64, passed: impl FnOnce() -> u32) -> (u64, u32) {
        if self.is_full_before(next.max(seq + 1)) {
            return (delivered * u64::from(self.full), self.full);
        }
        let read = self.bytes_before(next) - self.bytes_before(next - delivered);
        (read, if seq < next - delivered { passed() } else { self.payload(seq) })
    }

    /// Lets go of all segments before `next`.
    #[inline]
    pub fn pass(&mut self, next: u64) {
        if next > self.first_short {
            self.pass_short(next);
        }
    }

    #[cold]
    fn pass_short(&mut self, next: u64) {
        if let Some(ends) = &mut self.ends {
            let passed = ends.short.partition_point(|&(seq, _)| seq < next);
            ends.passed += passed as u64;
            ends.shortfall += ends.short.drain(..passed).map(|(_, payload)| u64::from(self.full - payload)).sum::<u64>();
        }
        self.find_first_short();
    }

    fn find_first_short(&mut self) {
        let first = self.short().next().map_or(NEVER, |&(seq, _)| seq);
        self.first_short = first;
    }

    fn short(&self) -> impl Iterator<Item = &(u64, u32)> {
        self.ends.iter().flat_map(|ends| &ends.short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::Handshake;

    /// Of segments with 960 bytes, and a FIN where there is a SYN to answer.
    fn plan(handshake: Handshake, demand: &Demand) -> Plan {
        let fin = handshake == Handshake::ThreeWay;
        Plan::new(&Settings { handshake, fin, packet_size: 1000, header: 40, ..profile::settings("ns2") }, demand)
    }

    #[test]
    fn a_host_s_transfer_lies_between_its_syn_and_its_fin() {
        let plan = plan(Handshake::ThreeWay, &Demand::closing(2_000));
        assert_eq!(
            (5, [Role::Syn, Role::Plain, Role::Plain, Role::Plain, Role::Fin]),
            (plan.segments(), [0, 1, 2, 3, 4].map(|seq| plan.role(seq)))
        );
        assert_eq!([0, 960, 960, 80, 0], [0, 1, 2, 3, 4].map(|seq| plan.payload(seq)));
        assert_eq!([0, 0, 960, 1_920, 2_000, 2_000], [0, 1, 2, 3, 4, 5].map(|seq| plan.bytes_before(seq)));
    }

    #[test]
    fn a_segment_s_place_in_the_data_does_not_move_when_others_are_passed() {
        let open = Demand::open(1_000);
        let mut plan = plan(Handshake::FirstPacket, &open);
        plan.add(&open);
        let before = plan.bytes_before(5);
        plan.pass(3);
        assert_eq!((2_000, 2_000), (before, plan.bytes_before(5)));
        assert_eq!((true, false), (plan.is_full_before(4), plan.is_full_before(5)));
        assert_eq!([1, 2, 2], [3, 4, 5].map(|seq| plan.full_before(seq)));
    }
}
