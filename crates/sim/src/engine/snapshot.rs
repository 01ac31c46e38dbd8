//! Snapshot of a run in progress, and its early end.

use ecnlab_queue::{Discipline, QueueCounters};

use super::Simulation;
use crate::probe::Probe;

/// State of a measured queue now, and its counts. Counters cover the whole run, sojourn times the measured interval.
#[derive(Clone, Debug)]
pub struct QueueSnapshot {
    /// Its link.
    pub link: u32,
    pub packets: u64,
    pub bytes: u64,
    /// Since the beginning of the run.
    pub counters: QueueCounters,
    /// Number of packets that have left it, and the sum of their sojourn times in seconds, in the measured interval.
    pub sojourn_count_and_sum_s: (u64, f64),
}

/// Marks of a connection with Accurate ECN, as its two hosts count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccurateEcnMarkCounts {
    /// Packets with CE that reached the sink.
    pub received: u64,
    /// Those that the sender knows of by its acknowledgements.
    pub reported: u64,
}

impl<P: Probe> Simulation<P> {
    /// Marks of the open connection of a flow; `None` without Accurate ECN.
    pub fn accurate_ecn_mark_counts(&self, flow: u32) -> Option<AccurateEcnMarkCounts> {
        let flow = &self.flows[flow];
        let (sink, sender) = (flow.sink.accurate()?, flow.sender.as_tcp()?);
        Some(AccurateEcnMarkCounts { received: sink.received_ce_packets(), reported: sender.reported_ce() })
    }

    /// Snapshots of all measured queues, in the order of the network.
    pub fn queue_snapshots(&self) -> impl Iterator<Item = QueueSnapshot> + '_ {
        self.queues.iter().map(|queue| {
            let sojourn = &queue.measures.sojourn;
            let count = sojourn.count();
            let sum = if count == 0 { 0.0 } else { sojourn.mean_s() * count as f64 };
            let (packets, bytes) = (queue.discipline.len() as u64, queue.discipline.bytes());
            QueueSnapshot {
                link: queue.link,
                packets,
                bytes,
                counters: queue.discipline.total_counters(),
                sojourn_count_and_sum_s: (count, sum),
            }
        })
    }

    /// Ends the run at the current time; [`Simulation::finish`] then advances no further.
    ///
    /// # Panics
    /// If [`Simulation::advance_with_event_limit`] has returned `false` and flows may be ahead of the current time.
    pub fn finish_at_current_time(&mut self) {
        assert!(!self.may_have_run_ahead(), "a run ends at a time that it has reached");
        self.options.duration = self.now;
    }
}
