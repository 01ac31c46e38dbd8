//! What every loss recovery works on: the sequence space, the window and the timer, and the deeds that change them.

mod cuts;
mod send;

use std::collections::VecDeque;
use std::sync::Arc;

use ecnlab_units::{Span, Time};

use super::pacing::Pacer;
use super::rtt_seen::RttSeen;
use super::{Counters, Output};
use crate::response::Response;
use crate::rtt::Estimator;
use crate::segment::Ack;
use crate::settings::{GrowthBy, ResponseName, RttReport, Settings, TimerRestart};
use crate::source::Demand;
use crate::window::{Acked, CongestionControl, Control, HyStart, Window};

/// What the sender last cut its window for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastCut {
    None,
    Duplicates,
    Mark,
    Timeout,
}

/// A sender without its loss recovery. What every acknowledgement reads stands first, so that it shares cache lines.
#[repr(C)]
pub struct Core {
    pub settings: Arc<Settings>,
    /// Lowest segment not yet acknowledged.
    pub una: u64,
    /// Next segment to send; at most `high`, and below it only while a recovery goes back.
    pub next: u64,
    /// One past the highest segment ever sent.
    pub high: u64,
    /// One past the highest segment sent when the window was last cut.
    pub recover: u64,
    /// Segments there are to send, SYN and FIN counted.
    pub available: u64,
    pub window: Window,
    pub rto_at: Option<Time>,
    /// The segment being timed and when it was sent.
    pub timed: Option<(u64, Time)>,
    /// Segments that the window is inflated by, for segments known to have left the network.
    pub inflation: u64,
    /// The first segment not yet acknowledged that is short or the FIN.
    first_special: u64,
    /// Duplicate acknowledgements in a row.
    pub duplicates: u32,
    pub last_cut: LastCut,
    /// ECN is in use: it was agreed upon, or is taken for granted where there is no handshake.
    pub(super) ecn: bool,
    cwr_due: bool,
    /// The acknowledgement at hand echoes a mark.
    echoed: bool,
    /// The other side echoes marks.
    pub(super) ecn_confirmed: bool,
    /// A mark came while the window was one segment or less.
    marked_at_one: bool,
    /// The response looks at every acknowledgement.
    observed: bool,
    pub control: Control,
    /// Governs the first slow start as long as that goes on.
    hystart: Option<Box<HyStart>>,
    pub pacer: Option<Box<Pacer>>,
    pub counters: Counters,
    last_sent: Time,
    pub rtt: RttSeen,
    pub estimator: Estimator,
    response: Response,
    /// What cuts for marks have kept of the window in this round trip; nothing after a loss.
    kept: f64,
    pub initial_window: u64,
    /// Segments with less than a full payload that are not yet acknowledged, and their sizes.
    short: VecDeque<(u64, u32)>,
    /// The segment number of the FIN.
    fin: Option<u64>,
    /// The segment that the timer resent last.
    resent: Option<u64>,
}

impl Core {
    pub fn new(settings: Arc<Settings>, demand: &Demand, boot: Span) -> Core {
        let first_window = if settings.syn() && settings.delay_growth { 1 } else { settings.initial_window };
        let mut core = Core {
            una: 0,
            next: 0,
            high: 0,
            recover: 1,
            available: u64::from(settings.syn()),
            initial_window: settings.initial_window,
            duplicates: 0,
            inflation: 0,
            last_cut: LastCut::None,
            window: Window { cwnd: first_window as f64, ssthresh: settings.max_window as f64 },
            control: Control::new(&settings),
            hystart: settings.hystart.then(|| Box::new(HyStart::new(settings.pacing))),
            estimator: Estimator::new(&settings, boot),
            timed: None,
            rto_at: None,
            rtt: RttSeen::default(),
            pacer: settings.pacing.then(Default::default),
            counters: Counters::default(),
            response: Response::new(&settings),
            ecn: settings.ecn,
            kept: 1.0,
            cwr_due: false,
            echoed: false,
            observed: settings.response == ResponseName::Dctcp,
            ecn_confirmed: false,
            marked_at_one: false,
            short: VecDeque::new(),
            fin: None,
            first_special: u64::MAX,
            resent: None,
            last_sent: Time::ZERO,
            settings,
        };
        core.add(demand);
        core
    }

    /// More to send. The last demand of a connection that closes brings its FIN.
    pub fn add(&mut self, demand: &Demand) {
        self.available = self.available.saturating_add(demand.segments);
        if let Some(payload) = demand.last_payload {
            self.short.push_back((self.available - 1, payload + self.settings.header));
        }
        if demand.closes && self.settings.fin {
            self.fin = Some(self.available);
            self.available += 1;
        }
        self.find_special();
    }

    /// Sending goes on after a spell with nothing to send (RFC 5681, section 4.1).
    pub fn resume(&mut self, now: Time, out: &mut impl Output) {
        if self.una < self.high || self.high == 0 {
            return;
        }
        self.control.resumed(now);
        if self.settings.idle_restart && now.since(self.last_sent) > self.estimator.timeout(&self.settings) {
            self.window.cwnd = self.window.cwnd.min(self.initial_window as f64);
            out.window(&self.window);
        }
    }

    /// HyStart++ still looks for the end of the first slow start.
    #[cfg(test)]
    pub fn in_first_slow_start(&self) -> bool {
        self.hystart.is_some()
    }

    /// Segments sent and not yet acknowledged by number.
    pub fn outstanding(&self) -> u64 {
        self.high - self.una
    }

    /// The window that may be in flight, in whole segments.
    pub fn usable_window(&self) -> u64 {
        (self.window.cwnd as u64 + self.inflation).min(self.settings.max_window)
    }

