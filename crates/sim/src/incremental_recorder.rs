//! A recorder whose rows can be read while the run goes on: each call hands out what was recorded since the call before.

use ecnlab_units::{Span, Time};

use crate::measures::table::{NetworkNames, Table};
use crate::packet::{Packet, PacketId};
use crate::probe::{Probe, RecordingLimitReached, forward_hooks};
use crate::recorder::{NewRows, Recorder, RowCounts};

/// A recorder, and how many rows of each of its tables have been handed out. The rows stay in their tables, so reading them costs the run
/// nothing.
pub struct IncrementalRecorder {
    recorder: Recorder,
    handed_out: RowCounts,
}

impl IncrementalRecorder {
    /// Wraps a recorder none of whose rows has been handed out.
    pub fn new(recorder: Recorder) -> IncrementalRecorder {
        IncrementalRecorder { recorder, handed_out: RowCounts::default() }
    }

    /// Rows that were recorded since the last call, of each table that grows during the run and is recorded.
    pub fn new_rows(&mut self) -> Vec<NewRows<'_>> {
        let from = std::mem::replace(&mut self.handed_out, self.recorder.row_counts());
        self.recorder.rows_from(from)
    }

    /// These names with those of the gauges recorded so far, for the names in new rows.
    pub fn network_names_with_gauges(&self, names: &NetworkNames) -> NetworkNames {
        self.recorder.names_with_gauges(names)
    }

    /// The complete tables at the end of the run.
    ///
    /// # Errors
    /// If the recording has reached its bound.
    pub fn into_tables(self, names: &NetworkNames) -> Result<Vec<(&'static str, Table)>, RecordingLimitReached> {
        self.recorder.tables(names)
    }
}

impl Probe for IncrementalRecorder {
    const OBSERVES_PACKETS: bool = Recorder::OBSERVES_PACKETS;
    const OBSERVES_QUEUES: bool = Recorder::OBSERVES_QUEUES;

    fn needs_event_order(&self) -> bool {
        self.recorder.needs_event_order()
    }

    forward_hooks!(packets to recorder);
    forward_hooks!(endpoints to recorder);
    forward_hooks!(recording to recorder);
}
