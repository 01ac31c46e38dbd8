//! Mirror of a queue whose packets wait in a kernel: it counts them as they enter and leave.
//!
//! It accepts every packet and dequeues none by itself ([`Discipline::dequeue`] returns that it is empty). Its owner reports each packet that
//! has left the kernel's queue ([`KernelQueueMirror::on_kernel_dequeue`]) or was dropped there ([`KernelQueueMirror::on_kernel_drop`]). So such a
//! queue has the same measures as any other.

use std::collections::VecDeque;

use ecnlab_units::{Rng, Span, Time};

use super::entry::{ChildKind, DisciplineEntry, DisciplineKind};
use super::{DequeueOutcome, Discipline, QueueCounters, QueueEvent, QueueItem};
use crate::aqm::SignalCause;

/// Discipline of a config with such a queue. It is in no registry: a scenario writes `kernel = NAME`.
pub static ENTRY: DisciplineEntry = DisciplineEntry {
    name: "kernel",
    title: "A queue of a kernel",
    summary: "Packets wait in a kernel, under a queueing discipline of its own.",
    source: "Linux, tc(8)",
    child: ChildKind::Buffer,
    lowest_mark: |_| Some(ecnlab_units::CongestionLevel::Congested),
    kind: DisciplineKind::KernelMirror,
    ..DisciplineEntry::DEFAULTS
};

/// A queueing discipline of a kernel, by the name that it has there, and its parameters as they were written, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelQdisc {
    /// Its name, such as "fq_codel".
    pub name: String,
    /// Each parameter's name and its value.
    pub arguments: Vec<(String, String)>,
}

/// Mirror of a queue whose packets wait in a kernel: it follows what the kernel reports.
pub struct KernelQueueMirror<F> {
    /// In the order in which they came.
    waiting: VecDeque<(F, Time)>,
    bytes: u64,
    /// Number of packets at the end that [`arrivals_since_last_call`](Self::drain_unreported) has not returned yet.
    unreported: usize,
    counters: QueueCounters,
}

impl<F> Default for KernelQueueMirror<F> {
    fn default() -> KernelQueueMirror<F> {
        KernelQueueMirror { waiting: VecDeque::new(), bytes: 0, unreported: 0, counters: QueueCounters::default() }
    }
}

impl<F: QueueItem> KernelQueueMirror<F> {
    /// The packets that have come since the last call.
    pub fn arrivals_since_last_call(&mut self) -> impl Iterator<Item = &F> {
        let unreported = std::mem::take(&mut self.unreported);
        self.waiting.range(self.waiting.len() - unreported..).map(|(packet, _)| packet)
    }

    /// The first waiting packet that matches has left the kernel's queue, perhaps marked; returns it and its sojourn time.
    pub fn on_kernel_dequeue(&mut self, matches_packet: impl Fn(&F) -> bool, marked: impl Fn(&F) -> bool, now: Time) -> Option<(F, Span)> {
        let (packet, arrived) = self.remove_first(matches_packet)?;
        if marked(&packet) {
            self.counters.marked[SignalCause::Early] += 1;
        }
        self.counters.departed.count_packet(packet.size());
        Some((packet, now.since(arrived)))
    }

    /// The first waiting packet that matches was dropped in the kernel, for this cause.
    pub fn on_kernel_drop(&mut self, matches_packet: impl Fn(&F) -> bool, cause: SignalCause) -> Option<F> {
        let (packet, _) = self.remove_first(matches_packet)?;
        self.counters.dropped[cause].count_packet(packet.size());
        Some(packet)
    }

    fn remove_first(&mut self, matches_packet: impl Fn(&F) -> bool) -> Option<(F, Time)> {
        let position = self.waiting.iter().position(|(packet, _)| matches_packet(packet))?;
        let (packet, arrived) = self.waiting.remove(position)?;
        self.bytes -= u64::from(packet.size());
        self.unreported = self.unreported.min(self.waiting.len());
        Some((packet, arrived))
    }
}

impl<F: QueueItem> Discipline<F> for KernelQueueMirror<F> {
    fn enqueue(&mut self, packet: F, now: Time, _rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        self.counters.arrived.count_packet(packet.size());
        self.bytes += u64::from(packet.size());
        on_event(QueueEvent::Stored(&packet));
        self.waiting.push_back((packet, now));
        self.unreported += 1;
    }

    fn dequeue(&mut self, _now: Time, _rng: &mut Rng, _tell: &mut impl FnMut(QueueEvent<F>)) -> DequeueOutcome<F> {
        DequeueOutcome::Empty
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each_packet(&self, visit: &mut dyn FnMut(&F)) {
        self.waiting.iter().for_each(|(packet, _)| visit(packet));
    }

    fn band_counters(&self, _band: u8) -> &QueueCounters {
        &self.counters
    }

    fn assert_conservation(&self) {
        self.counters.assert_conservation(self.waiting.len(), self.bytes);
    }
}
