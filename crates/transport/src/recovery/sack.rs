//! Recovery by a scoreboard (RFC 6675), with two ways to tell a loss.
//!
//! - sack: three segments above it are sacked (RFC 6675, IsLost)
//! - fack: the highest sacked segment is three above it, or more (Mathis and Mahdavi 1996)
//!
//! A loss cuts the window once; then NextSeg sends as long as the pipe is below the window, or as proportional rate reduction lets it (RFC 6937):
//!
//! ```text
//! (1)  the lowest lost segment                                                     sent once
//! (2)  a new one
//! (3)  the lowest segment above HighRxt with a sacked one above it                 counts in the pipe twice until it is lost
//! (4)  the highest segment not sacked, where HighACK > RescueRxt                   once a recovery, not counted in the pipe
//! ```
//!
//! Both ways to tell a loss have all four rules: they differ by IsLost alone. Forward acknowledgement retransmits every hole below the highest
//! sacked segment (Mathis and Mahdavi 1996), as rule (3) does; rule (4) is RFC 6675's. The retransmission timer makes everything lost and starts
//! slowly; NextSeg's last two rules are not for the time after it (RFC 6675, section 5.1).

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
    /// One past the highest segment that this recovery has sent again, but for rule (4) (RFC 6675, HighRxt).
    high_rxt: u64,
    /// Rule (4) applies once more than all before this segment is acknowledged (RFC 6675, RescueRxt).
    rescue_rxt: u64,
}

/// What NextSeg gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextSeg {
    Segment(u64),
    /// Of rule (4): HighRxt and the pipe stay as they are.
    Rescue(u64),
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
            high_rxt: 0,
            rescue_rxt: 0,
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
        (self.high_rxt, self.rescue_rxt) = (tcb.una() + 1, tcb.una() + 1);
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
            self.high_rxt = self.high_rxt.max(seq + 1);
        }
        self.send_unscored(tcb, seq, now, out);
        self.board.sent(seq);
    }

    /// Sends a segment, new or again, of which the scoreboard is not told.
    fn send_unscored(&mut self, tcb: &mut Tcb, seq: u64, now: Time, out: &mut impl Output) {
        if seq < tcb.high() {
            tcb.stop_timing();
        }
        if seq < tcb.high() && self.phase != Phase::Loss {
            tcb.retransmit(seq, now, out);
        } else {
            tcb.transmit(seq, now, out);
        }
        tcb.go_on_at_high();
        if let Some(prr) = &mut self.prr {
            prr.sent(1);
        }
    }

    /// RFC 6675, section 4.
    fn next_segment(&mut self, tcb: &Tcb) -> Option<NextSeg> {
        if let Some(seq) = self.board.next_lost() {
            return Some(NextSeg::Segment(seq));
        }
        if tcb.has_new() {
            let waits = !tcb.settings().limited_transmit && self.phase == Phase::Open && self.board.sacked() > 0;
            return (!waits).then_some(NextSeg::Segment(tcb.high()));
        }
        if self.phase == Phase::Recovery { self.last_resort(tcb) } else { None }
    }

    /// Rules (3) and (4).
    fn last_resort(&self, tcb: &Tcb) -> Option<NextSeg> {
        if let Some(seq) = self.board.next_hole(self.high_rxt) {
            return Some(NextSeg::Segment(seq));
        }
        if tcb.una() > self.rescue_rxt { self.board.highest_unsacked().map(NextSeg::Rescue) } else { None }
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
            if self.board.pipe() >= tcb.window().cwnd as u64 || !tcb.may_send_now(now) {
                break;
            }
            match self.next_segment(tcb) {
                Some(NextSeg::Segment(seq)) => self.transmit(tcb, seq, now, out),
                Some(NextSeg::Rescue(seq)) => {
                    self.rescue_rxt = self.ends;
                    self.send_unscored(tcb, seq, now, out);
                }
                None => break,
            }
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
