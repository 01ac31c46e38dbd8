//! A run that is recorded and watched packet by packet at once.

use ecnlab_transport::{Ack, Window};
use ecnlab_units::{Span, Time};

use crate::arrivals::QueueDeed;
use crate::measures::Histogram;
use crate::network::{FlowSpec, LinkSpec};
use crate::packet::{Packet, PacketId};
use crate::probe::{AckDrop, AckMark, Bin, Made, Probe, TimesOf, Touch};
use crate::record::{Recorder, RecordingFull};
use crate::trace::Tracer;

/// A recorder, and a probe that hears of links and packets, such as a tracer; each is told what it listens to.
pub struct Recorded<T = Tracer> {
    pub recorder: Recorder,
    pub tracer: T,
}

impl<T: Probe> Probe for Recorded<T> {
    const LINKS: bool = T::LINKS;
    const QUEUES: bool = true;

    fn link_added(&mut self, link: u32, spec: &LinkSpec) {
        self.tracer.link_added(link, spec);
    }

    fn flow_added(&mut self, flow: u32, spec: &FlowSpec) {
        self.tracer.flow_added(flow, spec);
    }

    fn made(&mut self, now: Time, id: PacketId, packet: &Packet, made: &Made) {
        self.tracer.made(now, id, packet, made);
    }

    fn copied(&mut self, copy: PacketId, of: PacketId) {
        self.tracer.copied(copy, of);
    }

    fn entered(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.tracer.entered(now, link, id, packet);
    }

    fn began(&mut self, now: Time, begins: Time, link: u32, id: PacketId, packet: &Packet) {
        self.tracer.began(now, begins, link, id, packet);
    }

    fn dropped(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.tracer.dropped(now, link, id, packet);
    }

    fn arrived(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.tracer.arrived(now, link, id, packet);
    }

    fn ack_received(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.tracer.ack_received(now, flow, ack);
    }

    fn queue_did(&mut self, now: Time, queue: u32, deed: QueueDeed) {
        self.recorder.queue_did(now, queue, deed);
    }

    fn queue_interval(&self) -> Option<Span> {
        self.recorder.queue_interval()
    }

    fn window_interval(&self) -> Option<Span> {
        self.recorder.window_interval()
    }

    fn full(&self) -> Option<RecordingFull> {
        self.recorder.full()
    }

    fn touched(&mut self, now: Time, touch: &Touch) {
        self.recorder.touched(now, touch);
    }

    fn round_trip(&mut self, now: Time, group: u32, rtt: Span) {
        self.recorder.round_trip(now, group, rtt);
    }

    fn queue_sample(&mut self, now: Time, queue: u32, packets: u32, average: Option<f64>) {
        self.recorder.queue_sample(now, queue, packets, average);
    }

    fn band_sample(&mut self, now: Time, queue: u32, band: u8, place: u32) {
        self.recorder.band_sample(now, queue, band, place);
    }

    fn gauge_sample(&mut self, now: Time, queue: u32, gauge: &'static str, value: f64) {
        self.recorder.gauge_sample(now, queue, gauge, value);
    }

    fn window_sample(&mut self, now: Time, flow: u32, window: &Window, alpha: Option<f64>) {
        self.recorder.window_sample(now, flow, window, alpha);
    }

    fn measuring_begins(&mut self, now: Time) {
        self.recorder.measuring_begins(now);
    }

    fn rates(&mut self, now: Time, group: u32, bin: &Bin) {
        self.recorder.rates(now, group, bin);
    }

    fn ack_dropped(&mut self, now: Time, drop: &AckDrop) {
        self.recorder.ack_dropped(now, drop);
    }

    fn ack_marked(&mut self, now: Time, mark: &AckMark) {
        self.recorder.ack_marked(now, mark);
    }

    fn transfer(&mut self, now: Time, group: u32, began: Time, bytes: u64) {
        self.recorder.transfer(now, group, began, bytes);
    }

    fn lockout(&mut self, flow: u32, from: Time, to: Time) {
        self.recorder.lockout(flow, from, to);
    }

    fn distribution(&mut self, of: TimesOf, times: &Histogram<8>) {
        self.recorder.distribution(of, times);
    }
}
