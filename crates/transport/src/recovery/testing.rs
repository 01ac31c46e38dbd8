//! A sender's TCB with a window in flight, for tests of the algorithms.

use std::sync::Arc;

use ecnlab_units::{Span, Time};

use super::{Recovery, RecoveryAlgorithm};
use crate::application::AppWrite;
use crate::clock::HostClock;
use crate::profile;
use crate::segment::{Ack, SackOption, Segment};
use crate::settings::{CongestionControlName, Handshake, HystartName, Quirks, RecoveryName, TcpSettings};
use crate::tcb::{SenderOutput, Tcb, TcbMemory};

pub struct RecoveryTestBench {
    pub tcb: Tcb,
    pub now: Time,
    /// Receive window in bytes.
    pub rwnd: u32,
    algorithm: RecoveryAlgorithm,
    sent: SentNumbers,
}

#[derive(Default)]
struct SentNumbers(Vec<u64>);

impl SenderOutput for SentNumbers {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment.seq);
    }
}

impl RecoveryTestBench {
    /// Segment 0 is acknowledged, segments 1 to `window` are in flight.
    pub fn new(recovery: RecoveryName, window: u64) -> RecoveryTestBench {
        let settings = TcpSettings {
            recovery,
            max_rwnd: 100,
            quirks: Quirks { delay_growth: false, limited_transmit: false, ..profile::quirks("ns2") },
            ..profile::tcp_settings_of("ns2")
        };
        RecoveryTestBench::from_settings(settings, window)
    }

    /// Test bench for RACK with the Linux profile, Reno and no timer wheel; `change` sets the parameters under test. The RTT is 100 ms.
    pub fn with_linux_profile(window: u64, change: impl FnOnce(&mut TcpSettings)) -> RecoveryTestBench {
        let mut settings = TcpSettings {
            congestion_control: CongestionControlName::Reno,
            hystart: HystartName::Off,
            ecn: true,
            max_rwnd: 100,
            quirks: Quirks { timer_wheel: false, fin: false, ..profile::quirks("linux") },
            ..profile::tcp_settings_of("linux")
        };
        change(&mut settings);
        RecoveryTestBench::from_settings(settings, window)
    }

    fn from_settings(settings: TcpSettings, window: u64) -> RecoveryTestBench {
        let settings = TcpSettings { handshake: Handshake::None, initial_window: 1, ..settings };
        let algorithm = RecoveryAlgorithm::new(&settings);
        let app_write = AppWrite::full_packets(1000, settings.payload());
        let clock = HostClock::new(&settings, Span::ZERO);
        let tcb = Tcb::new(Arc::new(settings), &app_write, clock, TcbMemory::default());
        let mut wire = RecoveryTestBench { tcb, now: Time::ZERO, rwnd: Ack::WINDOW_UNLIMITED, algorithm, sent: SentNumbers::default() };
        wire.algorithm.send_while_allowed(&mut wire.tcb, wire.now, &mut wire.sent);
        wire.advance_clock(Span::from_millis(100));
        wire.tcb.set_cwnd(window as f64 - 1.0, &mut wire.sent);
        wire.ack(1);
        wire.set_cwnd_and_send(window);
        wire.sent.0.clear();
        wire
    }

    /// Sets cwnd to `window` segments, and sends.
    pub fn set_cwnd_and_send(&mut self, window: u64) {
        self.tcb.set_cwnd(window as f64, &mut self.sent);
        self.algorithm.send_while_allowed(&mut self.tcb, self.now, &mut self.sent);
    }

    pub fn advance_clock(&mut self, span: Span) {
        self.now += span;
    }

    pub fn ack(&mut self, next: u64) {
        self.deliver_ack(&Ack::plain(next, 40));
    }

    pub fn dupacks(&mut self, next: u64, count: usize) {
        (0..count).for_each(|_| self.ack(next));
    }

    pub fn dupack_with_sack(&mut self, next: u64, blocks: &[(u64, u64)]) {
        let mut sacks = SackOption::default();
        blocks.iter().for_each(|&(from, to)| sacks.push(from, to));
        self.deliver_ack(&Ack { sacks, ..Ack::plain(next, 40) });
    }

    /// Delivers an ACK with SACK blocks that echoes the timestamp `echo`.
    pub fn ack_with_sack(&mut self, next: u64, blocks: &[(u64, u64)], echo: Time) {
        let mut sacks = SackOption::default();
        blocks.iter().for_each(|&(from, to)| sacks.push(from, to));
        self.deliver_ack(&Ack { sacks, echo, window: self.rwnd, ..Ack::plain(next, 52) });
    }

    /// Delivers an ACK with ECE and without SACK blocks.
    pub fn ack_with_ece(&mut self, next: u64, echo: Time) {
        self.deliver_ack(&Ack { ece: true, echo, ..Ack::plain(next, 52) });
    }

    fn deliver_ack(&mut self, ack: &Ack) {
        self.tcb.process_rwnd(ack, || false, self.now, &mut self.sent);
        self.tcb.respond_to_echo(ack, self.now, &mut self.sent);
        self.algorithm.on_ack(&mut self.tcb, ack, self.now, &mut self.sent);
    }

    /// Fires the next timer, the algorithm's own first; returns the time waited.
    pub fn fire_next_timer(&mut self) -> Span {
        let (timeout, own) = (self.tcb.rto_deadline(), self.algorithm.deadline());
        let at = timeout.into_iter().chain(own).min().expect("a timer");
        let waited = at.since(self.now);
        self.now = at;
        if own == Some(at) {
            self.algorithm.on_timer(&mut self.tcb, at, &mut self.sent);
        } else {
            self.algorithm.on_rto(&mut self.tcb, at, &mut self.sent);
        }
        waited
    }

    /// Segments sent since the last call.
    pub fn take_sent(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.sent.0)
    }

    pub fn cwnd_and_ssthresh(&self) -> (f64, f64) {
        (self.tcb.window().cwnd, self.tcb.window().ssthresh)
    }
}
