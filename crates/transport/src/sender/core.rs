//! What every loss recovery works on: the sequence space, the window and the timer, and the deeds that change them.

use std::collections::VecDeque;
use std::sync::Arc;

use ecnlab_units::{Ecn, Level, Span, Time};

use super::pacing::Pacer;
use super::rtt_seen::RttSeen;
use super::{Counters, Output};
use crate::response::{self, Response};
use crate::rtt::Estimator;
use crate::segment::{Ack, Kind, Segment};
use crate::settings::{CutFrom, Echo, GrowthBy, Handshake, RecoveryName, Settings, TimerRestart};
use crate::source::Demand;
use crate::window::{Acked, Cause, CongestionControl, Control, HyStart, Window};

/// What the sender last cut its window for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastCut {
    None,
    Duplicates,
    Mark,
    Timeout,
}

/// A sender without its loss recovery.
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
    pub initial_window: u64,
    /// Duplicate acknowledgements in a row.
    pub duplicates: u32,
    /// Segments that the window is inflated by, for segments known to have left the network.
    pub inflation: u64,
    pub last_cut: LastCut,
    pub window: Window,
    pub control: Control,
    /// Governs the first slow start as long as that goes on.
    hystart: Option<Box<HyStart>>,
    pub estimator: Estimator,
    /// The segment being timed and when it was sent.
    pub timed: Option<(u64, Time)>,
    pub rto_at: Option<Time>,
    pub rtt: RttSeen,
    pub pacer: Option<Box<Pacer>>,
    pub counters: Counters,
    response: Response,
    /// ECN is in use: it was agreed upon, or is taken for granted where there is no handshake.
    pub(super) ecn: bool,
    /// What cuts for marks have kept of the window in this round trip; nothing after a loss.
    kept: f64,
    cwr_due: bool,
    /// The acknowledgement at hand echoes a mark.
    echoed: bool,
    /// The other side echoes marks.
    pub(super) ecn_confirmed: bool,
    /// A mark came while the window was one segment or less.
    marked_at_one: bool,
    /// Segments with less than a full payload that are not yet acknowledged, and their sizes.
    short: VecDeque<(u64, u32)>,
    /// The segment number of the FIN.
    fin: Option<u64>,
    /// The segment that the timer resent last.
    resent: Option<u64>,
    last_sent: Time,
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
            ecn_confirmed: false,
            marked_at_one: false,
            short: VecDeque::new(),
            fin: None,
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
    }

    /// Sending goes on after a spell with nothing to send (RFC 5681, section 4.1).
    pub fn resume(&mut self, now: Time, out: &mut impl Output) {
        if self.una < self.high || self.high == 0 {
            return;
        }
        self.control.resumed(self.last_sent, now);
        if self.settings.idle_restart && now.since(self.last_sent) > self.estimator.timeout(&self.settings) {
            self.window.cwnd = self.window.cwnd.min(self.initial_window as f64);
            out.window(&self.window);
        }
    }

    pub fn is_fin(&self, seq: u64) -> bool {
        self.fin == Some(seq)
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

    /// What a cut is taken of.
    fn cut_base(&self) -> f64 {
        match self.settings.cut_from {
            CutFrom::Window => self.usable_window_exact(),
            CutFrom::Flight => self.usable_window_exact().min(self.outstanding() as f64),
        }
    }

    /// Answers an echo of marks, before anything else of an acknowledgement is looked at.
    #[inline]
    pub fn hear(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        self.echoed = false;
        if !self.ecn {
            return;
        }
        let level = match self.settings.ecn_echo {
            Echo::Mecn => mecn_level(ack),
            Echo::Classic | Echo::Dctcp => ack.ece.then_some(Level::Congested),
        };
        self.echoed = level.is_some();
        self.response.observe(ack.next, ack.next.saturating_sub(self.una), self.echoed, self.high);
        if let Some(level) = level {
            self.answer(level, ack, now, out);
        }
    }

    #[inline(never)]
    fn answer(&mut self, level: Level, ack: &Ack, now: Time, out: &mut impl Output) {
        let answered = ack.next <= self.recover && !(self.settings.mark_after_timeout && self.last_cut == LastCut::Timeout);
        if answered {
            if let Some(keep) = self.response.heavier(level).filter(|&keep| keep < self.kept) {
                let further = keep / std::mem::replace(&mut self.kept, keep);
                self.cut(self.cut_base(), further, out);
            }
            return;
        }
        let Some(keep) = self.response.keep(level, self.control.keep()) else { return };
        self.kept = keep;
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
        self.control.cut(&self.window, Cause::Mark, now);
        self.cut(self.cut_base(), keep, out);
    }

    /// Cuts the window for a loss that duplicates show, taken of `from` segments.
    pub fn cut_for_loss(&mut self, from: f64, now: Time, out: &mut impl Output) {
        self.note_loss(now);
        self.cut(from, self.control.keep(), out);
    }

    /// Cuts the threshold for a loss that duplicates show, and the window to one segment.
    pub fn collapse_for_loss(&mut self, now: Time, out: &mut impl Output) {
        self.note_loss(now);
        self.cut_to_one(out);
    }

    /// The window is cut for a loss: marks and losses of what is sent so far do not cut it again, and the receiver is told.
    pub fn note_loss(&mut self, now: Time) {
        self.recover = self.high;
        self.kept = 0.0;
        self.control.cut(&self.window, Cause::Loss, now);
        self.cwr_due = true;
    }

    /// A loss in the window of a mark that has cut already: the cut is deepened to that of a loss, if it was smaller.
    pub fn cut_after_mark(&mut self, now: Time, out: &mut impl Output) {
        let keep = self.control.keep() / self.kept;
        if keep < 1.0 {
            self.kept = 0.0;
            self.control.cut(&self.window, Cause::Loss, now);
            self.cut(self.cut_base(), keep, out);
        }
    }

    /// What a loss cuts the window from.
    pub fn loss_base(&self) -> f64 {
        self.cut_base()
    }

    fn cut(&mut self, from: f64, keep: f64, out: &mut impl Output) {
        let mut cut = response::cut(from, keep, self.settings.halving);
        cut.cwnd = cut.cwnd.max(self.settings.min_window);
        cut.apply(&mut self.window, |window| out.window(window));
        self.cwr_due = true;
        self.hystart = None;
    }

    fn cut_to_one(&mut self, out: &mut impl Output) {
        let cut = response::cut(self.cut_base(), self.control.keep(), self.settings.halving).to_one();
        cut.apply(&mut self.window, |window| out.window(window));
        self.cwr_due = true;
    }

    /// The window of one segment, with the threshold as it is.
    pub fn restart_window(&mut self, out: &mut impl Output) {
        self.window.cwnd = 1.0;
        out.window(&self.window);
        self.cwr_due = true;
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
        self.rtt.end_round(ack, self.next, self.settings.max_window, now);
        match self.settings.timer_restart {
            TimerRestart::AfterSample => self.restart_timer(now),
            TimerRestart::Rfc6298 if self.una < self.high => self.restart_timer(now),
            TimerRestart::Rfc6298 => self.rto_at = None,
            TimerRestart::BeforeSample => {}
        }
        self.forget_short();
        newly
    }

    /// Takes the acknowledgement of a part of what recovery waits for into the sequence space, and into nothing else.
    pub fn advance_partly(&mut self, next: u64) {
        self.una = next;
        self.forget_short();
    }

    #[inline(always)]
    fn forget_short(&mut self) {
        while self.short.front().is_some_and(|&(seq, _)| seq < self.una) {
            self.short.pop_front();
        }
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

    /// Notes whether the other side echoes marks.
    pub fn note_echo(&mut self, ack: &Ack) {
        if !self.echoed && self.ecn_confirmed {
            self.marked_at_one = false;
        }
        self.ecn_confirmed |= ack.ece || ack.cwr;
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

    /// Sends new segments as far as the window allows, at most `most` and the sender's own limit.
    pub fn send_window(&mut self, most: u64, now: Time, out: &mut impl Output) {
        let burst = if self.settings.max_burst == 0 { most } else { most.min(self.settings.max_burst) };
        for _ in 0..burst {
            if self.next >= self.una + self.usable_window() || self.next >= self.available || !self.may_pace(now) {
                break;
            }
            self.transmit(self.next, now, out);
            self.next += 1;
        }
    }

    /// One new segment beyond the window for a duplicate acknowledgement (RFC 3042).
    pub fn send_one(&mut self, now: Time, out: &mut impl Output) {
        let in_receiver_window = self.next < self.una + self.settings.max_window;
        let in_limited_window = (self.next + 1) as f64 <= self.una as f64 + self.window.cwnd + f64::from(self.duplicates);
        if in_receiver_window && in_limited_window && self.next < self.available {
            self.transmit(self.next, now, out);
            self.next += 1;
        }
    }

    /// Sends a segment again because acknowledgements show its loss.
    pub fn retransmit(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        let by_timeout = self.counters.retransmitted_timeout;
        self.transmit(seq, now, out);
        // With nothing outstanding this sends new data, which counts as neither.
        self.counters.retransmitted_fast += self.counters.retransmitted_timeout - by_timeout;
        self.counters.retransmitted_timeout = by_timeout;
    }

    /// Sends a segment, new or again.
    pub fn transmit(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        let settings = &*self.settings;
        let first = seq == 0;
        let fin = self.fin == Some(seq);
        let retransmission = seq < self.high;
        // ns-2 lets the highest segment carry it when that is sent again.
        let is_new = if settings.ect_on_retransmission { seq + 1 >= self.high } else { !retransmission };
        let cwr = self.cwr_due && !fin && (settings.cwr_on_retransmission || is_new);
        self.cwr_due &= !cwr;
        let nothing_outstanding = self.una == self.high;
        let offers = self.ecn && first;
        let capable = self.ecn && !first && !fin && (!retransmission || settings.ect_on_retransmission);
        out.send(Segment {
            seq,
            size: self.size(seq),
            kind: if fin {
                Kind::Fin
            } else if first && settings.syn() {
                Kind::Syn
            } else {
                Kind::Plain
            },
            ecn: if capable { Ecn::Ect0 } else { Ecn::NotEct },
            cwr: cwr || offers && settings.handshake == Handshake::ThreeWay,
            ece: offers,
            retransmission,
        });
        self.counters.sent += 1;
        self.last_sent = now;
        if retransmission {
            self.counters.retransmitted_timeout += 1;
        } else {
            self.high = seq + 1;
            if self.timed.is_none() {
                self.timed = Some((seq, now));
            }
        }
        if self.rto_at.is_none() || nothing_outstanding {
            self.restart_timer(now);
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.sent(&self.window, self.rtt.smoothed(), now);
        }
    }

    /// An acknowledgement without data, which closes a handshake.
    pub fn send_pure_ack(&mut self, out: &mut impl Output) {
        out.send(Segment {
            seq: self.high,
            size: self.settings.ack_size,
            kind: Kind::Pure,
            ecn: Ecn::NotEct,
            cwr: false,
            ece: false,
            retransmission: false,
        });
        self.counters.sent += 1;
    }

    fn size(&self, seq: u64) -> u32 {
        let settings = &self.settings;
        if seq == 0 && settings.first_packet_size > 0 {
            return settings.first_packet_size;
        }
        if self.fin == Some(seq) {
            return settings.ack_size;
        }
        if self.short.is_empty() {
            return settings.packet_size;
        }
        self.short.iter().find(|&&(short, _)| short == seq).map_or(settings.packet_size, |&(_, size)| size)
    }

    /// Whether pacing lets a segment go now; if not, the pacer wakes the sender.
    pub fn may_pace(&mut self, now: Time) -> bool {
        self.pacer.as_mut().is_none_or(|pacer| pacer.may_send(now))
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

    /// The retransmission timer has expired: the window falls to one segment and the timer backs off. What to send is for recovery to say.
    pub fn time_out(&mut self, now: Time, out: &mut impl Output) {
        self.rto_at = None;
        self.duplicates = 0;
        self.inflation = 0;
        self.recover = self.high;
        if self.window.cwnd < 1.0 && self.settings.recovery != RecoveryName::Vegas {
            self.window.cwnd = 1.0;
            out.window(&self.window);
        }
        let outstanding = self.una < self.high;
        let idle = !outstanding && self.settings.idle_threshold;
        if self.una == 0 && self.settings.first_packet_loss {
            self.initial_window = 1;
        }
        if outstanding || self.settings.slow_start_restart {
            self.collapse(idle, now, out);
        }
        if !idle {
            self.hystart = None;
            self.estimator.back_off(&self.settings);
        }
        self.restart_timer(now);
        self.timed = None;
        self.last_cut = LastCut::Timeout;
    }

    /// The window after a timeout. After a cut for a mark, and with nothing outstanding, the threshold stays.
    fn collapse(&mut self, idle: bool, now: Time, out: &mut impl Output) {
        let again = self.settings.threshold_once && self.resent.replace(self.una) == Some(self.una);
        let marked = self.last_cut == LastCut::Mark && self.una < self.high;
        if !idle && !marked {
            self.counters.timeouts += 1;
        }
        if idle || marked || again {
            self.restart_window(out);
        } else {
            self.kept = 0.0;
            self.control.cut(&self.window, Cause::Timeout, now);
            self.cut_to_one(out);
        }
    }

    pub fn restart_timer(&mut self, now: Time) {
        self.rto_at = Some(now + self.estimator.timeout(&self.settings));
    }

    /// DCTCP's alpha, where there is one.
    pub fn alpha(&self) -> Option<f64> {
        self.response.alpha()
    }
}

/// MECN's echo in (CWR, ECE): 00 window reduced, 01 nothing, 10 incipient, 11 moderate.
fn mecn_level(ack: &Ack) -> Option<Level> {
    match (ack.cwr, ack.ece) {
        (true, false) => Some(Level::Incipient),
        (true, true) => Some(Level::Congested),
        (false, _) => None,
    }
}
