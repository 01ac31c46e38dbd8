//! A look at a run that goes on, and its end when its owner says so.

use ecnlab_queue::{Discipline, QueueCounters};

use super::Simulation;
use crate::probe::Probe;

/// A measured queue at this moment, and what it has counted since the measured interval began: of what its whole run has counted, the waits.
#[derive(Clone, Debug)]
pub struct QueueSnapshot {
    /// Its link.
    pub link: u32,
    pub packets: u64,
    pub bytes: u64,
    /// From the beginning of the run on.
    pub counters: QueueCounters,
    /// How many have left it, and the sum of their waits in seconds, in the measured interval.
    pub sojourn_count_and_sum_s: (u64, f64),
}

impl<P: Probe> Simulation<P> {
    /// Each measured queue, in the order of the network.
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

    /// The run is over now, however long it was to be; [`Simulation::finish`] then goes on no further.
    pub fn finish_at_current_time(&mut self) {
        self.options.duration = self.now;
    }
}
