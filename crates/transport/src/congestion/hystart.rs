//! HyStart (Ha and Rhee 2011): slow start ends when a train of ACKs has the length of the path, or when the RTT rises. Works with any
//! congestion control.
//!
//! ```text
//! a round begins with the first ACK of a segment that was sent after the last round began
//! active from a cwnd of 16 segments on:
//! train   ACKs that arrive within 2 ms of each other, since the round began, for longer than
//!         (minimum RTT + A) / 2, or minimum RTT + A if the sender paces, which spreads a train over up to half of an RTT
//!         A = 1 ms, or less if four maximum bundles take less at the pacing rate: the delay of segmentation in the network card;
//!         the rate is that of the previous ACK (Linux sk_pacing_rate, since tcp_update_pacing_rate is called last)
//! delay   of more than 8 samples of a round the minimum > minimum RTT + minimum RTT / 8, the latter within 4 ms and 16 ms
//! then    ssthresh = cwnd, and HyStart is inactive until an RTO, which resets it
//! ```
//!
//! Times are in whole microseconds (Linux hystart_update, hystart_ack_delay). Samples that the congestion control ignores do not count
//! here; every other sample does, in recovery too.

use ecnlab_units::{Span, Time};

use super::{AckSample, CongestionWindow, linux};
use crate::clock::HostClock;
use crate::settings::{SK_GSO_MAX_SIZE, TcpSettings};

/// Minimum cwnd for HyStart.
const HYSTART_LOW_WINDOW: f64 = 16.0;
/// Maximum spacing of ACKs in a train, in microseconds as all that follow.
const MAX_ACK_SPACING: u64 = 2_000;
/// Samples of a round before the delay is checked.
const MIN_RTT_SAMPLES: u32 = 8;
/// Rise of the RTT that ends slow start, as a fraction of the minimum RTT, and its bounds.
const DELAY_RISE_DIVISOR: u64 = 8;
const MIN_DELAY_RISE: u64 = 4_000;
const MAX_DELAY_RISE: u64 = 16_000;
/// Maximum assumed delay of four maximum bundles, and four times their size in bytes times the microseconds of a second.
const MAX_NIC_DELAY: u64 = 1_000;
const FOUR_BUNDLES_BYTE_MICROS: u64 = 4 * SK_GSO_MAX_SIZE * 1_000_000;

/// State of HyStart. The fields that each sample reads come first.
#[repr(C, align(64))]
pub struct HyStart {
    /// Minimum RTT since the start or the last RTO.
    min_rtt: u64,
    exit_found: bool,
    paced: bool,
    /// Bytes in a full segment.
    segment_payload: u64,
    /// Smoothed RTT after the previous ACK; none before the first.
    srtt: Option<Span>,
    round: HyStartRound,
    clock: HostClock,
}

/// A round, in which a window is acknowledged.
#[derive(Clone, Copy)]
struct HyStartRound {
    started_at: u64,
    /// The round ends when more than all segments before this one are acknowledged.
    round_end: u64,
    /// Arrival time of the last ACK of the train.
    last_train_ack: u64,
    round_min_rtt: u64,
    rtt_samples: u32,
}

impl HyStartRound {
    fn new(ends: u64, now: u64) -> HyStartRound {
        HyStartRound { started_at: now, round_end: ends, last_train_ack: now, round_min_rtt: u64::MAX, rtt_samples: 0 }
    }
}

impl HyStart {
    pub fn new(settings: &TcpSettings, clock: HostClock) -> HyStart {
        // When congestion control is initialized, snd_nxt is past the SYN.
        let round = HyStartRound::new(u64::from(settings.has_syn()), 0);
        let payload = u64::from(settings.payload());
        HyStart { clock, paced: settings.pacing, segment_payload: payload, srtt: None, min_rtt: u64::MAX, exit_found: false, round }
    }

    /// Adds an RTT sample in microseconds; returns whether HyStart must check it.
    #[inline]
    pub fn on_rtt_sample(&mut self, window: &CongestionWindow, rtt: u64) -> bool {
        self.min_rtt = self.min_rtt.min(rtt);
        !self.exit_found && window.in_slow_start()
    }

