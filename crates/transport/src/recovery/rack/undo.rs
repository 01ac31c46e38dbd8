//! Undo: a cut is taken back when nothing was lost after all (RFC 4015).
//!
//! Two things show it: an acknowledgement whose timestamp is older than the first retransmission (Eifel, RFC 3522), or reports that every
//! retransmission came beside its segment (RFC 3708).

use ecnlab_units::Time;

use super::reorder::PERSIST;
use super::{Rack, State};
use crate::tcb::{Output, Tcb};

/// What it takes to take the last cut back.
#[derive(Debug, Default)]
pub struct Undo {
    /// The first unacknowledged segment at the cut; nothing if the cut stays.
    marker: Option<u64>,
    /// Retransmissions of which it is not known that their segment had arrived; nothing before the first.
    open: Option<u64>,
    /// Window and threshold before the cut; the threshold is forgotten when a mark has confirmed the cut.
    pub window: f64,
    pub threshold: Option<f64>,
    /// When the first retransmission went, in milliseconds of the host's clock.
    pub first_resent: Option<u64>,
}

impl Undo {
    /// A cut is made with so many retransmissions in flight.
    pub fn arm(&mut self, una: u64, resent: u64) {
        self.marker = Some(una);
        self.open = (resent > 0).then_some(resent);
    }

    pub fn disarm(&mut self) {
        self.marker = None;
    }

    pub fn is_armed(&self) -> bool {
        self.marker.is_some()
    }

    /// Whether a report of what came twice that ends there speaks of what was sent again since the cut.
    pub fn reaches(&self, end: u64) -> bool {
        self.marker.is_some_and(|marker| end > marker)
    }

    /// A segment was sent again.
    pub fn resent(&mut self, millis: u64) {
        self.first_resent.get_or_insert(millis);
        self.open = Some(self.open.unwrap_or(0) + 1);
    }

    /// Segments up to `end` came twice.
    pub fn came_twice(&mut self, end: u64, segments: u64) {
        if self.reaches(end) {
            self.open = self.open.map(|open| open.saturating_sub(segments));
        }
    }

    /// Whether all that was sent again came beside its segment.
    fn all_came_twice(&self) -> bool {
        self.marker.is_some() && self.open == Some(0)
    }
}

impl Rack {
    /// Whether what an acknowledgement answers was sent before anything was sent again.
    fn is_delayed(&self, tcb: &Tcb) -> bool {
        match self.undo.first_resent {
            Some(first) => self.rules.timestamps && tcb.millis(self.echoed) < first,
            None => self.rules.sack || tcb.una() < self.ends,
        }
    }

    fn may_undo(&self, tcb: &Tcb) -> bool {
        self.rules.undo && self.undo.is_armed() && (self.undo.open == Some(0) || self.is_delayed(tcb))
    }

    /// Whether anything was sent again that is not acknowledged.
    pub(super) fn has_resent(&self) -> bool {
        self.board.resent > 0 || self.board.first().is_some_and(|record| record.ever_resent)
    }

    /// Forgets when the first retransmission went if none is out.
    pub(super) fn forget_resent(&mut self) {
        if !self.has_resent() {
            self.undo.first_resent = None;
        }
    }

    /// Takes the last cut back, with the losses that it was made for if they are `none`.
    #[inline(never)]
    fn take_back(&mut self, none: bool, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        if none {
            self.board.unmark_lost();
        }
        if let Some(threshold) = self.undo.threshold {
            tcb.take_back_cut(self.undo.window, threshold, now, out);
        }
        tcb.count_as_used(now);
        self.undo.disarm();
        self.reordering.advanced = true;
    }

    /// All that the state covers is acknowledged: takes the cut back if it may, and opens; returns whether the state stays.
    pub(super) fn finish(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) -> bool {
        if self.may_undo(tcb) {
            self.take_back(false, tcb, now, out);
        } else {
            self.reordering.persist = self.reordering.persist.saturating_sub(1);
        }
        if self.holds_without_sack(tcb) {
            return true;
        }
        self.enter(State::Open);
        tcb.leave_recovery();
        false
    }

    /// Without SACK the state holds until something above it is acknowledged, against false retransmissions (RFC 6582, section 4.1).
    fn holds_without_sack(&mut self, tcb: &Tcb) -> bool {
        let holds = !self.rules.sack && tcb.una() == self.ends;
        if holds {
            self.forget_resent();
        }
        holds
    }

    /// Takes the cut back if all retransmissions came beside their segments; returns whether it did.
    pub(super) fn undo_by_reports(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) -> bool {
        let undone = self.rules.undo && self.undo.all_came_twice();
        if undone {
            self.reordering.persist = (self.reordering.persist + 1).min(PERSIST);
            self.take_back(false, tcb, now, out);
        }
        undone
    }

