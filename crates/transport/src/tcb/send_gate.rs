//! Delays of segments that the window allows: pacing, and the host's random processing time.

use ecnlab_units::{Span, Time};

use super::pacing::Pacer;
use crate::congestion::CongestionWindow;
use crate::processing::ProcessingTime;
use crate::settings::PacingRule;

/// Determines when a segment may leave. A sender without pacing and processing time has no gate.
#[derive(Debug, Default)]
pub struct SendGate {
    pacer: Option<Pacer>,
    processing: Option<ProcessingTime>,
}

impl SendGate {
    /// Gate with pacing.
    pub fn with_pacing(rule: PacingRule) -> SendGate {
        SendGate { pacer: Some(Pacer::new(rule)), processing: None }
    }

    /// Sets the pacing rate in bytes per second.
    pub fn set_pacing_rate(&mut self, rate: u64) {
        if let Some(pacer) = &mut self.pacer {
            pacer.set_rate(rate);
        }
    }

    /// Ends pacing; returns whether the gate has another purpose.
    pub fn disable_pacing(&mut self) -> bool {
        self.pacer = None;
        self.processing.is_some()
    }

    pub fn set_processing_time(&mut self, processing: ProcessingTime) {
        self.processing = Some(processing);
    }

    /// Time at which a delayed segment may leave.
    pub fn deadline(&self) -> Option<Time> {
        let pacer = self.pacer.as_ref().and_then(Pacer::deadline);
        let processing = self.processing.as_ref().and_then(ProcessingTime::deadline);
        pacer.into_iter().chain(processing).min()
    }

    /// Whether a segment may leave now; if not, the gate's timer is set. Processing of a paced segment starts at its pacing time.
    #[inline(never)]
    pub fn may_send_or_set_timer(&mut self, now: Time) -> bool {
        self.pacing_allows_or_sets_timer(now) && self.processing_allows_or_sets_timer(now)
    }

    /// Whether pacing lets a segment leave now; if not, the gate's timer is set.
    pub fn pacing_allows_or_sets_timer(&mut self, now: Time) -> bool {
        self.pacer.as_mut().is_none_or(|pacer| pacer.may_send(now))
    }

    /// Whether the processing time of a segment that pacing lets leave is over; if not, the gate's timer is set.
    pub fn processing_allows_or_sets_timer(&mut self, now: Time) -> bool {
        self.processing.as_mut().is_none_or(|processing| processing.may_send_or_start_wait(now))
    }

    /// Handles the gate's timer.
    pub fn on_timer(&mut self, now: Time) {
        if let Some(pacer) = &mut self.pacer {
            pacer.on_wake();
        }
        if let Some(processing) = &mut self.processing {
            processing.on_timer(now);
        }
    }

    /// Ends a transmission from the gate's timer.
    pub fn clear_elapsed_wait(&mut self) {
        if let Some(processing) = &mut self.processing {
            processing.clear_finished_wait();
        }
    }

    /// Updates the gate after a transmission. The pacing interval starts when the segment could have left, so that the processing time does
    /// not lower the rate.
    #[inline(never)]
    pub fn on_sent(&mut self, payload: u32, window: &CongestionWindow, srtt: Span, now: Time) {
        if let Some(pacer) = &mut self.pacer {
            let since = self.processing.as_ref().map_or(now, |processing| processing.wait_start_or_now(now));
            pacer.on_sent(payload, window, srtt, since);
        }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Rng;

    use super::*;

    #[test]
    fn a_processing_time_delays_paced_segments_and_keeps_their_rate() {
        let mut gate = SendGate::with_pacing(PacingRule::Interval);
        gate.set_processing_time(ProcessingTime::new(Span::from_millis(4), Rng::for_role(1, "processing time")));
        let window = CongestionWindow { cwnd: 10.0, ssthresh: 2.0 };
        let mut now = Time::ZERO + Span::from_secs(1);
        let mut left = Vec::new();
        while left.len() < 1000 {
            gate.on_timer(now);
            while gate.may_send_or_set_timer(now) {
                left.push(now);
                // 120 ms / (1.2 * 10) between segments.
                gate.on_sent(1448, &window, Span::from_millis(120), now);
            }
            gate.clear_elapsed_wait();
            now = gate.deadline().unwrap();
        }
        let took = left[999].since(left[0]).picos() as f64 / Span::from_millis(1).picos() as f64;
        assert!((took - 9990.0).abs() < 4.0, "{took} ms");
        assert!(left.is_sorted());
        let gaps = left.windows(2).map(|pair| pair[1].since(pair[0]));
        assert!(gaps.clone().min() < Some(Span::from_millis(8)) && gaps.max() > Some(Span::from_millis(12)));
    }
}
