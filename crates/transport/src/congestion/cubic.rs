//! CUBIC (RFC 9438): cwnd is a cubic function of the time since congestion avoidance began, with its plateau at the last maximum.
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max,   K = cbrt((W_max - cwnd_epoch) / C)                               sections 4.2, 4.4, 4.5
//! target     = W_cubic(t + RTT) within [cwnd, 1.5 cwnd];   cwnd += (target - cwnd) / cwnd
//! W_est     += alpha / cwnd,  alpha = 3 (1 - beta) / (1 + beta), and 1 from W_est = cwnd_prior on      section 4.3
//!              cwnd is W_est while W_cubic(t) < W_est
//! reduction:   W_max = cwnd, or cwnd (1 + beta) / 2 if that is below the last W_max                    sections 4.6, 4.7
//! after slow start, the first one or that after an RTO:  K = 0, W_max = cwnd_epoch                     sections 4.8, 4.10
//! t excludes the time in which the application limited the growth of cwnd                              sections 4.2, 5.8
//! undo of a spurious reduction: W_max, cwnd_prior and the epoch are restored                           section 4.9
//! ```
//!
//! Growth counts segments, not ACKs; an ACK of more than a window does not exceed the target. The RFC leaves two cases open. W_est below
//! cwnd does not lower cwnd, since an ACK does not indicate congestion. A response to marks that leaves more than W_max (ABE, DCTCP) starts
//! on the plateau, as after slow start.

use ecnlab_units::{Span, Time, math};

use super::{AckSample, CongestionControl, CongestionWindow, ReductionCause};
use crate::settings::TcpSettings;

/// Maximum target for the next RTT, as a multiple of cwnd (section 4.2).
const MAX_TARGET_FACTOR: f64 = 1.5;

/// Constants of the RFC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicSettings {
    pub c: f64,
    pub beta: f64,
    pub fast_convergence: bool,
    pub reno_friendly: bool,
}

impl CubicSettings {
    pub fn from_settings(settings: &TcpSettings) -> CubicSettings {
        CubicSettings {
            c: settings.cubic_c,
            beta: settings.cubic_beta,
            fast_convergence: settings.quirks.cubic_fast_convergence,
            reno_friendly: settings.quirks.cubic_reno_friendly,
        }
    }

    /// Whether a reduction below the last maximum lowers the next plateau below cwnd (section 4.7, fast convergence).
    pub fn is_fast_convergence_due(&self, cwnd: f64, w_max: f64) -> bool {
        self.fast_convergence && cwnd < w_max
    }
}

pub struct Cubic {
    settings: CubicSettings,
    /// Zero before the first reduction.
    w_max: f64,
    /// Cwnd before the last reduction; zero before the first, so that Reno's growth applies from the start.
    cwnd_prior: f64,
    stage: CongestionPhase,
    /// `w_max`, `cwnd_prior` and `stage` before the last reduction.
    before_reduction: (f64, f64, CongestionPhase),
    /// Last time at which cwnd had the chance to grow.
    last_growth_chance: Time,
}

#[derive(Clone, Copy)]
enum CongestionPhase {
    SlowStart,
    /// Reduced, and not yet above ssthresh: recovery may leave cwnd slightly below it.
    Reduced,
    Avoidance(CubicEpoch),
}

/// Epoch of congestion avoidance.
#[derive(Clone, Copy)]
struct CubicEpoch {
    started_at: Time,
    k: f64,
    w_est: f64,
}

impl Cubic {
    pub fn new(settings: CubicSettings) -> Cubic {
        let stage = CongestionPhase::SlowStart;
        Cubic { settings, w_max: 0.0, cwnd_prior: 0.0, stage, before_reduction: (0.0, 0.0, stage), last_growth_chance: Time::ZERO }
    }

    /// Current epoch of congestion avoidance, or a new one with a window of `cwnd`.
    fn current_epoch(&mut self, cwnd: f64, now: Time) -> CubicEpoch {
        let after_slow_start = match self.stage {
            CongestionPhase::Avoidance(epoch) => return epoch,
            CongestionPhase::SlowStart => true,
            CongestionPhase::Reduced => false,
        };
        if after_slow_start || self.w_max < cwnd {
            self.w_max = cwnd;
        }
        CubicEpoch { started_at: now, k: math::cbrt((self.w_max - cwnd) / self.settings.c), w_est: cwnd }
    }

