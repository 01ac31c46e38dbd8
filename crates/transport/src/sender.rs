//! The sender: the sequence space, and the order in which its parts are asked.
//!
//! It follows ns-2's one-way TCP step by step: a congestion echo is answered before anything else, then a new
//! acknowledgement ends recovery, restarts the timer, updates the estimate and opens the window, or a duplicate is shown to
//! loss recovery; then as much is sent as the window allows. One cut a window: `recover` remembers how far it had been sent.

use std::sync::Arc;

use ecnlab_units::{Ecn, Span, Time};

use crate::recovery::{self, LastCut, Reaction, Recovery, View};
use crate::response;
use crate::rtt::Estimator;
use crate::segment::{Ack, Segment};
use crate::settings::{RttReport, Settings};
use crate::window::{self, CongestionControl, Window};

/// Where a sender's segments go, and who is told of its window.
pub trait Output {
    fn send(&mut self, segment: Segment);

    /// The window or the threshold may have changed.
    fn window(&mut self, _window: &Window) {}
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub sent: u64,
    pub retransmitted_fast: u64,
    pub retransmitted_timeout: u64,
    /// Timeouts that meant a loss: data was outstanding and no mark had just cut the window (ns-2's nrexmit_).
    pub timeouts: u64,
    /// Window cuts for marks.
    pub ecn_reactions: u64,
}

/// The sending end of a connection.
pub struct Sender {
    settings: Arc<Settings>,
    /// Lowest segment not yet acknowledged.
    una: u64,
    /// Next segment to send.
    next: u64,
    /// One past the highest segment ever sent.
    high: u64,
    /// One past the highest segment sent when the window was last cut.
    recover: u64,
    /// Segments that the application has to send, the SYN counted.
    available: u64,
    initial_window: u64,
    duplicates: u32,
    last_cut: LastCut,
    cwr_due: bool,
    /// The other side echoes marks.
    ecn_confirmed: bool,
    /// A mark came while the window was one segment or less.
    marked_at_one: bool,
    window: Window,
    control: Box<dyn CongestionControl>,
    recovery: Box<dyn Recovery>,
    estimator: Estimator,
    /// The segment being timed and when it was sent.
    timed: Option<(u64, Time)>,
    rto_at: Option<Time>,
    rtt: RttSeen,
    counters: Counters,
}

/// Round-trip times as the segments' own echoes show them.
#[derive(Clone, Copy, Debug, Default)]
struct RttSeen {
    min: Span,
    last: Span,
    smoothed: Span,
    base: Span,
    /// Since when the round of `base` runs, and the segment whose acknowledgement ends it.
    round: (Time, u64),
    round_sum: Span,
    round_samples: u64,
}

impl Sender {
    /// A sender with `segments` to send. `boot` is the phase of its clock, below one tick.
    pub fn new(settings: Arc<Settings>, segments: u64, boot: Span) -> Sender {
        let first_window = if settings.syn && settings.delay_growth { 1 } else { settings.initial_window };
        Sender {
            una: 0,
            next: 0,
            high: 0,
            recover: 1,
            available: segments.saturating_add(u64::from(settings.syn)),
            initial_window: settings.initial_window,
            duplicates: 0,
            last_cut: LastCut::None,
            cwr_due: false,
            ecn_confirmed: false,
            marked_at_one: false,
            window: Window { cwnd: first_window as f64, ssthresh: settings.max_window as f64 },
            control: Box::new(window::Reno),
            recovery: Box::new(recovery::Reno::new(&settings)),
            estimator: Estimator::new(&settings, boot),
            timed: None,
            rto_at: None,
            rtt: RttSeen::default(),
            counters: Counters::default(),
            settings,
        }
    }

    /// Opens the connection and sends what the window allows.
    pub fn start(&mut self, now: Time, out: &mut impl Output) {
        out.window(&self.window);
        self.send_window(now, out);
    }

