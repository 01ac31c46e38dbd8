//! A look at a run that goes on, and its end when its owner says so.

use ecnlab_queue::{Counters, Discipline};

use super::Simulation;
use crate::probe::Probe;

/// A measured queue at this moment, and what it has counted since the measured interval began: of what its whole run has counted, the waits.
#[derive(Clone, Debug)]
pub struct QueueLook {
    /// Its link.
    pub link: u32,
    pub packets: u64,
    pub bytes: u64,
    /// From the beginning of the run on.
    pub counted: Counters,
    /// How many have left it, and the sum of their waits in seconds, in the measured interval.
    pub waits: (u64, f64),
}

impl<P: Probe> Simulation<P> {
    /// Each measured queue, in the order of the network.
    pub fn look(&self) -> impl Iterator<Item = QueueLook> + '_ {
        self.queues.iter().map(|queue| {
            let sojourn = &queue.measures.sojourn;
            let count = sojourn.count();
            let sum = if count == 0 { 0.0 } else { sojourn.mean_s() * count as f64 };
            let (packets, bytes) = (queue.discipline.len() as u64, queue.discipline.bytes());
            QueueLook { link: queue.link, packets, bytes, counted: queue.discipline.total(), waits: (count, sum) }
        })
    }

    /// The run is over now, however long it was to be; [`Simulation::finish`] then goes on no further.
    pub fn end_now(&mut self) {
        self.options.duration = self.now;
    }
}
