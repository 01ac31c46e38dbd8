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
use crate::sender::{Core, LastCut, Output};
use crate::settings::Settings;
use crate::window::{Acked, CongestionControl, Control};

/// Window after a timeout.
const RESTART: f64 = 2.0;
/// Threshold once inflation has ended: slow start is over.
const ENDED_SLOW_START: f64 = 2.0;
/// Most acknowledgements after a retransmission that look at the fine clock.
const WATCHED: u64 = 2;
/// Largest table of send times.
const MOST_SLOTS: u64 = 1 << 20;

pub struct Vegas {
    threshold: u32,
    /// When segment 0 was sent last: the fine clock's zero.
    origin: Option<Time>,
    slots: Vec<Slot>,
    slot_count: u64,
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
struct Slot {
    sent: f64,
    times: u32,
}

const EMPTY: Slot = Slot { sent: -1.0, times: 0 };

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

impl Vegas {
    pub fn new(settings: &Settings) -> Vegas {
        Vegas {
            threshold: settings.duplicate_threshold,
            origin: None,
            slots: Vec::new(),
            slot_count: settings.max_window.min(MOST_SLOTS),
            clock: FineClock { mean8: 0.0, deviation4: 0.0, timeout: 1000.0, set: false },
            watch: 0,
            deflated: 0.0,
            cut_at: 0.0,
        }
    }

    fn at(&self, now: Time) -> f64 {
        self.origin.map_or(0.0, |origin| now.since(origin).seconds())
    }

    fn slot(&self, seq: u64) -> Slot {
        self.slots.get((seq % self.slot_count) as usize).copied().unwrap_or(EMPTY)
    }

    fn record(&mut self, seq: u64, now: Time) {
        if seq == 0 {
            self.slots.clear();
        }
        let index = (seq % self.slot_count) as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, EMPTY);
        }
        self.slots[index] = Slot { sent: self.at(now), times: self.slots[index].times + 1 };
    }

    /// Empties the entries of segments from `from` to `last`, as far as the table's end.
    fn release(&mut self, from: u64, last: u64) {
        let (from, end) = ((from % self.slot_count) as usize, (last % self.slot_count) as usize + 1);
        let end = end.min(self.slots.len());
        if from < end {
            self.slots[from..end].fill(EMPTY);
        }
    }

    fn expired(&self, seq: u64, at: f64) -> bool {
        at - self.slot(seq).sent >= self.clock.timeout
    }

    fn advance(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut impl Output) {
        let before = core.una;
        if before == 1 && core.settings.delay_growth {
            core.window.cwnd = core.initial_window as f64;
            out.window(&core.window);
        }
        self.end_inflation(core, out);
        let newly = core.advance(ack, now);
        let at = self.at(now);
        let slot = self.slot(ack.next - 1);
        let sample = (slot.sent != 0.0 && slot.times == 1).then_some(at - slot.sent);
        grow(core, ack, newly, sample.and_then(Span::from_secs_f64), now, out);
        self.release(before, ack.next - 1);
        if let Some(rtt) = sample.filter(|&rtt| rtt > 0.0) {
            self.clock.sample(rtt);
        }
        self.look_again(core, at, now, out);
    }

    fn end_inflation(&mut self, core: &mut Core, out: &mut impl Output) {
        if core.duplicates > self.threshold && core.window.cwnd > self.deflated {
            core.window.cwnd = self.deflated;
            out.window(&core.window);
            core.window.ssthresh = ENDED_SLOW_START;
            out.window(&core.window);
        }
    }

    /// The first acknowledgements after a retransmission look whether the next segment was lost too; the window was cut already.
    fn look_again(&mut self, core: &mut Core, at: f64, now: Time, out: &mut impl Output) {
        if self.watch == 0 {
            return;
        }
        self.watch -= 1;
        if self.expired(core.una, at) && core.una < core.available {
            core.duplicates = self.threshold;
            self.resend(core, now, out);
        } else {
            self.watch = 0;
        }
    }

    fn resend(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        core.retransmit(core.una, now, out);
        self.record(core.una, now);
    }

    fn duplicate(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        core.duplicates += 1;
        let at = self.at(now);
        if self.expired(core.una, at) || core.duplicates == self.threshold {
            let may_act = !core.settings.single_fast_retransmit || core.una > core.recover || core.last_cut != LastCut::Timeout;
            if may_act && core.una < core.available {
                self.react(core, at, now, out);
            }
        } else if core.duplicates > self.threshold {
            core.window.cwnd += 1.0;
            out.window(&core.window);
        }
    }

    fn react(&mut self, core: &mut Core, at: f64, now: Time, out: &mut impl Output) {
        let slot = self.slot(core.una);
        let again = slot.times > 1;
        self.watch = WATCHED.min(core.next + 1 - core.una);
        self.clock.back_off(again);
        core.last_cut = LastCut::Duplicates;
        if self.cut_at < slot.sent {
            self.cut(core, again, now, out);
            self.cut_at = at;
        } else {
            core.recover = core.high;
        }
        core.estimator.back_off(&core.settings);
        core.restart_timer(now);
        core.timed = None;
        self.resend(core, now, out);
        if slot.times == 1 {
            core.duplicates = self.threshold;
        }
    }

    fn cut(&mut self, core: &mut Core, again: bool, now: Time, out: &mut impl Output) {
        let window = core.usable_window();
        core.note_loss(now);
        let kept = match window {
            0..=3 => 2,
            _ if again => window / 2,
            _ => window - window / 4,
        };
        self.deflated = kept as f64;
        core.window.cwnd = self.deflated + f64::from(core.duplicates);
        out.window(&core.window);
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        if core.next == 0 || self.origin.is_none() {
            self.origin = Some(now);
            if let Control::Vegas(control) = &mut core.control {
                control.start(now);
            }
        }
        let from = core.next;
        core.send_window(u64::MAX, now, out);
        (from..core.next).for_each(|seq| self.record(seq, now));
    }
}

/// Lets congestion control look at an acknowledgement as Vegas does: with the fine clock's sample, and with the next segment to send as
/// the end of what is in flight.
fn grow(core: &mut Core, ack: &Ack, newly: u64, rtt: Option<Span>, now: Time, out: &mut impl Output) {
    if core.may_open(newly) {
        let acked = Acked { rtt, high: core.next, ..core.acked(ack, newly, now) };
        match &mut core.control {
            Control::Vegas(control) => control.adapt(&mut core.window, &acked, |window| out.window(window)),
            other => other.acknowledged(&mut core.window, &acked),
        }
        core.limit_cwnd();
        out.window(&core.window);
    }
    core.note_echo(ack);
}

impl Recovery for Vegas {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut O) {
        self.clock.set(self.at(now));
        if ack.next > core.una {
            self.advance(core, ack, now, out);
        } else if ack.next == core.una {
            self.duplicate(core, now, out);
        }
        if core.duplicates == 0 || core.duplicates >= self.threshold {
            self.send(core, now, out);
        }
    }

    #[inline(never)]
    fn timed_out<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        if core.outstanding() == 0 && !core.settings.slow_start_restart {
            return;
        }
        core.window.cwnd = RESTART;
        out.window(&core.window);
        self.deflated = 0.0;
        self.cut_at = self.at(now);
        core.next = core.una;
        self.send(core, now, out);
    }

    #[inline(never)]
    fn fill<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        self.send(core, now, out);
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
