//! Recovery by a scoreboard (RFC 6675), with two ways to tell a loss.
//!
//! - sack: three segments above it are sacked (RFC 6675, IsLost)
//! - fack: the highest sacked segment is three above it, or more (Mathis and Mahdavi 1996)
//!
//! A loss cuts the window once; then lost segments go first and new ones next, as long as the pipe is below the window, or as proportional
//! rate reduction lets them (RFC 6937). The retransmission timer makes everything lost and starts slowly.

use ecnlab_units::Time;

use super::Recovery;
use super::prr::Prr;
use super::scoreboard::Scoreboard;
use crate::response::MIN_SSTHRESH;
use crate::segment::Ack;
use crate::settings::{PrrBound, RecoveryName, Settings};
use crate::tcb::{CutFor, Output, Tcb};
use crate::window::Window;

pub struct Sack {
    board: Scoreboard,
    /// The highest sacked segment tells losses as well as the number of those sacked.
    forward: bool,
    threshold: u64,
    phase: Phase,
    /// One past the highest segment sent when recovery began or the timer expired; a mark meanwhile moves the end of the last cut on.
    ends: u64,
    /// Proportional rate reduction, while it runs.
    prr: Option<Prr>,
    /// The last segment of this recovery was sent once more to draw an acknowledgement (RFC 6675, NextSeg rule 4).
    rescued: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Losses of one window are repaired; it ends when all that was sent before it is acknowledged.
    Recovery,
    /// After a timeout.
    Loss,
}

impl Sack {
    pub fn new(settings: &Settings) -> Sack {
        Sack {
            board: Scoreboard::default(),
            forward: settings.recovery == RecoveryName::Fack,
            threshold: u64::from(settings.duplicate_threshold),
            phase: Phase::Open,
            ends: 0,
            prr: None,
            rescued: false,
        }
    }

    /// Takes what an acknowledgement says of segments into the scoreboard; returns how many of them it delivers.
    fn score(&mut self, ack: &Ack) -> u64 {
        let count = self.board.advance(ack.next);
        if ack.sacks.is_empty() { count } else { count + self.board.sack(&ack.sacks) }
    }

    fn detect(&mut self) {
        let mut below = self.board.below_sacked(self.threshold);
        if self.forward {
            // Either rule: three above it are sacked, or the highest sacked is three above it.
            below = below.max(self.board.fack().checked_sub(self.threshold).filter(|_| self.board.sacked() > 0));
        }
        if let Some(below) = below {
            self.board.lose_below(below);
        }
    }

    /// Moves between the phases after an acknowledgement of `newly` segments that delivered `delivered`.
    fn step(&mut self, tcb: &mut Tcb, ack: &Ack, newly: u64, delivered: u64, now: Time, out: &mut impl Output) {
        if self.phase != Phase::Open && tcb.una() >= self.ends {
            self.leave(tcb, out);
        }
        if self.phase == Phase::Open && self.board.has_losses() {
            self.enter(tcb, now, out);
        }
        match self.phase {
            Phase::Recovery => {
                tcb.note_echo(ack);
                self.reduce(tcb, delivered, out);
            }
            // What had been sacked before has grown the window already, or has been a loss of it.
            Phase::Open | Phase::Loss if newly > 0 => tcb.grow(ack, delivered.min(newly), now, out),
            Phase::Open | Phase::Loss => tcb.note_echo(ack),
        }
    }

    fn enter(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let flight = tcb.outstanding();
        let already_cut = !tcb.last_cut().is_repaired(tcb.una()) && tcb.last_cut().is_for(CutFor::Mark);
        if already_cut {
            tcb.cut_after_mark(tcb.cut_base(), out);
        } else {
            tcb.cut_for_loss(tcb.cut_base(), now, out);
        }
        tcb.extend_cut();
        self.ends = tcb.high();
        tcb.enter_recovery();
        widen_to_two(tcb, out);
        self.phase = Phase::Recovery;
        self.rescued = false;
        self.prr = tcb.settings().prr.then(|| Prr::new(flight, PrrBound::SlowStart));
        tcb.restart_timer(now);
        self.send_again_at_once(tcb, now, out);
    }

    /// The window that proportional rate reduction allows after `delivered` segments, where it runs.
    fn reduce(&mut self, tcb: &mut Tcb, delivered: u64, out: &mut impl Output) {
        if let Some(prr) = &mut self.prr {
            tcb.set_cwnd(prr.window(delivered, true, self.board.pipe(), tcb.window().ssthresh) as f64, out);
        }
    }

