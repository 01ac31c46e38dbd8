//! The receiver's echo of marks, in three styles.
//!
//! - classic: ECE from a marked segment on until one with CWR; a mark on that very segment starts it anew (RFC 3168, section 6.1.3)
//! - dctcp: ECE says whether the segments that are acknowledged were marked; a change of state answers at once (RFC 8257, section 3.2)
//! - mecn: (CWR, ECE) say which level: 00 window reduced, 01 none, 10 incipient, 11 moderate (Durresi et al. 2001, section 2)

use ecnlab_units::{Dialect, Ecn, Level};

use crate::segment::Segment;
use crate::settings;

/// What the receiver remembers of marks.
#[derive(Debug)]
pub struct Echo {
    style: settings::Echo,
    /// ECN was agreed upon in a handshake; without one, what a segment says about itself decides, as in ns-2.
    pub agreed: Option<bool>,
    /// Classic: marks are echoed. DCTCP: the last segment was marked.
    on: bool,
}

/// The two bits of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    pub cwr: bool,
    pub ece: bool,
}

impl Echo {
    pub fn new(style: settings::Echo) -> Echo {
        Echo { style, agreed: None, on: false }
    }

    /// Whether this segment changes DCTCP's state, so that nothing of the old state may wait any longer.
    pub fn changes(&self, segment: &Segment) -> bool {
        self.style == settings::Echo::Dctcp && self.on != (segment.ecn == Ecn::Ce)
    }

    /// The bits for acknowledging this segment and perhaps one that was held back before it.
    pub fn answer(&mut self, segment: &Segment, held: Option<&Segment>) -> Bits {
        match self.style {
            settings::Echo::Classic => self.classic(segment, held),
            settings::Echo::Dctcp => {
                self.on = segment.ecn == Ecn::Ce;
                Bits { cwr: false, ece: self.on && self.agreed != Some(false) || self.negotiates(segment) }
            }
            settings::Echo::Mecn if self.agreed == Some(false) => Bits::default(),
            settings::Echo::Mecn => mecn(segment, held),
        }
    }

    /// The bits for acknowledging what was held back in DCTCP's state before the change.
    pub fn before_change(&self) -> Bits {
        Bits { cwr: false, ece: self.on && self.agreed != Some(false) }
    }

    fn classic(&mut self, segment: &Segment, held: Option<&Segment>) -> Bits {
        let either = |has: fn(&Segment) -> bool| has(segment) || held.is_some_and(has);
        if either(|s| s.cwr) {
            self.on = false;
        }
        if either(|s| s.ecn == Ecn::Ce) {
            self.on = true;
        }
        let ece = match self.agreed {
            Some(agreed) => agreed && self.on,
            None => self.on && either(|s| s.ecn.is_capable()) || self.negotiates(segment) || held.is_some_and(|s| self.negotiates(s)),
        };
        Bits { cwr: false, ece }
    }

    /// ns-2's first packet offers ECN by ECE without ECT.
    fn negotiates(&self, segment: &Segment) -> bool {
        self.agreed.is_none() && segment.ece && !segment.ecn.is_capable()
    }
}

fn mecn(segment: &Segment, held: Option<&Segment>) -> Bits {
    let level = |s: &Segment| Dialect::Mecn.level(s.ecn);
    match level(segment).max(held.and_then(level)) {
        Some(level) => Bits { cwr: true, ece: level == Level::Congested },
        None => Bits { cwr: false, ece: !(segment.cwr || held.is_some_and(|s| s.cwr)) },
    }
}
