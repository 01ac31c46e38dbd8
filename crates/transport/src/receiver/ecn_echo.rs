//! The receiver's echo of marks in three styles. Accurate ECN (`accurate`) counts marks instead; see `accurate_ecn`.
//!
//! - classic: ECE from a marked segment on until one with CWR; a mark on the segment with CWR sets it again (RFC 3168, section 6.1.3)
//! - dctcp: ECE reports whether the acknowledged segments were marked; a change of CE is acknowledged at once (RFC 8257, section 3.2)
//! - mecn: (CWR, ECE) report the level: 00 cwnd reduced, 01 no congestion, 10 incipient, 11 moderate (Durresi et al. 2001, section 2)

use ecnlab_units::{CongestionLevel, Ecn, EcnSemantics};

use crate::segment::Segment;
use crate::settings::{EchoStyle, EcnResponseName, TcpSettings};

/// State of the receiver's echo.
#[derive(Debug)]
pub struct EcnEcho {
    style: EchoStyle,
    is_dctcp: bool,
    /// Whether ECN was negotiated in a three-way handshake; without one, a mark shows that ECN is in use.
    negotiated: Option<bool>,
    /// Without a handshake, only the ACK of an ECN-capable segment carries an echo, as in ns-2.
    echoes_only_on_ect: bool,
    /// Classic: ECE is set. DCTCP: the last segment was marked.
    ece_on: bool,
}

/// CWR and ECE of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EceCwrBits {
    pub cwr: bool,
    pub ece: bool,
}

impl EcnEcho {
    pub fn new(settings: &TcpSettings) -> EcnEcho {
        EcnEcho {
            style: settings.ecn_echo,
            is_dctcp: settings.ecn_response == EcnResponseName::Dctcp,
            echoes_only_on_ect: settings.quirks.ece_on_ect_only,
            negotiated: None,
            ece_on: false,
        }
    }

    /// Sets whether the handshake negotiated ECN.
    pub fn set_negotiated(&mut self, agreed: bool) {
        self.negotiated = Some(agreed);
    }

    /// Sets whether the handshake negotiated Accurate ECN; a host that asked for it and did not get it is one of classic ECN, or of DCTCP.
    pub fn set_accurate_negotiated(&mut self, accurate: bool) {
        if self.style == EchoStyle::Accurate && !accurate {
            self.style = if self.is_dctcp { EchoStyle::Dctcp } else { EchoStyle::Classic };
        }
    }

    /// Whether the handshake negotiated ECN.
    pub fn is_negotiated(&self) -> bool {
        self.negotiated == Some(true)
    }

    /// Whether this segment changes DCTCP's CE state, so that a delayed ACK must be sent first.
    pub fn changes_ce_state(&self, segment: &Segment) -> bool {
        self.style == EchoStyle::Dctcp && self.ece_on != (segment.ecn == Ecn::Ce)
    }

    /// Bits for an ACK of this segment and possibly a delayed one before it.
    #[inline(always)]
    pub fn echo_bits(&mut self, segment: &Segment, delayed_segment: Option<&Segment>) -> EceCwrBits {
        match self.style {
            EchoStyle::Classic => self.classic_bits(segment, delayed_segment),
            EchoStyle::Accurate => EceCwrBits::default(),
            EchoStyle::Dctcp => self.dctcp_bits(segment),
            EchoStyle::Mecn => self.mecn_bits(segment, delayed_segment),
        }
    }

    /// Bits for an ACK of delayed segments in DCTCP's CE state before the change.
    pub fn bits_before_ce_change(&self) -> EceCwrBits {
        EceCwrBits { cwr: false, ece: self.ece_on && self.negotiated != Some(false) }
    }

    #[inline(always)]
    fn classic_bits(&mut self, segment: &Segment, delayed_segment: Option<&Segment>) -> EceCwrBits {
        let either = |has: fn(&Segment) -> bool| has(segment) || delayed_segment.is_some_and(has);
        // In the order of arrival, since CWR answers the marks before it.
        if let Some(delayed_segment) = delayed_segment {
            self.update_classic_state(delayed_segment);
        }
        self.update_classic_state(segment);
        let ece = match self.negotiated {
            Some(agreed) => agreed && self.ece_on,
            None => {
                self.ece_on && (!self.echoes_only_on_ect || either(|s| s.ecn.is_capable()))
                    || self.is_ns2_ecn_offer(segment)
                    || delayed_segment.is_some_and(|s| self.is_ns2_ecn_offer(s))
            }
        };
        EceCwrBits { cwr: false, ece }
    }

    #[inline(never)]
    fn dctcp_bits(&mut self, segment: &Segment) -> EceCwrBits {
        self.ece_on = segment.ecn == Ecn::Ce;
        EceCwrBits { cwr: false, ece: self.ece_on && self.negotiated != Some(false) || self.is_ns2_ecn_offer(segment) }
    }

    #[inline(never)]
    fn mecn_bits(&self, segment: &Segment, delayed_segment: Option<&Segment>) -> EceCwrBits {
        if self.negotiated == Some(false) { EceCwrBits::default() } else { mecn_level_bits(segment, delayed_segment) }
    }

    /// Classic: a mark sets the echo, and CWR without a mark clears it.
    #[inline(always)]
    fn update_classic_state(&mut self, segment: &Segment) {
        //= RFC 3168, section 6.1.3: ECE until CWR comes
        self.ece_on = segment.ecn == Ecn::Ce || self.ece_on && !segment.cwr;
    }

    /// Whether this is ns-2's first packet, which offers ECN by ECE without ECT.
    fn is_ns2_ecn_offer(&self, segment: &Segment) -> bool {
        self.negotiated.is_none() && segment.ece && !segment.ecn.is_capable()
    }
}

fn mecn_level_bits(segment: &Segment, delayed_segment: Option<&Segment>) -> EceCwrBits {
    let level = |s: &Segment| EcnSemantics::Mecn.level_of(s.ecn);
    match level(segment).max(delayed_segment.and_then(level)) {
        Some(level) => EceCwrBits { cwr: true, ece: level == CongestionLevel::Congested },
        None => EceCwrBits { cwr: false, ece: !(segment.cwr || delayed_segment.is_some_and(|s| s.cwr)) },
    }
}
