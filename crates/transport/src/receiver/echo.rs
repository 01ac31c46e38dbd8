//! The receiver's echo of marks, in three styles; hosts that count them (`accurate`) are a kernel's, and are here only without ECN.
//!
//! - classic: ECE from a marked segment on until one with CWR; a mark on that very segment starts it anew (RFC 3168, section 6.1.3)
//! - dctcp: ECE says whether the segments that are acknowledged were marked; a change of state answers at once (RFC 8257, section 3.2)
//! - mecn: (CWR, ECE) say which level: 00 window reduced, 01 none, 10 incipient, 11 moderate (Durresi et al. 2001, section 2)

use ecnlab_units::{Dialect, Ecn, Level};

use crate::segment::Segment;
use crate::settings::{EchoStyle, Settings};

/// What the receiver remembers of marks.
#[derive(Debug)]
pub struct MarkEcho {
    style: EchoStyle,
    /// Whether ECN was agreed upon in a three-way handshake; without one a mark shows that it is in use.
    agreed: Option<bool>,
    /// Without a handshake, only the acknowledgement of a capable segment echoes, as in ns-2.
    on_capable_only: bool,
    /// Classic: marks are echoed. DCTCP: the last segment was marked.
    on: bool,
}

/// The two bits of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoBits {
    pub cwr: bool,
    pub ece: bool,
}

impl MarkEcho {
    pub fn new(settings: &Settings) -> MarkEcho {
        MarkEcho { style: settings.ecn_echo, on_capable_only: settings.echo_on_capable_only, agreed: None, on: false }
    }

    /// The handshake has settled whether ECN is used.
    pub fn settle(&mut self, agreed: bool) {
        self.agreed = Some(agreed);
    }

    /// Whether ECN was agreed upon in a handshake.
    pub fn is_agreed(&self) -> bool {
        self.agreed == Some(true)
    }

    /// Whether this segment changes DCTCP's state, so that an acknowledgement that is delayed has to go first.
    pub fn changes(&self, segment: &Segment) -> bool {
        self.style == EchoStyle::Dctcp && self.on != (segment.ecn == Ecn::Ce)
    }

    /// The bits for acknowledging this segment and perhaps one that was held back before it.
    #[inline(always)]
    pub fn bits(&mut self, segment: &Segment, held: Option<&Segment>) -> EchoBits {
        match self.style {
            EchoStyle::Classic | EchoStyle::Accurate => self.classic(segment, held),
            EchoStyle::Dctcp => self.dctcp(segment),
            EchoStyle::Mecn => self.mecn(segment, held),
        }
    }

    /// The bits for acknowledging what was held back in DCTCP's state before the change.
    pub fn before_change(&self) -> EchoBits {
        EchoBits { cwr: false, ece: self.on && self.agreed != Some(false) }
    }

    #[inline(always)]
    fn classic(&mut self, segment: &Segment, held: Option<&Segment>) -> EchoBits {
        let either = |has: fn(&Segment) -> bool| has(segment) || held.is_some_and(has);
        // In the order in which they came: what was marked before CWR is answered by it.
        if let Some(held) = held {
            self.hear(held);
        }
        self.hear(segment);
        let ece = match self.agreed {
            Some(agreed) => agreed && self.on,
            None => {
                self.on && (!self.on_capable_only || either(|s| s.ecn.is_capable()))
                    || self.negotiates(segment)
                    || held.is_some_and(|s| self.negotiates(s))
            }
        };
        EchoBits { cwr: false, ece }
    }

    #[inline(never)]
    fn dctcp(&mut self, segment: &Segment) -> EchoBits {
        self.on = segment.ecn == Ecn::Ce;
        EchoBits { cwr: false, ece: self.on && self.agreed != Some(false) || self.negotiates(segment) }
    }

    #[inline(never)]
    fn mecn(&self, segment: &Segment, held: Option<&Segment>) -> EchoBits {
        if self.agreed == Some(false) { EchoBits::default() } else { mecn(segment, held) }
    }

    /// Classic: a mark turns the echo on, and CWR without one turns it off.
    #[inline(always)]
    fn hear(&mut self, segment: &Segment) {
        self.on = segment.ecn == Ecn::Ce || self.on && !segment.cwr;
    }

    /// ns-2's first packet offers ECN by ECE without ECT.
    fn negotiates(&self, segment: &Segment) -> bool {
        self.agreed.is_none() && segment.ece && !segment.ecn.is_capable()
    }
}

fn mecn(segment: &Segment, held: Option<&Segment>) -> EchoBits {
    let level = |s: &Segment| Dialect::Mecn.level(s.ecn);
    match level(segment).max(held.and_then(level)) {
        Some(level) => EchoBits { cwr: true, ece: level == Level::Congested },
        None => EchoBits { cwr: false, ece: !(segment.cwr || held.is_some_and(|s| s.cwr)) },
    }
}
