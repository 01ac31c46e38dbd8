//! Vegas' retransmission (Brakmo and Peterson 1995, section 3.1) as ns-2 has it: a fine clock for every segment.
//!
//! Every duplicate looks whether the first unacknowledged segment was sent longer ago than the fine timeout, and so do the first two
//! new acknowledgements after a retransmission; a third duplicate retransmits in any case. The window falls to three quarters, or to a
//! half for a segment that was lost again, and only for losses of segments that were sent after it last fell.
//! A timeout restarts with two segments. Send times stand in a table as long as the largest window; where an acknowledgement of several
//! segments passes its end, ns-2 leaves the old entries, and those segments' successors count as sent again. What ns-2 makes up once all
//! data is acknowledged, segments that nobody gave it, is not sent.

use ecnlab_units::{Span, Time};

use super::Recovery;
use crate::segment::Ack;
use crate::settings::Settings;
use crate::tcb::{CutFor, Output, Tcb};

/// Window after a timeout.
const RESTART: f64 = 2.0;
/// Threshold once inflation has ended: slow start is over.
const ENDED_SLOW_START: f64 = 2.0;
/// Most acknowledgements after a retransmission that look at the fine clock.
const WATCHED: u64 = 2;
/// Largest table of send times.
const LARGEST_TABLE: u64 = 1 << 20;

pub struct VegasRecovery {
    threshold: u32,
    /// When segment 0 was sent last: the fine clock's zero.
    origin: Option<Time>,
    sendings: Vec<Sending>,
    table_size: u64,
    clock: FineClock,
    /// New acknowledgements that still look at the fine clock.
    watch: u64,
    /// The window without the duplicates that inflate it.
    deflated: f64,
    /// When the window was last cut, on the fine clock.
    cut_at: f64,
}

/// A segment's last sending on the fine clock, and how often it was sent.
#[derive(Clone, Copy)]
struct Sending {
    sent: f64,
    times: u32,
}

const NEVER_SENT: Sending = Sending { sent: -1.0, times: 0 };

/// The fine timeout in seconds: mean in eighths, deviation in quarters.
struct FineClock {
    mean8: f64,
    deviation4: f64,
    timeout: f64,
    set: bool,
}

impl FineClock {
    /// Before the first sample: the time that the first acknowledgement took.
    fn set(&mut self, rtt: f64) {
        if !self.set {
            (self.mean8, self.deviation4, self.set) = (rtt * 8.0, rtt, true);
            self.timeout = (self.mean8 / 4.0 + self.deviation4) / 2.0;
        }
    }

    fn sample(&mut self, rtt: f64) {
        let error = rtt - self.mean8 / 8.0;
        self.mean8 += error;
        self.deviation4 += error.abs() - self.deviation4 / 4.0;
        self.timeout = (self.mean8 / 4.0 + self.deviation4) / 2.0;
        self.timeout += self.timeout / 16.0;
    }

    fn back_off(&mut self, again: bool) {
        self.timeout += if again { self.timeout } else { self.timeout / 8.0 };
    }
}

impl VegasRecovery {
    pub fn new(settings: &Settings) -> VegasRecovery {
        VegasRecovery {
            threshold: settings.duplicate_threshold,
            origin: None,
            sendings: Vec::new(),
            table_size: settings.max_window.min(LARGEST_TABLE),
            clock: FineClock { mean8: 0.0, deviation4: 0.0, timeout: 1000.0, set: false },
            watch: 0,
            deflated: 0.0,
            cut_at: 0.0,
        }
    }

    fn at(&self, now: Time) -> f64 {
        self.origin.map_or(0.0, |origin| now.since(origin).seconds())
    }

    fn sending(&self, seq: u64) -> Sending {
        self.sendings.get((seq % self.table_size) as usize).copied().unwrap_or(NEVER_SENT)
    }

    fn record(&mut self, seq: u64, now: Time) {
        if seq == 0 {
            self.sendings.clear();
        }
        let index = (seq % self.table_size) as usize;
        if index >= self.sendings.len() {
            self.sendings.resize(index + 1, NEVER_SENT);
        }
        self.sendings[index] = Sending { sent: self.at(now), times: self.sendings[index].times + 1 };
    }

    /// Empties the entries of segments from `from` to `last`, as far as the table's end.
    fn release(&mut self, from: u64, last: u64) {
        let (from, end) = ((from % self.table_size) as usize, (last % self.table_size) as usize + 1);
        let end = end.min(self.sendings.len());
        if from < end {
            self.sendings[from..end].fill(NEVER_SENT);
        }
    }

    fn expired(&self, seq: u64, at: f64) -> bool {
        at - self.sending(seq).sent >= self.clock.timeout
    }

    fn advance(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl Output) {
        let before = tcb.una();
        if before == 1 && tcb.settings().delay_growth {
            tcb.open_window(out);
        }
        self.end_inflation(tcb, out);
        let newly = tcb.advance(ack, now);
        let at = self.at(now);
        let sending = self.sending(ack.next - 1);
        let sample = (sending.sent != 0.0 && sending.times == 1).then_some(at - sending.sent);
        tcb.grow_by_steps(ack, newly, sample.and_then(Span::from_secs_f64), now, out);
        self.release(before, ack.next - 1);
        if let Some(rtt) = sample.filter(|&rtt| rtt > 0.0) {
            self.clock.sample(rtt);
        }
        self.look_again(tcb, at, now, out);
    }

