//! The last cut of the window: what it was for, which segments it covers, and how deep it went.
//!
//! A window is cut once for what was sent in it (RFC 5681, section 3.2; RFC 3168, section 6.1.2; RFC 6582's `recover`). So before anything
//! cuts, it asks here whether the last cut covers it already.
//!
//! ```text
//!  +---------+   echo of a mark    +------+   acknowledgements show a loss   +------------+
//!  |         | ------------------> | Mark | -------------------------------> |            |
//!  |         |                     +------+                                  |            |
//!  | Nothing |            acknowledgements show a loss                       | Duplicates |
//!  |         | ------------------------------------------------------------> |            |
//!  |         | <------------------------------------------------------------ |            |
//!  +---------+   new data is acknowledged; with a scoreboard, all of the cut +------------+
//!       ^
//!       | with a scoreboard: all that the cut covers is acknowledged
//!  +---------+
//!  | Timeout | <-- from every state, when the retransmission timer expires
//!  +---------+ --> to Mark or Duplicates, for segments that the cut does not cover
//! ```
//!
//! A mark leads to Mark from every state, and nothing leads back from there by itself: whether it is still the mark's window is asked of
//! `recover`. How deep: `beta` is the part of the window that marks have left. A heavier mark or a loss in the same window reduces it to its own
//! share instead of adding a second one; after a loss nothing deepens it any more.

/// What the window was last cut for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastReduction {
    /// Nothing that is still to be repaired.
    None,
    Mark,
    /// A loss that acknowledgements show; its recovery is on.
    FastRecovery,
    Timeout,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RecoveryPoint {
    /// One past the highest segment sent when the window was cut: the cut covers all below.
    recover: u64,
    /// Segments known by their duplicates to have left the network, which recovery lends to the window.
    inflation: u64,
    /// What cuts for marks have left of the window; nothing after a loss.
    beta: f64,
    last_reduction: LastReduction,
}

impl RecoveryPoint {
    /// No cut yet. As in ns-2, segment 1 must be acknowledged before a loss counts as one of a new window.
    pub fn initial() -> RecoveryPoint {
        RecoveryPoint { recover: 1, inflation: 0, beta: 1.0, last_reduction: LastReduction::None }
    }

    /// A handshake is done: a loss of the first data, segment 1, counts as well.
    pub fn on_handshake_done(&mut self) {
        self.recover = 0;
    }

    pub fn last_reduction(&self) -> LastReduction {
        self.last_reduction
    }

    pub fn last_reduction_is(&self, cause: LastReduction) -> bool {
        self.last_reduction == cause
    }

    /// One past the highest segment sent when the window was last cut.
    pub fn recover(&self) -> u64 {
        self.recover
    }

    pub fn inflation(&self) -> u64 {
        self.inflation
    }

    /// Whether more is acknowledged than the cut covers: a loss now is one of a new window (RFC 6582, section 3.2, step 1).
    pub fn is_passed_by(&self, snd_una: u64) -> bool {
        snd_una > self.recover
    }

    /// Whether all that the cut covers is acknowledged, which ends a recovery.
    pub fn is_reached_by(&self, snd_una: u64) -> bool {
        snd_una >= self.recover
    }

    /// Whether the cut covers the mark that the acknowledgement of all before `next` echoes; with `but_timeouts` that of a timeout does not.
    pub fn covers_mark(&self, next: u64, but_timeouts: bool) -> bool {
        next <= self.recover && !(but_timeouts && self.last_reduction == LastReduction::Timeout)
    }

    /// The window is cut for a mark, to this share, when all before `snd_max` is sent.
    pub fn set_for_mark(&mut self, share: f64, snd_max: u64) {
        self.beta = share;
        self.recover = snd_max;
        self.last_reduction = LastReduction::Mark;
    }

    /// The window is cut for a loss that acknowledgements show: nothing deepens that cut.
    pub fn set_for_loss(&mut self, snd_max: u64) {
        self.recover = snd_max;
        self.beta = 0.0;
    }

