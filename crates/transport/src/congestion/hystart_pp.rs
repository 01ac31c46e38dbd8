//! HyStart++ (RFC 9406): the first slow start ends when the RTT rises, before a loss ends it. Works with any congestion control.
//!
//! ```text
//! a round ends when the segment that was snd_nxt at its start is acknowledged                              section 4.2
//! slow start:     cwnd += min(N, L) for N new segments
//!                 after 8 samples of a round: to conservative slow start if its minimum
//!                 RTT >= last + max(4 ms, min(last / 8, 16 ms)), with last from the previous round
//! conservative:   cwnd += min(N, L) / 4
//!                 after 8 samples of a round: back to slow start if its minimum RTT < the baseline
//!                 ends after 5 rounds, including the one in which it began: ssthresh = cwnd
//! L               8 segments, no limit if the sender paces                                                 section 4.3
//! ```
//!
//! It ends with the first slow start, or when cwnd is reduced: later slow starts have an ssthresh.

use ecnlab_units::Span;

use super::{AckSample, CongestionWindow};

const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
const UNPACED_GROWTH_LIMIT: u64 = 8;

#[derive(Debug)]
pub struct HyStartPlusPlus {
    /// L, in segments.
    growth_limit: u64,
    /// An ACK of this segment ends the round.
    window_end: u64,
    /// Minimum RTTs of the previous round and of this one, and the number of samples of this one.
    last_round_min_rtt: Option<Span>,
    current_round_min_rtt: Option<Span>,
    rtt_sample_count: u32,
    conservative: Option<ConservativeSlowStart>,
}

#[derive(Debug)]
struct ConservativeSlowStart {
    /// RTT that started conservative slow start.
    baseline_min_rtt: Span,
    /// Rounds completed in conservative slow start.
    rounds_done: u32,
}

impl HyStartPlusPlus {
    pub fn new(paced: bool) -> HyStartPlusPlus {
        let limit = if paced { u64::MAX } else { UNPACED_GROWTH_LIMIT };
        HyStartPlusPlus {
            growth_limit: limit,
            window_end: 0,
            last_round_min_rtt: None,
            current_round_min_rtt: None,
            rtt_sample_count: 0,
            conservative: None,
        }
    }

    /// Grows cwnd for an ACK in the first slow start; returns whether slow start continues.
    pub fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample) -> bool {
        self.grow_cwnd(window, acked.segments);
        if acked.snd_una > self.window_end {
            self.start_round(acked.snd_max);
        }
        if let Some(rtt) = acked.rtt {
            self.on_rtt_sample(rtt);
        }
        if self.conservative.as_ref().is_some_and(|css| css.rounds_done == CSS_ROUNDS) {
            window.ssthresh = window.cwnd;
        }
        window.in_slow_start()
    }

    fn grow_cwnd(&self, window: &mut CongestionWindow, segments: u64) {
        let counted = segments.min(self.growth_limit);
        if self.conservative.is_some() {
            window.cwnd += counted as f64 / CSS_GROWTH_DIVISOR;
        } else {
            window.grow_in_slow_start(counted);
        }
    }

    fn start_round(&mut self, snd_max: u64) {
        self.window_end = snd_max;
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        if let Some(css) = &mut self.conservative {
            css.rounds_done += 1;
        }
    }

    fn on_rtt_sample(&mut self, rtt: Span) {
        let smallest = self.current_round_min_rtt.map_or(rtt, |smallest| smallest.min(rtt));
        self.current_round_min_rtt = Some(smallest);
        self.rtt_sample_count += 1;
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        match (&self.conservative, self.last_round_min_rtt) {
            (Some(css), _) if smallest < css.baseline_min_rtt => self.conservative = None,
            (None, Some(last)) if smallest >= last + rtt_threshold(last) => {
                self.conservative = Some(ConservativeSlowStart { baseline_min_rtt: smallest, rounds_done: 0 });
            }
            _ => {}
        }
    }
}

