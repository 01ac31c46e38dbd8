//! Echo of marks by the Linux receiver: a state, which each ACK reports as of its transmission.
//!
//! ```text
//! classic   a mark sets it, CWR clears it; a mark on the segment with CWR sets it again (RFC 3168, section 6.1.3)
//! dctcp     the mark of the last segment; a change is acknowledged at once, after the delayed segments (RFC 8257, section 3.2)
//! mecn      the highest level since the last ACK (Durresi et al. 2001, section 2)
//! ```
//!
//! After the first mark, and after a segment that is not ECN-capable following one that was, the sender may have little to send. The next
//! segments get quick ACKs then.

use ecnlab_units::{CongestionLevel, Ecn, EcnSemantics};

use crate::receiver::ecn_echo::EceCwrBits;
use crate::segment::Segment;
use crate::settings::{EchoStyle, EcnResponseName, TcpSettings};

#[derive(Debug)]
pub struct LinuxEcnEcho {
    style: EchoStyle,
    /// Accurate ECN was negotiated: marks are counted elsewhere, and only a segment that is not ECN-capable asks for quick ACKs here.
    accurate: bool,
    /// DCTCP's sender, whose receiver acknowledges a change of CE with Accurate ECN too.
    dctcp: bool,
    /// Whether ECN was negotiated in a three-way handshake; without one, a mark shows that ECN is in use.
    negotiated: Option<bool>,
    /// ACKs carry ECE.
    demand_cwr: bool,
    /// The last ECN-capable segment was marked.
    last_was_ce: bool,
    /// An ECN-capable segment has arrived.
    ect_seen: bool,
    /// The ECN offer of the first packet is not answered yet.
    offer_pending: bool,
    mecn_level: Option<CongestionLevel>,
    cwr_received: bool,
}

impl LinuxEcnEcho {
    pub fn new(settings: &TcpSettings) -> LinuxEcnEcho {
        LinuxEcnEcho {
            style: settings.ecn_echo,
            accurate: false,
            dctcp: settings.ecn_echo == EchoStyle::Dctcp || settings.ecn_response == EcnResponseName::Dctcp,
            negotiated: None,
            demand_cwr: false,
            last_was_ce: false,
            ect_seen: false,
            offer_pending: false,
            mecn_level: None,
            cwr_received: false,
        }
    }

    /// Sets whether the handshake negotiated ECN.
    pub fn set_negotiated(&mut self, agreed: bool) {
        self.negotiated = Some(agreed);
    }

    /// Sets whether the handshake negotiated Accurate ECN. A host that asked for it and did not get it is one of classic ECN, or of DCTCP.
    pub fn set_accurate_negotiated(&mut self, accurate: bool) {
        self.accurate = accurate;
        if self.style == EchoStyle::Accurate && !accurate {
            self.style = if self.dctcp { EchoStyle::Dctcp } else { EchoStyle::Classic };
        }
    }

    pub fn is_negotiated(&self) -> bool {
        self.negotiated == Some(true)
    }

    /// Processes CWR. DCTCP's state follows CE alone (RFC 8257, section 3.2; Linux dctcp_ece_ack_cwr).
    pub fn on_cwr(&mut self) {
        self.cwr_received = true;
        if self.style == EchoStyle::Classic {
            //= RFC 3168, section 6.1.3: ECE until CWR comes
            self.demand_cwr = false;
        }
    }

    /// Whether this segment changes DCTCP's CE state.
    pub fn changes_ce_state(&self, segment: &Segment) -> bool {
        self.dctcp && self.negotiated != Some(false) && segment.ecn.is_capable() && self.last_was_ce != (segment.ecn == Ecn::Ce)
    }

    /// Processes the ECN field of a segment with new data. Returns whether the next segments need quick ACKs.
    pub fn on_ecn_field(&mut self, segment: &Segment) -> bool {
        if self.negotiated == Some(false) {
            return false;
        }
        self.offer_pending |= self.negotiated.is_none() && segment.ece && !segment.ecn.is_capable();
        if self.style == EchoStyle::Mecn {
            self.mecn_level = EcnSemantics::Mecn.level_of(segment.ecn).max(self.mecn_level);
            return false;
        }
        if !segment.ecn.is_capable() {
            return self.ect_seen;
        }
        self.ect_seen = true;
        self.last_was_ce = segment.ecn == Ecn::Ce;
        let first = self.last_was_ce && !self.demand_cwr && self.style == EchoStyle::Classic && !self.accurate;
        self.demand_cwr = self.last_was_ce || self.demand_cwr && self.style == EchoStyle::Classic;
        first
    }

    /// CWR and ECE of an ACK that is sent now.
    pub fn take_echo_bits(&mut self) -> EceCwrBits {
        if self.negotiated == Some(false) || self.accurate {
            return EceCwrBits::default();
        }
        let (asked, level, reduced) =
            (std::mem::take(&mut self.offer_pending), self.mecn_level.take(), std::mem::take(&mut self.cwr_received));
        match (self.style, level) {
            (EchoStyle::Mecn, Some(level)) => EceCwrBits { cwr: true, ece: level == CongestionLevel::Congested },
            (EchoStyle::Mecn, None) => EceCwrBits { cwr: false, ece: !reduced },
            _ => EceCwrBits { cwr: false, ece: self.demand_cwr || asked },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn echo_with_style(ecn_echo: EchoStyle) -> LinuxEcnEcho {
        let mut marks = LinuxEcnEcho::new(&TcpSettings { ecn_echo, ..profile::tcp_settings_of("linux") });
        marks.set_negotiated(true);
        marks
    }

    fn segment(ecn: Ecn) -> Segment {
        Segment { ecn, ..Segment::plain(1, 1500) }
    }

    #[test]
    fn the_first_mark_and_a_segment_that_is_not_capable_ask_for_quick_acknowledgements() {
        let mut marks = echo_with_style(EchoStyle::Classic);
        let asks = [Ecn::NotEct, Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::NotEct].map(|ecn| marks.on_ecn_field(&segment(ecn)));
        assert_eq!([false, false, true, false, true], asks);
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_has_reduced_its_window() {
        let mut marks = echo_with_style(EchoStyle::Classic);
        marks.on_ecn_field(&segment(Ecn::Ce));
        marks.on_ecn_field(&segment(Ecn::Ect0));
        assert!(marks.take_echo_bits().ece);
        marks.on_cwr();
        marks.on_ecn_field(&segment(Ecn::Ect0));
        assert!(!marks.take_echo_bits().ece);
    }

    #[test]
    fn dctcp_shows_the_last_segment_s_mark() {
        let mut marks = echo_with_style(EchoStyle::Dctcp);
        let shown = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0].map(|ecn| {
            let changes = marks.changes_ce_state(&segment(ecn));
            marks.on_ecn_field(&segment(ecn));
            (changes, marks.take_echo_bits().ece)
        });
        assert_eq!([(false, false), (true, true), (false, true), (true, false)], shown);
    }
}
