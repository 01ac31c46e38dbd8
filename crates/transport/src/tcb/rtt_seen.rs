//! Round-trip times as the segments' own echoes show them: for congestion control, pacing and the reports that AECN reads.

use ecnlab_units::{Span, Time};

use crate::segment::Ack;
use crate::settings::RttReport;

/// Round-trip times as the segments' own echoes show them.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct RttSeen {
    min: Span,
    last: Span,
    smoothed: Span,
    base: Span,
    /// Since when the round of `base` runs, and the segment whose acknowledgement ends it.
    round: (Time, u64),
    round_sum: Span,
    round_samples: u64,
}

impl RttSeen {
    /// Smallest; zero before the first.
    pub fn min(&self) -> Span {
        self.min
    }

    /// Smoothed as the RFC smooths it; zero before the first.
    pub fn smoothed(&self) -> Span {
        self.smoothed
    }

    /// What packets are to carry; zero before the first.
    pub fn report(&self, report: RttReport) -> Span {
        match report {
            RttReport::Min => self.min,
            RttReport::Last => self.last,
            RttReport::Smoothed => self.smoothed,
            RttReport::Base => self.base,
        }
    }

    pub fn sample(&mut self, ack: &Ack, now: Time) {
        if ack.echo_retransmission {
            return;
        }
        let rtt = now.since(ack.echo);
        self.last = rtt;
        self.min = if self.min == Span::ZERO { rtt } else { self.min.min(rtt) };
        let smoothed = if self.smoothed == Span::ZERO { rtt.picos() } else { self.smoothed.picos() / 8 * 7 + rtt.picos() / 8 };
        self.smoothed = Span::from_picos(smoothed);
    }

    /// Appendix A's base round-trip time, as its lines run. A round is timed from the acknowledgement that ended the one before, waiting
    /// included; the base is the smallest, but a round of a single segment sets it anew. Segments are timed singly only as long as
    /// each slot of the table of `max_window` send times is used for the first time, since the lines that would free a slot are never reached.
    pub fn end_round(&mut self, ack: &Ack, next: u64, max_window: u64, now: Time) {
        let (began, ends) = self.round;
        if ack.next > ends {
            let mean = self.round_sum.picos().checked_div(self.round_samples).unwrap_or(now.since(began).picos());
            if self.base == Span::ZERO || mean < self.base.picos() || next <= ends + 1 {
                self.base = Span::from_picos(mean);
            }
            (self.round, self.round_sum, self.round_samples) = ((now, next), Span::ZERO, 0);
        }
        if ack.next <= max_window && !ack.echo_retransmission {
            let rtt = now.since(ack.echo);
            self.round_sum += rtt;
            self.round_samples += 1;
            self.base = self.base.min(rtt);
        }
    }
}
