//! The transmission control block: the state of a connection's sending end that loss recovery works on, and the deeds that change it.
//!
//! ```text
//!                       una           next          high          una + window       available
//!  ----------------------+-------------+-------------+------------------+------------------+
//!    acknowledged        |        sent, not yet      |   may be sent    |   has to wait    |
//!                        |        acknowledged       |                  |                  |
//!
//!  una <= next <= high <= available
//!  window = min(cwnd + inflation, max_window); inflation lends the window a segment for each duplicate of a recovery
//!  `next` is the next segment to send. It is below `high` only after a recovery has gone back; what is sent below `high` goes again.
//!
//!                       una                  recover           high
//!  ----------------------+----------------------+----------------+
//!                        |  sent before the cut |  sent after it |
//!                        |  marks and losses    |  a mark or a   |
//!                        |  are covered by it   |  loss cuts     |
//!
//!  recover is `high` at the time of the last cut
//! ```
//!
//! What the last cut was for and how deep it went is [`LastCut`]'s to say; whether ECN is in use and a CWR is due, `EcnState`'s; which
//! segments are short or the FIN, [`Plan`]'s. `cuts` has what cuts the window, `send` what goes out, `opening` the handshake. Recovery reads
//! the state by questions and changes it by deeds, so what holds between the numbers is settled here.

mod cuts;
mod ecn;
mod gate;
mod last_cut;
mod opening;
mod pacing;
mod persist;
mod rtt_seen;
mod send;
mod timing;
mod usage;

use std::sync::Arc;

use ecnlab_units::{Span, Time};

use self::ecn::EcnState;
use self::gate::SendGate;
pub use self::last_cut::{CutFor, LastCut};
use self::persist::Offer;
pub use self::rtt_seen::RttSeen;
use self::usage::Usage;
use crate::application::Demand;
use crate::clock::HostClock;
use crate::plan::Plan;
use crate::processing::ProcessingTime;
use crate::response::Response;
use crate::rtt::{Estimator, MinRtt, Point};
use crate::segment::{Ack, Segment};
use crate::settings::{EstimatorName, GrowthBy, HystartName, RecoveryName, ResponseName, RttReport, Settings, TimerRestart};
use crate::window::{Acked, CongestionControl, Control, HyStart, Window};

/// Where a sender's segments go, and who is told of its window.
pub trait Output {
    fn send(&mut self, segment: Segment);

    /// The window or the threshold may have changed.
    fn window(&mut self, _window: &Window) {}
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    pub sent: u64,
    pub retransmitted_fast: u64,
    pub retransmitted_timeout: u64,
    /// Timeouts that meant a loss: data was outstanding and no mark had just cut the window (ns-2's nrexmit_).
    pub timeouts: u64,
    /// Window cuts for marks.
    pub ecn_reactions: u64,
}

impl SendCounters {
    /// The sum of these counts and others.
    pub fn plus(&self, other: &SendCounters) -> SendCounters {
        SendCounters {
            sent: self.sent + other.sent,
            retransmitted_fast: self.retransmitted_fast + other.retransmitted_fast,
            retransmitted_timeout: self.retransmitted_timeout + other.retransmitted_timeout,
            timeouts: self.timeouts + other.timeouts,
            ecn_reactions: self.ecn_reactions + other.ecn_reactions,
        }
    }
}