    /// Checks an RTT sample, which may end slow start. `window` is that of the previous ACK.
    pub fn check_slow_start_exit(&mut self, window: &mut CongestionWindow, rtt: u64, acked: &AckSample) {
        let srtt = self.srtt.replace(acked.srtt).unwrap_or(acked.srtt);
        let now = self.clock.micros(acked.now);
        if acked.snd_una > self.round.round_end {
            self.round = HyStartRound::new(acked.snd_max, now);
        }
        if window.cwnd < HYSTART_LOW_WINDOW {
            return;
        }
        let longest = self.max_ack_train(window, srtt);
        self.exit_found = self.round.ack_train_exceeds(longest, now) | self.round.delay_increase_exceeds(self.min_rtt, rtt);
        if self.exit_found {
            window.ssthresh = window.cwnd;
        }
    }

    /// Resets HyStart after an RTO, with all segments before `snd_max` sent.
    pub fn on_rto(&mut self, snd_max: u64, now: Time) {
        (self.min_rtt, self.exit_found, self.round) = (u64::MAX, false, HyStartRound::new(snd_max, self.clock.micros(now)));
    }

    /// Maximum length of an ACK train that fits into the path.
    fn max_ack_train(&self, window: &CongestionWindow, srtt: Span) -> u64 {
        let whole = self.min_rtt + self.nic_segmentation_delay(window, srtt);
        if self.paced { whole } else { whole / 2 }
    }

    /// Delay of segmentation in the network card at the pacing rate of cwnd (Linux hystart_ack_delay).
    fn nic_segmentation_delay(&self, window: &CongestionWindow, srtt: Span) -> u64 {
        // Linux keeps srtt in eighths of a microsecond.
        let eight = (srtt * 8).micros();
        let rate = linux::pacing_rate(self.segment_payload, window.cwnd as u64, window, eight).unwrap_or(0);
        FOUR_BUNDLES_BYTE_MICROS.checked_div(rate).map_or(0, |delay| delay.min(MAX_NIC_DELAY))
    }
}

impl HyStartRound {
    /// Whether the train of ACKs continues and is longer than `longest`.
    fn ack_train_exceeds(&mut self, longest: u64, now: u64) -> bool {
        if now - self.last_train_ack > MAX_ACK_SPACING {
            return false;
        }
        self.last_train_ack = now;
        now - self.started_at > longest
    }

