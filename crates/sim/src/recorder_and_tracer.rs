//! Records a run and traces its packets at the same time.

use ecnlab_transport::{Ack, CongestionWindow};
use ecnlab_units::{Span, Time};

use crate::measures::Histogram;
use crate::network::{FlowSpec, LinkSpec};
use crate::packet::{Packet, PacketId};
use crate::probe::{AckDrop, AckMark, DelayOrSojourn, GroupRateBin, PacketCreationContext, Probe, RecordingLimitReached, SignalEvent};
use crate::queue_log::MeasuredQueueEvent;
use crate::recorder::Recorder;
use crate::trace::Tracer;

/// A recorder, and a probe of links and packets such as a tracer; each gets the hooks that it observes.
pub struct RecorderAndTracer<T = Tracer> {
    pub recorder: Recorder,
    pub tracer: T,
}

/// Methods of a [`Probe`] that pass hooks on to the probe in a field.
macro_rules! forward_hooks {
    (to $probe:ident: $($hook:ident($($argument:ident: $type:ty),*)),* $(,)?) => {
        $(
            #[inline]
            fn $hook(&mut self, $($argument: $type),*) {
                self.$probe.$hook($($argument),*);
            }
        )*
    };
}

impl<T: Probe> Probe for RecorderAndTracer<T> {
    const OBSERVES_PACKETS: bool = T::OBSERVES_PACKETS;

    fn observes_queue_events(&self) -> bool {
        self.recorder.observes_queue_events()
    }

    fn queue_sample_interval(&self) -> Option<Span> {
        self.recorder.queue_sample_interval()
    }

    fn window_sample_interval(&self) -> Option<Span> {
        self.recorder.window_sample_interval()
    }

    fn rate_bin(&self) -> Option<Span> {
        self.recorder.rate_bin()
    }

    fn recording_limit_reached(&self) -> Option<RecordingLimitReached> {
        self.recorder.recording_limit_reached()
    }

    forward_hooks! { to tracer:
        on_link_added(link: u32, spec: &LinkSpec),
        on_flow_added(flow: u32, spec: &FlowSpec),
        on_packet_created(now: Time, id: PacketId, packet: &Packet, context: &PacketCreationContext),
        on_packet_duplicated(copy: PacketId, of: PacketId),
        on_link_entry(now: Time, link: u32, id: PacketId, packet: &Packet),
        on_transmission_start(now: Time, begins: Time, link: u32, id: PacketId, packet: &Packet),
        on_packet_drop(now: Time, link: u32, id: PacketId, packet: &Packet),
        on_link_exit(now: Time, link: u32, id: PacketId, packet: &Packet),
        on_ack_received(now: Time, flow: u32, ack: &Ack),
    }

    forward_hooks! { to recorder:
        on_queue_event(now: Time, queue: u32, event: MeasuredQueueEvent),
        on_departure(queue: u32, sojourn: Span, band: u8),
        on_data_mark_or_drop(now: Time, signal: &SignalEvent),
        on_ack_drop(now: Time, drop: &AckDrop),
        on_ack_mark(now: Time, mark: &AckMark),
        on_rtt_sample(now: Time, group: u32, rtt: Span),
        on_queue_sample(now: Time, queue: u32, packets: u32, average: Option<f64>),
        on_band_sample(now: Time, queue: u32, band: u8, place: u32, packets: u32),
        on_gauge_sample(now: Time, queue: u32, gauge: &'static str, value: f64),
        on_window_sample(now: Time, flow: u32, window: &CongestionWindow, alpha: Option<f64>),
        on_measurement_start(now: Time),
        on_rate_bin(now: Time, group: u32, bin: &GroupRateBin),
        on_transfer_end(now: Time, group: u32, began: Time, bytes: u64),
        on_lockout(flow: u32, from: Time, to: Time),
        on_distribution(of: DelayOrSojourn, times: &Histogram<8>),
    }
}