    /// A part of what recovery covers is acknowledged: whether a late segment filled the hole and not a retransmission. If no retransmission is
    /// out the cut is taken back; else new segments go, and nothing more is taken for lost.
    pub(super) fn undo_in_part(&mut self, tcb: &mut Tcb, una_before: u64, now: Time, out: &mut impl Output) -> bool {
        if !(self.rules.undo && self.undo.is_armed() && self.is_delayed(tcb)) {
            return false;
        }
        let highest = self.board.highest_sacked(tcb.una());
        self.reordering.overtaken(una_before, highest);
        if self.board.resent > 0 {
            return true;
        }
        self.forget_resent();
        self.take_back(true, tcb, now, out);
        self.keep_open(tcb);
        false
    }

    /// After a timeout: takes it back if it was spurious; returns whether that is settled.
    pub(super) fn undo_timeout(&mut self, spurious: bool, tcb: &mut Tcb, now: Time, out: &mut impl Output) -> bool {
        if !(spurious || self.may_undo(tcb)) {
            return false;
        }
        self.take_back(true, tcb, now, out);
        self.timeouts = 0;
        if !self.holds_without_sack(tcb) && (spurious || self.rules.sack) {
            self.enter(State::Open);
            tcb.leave_recovery();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Time};

    use crate::recovery::testing::Wire;
    use crate::settings::Settings;

    /// Segment 1 of 20 is late, and is sent again 100 ms after all went; returns when they went.
    fn late(change: impl FnOnce(&mut Settings)) -> (Wire, Time) {
        let mut wire = Wire::host(20, change);
        let sent = wire.now;
        wire.wait(Span::from_millis(100));
        (3..=5).for_each(|end| wire.hear(1, &[(2, end)], sent));
        assert_eq!(Some(&1), wire.sent().iter().find(|&&seq| seq < 20));
        assert_eq!(10.0, wire.tcb.window().ssthresh);
        wire.wait(Span::from_millis(10));
        (wire, sent)
    }

    #[test]
    fn a_timestamp_from_before_the_retransmission_takes_the_cut_back() {
        // RFC 3522, section 3.2; RFC 4015, section 3.2.
        let (mut wire, sent) = late(|_| ());
        wire.hear(5, &[], sent);
        let (cwnd, ssthresh) = wire.window();
        assert!(cwnd >= 20.0 && ssthresh == 100.0, "{cwnd} {ssthresh}");
        // Four overtook it: as many do so now without being taken for a loss.
        wire.sent();
        let sent = wire.now;
        wire.wait(Span::from_millis(20));
        (7..=9).for_each(|end| wire.hear(5, &[(6, end)], sent));
        assert!(!wire.sent().contains(&5));
    }

    #[test]
    fn the_answer_to_the_retransmission_does_not() {
        let (mut wire, _) = late(|_| ());
        wire.hear(5, &[], wire.now);
        assert_eq!(10.0, wire.tcb.window().ssthresh);
    }

    #[test]
    fn without_the_parameter_a_cut_stays() {
        let (mut wire, sent) = late(|settings| settings.undo = false);
        wire.hear(5, &[], sent);
        assert_eq!(10.0, wire.tcb.window().ssthresh);
    }

    #[test]
    fn without_timestamps_reports_that_all_came_twice_do() {
        // RFC 3708, section 3: the DSACK of the one retransmission.
        let (mut wire, sent) = late(|settings| settings.timestamps = false);
        wire.hear(5, &[], sent);
        assert_eq!(10.0, wire.tcb.window().ssthresh);
        wire.wait(Span::from_millis(90));
        wire.hear(5, &[(1, 2)], sent);
        let (cwnd, ssthresh) = wire.window();
        assert!(cwnd >= 20.0 && ssthresh == 100.0, "{cwnd} {ssthresh}");
    }

    #[test]
    fn one_report_of_two_retransmissions_says_nothing() {
        let mut wire = Wire::host(20, |settings| settings.timestamps = false);
        let sent = wire.now;
        wire.wait(Span::from_millis(100));
        (4..=21).for_each(|end| wire.hear(1, &[(3, end)], sent));
        let again = wire.sent();
        assert!(again.contains(&1) && again.contains(&2), "{again:?}");
        wire.wait(Span::from_millis(100));
        wire.hear(21, &[], sent);
        wire.hear(21, &[(1, 2)], sent);
        assert_eq!(10.0, wire.tcb.window().ssthresh);
        wire.hear(21, &[(2, 3)], sent);
        assert_eq!(100.0, wire.tcb.window().ssthresh);
    }
}