/// A sender without its loss recovery. What every acknowledgement reads stands first, so that it shares cache lines.
#[repr(C)]
pub struct Tcb {
    settings: Arc<Settings>,
    /// Lowest segment not yet acknowledged.
    una: u64,
    /// Next segment to send.
    next: u64,
    /// One past the highest segment ever sent.
    high: u64,
    /// One past the last segment that the receiver has said to have room for.
    room: u64,
    /// When the retransmission timer expires.
    retransmit_at: Option<Time>,
    plan: Plan,
    window: Window,
    last_cut: LastCut,
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    ecn: EcnState,
    /// The response looks at every acknowledgement.
    observed: bool,
    /// An echo of a mark is responded to before recovery takes the acknowledgement. Without a response nothing says CWR, and the echo that stays
    /// on must not keep the window from growing.
    responds_at_once: bool,
    /// Congestion control looks at round-trip times, and recovery shows it none.
    sampled: bool,
    /// The other side tells of its window.
    hears_window: bool,
    /// The next segment is pushed, whatever is written.
    pushes: bool,
    last_sent: Time,
    offer: Offer,
    counters: SendCounters,
    control: Control,
    /// Governs the first slow start as long as that goes on.
    hystart: Option<Box<HyStart>>,
    /// What may hold segments back that the window allows.
    gate: Option<Box<SendGate>>,
    /// Where growth asks for the most that was outstanding.
    usage: Option<Box<Usage>>,
    estimator: Estimator,
    rtt: RttSeen,
    /// Where recovery takes samples by itself, and the estimate does not keep it.
    min_rtt: Option<Box<MinRtt>>,
    initial_window: u64,
    /// The segment being timed and when it was sent.
    timed: Option<(u64, Time)>,
    response: Response,
    /// The segment that the timer sent again last.
    resent: Option<u64>,
}

impl Tcb {
    pub fn new(settings: Arc<Settings>, demand: &Demand, clock: HostClock) -> Tcb {
        let first_window = if settings.syn() && settings.delay_growth { 1 } else { settings.initial_window };
        let control = Control::new(&settings, clock);
        Tcb {
            una: 0,
            next: 0,
            high: 0,
            last_cut: LastCut::none(),
            window: Window { cwnd: first_window as f64, ssthresh: settings.max_window as f64 },
            retransmit_at: None,
            timed: None,
            duplicates: 0,
            ecn: EcnState::new(&settings),
            observed: settings.response == ResponseName::Dctcp,
            responds_at_once: settings.response != ResponseName::None && !settings.reduces_for_marks(),
            hears_window: false,
            sampled: settings.recovery != RecoveryName::Rack && control.reads_samples(),
            plan: Plan::new(&settings, demand),
            control,
            hystart: (settings.hystart == HystartName::PlusPlus).then(|| Box::new(HyStart::new(settings.pacing))),
            gate: settings.pacing.then(|| Box::new(SendGate::paced())),
            counters: SendCounters::default(),
            last_sent: Time::ZERO,
            rtt: RttSeen::default(),
            estimator: Estimator::new(&settings, clock),
            response: Response::new(&settings),
            initial_window: settings.initial_window,
            usage: Usage::of(&settings),
            resent: None,
            pushes: false,
            min_rtt: (settings.recovery == RecoveryName::Rack && settings.estimator != EstimatorName::Linux).then(Box::default),
            room: u64::MAX,
            offer: Offer::default(),
            settings,
        }
    }

    /// The host needs a random time before segments leave.
    pub fn set_processing_time(&mut self, processing: ProcessingTime) {
        self.gate.get_or_insert_default().set_processing_time(processing);
    }

    /// More to send.
    pub fn add(&mut self, demand: &Demand) {
        self.plan.add(demand, self.high);
        self.find_room();
    }

    /// The application has closed, if it has, now that what may go has gone; whether there is a FIN to send.
    pub fn close(&mut self) -> bool {
        let closes = self.plan.close(self.high);
        if closes {
            self.find_room();
        }
        closes
    }

    /// What there is to send, segment by segment.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What an arriving segment brings; see [`crate::Endpoint::brought`].
    #[inline]
    pub fn brought(&self, segment: &Segment, delivered: u64, next: u64) -> (u64, u32) {
        let carried = || {
            if self.plan.carries_data(segment.role) && segment.seq >= u64::from(self.settings.syn()) {
                segment.size - self.settings.header
            } else {
                0
            }
        };
        self.plan.brought(segment.seq, delivered, next, carried)
    }

    /// The application has more to send; if all it had sent was acknowledged, the connection was idle (RFC 5681, section 4.1).
    /// The window may come down for a cut (`reduces`).
    pub fn resume(&mut self, reduces: bool, now: Time, out: &mut impl Output) {
        if self.una < self.high || self.high == 0 {
            return;
        }
        // Recovery by time tells of a pause when it sends.
        if self.settings.recovery != RecoveryName::Rack {
            self.control.resumed(now, self.last_sent);
        }
        self.restart_after_idle(reduces, now, out);
    }
}

