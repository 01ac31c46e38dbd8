//! The last reduction of cwnd: its cause, the segments that it covers, and its depth.
//!
//! Cwnd is reduced at most once for the segments of one window (RFC 5681, section 3.2; RFC 3168, section 6.1.2; RFC 6582's `recover`). Each
//! reduction therefore first checks here whether the last one covers the segment.
//!
//! ```text
//!  +---------+     echo of a mark      +------+     ACKs indicate a loss         +--------------+
//!  |         | ----------------------> | Mark | -------------------------------> |              |
//!  |         |                         +------+                                  |              |
//!  |  None   |              ACKs indicate a loss                                 | FastRecovery |
//!  |         | ----------------------------------------------------------------> |              |
//!  |         | <---------------------------------------------------------------- |              |
//!  +---------+   ACK of new data; with a scoreboard, of all up to `recover`      +--------------+
//!       ^
//!       | with a scoreboard: ACK of all up to `recover`
//!  +---------+
//!  | Timeout | <-- from every state, when the retransmission timer expires
//!  +---------+ --> to Mark or FastRecovery, for segments beyond `recover`
//! ```
//!
//! A mark leads to Mark from every state. Only a loss or an RTO leaves Mark; `recover` determines whether the marked window is still in
//! flight. `beta` is the fraction of cwnd that reductions for marks have left. A stronger mark or a loss in the same window reduces cwnd
//! further, to its own fraction, instead of multiplying a second one. After a loss nothing reduces cwnd further.

/// Cause of the last reduction of cwnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastReduction {
    /// No reduction whose loss is still to be repaired.
    None,
    Mark,
    /// A loss indicated by ACKs; its recovery is in progress.
    FastRecovery,
    Timeout,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RecoveryPoint {
    /// One past the highest segment sent when cwnd was reduced: the reduction covers all segments below it.
    recover: u64,
    /// Segments that duplicate ACKs show to have left the network, which recovery adds to the window.
    inflation: u64,
    /// Fraction of cwnd that the reductions for marks have left; 0 after a loss.
    beta: f64,
    last_reduction: LastReduction,
}

impl RecoveryPoint {
    /// State before the first reduction. As in ns-2, segment 1 must be acknowledged before a loss belongs to a new window.
    pub fn initial() -> RecoveryPoint {
        RecoveryPoint { recover: 1, inflation: 0, beta: 1.0, last_reduction: LastReduction::None }
    }

    /// Lets a loss of segment 1, the first data after a handshake, reduce cwnd too.
    pub fn on_handshake_done(&mut self) {
        self.recover = 0;
    }

    pub fn last_reduction_is(&self, cause: LastReduction) -> bool {
        self.last_reduction == cause
    }

    /// One past the highest segment sent when cwnd was last reduced.
    pub fn recover(&self) -> u64 {
        self.recover
    }

    pub fn inflation(&self) -> u64 {
        self.inflation
    }

    /// Whether more than the covered segments is acknowledged: a loss now belongs to a new window (RFC 6582, section 3.2, step 1).
    pub fn is_passed_by(&self, snd_una: u64) -> bool {
        snd_una > self.recover
    }

    /// Whether all covered segments are acknowledged, which ends a recovery.
    pub fn is_reached_by(&self, snd_una: u64) -> bool {
        snd_una >= self.recover
    }

    /// Whether the last reduction covers a mark echoed by an ACK of all segments before `next`. With `but_timeouts` the reduction of an RTO
    /// does not cover it.
    pub fn covers_mark(&self, next: u64, but_timeouts: bool) -> bool {
        next <= self.recover && !(but_timeouts && self.last_reduction == LastReduction::Timeout)
    }

    /// Records a reduction for a mark to the fraction `share` of cwnd.
    pub fn record_mark_reduction(&mut self, share: f64, snd_max: u64) {
        self.beta = share;
        self.recover = snd_max;
        self.last_reduction = LastReduction::Mark;
    }

