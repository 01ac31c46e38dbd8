//! The event engine: links, queues, senders and receivers in simulated time.
//!
//! A [`Simulation`] is built from a [`Network`], a seed and a [`Probe`]; it advances to a time or to its end, and returns the measures. It
//! reads no clock, opens no file and starts no thread: the same network and seed give the same bytes on any machine. Its flows may also end
//! at external hosts ([`external_hosts`]).

pub mod calendar_queue;
mod component;
mod due_queue;
mod engine;
pub mod external_hosts;
pub mod impairment;
mod index_vec;
mod link;
pub mod measures;
pub mod network;
mod new_rows;
mod packet;
pub mod probe;
pub mod queue_log;
pub mod recorder;
mod recorder_and_tracer;
pub mod replay;
pub mod trace;
pub mod trace_driven_link;

pub use engine::{AccurateEcnMarkCounts, QueueSnapshot, Run, RunTimesAndSeed, Simulation};
pub use external_hosts::{HostEvent, SimOutput};
pub use impairment::script::{PacketSelector, Script, ScriptAction, ScriptRule, SelectorFlag};
pub use impairment::{EcnPath, Impairment, ImpairmentSpec};
pub use link::QueuedPacket;
pub use measures::Report;
pub use network::{
    AppWithFlows, FlowSpec, FlowTemplate, LinkKind, LinkName, LinkSpec, MaxProcessingTime, Network, PipeOrQueue, PrivateLinkIds,
    PrivateLinkParamLists, QueueSpec, RowPolicy,
};
pub use new_rows::NewRowsReader;
pub use packet::{Direction, ExternalPacket, Packet, PacketId, PacketKind};
pub use probe::{NoProbe, Probe, RecordingLimitReached};
pub use recorder::{NewRows, Recorder, RecordingConfig};
pub use recorder_and_tracer::RecorderAndTracer;
pub use trace::{IpVersion, TraceFormat, TraceSpec, Tracer};

use measures::columns;
use measures::table::TableDescription;

/// Descriptions of all tables of a run: the measures, the recordings, and the packet trace.
pub fn describe_tables() -> Vec<TableDescription> {
    vec![
        columns::FLOWS.describe(),
        columns::GROUPS.describe(),
        columns::TOTAL.describe(),
        columns::COMPLETIONS.describe(),
        columns::QUEUES.describe(),
        columns::BANDS.describe(),
        columns::IMPAIRMENTS.describe(),
        recorder::QUEUE_SAMPLES.describe(),
        recorder::BAND_SAMPLES.describe(),
        recorder::GAUGE_SAMPLES.describe(),
        recorder::WINDOW_SAMPLES.describe(),
        recorder::RATES.describe(),
        recorder::EVENTS.describe(),
        recorder::LOCKOUTS.describe(),
        recorder::DISTRIBUTIONS.describe(),
        recorder::TRANSFERS.describe(),
        queue_log::ARRIVALS.describe(),
        trace::EVENTS.describe(),
    ]
}
