//! The event engine: links, queues, senders and receivers in simulated time.
//!
//! A [`Simulation`] is made of a [`Network`], a seed and a [`Probe`]; it goes on to a time or to its end, and hands over what was measured.
//! It reads no clock, opens no file and starts no thread: the same network and seed give the same bytes on any machine.
//! Its flows may also end at hosts that are not part of it ([`outside`]).

pub mod arrivals;
mod component;
pub mod deadlines;
pub mod deliveries;
mod engine;
pub mod impairment;
mod link;
pub mod measures;
pub mod network;
pub mod outside;
mod packet;
pub mod probe;
pub mod record;
mod recorded;
pub mod replay;
pub mod trace;

pub use engine::{Options, QueueLook, Run, Simulation};
pub use impairment::script::{Act, Flag, Rule, Script, Which};
pub use impairment::{EcnPath, ImpairmentSpec, Part};
pub use link::Waiting;
pub use measures::Report;
pub use network::{
    AppSpec, Buffer, Counted, Direction, FlowSpec, LinkName, LinkSpec, MaxProcessingTime, Network, OwnLink, OwnLinks, QueueSpec, Template,
};
pub use outside::{Foreign, Happened, Told, Toward};
pub use packet::{Packet, PacketId, PacketKind};
pub use probe::{Off, Probe};
pub use record::{Recorder, Recording, RecordingFull};
pub use recorded::Recorded;
pub use trace::{TraceFormat, TraceSpec, Tracer, Version};

use measures::columns;
use measures::table::TableText;

/// Every table that a run can give, as data: the measures, then what can be recorded, and a trace.
pub fn tables() -> Vec<TableText> {
    let flows = [columns::FLOWS.text(), columns::GROUPS.text(), columns::TOTAL.text(), columns::COMPLETIONS.text()];
    let queues = [columns::QUEUES.text(), columns::BANDS.text(), columns::IMPAIRMENTS.text()];
    let samples = [record::QUEUE_SAMPLES.text(), record::BAND_SAMPLES.text(), record::GAUGE_SAMPLES.text(), record::WINDOW_SAMPLES.text()];
    let others = [
        record::RATES.text(),
        record::EVENTS.text(),
        record::LOCKOUTS.text(),
        record::DISTRIBUTIONS.text(),
        record::TRANSFERS.text(),
        arrivals::ARRIVALS.text(),
    ];
    flows.into_iter().chain(queues).chain(samples).chain(others).chain([trace::EVENTS.text()]).collect()
}