/// Questions.
impl Tcb {
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Lowest segment not yet acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Next segment to send.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// One past the highest segment ever sent.
    pub fn high(&self) -> u64 {
        self.high
    }

    /// Segments there are to send, SYN and FIN counted.
    pub fn available(&self) -> u64 {
        self.plan.segments()
    }

    /// Whether there is a new segment that the receiver's window has room for.
    pub fn has_new(&self) -> bool {
        self.high < self.available() && self.high < self.una + self.settings.max_window && self.high < self.room
    }

    /// Whether the other side's window has room for a segment, or had as it went first.
    pub fn fits(&self, seq: u64) -> bool {
        seq < self.room.max(self.high)
    }

    /// New segments that there are to send and that the receiver's window has room for.
    pub fn ready(&self) -> u64 {
        self.available().min(self.room).min(self.una + self.settings.max_window).saturating_sub(self.high)
    }

    /// Whether the application has nothing more to add.
    pub fn is_closed(&self) -> bool {
        self.plan.is_closed_before(self.available())
    }

    /// When a segment was sent last.
    pub fn last_sent(&self) -> Time {
        self.last_sent
    }

    /// Segments sent and not yet acknowledged by number.
    pub fn outstanding(&self) -> u64 {
        self.high - self.una
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The window that may be in flight, in whole segments.
    pub fn usable_window(&self) -> u64 {
        (self.window.cwnd as u64 + self.last_cut.inflation()).min(self.settings.max_window)
    }

    pub(crate) fn usable_window_exact(&self) -> f64 {
        (self.window.cwnd + self.last_cut.inflation() as f64).min(self.settings.max_window as f64)
    }

    pub fn last_cut(&self) -> &LastCut {
        &self.last_cut
    }

    /// Duplicate acknowledgements in a row.
    pub fn duplicates(&self) -> u32 {
        self.duplicates
    }

    pub fn rtt(&self) -> &RttSeen {
        &self.rtt
    }

    /// When the retransmission timer expires.
    #[inline]
    pub fn retransmit_at(&self) -> Option<Time> {
        self.retransmit_at
    }

    /// When a segment may leave that pacing or the processing time holds back.
    pub fn held_until(&self) -> Option<Time> {
        self.gate.as_ref().and_then(|gate| gate.deadline())
    }

    pub fn counters(&self) -> &SendCounters {
        &self.counters
    }

    /// Whether ECN is in use.
    pub fn uses_ecn(&self) -> bool {
        self.ecn.in_use()
    }

    /// DCTCP's alpha, where there is one.
    pub fn alpha(&self) -> Option<f64> {
        self.response.alpha()
    }

    /// HyStart++ still looks for the end of the first slow start.
    #[cfg(test)]
    pub fn in_first_slow_start(&self) -> bool {
        self.hystart.is_some()
    }

    /// The segment being timed.
    #[cfg(test)]
    pub fn timed(&self) -> Option<u64> {
        self.timed.map(|(seq, _)| seq)
    }
}

/// The sequence space and what is known by it.
impl Tcb {
    /// Takes the round-trip time that an acknowledgement shows.
    pub fn see_rtt(&mut self, ack: &Ack, now: Time) {
        self.rtt.sample(ack, now);
    }

    /// Takes the acknowledgement of new data into the sequence space, the estimate and the timer; returns how many segments are new.
    #[inline(always)]
    pub fn advance(&mut self, ack: &Ack, now: Time) -> u64 {
        self.last_cut.end_duplicates();
        let newly = ack.next - self.una;
        if self.settings.timer_restart == TimerRestart::BeforeSample {
            // Below a window of one nothing is sent before the timer: it runs even with nothing outstanding.
            let needed = self.next >= ack.next || ack.next < self.high || self.window.cwnd < 1.0;
            self.retransmit_at = needed.then(|| self.estimator.clock().expiry(now, self.estimator.timeout(&self.settings)));
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
            TimerRestart::Rfc6298 => self.retransmit_at = None,
            TimerRestart::BeforeSample => {}
        }
        self.plan.pass(self.una);
        newly
    }

