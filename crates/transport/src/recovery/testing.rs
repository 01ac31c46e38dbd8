//! A sender's tcb with a window in flight, for the tests of the algorithms.

use std::sync::Arc;

use ecnlab_units::{Span, Time};

use super::{Algorithm, Recovery};
use crate::application::Demand;
use crate::clock::HostClock;
use crate::profile;
use crate::segment::{Ack, Sacks, Segment};
use crate::settings::{Handshake, RecoveryName, Settings};
use crate::tcb::{Output, Tcb};

pub struct Wire {
    pub tcb: Tcb,
    pub now: Time,
    algorithm: Algorithm,
    sent: Sent,
}

#[derive(Default)]
struct Sent(Vec<u64>);

impl Output for Sent {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment.seq);
    }
}

impl Wire {
    /// Segment 0 is acknowledged, those from 1 to `window` are in flight.
    pub fn new(recovery: RecoveryName, window: u64) -> Wire {
        let settings = Settings {
            recovery,
            handshake: Handshake::None,
            delay_growth: false,
            limited_transmit: false,
            initial_window: 1,
            max_window: 100,
            ..profile::settings("ns2")
        };
        let algorithm = Algorithm::new(&settings);
        let demand = Demand::packets(1000, settings.payload());
        let clock = HostClock::new(&settings, Span::ZERO);
        let tcb = Tcb::new(Arc::new(settings), &demand, clock);
        let mut wire = Wire { tcb, now: Time::ZERO, algorithm, sent: Sent::default() };
        wire.algorithm.fill(&mut wire.tcb, wire.now, &mut wire.sent);
        wire.wait(Span::from_millis(100));
        wire.tcb.set_cwnd(window as f64 - 1.0, &mut wire.sent);
        wire.acknowledge(1);
        wire.tcb.set_cwnd(window as f64, &mut wire.sent);
        wire.algorithm.fill(&mut wire.tcb, wire.now, &mut wire.sent);
        wire.sent.0.clear();
        wire
    }

    pub fn wait(&mut self, span: Span) {
        self.now += span;
    }

    pub fn acknowledge(&mut self, next: u64) {
        self.take(&Ack::plain(next, 40));
    }

    pub fn duplicates(&mut self, next: u64, count: usize) {
        (0..count).for_each(|_| self.acknowledge(next));
    }

    pub fn duplicate_with(&mut self, next: u64, blocks: &[(u64, u64)]) {
        let mut sacks = Sacks::default();
        blocks.iter().for_each(|&(from, to)| sacks.push(from, to));
        self.take(&Ack { sacks, ..Ack::plain(next, 40) });
    }

    fn take(&mut self, ack: &Ack) {
        self.algorithm.acknowledged(&mut self.tcb, ack, self.now, &mut self.sent);
    }

    /// What was sent since this was asked last.
    pub fn sent(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.sent.0)
    }

    pub fn window(&self) -> (f64, f64) {
        (self.tcb.window().cwnd, self.tcb.window().ssthresh)
    }
}