fn rtt_threshold(last: Span) -> Span {
    (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ecnlab_units::Time;

    /// A sender whose window is always in flight; sequence numbers as in the RFC.
    struct TestFlow {
        hystart: HyStartPlusPlus,
        window: CongestionWindow,
        snd_una: u64,
        snd_max: u64,
    }

    impl TestFlow {
        fn new(paced: bool) -> TestFlow {
            let window = CongestionWindow { cwnd: 10.0, ssthresh: 1e9 };
            TestFlow { hystart: HyStartPlusPlus::new(paced), window, snd_una: 0, snd_max: 10 }
        }

        fn deliver_ack(&mut self, segments: u64, rtt_millis: u64) -> bool {
            self.snd_una += segments;
            let rtt = Span::from_millis(rtt_millis);
            let acked = AckSample {
                segments,
                now: Time::ZERO,
                rtt: Some(rtt),
                srtt: rtt,
                min_rtt: rtt,
                snd_una: self.snd_una,
                snd_max: self.snd_max,
                marked: 0,
            };
            let goes_on = self.hystart.on_ack(&mut self.window, &acked);
            self.snd_max = self.snd_una + self.window.cwnd as u64;
            goes_on
        }

        /// Delivers ACKs up to the end of the round; returns whether slow start continued.
        fn round(&mut self, rtt_millis: u64) -> bool {
            let end = self.snd_max;
            let mut goes_on = true;
            while goes_on && self.snd_una < end {
                goes_on = self.deliver_ack(1, rtt_millis);
            }
            goes_on
        }

        fn is_conservative(&self) -> bool {
            self.hystart.conservative.is_some()
        }
    }

    #[test]
    fn the_threshold_is_an_eighth_of_the_round_trip_between_4_and_16_ms() {
        let of = |millis| rtt_threshold(Span::from_millis(millis));
        assert_eq!([Span::from_millis(4), Span::from_millis(10), Span::from_millis(16)], [of(10), of(80), of(400)]);
    }

    #[test]
    fn a_steady_round_trip_time_leaves_slow_start_as_it_is() {
        let mut flow = TestFlow::new(false);
        for doubled in [20.0, 40.0, 80.0, 160.0] {
            assert!(flow.round(80));
            assert_eq!(doubled, flow.window.cwnd);
        }
        assert!(!flow.is_conservative());
    }

    #[test]
    fn a_rise_by_the_threshold_slows_growth_after_eight_samples_of_the_round() {
        let mut flow = TestFlow::new(false);
        flow.round(80);
        flow.round(89);
        assert!(!flow.is_conservative(), "9 ms are below an eighth of 80 ms");
        let mut flow = TestFlow::new(false);
        flow.round(80);
        for _ in 0..7 {
            flow.deliver_ack(1, 90);
        }
        assert!(!flow.is_conservative());
        flow.deliver_ack(1, 90);
        assert!(flow.is_conservative());
        let before = flow.window.cwnd;
        flow.deliver_ack(1, 90);
        assert_eq!(before + 0.25, flow.window.cwnd);
    }

    #[test]
    fn five_conservative_rounds_end_slow_start_where_the_window_is() {
        let mut flow = TestFlow::new(false);
        flow.round(80);
        for _ in 0..5 {
            assert!(flow.round(100));
        }
        assert!(!flow.deliver_ack(1, 100), "the next acknowledgement shows the fifth round's end");
        assert_eq!(flow.window.cwnd, flow.window.ssthresh);
    }

    #[test]
    fn a_round_trip_time_below_the_baseline_resumes_slow_start() {
        let mut flow = TestFlow::new(false);
        flow.round(80);
        flow.round(100);
        assert!(flow.is_conservative());
        flow.round(99);
        assert!(!flow.is_conservative());
        let before = flow.window.cwnd;
        flow.deliver_ack(1, 99);
        assert_eq!(before + 1.0, flow.window.cwnd);
    }

    #[test]
    fn rounds_of_few_segments_end_nothing() {
        let mut flow = TestFlow::new(false);
        (flow.window.cwnd, flow.snd_max) = (2.0, 2);
        flow.round(80);
        flow.round(800);
        assert!(!flow.is_conservative());
    }

    #[test]
    fn an_acknowledgement_counts_for_eight_segments_unless_the_sender_paces() {
        for (paced, grown) in [(false, 18.0), (true, 20.0)] {
            let mut flow = TestFlow::new(paced);
            flow.deliver_ack(10, 80);
            assert_eq!(grown, flow.window.cwnd);
        }
    }

    #[test]
    fn slow_start_that_reaches_its_threshold_is_over() {
        let mut flow = TestFlow::new(false);
        flow.window.ssthresh = 12.0;
        assert!(flow.deliver_ack(1, 80));
        assert!(!flow.deliver_ack(1, 80));
    }
}