    /// Takes an acknowledgement.
    pub fn acknowledge(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        assert!(ack.next <= self.high, "segment {} was acknowledged but never sent", ack.next);
        self.rtt.sample(ack, now);
        if ack.ece && self.settings.ecn {
            self.congestion_echo(ack, out);
        }
        if ack.next > self.una {
            self.advance(ack, now, out);
        } else if ack.next == self.una {
            self.duplicate(now, out);
        }
        if self.duplicates == 0 || self.duplicates >= self.settings.duplicate_threshold {
            self.send_window(now, out);
        }
    }

    /// When the retransmission timer expires.
    pub fn deadline(&self) -> Option<Time> {
        self.rto_at
    }

    /// The retransmission timer has expired.
    pub fn expire(&mut self, now: Time, out: &mut impl Output) {
        self.rto_at = None;
        self.recovery.timed_out();
        self.duplicates = 0;
        self.recover = self.high;
        if self.window.cwnd < 1.0 {
            self.window.cwnd = 1.0;
            out.window(&self.window);
        }
        let idle = self.una == self.high;
        if self.una == 0 && self.settings.first_packet_loss {
            self.initial_window = 1;
        }
        if !idle || self.settings.slow_start_restart {
            self.collapse(idle, out);
        }
        if !idle {
            self.estimator.back_off(&self.settings);
        }
        self.restart_timer(now);
        self.next = self.una;
        self.timed = None;
        self.last_cut = LastCut::Timeout;
        self.send_window(now, out);
    }

