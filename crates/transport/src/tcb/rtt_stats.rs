//! RTT by echoed timestamps, for congestion control, pacing and the RTT reports that AECN reads.

use ecnlab_units::{Span, Time};

use crate::segment::Ack;
use crate::settings::RttInPackets;

/// RTT by echoed timestamps.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct RttStats {
    min_rtt: Span,
    last_sample: Span,
    srtt: Span,
    /// Present if the base RTT is reported.
    base: Option<Box<BaseRtt>>,
}

/// The base RTT, which AECN's sender computes.
#[derive(Clone, Debug, Default)]
struct BaseRtt {
    rtt: Span,
    /// Start of the current round of `base`, and the segment whose ACK ends the round.
    round: (Time, u64),
    round_sum: Span,
    round_samples: u64,
}

impl RttStats {
    /// Minimum RTT; zero before the first sample.
    pub fn min_rtt(&self) -> Span {
        self.min_rtt
    }

    /// RTT smoothed as in RFC 6298; zero before the first sample.
    pub fn srtt(&self) -> Span {
        self.srtt
    }

    /// RTT to report in packets; zero before the first sample.
    #[inline(always)]
    pub fn rtt_in_packets(&self, report: RttInPackets) -> Span {
        match report {
            RttInPackets::Min => self.min_rtt,
            RttInPackets::Last => self.last_sample,
            RttInPackets::Smoothed => self.srtt,
            RttInPackets::Base => self.base.as_ref().map_or(Span::ZERO, |base| base.rtt),
        }
    }

    pub fn on_ack(&mut self, ack: &Ack, now: Time) {
        if ack.echo_retransmission {
            return;
        }
        let rtt = now.since(ack.echo);
        self.last_sample = rtt;
        self.min_rtt = if self.min_rtt == Span::ZERO { rtt } else { self.min_rtt.min(rtt) };
        let smoothed = if self.srtt == Span::ZERO { rtt.picos() } else { self.srtt.picos() / 8 * 7 + rtt.picos() / 8 };
        self.srtt = Span::from_picos(smoothed);
    }

    /// Updates the base RTT as the code of Appendix A does. A round starts with the ACK that ended the round before, and includes time
    /// spent waiting. The base is the minimum, but a round of a single segment resets it. Single segments are timed only while each slot of
    /// the table of `max_rwnd` send times is used for the first time, since the code that would free a slot is never reached.
    pub fn update_base_rtt_by_round(&mut self, ack: &Ack, next: u64, max_rwnd: u64, now: Time) {
        let base = self.base.get_or_insert_default();
        let (began, ends) = base.round;
        if ack.next > ends {
            let mean = base.round_sum.picos().checked_div(base.round_samples).unwrap_or(now.since(began).picos());
            if base.rtt == Span::ZERO || mean < base.rtt.picos() || next <= ends + 1 {
                base.rtt = Span::from_picos(mean);
            }
            (base.round, base.round_sum, base.round_samples) = ((now, next), Span::ZERO, 0);
        }
        if ack.next <= max_rwnd && !ack.echo_retransmission {
            let rtt = now.since(ack.echo);
            base.round_sum += rtt;
            base.round_samples += 1;
            base.rtt = base.rtt.min(rtt);
        }
    }
}
