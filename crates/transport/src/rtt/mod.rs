//! RTT estimators and the retransmission timeout (RTO), in five arithmetics.
//!
//! ```text
//! ticks     BSD's, in whole clock ticks (Jacobson 1988, appendix A), as in ns-2
//!           first sample t:  srtt = 8 t, rttvar = 2 t             srtt in 1/8, rttvar in 1/4 ticks
//!           then:            d = t - srtt/8;  srtt += d;  rttvar += |d| - rttvar/4
//!           RTO = (srtt + 8 rttvar) / 8 ticks, rounded down to whole ticks  (= srtt + 4 var)
//! rfc6298   section 2:  RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|,  SRTT = 7/8 SRTT + 1/8 R,  RTO = SRTT + max(G, 4 RTTVAR)
//! linux-2.0 sums of ticks, plus one packet's delay for a small window:  R = srtt/8 + rttvar,  RTO = 5/4 R + R / 2^(window - 1)
//! linux-2.2 the same, but the first rttvar is 4 t              (tcp_rtt_estimator of 2.0.32, with tcp_set_rto of 2.2.13)
//! linux     RTO = SRTT + var, where var is the largest 4 mdev of an RTT, at least the minimum, and falls by a quarter
//!           of the difference per RTT; in whole microseconds and ticks
//! ```

mod linux;
mod min_rtt;

use std::mem::offset_of;

use ecnlab_units::{Span, Time};

use self::linux::LinuxEstimator;
pub use self::min_rtt::MinRtt;
use crate::clock::HostClock;
use crate::memory;
use crate::settings::{RtoEstimatorName, RtoMinAndBackoffOrder, TcpSettings};

/// Linux `TCP_RTO_MIN`.
const LINUX_RTO_MIN: Span = Span::from_millis(200);

#[derive(Clone, Debug)]
#[repr(C)]
pub struct RttEstimator {
    rto: Span,
    backoff: u64,
    clock: HostClock,
    algorithm: RtoAlgorithm,
}

#[derive(Clone, Debug)]
enum RtoAlgorithm {
    Ticks(TickEstimator),
    Rfc6298 { srtt: u64, rttvar: u64 },
    Linux(Box<LinuxEstimatorAndMinRtt>),
}

/// State that each RTT sample of a Linux host updates; each ACK reads the first cache line.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct LinuxEstimatorAndMinRtt {
    linux: LinuxEstimator,
    min_rtt: MinRtt,
}

#[derive(Clone, Debug)]
struct TickEstimator {
    /// Smoothed RTT in 1/8 ticks; 0 before the first sample and after heavy backoff.
    srtt: i64,
    /// Mean deviation in 1/4 ticks.
    rttvar: i64,
}

/// State of the connection when a sample is taken.
#[derive(Clone, Copy, Debug)]
pub struct RttSampleContext {
    /// All segments before this one are acknowledged.
    pub snd_una: u64,
    /// All segments before this one were sent.
    pub snd_max: u64,
    /// Cwnd, and whether the ACK will grow it by a segment.
    pub cwnd: f64,
    pub cwnd_will_grow: bool,
}

impl RttSampleContext {
    /// Cwnd in whole segments after the ACK.
    fn cwnd_segments(&self) -> u64 {
        self.cwnd as u64 + u64::from(self.cwnd_will_grow)
    }
}

impl RttEstimator {
    /// End of the fields that each ACK reads on a host without a timer wheel.
    pub const PACKET_FIELDS_END: usize = offset_of!(RttEstimator, clock) + size_of::<u64>();

    pub fn new(settings: &TcpSettings, clock: HostClock, memory: Option<Box<LinuxEstimatorAndMinRtt>>) -> RttEstimator {
        let arithmetic = match settings.quirks.rto_estimator {
            RtoEstimatorName::Ticks | RtoEstimatorName::Linux20 | RtoEstimatorName::Linux22 => {
                RtoAlgorithm::Ticks(TickEstimator { srtt: 0, rttvar: 0 })
            }
            RtoEstimatorName::Rfc6298 => RtoAlgorithm::Rfc6298 { srtt: 0, rttvar: 0 },
            RtoEstimatorName::Linux => RtoAlgorithm::Linux(memory::reuse_box(memory, LinuxEstimatorAndMinRtt::default())),
        };
        RttEstimator { algorithm: arithmetic, rto: settings.rto_initial, backoff: 1, clock }
    }

    /// Takes the memory out, at the end of a connection.
    pub fn take_linux_state(&mut self) -> Option<Box<LinuxEstimatorAndMinRtt>> {
        let algorithm = std::mem::replace(&mut self.algorithm, RtoAlgorithm::Rfc6298 { srtt: 0, rttvar: 0 });
        if let RtoAlgorithm::Linux(state) = algorithm { Some(state) } else { None }
    }