    /// Whether the minimum RTT of the round has risen too far above the overall minimum.
    fn delay_increase_exceeds(&mut self, base: u64, rtt: u64) -> bool {
        self.round_min_rtt = self.round_min_rtt.min(rtt);
        if self.rtt_samples < MIN_RTT_SAMPLES {
            self.rtt_samples += 1;
            return false;
        }
        self.round_min_rtt > base + (base / DELAY_RISE_DIVISOR).clamp(MIN_DELAY_RISE, MAX_DELAY_RISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    struct TestFlow {
        hystart: HyStart,
        window: CongestionWindow,
        snd_una: u64,
        now: Time,
    }

    impl TestFlow {
        fn new(cwnd: f64, pacing: bool) -> TestFlow {
            let settings = TcpSettings { pacing, ..profile::tcp_settings_of("linux") };
            let clock = HostClock::new(&settings, Span::ZERO);
            TestFlow {
                hystart: HyStart::new(&settings, clock),
                window: CongestionWindow { cwnd, ssthresh: 1e9 },
                snd_una: 10,
                now: Time::ZERO,
            }
        }

        /// Delivers an ACK in the round that the first one began; returns whether slow start continues.
        fn deliver_ack(&mut self, after_micros: u64, rtt_millis: u64) -> bool {
            self.now += Span::from_micros(after_micros);
            let (now, rtt) = (self.now, Span::from_millis(rtt_millis));
            let acked =
                AckSample { segments: 1, now, rtt: Some(rtt), srtt: rtt, min_rtt: rtt, snd_una: self.snd_una, snd_max: 1000, marked: 0 };
            if self.hystart.on_rtt_sample(&self.window, 1000 * rtt_millis) {
                self.hystart.check_slow_start_exit(&mut self.window, 1000 * rtt_millis, &acked);
            }
            self.window.in_slow_start()
        }

        /// Delivers evenly spaced ACKs until slow start ends; returns the time since the first.
        fn deliver_ack_train(&mut self, apart_micros: u64) -> Option<u64> {
            self.deliver_ack(0, 40);
            let began = self.now;
            let ends = (0..100).find(|_| !self.deliver_ack(apart_micros, 40));
            ends.map(|_| self.now.since(began).micros())
        }
    }

    #[test]
    fn a_train_of_half_the_path_ends_slow_start_and_of_the_whole_where_the_sender_paces() {
        // One millisecond is added for the network card: (40 + 1) / 2 ms, and 41 ms.
        assert_eq!(Some(21_000), TestFlow::new(16.0, false).deliver_ack_train(1000));
        assert_eq!(Some(42_000), TestFlow::new(16.0, true).deliver_ack_train(1000));
    }

    #[test]
    fn a_fast_path_adds_less_than_a_millisecond_for_the_card() {
        // 4 * 65215 bytes at the rate of two windows of `cwnd` segments of 1448 bytes per `millis`, in whole microseconds.
        for (cwnd, millis, expected) in [(100_000.0, 40, 36), (500.0, 1, 180), (100.0, 1, 900), (90.0, 1, 1000)] {
            let flow = TestFlow::new(cwnd, false);
            assert_eq!(expected, flow.hystart.nic_segmentation_delay(&flow.window, Span::from_millis(millis)), "{cwnd} segments");
        }
    }

    #[test]
    fn the_allowance_for_the_card_is_of_the_rate_that_the_acknowledgement_before_left() {
        // A path of 1 ms: (1000 + 180) / 2 us by the smoothed RTT of the first ACK, and 1000 us by that of the second.
        let mut flow = TestFlow::new(500.0, false);
        assert!(flow.deliver_ack(0, 1));
        assert!(!flow.deliver_ack(600, 8));
    }

    #[test]
    fn the_first_round_goes_on_while_the_syn_alone_is_acknowledged() {
        // A SACK without progress gives a sample before the first data is acknowledged (cubic-jitter-overtake, Linux bictcp_hystart_reset).
        let mut flow = TestFlow::new(16.0, false);
        flow.snd_una = 1;
        flow.deliver_ack(5_000, 40);
        flow.snd_una = 3;
        assert!(flow.deliver_ack(20_000, 40), "the round begins here");
        assert_eq!(Some(21_000), flow.deliver_ack_train(1000));
    }

    #[test]
    fn acknowledgements_more_than_two_milliseconds_apart_are_no_train() {
        assert_eq!([Some(22_000), None], [2000, 2001].map(|apart| TestFlow::new(16.0, false).deliver_ack_train(apart)));
    }

    #[test]
    fn a_rise_after_eight_samples_of_the_round_ends_slow_start() {
        let ends_at = |rise: u64| {
            let mut flow = TestFlow::new(16.0, false);
            flow.hystart.min_rtt = 80_000;
            (1..20).find(|_| !flow.deliver_ack(3000, 80 + rise))
        };
        assert_eq!([None, Some(9)], [10, 11].map(ends_at), "an eighth of 80 ms are 10 ms");
    }

    #[test]
    fn small_windows_are_not_looked_at() {
        assert_eq!(None, TestFlow::new(15.0, false).deliver_ack_train(1000));
    }

    #[test]
    fn a_new_round_begins_with_what_was_sent_after_the_last_one() {
        let mut flow = TestFlow::new(16.0, false);
        flow.deliver_ack(0, 40);
        flow.snd_una = 1001;
        flow.deliver_ack(30_000, 40);
        assert!(flow.deliver_ack(1000, 40), "the train began with the round");
    }

    #[test]
    fn what_was_found_is_found_once_until_a_timeout() {
        let mut flow = TestFlow::new(16.0, false);
        flow.deliver_ack_train(1000);
        flow.window.ssthresh = 1e9;
        assert_eq!(None, flow.deliver_ack_train(1000));
        flow.hystart.on_rto(0, flow.now);
        assert_eq!(Some(21_000), flow.deliver_ack_train(1000));
    }
}