    fn end_inflation(&mut self, tcb: &mut Tcb, out: &mut impl Output) {
        if tcb.duplicates() > self.threshold && tcb.window().cwnd > self.deflated {
            tcb.set_cwnd(self.deflated, out);
            tcb.set_ssthresh(ENDED_SLOW_START, out);
        }
    }

    /// The first acknowledgements after a retransmission look whether the next segment was lost too; the window was cut already.
    fn look_again(&mut self, tcb: &mut Tcb, at: f64, now: Time, out: &mut impl Output) {
        if self.watch == 0 {
            return;
        }
        self.watch -= 1;
        if self.expired(tcb.una(), at) && has_first(tcb) {
            tcb.set_duplicates(self.threshold);
            self.resend(tcb, now, out);
        } else {
            self.watch = 0;
        }
    }

    fn resend(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        tcb.retransmit(tcb.una(), now, out);
        self.record(tcb.una(), now);
    }

    fn duplicate(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let count = tcb.count_duplicate();
        let at = self.at(now);
        if self.expired(tcb.una(), at) || count == self.threshold {
            let timed_out = !tcb.last_cut().is_passed(tcb.una()) && tcb.last_cut().is_for(CutFor::Timeout);
            let may_act = !(tcb.settings().single_fast_retransmit && timed_out);
            if may_act && has_first(tcb) {
                self.react(tcb, at, now, out);
            }
        } else if count > self.threshold {
            tcb.set_cwnd(tcb.window().cwnd + 1.0, out);
        }
    }

    fn react(&mut self, tcb: &mut Tcb, at: f64, now: Time, out: &mut impl Output) {
        let sending = self.sending(tcb.una());
        let again = sending.times > 1;
        self.watch = WATCHED.min(tcb.next() + 1 - tcb.una());
        self.clock.back_off(again);
        tcb.enter_recovery();
        if self.cut_at < sending.sent {
            self.cut(tcb, again, now, out);
            self.cut_at = at;
        } else {
            tcb.extend_cut();
        }
        tcb.back_off();
        tcb.restart_timer(now);
        tcb.stop_timing();
        self.resend(tcb, now, out);
        if sending.times == 1 {
            tcb.set_duplicates(self.threshold);
        }
    }

    fn cut(&mut self, tcb: &mut Tcb, again: bool, now: Time, out: &mut impl Output) {
        let window = tcb.usable_window();
        tcb.begin_cut_for_loss(now);
        let left = match window {
            0..=3 => 2,
            _ if again => window / 2,
            _ => window - window / 4,
        };
        self.deflated = left as f64;
        tcb.set_cwnd(self.deflated + f64::from(tcb.duplicates()), out);
    }

    fn send(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        if tcb.next() == 0 || self.origin.is_none() {
            self.origin = Some(now);
            tcb.start_control(now);
        }
        let from = tcb.next();
        tcb.send_window(u64::MAX, now, out);
        (from..tcb.next()).for_each(|seq| self.record(seq, now));
    }
}

/// Whether there is a first unacknowledged segment; with nothing outstanding it is the next one, if there is room for that.
fn has_first(tcb: &Tcb) -> bool {
    tcb.una() < tcb.available() && tcb.fits(tcb.una())
}

impl Recovery for VegasRecovery {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        self.clock.set(self.at(now));
        if ack.next > tcb.una() {
            self.advance(tcb, ack, now, out);
        } else if ack.next == tcb.una() {
            self.duplicate(tcb, now, out);
        }
        if tcb.duplicates() == 0 || tcb.duplicates() >= self.threshold {
            self.send(tcb, now, out);
        }
    }

    /// Its timeout opens the window itself, and asks before whether it was closed.
    fn reopen<O: Output>(&mut self, _tcb: &mut Tcb, _out: &mut O) {}

    #[inline(never)]
    fn timed_out<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        let closed = tcb.window().cwnd < 1.0;
        if tcb.outstanding() == 0 && !tcb.settings().slow_start_restart && !closed {
            return;
        }
        tcb.set_cwnd(RESTART, out);
        self.deflated = 0.0;
        self.cut_at = self.at(now);
        tcb.go_back();
        self.send(tcb, now, out);
    }

    #[inline(never)]
    fn fill<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.send(tcb, now, out);
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use crate::recovery::testing::Wire;
    use crate::settings::RecoveryName;

    #[test]
    fn a_first_duplicate_after_the_fine_timeout_retransmits_and_leaves_three_quarters() {
        let mut wire = Wire::new(RecoveryName::Vegas, 16);
        wire.wait(Span::from_millis(300));
        wire.duplicates(1, 1);
        assert_eq!(vec![1], wire.sent());
        // The window of 12 is inflated by the duplicate.
        assert_eq!(13.0, wire.window().0);
    }

    #[test]
    fn duplicates_before_the_fine_timeout_wait_for_the_third() {
        let mut wire = Wire::new(RecoveryName::Vegas, 16);
        wire.wait(Span::from_millis(50));
        wire.duplicates(1, 2);
        assert_eq!(Vec::<u64>::new(), wire.sent());
        wire.duplicates(1, 1);
        assert_eq!(vec![1], wire.sent());
    }

    #[test]
    fn the_first_new_acknowledgement_looks_for_another_loss() {
        let mut wire = Wire::new(RecoveryName::Vegas, 16);
        wire.wait(Span::from_millis(300));
        wire.duplicates(1, 1);
        wire.sent();
        wire.wait(Span::from_millis(100));
        wire.acknowledge(4);
        assert_eq!(Some(&4), wire.sent().first());
    }
}
