//! Records a run and traces its packets at the same time.

use ecnlab_units::{Span, Time};

use crate::packet::{Packet, PacketId};
use crate::probe::{Probe, forward_hooks};
use crate::recorder::Recorder;
use crate::trace::Tracer;

/// A recorder, and a probe of links and packets such as a tracer; each gets the hooks that it observes.
pub struct RecorderAndTracer<T = Tracer> {
    pub recorder: Recorder,
    pub tracer: T,
}

impl<T: Probe> Probe for RecorderAndTracer<T> {
    const OBSERVES_PACKETS: bool = T::OBSERVES_PACKETS;
    const OBSERVES_QUEUES: bool = true;

    forward_hooks!(packets to tracer);
    forward_hooks!(recording to recorder);
}
