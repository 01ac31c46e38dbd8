//! Losses by counting: a segment is lost when as many above it are sacked as may overtake one that is not (RFC 6675, section 4, IsLost; Linux
//! tcp_update_scoreboard, where sysctl tcp_recovery is 0).

use super::Rack;
use super::news::News;
use crate::tcb::Tcb;

impl Rack {
    /// Whether enough is sacked for a loss.
    pub(super) fn counts_enough(&self) -> bool {
        self.rules.counts && self.board.sacked >= self.reordering.degree
    }

    /// Whether an acknowledgement asks to count: it is a duplicate, or sacks something as far up as nothing overtakes.
    pub(super) fn asks_to_count(&self, tcb: &Tcb, news: &News, duplicates: u64) -> bool {
        self.rules.counts && (duplicates > 0 || news.sacked && self.is_far_above(tcb))
    }

    /// Whether something is sacked farther up than segments overtake.
    pub(super) fn is_far_above(&self, tcb: &Tcb) -> bool {
        self.rules.counts && self.board.highest_sacked(tcb.una()) > tcb.una() + self.reordering.degree
    }

    /// Marks as lost what has enough sacked above it; on entering recovery the first segment at least.
    #[inline(never)]
    pub(super) fn mark_by_count(&mut self, tcb: &Tcb, enters: bool) {
        match self.board.sacked.checked_sub(self.reordering.degree) {
            Some(most) => self.board.lose_below_sacked(most),
            None if enters => self.board.lose_first(tcb.una()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use crate::recovery::testing::Wire;
    use crate::settings::{LossDetection, Settings};

    fn counts(settings: &mut Settings) {
        settings.loss_detection = LossDetection::Count;
        settings.tlp = false;
    }

    #[test]
    fn a_segment_is_lost_below_three_that_are_sacked_however_long_it_takes() {
        // RFC 6675, section 4: DupThresh is 3.
        let mut wire = Wire::host(20, counts);
        let sent = wire.now;
        wire.wait(Span::from_millis(40));
        wire.hear(1, &[(2, 3)], sent);
        wire.wait(Span::from_millis(30));
        wire.hear(1, &[(2, 4)], sent);
        assert!(wire.sent().iter().all(|&seq| seq >= 20), "by time it were lost");
        wire.hear(1, &[(2, 5)], sent);
        assert_eq!(Some(&1), wire.sent().iter().find(|&&seq| seq < 20));
        assert_eq!(10.0, wire.tcb.window().ssthresh, "recovery has begun");
    }

    #[test]
    fn of_two_holes_the_upper_one_is_lost_once_three_above_it_are_sacked() {
        let mut wire = Wire::host(20, counts);
        let sent = wire.now;
        wire.wait(Span::from_millis(40));
        wire.hear(1, &[(2, 3)], sent);
        wire.hear(1, &[(2, 3), (4, 5)], sent);
        wire.hear(1, &[(2, 3), (4, 6)], sent);
        let again: Vec<u64> = wire.sent().into_iter().filter(|&seq| seq < 20).collect();
        assert_eq!(vec![1], again, "above 3 only 4 and 5 have come");
        wire.hear(1, &[(2, 3), (4, 7)], sent);
        let mut again: Vec<u64> = wire.sent().into_iter().filter(|&seq| seq < 20).collect();
        for end in 8..14 {
            wire.hear(1, &[(2, 3), (4, end)], sent);
            again.extend(wire.sent().into_iter().filter(|&seq| seq < 20));
        }
        assert_eq!(vec![3], again);
    }

    #[test]
    fn a_retransmission_that_is_lost_waits_for_the_timer() {
        let mut wire = Wire::host(20, counts);
        let sent = wire.now;
        wire.wait(Span::from_millis(40));
        (3..=5).for_each(|end| wire.hear(1, &[(2, end)], sent));
        assert!(wire.sent().contains(&1));
        let resent = wire.now;
        wire.wait(Span::from_millis(40));
        // All of the rest, and what was sent behind the retransmission as well, has come.
        (6..=20).for_each(|end| wire.hear(1, &[(2, end)], sent));
        wire.sent();
        wire.wait(Span::from_millis(40));
        (21..=24).for_each(|end| wire.hear(1, &[(2, end)], resent));
        assert!(!wire.sent().contains(&1));
    }
}
