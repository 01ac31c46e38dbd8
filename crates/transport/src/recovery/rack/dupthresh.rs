//! Loss detection by DupThresh: a segment is lost when `dup_thresh` segments above it are sacked (RFC 6675, section 4, IsLost; Linux
//! tcp_update_scoreboard with sysctl tcp_recovery = 0).

use super::Rack;
use super::ack_state::AckState;
use crate::tcb::Tcb;

impl Rack {
    /// Whether enough segments are sacked for a loss.
    pub(super) fn has_dupthresh_sacked(&self) -> bool {
        self.options.uses_dupthresh && self.scoreboard.sacked >= self.reordering.dup_thresh
    }

    /// Whether an ACK triggers loss detection: it is a duplicate, or the highest sacked segment is more than `dup_thresh` above the first.
    pub(super) fn ack_needs_dupthresh_check(&self, tcb: &Tcb, ack_state: &AckState) -> bool {
        self.options.uses_dupthresh
            && (ack_state.is_counted_dupack || ack_state.newly_sacked && self.is_highest_sacked_beyond_dupthresh(tcb))
    }

    /// Whether the highest sacked segment is more than `dup_thresh` above the first.
    pub(super) fn is_highest_sacked_beyond_dupthresh(&self, tcb: &Tcb) -> bool {
        self.options.uses_dupthresh && self.scoreboard.sacked_end(tcb.snd_una()) > tcb.snd_una() + self.reordering.dup_thresh
    }

    /// Marks segments with enough sacked ones above as lost; when recovery is entered, at least the first segment.
    #[inline(never)]
    pub(super) fn mark_lost_by_dupthresh(&mut self, tcb: &Tcb, enters: bool) {
        match self.scoreboard.sacked.checked_sub(self.reordering.dup_thresh) {
            Some(most) => self.scoreboard.mark_lost_by_sacked_count(most),
            None if enters => self.scoreboard.mark_first_lost(tcb.snd_una()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Time};

    use crate::recovery::testing::RecoveryTestBench;
    use crate::settings::LossDetection;

    /// Twenty segments from 1 on have been in flight for 40 ms, with loss detection by DupThresh; returns their send time.
    fn bench_with_dupthresh() -> (RecoveryTestBench, Time) {
        let mut wire = RecoveryTestBench::with_linux_profile(20, |settings| {
            settings.loss_detection = LossDetection::Dupthresh;
            settings.tlp = false;
        });
        let sent = wire.now;
        wire.advance_clock(Span::from_millis(40));
        (wire, sent)
    }

    /// Segments retransmitted since the last call.
    fn take_retransmitted(wire: &mut RecoveryTestBench) -> Vec<u64> {
        wire.take_sent().into_iter().filter(|&seq| seq <= 20).collect()
    }

    #[test]
    fn a_segment_is_lost_below_three_that_are_sacked_however_late_it_is() {
        // RFC 6675, section 4: DupThresh is 3. RACK would mark it lost when the first segment arrives that was sent 40 ms later.
        let (mut wire, sent) = bench_with_dupthresh();
        wire.ack_with_sack(3, &[], sent);
        let later = wire.now;
        assert_eq!(vec![21, 22, 23, 24], wire.take_sent());
        wire.advance_clock(Span::from_millis(60));
        wire.ack_with_sack(3, &[(22, 23)], later);
        wire.ack_with_sack(3, &[(22, 24)], later);
        assert_eq!(Vec::<u64>::new(), take_retransmitted(&mut wire));
        wire.ack_with_sack(3, &[(22, 25)], later);
        assert_eq!(Some(&3), take_retransmitted(&mut wire).first());
        assert!(wire.tcb.window().ssthresh < 20.0, "recovery has begun");
    }

    #[test]
    fn a_retransmission_that_is_lost_waits_for_the_timer() {
        let (mut wire, sent) = bench_with_dupthresh();
        (3..=5).for_each(|end| wire.ack_with_sack(1, &[(2, end)], sent));
        assert_eq!(vec![1], take_retransmitted(&mut wire));
        let resent = wire.now;
        wire.advance_clock(Span::from_millis(40));
        // All other segments have arrived, also those sent after the retransmission.
        (6..=20).for_each(|end| wire.ack_with_sack(1, &[(2, end)], sent));
        wire.advance_clock(Span::from_millis(40));
        (21..=24).for_each(|end| wire.ack_with_sack(1, &[(2, end)], resent));
        assert_eq!(Vec::<u64>::new(), take_retransmitted(&mut wire));
    }
}
