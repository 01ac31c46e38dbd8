//! Loss detection by DupThresh: a segment is lost when as many above it are sacked as may overtake one that is not (RFC 6675, section 4, IsLost; Linux
//! tcp_update_scoreboard, where sysctl tcp_recovery is 0).

use super::Rack;
use super::ack_state::AckState;
use crate::tcb::Tcb;

impl Rack {
    /// Whether enough is sacked for a loss.
    pub(super) fn has_dupthresh_sacked(&self) -> bool {
        self.options.uses_dupthresh && self.scoreboard.sacked >= self.reordering.dup_thresh
    }

    /// Whether an acknowledgement asks to count: it is a duplicate, or sacks something as far up as nothing overtakes.
    pub(super) fn ack_triggers_dupthresh(&self, tcb: &Tcb, ack_state: &AckState, duplicates: u64) -> bool {
        self.options.uses_dupthresh && (duplicates > 0 || ack_state.newly_sacked && self.is_sacked_beyond_dupthresh(tcb))
    }

    /// Whether something is sacked farther up than segments overtake.
    pub(super) fn is_sacked_beyond_dupthresh(&self, tcb: &Tcb) -> bool {
        self.options.uses_dupthresh && self.scoreboard.highest_sacked(tcb.snd_una()) > tcb.snd_una() + self.reordering.dup_thresh
    }

    /// Marks as lost what has enough sacked above it; on entering recovery the first segment at least.
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

    /// Twenty segments from 1 on are on their way for 40 ms, and losses are told by counting; returns when they went.
    fn flight() -> (RecoveryTestBench, Time) {
        let mut wire = RecoveryTestBench::with_linux_profile(20, |settings| {
            settings.loss_detection = LossDetection::Dupthresh;
            settings.tlp = false;
        });
        let sent = wire.now;
        wire.advance_clock(Span::from_millis(40));
        (wire, sent)
    }

    /// Which of them were sent again since this was asked last.
    fn again(wire: &mut RecoveryTestBench) -> Vec<u64> {
        wire.take_sent().into_iter().filter(|&seq| seq <= 20).collect()
    }

    #[test]
    fn a_segment_is_lost_below_three_that_are_sacked_however_late_it_is() {
        // RFC 6675, section 4: DupThresh is 3. By time it were lost when the first one arrives that was sent 40 ms later.
        let (mut wire, sent) = flight();
        wire.ack_with_sack(3, &[], sent);
        let later = wire.now;
        assert_eq!(vec![21, 22, 23, 24], wire.take_sent());
        wire.advance_clock(Span::from_millis(60));
        wire.ack_with_sack(3, &[(22, 23)], later);
        wire.ack_with_sack(3, &[(22, 24)], later);
        assert_eq!(Vec::<u64>::new(), again(&mut wire));
        wire.ack_with_sack(3, &[(22, 25)], later);
        assert_eq!(Some(&3), again(&mut wire).first());
        assert!(wire.tcb.window().ssthresh < 20.0, "recovery has begun");
    }

    #[test]
    fn a_retransmission_that_is_lost_waits_for_the_timer() {
        let (mut wire, sent) = flight();
        (3..=5).for_each(|end| wire.ack_with_sack(1, &[(2, end)], sent));
        assert_eq!(vec![1], again(&mut wire));
        let resent = wire.now;
        wire.advance_clock(Span::from_millis(40));
        // All of the rest, and what was sent behind the retransmission as well, has come.
        (6..=20).for_each(|end| wire.ack_with_sack(1, &[(2, end)], sent));
        wire.advance_clock(Span::from_millis(40));
        (21..=24).for_each(|end| wire.ack_with_sack(1, &[(2, end)], resent));
        assert_eq!(Vec::<u64>::new(), again(&mut wire));
    }
}