    fn grow_in_avoidance(&mut self, window: &mut CongestionWindow, segments: u64, acked: &AckSample) {
        let cwnd = window.cwnd;
        let mut epoch = self.current_epoch(cwnd, acked.now);
        let share = segments as f64 / cwnd;
        epoch.w_est += self.alpha(epoch.w_est) * share;
        self.stage = CongestionPhase::Avoidance(epoch);
        let t = acked.now.since(epoch.started_at);
        window.cwnd = if self.settings.reno_friendly && self.w_cubic(&epoch, t) < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            let target = self.w_cubic(&epoch, t + acked.srtt).clamp(cwnd, MAX_TARGET_FACTOR * cwnd);
            cwnd + (target - cwnd) * share.min(1.0)
        };
    }

    fn w_cubic(&self, epoch: &CubicEpoch, t: Span) -> f64 {
        let from_plateau = t.seconds() - epoch.k;
        self.settings.c * from_plateau * from_plateau * from_plateau + self.w_max
    }

    fn alpha(&self, w_est: f64) -> f64 {
        let beta = self.settings.beta;
        if w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample) {
        if window.in_slow_start() && matches!(self.stage, CongestionPhase::Avoidance(_)) {
            self.stage = CongestionPhase::SlowStart;
        }
        let left = window.grow_in_slow_start(acked.segments);
        if left > 0 {
            self.grow_in_avoidance(window, left, acked);
        }
        self.last_growth_chance = acked.now;
    }

    fn loss_beta(&self) -> f64 {
        self.settings.beta
    }

    fn on_reduction(&mut self, before: &CongestionWindow, cause: ReductionCause, _now: Time) {
        self.before_reduction = (self.w_max, self.cwnd_prior, self.stage);
        let falls = self.settings.is_fast_convergence_due(before.cwnd, self.w_max);
        self.w_max = if falls { before.cwnd * (1.0 + self.settings.beta) / 2.0 } else { before.cwnd };
        self.cwnd_prior = before.cwnd;
        self.stage = if cause == ReductionCause::Timeout { CongestionPhase::SlowStart } else { CongestionPhase::Reduced };
    }

    fn on_undo(&mut self, _now: Time) {
        (self.w_max, self.cwnd_prior, self.stage) = self.before_reduction;
    }

    fn on_app_limited(&mut self, now: Time) {
        if let CongestionPhase::Avoidance(epoch) = &mut self.stage {
            epoch.started_at += now.since(self.last_growth_chance);
        }
        self.last_growth_chance = now;
    }

    fn on_restart_after_idle(&mut self, now: Time, _last_sent: Time) {
        self.on_app_limited(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::ack_sample;

    const RFC_SETTINGS: CubicSettings = CubicSettings { c: 0.4, beta: 0.7, fast_convergence: true, reno_friendly: true };

    /// A congestion control with its window and evenly spaced ACKs.
    struct TestFlow {
        cubic: Cubic,
        window: CongestionWindow,
        rtt: Span,
        now: Time,
    }

    impl TestFlow {
        fn new(settings: CubicSettings, cwnd: f64, ssthresh: f64, rtt: Span) -> TestFlow {
            TestFlow { cubic: Cubic::new(settings), window: CongestionWindow { cwnd, ssthresh }, rtt, now: Time::ZERO }
        }

        fn reduce_for_loss(&mut self, cause: ReductionCause) {
            self.cubic.on_reduction(&self.window, cause, self.now);
            self.window.ssthresh = self.window.cwnd * self.cubic.loss_beta();
            self.window.cwnd = if cause == ReductionCause::Timeout { 1.0 } else { self.window.ssthresh };
        }

        fn deliver_ack(&mut self, segments: u64) {
            self.cubic.on_ack(&mut self.window, &ack_sample(segments, self.now, self.rtt));
        }

        /// ACKs of a window over one RTT.
        fn round(&mut self, segments_at_a_time: u64) {
            let acknowledgements = self.window.cwnd as u64 / segments_at_a_time;
            for _ in 0..acknowledgements {
                self.deliver_ack(segments_at_a_time);
                self.now += self.rtt / acknowledgements;
            }
        }

        fn epoch(&self) -> CubicEpoch {
            let CongestionPhase::Avoidance(epoch) = self.cubic.stage else { panic!("not in congestion avoidance") };
            epoch
        }
    }

    /// A cwnd of 1000 segments, reduced, on a path with an RTT of 100 ms: K = cbrt(300 / 0.4) = 9.09 s.
    fn cut_from_1000(settings: CubicSettings) -> TestFlow {
        let mut flow = TestFlow::new(settings, 1000.0, 500.0, Span::from_millis(100));
        flow.reduce_for_loss(ReductionCause::Loss);
        flow
    }

    fn assert_on_the_curve(flow: &TestFlow, k: f64, w_max: f64) {
        let from_plateau = flow.now.seconds() - k;
        let expected = 0.4 * from_plateau * from_plateau * from_plateau + w_max;
        assert!((flow.window.cwnd / expected - 1.0).abs() < 0.01, "{} at {} s, not {expected}", flow.window.cwnd, flow.now.seconds());
    }

    #[test]
    fn the_window_is_the_cubic_of_the_time_through_the_concave_and_the_convex_region() {
        for segments_at_a_time in [1, 2] {
            let mut flow = cut_from_1000(RFC_SETTINGS);
            while flow.now < Time::ZERO + Span::from_secs(15) {
                flow.round(segments_at_a_time);
                assert_on_the_curve(&flow, math::cbrt(750.0), 1000.0);
            }
        }
    }

    #[test]
    fn marks_and_losses_shape_the_curve_alike() {
        let after = |cause| {
            let mut flow = TestFlow::new(RFC_SETTINGS, 1000.0, 500.0, Span::from_millis(100));
            flow.reduce_for_loss(cause);
            flow.round(1);
            flow.window
        };
        assert_eq!(after(ReductionCause::Loss), after(ReductionCause::Mark));
    }

    #[test]
    fn a_cut_below_the_last_maximum_lowers_the_next_plateau_further() {
        for (fast_convergence, w_max) in [(true, 900.0 * 0.85), (false, 900.0)] {
            let mut flow = cut_from_1000(CubicSettings { fast_convergence, ..RFC_SETTINGS });
            flow.window.cwnd = 900.0;
            flow.reduce_for_loss(ReductionCause::Loss);
            assert_eq!((w_max, 900.0), (flow.cubic.w_max, flow.cubic.cwnd_prior));
        }
    }

    /// 10 ms and 14 segments: the cubic adds a segment in more than a second.
    #[test]
    fn on_a_short_path_growth_is_that_of_aimd_and_reno_s_own_from_the_old_window_on() {
        let mut flow = TestFlow::new(RFC_SETTINGS, 20.0, 10.0, Span::from_millis(10));
        flow.reduce_for_loss(ReductionCause::Loss);
        assert_eq!(14.0, flow.window.cwnd);
        let mut aimd = 14.0;
        for _ in 0..400 {
            flow.deliver_ack(1);
            flow.now += Span::from_micros(600);
            aimd += if aimd >= 20.0 { 1.0 } else { 3.0 * 0.3 / 1.7 } / aimd;
            assert!((flow.window.cwnd - aimd).abs() < 0.1, "{} not {aimd}", flow.window.cwnd);
        }
        assert!(aimd > 25.0);
    }

    #[test]
    fn without_the_reno_friendly_region_the_cubic_alone_counts() {
        let mut flow = TestFlow::new(CubicSettings { reno_friendly: false, ..RFC_SETTINGS }, 20.0, 10.0, Span::from_millis(10));
        flow.reduce_for_loss(ReductionCause::Loss);
        while flow.now < Time::ZERO + Span::from_secs(3) {
            flow.round(1);
        }
        assert_on_the_curve(&flow, math::cbrt(6.0 / 0.4), 20.0);
    }

    #[test]
    fn a_window_far_below_the_curve_grows_by_half_in_a_round_trip_and_no_faster() {
        let mut flow = TestFlow::new(RFC_SETTINGS, 10.0, 10.0, Span::from_millis(100));
        flow.deliver_ack(1);
        flow.now += Span::from_secs(3600);
        for segments_at_a_time in [1, 2, 5] {
            let before = flow.window.cwnd;
            flow.round(segments_at_a_time);
            let grown = flow.window.cwnd / before;
            assert!((1.4..=1.5 + 1e-9).contains(&grown), "{grown}");
        }
        let before = flow.window.cwnd;
        flow.deliver_ack(1000);
        assert!(flow.window.cwnd <= 1.5 * before);
    }

    #[test]
    fn a_window_above_the_curve_is_not_lowered() {
        let mut flow = cut_from_1000(RFC_SETTINGS);
        flow.deliver_ack(1);
        flow.cubic.w_max = 100.0;
        let before = flow.window.cwnd;
        flow.deliver_ack(1);
        assert!((before..before + 1.0).contains(&flow.window.cwnd));
    }

    #[test]
    fn after_a_timeout_slow_start_ends_on_a_plateau() {
        let mut flow = cut_from_1000(RFC_SETTINGS);
        flow.round(1);
        flow.reduce_for_loss(ReductionCause::Timeout);
        let ssthresh = flow.window.ssthresh;
        while flow.window.in_slow_start() {
            flow.round(1);
        }
        flow.round(1);
        let epoch = flow.epoch();
        assert_eq!(0.0, epoch.k);
        assert!((ssthresh..ssthresh + 1.0).contains(&flow.cubic.w_max));
        flow.now = Time::ZERO + flow.now.since(epoch.started_at);
        assert_on_the_curve(&flow, 0.0, ssthresh);
    }

    #[test]
    fn a_slow_start_that_ends_without_a_cut_ends_on_a_plateau_too() {
        let mut flow = TestFlow::new(RFC_SETTINGS, 99.0, 100.0, Span::from_millis(100));
        flow.deliver_ack(2);
        assert_eq!((100.0, 0.0, Time::ZERO), (flow.cubic.w_max, flow.epoch().k, flow.epoch().started_at));
    }

    #[test]
    fn a_recovery_that_leaves_the_window_below_the_threshold_keeps_the_curve() {
        let mut flow = cut_from_1000(RFC_SETTINGS);
        flow.window.cwnd = 600.0;
        for _ in 0..110 {
            flow.deliver_ack(1);
        }
        assert_eq!((1000.0, math::cbrt(750.0)), (flow.cubic.w_max, flow.epoch().k));
    }

    #[test]
    fn a_cut_that_leaves_more_than_the_maximum_begins_on_the_plateau() {
        let mut flow = cut_from_1000(RFC_SETTINGS);
        flow.window.cwnd = 900.0;
        flow.reduce_for_loss(ReductionCause::Mark);
        flow.window.cwnd = 890.0;
        flow.deliver_ack(1);
        assert_eq!((890.0, 0.0), (flow.cubic.w_max, flow.epoch().k));
    }

    #[test]
    fn a_cut_that_was_for_nothing_leaves_no_trace() {
        let mut flow = cut_from_1000(RFC_SETTINGS);
        flow.round(1);
        let (before, window) = (flow.epoch(), flow.window);
        for cause in [ReductionCause::Loss, ReductionCause::Timeout] {
            flow.reduce_for_loss(cause);
            flow.cubic.on_undo(flow.now);
            flow.window = window;
            let after = flow.epoch();
            assert_eq!((before.started_at, before.k, 1000.0, 1000.0), (after.started_at, after.k, flow.cubic.w_max, flow.cubic.cwnd_prior));
        }
    }

    #[test]
    fn time_in_which_the_window_is_not_used_does_not_count() {
        let mut busy = cut_from_1000(RFC_SETTINGS);
        let mut idle = cut_from_1000(RFC_SETTINGS);
        busy.round(1);
        idle.round(1);
        idle.now += Span::from_secs(30);
        idle.cubic.on_app_limited(idle.now);
        idle.now += Span::from_secs(30);
        idle.cubic.on_restart_after_idle(idle.now, Time::ZERO);
        // The first ACK of the previous round was a tick ago.
        let tick = busy.now.since(busy.cubic.last_growth_chance);
        idle.now += tick;
        busy.round(1);
        idle.round(1);
        assert!((busy.window.cwnd - idle.window.cwnd).abs() < 1e-6, "{} not {}", idle.window.cwnd, busy.window.cwnd);
    }
}
