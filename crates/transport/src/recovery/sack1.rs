//! Sack1, ns-2's recovery by selective acknowledgements (Fall and Floyd 1996): `pipe` estimates how many segments are in the network.
//!
//! A duplicate counts only if its blocks tell something new. The third starts recovery with `pipe = outstanding - 3`. Every
//! acknowledgement takes one segment out of the pipe, a partial one two; while the pipe is smaller than the window the next hole goes
//! again, or new data. Each hole is sent again once. Recovery ends with all that was sent before it, without growth.

use ecnlab_units::Time;

use super::Recovery;
use super::duplicates::{self, Reaction};
use crate::segment::{Ack, Sacks};
use crate::sender::{Core, LastCut, Output};
use crate::settings::Settings;

#[derive(Default)]
pub struct Sack1 {
    threshold: u32,
    board: Board,
    recovering: bool,
    /// A timeout has emptied the board; duplicates mean nothing before the next new acknowledgement.
    after_timeout: bool,
    pipe: i64,
}

/// What the receiver is known to have beyond the acknowledgement, and how far its holes have been filled.
#[derive(Default)]
struct Board {
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

    fn duplicate(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut impl Output) {
        if self.after_timeout || !self.board.update(core.una, &ack.sacks) {
            return;
        }
        core.duplicates += 1;
        if core.duplicates == self.threshold {
            self.at_threshold(core, now, out);
        } else if core.duplicates < self.threshold {
            duplicates::limited_transmit(core, now, out);
        }
    }

    fn at_threshold(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        let Reaction::Retransmit { cut } = duplicates::reaction(core, false) else { return };
        core.last_cut = LastCut::Duplicates;
        self.recovering = true;
        self.pipe = core.outstanding() as i64 - i64::from(self.threshold);
        self.board.mark_resent(core.una);
        if cut {
            core.cut_for_loss(core.cut_base(), now, out);
        }
        duplicates::retransmit_first(core, now, out);
    }

    fn in_recovery(&mut self, core: &mut Core, ack: &Ack, now: Time) {
        self.pipe -= 1;
        if ack.next >= core.recover {
            self.recovering = false;
            core.recover = 1;
            core.advance(ack, now);
            self.forget();
        } else if ack.next > core.una {
            core.advance_partly(ack.next);
            core.next = core.next.max(core.una);
            self.board.update(core.una, &ack.sacks);
            self.pipe -= 1;
            core.restart_timer(now);
            core.estimator.end_backoff();
        } else if !self.after_timeout && self.board.update(core.una, &ack.sacks) && core.duplicates > 0 {
            core.duplicates += 1;
        }
    }

    fn forget(&mut self) {
        self.after_timeout = false;
        self.board.clear();
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        let burst = if core.settings.max_burst == 0 { u64::MAX } else { core.settings.max_burst };
        for _ in 0..burst {
            if !self.has_room(core) || !core.may_pace(now) {
                break;
            }
            let Some(seq) = self.choose(core) else { break };
            if seq < core.high {
                core.retransmit(seq, now, out);
            } else {
                core.transmit(seq, now, out);
            }
            core.next = core.next.max(seq + 1);
            self.pipe += 1;
        }
    }

    fn has_room(&self, core: &Core) -> bool {
        if self.recovering { self.pipe < core.window.cwnd as i64 } else { core.next < core.una + core.usable_window() }
    }

    /// The next hole, or new data; both within the receiver's window.
    fn choose(&mut self, core: &Core) -> Option<u64> {
        let limit = core.una + core.settings.max_window;
        if let Some(hole) = self.board.next_hole() {
            let within = hole < limit;
            if within {
                self.board.mark_resent(hole);
            }
            return within.then_some(hole);
        }
        (core.next < limit && core.next < core.available).then_some(core.next)
    }
}

impl Board {
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
    fn acknowledged<O: Output>(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut O) {
        if self.recovering {
            self.in_recovery(core, ack, now);
            return self.send(core, now, out);
        }
        if ack.next > core.una {
            let newly = core.advance(ack, now);
            core.grow(ack, newly, now, out);
            self.forget();
        } else if ack.next == core.una {
            self.duplicate(core, ack, now, out);
        }
        if core.duplicates == 0 {
            self.send(core, now, out);
        }
    }

    #[inline(never)]
    fn timed_out<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        self.recovering = false;
        self.forget();
        self.after_timeout = true;
        core.next = core.una;
        core.send_window(u64::MAX, now, out);
    }

    #[inline(never)]
    fn fill<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        self.send(core, now, out);
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
        let mut board = Board::default();
        assert!(board.add(2, 4) && board.add(8, 9) && board.add(4, 6));
        assert!(!board.add(2, 6));
        assert!(board.add(5, 8));
        assert_eq!(vec![(2, 9)], board.runs);
    }
}
