//! Records a run and traces its packets at the same time.

use ecnlab_transport::{Ack, CongestionWindow};
use ecnlab_units::{Span, Time};

use crate::measures::Histogram;
use crate::network::{FlowSpec, LinkSpec};
use crate::packet::{Packet, PacketId};
use crate::probe::{AckDrop, AckMark, PacketCreationContext, Probe, RateBin, RecordingFull, SignalEvent, TimeHistogramKind};
use crate::queue_log::QueueLogEvent;
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

    fn on_link_added(&mut self, link: u32, spec: &LinkSpec) {
        self.tracer.on_link_added(link, spec);
    }

    fn on_flow_added(&mut self, flow: u32, spec: &FlowSpec) {
        self.tracer.on_flow_added(flow, spec);
    }

    fn on_packet_created(&mut self, now: Time, id: PacketId, packet: &Packet, context: &PacketCreationContext) {
        self.tracer.on_packet_created(now, id, packet, context);
    }

    fn on_packet_duplicated(&mut self, copy: PacketId, of: PacketId) {
        self.tracer.on_packet_duplicated(copy, of);
    }

    fn on_link_entry(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.tracer.on_link_entry(now, link, id, packet);
    }

    fn on_transmission_start(&mut self, now: Time, begins: Time, link: u32, id: PacketId, packet: &Packet) {
        self.tracer.on_transmission_start(now, begins, link, id, packet);
    }

    fn on_packet_drop(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.tracer.on_packet_drop(now, link, id, packet);
    }

    fn on_link_exit(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.tracer.on_link_exit(now, link, id, packet);
    }

    fn on_ack_received(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.tracer.on_ack_received(now, flow, ack);
    }

    fn on_queue_event(&mut self, now: Time, queue: u32, event: QueueLogEvent) {
        self.recorder.on_queue_event(now, queue, event);
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

    fn recording_full(&self) -> Option<RecordingFull> {
        self.recorder.recording_full()
    }

    fn on_signal(&mut self, now: Time, signal: &SignalEvent) {
        self.recorder.on_signal(now, signal);
    }

    fn on_rtt_sample(&mut self, now: Time, group: u32, rtt: Span) {
        self.recorder.on_rtt_sample(now, group, rtt);
    }

    fn on_queue_sample(&mut self, now: Time, queue: u32, packets: u32, average: Option<f64>) {
        self.recorder.on_queue_sample(now, queue, packets, average);
    }

    fn on_band_sample(&mut self, now: Time, queue: u32, band: u8, place: u32, packets: u32) {
        self.recorder.on_band_sample(now, queue, band, place, packets);
    }

    fn on_gauge_sample(&mut self, now: Time, queue: u32, gauge: &'static str, value: f64) {
        self.recorder.on_gauge_sample(now, queue, gauge, value);
    }

    fn on_window_sample(&mut self, now: Time, flow: u32, window: &CongestionWindow, alpha: Option<f64>) {
        self.recorder.on_window_sample(now, flow, window, alpha);
    }

    fn on_measurement_start(&mut self, now: Time) {
        self.recorder.on_measurement_start(now);
    }

    fn on_rate_bin(&mut self, now: Time, group: u32, bin: &RateBin) {
        self.recorder.on_rate_bin(now, group, bin);
    }

    fn on_ack_drop(&mut self, now: Time, drop: &AckDrop) {
        self.recorder.on_ack_drop(now, drop);
    }

    fn on_ack_mark(&mut self, now: Time, mark: &AckMark) {
        self.recorder.on_ack_mark(now, mark);
    }

    fn on_transfer_end(&mut self, now: Time, group: u32, began: Time, bytes: u64) {
        self.recorder.on_transfer_end(now, group, began, bytes);
    }

    fn on_lockout(&mut self, flow: u32, from: Time, to: Time) {
        self.recorder.on_lockout(flow, from, to);
    }

    fn on_distribution(&mut self, of: TimeHistogramKind, times: &Histogram<8>) {
        self.recorder.on_distribution(of, times);
    }
}
