//! RTT by echoed timestamps, for congestion control, pacing and the RTT reports that AECN reads.

use ecnlab_units::{Span, Time};

use crate::segment::Ack;
use crate::settings::RttReport;

/// RTT by echoed timestamps.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct RttStats {
    min_rtt: Span,
    last_sample: Span,
    srtt: Span,
    base_rtt: Span,
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
    pub fn reported_rtt(&self, report: RttReport) -> Span {
        match report {
            RttReport::Min => self.min_rtt,
            RttReport::Last => self.last_sample,
            RttReport::Smoothed => self.srtt,
            RttReport::Base => self.base_rtt,
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
    pub fn update_base(&mut self, ack: &Ack, next: u64, max_rwnd: u64, now: Time) {
        let (began, ends) = self.round;
        if ack.next > ends {
            let mean = self.round_sum.picos().checked_div(self.round_samples).unwrap_or(now.since(began).picos());
            if self.base_rtt == Span::ZERO || mean < self.base_rtt.picos() || next <= ends + 1 {
                self.base_rtt = Span::from_picos(mean);
            }
            (self.round, self.round_sum, self.round_samples) = ((now, next), Span::ZERO, 0);
        }
        if ack.next <= max_rwnd && !ack.echo_retransmission {
            let rtt = now.since(ack.echo);
            self.round_sum += rtt;
            self.round_samples += 1;
            self.base_rtt = self.base_rtt.min(rtt);
        }
    }
}