    pub fn usable_window_exact(&self) -> f64 {
        (self.window.cwnd + self.inflation as f64).min(self.settings.max_window as f64)
    }

    /// Takes the acknowledgement of new data into the sequence space, the estimate and the timer; returns how many segments are new.
    #[inline(always)]
    pub fn advance(&mut self, ack: &Ack, now: Time) -> u64 {
        if self.last_cut == LastCut::Duplicates {
            self.last_cut = LastCut::None;
        }
        let newly = ack.next - self.una;
        if self.settings.timer_restart == TimerRestart::BeforeSample {
            // Below a window of one nothing is sent before the timer: it runs even with nothing outstanding.
            let needed = self.next >= ack.next || ack.next < self.high || self.window.cwnd < 1.0;
            self.rto_at = needed.then(|| now + self.estimator.timeout(&self.settings));
        }
        self.duplicates = 0;
        self.una = ack.next;
        self.next = self.next.max(self.una);
        self.take_sample(ack, now);
        if self.settings.rtt_report == RttReport::Base {
            self.rtt.end_round(ack, self.next, self.settings.max_window, now);
        }
        match self.settings.timer_restart {
            TimerRestart::AfterSample => self.restart_timer(now),
            TimerRestart::Rfc6298 if self.una < self.high => self.restart_timer(now),
            TimerRestart::Rfc6298 => self.rto_at = None,
            TimerRestart::BeforeSample => {}
        }
        self.forget_short();
        newly
    }

    /// With the window below one segment nothing is sent before the timer (RFC 3168, section 6.1.2), which runs even with nothing outstanding.
    pub(super) fn keep_timer(&mut self, now: Time) {
        if self.rto_at.is_none() && self.window.cwnd < 1.0 && self.una < self.available {
            self.restart_timer(now);
        }
    }

    /// Takes the acknowledgement of a part of what recovery waits for into the sequence space, and into nothing else.
    pub fn advance_partly(&mut self, next: u64) {
        self.una = next;
        self.forget_short();
    }

    #[inline(always)]
    fn forget_short(&mut self) {
        if self.una > self.first_special {
            self.short.retain(|&(seq, _)| seq >= self.una);
            self.find_special();
        }
    }

    #[cold]
    fn find_special(&mut self) {
        let short = self.short.front().map(|&(seq, _)| seq);
        let fin = self.fin.filter(|&fin| fin >= self.una);
        self.first_special = short.into_iter().chain(fin).min().unwrap_or(u64::MAX);
    }

    /// Whether an acknowledgement of `newly` segments may open the window: it does not say that the network is congested.
    pub fn may_open(&self, newly: u64) -> bool {
        !(self.echoed && self.ecn_confirmed) && self.may_grow(newly)
    }

    /// Lets the window grow for an acknowledgement of `newly` segments, unless it says that the network is congested.
    #[inline(always)]
    pub fn grow(&mut self, ack: &Ack, newly: u64, now: Time, out: &mut impl Output) {
        if !(self.echoed && self.ecn_confirmed) {
            if self.may_grow(newly) {
                let acked = self.acked(ack, newly, now);
                self.grow_window(&acked);
                self.limit_cwnd();
                out.window(&self.window);
            } else {
                self.control.not_used(now);
            }
        }
        self.note_echo(ack);
        if self.una == 1 && self.settings.delay_growth {
            self.window.cwnd = self.initial_window as f64;
            out.window(&self.window);
        }
    }

    #[inline(always)]
    fn grow_window(&mut self, acked: &Acked) {
        let Some(hystart) = &mut self.hystart else { return self.control.acknowledged(&mut self.window, acked) };
        if !hystart.acknowledged(&mut self.window, acked) {
            self.hystart = None;
        }
    }

    /// What congestion control is told of an acknowledgement of `newly` segments.
    #[inline(always)]
    pub fn acked(&self, ack: &Ack, newly: u64, now: Time) -> Acked {
        Acked {
            segments: if self.settings.growth == GrowthBy::Acks { 1 } else { newly },
            now,
            rtt: (!ack.echo_retransmission).then(|| now.since(ack.echo)),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            una: self.una,
            high: self.high,
        }
    }

    /// Whether the window was in use before these segments were acknowledged (RFC 2861). In slow start half of it is enough.
    fn may_grow(&self, newly: u64) -> bool {
        if !self.settings.window_validation {
            return true;
        }
        let flight = (self.outstanding() + newly) as f64;
        if self.window.in_slow_start() { 2.0 * flight > self.window.cwnd } else { flight + 1.0 > self.window.cwnd }
    }

    pub fn limit_cwnd(&mut self) {
        let limit = self.settings.cwnd_limit;
        if limit > 0 && self.window.cwnd as u64 > limit {
            self.window.cwnd = limit as f64;
        }
    }

    #[inline(always)]
    fn take_sample(&mut self, ack: &Ack, now: Time) {
        if self.settings.timestamps {
            self.estimator.end_backoff();
            return self.estimator.sample(ack.echo, now, self.una, self.high, &self.settings);
        }
        let Some((_, sent)) = self.timed.filter(|&(seq, _)| ack.next > seq) else { return };
        if !(self.ecn_confirmed && self.marked_at_one && self.echoed) {
            self.estimator.end_backoff();
            self.marked_at_one = false;
        }
        self.timed = None;
        self.estimator.sample(sent, now, self.una, self.high, &self.settings);
    }

    pub fn restart_timer(&mut self, now: Time) {
        self.rto_at = Some(now + self.estimator.timeout(&self.settings));
    }
}