    /// The first retransmission goes whatever the pipe is (RFC 6675, section 5, step 4.3).
    fn send_again_at_once(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        if self.prr.is_none()
            && let Some(seq) = self.board.next_lost()
        {
            self.transmit(tcb, seq, now, out);
        }
    }

    fn leave(&mut self, tcb: &mut Tcb, out: &mut impl Output) {
        if self.phase == Phase::Recovery {
            let Window { cwnd, ssthresh } = *tcb.window();
            let reduced = self.prr.take().is_some();
            tcb.set_cwnd(if reduced { ssthresh } else { cwnd.min(ssthresh) }, out);
        }
        self.phase = Phase::Open;
        tcb.leave_recovery();
    }

    fn transmit(&mut self, tcb: &mut Tcb, seq: u64, now: Time, out: &mut impl Output) {
        if seq < tcb.high() {
            tcb.stop_timing();
        }
        if seq < tcb.high() && self.phase != Phase::Loss {
            tcb.retransmit(seq, now, out);
        } else {
            tcb.transmit(seq, now, out);
        }
        tcb.go_on_at_high();
        self.board.sent(seq);
        if let Some(prr) = &mut self.prr {
            prr.sent(1);
        }
    }

    /// The next segment to send (RFC 6675, NextSeg): a lost one, a new one, or once a recovery the last one again.
    fn next_segment(&mut self, tcb: &Tcb) -> Option<u64> {
        if let Some(seq) = self.board.next_lost() {
            return Some(seq);
        }
        if tcb.has_new() {
            let waits = !tcb.settings().limited_transmit && self.phase == Phase::Open && self.board.sacked() > 0;
            return (!waits).then_some(tcb.high());
        }
        let rescues = self.phase == Phase::Recovery && !self.rescued;
        let last = tcb.high().checked_sub(1).filter(|_| rescues)?;
        let waits = self.board.segment(last).is_some_and(|segment| !segment.sacked && !segment.ever_resent);
        self.rescued |= waits;
        waits.then_some(last)
    }
}

/// A loss leaves a window of two segments at least, as it leaves the threshold (RFC 5681, equation 4).
fn widen_to_two(tcb: &mut Tcb, out: &mut impl Output) {
    if tcb.window().cwnd < MIN_SSTHRESH {
        tcb.set_cwnd(MIN_SSTHRESH, out);
    }
}

impl Recovery for Sack {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if ack.next < tcb.una() {
            return;
        }
        let delivered = self.score(ack);
        let newly = if ack.next > tcb.una() { tcb.advance(ack, now) } else { 0 };
        tcb.go_on_at_high();
        self.detect();
        self.step(tcb, ack, newly, delivered, now, out);
        self.fill(tcb, now, out);
    }

    #[inline(never)]
    fn timed_out<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.phase = Phase::Loss;
        self.ends = tcb.high();
        self.prr = None;
        tcb.go_on_at_high();
        self.board.lose_all();
        if let Some(seq) = self.board.next_lost() {
            self.transmit(tcb, seq, now, out);
        }
        self.fill(tcb, now, out);
    }

    #[inline(never)]
    fn fill<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        for _ in 0..tcb.most_burst() {
            if self.board.pipe() >= tcb.window().cwnd as u64 || !tcb.may_pace(now) {
                break;
            }
            let Some(seq) = self.next_segment(tcb) else { break };
            self.transmit(tcb, seq, now, out);
        }
    }

    fn send_part<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.transmit(tcb, tcb.high(), now, out);
    }

    fn opened(&mut self, tcb: &Tcb) {
        self.board.start(tcb.una());
    }
}

#[cfg(test)]
mod tests {
    use crate::recovery::testing::Wire;
    use crate::settings::RecoveryName;

    #[test]
    fn a_retransmission_ends_the_timing_of_what_was_sent_before() {
        let mut wire = Wire::new(RecoveryName::Sack, 8);
        assert!(wire.tcb.timed().is_some_and(|seq| seq <= 8));
        [3, 4, 5].into_iter().for_each(|end| wire.duplicate_with(1, &[(2, end)]));
        assert_eq!(Some(&1), wire.sent().first());
        assert!(wire.tcb.timed().is_none_or(|seq| seq > 8));
    }
}
