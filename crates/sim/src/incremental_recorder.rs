//! A recorder whose rows can be read while the run goes on: each call hands out what was recorded since the call before.

use ecnlab_transport::{Ack, CongestionWindow, Segment};
use ecnlab_units::{Span, Time};

use crate::measures::Histogram;
use crate::measures::table::{NetworkNames, Table};
use crate::network::{FlowSpec, LinkSpec};
use crate::packet::{Packet, PacketId};
use crate::probe::{AckDrop, AckMark, PacketCreationContext, Probe, RateBin, RecordingFull, SignalEvent, TimeHistogramKind};
use crate::queue_log::QueueLogEvent;
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
    pub fn names_with_gauges(&self, names: &NetworkNames) -> NetworkNames {
        self.recorder.names_with_gauges(names)
    }

    /// The complete tables at the end of the run.
    ///
    /// # Errors
    /// If the recording has reached its bound.
    pub fn tables(self, names: &NetworkNames) -> Result<Vec<(&'static str, Table)>, RecordingFull> {
        self.recorder.tables(names)
    }
}

impl Probe for IncrementalRecorder {
    const OBSERVES_PACKETS: bool = Recorder::OBSERVES_PACKETS;
    const OBSERVES_QUEUES: bool = Recorder::OBSERVES_QUEUES;

    fn on_link_added(&mut self, link: u32, spec: &LinkSpec) {
        self.recorder.on_link_added(link, spec);
    }

    fn on_flow_added(&mut self, flow: u32, spec: &FlowSpec) {
        self.recorder.on_flow_added(flow, spec);
    }

    fn on_packet_created(&mut self, now: Time, id: PacketId, packet: &Packet, context: &PacketCreationContext) {
        self.recorder.on_packet_created(now, id, packet, context);
    }

    fn on_packet_duplicated(&mut self, copy: PacketId, of: PacketId) {
        self.recorder.on_packet_duplicated(copy, of);
    }

    fn on_link_entry(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.recorder.on_link_entry(now, link, id, packet);
    }

    fn on_transmission_start(&mut self, now: Time, begins: Time, link: u32, id: PacketId, packet: &Packet) {
        self.recorder.on_transmission_start(now, begins, link, id, packet);
    }

    fn on_packet_drop(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.recorder.on_packet_drop(now, link, id, packet);
    }

    fn on_link_exit(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.recorder.on_link_exit(now, link, id, packet);
    }

    #[inline]
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

    fn on_segment_sent(&mut self, now: Time, flow: u32, segment: &Segment) {
        self.recorder.on_segment_sent(now, flow, segment);
    }

    fn on_segment_received(&mut self, now: Time, flow: u32, segment: &Segment) {
        self.recorder.on_segment_received(now, flow, segment);
    }

    fn on_ack_sent(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.recorder.on_ack_sent(now, flow, ack);
    }

    fn on_ack_piggybacked(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.recorder.on_ack_piggybacked(now, flow, ack);
    }

    fn on_ack_received(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.recorder.on_ack_received(now, flow, ack);
    }

    fn on_signal(&mut self, now: Time, signal: &SignalEvent) {
        self.recorder.on_signal(now, signal);
    }

    fn on_ack_drop(&mut self, now: Time, drop: &AckDrop) {
        self.recorder.on_ack_drop(now, drop);
    }

    fn on_ack_mark(&mut self, now: Time, mark: &AckMark) {
        self.recorder.on_ack_mark(now, mark);
    }

    fn on_window_update(&mut self, now: Time, flow: u32, window: &CongestionWindow) {
        self.recorder.on_window_update(now, flow, window);
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
