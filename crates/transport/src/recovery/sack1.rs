//! Sack1, ns-2's recovery by selective acknowledgements (Fall and Floyd 1996): `pipe` estimates how many segments are in the network.
//!
//! A duplicate counts only if its blocks tell something new. The third starts recovery with `pipe = outstanding - 3`. Every
//! acknowledgement takes one segment out of the pipe, a partial one two; while the pipe is smaller than the window the next hole goes
//! again, or new data. Each hole is sent again once. Recovery ends with all that was sent before it, without growth.

use ecnlab_units::Time;

use super::Recovery;
use super::duplicates::{self, Reaction};
use crate::segment::{Ack, Sacks};
use crate::settings::Settings;
use crate::tcb::{Output, Tcb};

#[derive(Default)]
pub struct Sack1 {
    threshold: u32,
    sacked: SackedRuns,
    recovering: bool,
    /// A timeout has emptied the sacked; duplicates mean nothing before the next new acknowledgement.
    after_timeout: bool,
    pipe: i64,
}

/// What the receiver is known to have beyond the acknowledgement, and how far its holes have been filled.
#[derive(Default)]
struct SackedRuns {
    /// Ascending and apart.
    runs: Vec<(u64, u64)>,
    /// All before this is acknowledged.
    floor: u64,
    /// All holes before this have been sent again.
    resent: u64,
}

impl Sack1 {
    pub fn new(settings: &Settings) -> Sack1 {
        Sack1 { threshold: settings.duplicate_threshold, ..Sack1::default() }
    }

    fn duplicate(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl Output) {
        if self.after_timeout || !self.sacked.update(tcb.una(), &ack.sacks) {
            return;
        }
        let count = tcb.count_duplicate();
        if count == self.threshold {
            self.at_threshold(tcb, now, out);
        } else if count < self.threshold {
            duplicates::limited_transmit(tcb, now, out);
        }
    }

    fn at_threshold(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let Reaction::Retransmit { cut } = duplicates::reaction(tcb, false) else { return };
        tcb.enter_recovery();
        self.recovering = true;
        self.pipe = tcb.outstanding() as i64 - i64::from(self.threshold);
        self.sacked.mark_resent(tcb.una());
        if cut {
            tcb.cut_for_loss(tcb.cut_base(), now, out);
        }
        duplicates::retransmit_first(tcb, now, out);
    }

    fn in_recovery(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time) {
        self.pipe -= 1;
        if tcb.last_cut().is_repaired(ack.next) {
            self.recovering = false;
            tcb.forget_cut();
            tcb.advance(ack, now);
            self.forget();
        } else if ack.next > tcb.una() {
            tcb.advance_partly(ack.next);
            self.sacked.update(tcb.una(), &ack.sacks);
            self.pipe -= 1;
            tcb.restart_timer(now);
            tcb.end_backoff();
        } else if !self.after_timeout && self.sacked.update(tcb.una(), &ack.sacks) && tcb.duplicates() > 0 {
            tcb.count_duplicate();
        }
    }

    fn forget(&mut self) {
        self.after_timeout = false;
        self.sacked.clear();
    }

    fn send(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        for _ in 0..tcb.most_burst() {
            if !self.has_room(tcb) || !tcb.may_send_now(now) {
                break;
            }
            let Some(seq) = self.choose(tcb) else { break };
            if seq < tcb.high() {
                tcb.retransmit(seq, now, out);
            } else {
                tcb.transmit(seq, now, out);
            }
            tcb.pass_over(seq);
            self.pipe += 1;
        }
    }

    fn has_room(&self, tcb: &Tcb) -> bool {
        if self.recovering { self.pipe < tcb.window().cwnd as i64 } else { tcb.next() < tcb.una() + tcb.usable_window() }
    }

    /// The next hole, or new data; both within the receiver's window.
    fn choose(&mut self, tcb: &Tcb) -> Option<u64> {
        let limit = tcb.una() + tcb.settings().max_window;
        if let Some(hole) = self.sacked.next_hole() {
            let within = hole < limit;
            if within {
                self.sacked.mark_resent(hole);
            }
            return within.then_some(hole);
        }
        (tcb.next() < limit && tcb.next() < tcb.available() && tcb.fits(tcb.next())).then_some(tcb.next())
    }
}