    /// The retransmission timer has expired: no duplicate inflates the window any more.
    pub fn set_for_timeout(&mut self, snd_max: u64) {
        self.recover = snd_max;
        self.inflation = 0;
        self.last_reduction = LastReduction::Timeout;
    }

    /// No heavier mark of the same window cuts any more.
    pub fn forbid_further_reduction(&mut self) {
        self.beta = 0.0;
    }

    /// A heavier mark of the same window: what further share is left for the cut to come to `share` in all, if that is less.
    pub fn reduce_further(&mut self, share: f64) -> Option<f64> {
        (share < self.beta).then(|| share / std::mem::replace(&mut self.beta, share))
    }

    /// A loss in a window that was cut for a mark: what further share is left for the cut to come to that of a loss, if that is less.
    pub fn reduce_further_for_loss(&mut self, share: f64) -> Option<f64> {
        let further = share / self.beta;
        (further < 1.0).then(|| {
            self.beta = 0.0;
            further
        })
    }

    /// A recovery begins, or goes on.
    pub fn enter_recovery(&mut self) {
        self.last_reduction = LastReduction::FastRecovery;
    }

    /// A scoreboard's recovery ends, or its timeout's repair. The acknowledgement that ends it may bring the next window's mark.
    pub fn exit_recovery(&mut self) {
        if self.last_reduction != LastReduction::Mark {
            self.last_reduction = LastReduction::None;
        }
    }

    /// New data is acknowledged, which ends a recovery by duplicates.
    pub fn end_fast_recovery(&mut self) {
        if self.last_reduction == LastReduction::FastRecovery {
            self.last_reduction = LastReduction::None;
        }
    }

    /// The cut covers all before `snd_max`.
    pub fn extend_to(&mut self, snd_max: u64) {
        self.recover = snd_max;
    }

    /// The cut covers nothing any more, as at the start.
    pub fn reset(&mut self) {
        self.recover = 1;
    }

    pub fn set_inflation(&mut self, segments: u64) {
        self.inflation = segments;
    }

    pub fn inflate_by_one(&mut self) {
        self.inflation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_covers_the_marks_of_what_was_sent_before_it() {
        let mut cut = RecoveryPoint::initial();
        cut.set_for_mark(0.8, 10);
        assert_eq!([true, false], [10, 11].map(|next| cut.covers_mark(next, true)));
    }

    #[test]
    fn a_timeout_covers_marks_unless_it_is_taken_not_to() {
        let mut cut = RecoveryPoint::initial();
        cut.set_for_timeout(10);
        assert_eq!([true, false], [false, true].map(|but_timeouts| cut.covers_mark(10, but_timeouts)));
    }

    #[test]
    fn a_heavier_mark_deepens_a_cut_to_its_own_share_and_a_lighter_one_does_nothing() {
        let mut cut = RecoveryPoint::initial();
        cut.set_for_mark(0.8, 10);
        assert_eq!(Some(0.5), cut.reduce_further(0.4));
        assert_eq!(None, cut.reduce_further(0.8));
    }

    #[test]
    fn a_loss_deepens_a_mark_s_cut_once_and_a_loss_s_not_at_all() {
        let mut cut = RecoveryPoint::initial();
        cut.set_for_mark(0.8, 10);
        assert_eq!([Some(0.5 / 0.8), None], [(); 2].map(|()| cut.reduce_further_for_loss(0.5)));
        cut.set_for_loss(20);
        assert_eq!((None, None), (cut.reduce_further(0.4), cut.reduce_further_for_loss(0.5)));
    }

    #[test]
    fn new_data_ends_a_recovery_by_duplicates_and_leaves_other_cuts() {
        let mut cut = RecoveryPoint::initial();
        cut.enter_recovery();
        cut.end_fast_recovery();
        assert!(cut.last_reduction_is(LastReduction::None));
        cut.set_for_mark(0.5, 10);
        cut.end_fast_recovery();
        cut.exit_recovery();
        assert!(cut.last_reduction_is(LastReduction::Mark));
    }
}