    /// Clock of the host.
    #[inline]
    pub fn clock(&self) -> &HostClock {
        &self.clock
    }

    pub fn clock_mut(&mut self) -> &mut HostClock {
        &mut self.clock
    }

    /// Minimum RTT, if the estimator keeps it.
    #[inline]
    pub fn min_rtt_filter(&self) -> Option<&MinRtt> {
        if let RtoAlgorithm::Linux(samples) = &self.algorithm { Some(&samples.min_rtt) } else { None }
    }

    /// Minimum RTT to update, with the host clock.
    #[inline]
    pub fn min_rtt_mut(&mut self) -> Option<(&mut MinRtt, &HostClock)> {
        if let RtoAlgorithm::Linux(samples) = &mut self.algorithm { Some((&mut samples.min_rtt, &self.clock)) } else { None }
    }

    /// Adds the RTT sample of a segment sent at `sent` and acknowledged now, with the connection state `point`.
    pub fn on_rtt_sample(&mut self, sent: Time, now: Time, point: RttSampleContext, settings: &TcpSettings) {
        let rtt = now.since(sent).picos();
        let RttSampleContext { snd_una, snd_max, .. } = point;
        let clock = &self.clock;
        self.rto = match &mut self.algorithm {
            RtoAlgorithm::Ticks(ticks) => {
                let first_rttvar_factor = if settings.quirks.rto_estimator == RtoEstimatorName::Linux22 { 4 } else { 2 };
                let rto = ticks.on_rtt_sample(clock.ticks(now) - clock.ticks(sent), first_rttvar_factor);
                if settings.quirks.rto_estimator == RtoEstimatorName::Ticks {
                    settings.quirks.tick * rto
                } else {
                    settings.quirks.tick * rto_with_small_window_allowance(rto, point.cwnd_segments())
                }
            }
            RtoAlgorithm::Rfc6298 { srtt, rttvar } => {
                if *srtt == 0 {
                    (*srtt, *rttvar) = (rtt, rtt / 2);
                } else {
                    *rttvar = *rttvar - *rttvar / 4 + srtt.abs_diff(rtt) / 4;
                    *srtt = *srtt - *srtt / 8 + rtt / 8;
                }
                Span::from_picos(*srtt + settings.quirks.tick.picos().max(4 * *rttvar))
            }
            RtoAlgorithm::Linux(samples) => {
                let rto = samples
                    .linux
                    .on_rtt_sample(clock.micros(now) - clock.micros(sent), snd_una, snd_max, || settings.rto_min_rounded_to_ticks());
                settings.quirks.tick * clock.ticks_in_span(rto)
            }
        };
    }

    /// Adds an RTT sample in microseconds of the host clock.
    pub fn on_rtt_sample_micros(&mut self, rtt: u64, now: Time, point: RttSampleContext, settings: &TcpSettings) {
        let RtoAlgorithm::Linux(samples) = &mut self.algorithm else {
            return self.on_rtt_sample(now.saturating_sub(Span::from_micros(rtt)), now, point, settings);
        };
        let rto = samples.linux.on_rtt_sample(rtt, point.snd_una, point.snd_max, || settings.rto_min_rounded_to_ticks());
        self.rto = settings.quirks.tick * self.clock.ticks_in_span(rto);
    }

    /// Smoothed RTT times `trips` in whole microseconds, after the first sample.
    #[inline]
    pub fn srtt_multiple_micros(&self, trips: u64, settings: &TcpSettings) -> Option<u64> {
        if let RtoAlgorithm::Linux(samples) = &self.algorithm {
            let eighths = samples.linux.srtt_eighths();
            return (eighths > 0).then_some(eighths * trips / 8);
        }
        self.srtt(settings).map(|srtt| (srtt * trips).micros())
    }

    /// Smoothed RTT, after the first sample.
    pub fn srtt(&self, settings: &TcpSettings) -> Option<Span> {
        let picos = match &self.algorithm {
            RtoAlgorithm::Ticks(ticks) => (ticks.srtt >> 3) as u64 * settings.quirks.tick.picos(),
            RtoAlgorithm::Rfc6298 { srtt, .. } => *srtt,
            RtoAlgorithm::Linux(samples) => Span::from_micros(samples.linux.srtt_eighths()).picos() / 8,
        };
        (picos > 0).then(|| Span::from_picos(picos))
    }

    /// Ends the backoff, because a timed segment was acknowledged (Karn and Partridge 1987).
    pub fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    /// Doubles the RTO (RFC 6298, section 5.5). In ticks, beyond a factor of eight, the smoothed RTT moves into the deviation.
    pub fn back_off(&mut self, settings: &TcpSettings) {
        let may_double = self.backoff < 64
            || settings.quirks.rto_order == RtoMinAndBackoffOrder::MinimumFirst && self.rto(settings) < settings.quirks.rto_max;
        //= RFC 6298, section 5.5: each timeout doubles the next
        if may_double {
            self.backoff *= 2;
        }
        if let (RtoAlgorithm::Ticks(ticks), RtoEstimatorName::Ticks, true) =
            (&mut self.algorithm, settings.quirks.rto_estimator, self.backoff > 8)
        {
            ticks.rttvar += ticks.srtt >> 3;
            ticks.srtt = 0;
        }
    }