impl SackedRuns {
    fn clear(&mut self) {
        self.runs.clear();
        self.resent = 0;
    }

    /// Takes in blocks that came with an acknowledgement of all before `una`; tells whether that changed anything.
    fn update(&mut self, una: u64, sacks: &Sacks) -> bool {
        let mut changed = false;
        if self.floor < una {
            self.floor = una;
            changed = !self.runs.is_empty();
            self.runs.retain_mut(|run| {
                run.0 = run.0.max(una);
                run.0 < run.1
            });
        }
        for &(from, to) in sacks.as_slice() {
            changed |= self.add(from, to);
        }
        changed
    }

    /// Adds a run, joined with those that it meets; tells whether anything in it is new.
    fn add(&mut self, from: u64, to: u64) -> bool {
        let first = self.runs.partition_point(|run| run.1 < from);
        let last = self.runs.partition_point(|run| run.0 <= to);
        let Some(met) = self.runs.get(first..last).filter(|met| !met.is_empty()) else {
            self.runs.insert(first, (from, to));
            return true;
        };
        let joined = (from.min(met[0].0), to.max(met[met.len() - 1].1));
        let changed = met.len() > 1 || met[0] != joined;
        self.runs.splice(first..last, [joined]);
        changed
    }

    /// The lowest hole that was not sent again and has a run above it.
    fn next_hole(&mut self) -> Option<u64> {
        self.resent = self.resent.max(self.floor);
        let above = self.runs.partition_point(|run| run.1 < self.resent);
        let run = *self.runs.get(above)?;
        let hole = if run.0 > self.resent {
            self.resent
        } else {
            self.runs.get(above + 1)?;
            run.1
        };
        self.resent = hole;
        // ns-2 takes segment 0 for no segment.
        (hole > 0).then_some(hole)
    }

    fn mark_resent(&mut self, seq: u64) {
        self.resent = self.resent.max(seq + 1);
    }
}

impl Recovery for Sack1 {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if self.recovering {
            self.in_recovery(tcb, ack, now);
            return self.send(tcb, now, out);
        }
        if ack.next > tcb.una() {
            let newly = tcb.advance(ack, now);
            tcb.grow(ack, newly, now, out);
            self.forget();
        } else if ack.next == tcb.una() {
            self.duplicate(tcb, ack, now, out);
        }
        if tcb.duplicates() == 0 {
            self.send(tcb, now, out);
        }
    }

    #[inline(never)]
    fn timed_out<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.recovering = false;
        self.forget();
        self.after_timeout = true;
        tcb.go_back();
        tcb.send_window(u64::MAX, now, out);
    }

    #[inline(never)]
    fn fill<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.send(tcb, now, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::testing::Wire;
    use crate::settings::RecoveryName;

    #[test]
    fn holes_go_again_once_each_while_the_pipe_has_room() {
        let mut wire = Wire::new(RecoveryName::Sack1, 10);
        // 1 and 3 are lost.
        wire.duplicate_with(1, &[(2, 3)]);
        wire.duplicate_with(1, &[(4, 5), (2, 3)]);
        wire.duplicate_with(1, &[(4, 6), (2, 3)]);
        assert_eq!((vec![1], (5.0, 5.0)), (wire.sent(), wire.window()));
        for to in 7..=11 {
            wire.duplicate_with(1, &[(4, to), (2, 3)]);
        }
        assert_eq!(vec![3, 11, 12], wire.sent());
    }

    #[test]
    fn a_duplicate_without_a_new_block_does_not_count() {
        let mut wire = Wire::new(RecoveryName::Sack1, 10);
        for _ in 0..5 {
            wire.duplicate_with(1, &[(2, 3)]);
        }
        assert_eq!(Vec::<u64>::new(), wire.sent());
    }

    #[test]
    fn runs_that_meet_are_joined() {
        let mut sacked = SackedRuns::default();
        assert!(sacked.add(2, 4) && sacked.add(8, 9) && sacked.add(4, 6));
        assert!(!sacked.add(2, 6));
        assert!(sacked.add(5, 8));
        assert_eq!(vec![(2, 9)], sacked.runs);
    }
}
