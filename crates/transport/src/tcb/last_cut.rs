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
//! `recover`. How deep: `share` is what marks have left of the window. A heavier mark or a loss in the same window deepens the cut to its own
//! share instead of adding a second one; after a loss nothing deepens it any more.

/// What the window was last cut for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutFor {
    /// Nothing that is still to be repaired.
    Nothing,
    Mark,
    /// A loss that acknowledgements show; its recovery is on.
    Duplicates,
    Timeout,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LastCut {
    /// One past the highest segment sent when the window was cut: the cut covers all below.
    recover: u64,
    /// Segments known by their duplicates to have left the network, which recovery lends to the window.
    inflation: u64,
    /// What cuts for marks have left of the window; nothing after a loss.
    share: f64,
    cause: CutFor,
}

impl LastCut {
    /// No cut yet. As in ns-2, segment 1 must be acknowledged before a loss counts as one of a new window.
    pub fn none() -> LastCut {
        LastCut { recover: 1, inflation: 0, share: 1.0, cause: CutFor::Nothing }
    }

    /// A handshake is done: a loss of the first data, segment 1, counts as well.
    pub fn open(&mut self) {
        self.recover = 0;
    }

    pub fn cause(&self) -> CutFor {
        self.cause
    }

    pub fn is_for(&self, cause: CutFor) -> bool {
        self.cause == cause
    }

    /// One past the highest segment sent when the window was last cut.
    pub fn recover(&self) -> u64 {
        self.recover
    }

    pub fn inflation(&self) -> u64 {
        self.inflation
    }

    /// Whether more is acknowledged than the cut covers: a loss now is one of a new window (RFC 6582, section 3.2, step 1).
    pub fn is_passed(&self, una: u64) -> bool {
        una > self.recover
    }

    /// Whether all that the cut covers is acknowledged, which ends a recovery.
    pub fn is_repaired(&self, una: u64) -> bool {
        una >= self.recover
    }

    /// Whether the cut covers the mark that the acknowledgement of all before `next` echoes; with `but_timeouts` that of a timeout does not.
    pub fn covers_mark(&self, next: u64, but_timeouts: bool) -> bool {
        next <= self.recover && !(but_timeouts && self.cause == CutFor::Timeout)
    }

    /// The window is cut for a mark, to this share, when all before `high` is sent.
    pub fn for_mark(&mut self, share: f64, high: u64) {
        self.share = share;
        self.recover = high;
        self.cause = CutFor::Mark;
    }

    /// The window is cut for a loss that acknowledgements show: nothing deepens that cut.
    pub fn for_loss(&mut self, high: u64) {
        self.recover = high;
        self.share = 0.0;
    }

    /// The retransmission timer has expired: no duplicate inflates the window any more.
    pub fn for_timeout(&mut self, high: u64) {
        self.recover = high;
        self.inflation = 0;
        self.cause = CutFor::Timeout;
    }

    /// No heavier mark of the same window cuts any more.
    pub fn end_deepening(&mut self) {
        self.share = 0.0;
    }

    /// A heavier mark of the same window: what further share is left for the cut to come to `share` in all, if that is less.
    pub fn deepen(&mut self, share: f64) -> Option<f64> {
        (share < self.share).then(|| share / std::mem::replace(&mut self.share, share))
    }

    /// A loss in a window that was cut for a mark: what further share is left for the cut to come to that of a loss, if that is less.
    pub fn deepen_for_loss(&mut self, share: f64) -> Option<f64> {
        let further = share / self.share;
        (further < 1.0).then(|| {
            self.share = 0.0;
            further
        })
    }

    /// A recovery begins, or goes on.
    pub fn enter_recovery(&mut self) {
        self.cause = CutFor::Duplicates;
    }

    /// A scoreboard's recovery ends, or its timeout's repair. The acknowledgement that ends it may bring the next window's mark.
    pub fn leave_recovery(&mut self) {
        if self.cause != CutFor::Mark {
            self.cause = CutFor::Nothing;
        }
    }

    /// New data is acknowledged, which ends a recovery by duplicates.
    pub fn end_duplicates(&mut self) {
        if self.cause == CutFor::Duplicates {
            self.cause = CutFor::Nothing;
        }
    }

    /// The cut covers all before `high`.
    pub fn extend(&mut self, high: u64) {
        self.recover = high;
    }

    /// The cut covers nothing any more, as at the start.
    pub fn forget(&mut self) {
        self.recover = 1;
    }

    pub fn inflate_to(&mut self, segments: u64) {
        self.inflation = segments;
    }

    pub fn inflate(&mut self) {
        self.inflation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_covers_the_marks_of_what_was_sent_before_it() {
        let mut cut = LastCut::none();
        cut.for_mark(0.8, 10);
        assert_eq!([true, false], [10, 11].map(|next| cut.covers_mark(next, true)));
    }

    #[test]
    fn a_timeout_covers_marks_unless_it_is_taken_not_to() {
        let mut cut = LastCut::none();
        cut.for_timeout(10);
        assert_eq!([true, false], [false, true].map(|but_timeouts| cut.covers_mark(10, but_timeouts)));
    }

    #[test]
    fn a_heavier_mark_deepens_a_cut_to_its_own_share_and_a_lighter_one_does_nothing() {
        let mut cut = LastCut::none();
        cut.for_mark(0.8, 10);
        assert_eq!(Some(0.5), cut.deepen(0.4));
        assert_eq!(None, cut.deepen(0.8));
    }

    #[test]
    fn a_loss_deepens_a_mark_s_cut_once_and_a_loss_s_not_at_all() {
        let mut cut = LastCut::none();
        cut.for_mark(0.8, 10);
        assert_eq!([Some(0.5 / 0.8), None], [(); 2].map(|()| cut.deepen_for_loss(0.5)));
        cut.for_loss(20);
        assert_eq!((None, None), (cut.deepen(0.4), cut.deepen_for_loss(0.5)));
    }

    #[test]
    fn new_data_ends_a_recovery_by_duplicates_and_leaves_other_cuts() {
        let mut cut = LastCut::none();
        cut.enter_recovery();
        cut.end_duplicates();
        assert!(cut.is_for(CutFor::Nothing));
        cut.for_mark(0.5, 10);
        cut.end_duplicates();
        cut.leave_recovery();
        assert!(cut.is_for(CutFor::Mark));
    }
}
