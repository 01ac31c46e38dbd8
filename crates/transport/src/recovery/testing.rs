//! A sender's tcb with a window in flight, for the tests of the algorithms.

use std::sync::Arc;

use ecnlab_units::{Span, Time};

use super::{Algorithm, Recovery};
use crate::application::Demand;
use crate::clock::HostClock;
use crate::profile;
use crate::segment::{Ack, Sacks, Segment};
use crate::settings::{CongestionName, Handshake, HystartName, RecoveryName, Settings};
use crate::tcb::{Output, Tcb};

pub struct Wire {
    pub tcb: Tcb,
    pub now: Time,
    /// The window that the receiver offers, in bytes.
    pub offer: u32,
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
        let settings = Settings { recovery, delay_growth: false, limited_transmit: false, max_window: 100, ..profile::settings("ns2") };
        Wire::with(settings, window)
    }

    /// The same for recovery by time as a kernel has it, with Reno's window and no wheel; `change` what a test is about. A round trip takes 100 ms.
    pub fn host(window: u64, change: impl FnOnce(&mut Settings)) -> Wire {
        let mut settings = Settings {
            congestion: CongestionName::Reno,
            hystart: HystartName::Off,
            timer_wheel: false,
            fin: false,
            ecn: true,
            max_window: 100,
            ..profile::settings("linux")
        };
        change(&mut settings);
        Wire::with(settings, window)
    }

    fn with(settings: Settings, window: u64) -> Wire {
        let settings = Settings { handshake: Handshake::None, initial_window: 1, ..settings };
        let algorithm = Algorithm::new(&settings);
        let demand = Demand::packets(1000, settings.payload());
        let clock = HostClock::new(&settings, Span::ZERO);
        let tcb = Tcb::new(Arc::new(settings), &demand, clock);
        let mut wire = Wire { tcb, now: Time::ZERO, offer: Ack::ANY, algorithm, sent: Sent::default() };
        wire.algorithm.fill(&mut wire.tcb, wire.now, &mut wire.sent);
        wire.wait(Span::from_millis(100));
        wire.tcb.set_cwnd(window as f64 - 1.0, &mut wire.sent);
        wire.acknowledge(1);
        wire.widen(window);
        wire.sent.0.clear();
        wire
    }

    /// Gives the window so many segments, and sends.
    pub fn widen(&mut self, window: u64) {
        self.tcb.set_cwnd(window as f64, &mut self.sent);
        self.algorithm.fill(&mut self.tcb, self.now, &mut self.sent);
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

    /// An acknowledgement with SACK blocks that answers what was sent at `echo`.
    pub fn hear(&mut self, next: u64, blocks: &[(u64, u64)], echo: Time) {
        let mut sacks = Sacks::default();
        blocks.iter().for_each(|&(from, to)| sacks.push(from, to));
        self.take(&Ack { sacks, echo, window: self.offer, ..Ack::plain(next, 52) });
    }

    /// The same with the echo of a mark, and without blocks.
    pub fn hear_mark(&mut self, next: u64, echo: Time) {
        self.take(&Ack { ece: true, echo, ..Ack::plain(next, 52) });
    }

    fn take(&mut self, ack: &Ack) {
        self.tcb.take_window(ack, || false, self.now, &mut self.sent);
        self.tcb.respond_to_echo(ack, self.now, &mut self.sent);
        self.algorithm.acknowledged(&mut self.tcb, ack, self.now, &mut self.sent);
    }

    /// Waits for the next timer, the algorithm's own first; returns for how long.
    pub fn wake(&mut self) -> Span {
        let (timeout, own) = (self.tcb.retransmit_at(), self.algorithm.deadline());
        let at = timeout.into_iter().chain(own).min().expect("a timer");
        let waited = at.since(self.now);
        self.now = at;
        if own == Some(at) {
            self.algorithm.expire(&mut self.tcb, at, &mut self.sent);
        } else {
            self.algorithm.timed_out(&mut self.tcb, at, &mut self.sent);
        }
        waited
    }

    /// What was sent since this was asked last.
    pub fn sent(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.sent.0)
    }

    pub fn window(&self) -> (f64, f64) {
        (self.tcb.window().cwnd, self.tcb.window().ssthresh)
    }
}