    /// Whether all that the application had to send is acknowledged.
    pub fn is_done(&self) -> bool {
        self.una >= self.available
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Lowest segment not yet acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The round-trip time to write into packets; zero before the first measurement.
    pub fn reported_rtt(&self) -> Span {
        match self.settings.rtt_report {
            RttReport::Min => self.rtt.min,
            RttReport::Last => self.rtt.last,
            RttReport::Smoothed => self.rtt.smoothed,
            RttReport::Base => self.rtt.base,
        }
    }

    /// Smallest round-trip time measured on a segment that was sent once; zero before the first.
    pub fn min_rtt(&self) -> Span {
        self.rtt.min
    }

    /// The window that may be in flight, in whole segments.
    fn usable_window(&self) -> u64 {
        (self.window.cwnd as u64 + self.recovery.inflation()).min(self.settings.max_window)
    }

    fn usable_window_exact(&self) -> f64 {
        (self.window.cwnd + self.recovery.inflation() as f64).min(self.settings.max_window as f64)
    }

    fn congestion_echo(&mut self, ack: &Ack, out: &mut impl Output) {
        if ack.next <= self.recover && self.last_cut != LastCut::Timeout {
            return;
        }
        self.recover = self.high;
        self.last_cut = LastCut::Mark;
        self.counters.ecn_reactions += 1;
        if self.window.cwnd > 1.0 {
            self.marked_at_one = false;
        } else if self.marked_at_one {
            self.estimator.back_off(&self.settings);
        } else {
            self.marked_at_one = true;
        }
        self.halve(self.usable_window_exact(), out);
    }

    fn advance(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        self.recovery.advanced();
        if self.last_cut == LastCut::Duplicates {
            self.last_cut = LastCut::None;
        }
        let newly = ack.next - self.una;
        if self.settings.restart_before_sample {
            // Below a window of one nothing is sent before the timer: it runs even with nothing outstanding.
            let needed = self.next >= ack.next || ack.next < self.high || self.window.cwnd < 1.0;
            self.rto_at = needed.then(|| now + self.estimator.timeout(&self.settings));
        }
        self.duplicates = 0;
        self.una = ack.next;
        self.next = self.next.max(self.una);
        self.finish_timing(ack, now);
        self.rtt.end_round(ack, self.next, self.settings.max_window, now);
        if !self.settings.restart_before_sample {
            self.restart_timer(now);
        }
        if !(ack.ece && self.ecn_confirmed) {
            self.control.acknowledged(&mut self.window, newly);
            self.limit_cwnd();
            out.window(&self.window);
        }
        if !ack.ece && self.ecn_confirmed {
            self.marked_at_one = false;
        }
        self.ecn_confirmed |= ack.ece;
        if self.una == 1 && self.settings.delay_growth {
            self.window.cwnd = self.initial_window as f64;
            out.window(&self.window);
        }
    }

    fn duplicate(&mut self, now: Time, out: &mut impl Output) {
        self.duplicates += 1;
        let usable = self.usable_window_exact();
        let view = View { una: self.una, recover: self.recover, last_cut: self.last_cut, ecn: self.settings.ecn };
        match self.recovery.duplicate(self.duplicates, &view) {
            Reaction::Wait => {}
            Reaction::LimitedTransmit => self.send_one(now, out),
            Reaction::Retransmit { cut } => self.retransmit_fast(cut.then_some(usable), now, out),
        }
    }

    /// Retransmits the first unacknowledged segment; with `cut`, halves the window that was usable before recovery inflated it.
    fn retransmit_fast(&mut self, cut: Option<f64>, now: Time, out: &mut impl Output) {
        self.last_cut = LastCut::Duplicates;
        if let Some(usable) = cut {
            self.recover = self.high;
            self.halve(usable, out);
        }
        self.restart_timer(now);
        self.timed = None;
        let by_timeout = self.counters.retransmitted_timeout;
        self.send(self.una, now, out);
        // With nothing outstanding this sends new data, which counts as neither.
        self.counters.retransmitted_fast += self.counters.retransmitted_timeout - by_timeout;
        self.counters.retransmitted_timeout = by_timeout;
    }

    fn send_window(&mut self, now: Time, out: &mut impl Output) {
        let burst = if self.settings.max_burst == 0 { u64::MAX } else { self.settings.max_burst };
        for _ in 0..burst {
            if self.next >= self.una + self.usable_window() || self.next >= self.available {
                break;
            }
            self.send(self.next, now, out);
            self.next += 1;
        }
    }

    fn send_one(&mut self, now: Time, out: &mut impl Output) {
        let in_receiver_window = self.next < self.una + self.settings.max_window;
        let in_limited_window = (self.next + 1) as f64 <= self.una as f64 + self.window.cwnd + f64::from(self.duplicates);
        if in_receiver_window && in_limited_window && self.next < self.available {
            self.send(self.next, now, out);
            self.next += 1;
        }
    }

    fn send(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        let settings = &self.settings;
        let first = seq == 0;
        let retransmission = seq < self.high;
        let cwr = self.cwr_due && (settings.cwr_on_retransmission || seq + 1 >= self.high);
        self.cwr_due &= !cwr;
        let nothing_outstanding = self.una == self.high;
        out.send(Segment {
            seq,
            size: if first && settings.first_packet_size > 0 { settings.first_packet_size } else { settings.packet_size },
            ecn: if settings.ecn && !first { Ecn::Ect0 } else { Ecn::NotEct },
            cwr,
            ece: settings.ecn && first,
            retransmission,
        });
        self.counters.sent += 1;
        if retransmission {
            self.counters.retransmitted_timeout += 1;
        } else {
            self.high = seq + 1;
            self.start_timing(seq, now);
        }
        if self.rto_at.is_none() || nothing_outstanding {
            self.restart_timer(now);
        }
    }

    fn start_timing(&mut self, seq: u64, now: Time) {
        if self.timed.is_none() {
            self.timed = Some((seq, now));
        }
    }

    fn finish_timing(&mut self, ack: &Ack, now: Time) {
        let Some((_, sent)) = self.timed.filter(|&(seq, _)| ack.next > seq) else { return };
        if !(self.ecn_confirmed && self.marked_at_one && ack.ece) {
            self.estimator.end_backoff();
            self.marked_at_one = false;
        }
        self.timed = None;
        self.estimator.sample(sent, now, self.settings.tick);
    }

    fn halve(&mut self, usable: f64, out: &mut impl Output) {
        let cut = response::halve(usable, self.settings.halving);
        cut.apply(&mut self.window, |window| out.window(window));
        self.cwr_due = true;
    }

    /// The window after a timeout. After a cut for a mark, and with nothing outstanding, the threshold stays.
    fn collapse(&mut self, idle: bool, out: &mut impl Output) {
        let keeps_threshold = idle || self.last_cut == LastCut::Mark;
        if keeps_threshold {
            self.window.cwnd = 1.0;
            out.window(&self.window);
        } else {
            self.counters.timeouts += 1;
            let cut = response::halve(self.usable_window_exact(), self.settings.halving).to_one();
            cut.apply(&mut self.window, |window| out.window(window));
        }
        self.cwr_due = true;
    }

    fn limit_cwnd(&mut self) {
        let limit = self.settings.cwnd_limit;
        if limit > 0 && self.window.cwnd as u64 > limit {
            self.window.cwnd = limit as f64;
        }
    }

    fn restart_timer(&mut self, now: Time) {
        self.rto_at = Some(now + self.estimator.timeout(&self.settings));
    }
}

impl RttSeen {
    fn sample(&mut self, ack: &Ack, now: Time) {
        if ack.echo_retransmission {
            return;
        }
        let rtt = now.since(ack.echo);
        self.last = rtt;
        self.min = if self.min == Span::ZERO { rtt } else { self.min.min(rtt) };
        let smoothed = if self.smoothed == Span::ZERO { rtt.picos() } else { self.smoothed.picos() / 8 * 7 + rtt.picos() / 8 };
        self.smoothed = Span::from_picos(smoothed);
    }

