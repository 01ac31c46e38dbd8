//! The echo of marks as a host's stack keeps it: a state that each acknowledgement shows as it stands when it goes.
//!
//! ```text
//! classic   a mark sets it, CWR takes it back; a mark on that very segment sets it again (RFC 3168, section 6.1.3)
//! dctcp     it is the mark of the last segment; a change is answered at once, and before it what waits (RFC 8257, section 3.2)
//! mecn      the highest level since the last acknowledgement (Durresi et al. 2001, section 2)
//! ```
//!
//! The first mark, and a segment that is not ECN-capable after one that was, say that the sender may have little to send: what arrives next is
//! acknowledged quickly.

use ecnlab_units::{Dialect, Ecn, Level};

use crate::receiver::echo::EchoBits;
use crate::segment::Segment;
use crate::settings::{EchoStyle, Settings};

#[derive(Debug)]
pub struct Marks {
    style: EchoStyle,
    /// Whether ECN was agreed upon in a three-way handshake; without one a mark shows that it is in use.
    agreed: Option<bool>,
    /// Acknowledgements carry ECE.
    on: bool,
    /// The last ECN-capable segment was marked.
    marked: bool,
    /// An ECN-capable segment has come.
    seen: bool,
    /// What the first packet asked is still to be answered.
    asked: bool,
    level: Option<Level>,
    reduced: bool,
}

impl Marks {
    pub fn new(settings: &Settings) -> Marks {
        Marks { style: settings.ecn_echo, agreed: None, on: false, marked: false, seen: false, asked: false, level: None, reduced: false }
    }

    /// The handshake has settled whether ECN is used.
    pub fn settle(&mut self, agreed: bool) {
        self.agreed = Some(agreed);
    }

    pub fn is_agreed(&self) -> bool {
        self.agreed == Some(true)
    }

    /// The sender says that it has reduced its window. DCTCP's state follows CE alone (RFC 8257, section 3.2; Linux dctcp_ece_ack_cwr).
    pub fn take_reduction(&mut self) {
        self.reduced = true;
        if self.style == EchoStyle::Classic {
            self.on = false;
        }
    }

    /// Whether this segment changes DCTCP's state.
    pub fn changes(&self, segment: &Segment) -> bool {
        self.style == EchoStyle::Dctcp && self.agreed != Some(false) && segment.ecn.is_capable() && self.marked != (segment.ecn == Ecn::Ce)
    }

    /// Takes the ECN field of a segment with new data. Returns whether the next ones are to be acknowledged quickly.
    pub fn take(&mut self, segment: &Segment) -> bool {
        if self.agreed == Some(false) {
            return false;
        }
        self.asked |= self.agreed.is_none() && segment.ece && !segment.ecn.is_capable();
        if self.style == EchoStyle::Mecn {
            self.level = Dialect::Mecn.level(segment.ecn).max(self.level);
            return false;
        }
        if !segment.ecn.is_capable() {
            return self.seen;
        }
        self.seen = true;
        self.marked = segment.ecn == Ecn::Ce;
        let first = self.marked && !self.on && self.style == EchoStyle::Classic;
        self.on = self.marked || self.on && self.style == EchoStyle::Classic;
        first
    }

    /// The bits of an acknowledgement that goes now.
    pub fn show(&mut self) -> EchoBits {
        if self.agreed == Some(false) {
            return EchoBits::default();
        }
        let (asked, level, reduced) = (std::mem::take(&mut self.asked), self.level.take(), std::mem::take(&mut self.reduced));
        match (self.style, level) {
            (EchoStyle::Mecn, Some(level)) => EchoBits { cwr: true, ece: level == Level::Congested },
            (EchoStyle::Mecn, None) => EchoBits { cwr: false, ece: !reduced },
            _ => EchoBits { cwr: false, ece: self.on || asked },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn marks(ecn_echo: EchoStyle) -> Marks {
        let mut marks = Marks::new(&Settings { ecn_echo, ..profile::settings("linux") });
        marks.settle(true);
        marks
    }

    fn segment(ecn: Ecn) -> Segment {
        Segment { ecn, ..Segment::plain(1, 1500) }
    }

    #[test]
    fn the_first_mark_and_a_segment_that_is_not_capable_ask_for_quick_acknowledgements() {
        let mut marks = marks(EchoStyle::Classic);
        let asks = [Ecn::NotEct, Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::NotEct].map(|ecn| marks.take(&segment(ecn)));
        assert_eq!([false, false, true, false, true], asks);
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_has_reduced_its_window() {
        let mut marks = marks(EchoStyle::Classic);
        marks.take(&segment(Ecn::Ce));
        marks.take(&segment(Ecn::Ect0));
        assert!(marks.show().ece);
        marks.take_reduction();
        marks.take(&segment(Ecn::Ect0));
        assert!(!marks.show().ece);
    }

    #[test]
    fn dctcp_shows_the_last_segment_s_mark() {
        let mut marks = marks(EchoStyle::Dctcp);
        let shown = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0].map(|ecn| {
            let changes = marks.changes(&segment(ecn));
            marks.take(&segment(ecn));
            (changes, marks.show().ece)
        });
        assert_eq!([(false, false), (true, true), (false, true), (true, false)], shown);
    }
}