    /// Records a reduction for a loss that ACKs indicate; nothing reduces cwnd further in this window.
    pub fn record_loss_reduction(&mut self, snd_max: u64) {
        self.recover = snd_max;
        self.beta = 0.0;
    }

    /// Records the expiry of the retransmission timer; duplicate ACKs no longer inflate the window.
    pub fn record_rto_reduction(&mut self, snd_max: u64) {
        self.recover = snd_max;
        self.inflation = 0;
        self.last_reduction = LastReduction::Timeout;
    }

    /// Forbids that a stronger mark of the same window reduces cwnd further.
    pub fn forbid_further_reduction(&mut self) {
        self.beta = 0.0;
    }

    /// Remaining factor for a stronger mark of the same window, so that the total reduction is to `share`; none if cwnd is lower already.
    pub fn reduce_further(&mut self, share: f64) -> Option<f64> {
        (share < self.beta).then(|| share / std::mem::replace(&mut self.beta, share))
    }

    /// Remaining factor for a loss in a window reduced for a mark, so that the total reduction is to `share`; none if cwnd is lower
    /// already.
    pub fn take_remaining_beta_for_loss(&mut self, share: f64) -> Option<f64> {
        let further = share / self.beta;
        (further < 1.0).then(|| {
            self.beta = 0.0;
            further
        })
    }

    /// Records that a recovery is in progress.
    pub fn record_recovery_start(&mut self) {
        self.last_reduction = LastReduction::FastRecovery;
    }

    /// Ends a recovery by scoreboard, or the recovery after an RTO. The ACK that ends it may echo a mark of the next window.
    pub fn exit_recovery(&mut self) {
        if self.last_reduction != LastReduction::Mark {
            self.last_reduction = LastReduction::None;
        }
    }

    /// Ends a fast recovery by duplicate ACKs, because new data is acknowledged.
    pub fn record_fast_recovery_end(&mut self) {
        if self.last_reduction == LastReduction::FastRecovery {
            self.last_reduction = LastReduction::None;
        }
    }

    /// Extends the last reduction to cover all segments before `snd_max`.
    pub fn extend_to(&mut self, snd_max: u64) {
        self.recover = snd_max;
    }

    /// Resets the recovery point to its initial state, which covers no segment.
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
        cut.record_mark_reduction(0.8, 10);
        assert_eq!([true, false], [10, 11].map(|next| cut.covers_mark(next, true)));
    }

    #[test]
    fn a_timeout_covers_marks_unless_it_is_taken_not_to() {
        let mut cut = RecoveryPoint::initial();
        cut.record_rto_reduction(10);
        assert_eq!([true, false], [false, true].map(|but_timeouts| cut.covers_mark(10, but_timeouts)));
    }

    #[test]
    fn a_heavier_mark_deepens_a_cut_to_its_own_share_and_a_lighter_one_does_nothing() {
        let mut cut = RecoveryPoint::initial();
        cut.record_mark_reduction(0.8, 10);
        assert_eq!(Some(0.5), cut.reduce_further(0.4));
        assert_eq!(None, cut.reduce_further(0.8));
    }

    #[test]
    fn a_loss_deepens_a_mark_s_cut_once_and_a_loss_s_not_at_all() {
        let mut cut = RecoveryPoint::initial();
        cut.record_mark_reduction(0.8, 10);
        assert_eq!([Some(0.5 / 0.8), None], [(); 2].map(|()| cut.take_remaining_beta_for_loss(0.5)));
        cut.record_loss_reduction(20);
        assert_eq!((None, None), (cut.reduce_further(0.4), cut.take_remaining_beta_for_loss(0.5)));
    }

    #[test]
    fn new_data_ends_a_recovery_by_duplicates_and_leaves_other_cuts() {
        let mut cut = RecoveryPoint::initial();
        cut.record_recovery_start();
        cut.record_fast_recovery_end();
        assert!(cut.last_reduction_is(LastReduction::None));
        cut.record_mark_reduction(0.5, 10);
        cut.record_fast_recovery_end();
        cut.exit_recovery();
        assert!(cut.last_reduction_is(LastReduction::Mark));
    }
}