    /// Appendix A's base round-trip time, as its lines run. A round is timed from the acknowledgement that ended the one before, waiting
    /// included; the base is the smallest, but a round of a single segment sets it anew. Segments are timed singly only as long as
    /// each slot of the table of `max_window` send times is used for the first time, since the lines that would free a slot are never reached.
    fn end_round(&mut self, ack: &Ack, next: u64, max_window: u64, now: Time) {
        let (began, ends) = self.round;
        if ack.next > ends {
            let mean = self.round_sum.picos().checked_div(self.round_samples).unwrap_or(now.since(began).picos());
            if self.base == Span::ZERO || mean < self.base.picos() || next <= ends + 1 {
                self.base = Span::from_picos(mean);
            }
            (self.round, self.round_sum, self.round_samples) = ((now, next), Span::ZERO, 0);
        }
        if ack.next <= max_window && !ack.echo_retransmission {
            let rtt = now.since(ack.echo);
            self.round_sum += rtt;
            self.round_samples += 1;
            self.base = self.base.min(rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    struct Sent(Vec<Segment>);

    impl Output for Sent {
        fn send(&mut self, segment: Segment) {
            self.0.push(segment);
        }
    }

    fn ack(next: u64) -> Ack {
        Ack { next, size: 40, ece: false, echo: Time::ZERO, echo_retransmission: false }
    }

    #[test]
    fn duplicates_with_nothing_outstanding_retransmit_nothing() {
        let settings = Settings { syn: false, delay_growth: false, initial_window: 1, ..profile::settings("ns2") };
        let mut sender = Sender::new(Arc::new(settings), 1, Span::ZERO);
        let mut sent = Sent(Vec::new());
        sender.start(Time::ZERO, &mut sent);
        for _ in 0..4 {
            sender.acknowledge(&ack(1), Time::ZERO, &mut sent);
        }
        assert_eq!((0, 0), (sender.counters().retransmitted_fast, sender.counters().retransmitted_timeout));
    }
}