    /// Raises the RTO for data to at least `rto`, because the SYN was retransmitted before any sample (RFC 6298, section 5.7).
    pub fn raise_rto_after_lost_syn(&mut self, rto: Span) {
        self.rto = self.rto.max(rto);
        self.backoff = 1;
    }

    /// Minimum time before a zero-window probe. In Linux this is the constant `TCP_RTO_MIN`, whatever the route's minimum
    /// (`tcp_probe0_base`); otherwise the minimum RTO.
    pub fn min_window_probe_wait(&self, settings: &TcpSettings) -> Span {
        if let RtoAlgorithm::Linux(_) = self.algorithm { LINUX_RTO_MIN } else { settings.rto_min }
    }

    /// Current RTO after minimum, backoff and maximum, at least two ticks.
    pub fn rto(&self, settings: &TcpSettings) -> Span {
        let timeout = match settings.quirks.rto_order {
            //= RFC 6298, section 2.4: the timeout is never below the minimum
            RtoMinAndBackoffOrder::MinimumFirst => self.rto.max(settings.rto_min) * self.backoff,
            RtoMinAndBackoffOrder::BackoffFirst => (self.rto * self.backoff).max(settings.rto_min),
        };
        timeout.min(settings.quirks.rto_max).max(settings.quirks.tick * 2)
    }
}

impl TickEstimator {
    /// Adds a sample in ticks; returns the RTO in ticks. The first sample determines the deviation, by this factor.
    fn on_rtt_sample(&mut self, ticks: u64, first_rttvar_factor: i64) -> u64 {
        let t = ticks.max(1) as i64;
        if self.srtt == 0 {
            self.srtt = t << 3;
            self.rttvar = t * first_rttvar_factor;
        } else {
            let d = t - (self.srtt >> 3);
            self.srtt = (self.srtt + d).max(1);
            self.rttvar = (self.rttvar + d.abs() - (self.rttvar >> 2)).max(1);
        }
        (((self.rttvar << 3) + self.srtt) >> 3) as u64
    }
}