    /// Takes the acknowledgement of a part of what recovery waits for into the sequence space, and into nothing else.
    pub fn advance_partly(&mut self, next: u64) {
        self.una = next;
        self.next = self.next.max(self.una);
        self.plan.pass(self.una);
    }

    /// Sending goes back to the first segment that is not acknowledged.
    pub fn go_back(&mut self) {
        self.next = self.una;
    }

    /// What is sent next is new.
    pub fn go_on_at_high(&mut self) {
        self.next = self.high;
    }

    /// A segment was sent out of turn: what is sent next lies behind it.
    pub fn pass_over(&mut self, seq: u64) {
        self.next = self.next.max(seq + 1);
    }

    /// A duplicate acknowledgement: how many there are in a row with it.
    pub fn count_duplicate(&mut self) -> u32 {
        self.duplicates += 1;
        self.duplicates
    }

    /// So many duplicates in a row, as recovery counts them.
    pub fn set_duplicates(&mut self, count: u32) {
        self.duplicates = count;
    }

    #[inline(always)]
    fn take_sample(&mut self, ack: &Ack, now: Time) {
        if self.settings.timestamps {
            self.estimator.end_backoff();
            return self.estimator.sample(ack.echo, now, self.point(), &self.settings);
        }
        let Some((_, sent)) = self.timed.filter(|&(seq, _)| ack.next > seq) else { return };
        if self.ecn.ends_backoff() {
            self.estimator.end_backoff();
        }
        self.timed = None;
        self.estimator.sample(sent, now, self.point(), &self.settings);
    }

    /// Where the connection stands. Hosts let slow start take an acknowledgement before they take its sample.
    fn point(&self) -> Point {
        let Window { cwnd, ssthresh } = self.window;
        Point { una: self.una, high: self.high, cwnd, grows: cwnd <= ssthresh }
    }

    /// What is timed is sent again, or its acknowledgement waits for what is: no sample is taken (Karn's algorithm, RFC 6298, section 3).
    pub fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Gives up the sample of a segment that a partial acknowledgement has passed; the back-off ends with it.
    pub fn give_up_passed_sample(&mut self) {
        if self.timed.is_some_and(|(seq, _)| seq < self.una) {
            self.timed = None;
            self.estimator.end_backoff();
        }
    }
}

/// The retransmission timer.
impl Tcb {
    pub fn restart_timer(&mut self, now: Time) {
        self.retransmit_at = Some(self.estimator.clock().expiry(now, self.estimator.timeout(&self.settings)));
    }

    /// With the window below one segment nothing is sent before the timer (RFC 3168, section 6.1.2), which runs even with nothing outstanding.
    pub fn run_timer_below_one(&mut self, now: Time) {
        if self.retransmit_at.is_none() && self.window.cwnd < 1.0 && self.una < self.available() {
            self.restart_timer(now);
        }
    }

    /// Doubles the timeout.
    pub fn back_off(&mut self) {
        self.estimator.back_off(&self.settings);
    }

    pub fn end_backoff(&mut self) {
        self.estimator.end_backoff();
    }
}

/// The window's growth; `cuts` has what cuts it.
impl Tcb {
    /// Whether the acknowledgement at hand says that the network is congested, so that the window may not grow (RFC 3168, section 6.1.2). While
    /// what a timeout has shown is repaired it says nothing new: the timeout has cut the window, and where CWR waits for new data
    /// the echo cannot end before the repair does. Slow start goes on then, as in Linux (tcp_cong_avoid in CA_Loss). ns-2's retransmissions
    /// carry CWR and end the echo, and ns-2 does not grow on one.
    fn ece_forbids_growth(&self) -> bool {
        let repairs_timeout = || self.last_cut.is_for(CutFor::Timeout) && !self.last_cut.is_repaired(self.una);
        self.ecn.forbids_growth() && (self.settings.cwr_on_retransmission || !repairs_timeout())
    }

