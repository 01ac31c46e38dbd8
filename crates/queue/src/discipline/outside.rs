//! A queue whose packets wait somewhere else, such as in a kernel: it counts them, and does what it is told.
//!
//! It takes in every packet and lets none go by itself ([`Discipline::take`] answers that there is none). Whoever has the packets says when
//! one has left ([`Outside::release`]) and when one was dropped ([`Outside::lose`]), so that the measures of such a queue are those of any.

use std::collections::VecDeque;

use ecnlab_units::{Rate, Rng, Span, Time};

use super::{Counters, Deed, Discipline, Frame, Take};
use crate::aqm::Cause;
use crate::registry::{DisciplineEntry, DisciplineKind, Holds};

/// What a composition with such a queue names. It stands in no registry: a scenario says `kernel = NAME`.
pub static ENTRY: DisciplineEntry = DisciplineEntry {
    name: "kernel",
    title: "A queue of a kernel",
    summary: "Packets wait in a kernel, under a queueing discipline of its own.",
    source: "Linux, tc(8)",
    parameters: &[],
    holds: Holds::Law,
    gauges: &[],
    bands: &[],
    marks: |_| Some(ecnlab_units::Level::Congested),
    check: |_, _| Vec::new(),
    busy: &[],
    kind: DisciplineKind::Outside,
};

/// A queueing discipline of a kernel, by the name that it has there, and its parameters as they were written, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelQueue {
    /// Its name, such as "fq_codel".
    pub name: String,
    /// Each parameter's name and its value.
    pub arguments: Vec<(String, String)>,
}

/// A queue whose packets wait outside.
pub struct Outside<F> {
    /// In the order in which they came.
    waiting: VecDeque<(F, Time)>,
    bytes: u64,
    /// How many of the last ones nobody outside has been told of.
    untold: usize,
    counters: Counters,
}

impl<F> Default for Outside<F> {
    fn default() -> Outside<F> {
        Outside { waiting: VecDeque::new(), bytes: 0, untold: 0, counters: Counters::default() }
    }
}

impl<F: Frame> Outside<F> {
    /// The packets that have come since this was asked last.
    pub fn newcomers(&mut self) -> impl Iterator<Item = &F> {
        let untold = std::mem::take(&mut self.untold);
        self.waiting.range(self.waiting.len() - untold..).map(|(frame, _)| frame)
    }

    /// The first waiting packet of which this holds has left, or is to be marked and has left; returns it and how long it has waited.
    pub fn release(&mut self, is_it: impl Fn(&F) -> bool, marked: impl Fn(&F) -> bool, now: Time) -> Option<(F, Span)> {
        let (frame, arrived) = self.remove(is_it)?;
        if marked(&frame) {
            self.counters.marked[Cause::Early] += 1;
        }
        self.counters.departed.add(frame.size());
        Some((frame, now.since(arrived)))
    }

    /// The first waiting packet of which this holds was dropped, for a reason that whoever has the packets knows.
    pub fn lose(&mut self, is_it: impl Fn(&F) -> bool, cause: Cause) -> Option<F> {
        let (frame, _) = self.remove(is_it)?;
        self.counters.dropped[cause].add(frame.size());
        Some(frame)
    }

    fn remove(&mut self, is_it: impl Fn(&F) -> bool) -> Option<(F, Time)> {
        let place = self.waiting.iter().position(|(frame, _)| is_it(frame))?;
        let (frame, arrived) = self.waiting.remove(place)?;
        self.bytes -= u64::from(frame.size());
        self.untold = self.untold.min(self.waiting.len());
        Some((frame, arrived))
    }
}

impl<F: Frame> Discipline<F> for Outside<F> {
    fn offer(&mut self, frame: F, now: Time, _rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) {
        self.counters.arrived.add(frame.size());
        self.bytes += u64::from(frame.size());
        tell(Deed::Stored(&frame));
        self.waiting.push_back((frame, now));
        self.untold += 1;
    }

    fn take(&mut self, _now: Time, _rng: &mut Rng, _tell: &mut impl FnMut(Deed<F>)) -> Take<F> {
        Take::Empty
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn expire(&mut self, _now: Time, _rng: &mut Rng) {}

    fn retune(&mut self, _rate: Rate) {}

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn frames(&self, show: &mut dyn FnMut(&F)) {
        self.waiting.iter().for_each(|(frame, _)| show(frame));
    }

    fn counters(&self, _band: u8) -> &Counters {
        &self.counters
    }

    fn average(&self) -> Option<f64> {
        None
    }

    fn gauges(&self, _show: &mut dyn FnMut(&'static str, f64)) {}

    fn assert_conservation(&self) {
        self.counters.assert_conservation(self.waiting.len(), self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Ecn;

    use super::*;
    use crate::conformance::Packet;

    #[test]
    fn packets_leave_as_they_are_told_and_every_one_is_counted() {
        let mut queue = Outside::default();
        let mut rng = Rng::for_role(1, "outside");
        for flow in 0..4 {
            queue.offer(Packet { flow, ecn: Ecn::Ect0, ..Packet::PLAIN }, Time::ZERO, &mut rng, &mut |_| {});
        }
        assert_eq!((4, 0), (queue.newcomers().count(), queue.newcomers().count()));
        let later = Time::ZERO + Span::from_millis(3);
        let (frame, waited) = queue.release(|frame| frame.flow == 2, |_| true, later).unwrap();
        assert_eq!((2, Span::from_millis(3)), (frame.flow, waited));
        assert!(queue.release(|frame| frame.flow == 2, |_| true, later).is_none(), "it is gone");
        assert!(queue.lose(|frame| frame.flow == 0, Cause::Overflow).is_some());
        queue.assert_conservation();
        let counted = queue.total();
        assert_eq!((2, 1, 1, 1), (queue.len(), counted.departed.packets, counted.dropped_packets(), counted.marked_packets()));
        assert_eq!(1, counted.dropped[Cause::Overflow].packets);
        assert!(matches!(queue.take(later, &mut rng, &mut |_| {}), Take::Empty));
    }
}