/// RTO of Linux 2.0 and 2.2 in ticks: a quarter more for bursts, and one packet's delay more for a small window.
fn rto_with_small_window_allowance(ticks: u64, window: u64) -> u64 {
    ticks + (ticks >> 2) + (ticks >> (window.clamp(1, 64) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::Quirks;

    const POINT: RttSampleContext = RttSampleContext { snd_una: 1, snd_max: 1, cwnd: 2.0, cwnd_will_grow: false };

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn ticks(estimator: &RttEstimator) -> &TickEstimator {
        let RtoAlgorithm::Ticks(ticks) = &estimator.algorithm else { panic!("not in ticks") };
        ticks
    }

    #[test]
    fn samples_are_counted_in_ticks_that_the_clock_has_passed() {
        let settings = profile::tcp_settings_of("ns2-2001");
        let mut estimator = RttEstimator::new(&settings, HostClock::new(&settings, Span::from_millis(50)), None);
        // Sent at clock 0.05 s, acknowledged at 0.21 s: two ticks of 0.1 s have passed.
        estimator.on_rtt_sample(at(0), at(160), POINT, &settings);
        assert_eq!((16, 4), (ticks(&estimator).srtt, ticks(&estimator).rttvar));
        assert_eq!(Span::from_millis(600), estimator.rto(&settings));
    }

    #[test]
    fn the_timeout_doubles_and_is_capped() {
        let settings = profile::tcp_settings_of("ns2");
        let mut estimator = RttEstimator::new(&settings, HostClock::new(&settings, Span::ZERO), None);
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(estimator.rto(&settings).seconds());
            estimator.back_off(&settings);
        }
        assert_eq!(vec![3.0, 6.0, 12.0, 24.0, 48.0, 60.0], seen);
    }

    #[test]
    fn backing_off_past_eight_forgets_the_smoothed_value() {
        let settings = profile::tcp_settings_of("ns2");
        let mut estimator = RttEstimator::new(&settings, HostClock::new(&settings, Span::ZERO), None);
        estimator.on_rtt_sample(at(0), at(100), POINT, &settings);
        for _ in 0..4 {
            estimator.back_off(&settings);
        }
        assert_eq!((16, 0, 30), (estimator.backoff, ticks(&estimator).srtt, ticks(&estimator).rttvar));
    }

    #[test]
    fn the_rfc_s_timeout_is_the_mean_and_four_deviations() {
        let settings = TcpSettings {
            rto_min: Span::ZERO,
            quirks: Quirks { rto_estimator: RtoEstimatorName::Rfc6298, tick: Span::from_micros(1), ..profile::quirks("ns2") },
            ..profile::tcp_settings_of("ns2")
        };
        let mut estimator = RttEstimator::new(&settings, HostClock::new(&settings, Span::ZERO), None);
        estimator.on_rtt_sample(at(0), at(100), POINT, &settings);
        // SRTT = R, RTTVAR = R/2: RTO = R + 4 R/2.
        assert_eq!(Span::from_millis(300), estimator.rto(&settings));
        // RTTVAR = 3/4 * 50 + 1/4 * |100 - 180| = 57.5, SRTT = 7/8 * 100 + 1/8 * 180 = 110.
        estimator.on_rtt_sample(at(0), at(180), POINT, &settings);
        assert_eq!(Span::from_millis(340), estimator.rto(&settings));
    }

    #[test]
    fn linux_adds_its_minimum_to_the_mean() {
        let settings = TcpSettings {
            rto_min: Span::from_millis(200),
            quirks: Quirks { rto_estimator: RtoEstimatorName::Linux, tick: Span::from_millis(1), ..profile::quirks("ns2") },
            ..profile::tcp_settings_of("ns2")
        };
        let mut estimator = RttEstimator::new(&settings, HostClock::new(&settings, Span::ZERO), None);
        for snd_una in 1..200 {
            estimator.on_rtt_sample(at(0), at(20), RttSampleContext { snd_una, snd_max: snd_una + 10, ..POINT }, &settings);
        }
        assert_eq!(Span::from_millis(220), estimator.rto(&settings));
    }

    #[test]
    fn linux_counts_its_minimum_in_whole_ticks() {
        let timeout = |timer_wheel| {
            let (rto_min, tick) = (Span::from_millis(50), Span::from_millis(4));
            let settings = TcpSettings {
                rto_min,
                quirks: Quirks { tick, timer_wheel, ..profile::quirks("linux-6.1") },
                ..profile::tcp_settings_of("linux-6.1")
            };
            let mut estimator = RttEstimator::new(&settings, HostClock::new(&settings, Span::ZERO), None);
            for snd_una in 1..200 {
                estimator.on_rtt_sample(at(0), at(18), RttSampleContext { snd_una, snd_max: snd_una + 10, ..POINT }, &settings);
            }
            estimator.rto(&settings)
        };
        // 18 + 52 are 17.5 ticks; 18 + 50 are 17.
        assert_eq!([72, 68].map(Span::from_millis), [true, false].map(timeout));
        let settings = TcpSettings {
            rto_min: Span::from_millis(50),
            quirks: Quirks { tick: Span::from_millis(4), ..profile::quirks("linux-6.1") },
            ..profile::tcp_settings_of("linux-6.1")
        };
        assert_eq!(Span::from_millis(52), settings.rto_min_rounded_to_ticks());
        assert_eq!(
            Span::from_millis(50),
            TcpSettings { quirks: Quirks { timer_wheel: false, ..settings.quirks }, ..settings }.rto_min_rounded_to_ticks()
        );
    }

    #[test]
    fn linux_2_allows_a_small_window_a_packet_s_delay_and_the_first_sample_a_wide_deviation() {
        // 20 ticks of 10 ms. 2.0: R = 20 + 2 * 20 = 60; 2.2: R = 20 + 4 * 20 = 100. RTO = R + R / 4 + R / 2^(window - 1), each cut to whole ticks.
        let cases = [("linux-2.0", [1350, 1050, 900, 820, 750]), ("linux-2.2", [2250, 1750, 1500, 1370, 1250])];
        for (profile, expected) in cases {
            let settings = profile::tcp_settings_of(profile);
            let timeouts = [1.0, 2.0, 3.0, 4.0, 22.0].map(|cwnd| {
                let mut estimator = RttEstimator::new(&settings, HostClock::new(&settings, Span::ZERO), None);
                estimator.on_rtt_sample(at(0), at(200), RttSampleContext { cwnd, ..POINT }, &settings);
                estimator.rto(&settings)
            });
            assert_eq!(expected.map(Span::from_millis), timeouts, "{profile}");
        }
    }

    #[test]
    fn backing_off_changes_nothing_but_the_factor_under_linux_2() {
        let settings = profile::tcp_settings_of("linux-2.0");
        let mut estimator = RttEstimator::new(&settings, HostClock::new(&settings, Span::ZERO), None);
        estimator.on_rtt_sample(at(0), at(200), POINT, &settings);
        (0..4).for_each(|_| estimator.back_off(&settings));
        assert_eq!((160, 40), (ticks(&estimator).srtt, ticks(&estimator).rttvar));
    }
}