    /// Whether an acknowledgement of `newly` segments may open the window.
    fn may_open(&self, newly: u64) -> bool {
        !self.ece_forbids_growth() && self.is_used(newly)
    }

    /// Lets the window grow for an acknowledgement of `newly` segments, unless it says that the network is congested.
    #[inline(always)]
    pub fn grow(&mut self, ack: &Ack, newly: u64, now: Time, out: &mut impl Output) {
        self.count_as_used(now);
        if self.sampled {
            self.sample_control(ack, newly, now);
        }
        if !self.ece_forbids_growth() {
            if self.is_used(newly) {
                let acked = self.acked(ack, newly, now);
                self.grow_window(&acked);
                self.limit_cwnd();
                out.window(&self.window);
            } else {
                self.control.not_used(now);
            }
        }
        self.ecn.remember(ack);
        if self.una == 1 && self.settings.delay_growth {
            self.open_window(out);
        }
    }

    #[inline(never)]
    fn sample_control(&mut self, ack: &Ack, newly: u64, now: Time) {
        let acked = self.acked(ack, newly, now);
        if let Some(rtt) = acked.rtt {
            let rtt = rtt.picos() / Span::from_micros(1).picos();
            if self.control.counts(&self.window, rtt, now) {
                let acked = self.acked_as_estimated(ack, newly, now);
                self.control.look_for_end(&mut self.window, rtt, &acked);
            }
        }
    }

    #[inline(always)]
    fn grow_window(&mut self, acked: &Acked) {
        let Some(hystart) = &mut self.hystart else { return self.control.acknowledged(&mut self.window, acked) };
        if !hystart.acknowledged(&mut self.window, acked) {
            self.hystart = None;
        }
    }

    /// The same as Vegas' recovery asks for it: with a sample of its own, with the next segment to send as the end of what is in flight, and
    /// telling of every step.
    pub fn grow_by_steps(&mut self, ack: &Ack, newly: u64, rtt: Option<Span>, now: Time, out: &mut impl Output) {
        if self.may_open(newly) {
            let acked = Acked { rtt, high: self.next, ..self.acked(ack, newly, now) };
            self.control.acknowledged_by_steps(&mut self.window, &acked, |window| out.window(window));
            self.limit_cwnd();
            out.window(&self.window);
        }
        self.ecn.remember(ack);
    }

    /// Congestion control is told that the first segment goes.
    pub fn start_control(&mut self, now: Time) {
        self.control.started(now);
    }

    /// The initial window, where it had to wait for the first acknowledgement.
    pub fn open_window(&mut self, out: &mut impl Output) {
        self.set_cwnd(self.initial_window as f64, out);
    }

    /// The acknowledgement at hand has been dealt with, and grows nothing.
    pub fn note_echo(&mut self, ack: &Ack) {
        self.ecn.remember(ack);
    }

    /// What congestion control is told of an acknowledgement of `newly` segments.
    #[inline(always)]
    fn acked(&self, ack: &Ack, newly: u64, now: Time) -> Acked {
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

    /// The same with the smoothed round-trip time of the estimate.
    fn acked_as_estimated(&self, ack: &Ack, newly: u64, now: Time) -> Acked {
        let acked = self.acked(ack, newly, now);
        Acked { srtt: self.smoothed().unwrap_or(acked.srtt), ..acked }
    }

    fn limit_cwnd(&mut self) {
        let limit = self.settings.cwnd_limit;
        if limit > 0 && self.window.cwnd as u64 > limit {
            self.window.cwnd = limit as f64;
        }
    }

    /// Recovery sets the window.
    pub fn set_cwnd(&mut self, cwnd: f64, out: &mut impl Output) {
        self.window.cwnd = cwnd;
        out.window(&self.window);
    }

    /// Recovery sets the slow-start threshold.
    pub fn set_ssthresh(&mut self, ssthresh: f64, out: &mut impl Output) {
        self.window.ssthresh = ssthresh;
        out.window(&self.window);
    }
}
